/* SPDX-License-Identifier: Apache-2.0 */
/* If GMRES reports convergence, the solve has converged: polynomials of high degree in FP32; any magnitude; extreme
   sizes; wrong options. */
#include "support/gallery.h"
#include "support/solve.h"

static tess_precond_options in_fp32(tess_precond_kind kind, int degree)
{
    tess_precond_options options;

    tess_precond_options_init(&options);
    options.kind = kind;
    options.polynomial.degree = degree;
    options.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32};
    return options;
}

/* Loe et al. 2021, section V-F: estimates drift from residuals as the degree rises. */
static void high_degrees_in_fp32_are_judged_honestly(void **state)
{
    static const char *const problems[] = {"stretched2d 60", "laplace3d 12", "uniflow2d 60", "bentpipe2d 60"};
    static const tess_solver_kind solvers[] = {TESS_SOLVER_GMRES, TESS_SOLVER_GMRES_IR};
    static const int degrees[] = {20, 45, 70};
    tess_context *ctx = open_cpu(2);
    int converged = 0, caught = 0;

    (void)state;
    for (size_t p = 0; p < sizeof problems / sizeof *problems; p++) {
        oracle_csr a = generate_problem(problems[p], 1);
        double *b = test_allocate(a.nrows, sizeof *b), *x = test_allocate(a.nrows, sizeof *x);

        for (int64_t i = 0; i < a.nrows; i++) {
            b[i] = 1.0;
        }
        for (int k = 0; k < 12; k++) {
            tess_solve_options options = solve_options(solvers[k % 2]);
            tess_solve_result result;

            options.guard = k / 2 % 2 ? TESS_GUARD_REPORT : TESS_GUARD_REPAIR;
            options.precond = in_fp32(TESS_PRECOND_POLYNOMIAL, degrees[k / 4]);
            options.max_iterations = 120;
            memset(x, 0, (size_t)a.nrows * sizeof *x);
            result = solve_once(ctx, &a, &options, b, x);
            check_honest(&a, b, x, &options, &result);
            converged += result.converged;
            caught += result.reason == TESS_REASON_FALSE_CONVERGENCE;
            if (options.guard == TESS_GUARD_REPAIR) { assert_true(result.reason != TESS_REASON_FALSE_CONVERGENCE); }
        }
        oracle_free(&a);
        free(b);
        free(x);
    }
    assert_true(converged > 0 && caught > 0);
    tess_context_destroy(ctx);
}

/* The same section: with the polynomial in FP64 each degree converges. In FP32 the true residual stops, the earlier the
   higher the degree, where the estimate goes on to the tolerance. */
static void claims_drift_with_the_degree(void **state)
{
    enum { DEGREES = 7 };
    oracle_csr a = generate_problem("laplace3d 16", 1);
    double *b = test_allocate(a.nrows, sizeof *b), *x = test_allocate(a.nrows, sizeof *x), residual[DEGREES];
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        b[i] = 1.0;
    }
    for (int k = 0; k < 2 * DEGREES; k++) {
        tess_solve_options options = solve_options(TESS_SOLVER_GMRES);
        tess_solve_result result;

        options.guard = TESS_GUARD_REPORT;
        options.precond = in_fp32(TESS_PRECOND_POLYNOMIAL, 10 * (k / 2 + 1));
        if (k % 2 == 0) { options.precond.role = (tess_role_precision){0}; }
        memset(x, 0, (size_t)a.nrows * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        check_honest(&a, b, x, &options, &result);
        if (k % 2 == 0) {
            assert_true(result.converged);
            continue;
        }
        residual[k / 2] = result.relative_residual;
        assert_int_equal(result.reason, TESS_REASON_FALSE_CONVERGENCE);
        assert_true(result.relative_residual > 1e3 * result.estimated_relative_residual);
    }
    for (int k = 3; k < DEGREES; k++) {
        assert_true(residual[k] > 1.5 * residual[0]);
    }
    oracle_free(&a);
    free(b);
    free(x);
    tess_context_destroy(ctx);
}

