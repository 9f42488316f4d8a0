/* SPDX-License-Identifier: Apache-2.0 */
/* CG and BiCGSTAB on the CPU: right answers, one set-up for many solves, history, monitor, guard. */
#include "support/solve.h"

typedef struct precond_case {
    tess_precond_kind kind;
    int block_size;
} precond_case;

static const precond_case preconds[] = {{TESS_PRECOND_NONE, 8},
                                        {TESS_PRECOND_JACOBI, 8},
                                        {TESS_PRECOND_BLOCK_JACOBI, 1},
                                        {TESS_PRECOND_BLOCK_JACOBI, 7},
                                        {TESS_PRECOND_BLOCK_JACOBI, 64}};
enum { PRECONDS = sizeof preconds / sizeof *preconds };

/* ||x - x*|| <= ||A^-1|| ||r||, with ||A^-1|| from the caller. */
static void check_solution(const oracle_csr *a, const double *b, const double *x, double inverse_norm, double residual)
{
    double *exact = test_allocate(a->nrows, sizeof *exact), error = 0.0, size = 0.0;

    assert_true(oracle_solve_dense(a, b, exact));
    for (int64_t i = 0; i < a->nrows; i++) {
        error = hypot(error, x[i] - exact[i]);
        size = hypot(size, exact[i]);
    }
    assert_at_most(error, inverse_norm * residual * (1.0 + 1e-6) + 1e-12 * size);
    free(exact);
}

static void cg_agrees_with_a_dense_solve(void **state)
{
    oracle_csr a = oracle_laplace2d(15);
    double *b = random_values(225, 7, -1.0, 1.0), smallest = 8.0 * pow(sin(acos(-1.0) / 32.0), 2.0);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < PRECONDS; k++) {
        double x[225] = {0.0};
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        tess_solve_result result;

        options.precond.kind = preconds[k].kind;
        options.precond.block_jacobi.block_size = preconds[k].block_size;
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_int_equal(result.solver, TESS_SOLVER_CG);
        assert_int_equal(result.engine, TESS_ENGINE_PLAIN);
        assert_int_equal(result.precond.kind, preconds[k].kind);
        assert_true(result.iterations > 5 && result.iterations <= 225);
        check_honest(&a, b, x, &options, &result);
        check_solution(&a, b, x, 1.0 / smallest, result.residual_norm);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

static void bicgstab_agrees_with_a_dense_solve(void **state)
{
    oracle_csr a = oracle_convection2d(15, 3.0);
    double *b = random_values(225, 7, -1.0, 1.0);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < PRECONDS; k++) {
        double x[225] = {0.0};
        tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
        tess_solve_result result;

        options.precond.kind = preconds[k].kind;
        options.precond.block_jacobi.block_size = preconds[k].block_size;
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        check_honest(&a, b, x, &options, &result);
        /* the symmetric part is at least that of the Laplacian: ||A^-1|| below 1 over its smallest eigenvalue */
        check_solution(&a, b, x, 1.0 / (8.0 * pow(sin(acos(-1.0) / 32.0), 2.0)), result.residual_norm);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* n from 1 to 33, so that no size is special. */
static void every_small_size_works(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int64_t n = 1; n <= 33; n++) {
        oracle_csr a = oracle_tridiagonal(n, -1.0, 2.5, -1.0);
        double *b = random_values(n, (uint64_t)n, 0.5, 1.0);

        for (int at = 0; at < LOOP_METHODS; at++) {
            const int kind = (int)loop_methods[at];
            double x[33] = {0.0};
            tess_solve_options options = solve_options((tess_solver_kind)kind);
            tess_solve_result result = solve_once(ctx, &a, &options, b, x);

            assert_int_equal(result.reason, TESS_REASON_RTOL);
            check_honest(&a, b, x, &options, &result);
        }
        oracle_free(&a);
        free(b);
    }
    tess_context_destroy(ctx);
}

/* A system of no rows is solved by no iteration, also where b and x are one vector: they share no element. */
static void no_rows_are_solved(void **state)
{
    oracle_csr none = oracle_open(0, 0);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &none);
    tess_vector *v = make_zeros(ctx, 0);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        const tess_solve_options options = solve_options((tess_solver_kind)kind);
        tess_solver *solver = NULL;
        tess_solve_result result;

        tess_solve_result_init(&result);
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        assert_ok(ctx, tess_solver_solve(solver, v, v, &result));
        assert_int_equal(result.verified, 1);
        assert_int_equal(result.iterations, 0);
        tess_solver_destroy(solver);
    }
    tess_vector_destroy(v);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&none);
}

