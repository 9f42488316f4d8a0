/* SPDX-License-Identifier: Apache-2.0 */
/* A^T x = b by a solver of A: what the solver of the transposed matrix gives, and honest; new values, shells, refusals.
 */
#include "support/precond_of.h"
#include "support/solve.h"

enum { SIDE = 7, N = SIDE * SIDE };

/* By columns of a; small matrices only. */
static oracle_csr transposed(const oracle_csr *a)
{
    oracle_csr t = oracle_open(a->ncols, a->nrows);

    for (int64_t j = 0; j < a->ncols; j++) {
        for (int64_t i = 0; i < a->nrows; i++) {
            for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
                if (a->col_ind[k] == j) { oracle_push(&t, i, a->val[k]); }
            }
        }
        oracle_end_row(&t, j);
    }
    return t;
}

/* x of A^T x = b from zeros, which `result` describes. */
static void solve_transposed(tess_solver *solver, tess_context *ctx, const oracle_csr *a, const double *b, double *x,
                             tess_solve_result *result)
{
    tess_vector *vb = make_vector(ctx, a->ncols, b), *vx = make_zeros(ctx, a->nrows);

    tess_solve_result_init(result);
    assert_ok(ctx, tess_solver_solve_transpose(solver, vb, vx, result));
    read_vector(vx, x);
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
}

/* The same bits, iterations and claims as a solver that was made from the transposed matrix. */
static void check_solve(const oracle_csr *a, const tess_solve_options *options)
{
    tess_context *ctx = open_device(2);
    oracle_csr at = transposed(a);
    tess_matrix *m = make_matrix(ctx, a), *mt = make_matrix(ctx, &at);
    double *b = random_values(a->ncols, 3, -1.0, 1.0), *x = test_allocate(a->nrows, sizeof *x),
           *expected = test_allocate(a->nrows, sizeof *expected);
    tess_solver *solver = NULL, *direct = NULL;
    tess_vector *vb = make_vector(ctx, a->ncols, b), *vx = make_zeros(ctx, a->nrows);
    tess_solve_result result, of_direct;

    assert_ok(ctx, tess_solver_create(m, options, &solver));
    assert_ok(ctx, tess_solver_create(mt, options, &direct));
    tess_solve_result_init(&of_direct);
    assert_ok(ctx, tess_solver_solve(direct, vb, vx, &of_direct));
    read_vector(vx, expected);
    solve_transposed(solver, ctx, a, b, x, &result);
    assert_int_equal(result.converged, 1);
    assert_int_equal(result.verified, of_direct.verified);
    assert_int_equal(result.reason, of_direct.reason);
    assert_int_equal(result.solver, of_direct.solver);
    assert_int_equal(result.iterations, of_direct.iterations);
    assert_true(same_bits(x, expected, a->nrows));
    if (a->nrows == a->ncols) { check_honest(&at, b, x, options, &result); }
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_solver_destroy(direct);
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_matrix_destroy(mt);
    tess_context_destroy(ctx);
    oracle_free(&at);
    free(b);
    free(x);
    free(expected);
}

static void every_method_solves_with_the_transpose(void **state)
{
    static const tess_solver_kind kinds[] = {
        TESS_SOLVER_AUTO,     TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES, TESS_SOLVER_IDR,    TESS_SOLVER_GMRES_IR,
        TESS_SOLVER_GMRES_FD, TESS_SOLVER_LSQR,     TESS_SOLVER_LSMR,  TESS_SOLVER_JACOBI, TESS_SOLVER_FGMRES};
    oracle_csr a = oracle_convection2d(SIDE, 0.3);

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        tess_solve_options options = solve_options(kinds[k]);

        check_solve(&a, &options);
    }
    oracle_free(&a);
}

