/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nested solver on the CPU: flexible CG or GMRES in FP64 around CG or GMRES on a copy in any precision. Answers are
 * verified by the oracle; copies that are no good go up; what cannot be solved is told.
 */
#include <math.h>

#include "support/precond_of.h"
#include "support/solve.h"

enum { EDGE = 20, N = EDGE * EDGE };

/* A Laplacian or convection whose values have no short binary form. */
static oracle_csr system_of(bool symmetric)
{
    oracle_csr a = symmetric ? oracle_laplace2d(EDGE) : oracle_convection2d(EDGE, 1.0);

    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= 1.0 / 3.0;
    }
    return a;
}

static tess_solve_options nested(tess_precision storage, tess_arithmetic arithmetic)
{
    tess_solve_options options = solve_options(TESS_SOLVER_NESTED);

    options.gmres.inner = (tess_role_precision){1, storage, arithmetic};
    return options;
}

/* A converged, verified solve. An outer iteration reduces the residual at least by half, as long as the copy is not
   replaced: log2(1e10) = 34 of them. */
static tess_solve_result check_solve(const oracle_csr *a, tess_solve_options options)
{
    double *b = random_values(a->nrows, 7, -1.0, 1.0);
    tess_context *ctx = open_cpu(2);
    solved s = solve_here(ctx, a, &options, b);
    const tess_solve_result r = s.result;

    assert_int_equal(r.reason, TESS_REASON_RTOL);
    assert_true(r.verified);
    assert_int_equal(r.solver, TESS_SOLVER_NESTED);
    assert_true(r.iterations <= 34);
    assert_int_equal(r.nested.solves, r.iterations);
    check_honest(a, b, s.x, &options, &r);
    discard(&s);
    tess_context_destroy(ctx);
    free(b);
    return r;
}

static void every_inner_storage_solves(void **state)
{
    (void)state;
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        oracle_csr a = system_of(symmetric != 0);

        for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
            const tess_precision storage = (tess_precision)p;
            tess_solve_options options =
                nested(storage, storage == TESS_PRECISION_FP64 ? TESS_ARITHMETIC_FP64 : TESS_ARITHMETIC_FP32);
            tess_solve_result r;
            int64_t sum = 0;

            options.precond.kind = TESS_PRECOND_ILU0;
            r = check_solve(&a, options);
            assert_int_equal(r.nested.solver, symmetric ? TESS_SOLVER_CG : TESS_SOLVER_GMRES);
            for (int k = 0; k < TESS_MAX_PRECISIONS; k++) {
                sum += r.nested.iterations_per_precision[k];
            }
            assert_int_equal(sum, r.nested.iterations);
            assert_true(r.nested.iterations_per_precision[p] > 0);
            /* 8 bits have 2 or 3 digits, which is too few for some steps */
            if (tess_precision_bytes(storage) > 1) {
                assert_int_equal(r.escalated, 0);
                assert_int_equal(r.nested.inner.storage, storage);
                assert_int_equal(r.nested.iterations, r.nested.iterations_per_precision[p]);
            }
        }
        oracle_free(&a);
    }
}

static void every_preconditioner_solves(void **state)
{
    static const char *const symmetric[] = {"none", "jacobi", "block-jacobi:4", "ic0", "amg"}, *const general[] = {
                                                                                                   "none", "jacobi",
                                                                                                   "polynomial:4",
                                                                                                   "ilu0", "amg"};

    (void)state;
    for (int s = 0; s < 2; s++) {
        oracle_csr a = system_of(s != 0);

        for (size_t p = 0; p < sizeof general / sizeof *general; p++) {
            tess_solve_options options = nested(TESS_PRECISION_FP16, TESS_ARITHMETIC_FP32);

            assert_int_equal(tess_precond_options_parse(s ? symmetric[p] : general[p], &options.precond), TESS_SUCCESS);
            assert_int_equal(check_solve(&a, options).escalated, 0);
            options.gmres.inner.arithmetic = TESS_ARITHMETIC_FP64; /* and FP64 vectors */
            assert_int_equal(check_solve(&a, options).escalated, 0);
        }
        oracle_free(&a);
    }
}

