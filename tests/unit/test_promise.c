/* SPDX-License-Identifier: Apache-2.0 */
/* What `converged` and `verified` promise, where it is easily broken: operators without a bound, norms that come out as
   0, tolerances at the last bit, calls that fail, the ends of FP64's range, and the bits of one solve after another. */
#include "solver/solver.h"
#include "support/solve.h"

enum { N = 64 };

/* ---- operators given by functions ---- */

/* The identity, wrong by `error` in its first element; it says so or not. */
typedef struct sloppy {
    double error, bound;
} sloppy;

static int apply_sloppily(void *user, tess_operation operation, const double *x, double *y)
{
    const sloppy *s = user;

    (void)operation;
    memcpy(y, x, N * sizeof *y);
    y[0] += s->error;
    return 0;
}

static int say_bound(void *user, const double *x, double *bound)
{
    (void)x;
    *bound = ((const sloppy *)user)->bound;
    return 0;
}

static int say_nothing(void *user, const double *x, double *bound)
{
    (void)user;
    (void)x;
    (void)bound;
    return 3;
}

static tess_solve_result solve_shell(sloppy *s, int (*error_bound)(void *user, const double *x, double *bound),
                                     double *x)
{
    const tess_shell_operator shell = {.apply = apply_sloppily, .user = s, .error_bound = error_bound};
    const tess_solve_options options = solve_options(TESS_SOLVER_GMRES);
    double *b = random_values(N, 1, 0.5, 1.0);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    assert_ok(ctx, tess_matrix_create_shell(ctx, N, N, &shell, &m));
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    result = solve_with(solver, ctx, N, b, x);
    result.history = NULL;
    /* what is wrong with x itself, against the exact identity */
    for (int i = 0; i < N; i++) {
        x[i] -= b[i];
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    free(b);
    return result;
}

/* Without a bound the function's own arithmetic is believed, and the result says that nothing is proved. */
static void operators_without_a_bound_are_not_verified(void **state)
{
    sloppy s = {.error = 0.25};
    double error[N] = {0.0};
    tess_solve_result result = solve_shell(&s, NULL, error);

    (void)state;
    assert_int_equal(result.converged, 1);
    assert_int_equal(result.verified, 0);
    assert_true(isnan(result.residual_bound) != 0);
    assert_at_most(0.2, fabs(error[0])); /* and nothing is true of x */
}

static void a_bound_of_the_user_decides(void **state)
{
    double error[N] = {0.0};
    sloppy exact = {.error = 0.0, .bound = 0.0}, honest = {.error = 0.25, .bound = 0.25};
    tess_solve_result result = solve_shell(&exact, say_bound, error);

    (void)state;
    assert_int_equal(result.converged, 1);
    assert_int_equal(result.verified, 1);
    assert_at_most((double)oracle_norm2(error, N), result.tolerance);
    assert_true(result.residual_bound > 0.0 || result.residual_norm == 0.0);
    memset(error, 0, sizeof error);
    result = solve_shell(&honest, say_bound, error);
    assert_int_equal(result.converged, 0);
    assert_int_equal(result.verified, 0);
    assert_at_most(0.25, result.residual_bound);
}

/* b - y is rounded once for each element and the norm in N squares, of which its root halves the error: that much is
   added to the user's bound at least, and no more than four times as much. */
static void a_bound_of_the_user_is_added_to_sharply(void **state)
{
    sloppy s = {.error = 0.25};
    const tess_shell_operator shell = {.apply = apply_sloppily, .user = &s, .error_bound = say_bound};
    double *b = random_values(N, 1, 0.5, 1.0), *x = random_values(N, 2, -1.0, 1.0), r[N];
    const double rhs_norm = (double)oracle_norm2(b, N);
    tess_context *ctx = open_cpu(1);
    tess_vector *vb = make_vector(ctx, N, b), *vx = make_vector(ctx, N, x);
    tess_matrix *m = NULL;

    (void)state;
    assert_ok(ctx, tess_matrix_create_shell(ctx, N, N, &shell, &m));
    for (int k = 0; k < 3; k++) {
        const double least = (N / 2.0 + 1.0) * U64;
        true_residual v;

        s.bound = k == 0 ? 0.0 : ldexp(1.0, -30 * k);
        assert_ok(ctx, verify_residual(m, tess_vector_data(vb), tess_vector_data(vx), r, &v));
        assert_true(v.bounded);
        assert_at_most(s.bound + least * v.norm, v.bound);
        assert_at_most(v.bound, (s.bound + 4.0 * least * v.norm) * (1.0 + 4.0 * U64));
        assert_at_most(v.rhs_least, rhs_norm * (1.0 - U64)); /* ||b|| is rounded likewise, and down */
        assert_at_most(rhs_norm * (1.0 - 4.0 * least), v.rhs_least);
    }
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    free(b);
    free(x);
}

static void a_bound_that_fails_is_an_error(void **state)
{
    static int (*const bad[])(void *, const double *, double *) = {say_nothing, say_bound};
    sloppy s = {.error = 0.0, .bound = -1.0};
    double x[N] = {0.0}, norm = 0.0, bound = 0.0;
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < 2; k++) {
        const tess_shell_operator shell = {.apply = apply_sloppily, .user = &s, .error_bound = bad[k]};
        tess_matrix *m = NULL;
        tess_vector *vx = make_vector(ctx, N, x);
        tess_vector *vb = make_vector(ctx, N, x);

        assert_ok(ctx, tess_matrix_create_shell(ctx, N, N, &shell, &m));
        assert_fails(ctx, TESS_CALLBACK, tess_verify_residual(m, vb, vx, NULL, &norm, &bound));
        assert_non_null(strstr(tess_context_last_error(ctx)->message, k == 0 ? "3" : "-1"));
        tess_vector_destroy(vx);
        tess_vector_destroy(vb);
        tess_matrix_destroy(m);
    }
    tess_context_destroy(ctx);
}

