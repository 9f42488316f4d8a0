/* SPDX-License-Identifier: Apache-2.0 */
/* What the marks of a user's operator make of solver auto, and that a wrong one claims nothing false. */
#include "support/solve.h"

enum { SIDE = 8, N = SIDE * SIDE };

static int apply(void *user, tess_operation operation, const double *x, double *y)
{
    const oracle_csr *a = user;

    if (operation == TESS_OP_TRANSPOSE) { return 1; }
    for (int64_t i = 0; i < N; i++) {
        y[i] = 0.0;
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            y[i] += a->val[k] * x[a->col_ind[k]];
        }
    }
    return 0;
}

/* Checks the claims of a solve with solver auto, and returns the method that it took. */
static tess_solver_kind check_marked(oracle_csr *a, int symmetric, int positive_definite, int *converged)
{
    const tess_shell_operator shell = {
        .apply = apply, .user = a, .symmetric = symmetric, .positive_definite = positive_definite};
    tess_context *ctx = open_cpu(1);
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    double *b = random_values(N, 1, -1.0, 1.0), x[N] = {0.0};
    tess_matrix *m = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    options.max_iterations = 500;
    assert_ok(ctx, tess_matrix_create_shell(ctx, N, N, &shell, &m));
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    result = solve_with(solver, ctx, N, b, x);
    if (result.converged) {
        assert_at_most((double)oracle_residual_norm(a, b, x), 1.01e-10 * (double)oracle_norm2(b, N));
    }
    assert_int_equal(result.verified, 0);
    *converged = result.converged;
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    free(b);
    return result.solver;
}

static void marks_choose_the_method(void **state)
{
    oracle_csr a = oracle_laplace2d(SIDE);
    int converged = 0;

    (void)state;
    assert_int_equal(check_marked(&a, 0, 0, &converged), TESS_SOLVER_BICGSTAB);
    assert_int_equal(converged, 1);
    assert_int_equal(check_marked(&a, 1, 0, &converged), TESS_SOLVER_MINRES);
    assert_int_equal(converged, 1);
    assert_int_equal(check_marked(&a, 1, 1, &converged), TESS_SOLVER_CG);
    assert_int_equal(converged, 1);
    assert_int_equal(check_marked(&a, 0, 1, &converged), TESS_SOLVER_CG);
    assert_int_equal(converged, 1);
    oracle_free(&a);
}

static void wrong_marks_claim_nothing_false(void **state)
{
    oracle_csr skew = oracle_tridiagonal(N, -1.0, 0.01, 1.0), indefinite = oracle_tridiagonal(N, 1.0, 0.01, 1.0);
    int converged = 0;

    (void)state;
    (void)check_marked(&skew, 1, 0, &converged);
    assert_int_equal(converged, 0);
    (void)check_marked(&skew, 1, 1, &converged);
    assert_int_equal(converged, 0);
    (void)check_marked(&indefinite, 1, 1, &converged);
    oracle_free(&skew);
    oracle_free(&indefinite);
}

/* Words without a name belong to later versions. */
static void unnamed_words_are_zeros(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_shell_operator shell = {.apply = apply, .reserved = {0, 1}};
    tess_matrix *m = NULL;

    (void)state;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_create_shell(ctx, N, N, &shell, &m));
    assert_null(m);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_choose_the_method),
        cmocka_unit_test(wrong_marks_claim_nothing_false),
        cmocka_unit_test(unnamed_words_are_zeros),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