/* The inner CG goes on in its direction: on a copy that is exact it takes hardly more iterations than CG. Rounding to
   FP32 delays it: by a half at most on this matrix. */
static void inner_cg_goes_on(void **state)
{
    oracle_csr a = oracle_laplace2d(EDGE);
    tess_solve_options options = nested(TESS_PRECISION_FP16, TESS_ARITHMETIC_FP32), cg = solve_options(TESS_SOLVER_CG);
    double *b = random_values(N, 7, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);
    solved plain = solve_here(ctx, &a, &cg, b);
    tess_solve_result r;

    (void)state;
    r = check_solve(&a, options);
    assert_true(2 * r.nested.iterations <= 3 * plain.result.iterations);
    options.nested.reduction = 0.0; /* a fixed number, each time */
    options.nested.iterations = 7;
    options.guard = TESS_GUARD_REPORT;
    r = check_solve(&a, options);
    assert_int_equal(r.nested.iterations, 7 * r.nested.solves);
    assert_int_equal(r.nested.most_iterations, 7);
    discard(&plain);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* Rows up to 2^40 in FP16 have a power of two each; a matrix scaled on both sides keeps its symmetry. */
static void large_values_have_a_scale(void **state)
{
    (void)state;
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        oracle_csr a = system_of(symmetric != 0);
        tess_solve_options options = nested(TESS_PRECISION_FP16, TESS_ARITHMETIC_FP32);
        tess_solve_result r;

        for (int64_t i = 0, k = 0; i < a.nrows; i++) {
            for (; k < a.row_ptr[i + 1]; k++) {
                a.val[k] *= ldexp(1.0, 20) * (double)(1 + (i * a.col_ind[k]) % 2);
            }
        }
        options.precond.kind = TESS_PRECOND_JACOBI;
        for (int64_t i = 0; i < a.nrows; i++) { /* keeps it diagonally dominant */
            for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                if (a.col_ind[k] == i) { a.val[k] = ldexp(4.0, 21); }
            }
        }
        r = check_solve(&a, options);
        assert_int_equal(r.escalated, 0);
        assert_int_equal(r.nested.inner.storage, TESS_PRECISION_FP16);
        oracle_free(&a);
    }
}

/* Entries of a row that differ by 2^-30 from cancelling: their sums are lost below FP64, where A~ is singular or
   indefinite. The guard goes up as far as needed, says so, and begins low again for the next b. */