/* ---- norms of 0, and tolerances ---- */

/* A tolerance far below what FP64 can tell from 0 is met by no residual of which anything was rounded. */
static void a_norm_of_zero_needs_its_bound(void **state)
{
    int zeros = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        oracle_csr a = oracle_tridiagonal(3, -1.0, 3.0, -1.0);
        double *b = random_values(3, seed, -1.0, 1.0), x[3] = {0.0};
        tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
        tess_context *ctx = open_cpu(1);
        tess_solve_result result;

        options.rtol = 1e-40;
        result = solve_once(ctx, &a, &options, b, x);
        check_honest(&a, b, x, &options, &result);
        assert_int_equal(result.verified, result.converged);
        zeros += result.residual_norm == 0.0;
        tess_context_destroy(ctx);
        oracle_free(&a);
        free(b);
    }
    print_message("residuals that came out as 0: %d of 200\n", zeros);
}

/* x = 1/3, b = fl(3 x): the residual vanishes in FP64 and in two words; with x in place it is judged before a loop. */
static void a_zero_of_rounded_products_is_no_proof(void **state)
{
    double third[1] = {1.0 / 3.0}, b[1], x[1] = {0x1p-600}, tiny[1] = {0x1p-475};
    oracle_csr a = oracle_diagonal(1, third), underflows = oracle_diagonal(1, tiny);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_context *ctx = open_cpu(1);
    tess_solve_result result;

    (void)state;
    options.rtol = options.atol = 0.0;
    options.max_iterations = 0;
    b[0] = 0.0; /* of 2^-1075, which is rounded to 0: only the bound shows that the product is not 0 */
    options.atol = 0x1p-1074;
    result = solve_once(ctx, &underflows, &options, b, x);
    assert_true(result.residual_norm == 0.0);
    assert_int_equal(result.iterations, 0);
    x[0] = 3.0; /* fl(1/3) 3 = 1 - 2^-54, rounded to 1: two words know better */
    b[0] = 1.0;
    options.atol = 0.0;
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.converged, 0);
    assert_true(result.residual_norm == 0x1p-54);
    x[0] = 0.0; /* nothing is rounded */
    b[0] = 0.0;
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.verified, 1);
    assert_true(result.residual_norm == 0.0 && result.residual_bound == 0.0);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&underflows);
}

