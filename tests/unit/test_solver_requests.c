/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with the user's functions, refused requests, and systems without rows. */
#include "support/precond_of.h"
#include "support/solve.h"

static int apply_tridiagonal(void *user, tess_operation operation, const double *x, double *y)
{
    const int n = *(const int *)user;

    if (operation != TESS_OP_NONE) { return 1; }
    for (int i = 0; i < n; i++) {
        y[i] = 2.5 * x[i] - (i > 0 ? x[i - 1] : 0.0) - (i + 1 < n ? x[i + 1] : 0.0);
    }
    return 0;
}

static int write_diagonal(void *user, double *diagonal)
{
    const int n = *(const int *)user;

    for (int i = 0; i < n; i++) {
        diagonal[i] = 2.5;
    }
    return 0;
}

static int halve(void *user, const double *r, double *z)
{
    const int n = *(const int *)user;

    for (int i = 0; i < n; i++) {
        z[i] = 0.5 * r[i];
    }
    return 0;
}

static void shells_are_solved_like_matrices(void **state)
{
    int n = 50;
    const tess_shell_operator shell = {.apply = apply_tridiagonal, .diagonal = write_diagonal, .user = &n};
    const tess_shell_precond half = {.apply = halve, .user = &n};
    oracle_csr a = oracle_tridiagonal(n, -1.0, 2.5, -1.0);
    double *b = random_values(n, 3, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);
    tess_matrix *operator_only = NULL, *assembled = make_matrix(ctx, &a);
    tess_precond *precond = NULL;

    (void)state;
    assert_ok(ctx, tess_matrix_create_shell(ctx, n, n, &shell, &operator_only));
    assert_ok(ctx, tess_precond_create_shell(ctx, n, &half, &precond));
    for (int trial = 0; trial < 12; trial++) {
        tess_solve_options options = solve_options(trial % 2 ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB);
        const tess_matrix *m = trial < 6 ? operator_only : assembled;
        bool own = trial % 6 / 2 == 2;
        double x[50] = {0.0};
        tess_solver *solver = NULL;
        tess_solve_result result;

        if (trial % 6 / 2 == 1) { options.precond.kind = TESS_PRECOND_JACOBI; }
        assert_ok(ctx, tess_solver_create_with_precond(m, own ? precond : NULL, &options, &solver));
        result = solve_with(solver, ctx, n, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_true(isnan(result.residual_bound) == (m == operator_only));
        assert_at_most((double)oracle_residual_norm(&a, b, x), result.tolerance * (1.0 + 1e-5));
        if (own) { assert_int_equal(result.precond.kind, TESS_PRECOND_SHELL); }
        tess_solver_destroy(solver);
    }
    tess_precond_destroy(precond);
    tess_matrix_destroy(operator_only);
    tess_matrix_destroy(assembled);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

static void wrong_requests_are_refused(void **state)
{
    oracle_csr rectangle = oracle_random(4, 5, 2, 1), a = oracle_laplace2d(3);
    tess_storage_options storage = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_CSR, .precision = TESS_PRECISION_FP32};
    tess_context *ctx = open_cpu(1);
    tess_matrix *wrong = make_matrix(ctx, &rectangle), *m = make_matrix(ctx, &a), *stored = NULL;
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solver *solver = NULL;
    tess_solve_result result;

    (void)state;
    assert_ok(ctx, tess_matrix_convert(m, &storage, &stored));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_solver_create(wrong, &options, &solver));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(stored, &options, &solver));
    options.engine = TESS_ENGINE_GRAPH;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    options = solve_options((tess_solver_kind)77);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    options = solve_options(TESS_SOLVER_CG);
    options.max_iterations = -1;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    options = solve_options(TESS_SOLVER_CG);
    options.rtol = (double)NAN;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    options = solve_options(TESS_SOLVER_CG);
    options.precond = precond_of(TESS_PRECOND_BLOCK_JACOBI, 65);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    options.precond = precond_of(TESS_PRECOND_SHELL, 8); /* a shell cannot be made from a matrix */
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    options = solve_options(TESS_SOLVER_CG);
    options.storage.precision = (tess_precision)TESS_PRECISION_COUNT;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    options = solve_options(TESS_SOLVER_CG);
    options.storage.format = TESS_FORMAT_SPLIT;
    options.storage.split.row_order = TESS_ROW_ORDER_PERMUTED;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    options.storage.split.row_order = TESS_ROW_ORDER_SYMMETRIC;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    assert_null(solver);
    tess_solver_destroy(NULL);
    options = solve_options(TESS_SOLVER_CG);
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    tess_vector *b = make_zeros(ctx, 9), *x = make_zeros(ctx, 9), *shorter = make_zeros(ctx, 8);
    tess_solve_result_init(&result);
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_solver_solve(solver, shorter, x, &result));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_solver_solve(solver, b, shorter, &result));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_solve(solver, b, b, &result));
    assert_ok(ctx, tess_solver_solve(solver, b, x, &result));
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    tess_vector_destroy(shorter);
    tess_solver_destroy(solver);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_matrix_destroy(wrong);
    tess_context_destroy(ctx);
    oracle_free(&rectangle);
    oracle_free(&a);
}

static void empty_system_is_solved(void **state)
{
    oracle_csr a = oracle_open(0, 0);
    double nothing[1] = {0.0};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        tess_solve_options options = solve_options((tess_solver_kind)kind);
        tess_solve_result result = solve_once(ctx, &a, &options, nothing, nothing);

        assert_true(result.converged && result.iterations == 0 && result.residual_norm == 0.0);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shells_are_solved_like_matrices),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(empty_system_is_solved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