static void copies_that_lose_all_go_up(void **state)
{
    oracle_csr a = oracle_tridiagonal(60, -1.0, 2.0, -1.0);
    tess_solve_options options = nested(TESS_PRECISION_FP16, TESS_ARITHMETIC_FP32);
    double *b = random_values(a.nrows, 7, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL;
    tess_solver *solver = NULL;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] == i) { a.val[k] = 1.0 + (i > 0 && i + 1 < a.nrows) + 0x1p-13; }
        }
    }
    m = make_matrix(ctx, &a);
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    for (int again = 0; again < 2; again++) {
        tess_solve_result r;

        memset(x, 0, (size_t)a.nrows * sizeof *x);
        r = solve_with(solver, ctx, a.nrows, b, x);
        assert_int_equal(r.reason, TESS_REASON_RTOL);
        assert_int_equal(r.escalated, 1);
        assert_true(r.nested.iterations_per_precision[TESS_PRECISION_FP16] > 0);
        assert_true(r.nested.inner.storage == TESS_PRECISION_FP32 || r.nested.inner.storage == TESS_PRECISION_FP64);
        check_honest(&a, b, x, &options, &r);
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* A positive diagonal does not make A definite: CG says so in every precision, and no answer is claimed. */
static void indefinite_matrices_are_told(void **state)
{
    oracle_csr a = oracle_tridiagonal(50, 2.0, 1.0, 2.0);
    const tess_solve_options options = nested(TESS_PRECISION_FP16, TESS_ARITHMETIC_FP32);
    double *b = random_values(a.nrows, 7, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);
    solved s = solve_here(ctx, &a, &options, b);

    (void)state;
    check_honest(&a, b, s.x, &options, &s.result);
    if (!s.result.converged) { assert_true(s.result.reason < 0); }
    discard(&s);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* b = 0, one unknown, a negative definite matrix, no iterations left. */
static void small_and_special_systems(void **state)
{
    const double one = 3.0;
    oracle_csr single = oracle_diagonal(1, &one), a = system_of(true);
    tess_solve_options options = nested(TESS_PRECISION_FP16, TESS_ARITHMETIC_FP32);
    double *zero = test_allocate(N, sizeof *zero);
    tess_context *ctx = open_cpu(1);
    solved s;

    (void)state;
    (void)check_solve(&single, options);
    s = solve_here(ctx, &a, &options, zero);
    assert_true(s.result.converged);
    assert_int_equal(s.result.iterations, 0);
    discard(&s);
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = -a.val[k];
    }
    assert_int_equal(check_solve(&a, options).nested.solver, TESS_SOLVER_CG);
    tess_context_destroy(ctx);
    oracle_free(&single);
    oracle_free(&a);
    free(zero);
}

static void repeats_give_the_same_bits(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        oracle_csr a = system_of(symmetric != 0);
        tess_solve_options options = nested(TESS_PRECISION_BF16, TESS_ARITHMETIC_FP32);

        options.precond.kind = TESS_PRECOND_JACOBI;
        check_repeats(ctx, &a, &options, 2);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* ---- new values, several b, a caller's preconditioner, the transpose ---- */

static int halve(void *user, const double *r, double *z)
{
    for (int i = 0; i < N; i++) {
        z[i] = 0.5 * r[i];
    }
    *(int *)user += 1;
    return 0;
}

static void solvers_live_on(void **state)
{
    oracle_csr a = system_of(false), t = oracle_copy(&a);
    tess_solve_options options = nested(TESS_PRECISION_E4M3, TESS_ARITHMETIC_FP32);
    double *b = random_values(N, 7, -1.0, 1.0), *x = test_allocate(N, sizeof *x);
    int calls = 0;
    const tess_shell_precond shell = {.apply = halve, .user = &calls};
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_precond *mine = NULL;
    tess_solver *solver = NULL;

    (void)state;
    options.precond.kind = TESS_PRECOND_ILU0;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    assert_int_equal(solve_with(solver, ctx, N, b, x).reason, TESS_REASON_RTOL);
    for (int64_t k = 0; k < t.nnz; k++) {
        t.val[k] *= t.col_ind[k] % 2 ? 2.0 : 1.5;
    }
    assert_ok(ctx, tess_matrix_update_values(m, t.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    memset(x, 0, N * sizeof *x);
    {
        const tess_solve_result r = solve_with(solver, ctx, N, b, x);

        assert_int_equal(r.reason, TESS_REASON_RTOL);
        check_honest(&t, b, x, &options, &r);
        assert_int_equal(r.precond.kind, TESS_PRECOND_ILU0);
        assert_true(r.precond.factor_nonzeros > 0);
        assert_true(r.resident_bytes > tess_matrix_bytes(m) + r.nested.matrix_bytes);
    }
    tess_solver_destroy(solver);
    assert_ok(ctx, tess_precond_create_shell(ctx, N, &shell, &mine));
    options.precond.kind = TESS_PRECOND_AUTO;
    assert_ok(ctx, tess_solver_create_with_precond(m, mine, &options, &solver));
    memset(x, 0, N * sizeof *x);
    assert_int_equal(solve_with(solver, ctx, N, b, x).reason, TESS_REASON_RTOL);
    assert_true(calls > 0);
    assert_ptr_equal(tess_solver_precond(solver), mine);
    tess_solver_destroy(solver);
    tess_precond_destroy(mine);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&t);
    free(b);
    free(x);
}

/* ---- limits and refusals ---- */

static int stop_now(void *user, const tess_progress *progress)
{
    (void)progress;
    *(int *)user += 1;
    return 1;
}

/* Inner iterations look at the time too: an endless inner solve ends. */
static void stops_are_honoured(void **state)
{
    oracle_csr a = system_of(true);
    tess_solve_options options = nested(TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32);
    double *b = random_values(N, 7, -1.0, 1.0);
    int calls = 0;
    tess_context *ctx = open_cpu(1);
    solved s;

    (void)state;
    options.nested.reduction = 0.0;
    options.nested.iterations = 1000;
    options.time_limit = 1e-9;
    options.rtol = 0.0;
    s = solve_here(ctx, &a, &options, b);
    assert_int_equal(s.result.reason, TESS_REASON_TIME_LIMIT);
    assert_true(s.result.nested.iterations <= 2 * s.result.iterations); /* the one that sees it, and one more */
    discard(&s);
    options.time_limit = 0.0;
    options.monitor = stop_now;
    options.monitor_user = &calls;
    s = solve_here(ctx, &a, &options, b);
    assert_int_equal(s.result.reason, TESS_REASON_CANCELLED);
    assert_true(calls >= 1 && s.result.iterations <= 2);
    discard(&s);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

static int multiply_nothing(void *user, tess_operation operation, const double *x, double *y)
{
    (void)user;
    (void)operation;
    (void)x;
    (void)y;
    return 0;
}

static void impossible_options_are_refused(void **state)
{
    oracle_csr a = system_of(true);
    tess_solve_options options = nested(TESS_PRECISION_FP16, TESS_ARITHMETIC_FP32);
    const tess_shell_operator shell = {.apply = multiply_nothing};
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a), *unknown = NULL;
    tess_solver *solver = NULL;

    (void)state;
    options.nested.iterations = 1001;
    assert_int_equal(tess_solver_create(m, &options, &solver), TESS_INVALID_ARGUMENT);
    options.nested.iterations = 0;
    options.nested.reduction = 1.0;
    assert_int_equal(tess_solver_create(m, &options, &solver), TESS_INVALID_ARGUMENT);
    options.nested.reduction = 0.1;
    options.gmres.inner = (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP32};
    assert_int_equal(tess_solver_create(m, &options, &solver), TESS_INVALID_ARGUMENT);
    options.gmres.inner.given = 0;
    options.engine = TESS_ENGINE_GRAPH;
    assert_int_equal(tess_solver_create(m, &options, &solver), TESS_UNSUPPORTED);
    options.engine = TESS_ENGINE_AUTO;
    assert_ok(ctx, tess_matrix_create_shell(ctx, N, N, &shell, &unknown));
    assert_int_equal(tess_solver_create(unknown, &options, &solver), TESS_UNSUPPORTED);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "nested"));
    options.solver = TESS_SOLVER_CG;
    options.nested.iterations = 5;
    assert_int_equal(tess_solver_create(m, &options, &solver), TESS_INVALID_ARGUMENT);
    tess_matrix_destroy(unknown);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_inner_storage_solves),
        cmocka_unit_test(every_preconditioner_solves),
        cmocka_unit_test(inner_cg_goes_on),
        cmocka_unit_test(large_values_have_a_scale),
        cmocka_unit_test(copies_that_lose_all_go_up),
        cmocka_unit_test(indefinite_matrices_are_told),
        cmocka_unit_test(small_and_special_systems),
        cmocka_unit_test(repeats_give_the_same_bits),
        cmocka_unit_test(solvers_live_on),
        cmocka_unit_test(stops_are_honoured),
        cmocka_unit_test(impossible_options_are_refused),
    };
    return cmocka_run_group_tests_name("unit.nested", tests, NULL, NULL);
}
