/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of refinement around an inner solver that says what the test wants: what is taken from it, and when they end.
 */
#include "solver/solver.h"
#include "support/solve.h"

enum { N = 16 };

/* What the solver of the transformed system does: y := share rhs + noise, and says so. */
static struct {
    bool scripted;
    double share, noise;
    tess_reason reason;
    int converged, calls;
} inner;

tess_status __real_tess_solver_solve(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result);
tess_status __wrap_tess_solver_solve(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result);

tess_status __wrap_tess_solver_solve(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result)
{
    const double *rhs = tess_vector_data((tess_vector *)(uintptr_t)b);
    double *y = tess_vector_data(x);

    if (s->ops == &solver_transformed || !inner.scripted) { return __real_tess_solver_solve(s, b, x, result); }
    for (int i = 0; i < N; i++) {
        y[i] = inner.share * rhs[i] + (i % 2 == 0 ? inner.noise : -inner.noise);
    }
    inner.calls += 1;
    result->iterations = 1;
    result->converged = inner.converged;
    result->reason = inner.reason;
    return TESS_SUCCESS;
}

/* Powers of two on the diagonal: scaled, it is the identity, and `share` of 1 solves it exactly. */
static oracle_csr powers_of_two(void)
{
    double diagonal[N];

    for (int i = 0; i < N; i++) {
        diagonal[i] = ldexp(1.0, i % 5 - 2);
    }
    return oracle_diagonal(N, diagonal);
}

static tess_guard guard = TESS_GUARD_REPAIR;

/* Starts from a solution that is wrong by `error` in every other element. */
static tess_solve_result refine(double rtol, double error, double *start, double *x)
{
    tess_solve_options options = solve_options(TESS_SOLVER_GMRES);
    oracle_csr a = powers_of_two();
    double *b = random_values(N, 3, 1.0, 2.0);
    tess_context *ctx = open_cpu(1);
    tess_solve_result result;

    options.scale = TESS_SCALING_MAX_PRODUCT;
    options.guard = guard;
    options.rtol = rtol;
    for (int i = 0; i < N; i++) {
        start[i] = x[i] = b[i] / a.val[i] * (i % 2 == 0 ? 1.0 + error : 1.0);
    }
    inner.scripted = true;
    inner.calls = 0;
    result = solve_once(ctx, &a, &options, b, x);
    inner.scripted = false;
    check_honest(&a, b, x, &options, &result);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    return result;
}

/* A correction that makes x worse is taken from an inner solver that converged, and with the guard on `report` from one
   that ran out of iterations; one that is not finite from none. The best x is what comes back. */
static void worse_corrections_are_left(void **state)
{
    static const tess_reason reasons[] = {TESS_REASON_BREAKDOWN, TESS_REASON_STAGNATION, TESS_REASON_DIVERGENCE,
                                          TESS_REASON_NAN_OR_INF, TESS_REASON_FALSE_CONVERGENCE};
    double start[N], x[N];
    tess_solve_result result;

    (void)state;
    inner.share = 0.0;
    inner.converged = 0;
    for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++) {
        inner.reason = reasons[k];
        inner.noise = 1000.0;
        result = refine(1e-10, 1e-6, start, x);
        assert_true(same_bits(x, start, N));
        assert_int_equal(result.converged, 0);
        assert_int_equal(inner.calls, 1);
    }
    inner.reason = TESS_REASON_ITERATIONS;
    result = refine(1e-10, 1e-6, start, x);
    assert_true(same_bits(x, start, N));
    assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
    guard = TESS_GUARD_REPORT;
    result = refine(1e-10, 1e-6, start, x);
    assert_at_most(1e-3, result.residual_norm); /* it was some 1e-5 */
    inner.reason = TESS_REASON_CANCELLED;
    result = refine(1e-10, 1e-6, start, x);
    assert_at_most(1e-3, result.residual_norm);
    for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++) {
        inner.reason = reasons[k];
        result = refine(1e-10, 1e-6, start, x);
        assert_true(same_bits(x, start, N));
    }
    inner.reason = TESS_REASON_ITERATIONS;
    inner.noise = (double)NAN;
    result = refine(1e-10, 1e-6, start, x);
    assert_true(same_bits(x, start, N));
    inner.noise = 1000.0;
    guard = TESS_GUARD_REPAIR;
    inner.converged = 1;
    inner.reason = TESS_REASON_RTOL;
    result = refine(1e-10, 1e-6, start, x);
    assert_true(same_bits(x, start, N) && result.converged == 0 && inner.calls > 0);
    inner.converged = 0;
    inner.noise = (double)NAN;
    result = refine(1e-10, 1e-6, start, x);
    assert_true(same_bits(x, start, N));
}