static void options_are_those_of_the_solver(void **state)
{
    static const tess_precond_kind preconds[] = {TESS_PRECOND_ILU0, TESS_PRECOND_BLOCK_JACOBI, TESS_PRECOND_AMG,
                                                 TESS_PRECOND_POLYNOMIAL};
    oracle_csr a = oracle_convection2d(SIDE, 0.3);
    tess_solve_options options = solve_options(TESS_SOLVER_GMRES);

    (void)state;
    for (size_t k = 0; k < sizeof preconds / sizeof preconds[0]; k++) {
        options.precond = precond_of(preconds[k], 0);
        check_solve(&a, &options);
    }
    options = solve_options(TESS_SOLVER_GMRES_IR);
    options.precond = precond_of(TESS_PRECOND_BLOCK_JACOBI, 4);
    options.precond.block_jacobi.adaptive = 1;
    check_solve(&a, &options);
    options = solve_options(TESS_SOLVER_BICGSTAB);
    options.scale = TESS_SCALING_MAX_PRODUCT;
    options.reorder = TESS_REORDERING_RCM;
    check_solve(&a, &options);
    options.solver = TESS_SOLVER_AUTO;
    check_solve(&a, &options);
    oracle_free(&a);
}

static void rectangles_have_the_other_shape(void **state)
{
    oracle_csr tall = oracle_random(30, 12, 5, 7), wide = oracle_random(12, 30, 5, 8);
    tess_solve_options options = solve_options(TESS_SOLVER_LSQR);

    (void)state;
    check_solve(&tall, &options);
    check_solve(&wide, &options);
    options.solver = TESS_SOLVER_AUTO;
    check_solve(&tall, &options);
    oracle_free(&tall);
    oracle_free(&wide);
}

static void new_values_and_limits_hold(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_convection2d(SIDE, 0.3), at;
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solve_options options = solve_options(TESS_SOLVER_GMRES);
    double *b = random_values(N, 4, -1.0, 1.0), x[N] = {0.0};
    tess_solver *solver = NULL;
    tess_solve_result result;

    (void)state;
    options.precond = precond_of(TESS_PRECOND_ILU0, 0);
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    solve_transposed(solver, ctx, &a, b, x, &result);
    for (int64_t k = 0; k < a.row_ptr[N]; k++) {
        a.val[k] *= 2.0 + 0.5 * (double)(k % 3);
    }
    at = transposed(&a);
    assert_ok(ctx, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    solve_transposed(solver, ctx, &a, b, x, &result);
    assert_int_equal(result.verified, 1);
    check_honest(&at, b, x, &options, &result);
    memset(x, 0, sizeof x);
    result = solve_with(solver, ctx, N, b, x);
    check_honest(&a, b, x, &options, &result); /* A x = b as ever */
    options.max_iterations = 1;
    assert_ok(ctx, tess_solver_set_limits(solver, &options));
    solve_transposed(solver, ctx, &a, b, x, &result);
    assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
    assert_int_equal(result.iterations, 1);
    tess_matrix_destroy(m); /* the solver keeps it */
    solve_transposed(solver, ctx, &a, b, x, &result);
    tess_solver_destroy(solver);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&at);
    free(b);
}

/* ---- shells ---- */

typedef struct shell {
    const oracle_csr *a;
    bool transposes;
} shell;

static int apply(void *user, tess_operation operation, const double *x, double *y)
{
    const shell *s = user;
    const bool transpose = operation == TESS_OP_TRANSPOSE;

    if (transpose && !s->transposes) { return 7; }
    memset(y, 0, (size_t)s->a->nrows * sizeof *y);
    for (int64_t i = 0; i < s->a->nrows; i++) {
        for (int64_t k = s->a->row_ptr[i]; k < s->a->row_ptr[i + 1]; k++) {
            const int64_t j = s->a->col_ind[k];

            y[transpose ? j : i] += s->a->val[k] * x[transpose ? i : j];
        }
    }
    return 0;
}

static int diagonal(void *user, double *d)
{
    const shell *s = user;

    for (int64_t i = 0; i < s->a->nrows; i++) {
        for (int64_t k = s->a->row_ptr[i]; k < s->a->row_ptr[i + 1]; k++) {
            if (s->a->col_ind[k] == i) { d[i] = s->a->val[k]; }
        }
    }
    return 0;
}

static int bound_of_a(void *user, const double *x, double *bound)
{
    (void)user;
    (void)x;
    *bound = 0.0;
    return 0;
}

