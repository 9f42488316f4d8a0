/* SPDX-License-Identifier: Apache-2.0 */
/* MINRES on the CPU: indefinite systems with known solutions, the least residuals, preconditioners of a definite part,
 * repairs, and honest ends. */
#include "support/precond_of.h"
#include "support/solve.h"

enum { EDGE = 20, N = EDGE * EDGE };

/* The Laplacian less `shift` times the identity: with 2.5, about a quarter of the eigenvalues are negative. */
static oracle_csr shifted(double shift)
{
    oracle_csr a = oracle_laplace2d(EDGE);

    for (int64_t i = 0; i < N; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] == i) { a.val[k] -= shift; }
        }
    }
    return a;
}

enum { PRIMAL = 120, DUAL = 40 };

/* [A B; B^T 0] with a tridiagonal A, and B of full rank: each constraint has three unknowns of its own. */
static oracle_csr saddle_point(void)
{
    oracle_csr a = oracle_open(PRIMAL + DUAL, PRIMAL + DUAL);

    for (int i = 0; i < PRIMAL; i++) {
        if (i > 0) { oracle_push(&a, i - 1, -1.0); }
        oracle_push(&a, i, 3.0 + i % 5);
        if (i + 1 < PRIMAL) { oracle_push(&a, i + 1, -1.0); }
        oracle_push(&a, PRIMAL + i / 3, 1.0 + i % 3);
        oracle_end_row(&a, i);
    }
    for (int c = 0; c < DUAL; c++) {
        for (int i = 0; i < 3; i++) {
            oracle_push(&a, 3 * c + i, 1.0 + i);
        }
        oracle_end_row(&a, PRIMAL + c);
    }
    return a;
}

/* The error of x against a dense solution. */
static double error_of(const oracle_csr *a, const double *b, const double *x)
{
    double *exact = test_allocate(a->nrows, sizeof *exact), error = 0.0;

    assert_true(oracle_solve_dense(a, b, exact));
    for (int64_t i = 0; i < a->nrows; i++) {
        error = hypot(error, x[i] - exact[i]);
    }
    error /= (double)oracle_norm2(exact, a->nrows);
    free(exact);
    return error;
}

static void indefinite_systems_have_their_solutions(void **state)
{
    oracle_csr systems[] = {shifted(2.5), saddle_point()};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < 2; k++) {
        const int64_t n = systems[k].nrows;
        double *b = random_values(n, 5, -1.0, 1.0), *x = test_allocate(n, sizeof *x);
        tess_solve_options options = solve_options(TESS_SOLVER_MINRES);
        tess_solve_result result;

        memset(x, 0, (size_t)n * sizeof *x);
        options.rtol = 1e-12;
        result = solve_once(ctx, &systems[k], &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_int_equal(result.solver, TESS_SOLVER_MINRES);
        check_honest(&systems[k], b, x, &options, &result);
        assert_at_most(error_of(&systems[k], b, x), 1e-12 * 1e4); /* condition numbers are below 1e4 */
        oracle_free(&systems[k]);
        free(b);
        free(x);
    }
    tess_context_destroy(ctx);
}

/* GMRES takes the least residual of the same spaces: for a symmetric matrix both have the same one in each iteration,
   and MINRES' estimate is the true norm. */