/* The input of a preconditioner in FP32 is scaled into its range: a right-hand side and a power of two times it have
   the same cycles. */
static void fp32_preconditioners_serve_any_magnitude(void **state)
{
    enum { N = 20 * 20 };
    static const tess_solver_kind solvers[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES,
                                               TESS_SOLVER_GMRES_IR};
    static const tess_precond_kind kinds[] = {TESS_PRECOND_JACOBI, TESS_PRECOND_BLOCK_JACOBI, TESS_PRECOND_POLYNOMIAL};
    static const int powers[] = {0, 140, -140, 290, -290, 700, -700};
    oracle_csr a = oracle_laplace2d(20);
    double *b = random_values(N, 7, -1.0, 1.0), scaled[N], x[N];
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < 12; k++) {
        int64_t iterations = 0;

        for (size_t p = 0; p < sizeof powers / sizeof *powers; p++) {
            tess_solve_options options = solve_options(solvers[k / 3]);
            tess_solve_result result;

            options.precond = in_fp32(kinds[k % 3], 5);
            for (int i = 0; i < N; i++) {
                scaled[i] = ldexp(b[i], powers[p]);
            }
            memset(x, 0, sizeof x);
            result = solve_once(ctx, &a, &options, scaled, x);
            assert_int_equal(result.reason, TESS_REASON_RTOL);
            assert_int_equal(result.escalated, 0);
            check_honest(&a, scaled, x, &options, &result);
            assert_true(p == 0 || result.iterations == iterations);
            iterations = result.iterations;
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* No row, one row, restarts longer than rows and iterations; NaN is reported, and the handle is clean afterwards. */
static void ends_of_the_ranges_are_served(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_GMRES, TESS_SOLVER_GMRES_IR, TESS_SOLVER_GMRES_FD};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < 3 * 2 * 4; k++) {
        static const int64_t sizes[] = {0, 1, 2, 9};
        oracle_csr a = oracle_tridiagonal(sizes[k / 6], -1.0, 3.0, -1.5);
        const int64_t n = a.nrows;
        double b[9] = {1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0, -8.0, 9.0}, x[9] = {0.0};
        tess_solve_options options = solve_options(solvers[k % 3]);
        tess_matrix *m = make_matrix(ctx, &a);
        tess_solver *solver = NULL;
        tess_solve_result result;

        options.gmres.orthogonalization = (tess_orthogonalization)(k / 3 % 2);
        options.gmres.restart = INT32_MAX;
        options.max_iterations = 200;
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        for (int again = 0; again < 3; again++) {
            const double first = b[0];

            if (again == 1) { b[0] = (double)NAN; }
            memset(x, 0, sizeof x);
            result = solve_with(solver, ctx, n, b, x);
            b[0] = first;
            if (again == 1 && n > 0) {
                assert_int_equal(result.reason, TESS_REASON_NAN_OR_INF);
            } else {
                assert_true(result.converged);
                check_honest(&a, b, x, &options, &result);
            }
        }
        options.max_iterations = 0;
        assert_ok(ctx, tess_solver_set_limits(solver, &options));
        memset(x, 0, sizeof x);
        result = solve_with(solver, ctx, n, b, x);
        assert_int_equal(result.iterations, 0);
        assert_true(result.converged == (n == 0));
        tess_solver_destroy(solver);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* Products of 2^-600 and x of about 2^-474 are at the end of the range: a residual of zero is no proof there, and
   nothing is left to correct. The guard keeps the guess, which is not proved to be worse. */
static void zero_residuals_that_prove_nothing_end_the_solve(void **state)
{
    enum { N = 5 };
    static const tess_solver_kind solvers[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES,
                                               TESS_SOLVER_GMRES_FD};
    double values[N], b[N], x[N];
    tess_context *ctx = open_cpu(1);
    oracle_csr a;

    (void)state;
    for (int i = 0; i < N; i++) {
        values[i] = 0x1p-600;
        b[i] = (1.0 + i) * 0x1p-1074;
    }
    a = oracle_diagonal(N, values);
    for (int k = 0; k < 4 * 2; k++) {
        tess_solve_options options = solve_options(solvers[k / 2]);
        tess_solve_result result;

        options.guard = k % 2 ? TESS_GUARD_REPORT : TESS_GUARD_REPAIR;
        memset(x, 0, sizeof x);
        for (int again = 0; again < 2; again++) { /* from zero; from there */
            result = solve_once(ctx, &a, &options, b, x);
            assert_int_equal(result.reason, TESS_REASON_STAGNATION);
            if (options.guard == TESS_GUARD_REPORT) {
                assert_int_equal(result.iterations, again ? 0 : 1);
                assert_true(result.residual_norm == 0.0 && result.residual_bound > result.tolerance);
            } else {
                assert_at_most((double)result.iterations, 3.0);
                assert_true(result.residual_norm == result.rhs_norm && x[0] == 0.0 && x[N - 1] == 0.0);
            }
            check_honest(&a, b, x, &options, &result);
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* x is rounded between cycles in FP32, and never after the last one, which was judged. Two eigenvalues: each cycle
   meets its goal after two iterations, the last one at the limit of them. */
static void the_last_cycle_is_the_one_that_is_told(void **state)
{
    enum { N = 40 };
    double values[N], x[N], *b = random_values(N, 3, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);
    oracle_csr a;

    (void)state;
    for (int i = 0; i < N; i++) {
        values[i] = i % 2 ? 1.1 : 3.7;
    }
    a = oracle_diagonal(N, values);
    for (int k = 0; k < 12; k++) {
        tess_solve_options options = solve_options(TESS_SOLVER_GMRES_FD);
        tess_solve_result result;

        options.guard = k % 2 ? TESS_GUARD_REPORT : TESS_GUARD_REPAIR;
        options.max_iterations = 1 + k / 2;
        options.rtol = 0x1p-60;
        memset(x, 0, sizeof x);
        result = solve_once(ctx, &a, &options, b, x);
        check_honest(&a, b, x, &options, &result);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

static void wrong_options_are_refused(void **state)
{
    oracle_csr a = oracle_laplace2d(3);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solver *solver = NULL;
    tess_solve_options options[4];

    (void)state;
    for (int k = 0; k < 4; k++) {
        options[k] = solve_options(TESS_SOLVER_GMRES);
    }
    options[0].gmres.orthogonalization = (tess_orthogonalization)2;
    options[1].gmres.inner = (tess_role_precision){1, TESS_PRECISION_FP32, (tess_arithmetic)2};
    options[2].gmres.inner = (tess_role_precision){1, (tess_precision)-1, TESS_ARITHMETIC_FP64};
    options[3].gmres.restart = -1;
    for (int k = 0; k < 4; k++) {
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options[k], &solver));
        assert_null(solver);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* A basis that is full at the limit of iterations: nothing runs any more. */
static void the_limit_of_iterations_is_a_reason(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_GMRES, TESS_SOLVER_GMRES_IR, TESS_SOLVER_FGMRES};
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_tridiagonal(2, -1.0, 2.5, -1.0);

    (void)state;
    for (int k = 0; k < 6; k++) {
        const double b[] = {1.0, 3.0};
        tess_solve_options options = solve_options(kinds[k % 3]);
        double x[2] = {0.0};

        options.guard = k < 3 ? TESS_GUARD_REPORT : TESS_GUARD_REPAIR;
        options.max_iterations = 1;
        options.gmres.restart = 1;
        assert_int_equal(solve_once(ctx, &a, &options, b, x).reason, TESS_REASON_ITERATIONS);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(high_degrees_in_fp32_are_judged_honestly),
        cmocka_unit_test(claims_drift_with_the_degree),
        cmocka_unit_test(fp32_preconditioners_serve_any_magnitude),
        cmocka_unit_test(ends_of_the_ranges_are_served),
        cmocka_unit_test(zero_residuals_that_prove_nothing_end_the_solve),
        cmocka_unit_test(the_last_cycle_is_the_one_that_is_told),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(the_limit_of_iterations_is_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