static void threads_do_not_change_a_bit(void **state)
{
    oracle_csr a = oracle_laplace2d(90);
    double *b = random_values(a.nrows, 1, -1.0, 1.0), *one = test_allocate(a.nrows, sizeof *one);
    double *other = test_allocate(a.nrows, sizeof *other);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        tess_solve_options options = solve_options((tess_solver_kind)kind);
        tess_solve_result first, second;

        options.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
        memset(one, 0, (size_t)a.nrows * sizeof *one);
        memset(other, 0, (size_t)a.nrows * sizeof *other);
        tess_context *ctx = open_cpu(1);
        first = solve_once(ctx, &a, &options, b, one);
        tess_context_destroy(ctx);
        ctx = open_cpu(3);
        second = solve_once(ctx, &a, &options, b, other);
        tess_context_destroy(ctx);
        assert_true(same_bits(one, other, a.nrows));
        assert_int_equal(first.iterations, second.iterations);
        assert_true(first.residual_norm == second.residual_norm);
    }
    oracle_free(&a);
    free(b);
    free(one);
    free(other);
}

static void many_right_hand_sides_equal_separate_solves(void **state)
{
    enum { N = 400, SIDES = 4 };
    oracle_csr a = oracle_laplace2d(20);
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        tess_solve_options options = solve_options((tess_solver_kind)kind);
        tess_solver *shared = NULL;

        options.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
        assert_ok(ctx, tess_solver_create(m, &options, &shared));
        for (uint64_t side = 0; side < SIDES; side++) {
            double *b = random_values(N, side, -1.0, 1.0), *x = random_values(N, side + 50, -1.0, 1.0);
            double *y = random_values(N, side + 50, -1.0, 1.0);
            tess_solve_result first = solve_with(shared, ctx, N, b, x), second = solve_once(ctx, &a, &options, b, y);

            assert_true(same_bits(x, y, N));
            assert_int_equal(first.iterations, second.iterations);
            free(b);
            free(x);
            free(y);
        }
        tess_solver_destroy(shared);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void new_values_are_solved_with(void **state)
{
    oracle_csr a = oracle_tridiagonal(300, -1.0, 2.5, -1.0);
    double *b = random_values(300, 3, -1.0, 1.0);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int precision = TESS_PRECISION_FP64; precision < TESS_PRECISION_COUNT; precision++) {
        oracle_csr changed = oracle_copy(&a);
        tess_matrix *m = make_matrix(ctx, &a);
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        tess_solver *solver = NULL;
        tess_solve_result result;
        double *x = test_allocate(300, sizeof *x), *y = test_allocate(300, sizeof *y);

        options.precond.kind = TESS_PRECOND_JACOBI;
        options.storage.precision = (tess_precision)precision;
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        result = solve_with(solver, ctx, 300, b, x);
        check_honest(&a, b, x, &options, &result);
        assert_true(result.converged);
        for (int64_t i = 0; i < 300; i++) { /* the diagonal grows unevenly, so that a stale preconditioner shows */
            for (int64_t k = changed.row_ptr[i]; k < changed.row_ptr[i + 1]; k++) {
                if (changed.col_ind[k] == i) { changed.val[k] *= 1.0 + (double)(i % 17); }
            }
        }
        assert_ok(ctx, tess_matrix_update_values(m, changed.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        memset(x, 0, 300 * sizeof *x);
        result = solve_with(solver, ctx, 300, b, x);
        assert_true(result.converged);
        check_honest(&changed, b, x, &options, &result);
        solve_once(ctx, &changed, &options, b, y);
        assert_true(same_bits(x, y, 300));
        tess_solver_destroy(solver);
        tess_matrix_destroy(m);
        oracle_free(&changed);
        free(x);
        free(y);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

static void initial_guesses(void **state)
{
    oracle_csr a = oracle_laplace2d(10);
    double *b = random_values(100, 3, -1.0, 1.0), x[100] = {0.0}, zero[100] = {0.0};
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solve_result result;
    tess_context *ctx = open_cpu(2);

    (void)state;
    result = solve_once(ctx, &a, &options, b, x);
    result = solve_once(ctx, &a, &options, b, x); /* the solution is good enough as a guess */
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_int_equal(result.iterations, 0);
    check_honest(&a, b, x, &options, &result);
    for (int i = 0; i < 100; i++) {
        x[i] = i;
    }
    result = solve_once(ctx, &a, &options, zero, x); /* b = 0: x = 0 at once */
    assert_true(same_bits(x, zero, 100));
    assert_int_equal(result.iterations, 0);
    assert_true(result.converged == 1 && result.residual_norm == 0.0 && result.relative_residual == 0.0);
    x[3] = (double)NAN;
    result = solve_once(ctx, &a, &options, zero, x);
    assert_true(same_bits(x, zero, 100) && result.converged == 1);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* rtol = 0 asks for the exact solution, which exists if nothing is rounded. */
static void exactly_solvable_systems_with_rtol_zero(void **state)
{
    double diagonal[6] = {4.0, 4.0, 4.0, 4.0, 4.0, 4.0}, b[6] = {1.0, -2.0, 3.0, 0.5, 8.0, -1.0};
    double two_values[6] = {1.0, 2.0, 1.0, 2.0, 1.0, 2.0};
    oracle_csr identity = oracle_tridiagonal(6, 0.0, 1.0, 0.0), scaled = oracle_diagonal(6, diagonal);
    oracle_csr jacobi = oracle_diagonal(6, two_values);
    const oracle_csr *const systems[] = {&identity, &scaled, &jacobi};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];

        for (int k = 0; k < 3; k++) {
            double x[6] = {0.0};
            tess_solve_options options = solve_options((tess_solver_kind)kind);
            tess_solve_result result;

            options.rtol = 0.0;
            if (k == 2) { options.precond.kind = TESS_PRECOND_JACOBI; }
            result = solve_once(ctx, systems[k], &options, b, x);
            assert_true(result.converged);
            assert_int_equal(result.reason, TESS_REASON_HAPPY_BREAKDOWN);
            /* MINRES divides by a norm, whose rounding another cycle may have to make good */
            assert_at_most((double)result.iterations, kind == TESS_SOLVER_MINRES ? 2.0 : 1.0);
            assert_true((double)oracle_residual_norm(systems[k], b, x) == 0.0);
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&identity);
    oracle_free(&scaled);
    oracle_free(&jacobi);
}

static void history_and_limits(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    double *b = random_values(400, 3, -1.0, 1.0), norm_b = (double)oracle_norm2(b, 400);
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        double x[400] = {0.0};
        tess_solve_options options = solve_options((tess_solver_kind)kind);
        tess_solver *solver = NULL;
        tess_solve_result result;

        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        result = solve_with(solver, ctx, 400, b, x);
        assert_int_equal(result.history_length, result.iterations + 1);
        assert_at_most(fabs(result.history[0] - norm_b), gamma_of(8.0) * norm_b);
        for (int64_t i = 0; i < result.history_length; i++) {
            assert_true(result.history[i] >= 0.0);
        }
        assert_true(result.history[result.iterations] == result.estimated_residual_norm);
        assert_at_most(result.history[result.iterations], result.tolerance);
        assert_true(result.history[result.iterations - 1] > 0.99 * result.tolerance);
        tess_solver_destroy(solver);
        options.history_capacity = 5;
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        memset(x, 0, sizeof x);
        result = solve_with(solver, ctx, 400, b, x);
        assert_int_equal(result.history_length, 5);
        tess_solver_destroy(solver);
        options.history_capacity = 0;
        options.max_iterations = INT64_MAX;
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        memset(x, 0, sizeof x);
        result = solve_with(solver, ctx, 400, b, x);
        assert_int_equal(result.history_length, 0);
        assert_true(result.converged);
        result = solve_with(solver, ctx, 400, b, x); /* x is there: nothing is iterated, and nothing kept either */
        assert_int_equal(result.iterations, 0);
        assert_int_equal(result.history_length, 0);
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

typedef struct monitor_record {
    int64_t calls, last_iteration, cancel_at;
    double tolerance;
    bool monotone;
} monitor_record;

static int watch(void *user, const tess_progress *progress)
{
    monitor_record *r = user;

    r->calls += 1;
    r->monotone = r->monotone && progress->iteration > r->last_iteration && progress->elapsed_seconds >= 0.0 &&
                  progress->residual_norm >= 0.0;
    r->last_iteration = progress->iteration;
    r->tolerance = progress->tolerance;
    return progress->iteration >= r->cancel_at;
}

static void monitor_sees_every_iteration_and_cancels(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    double *b = random_values(400, 3, -1.0, 1.0), x[400] = {0.0};
    monitor_record all = {0, 0, INT64_MAX, 0.0, true}, some = {0, 0, 7, 0.0, true};
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solve_result result, again;
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solver *solver = NULL;

    (void)state;
    options.monitor = watch;
    options.monitor_user = &all;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    result = solve_with(solver, ctx, 400, b, x);
    assert_int_equal(all.calls, result.iterations);
    assert_true(all.monotone);
    options.monitor_user = &some;
    assert_ok(ctx, tess_solver_set_limits(solver, &options));
    memset(x, 0, sizeof x);
    again = solve_with(solver, ctx, 400, b, x);
    assert_int_equal(again.reason, TESS_REASON_CANCELLED);
    assert_true(again.iterations >= 7 && again.iterations <= 8);
    check_honest(&a, b, x, &options, &again);
    assert_true(again.residual_norm < result.rhs_norm * 10.0);
    assert_true(again.residual_norm > 0.0 && again.residual_norm == again.residual_norm);
    options.monitor = NULL;
    assert_ok(ctx, tess_solver_set_limits(solver, &options));
    again = solve_with(solver, ctx, 400, b, x); /* goes on from where it was cancelled */
    assert_true(again.converged && again.iterations < result.iterations);
    options.rtol = -1.0;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_set_limits(solver, &options));
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* FP32 storage cannot represent the matrix; the guard brings the solve to 1e-10 of the FP64 one all the same. */
static void fp32_storage_reaches_fp64_accuracy_by_repair(void **state)
{
    double *b = random_values(900, 3, -1.0, 1.0);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        oracle_csr a = kind != TESS_SOLVER_BICGSTAB ? oracle_laplace2d(30) : oracle_convection2d(30, 0.3);
        double *x = test_allocate(900, sizeof *x);
        tess_solve_options options = solve_options((tess_solver_kind)kind);
        tess_solve_result result;

        for (int64_t k = 0; k < a.nnz; k++) {
            a.val[k] *= 1.0 / 3.0;
        } /* not representable in FP32 */
        options.storage.precision = TESS_PRECISION_FP32;
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        check_honest(&a, b, x, &options, &result);
        assert_true(result.refinements > 0);
        assert_true(result.storage.matrix_bytes < result.storage.fp64_csr_bytes);
        assert_int_equal(result.storage.nonzeros_per_precision[TESS_PRECISION_FP32], a.nnz);
        assert_int_equal(result.storage.nonzeros_per_precision[TESS_PRECISION_FP64], 0);
        oracle_free(&a);
        free(x);
    }
    tess_context_destroy(ctx);
    free(b);
}

/* A cycle with rounded values ends where its estimate no longer tells of the true residual: all cycles together take
   about the iterations of one in FP64, not those of a cycle to the end and of what is left then. */
static void fp32_cycles_end_early(void **state)
{
    enum { ROWS = 3000 };
    oracle_csr a = oracle_tridiagonal(ROWS, -1.0 / 3.0, 0.7, -1.0 / 3.0);
    double *b = random_values(ROWS, 3, -1.0, 1.0), *x = test_allocate(ROWS, sizeof *x);
    int64_t iterations[2];
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int low = 0; low < 2; low++) {
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        tess_solve_result result;

        options.rtol = 1e-13;
        options.storage.precision = low ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
        memset(x, 0, ROWS * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_true(result.converged && !result.escalated);
        iterations[low] = result.iterations;
        print_message("%lld iterations\n", (long long)iterations[low]);
    }
    assert_true(4 * iterations[1] < 5 * iterations[0]);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* Values beyond a precision's range break the cycle in it; the solve ends in FP64 and reports this. */
static void overflow_of_low_precisions_escalates(void **state)
{
    double diagonal[3] = {1e100, 1.0, 2.0}, b[3] = {1e100, 1.0, 1.0};
    oracle_csr a = oracle_diagonal(3, diagonal);
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
    tess_solve_result result;
    tess_context *ctx = open_cpu(1);

    (void)state;
    options.precond.kind = TESS_PRECOND_JACOBI;
    for (int precision = TESS_PRECISION_FP32; precision < TESS_PRECISION_COUNT; precision++) {
        double x[3] = {0.0};

        options.storage.precision = (tess_precision)precision;
        result = solve_once(ctx, &a, &options, b, x);
        assert_true(result.converged);
        assert_true(result.escalated);
        assert_int_equal(result.storage.precision, TESS_PRECISION_FP64);
        check_honest(&a, b, x, &options, &result);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* In e4m3 0.97 is 1, and the matrix singular: the low parts of split and composite make no progress, FP64 does. */
static void useless_low_parts_escalate(void **state)
{
    static const tess_format formats[] = {TESS_FORMAT_SPLIT, TESS_FORMAT_COMPOSITE};
    double b[2] = {1.0, -1.0};
    oracle_csr a = oracle_tridiagonal(2, 0.97, 1.0, 0.97);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_context *ctx = open_cpu(1);

    (void)state;
    assert_int_equal(tess_policy_options_parse("fixed-range:10", &options.storage.policy), TESS_SUCCESS);
    assert_int_equal(tess_precision_levels_parse("fp64,e4m3", &options.storage.policy), TESS_SUCCESS);
    for (int f = 0; f < 2; f++) {
        double x[2] = {0.0};
        tess_solve_result result;

        options.storage.format = formats[f];
        result = solve_once(ctx, &a, &options, b, x);
        assert_true(result.converged);
        assert_true(result.escalated);
        assert_int_equal(result.storage.nonzeros_per_precision[TESS_PRECISION_E4M3], 4);
        assert_int_equal(result.storage.nonzeros_per_precision[TESS_PRECISION_FP64], 0);
        check_honest(&a, b, x, &options, &result);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cg_agrees_with_a_dense_solve),
        cmocka_unit_test(bicgstab_agrees_with_a_dense_solve),
        cmocka_unit_test(every_small_size_works),
        cmocka_unit_test(no_rows_are_solved),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(many_right_hand_sides_equal_separate_solves),
        cmocka_unit_test(new_values_are_solved_with),
        cmocka_unit_test(initial_guesses),
        cmocka_unit_test(exactly_solvable_systems_with_rtol_zero),
        cmocka_unit_test(history_and_limits),
        cmocka_unit_test(monitor_sees_every_iteration_and_cancels),
        cmocka_unit_test(fp32_storage_reaches_fp64_accuracy_by_repair),
        cmocka_unit_test(fp32_cycles_end_early),
        cmocka_unit_test(overflow_of_low_precisions_escalates),
        cmocka_unit_test(useless_low_parts_escalate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