static void residuals_are_those_of_gmres(void **state)
{
    enum { STEPS = 60 };
    oracle_csr a = shifted(2.5);
    double *b = random_values(N, 5, -1.0, 1.0);
    tess_solve_options options = solve_options(TESS_SOLVER_MINRES), other = solve_options(TESS_SOLVER_GMRES);
    tess_context *ctx = open_cpu(1);
    solved minres, gmres;

    (void)state;
    options.rtol = other.rtol = 0.0;
    options.max_iterations = other.max_iterations = STEPS;
    other.gmres.restart = STEPS;
    other.gmres.orthogonalization = TESS_ORTHOGONALIZATION_CGS2; /* as many iterations as vectors */
    minres = solve_here(ctx, &a, &options, b);
    gmres = solve_here(ctx, &a, &other, b);
    assert_int_equal(minres.result.iterations, STEPS);
    assert_int_equal(gmres.result.iterations, STEPS);
    for (int i = 0; i <= STEPS; i++) {
        assert_at_most(fabs(minres.history[i] - gmres.history[i]), 1e-10 * gmres.history[0]);
    }
    assert_at_most(minres.history[STEPS], 0.5 * minres.history[0]);
    assert_at_most(fabs(minres.result.residual_norm - minres.history[STEPS]), 1e-12 * minres.history[0]);
    discard(&minres);
    discard(&gmres);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* Three eigenvalues, of both signs: three iterations. One step less has not met the tolerance. */
static void as_many_iterations_as_eigenvalues(void **state)
{
    static const double values[] = {-2.0, 1.0, 3.5};
    double diagonal[60], b[60], x[60] = {0.0};
    tess_solve_options options = solve_options(TESS_SOLVER_MINRES);
    tess_context *ctx = open_cpu(1);
    tess_solve_result result;
    oracle_csr a;

    (void)state;
    for (int i = 0; i < 60; i++) {
        diagonal[i] = values[i % 3];
        b[i] = 1.0 + i;
    }
    a = oracle_diagonal(60, diagonal);
    options.rtol = 1e-13;
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_int_equal(result.iterations, 3);
    check_honest(&a, b, x, &options, &result);
    /* a cycle ends where the space is invariant: what follows would be rounding errors, up to the limit */
    options.rtol = 0.0;
    memset(x, 0, sizeof x);
    result = solve_once(ctx, &a, &options, b, x);
    assert_at_most((double)result.iterations, 30.0);
    assert_at_most(result.residual_norm, 64.0 * U64 * result.rhs_norm);
    check_honest(&a, b, x, &options, &result);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* A preconditioner of the Laplacian for the shifted one. The estimate is the norm of the unpreconditioned residual. */
static void check_preconditioner(const char *name, bool fp32)
{
    oracle_csr a = shifted(0.6), definite = oracle_laplace2d(EDGE);
    double *b = random_values(N, 5, -1.0, 1.0), *x = test_allocate(N, sizeof *x);
    tess_solve_options options = solve_options(TESS_SOLVER_MINRES);
    tess_precond_options precond;
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, &a), *positive = make_matrix(ctx, &definite);
    tess_precond *made = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    tess_precond_options_init(&precond);
    assert_int_equal(tess_precond_options_parse(name, &precond), TESS_SUCCESS);
    if (fp32) { precond.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64}; }
    assert_ok(ctx, tess_precond_create(positive, &precond, &made));
    assert_ok(ctx, tess_solver_create_with_precond(m, made, &options, &solver));
    memset(x, 0, N * sizeof *x);
    result = solve_with(solver, ctx, N, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_int_equal(result.refinements, 0);
    check_honest(&a, b, x, &options, &result);
    assert_at_most(fabs(result.estimated_residual_norm - result.residual_norm), 1e-12 * result.rhs_norm);
    tess_solver_destroy(solver);
    /* the same in the middle of the way, where no tolerance ends it */
    options.max_iterations = result.iterations / 2;
    options.rtol = 0.0;
    assert_ok(ctx, tess_solver_create_with_precond(m, made, &options, &solver));
    memset(x, 0, N * sizeof *x);
    result = solve_with(solver, ctx, N, b, x);
    assert_int_equal(result.iterations, options.max_iterations);
    assert_at_most(fabs(result.estimated_residual_norm - result.residual_norm), 1e-12 * result.rhs_norm);
    tess_solver_destroy(solver);
    tess_precond_destroy(made);
    tess_matrix_destroy(m);
    tess_matrix_destroy(positive);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&definite);
    free(b);
    free(x);
}

static void preconditioners_of_a_definite_part(void **state)
{
    (void)state;
    check_preconditioner("none", false);
    check_preconditioner("jacobi", false);
    check_preconditioner("block-jacobi:4", false);
    check_preconditioner("block-jacobi:4", true);
    check_preconditioner("polynomial:3", false);
    check_preconditioner("ic0", false);
    check_preconditioner("ic0", true);
}

/* A preconditioner helps: the exact inverse of the diagonal of a diagonal matrix leaves two eigenvalues, 1 and -1. */
static void signs_are_all_that_jacobi_leaves(void **state)
{
    static const double signs[] = {1.0, -1.0};
    double diagonal[50], inverse[50], b[50], x[50] = {0.0};
    tess_solve_options options = solve_options(TESS_SOLVER_MINRES);
    tess_context *ctx = open_cpu(1);
    oracle_csr a, magnitudes;
    tess_precond *made = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;
    tess_precond_options precond = precond_of(TESS_PRECOND_JACOBI, 0);

    (void)state;
    for (int i = 0; i < 50; i++) {
        inverse[i] = 1.0 + i * i;
        diagonal[i] = signs[i % 2] * inverse[i];
        b[i] = 1.0 + i;
    }
    a = oracle_diagonal(50, diagonal);
    magnitudes = oracle_diagonal(50, inverse);
    tess_matrix *m = make_matrix(ctx, &a), *positive = make_matrix(ctx, &magnitudes);
    assert_ok(ctx, tess_precond_create(positive, &precond, &made));
    assert_ok(ctx, tess_solver_create_with_precond(m, made, &options, &solver));
    result = solve_with(solver, ctx, 50, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_int_equal(result.iterations, 2);
    check_honest(&a, b, x, &options, &result);
    tess_solver_destroy(solver);
    tess_precond_destroy(made);
    tess_matrix_destroy(m);
    tess_matrix_destroy(positive);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&magnitudes);
}

