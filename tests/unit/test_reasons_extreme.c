/* SPDX-License-Identifier: Apache-2.0 */
/* Solves at the ends of the range, values that change between solves, requests to cancel at awkward moments. */
#include "support/solve.h"

enum { N = 400 };

typedef struct scaled_case {
    tess_solver_kind solver;
    tess_precond_kind precond;
    int matrix_exponent, rhs_exponent;
} scaled_case;

/* The result of one solve of the scaled system; x and history without the scale. */
typedef struct scaled_outcome {
    tess_solve_result result;
    double x[N], first, last;
} scaled_outcome;

static int check_progress(void *user, const tess_progress *progress)
{
    double *last = user;

    *last = progress->residual_norm;
    return 0;
}

static oracle_csr make_scaled(const scaled_case *c, const double *b, double *scaled_b)
{
    oracle_csr a = c->solver == TESS_SOLVER_CG ? oracle_laplace2d(20) : oracle_convection2d(20, 0.3);

    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = ldexp(a.val[k], c->matrix_exponent);
    }
    for (int i = 0; i < N; i++) {
        scaled_b[i] = ldexp(b[i], c->rhs_exponent);
    }
    return a;
}

static scaled_outcome solve_scaled(const scaled_case *c, const double *b)
{
    double scaled_b[N], seen = 0.0;
    oracle_csr a = make_scaled(c, b, scaled_b);
    tess_solve_options options = solve_options(c->solver);
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solver *solver = NULL;
    scaled_outcome o = {.first = 0.0};

    options.precond.kind = c->precond;
    options.monitor = check_progress;
    options.monitor_user = &seen;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    o.result = solve_with(solver, ctx, N, scaled_b, o.x);
    assert_int_equal(o.result.reason, TESS_REASON_RTOL);
    assert_int_equal(o.result.history_length, o.result.iterations + 1);
    o.first = ldexp(o.result.history[0], -c->rhs_exponent);
    o.last = ldexp(o.result.history[o.result.iterations], -c->rhs_exponent);
    assert_true(o.result.history[o.result.iterations] == o.result.estimated_residual_norm);
    assert_true(seen == o.result.estimated_residual_norm);
    check_honest(&a, scaled_b, o.x, &options, &o.result);
    for (int i = 0; i < N; i++) {
        o.x[i] = ldexp(o.x[i], c->matrix_exponent - c->rhs_exponent);
    }
    o.result.history = NULL;
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    return o;
}

/* Powers of two change no rounding: the same iterations, the same bits. */
static void powers_of_two_change_nothing(void **state)
{
    static const scaled_case cases[] = {
        {TESS_SOLVER_CG, TESS_PRECOND_NONE, 0, 600},          {TESS_SOLVER_CG, TESS_PRECOND_NONE, 0, -600},
        {TESS_SOLVER_CG, TESS_PRECOND_NONE, 600, 0},          {TESS_SOLVER_CG, TESS_PRECOND_NONE, -600, 0},
        {TESS_SOLVER_CG, TESS_PRECOND_NONE, 600, 600},        {TESS_SOLVER_CG, TESS_PRECOND_NONE, -600, -600},
        {TESS_SOLVER_CG, TESS_PRECOND_JACOBI, -600, 300},     {TESS_SOLVER_BICGSTAB, TESS_PRECOND_NONE, 0, 600},
        {TESS_SOLVER_BICGSTAB, TESS_PRECOND_NONE, 0, -600},   {TESS_SOLVER_BICGSTAB, TESS_PRECOND_NONE, 240, 600},
        {TESS_SOLVER_BICGSTAB, TESS_PRECOND_NONE, -240, 600}, {TESS_SOLVER_BICGSTAB, TESS_PRECOND_JACOBI, 600, 600},
        {TESS_SOLVER_BICGSTAB, TESS_PRECOND_JACOBI, -600, 0}};
    double *b = random_values(N, 3, -1.0, 1.0);

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        scaled_case plain = cases[k];
        scaled_outcome expected, o = solve_scaled(&cases[k], b);

        plain.matrix_exponent = plain.rhs_exponent = 0;
        expected = solve_scaled(&plain, b);
        assert_int_equal(o.result.iterations, expected.result.iterations);
        assert_int_equal(o.result.refinements, expected.result.refinements);
        assert_true(same_bits(o.x, expected.x, N));
        assert_at_most(fabs(o.first - expected.first), gamma_of(4.0) * expected.first);
        assert_true(o.last == expected.last);
    }
    free(b);
}