/* What makes x better is taken whatever the reason, and goes on as far as it leads. */
static void better_corrections_are_taken(void **state)
{
    double start[N], x[N];
    tess_solve_result result;

    (void)state;
    inner.share = 1.0;
    inner.noise = 0.0;
    inner.converged = 0;
    inner.reason = TESS_REASON_BREAKDOWN;
    result = refine(1e-10, 1e-6, start, x);
    assert_int_equal(result.converged, 1);
    assert_int_equal(inner.calls, 1);
    assert_int_equal(result.refinements, 0);
}

/* Nine tenths of what is left with each round: 10 rounds at most. */
static void ten_rounds_are_made(void **state)
{
    double start[N], x[N];

    (void)state;
    inner.share = 0.9;
    inner.noise = 0.0;
    inner.converged = 1;
    inner.reason = TESS_REASON_RTOL;
    for (int digits = 1; digits <= 12; digits++) {
        /* the start is right but for a residual of `error` ||b||, with 1/2 < error < 1 */
        const tess_solve_result result = refine(pow(10.0, -digits), 1.0, start, x);
        const int rounds = digits < 10 ? digits : 10;

        assert_int_equal(result.converged, digits <= 10);
        assert_int_equal(inner.calls, rounds);
        assert_int_equal(result.refinements, rounds - 1);
        assert_int_equal(result.reason, digits <= 10 ? TESS_REASON_RTOL : TESS_REASON_FALSE_CONVERGENCE);
    }
}

/* An inner solver that says it converged and did nothing: false convergence of a residual that is no rounding of x,
   stagnation of one that is. */
static void empty_success_is_false_convergence(void **state)
{
    double start[N], x[N];
    tess_solve_result result;

    (void)state;
    inner.share = inner.noise = 0.0;
    inner.converged = 1;
    inner.reason = TESS_REASON_RTOL;
    for (int exponent = -36; exponent <= -4; exponent += 8) { /* 64 roundings of x are some 2^-46 */
        result = refine(1e-20, ldexp(1.0, exponent), start, x);
        assert_int_equal(result.reason, TESS_REASON_FALSE_CONVERGENCE);
        assert_int_equal(inner.calls, 1);
    }
    for (int exponent = -52; exponent <= -49; exponent++) {
        result = refine(1e-20, ldexp(1.0, exponent), start, x);
        assert_int_equal(result.reason, TESS_REASON_STAGNATION);
    }
}

/* What a solve holds: the inner solver's matrix and vectors, the original, two diagonal matrices, five vectors. */
static void memory_is_that_of_both_systems(void **state)
{
    oracle_csr a = powers_of_two();
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_context *ctx = open_cpu(1);
    double *b = random_values(N, 3, 1.0, 2.0), x[N] = {0.0};
    tess_matrix *m = make_matrix(ctx, &a);
    const int64_t matrix_bytes = tess_matrix_bytes(m);
    tess_solve_result plain = solve_once(ctx, &a, &options, b, x), scaled;

    (void)state;
    options.scale = TESS_SCALING_MAX_PRODUCT;
    memset(x, 0, sizeof x);
    scaled = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(scaled.resident_bytes - plain.resident_bytes, 3 * matrix_bytes + 5 * N * (int64_t)sizeof(double));
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worse_corrections_are_left),
        cmocka_unit_test(better_corrections_are_taken),
        cmocka_unit_test(ten_rounds_are_made),
        cmocka_unit_test(empty_success_is_false_convergence),
        cmocka_unit_test(memory_is_that_of_both_systems),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