/* In low precision the matrix is another one: cycles from the true residual make up for it. */
static void low_precision_is_repaired(void **state)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP32, TESS_PRECISION_BF16};
    oracle_csr a = shifted(2.5);
    double *b = random_values(N, 5, -1.0, 1.0), *x = test_allocate(N, sizeof *x);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= 1.0 / 3.0;
    } /* not representable in FP32 */
    for (int k = 0; k < 2; k++) {
        tess_solve_options options = solve_options(TESS_SOLVER_MINRES);
        tess_solve_result result;

        options.storage.precision = precisions[k];
        options.max_iterations = 20000;
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

/* diag(1, ..., 1, 0): b outside of the range. The last space is invariant, and A is singular on it. */
static void singular_systems_break_down(void **state)
{
    double diagonal[30], b[30], x[30] = {0.0};
    tess_solve_options options = solve_options(TESS_SOLVER_MINRES);
    tess_context *ctx = open_cpu(1);
    tess_solve_result result;
    oracle_csr a;

    (void)state;
    for (int i = 0; i < 30; i++) {
        diagonal[i] = i < 29 ? 1.0 : 0.0;
        b[i] = 1.0;
    }
    a = oracle_diagonal(30, diagonal);
    for (int guard = TESS_GUARD_REPAIR; guard <= TESS_GUARD_REPORT; guard++) {
        options.guard = (tess_guard)guard;
        memset(x, 0, sizeof x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_BREAKDOWN);
        assert_int_equal(result.converged, 0);
        check_honest(&a, b, x, &options, &result);
        assert_at_most(result.residual_norm, sqrt(30.0)); /* x is no worse than 0 was */
    }
    b[29] = 0.0; /* inside */
    memset(x, 0, sizeof x);
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static int negate_last(void *user, const double *r, double *z)
{
    const int n = *(const int *)user;

    for (int i = 0; i < n; i++) {
        z[i] = i + 1 < n ? r[i] : -1e6 * r[i];
    }
    return 0;
}

/* One negative eigenvalue: it may show at the start, or only in a later Lanczos vector. */
static void indefinite_preconditioners_are_found(void **state)
{
    int n = N;
    const tess_shell_precond indefinite = {.apply = negate_last, .user = &n};
    oracle_csr a = shifted(2.5), skew = oracle_convection2d(EDGE, 1.0);
    double *b = random_values(N, 5, -1.0, 1.0), *x = test_allocate(N, sizeof *x);
    tess_solve_options options = solve_options(TESS_SOLVER_MINRES);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_precond *made = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    (void)state;
    assert_ok(ctx, tess_precond_create_shell(ctx, n, &indefinite, &made));
    assert_ok(ctx, tess_solver_create_with_precond(m, made, &options, &solver));
    for (int k = 0; k < 2; k++) {
        b[N - 1] = k == 0 ? 1.0 : 0.0;
        if (k == 1) { b[N - 2] = b[N - 1 - EDGE] = 0.0; } /* nor has A b the last unknown */
        memset(x, 0, N * sizeof *x);
        result = solve_with(solver, ctx, N, b, x);
        assert_int_equal(result.reason, TESS_REASON_INDEFINITE_PRECOND);
        assert_true((result.iterations > 0) == (k == 1));
        check_honest(&a, b, x, &options, &result);
    }
    result = solve_once(ctx, &skew, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_NONSYMMETRIC);
    assert_int_equal(result.iterations, 0);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "minres"));
    tess_solver_destroy(solver);
    tess_precond_destroy(made);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&skew);
    free(b);
    free(x);
}

static void limits_are_exact(void **state)
{
    oracle_csr a = shifted(2.5);
    double *b = random_values(N, 5, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    check_limits_are_exact(ctx, &a, b, solve_options(TESS_SOLVER_MINRES));
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indefinite_systems_have_their_solutions),
        cmocka_unit_test(residuals_are_those_of_gmres),
        cmocka_unit_test(as_many_iterations_as_eigenvalues),
        cmocka_unit_test(preconditioners_of_a_definite_part),
        cmocka_unit_test(signs_are_all_that_jacobi_leaves),
        cmocka_unit_test(low_precision_is_repaired),
        cmocka_unit_test(singular_systems_break_down),
        cmocka_unit_test(indefinite_preconditioners_are_found),
        cmocka_unit_test(limits_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