/* CG refuses the values that are not symmetric; auto takes another method for them. */
static void symmetry_follows_the_values(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_AUTO};
    oracle_csr a = oracle_laplace2d(12), skewed = oracle_laplace2d(12);
    double *b = random_values(144, 3, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    skewed.val[1] *= 1.5;
    for (int k = 0; k < 2; k++) {
        tess_solve_options options = solve_options(kinds[k]);
        tess_matrix *m = make_matrix(ctx, &a);
        tess_solver *solver = NULL;

        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        for (int turn = 0; turn < 4; turn++) {
            const oracle_csr *now = turn % 2 == 0 ? &a : &skewed;
            double x[144] = {0.0};
            tess_solve_result result;

            assert_ok(ctx, tess_matrix_update_values(m, now->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
            result = solve_with(solver, ctx, 144, b, x);
            check_honest(now, b, x, &options, &result);
            if (k == 1) {
                assert_int_equal(result.reason, TESS_REASON_RTOL);
                assert_int_equal(result.solver, turn % 2 == 0 ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB);
                continue;
            }
            assert_int_equal(result.solver, TESS_SOLVER_CG);
            assert_int_equal(result.reason, turn % 2 == 0 ? TESS_REASON_RTOL : TESS_REASON_NONSYMMETRIC);
            if (turn % 2 == 1) { assert_non_null(strstr(tess_context_last_error(ctx)->message, "symmetric")); }
        }
        tess_solver_destroy(solver);
        tess_matrix_destroy(m);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&skewed);
    free(b);
}

/* Wishes to stop once, in the iteration whose estimate meets its cycle's tolerance. */
static int cancel_once(void *user, const tess_progress *progress)
{
    int64_t *when = user;

    if (*when >= 0 || progress->residual_norm > progress->tolerance) { return 0; }
    *when = progress->iteration;
    return 1;
}

static void one_request_to_cancel_is_enough(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    double *b = random_values(N, 3, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= 1.0 / 3.0; /* not representable in FP32: the first cycle cannot be the last */
    }
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        double x[N] = {0.0};
        int64_t when = -1;
        tess_solve_options options = solve_options((tess_solver_kind)kind);
        tess_solve_result result;

        options.storage.precision = TESS_PRECISION_FP32;
        options.monitor = cancel_once;
        options.monitor_user = &when;
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_CANCELLED);
        assert_int_equal(result.iterations, when);
        check_honest(&a, b, x, &options, &result);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

static int cancel_at(void *user, const tess_progress *progress)
{
    return progress->iteration >= *(const int64_t *)user;
}

/* CG lessens the error's energy norm, not the residual, which may rise. Who cancels, or limits the iterations, gets the
   better of the last iterate and the first; with the guard on `report`, the last. */
static void the_best_iterate_is_returned(void **state)
{
    double *b = random_values(N, 3, -1.0, 1.0), diagonal[N];
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_context *ctx = open_cpu(1);
    int risen = 0;
    oracle_csr a;
    solved whole;

    (void)state;
    for (int i = 0; i < N; i++) {
        diagonal[i] = pow(10.0, 6.0 * i / N);
    }
    a = oracle_diagonal(N, diagonal);
    options.max_iterations = 40;
    whole = solve_here(ctx, &a, &options, b);
    for (int64_t k = 1; k < whole.result.history_length - 1; k++) {
        double x[N] = {0.0}, limited[N] = {0.0}, guarded[N] = {0.0};
        tess_solve_options cancelled = options, fixed = options;
        tess_solve_result result;

        if (whole.history[k] <= whole.history[0]) { continue; }
        cancelled.monitor = cancel_at;
        cancelled.monitor_user = &k;
        result = solve_once(ctx, &a, &cancelled, b, guarded);
        assert_int_equal(result.reason, TESS_REASON_CANCELLED);
        assert_true(result.residual_norm <= result.rhs_norm);
        check_honest(&a, b, guarded, &options, &result);
        cancelled.guard = TESS_GUARD_REPORT;
        cancelled.max_iterations = 100;
        result = solve_once(ctx, &a, &cancelled, b, x);
        assert_int_equal(result.reason, TESS_REASON_CANCELLED);
        fixed.max_iterations = result.iterations;
        check_honest(&a, b, x, &options, &result);
        fixed.guard = TESS_GUARD_REPORT;
        result = solve_once(ctx, &a, &fixed, b, limited);
        assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
        assert_true(same_bits(x, limited, N) && x[0] != 0.0);
        risen += result.residual_norm > result.rhs_norm;
        fixed.guard = TESS_GUARD_REPAIR;
        memset(limited, 0, sizeof limited);
        result = solve_once(ctx, &a, &fixed, b, limited);
        assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
        assert_true(same_bits(guarded, limited, N) && result.residual_norm <= result.rhs_norm);
    }
    assert_true(risen > 0);
    discard(&whole);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* Cycles of gmres-fd round x to FP32: from a start that is better than FP32 holds they lead to something worse. */
static void rounding_does_not_worsen_the_start(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    double *b = random_values(N, 3, -1.0, 1.0), x[N] = {0.0}, start[N];
    tess_solve_options options = solve_options(TESS_SOLVER_GMRES_FD);
    tess_context *ctx = open_cpu(1);
    tess_solve_result first, result;

    (void)state;
    options.gmres.restart = 4;
    options.rtol = 1e-9;
    first = solve_once(ctx, &a, &options, b, x);
    memcpy(start, x, sizeof x);
    options.rtol = 1e-14;
    options.gmres.switch_at = 1000;
    for (int guard = TESS_GUARD_REPAIR; guard <= TESS_GUARD_REPORT; guard++) {
        memcpy(x, start, sizeof x);
        options.guard = (tess_guard)guard;
        options.max_iterations = 12;
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.converged, 0);
        assert_int_equal(result.residual_norm <= first.residual_norm, guard == TESS_GUARD_REPAIR);
        check_honest(&a, b, x, &options, &result);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* The history was sized for fewer iterations than later solves may take. */
static void raised_limits_keep_the_history_in_its_room(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    double *b = random_values(N, 3, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        double x[N] = {0.0};
        tess_solve_options options = solve_options((tess_solver_kind)kind);
        tess_solver *solver = NULL;
        tess_solve_result result;

        options.max_iterations = 3;
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        options.max_iterations = 2000;
        assert_ok(ctx, tess_solver_set_limits(solver, &options));
        result = solve_with(solver, ctx, N, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_true(result.iterations > 3);
        assert_int_equal(result.history_length, 4);
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* A tolerance below the rounding error of x: the estimate meets it, no x does, and the reason says which of the two. */
static void tolerance_below_rounding_is_stagnation(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    double *b = random_values(N, 3, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];

        for (int exponent = -600; exponent <= 600; exponent += 600) {
            double x[N] = {0.0}, scaled[N];
            tess_solve_options options = solve_options((tess_solver_kind)kind);
            tess_solve_result result;

            for (int i = 0; i < N; i++) {
                scaled[i] = ldexp(b[i], exponent);
            }
            options.rtol = 1e-17;
            result = solve_once(ctx, &a, &options, scaled, x);
            assert_int_equal(result.reason, TESS_REASON_STAGNATION);
            assert_int_equal(result.converged, 0);
            assert_true(result.estimated_residual_norm <= result.tolerance);
            check_honest(&a, scaled, x, &options, &result);
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* The first estimate of `history` that is no larger than `norm`. */
static int64_t first_below(const double *history, int64_t length, double norm)
{
    int64_t k = 0;

    while (k < length && history[k] > norm) {
        k += 1;
    }
    return k;
}

/* The loop goes on to 0.999 of the tolerance: an estimate just below the tolerance itself may be a rounding too low. */
static void loops_stop_a_little_below_the_tolerance(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    double *b = random_values(N, 3, -1.0, 1.0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        tess_solve_options options = solve_options((tess_solver_kind)kind);
        solved whole = solve_here(ctx, &a, &options, b);
        int64_t tried = 0;

        options.rtol = 0.0;
        for (int64_t k = 1; k < whole.result.history_length; k += 3) {
            double x[N] = {0.0};
            const int64_t length = whole.result.history_length;
            int64_t stop;
            tess_solve_result result;

            options.atol = whole.history[k] / 0.9995;
            stop = first_below(whole.history, length, 0.999 * options.atol);
            if (first_below(whole.history, length, options.atol) < k || stop == length) { continue; }
            result = solve_once(ctx, &a, &options, b, x);
            assert_int_equal(result.reason, TESS_REASON_ATOL);
            assert_int_equal(result.iterations, stop);
            tried += stop > k;
        }
        assert_true(tried > 5);
        discard(&whole);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* Another vector at each application, whatever r is. */
static int apply_noise(void *user, const double *r, double *z)
{
    uint64_t *seed = user;

    (void)r;
    for (int i = 0; i < 20; i++) {
        z[i] = oracle_uniform(seed, -1.0, 1.0);
    }
    return 0;
}

/* With such a preconditioner GMRES' estimate falls to nothing and x stays. Of a residual of 1e-6 that is no rounding
   of x; of one that is, it is. */
static void estimates_of_nothing_are_false_convergence(void **state)
{
    uint64_t seed = 5;
    const tess_shell_precond noise = {.apply = apply_noise, .user = &seed};
    oracle_csr a = oracle_tridiagonal(20, -1.0, 3.0, -1.0);
    double *exact = random_values(20, 3, 0.5, 1.0), b[20], x[20];
    wide product[20];
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_precond *p = NULL;
    tess_solver *solver = NULL;
    tess_solve_options options = solve_options(TESS_SOLVER_GMRES);

    (void)state;
    oracle_multiply(&a, false, exact, product, NULL);
    for (int i = 0; i < 20; i++) {
        b[i] = (double)product[i];
    }
    options.rtol = 1e-18;
    assert_ok(ctx, tess_precond_create_shell(ctx, 20, &noise, &p));
    assert_ok(ctx, tess_solver_create_with_precond(m, p, &options, &solver));
    for (int k = 0; k < 2; k++) {
        tess_solve_result result;

        memcpy(x, exact, sizeof x);
        x[7] += k == 0 ? 1e-6 : 0.0;
        result = solve_with(solver, ctx, 20, b, x);
        assert_int_equal(result.converged, 0);
        assert_int_equal(result.reason, k == 0 ? TESS_REASON_FALSE_CONVERGENCE : TESS_REASON_STAGNATION);
        assert_at_most(result.estimated_residual_norm, result.tolerance);
        assert_at_most(result.residual_norm, k == 0 ? 4e-6 : 1e-15);
    }
    tess_solver_destroy(solver);
    tess_precond_destroy(p);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(exact);
}

/* A cycle with an FP32 matrix meets its goal at some iteration; a limit just there must not count as success. */
static void estimate_met_at_the_limit_is_no_success(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_laplace2d(20);
    double b[N], x[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        b[i] = 1.0;
    }
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= 1.0 + 1e-9; /* values that FP32 does not hold */
    }
    for (int64_t limit = 1; limit <= 120; limit++) {
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        tess_solve_result result;

        memset(x, 0, sizeof x);
        options.storage.precision = TESS_PRECISION_FP32;
        options.max_iterations = limit;
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, result.converged ? TESS_REASON_RTOL : TESS_REASON_ITERATIONS);
        check_honest(&a, b, x, &options, &result);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Where products underflow, a residual that comes out as zero proves nothing: x is wrong by a tenth here. */
static void zero_residual_by_underflow_is_no_proof(void **state)
{
    tess_context *ctx = open_cpu(1);
    double entry = 1.7e-160;
    oracle_csr a = oracle_diagonal(1, &entry);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    double b[1] = {2e-323}, x[1] = {1.046e-163};
    tess_solve_result result;

    (void)state;
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.converged, 0);
    assert_int_equal(result.reason, TESS_REASON_STAGNATION); /* nothing is left to correct */
    assert_int_equal(result.iterations, 0);
    options.max_iterations = 0; /* no limit is what ended it */
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.converged, 0);
    assert_int_equal(result.reason, TESS_REASON_STAGNATION);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimate_met_at_the_limit_is_no_success),
        cmocka_unit_test(zero_residual_by_underflow_is_no_proof),
        cmocka_unit_test(powers_of_two_change_nothing),
        cmocka_unit_test(symmetry_follows_the_values),
        cmocka_unit_test(one_request_to_cancel_is_enough),
        cmocka_unit_test(the_best_iterate_is_returned),
        cmocka_unit_test(rounding_does_not_worsen_the_start),
        cmocka_unit_test(raised_limits_keep_the_history_in_its_room),
        cmocka_unit_test(tolerance_below_rounding_is_stagnation),
        cmocka_unit_test(loops_stop_a_little_below_the_tolerance),
        cmocka_unit_test(estimates_of_nothing_are_false_convergence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