/* rtol ||b|| in 400,000 roundings: the tolerance is never above that of the exact norm, nor far below it. */
static void tolerances_are_rounded_down(void **state)
{
    enum { LARGE = 400000 };
    const double rtol = 0.5;
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        double *diagonal = random_values(LARGE, seed, 1.0, 2.0), *b = random_values(LARGE, seed + 10, 0.9, 1.1);
        double *x = test_allocate(LARGE, sizeof *x);
        oracle_csr a = oracle_diagonal(LARGE, diagonal);
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        tess_solve_result result;
        wide exact = oracle_norm2(b, LARGE);

        memset(x, 0, LARGE * sizeof *x);
        options.rtol = rtol;
        options.max_iterations = 0;
        result = solve_once(ctx, &a, &options, b, x);
        assert_true((wide)result.tolerance <= (wide)rtol * exact);
        assert_at_most((double)((wide)rtol * exact * (1 - 16 * (wide)U64)), result.tolerance);
        oracle_free(&a);
        free(diagonal);
        free(b);
        free(x);
    }
    tess_context_destroy(ctx);
}

static void tolerances_are_finite_numbers(void **state)
{
    static const double bad[] = {(double)NAN, HUGE_VAL, -1.0, -HUGE_VAL};
    oracle_csr a = oracle_laplace2d(4);
    tess_solve_options good = solve_options(TESS_SOLVER_CG);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solver *kept = NULL, *refused = NULL;

    (void)state;
    assert_ok(ctx, tess_solver_create(m, &good, &kept));
    for (int k = 0; k < 8; k++) {
        tess_solve_options options = good;

        if (k < 4) {
            options.rtol = bad[k];
        } else {
            options.atol = bad[k - 4];
        }
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &refused));
        assert_null(refused);
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_set_limits(kept, &options));
    }
    tess_solver_destroy(kept);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Whatever ended the loop, no reason of success stands beside a residual that is above the tolerance or not finite. */
static void no_reason_of_success_without_proof(void **state)
{
    static const tess_reason good[] = {TESS_REASON_RTOL, TESS_REASON_ATOL, TESS_REASON_HAPPY_BREAKDOWN};
    static const tess_reason bad[] = {TESS_REASON_ITERATIONS, TESS_REASON_BREAKDOWN, TESS_REASON_STAGNATION};
    static const true_residual unproved[] = {{.norm = 1.0, .bound = 0.0, .bounded = true},
                                             {.norm = 0.0, .bound = 1.0, .bounded = true},
                                             {.norm = 1.0, .bound = (double)NAN, .bounded = false},
                                             {.norm = (double)NAN, .bound = 0.0, .bounded = true}};
    const true_residual proved = {.norm = 0.25, .bound = 0x1p-60, .bounded = true};
    const tess_solve_options options = solve_options(TESS_SOLVER_CG);
    oracle_csr a = oracle_laplace2d(4);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solver *solver = NULL;

    (void)state;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    for (int k = 0; k < 3; k++) {
        tess_solve_result r;

        tess_solve_result_init(&r);
        r.rhs_norm = 1.0;
        r.tolerance = 0.5;
        for (int u = 0; u < 4; u++) {
            finish_result(solver, &unproved[u], good[k], 0.0, &r);
            assert_int_equal(r.reason, TESS_REASON_FALSE_CONVERGENCE);
            assert_true(r.converged == 0 && r.verified == 0);
            finish_result(solver, &unproved[u], bad[k], 0.0, &r);
            assert_int_equal(r.reason, bad[k]);
            assert_true(r.converged == 0 && r.verified == 0);
        }
        finish_result(solver, &proved, k == 0 ? bad[k] : good[k], 0.0, &r);
        assert_true(r.reason > 0 && r.converged == 1 && r.verified == 1);
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* A call that fails, before or within the solve, leaves nothing of the result of the one before. */
static void a_call_that_fails_clears_the_result(void **state)
{
    oracle_csr a = oracle_laplace2d(4);
    double b[16], x[16] = {0.0};
    const tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solver *solver = NULL;
    tess_solve_result result, fresh;

    (void)state;
    for (int i = 0; i < 16; i++) {
        b[i] = 1.0;
    }
    tess_solve_result_init(&fresh);
    tess_solve_result_init(&result);
    tess_vector *vb = make_vector(ctx, 16, b), *vx = make_vector(ctx, 16, x), *shorter = make_vector(ctx, 15, b);
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    assert_ok(ctx, tess_solver_solve(solver, vb, vx, &result));
    assert_int_equal(result.verified, 1);
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_solver_solve(solver, shorter, vx, &result));
    assert_memory_equal(&result, &fresh, sizeof fresh);
    assert_ok(ctx, tess_solver_solve(solver, vb, vx, &result));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_solve(solver, vx, vx, &result));
    assert_memory_equal(&result, &fresh, sizeof fresh);
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_vector_destroy(shorter);
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* ---- range ---- */

static const tess_solver_kind every_method[] = {TESS_SOLVER_CG,       TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES,
                                                TESS_SOLVER_GMRES_IR, TESS_SOLVER_GMRES_FD, TESS_SOLVER_JACOBI,
                                                TESS_SOLVER_MINRES,   TESS_SOLVER_FGMRES,   TESS_SOLVER_IDR};
enum { METHODS = sizeof every_method / sizeof *every_method };

/* A diagonally dominant system, its matrix by 2^of_matrix and its right side by 2^of_b: an honest end, in `ctx`. */
static tess_solve_result solve_scaled(tess_context *ctx, tess_solver_kind method, int of_matrix, int of_b)
{
    oracle_csr a = oracle_tridiagonal(40, -1.0, 4.0, -1.0);
    double *b = random_values(40, 3, 0.5, 1.0), x[40] = {0.0};
    tess_solve_options options = solve_options(method);
    tess_solve_result result;

    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = ldexp(a.val[k], of_matrix);
    }
    for (int i = 0; i < 40; i++) {
        b[i] = ldexp(b[i], of_b);
    }
    result = solve_once(ctx, &a, &options, b, x);
    check_honest(&a, b, x, &options, &result);
    oracle_free(&a);
    free(b);
    return result;
}

