/* SPDX-License-Identifier: Apache-2.0 */
/* GMRES on the CPU: right answers with every basis and preconditioner, least residuals, restarts, breakdowns, honest
 * ends. */
#include "support/solve.h"

static void every_basis_and_preconditioner_converges(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_NONE, TESS_PRECOND_JACOBI, TESS_PRECOND_BLOCK_JACOBI};
    oracle_csr a = oracle_convection2d(40, 3.0);
    double *b = random_values(1600, 7, -1.0, 1.0), *x = test_allocate(1600, sizeof *x);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int precision = 0; precision < TESS_PRECISION_COUNT; precision++) {
        for (int k = 0; k < 3 * GMRES_WAYS; k++) {
            tess_solve_options options = gmres_basis_options(30, (tess_precision)precision, k / 3);
            tess_solve_result result;

            options.precond.kind = kinds[k % 3];
            options.max_iterations = 20000;
            memset(x, 0, 1600 * sizeof *x);
            result = solve_once(ctx, &a, &options, b, x);
            assert_int_equal(result.reason, TESS_REASON_RTOL);
            assert_int_equal(result.solver, TESS_SOLVER_GMRES);
            check_honest(&a, b, x, &options, &result);
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* After k iterations the estimate is the true residual, and none is larger than the one before. */
static void check_estimates(int way)
{
    enum { N = 400, STEPS = 25 };
    oracle_csr a = oracle_convection2d(20, 2.0);
    double *b = random_values(N, 3, -1.0, 1.0), *x = test_allocate(N, sizeof *x), before = INFINITY;
    wide product[N], bb = 0, bi = 0, ii = 0;
    double magnitude[N];
    tess_context *ctx = open_cpu(1);

    for (int steps = 1; steps <= STEPS; steps++) {
        tess_solve_options options = gmres_basis_options(STEPS, TESS_PRECISION_FP64, way);
        tess_solve_result result;

        options.rtol = 1e-14;
        options.max_iterations = steps;
        memset(x, 0, N * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
        assert_int_equal(result.iterations, steps);
        check_honest(&a, b, x, &options, &result);
        /* rounding: of the basis (about steps u) and of x */
        assert_at_most(fabs(result.estimated_residual_norm - result.residual_norm),
                       1e3 * STEPS * 0x1p-53 * result.rhs_norm);
        assert_at_most(result.residual_norm, before * (1.0 + 1e-12));
        if (steps == 1) { /* over the line through b: || b - A b (b, A b) / (A b, A b) || */
            oracle_multiply(&a, false, b, product, magnitude);
            for (int i = 0; i < N; i++) {
                bb += (wide)b[i] * b[i];
                bi += (wide)b[i] * product[i];
                ii += product[i] * product[i];
            }
            assert_at_most(fabs(result.residual_norm - sqrt((double)(bb - bi * bi / ii))), 1e-12 * result.rhs_norm);
        }
        before = result.residual_norm;
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

static void estimates_are_the_least_residuals(void **state)
{
    (void)state;
    for (int way = 0; way < GMRES_WAYS; way++) {
        check_estimates(way);
    }
}

/* As many iterations as there are eigenvalues; a basis longer than the matrix is cut to it. */
static void check_invariant_space(int way)
{
    enum { N = 60 };
    double values[N], b[N], x[N] = {0.0};
    tess_solve_options options = gmres_basis_options(1000, TESS_PRECISION_FP64, way);
    tess_context *ctx = open_cpu(1);
    tess_solve_result result;
    oracle_csr a;

    for (int i = 0; i < N; i++) {
        values[i] = (double)(1 + i % 3);
        b[i] = 1.0 + i;
    }
    a = oracle_diagonal(N, values);
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_int_equal(result.iterations, 3);
    check_honest(&a, b, x, &options, &result);
    options.rtol = 0.0;
    memset(x, 0, sizeof x);
    result = solve_once(ctx, &a, &options, b, x);
    check_honest(&a, b, x, &options, &result);
    assert_at_most((double)result.iterations, 30.0);
    assert_at_most(result.residual_norm, 64.0 * 0x1p-53 * result.rhs_norm);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void invariant_spaces_end_the_cycle(void **state)
{
    (void)state;
    for (int way = 0; way < GMRES_WAYS; way++) {
        check_invariant_space(way);
    }
}

/* The cyclic shift: no residual falls before iteration n (Greenbaum, Ptak, Strakos 1996). */
static void cycles_without_progress_end_in_stagnation(void **state)
{
    enum { N = 12 };
    static const tess_guard guards[] = {TESS_GUARD_REPAIR, TESS_GUARD_REPORT};
    oracle_csr a = oracle_open(N, N);
    double b[N] = {1.0}, x[N];
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        oracle_push(&a, (i + 1) % N, 1.0);
        oracle_end_row(&a, i);
    }
    for (int g = 0; g < 2 * GMRES_WAYS; g++) {
        for (int restart = N - 1; restart <= N; restart++) {
            tess_solve_options options = gmres_basis_options(restart, TESS_PRECISION_FP64, g / 2);
            tess_solve_result result;

            options.guard = guards[g % 2];
            memset(x, 0, sizeof x);
            result = solve_once(ctx, &a, &options, b, x);
            check_honest(&a, b, x, &options, &result);
            assert_int_equal(result.reason, restart < N ? TESS_REASON_STAGNATION : TESS_REASON_RTOL);
            if (restart == N) { assert_int_equal(result.iterations, N); }
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* A matrix whose range does not hold b: the process breaks down, and nothing converges. */
static void singular_matrices_do_not_converge(void **state)
{
    double values[5] = {1.0, 2.0, 0.0, 3.0, 4.0}, b[5] = {1.0, 1.0, 1.0, 1.0, 1.0}, x[5] = {0.0}, zero[5] = {0.0};
    oracle_csr a = oracle_diagonal(5, values), none = oracle_diagonal(5, zero);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int way = 0; way < GMRES_WAYS; way++) {
        tess_solve_options options = gmres_basis_options(50, TESS_PRECISION_FP64, way);
        tess_solve_result result;

        memset(x, 0, sizeof x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_false(result.converged);
        check_honest(&a, b, x, &options, &result);
        assert_at_most(result.residual_norm, 1.0 + 1e-12); /* all but the third component is solved */
        memset(x, 0, sizeof x);
        result = solve_once(ctx, &none, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_BREAKDOWN);
        assert_int_equal(result.iterations, 0);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&none);
}

/* Some solvers report success here: the limit is no multiple of the restart. */
static void hilbert_matrices_are_judged_honestly(void **state)
{
    oracle_csr a = oracle_hilbert(48);
    double *b = random_values(48, 5, -1.0, 1.0), x[48];
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < GMRES_WAYS * (TESS_PRECISION_FP16 + 1); k++) {
        tess_solve_options options = gmres_basis_options(20, (tess_precision)(k / GMRES_WAYS), k % GMRES_WAYS);
        tess_solve_result result;

        options.max_iterations = 50;
        memset(x, 0, sizeof x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_false(result.converged);
        assert_true(result.iterations <= 50);
        check_honest(&a, b, x, &options, &result);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* Sums are added in a fixed order for any number of threads; one handle serves several right-hand sides. */
static void bits_do_not_depend_on_threads(void **state)
{
    enum { N = 90 * 90 };
    oracle_csr a = oracle_convection2d(90, 1.0);
    double *b = random_values(N, 2, -1.0, 1.0), *x = test_allocate(N, sizeof *x), *y = test_allocate(N, sizeof *y);

    (void)state;
    for (int k = 0; k < GMRES_WAYS * TESS_PRECISION_COUNT; k++) {
        tess_solve_options options = gmres_basis_options(20, (tess_precision)(k / GMRES_WAYS), k % GMRES_WAYS);
        tess_context *one = open_cpu(1), *three = open_cpu(3);
        tess_matrix *m = make_matrix(three, &a);
        tess_solver *solver = NULL;
        tess_solve_result result;

        options.max_iterations = 65;
        memset(x, 0, N * sizeof *x);
        result = solve_once(one, &a, &options, b, x);
        assert_ok(three, tess_solver_create(m, &options, &solver));
        for (int again = 0; again < 2; again++) {
            memset(y, 0, N * sizeof *y);
            assert_int_equal(solve_with(solver, three, N, b, y).iterations, result.iterations);
            assert_true(same_bits(x, y, N));
        }
        tess_solver_destroy(solver);
        tess_matrix_destroy(m);
        tess_context_destroy(one);
        tess_context_destroy(three);
    }
    oracle_free(&a);
    free(b);
    free(x);
    free(y);
}

static void wrong_options_are_refused(void **state)
{
    oracle_csr a = oracle_laplace2d(3);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solve_options options = gmres_basis_options(0, TESS_PRECISION_FP64, 0);
    tess_solver *solver = NULL;

    (void)state;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    options = gmres_basis_options(5, (tess_precision)TESS_PRECISION_COUNT, 0);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    options = solve_options(TESS_SOLVER_GMRES_IR);
    options.gmres.basis = (tess_role_precision){.given = 1, .storage = TESS_PRECISION_FP64}; /* of FP32 vectors */
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "what cycles compute in fp32"));
    options = solve_options(TESS_SOLVER_GMRES_FD);
    options.gmres.switch_at = -1;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "iteration -1"));
    options = solve_options(TESS_SOLVER_GMRES);
    options.gmres.inner = (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP32};
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    assert_null(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_basis_and_preconditioner_converges),
        cmocka_unit_test(estimates_are_the_least_residuals),
        cmocka_unit_test(invariant_spaces_end_the_cycle),
        cmocka_unit_test(cycles_without_progress_end_in_stagnation),
        cmocka_unit_test(singular_matrices_do_not_converge),
        cmocka_unit_test(hilbert_matrices_are_judged_honestly),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(wrong_options_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