/* A bound of A x says nothing about A^T x: the solve converges, and is not verified. */
static void shells_apply_their_transpose(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_convection2d(SIDE, 0.3), at = transposed(&a);
    shell s = {&a, true};
    const tess_shell_operator shell_of_a = {
        .apply = apply, .diagonal = diagonal, .user = &s, .error_bound = bound_of_a};
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
    double *b = random_values(N, 5, -1.0, 1.0), x[N];
    tess_vector *vb = make_vector(ctx, N, b), *vx = make_zeros(ctx, N);
    tess_matrix *m = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    (void)state;
    options.precond = precond_of(TESS_PRECOND_JACOBI, 0);
    assert_ok(ctx, tess_matrix_create_shell(ctx, N, N, &shell_of_a, &m));
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    solve_transposed(solver, ctx, &a, b, x, &result);
    assert_int_equal(result.converged, 1);
    assert_int_equal(result.verified, 0);
    assert_true(isnan(result.residual_bound));
    assert_at_most((double)oracle_residual_norm(&at, b, x), 1.01e-10 * (double)oracle_norm2(b, N));
    s.transposes = false;
    tess_solve_result_init(&result);
    assert_fails(ctx, TESS_CALLBACK, tess_solver_solve_transpose(solver, vb, vx, &result));
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&at);
    free(b);
}

/* ---- refusals ---- */

typedef struct visit {
    tess_context *ctx;
    tess_solver *solver;
    tess_vector *b, *x;
    bool destroys;
    int calls;
} visit;

static int call_from_monitor(void *user, const tess_progress *progress)
{
    visit *v = user;
    tess_solve_result result;

    (void)progress;
    if (v->calls++ > 0) { return 0; }
    tess_solve_result_init(&result);
    assert_fails(v->ctx, TESS_INVALID_ARGUMENT, tess_solver_solve_transpose(v->solver, v->b, v->x, &result));
    if (v->destroys) { tess_solver_destroy(v->solver); }
    return 0;
}

static void a_monitor_may_end_the_solver(void **state)
{
    oracle_csr a = oracle_convection2d(SIDE, 0.3);

    (void)state;
    for (int destroys = 0; destroys < 2; destroys++) {
        visit v = {.ctx = open_cpu(1), .destroys = destroys == 1};
        tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
        tess_matrix *m = make_matrix(v.ctx, &a);
        double *b = random_values(N, 6, -1.0, 1.0);
        tess_solve_result result;

        options.monitor = call_from_monitor;
        options.monitor_user = &v;
        v.b = make_vector(v.ctx, N, b);
        v.x = make_zeros(v.ctx, N);
        assert_ok(v.ctx, tess_solver_create(m, &options, &v.solver));
        tess_solve_result_init(&result);
        assert_ok(v.ctx, tess_solver_solve_transpose(v.solver, v.b, v.x, &result));
        assert_int_equal(result.converged, 1);
        assert_true(v.calls > 1);
        if (!v.destroys) { tess_solver_destroy(v.solver); }
        tess_vector_destroy(v.b);
        tess_vector_destroy(v.x);
        tess_matrix_destroy(m);
        tess_context_destroy(v.ctx);
        free(b);
    }
    oracle_free(&a);
}

static void a_preconditioner_of_the_caller_is_one_of_a(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_laplace2d(SIDE);
    tess_matrix *m = make_matrix(ctx, &a);
    const tess_precond_options jacobi = precond_of(TESS_PRECOND_JACOBI, 0);
    tess_vector *b = make_zeros(ctx, N), *x = make_zeros(ctx, N), *shorter = make_zeros(ctx, N - 1);
    tess_precond *precond = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    (void)state;
    tess_solve_result_init(&result);
    assert_ok(ctx, tess_precond_create(m, &jacobi, &precond));
    assert_ok(ctx, tess_solver_create_with_precond(m, precond, NULL, &solver));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_solve_transpose(solver, b, x, &result));
    tess_solver_destroy(solver);
    assert_ok(ctx, tess_solver_create(m, NULL, &solver));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_solver_solve_transpose(solver, shorter, x, &result));
    tess_solver_destroy(solver);
    tess_precond_destroy(precond);
    tess_matrix_destroy(m);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    tess_vector_destroy(shorter);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_solves_with_the_transpose),
        cmocka_unit_test(options_are_those_of_the_solver),
        cmocka_unit_test(rectangles_have_the_other_shape),
        cmocka_unit_test(new_values_and_limits_hold),
        cmocka_unit_test(shells_apply_their_transpose),
        cmocka_unit_test(a_monitor_may_end_the_solver),
        cmocka_unit_test(a_preconditioner_of_the_caller_is_one_of_a),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