/* What docs/concepts/verification.md says of FP64's range. */
static void right_sides_of_any_size_are_solved(void **state)
{
    static const int exponents[] = {-1000, -960, -500, 500, 960, 1000};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int m = 0; m < METHODS; m++) {
        for (size_t k = 0; k < sizeof exponents / sizeof *exponents; k++) {
            assert_int_equal(solve_scaled(ctx, every_method[m], 0, exponents[k]).verified, 1);
        }
    }
    tess_context_destroy(ctx);
}

/* Methods that square entries of A end where these squares overflow, and say so. */
static void matrices_of_any_size_end_honestly(void **state)
{
    static const int exponents[] = {-1000, -665, -500, 500, 665, 1000};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int m = 0; m < METHODS; m++) {
        const bool squares = every_method[m] != TESS_SOLVER_CG && every_method[m] != TESS_SOLVER_JACOBI &&
                             every_method[m] != TESS_SOLVER_MINRES && every_method[m] != TESS_SOLVER_IDR;

        for (size_t k = 0; k < sizeof exponents / sizeof *exponents; k++) {
            const tess_solve_result result = solve_scaled(ctx, every_method[m], exponents[k], 0);

            if (squares && exponents[k] > 500) {
                assert_int_equal(result.reason, TESS_REASON_NAN_OR_INF);
            } else {
                assert_int_equal(result.verified, 1);
            }
        }
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_without_a_bound_are_not_verified),
        cmocka_unit_test(a_bound_of_the_user_decides),
        cmocka_unit_test(a_bound_of_the_user_is_added_to_sharply),
        cmocka_unit_test(a_bound_that_fails_is_an_error),
        cmocka_unit_test(a_norm_of_zero_needs_its_bound),
        cmocka_unit_test(a_zero_of_rounded_products_is_no_proof),
        cmocka_unit_test(tolerances_are_rounded_down),
        cmocka_unit_test(tolerances_are_finite_numbers),
        cmocka_unit_test(no_reason_of_success_without_proof),
        cmocka_unit_test(a_call_that_fails_clears_the_result),
        cmocka_unit_test(right_sides_of_any_size_are_solved),
        cmocka_unit_test(matrices_of_any_size_end_honestly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
