/* SPDX-License-Identifier: Apache-2.0 */
/* IDR(s) on the CPU: known solutions for every s and preconditioner, its finite termination, repairs, honest ends. */
#include "solver/idr/idr.h"
#include "support/solve.h"

enum { EDGE = 24, N = EDGE * EDGE };

static tess_solve_options idr(int s)
{
    tess_solve_options options = solve_options(TESS_SOLVER_IDR);

    options.idr.s = s;
    return options;
}

static void every_shadow_space_and_preconditioner_converges(void **state)
{
    static const char *const names[] = {"none", "jacobi", "block-jacobi:4", "polynomial:3", "ilu0"};
    static const int spaces[] = {1, 2, 4, 8, 64};
    oracle_csr a = oracle_convection2d(EDGE, 2.0);
    double *b = random_values(N, 7, -1.0, 1.0), *x = test_allocate(N, sizeof *x);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (size_t p = 0; p < sizeof names / sizeof *names; p++) {
        for (size_t k = 0; k < sizeof spaces / sizeof *spaces; k++) {
            tess_solve_options options = idr(spaces[k]);
            tess_solve_result result;

            assert_int_equal(tess_precond_options_parse(names[p], &options.precond), TESS_SUCCESS);
            memset(x, 0, N * sizeof *x);
            result = solve_once(ctx, &a, &options, b, x);
            assert_int_equal(result.reason, TESS_REASON_RTOL);
            assert_int_equal(result.solver, TESS_SOLVER_IDR);
            assert_at_most((double)result.iterations, 300.0); /* GMRES without a restart takes 60 to 120 */
            check_honest(&a, b, x, &options, &result);
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* In exact arithmetic the residual is 0 after n + n / s products at most, and s = n is as good as GMRES. This matrix
   needs all of them. */
static void spaces_shrink_to_nothing(void **state)
{
    enum { SMALL = 24 };
    oracle_csr a = oracle_tridiagonal(SMALL, 0.5, 2.0, 1.5);
    double *b = random_values(SMALL, 3, -1.0, 1.0), exact[SMALL], error = 0.0;
    tess_context *ctx = open_cpu(1);

    (void)state;
    assert_true(oracle_solve_dense(&a, b, exact));
    for (int s = 2; s <= 32; s *= 2) {
        double x[SMALL] = {0.0};
        tess_solve_options options = idr(s);
        tess_solve_result result = solve_once(ctx, &a, &options, b, x);
        const int used = s < SMALL ? s : SMALL;

        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_at_most((double)result.iterations, SMALL + (double)SMALL / used);
        check_honest(&a, b, x, &options, &result);
        for (int i = 0; i < SMALL; i++) {
            error = fmax(error, fabs(x[i] - exact[i]));
        }
    }
    assert_at_most(error, 1e-10 * 1e3 * (double)oracle_norm2(exact, SMALL));
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* After any number of iterations the recurrence has the true residual. */
static void estimates_are_true_residuals(void **state)
{
    oracle_csr a = oracle_convection2d(EDGE, 2.0);
    double *b = random_values(N, 7, -1.0, 1.0), *x = test_allocate(N, sizeof *x);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int steps = 1; steps <= 21; steps++) {
        tess_solve_options options = idr(4);
        tess_solve_result result;

        options.rtol = 0.0;
        options.max_iterations = steps;
        options.precond.kind = steps % 2 == 0 ? TESS_PRECOND_JACOBI : TESS_PRECOND_ILU0;
        memset(x, 0, N * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
        assert_int_equal(result.iterations, steps);
        check_honest(&a, b, x, &options, &result);
        assert_at_most(fabs(result.estimated_residual_norm - result.residual_norm), 1e-11 * result.rhs_norm);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* A skew-symmetric part that dominates: A v is nearly orthogonal to r, and BiCGSTAB's omega is nearly 0. With the
   enlarged omega it takes about half as many iterations again as GMRES. */
static void nearly_skew_systems_converge(void **state)
{
    oracle_csr a = oracle_tridiagonal(200, -1.0, 0.5, 1.0);
    double *b = random_values(200, 7, -1.0, 1.0), *x = test_allocate(200, sizeof *x);
    tess_solve_options options = idr(4);
    tess_context *ctx = open_cpu(1);
    tess_solve_result result;

    (void)state;
    memset(x, 0, 200 * sizeof *x);
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_at_most((double)result.iterations, 180.0); /* GMRES: 92 */
    check_honest(&a, b, x, &options, &result);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* Powers of two change nothing, also where the squares of A leave FP64's range: the sums are then made at another
   scale. */
static void matrices_may_have_any_size(void **state)
{
    tess_context *ctx = open_cpu(1);
    int64_t iterations = 0;

    (void)state;
    for (int exponent = 0; exponent <= 1200; exponent += 600) {
        oracle_csr a = oracle_convection2d(EDGE, 2.0);
        double *b = random_values(N, 7, -1.0, 1.0), *x = test_allocate(N, sizeof *x);
        tess_solve_options options = idr(4);
        tess_solve_result result;

        for (int64_t k = 0; k < a.nnz; k++) {
            a.val[k] = ldexp(a.val[k], exponent == 1200 ? -600 : exponent);
        }
        memset(x, 0, N * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_int_equal(result.refinements, 0);
        if (exponent == 0) { iterations = result.iterations; }
        assert_true(llabs(result.iterations - iterations) <= 3); /* norms are rounded otherwise */
        oracle_free(&a);
        free(b);
        free(x);
    }
    tess_context_destroy(ctx);
}

static void low_precision_is_repaired(void **state)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP32, TESS_PRECISION_BF16};
    oracle_csr a = oracle_convection2d(EDGE, 2.0);
    double *b = random_values(N, 7, -1.0, 1.0), *x = test_allocate(N, sizeof *x);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= 1.0 / 3.0;
    }
    for (int k = 0; k < 2; k++) {
        tess_solve_options options = idr(4);
        tess_solve_result result;

        options.storage.precision = precisions[k];
        memset(x, 0, N * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_true(result.refinements > 0);
        check_honest(&a, b, x, &options, &result);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* r is orthogonal to A r for a skew-symmetric matrix: no omega helps at the end of the first turn, unless the space is
   the whole one. Every end is honest, and zero matrices break down. */
static void breakdowns_are_found(void **state)
{
    oracle_csr skew = oracle_tridiagonal(40, -1.0, 0.0, 1.0), zero = oracle_open(40, 40);
    double b[40], x[40] = {0.0};
    tess_solve_options options = idr(1);
    tess_solve_result result;
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int i = 0; i < 40; i++) {
        b[i] = 1.0;
        oracle_end_row(&zero, i);
    }
    result = solve_once(ctx, &skew, &options, b, x);
    assert_true(result.converged || result.reason == TESS_REASON_BREAKDOWN);
    check_honest(&skew, b, x, &options, &result);
    memset(x, 0, sizeof x);
    result = solve_once(ctx, &zero, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_BREAKDOWN);
    assert_int_equal(result.iterations, 0);
    assert_true(x[0] == 0.0 && x[39] == 0.0);
    check_honest(&zero, b, x, &options, &result);
    tess_context_destroy(ctx);
    oracle_free(&skew);
    oracle_free(&zero);
}

/* P: s orthonormal vectors, others for each attempt after a cycle without progress, and the same when one is repeated.
 */
static void shadow_spaces_are_orthonormal_and_new(void **state)
{
    enum { S = 8, SMALL = 121 };
    oracle_csr a = oracle_laplace2d(11);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solve_options options = idr(S);
    tess_solver *solver = NULL;
    double first[SMALL] = {0.0};

    (void)state;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    for (int attempt = 0; attempt < 4; attempt++) {
        tess_krylov *k = &method_of(solver)->krylov;
        const tess_idr *own = k->own;

        k->attempt = attempt % 3;
        assert_ok(ctx, method_of(solver)->method->start(k));
        for (int i = 0; i < S; i++) {
            for (int j = 0; j <= i; j++) {
                wide dot = 0;

                for (int64_t row = 0; row < SMALL; row++) {
                    dot += (wide)own->blocks[i * own->ld + row] * (wide)own->blocks[j * own->ld + row];
                }
                assert_at_most(fabs((double)dot - (i == j)), 20.0 * SMALL * 0x1p-53);
            }
        }
        if (attempt == 0) { memcpy(first, own->blocks, sizeof first); }
        assert_true(same_bits(first, own->blocks, SMALL) == (attempt % 3 == 0));
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void options_are_checked(void **state)
{
    static const int bad[] = {-1, 0, 65};
    oracle_csr a = oracle_laplace2d(8);
    double *b = random_values(64, 7, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solve_options options;

    (void)state;
    tess_solve_options_init(&options);
    assert_int_equal(options.idr.s, 4);
    for (int k = 0; k < 3; k++) {
        tess_solver *solver = NULL;

        options = idr(bad[k]);
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
        assert_null(solver);
    }
    check_limits_are_exact(ctx, &a, b, idr(3));
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shadow_space_and_preconditioner_converges),
        cmocka_unit_test(spaces_shrink_to_nothing),
        cmocka_unit_test(estimates_are_true_residuals),
        cmocka_unit_test(nearly_skew_systems_converge),
        cmocka_unit_test(matrices_may_have_any_size),
        cmocka_unit_test(low_precision_is_repaired),
        cmocka_unit_test(breakdowns_are_found),
        cmocka_unit_test(shadow_spaces_are_orthonormal_and_new),
        cmocka_unit_test(options_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
