/* SPDX-License-Identifier: Apache-2.0 */
/* GMRES in several precisions on the CPU: cycles below FP64, low bases, the goals of cycles, the switch of gmres-fd. */
#include <tessera/codec.h>

#include "support/solve.h"

static const tess_role_precision inner_roles[] = {
    {0, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64}, /* fp32/fp32 */
    {1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64}, {1, TESS_PRECISION_BF16, TESS_ARITHMETIC_FP32},
    {1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP32}, {1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64},
    {1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64},
};
enum { ROLES = sizeof inner_roles / sizeof *inner_roles };

/* Whatever the precision of cycles, the answer is that of FP64; a right-hand side and a power of two times it have the
   same cycles. */
static void refinement_reaches_fp64(void **state)
{
    enum { N = 40 * 40 };
    static const int powers[] = {0, 400, -400};
    oracle_csr a = oracle_convection2d(40, 3.0);
    double *b = random_values(N, 7, -1.0, 1.0), *x = test_allocate(N, sizeof *x), *scaled = test_allocate(N, sizeof *b);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < ROLES * GMRES_WAYS; k++) {
        int64_t iterations = 0;

        for (int p = 0; p < 3; p++) {
            tess_solve_options options = solve_options(TESS_SOLVER_GMRES_IR);
            tess_solve_result result;

            options.gmres.inner = inner_roles[k % ROLES];
            options.gmres.orthogonalization = (tess_orthogonalization)(k / ROLES);
            options.rtol = 1e-12;
            for (int i = 0; i < N; i++) {
                scaled[i] = ldexp(b[i], powers[p]);
            }
            memset(x, 0, N * sizeof *x);
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
    free(x);
    free(scaled);
}

/* The matrix in every format; a composite gives its copy in fp32. */
static void refinement_works_with_every_format(void **state)
{
    static const tess_format formats[] = {TESS_FORMAT_CSR, TESS_FORMAT_ELLR,  TESS_FORMAT_SELL,
                                          TESS_FORMAT_DIA, TESS_FORMAT_SPLIT, TESS_FORMAT_COMPOSITE};
    oracle_csr a = oracle_convection2d(30, 1.0);
    double *b = random_values(a.nrows, 7, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        tess_solve_options options = solve_options(TESS_SOLVER_GMRES_IR);
        tess_solve_result result;

        options.storage.format = formats[f];
        if (f >= 1 && f <= 3) { options.storage.precision = TESS_PRECISION_FP32; }
        if (f > 3) {
            options.storage.policy.policy = TESS_POLICY_MEAN_RANGE;
            options.storage.policy.parameter = 0.1;
        }
        options.rtol = 1e-11;
        memset(x, 0, (size_t)a.nrows * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_int_equal(result.storage.format, formats[f]);
        check_honest(&a, b, x, &options, &result);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* With the guard on `report` no estimate ends a cycle of gmres-ir. */
static void refinement_that_is_reported_looks_at_restarts(void **state)
{
    enum { RESTART = 15 };
    oracle_csr a = oracle_convection2d(30, 1.0);
    double *b = random_values(a.nrows, 7, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_context *ctx = open_cpu(2);
    tess_solve_options options = solve_options(TESS_SOLVER_GMRES_IR);
    tess_solve_result result;

    (void)state;
    options.gmres.restart = RESTART;
    options.guard = TESS_GUARD_REPORT;
    options.rtol = 1e-10;
    memset(x, 0, (size_t)a.nrows * sizeof *x);
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_int_equal(result.iterations % RESTART, 0);
    assert_int_equal(result.refinements, 0);
    check_honest(&a, b, x, &options, &result);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* A basis is stored in the precision that the options name, whatever the vectors' precision; the reported memory is the
   memory used. */
static void bases_take_the_bytes_of_their_precision(void **state)
{
    enum { N = 20 * 20, LD = 512, RESTART = 30 }; /* columns begin at multiples of 256 values */
    static const tess_precision narrow[] = {TESS_PRECISION_BF16, TESS_PRECISION_FP16, TESS_PRECISION_E4M3,
                                            TESS_PRECISION_E5M2};
    oracle_csr a = oracle_convection2d(20, 3.0);
    double *b = random_values(N, 7, -1.0, 1.0);

    (void)state;
    for (int low = 0; low < 2; low++) {
        int64_t resident = 0, peak = 0;

        for (int k = 0; k < 5; k++) { /* the first: that of the vectors */
            tess_solve_options options = solve_options(low ? TESS_SOLVER_GMRES_IR : TESS_SOLVER_GMRES);
            const tess_precision widest = low ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
            const tess_precision basis = k == 0 ? widest : narrow[k - 1];
            const int64_t saved =
                LD * (RESTART + 1) * (int64_t)(tess_precision_bytes(widest) - tess_precision_bytes(basis));
            tess_context *ctx = open_cpu(1);
            tess_solve_result result;
            double x[N] = {0.0};

            options.gmres.restart = RESTART;
            options.gmres.basis = (tess_role_precision){.given = 1, .storage = basis};
            options.max_iterations = 3;
            result = solve_once(ctx, &a, &options, b, x);
            assert_int_equal(result.gmres.inner.storage, widest);
            assert_int_equal(result.gmres.basis.storage, basis);
            if (k == 0) {
                resident = result.resident_bytes;
                peak = result.peak_device_bytes;
            }
            assert_int_equal(resident - result.resident_bytes, saved);
            assert_int_equal(peak - result.peak_device_bytes, saved);
            tess_context_destroy(ctx);
        }
    }
    oracle_free(&a);
    free(b);
}

/* Columns are stored times a power of two: entries far below those of one norm have the digits of their precision. On
   the identity the first iterate is the stored right-hand side times a factor; either is off by a roundoff or two. */
static void small_entries_keep_their_digits_in_every_basis(void **state)
{
    enum { N = 48 };
#define BINADES(NAME, value, name, type, significand, emin, emax, ...) (emax) - (emin)-2 < 27 ? (emax) - (emin)-2 : 27,
    static const int least[TESS_PRECISION_COUNT] = {TESS_PRECISION_LIST(BINADES)}; /* e4m3: 12 */
#undef BINADES
    double ones[N], b[N], x[N];
    tess_context *ctx = open_cpu(1);
    oracle_csr a;

    (void)state;
    for (int i = 0; i < N; i++) {
        ones[i] = 1.0;
    }
    a = oracle_diagonal(N, ones);
    for (int k = 0; k < GMRES_WAYS * TESS_PRECISION_COUNT; k++) {
        const tess_precision basis = (tess_precision)(k / GMRES_WAYS);
        const double roundoff = fmax(tess_precision_unit_roundoff(basis), 0x1p-50);
        tess_solve_options options = gmres_basis_options(5, basis, k % GMRES_WAYS);

        for (int i = 0; i < N; i++) { /* one of norm 1, and all magnitudes that the precision has */
            b[i] = i == 0 ? 1.0 : ldexp(1.0 + 0.3 * (i % 3), -1 - i % least[basis]);
        }
        options.guard = TESS_GUARD_REPORT;
        options.max_iterations = 1;
        memset(x, 0, sizeof x);
        (void)solve_once(ctx, &a, &options, b, x);
        for (int i = 0; i < N; i++) {
            assert_at_most(fabs(x[i] - b[i]), 4.0 * roundoff * fabs(b[i]));
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Iterations of GMRES in FP64 until the residual is down by that factor. */
static int64_t iterations_to(tess_context *ctx, const oracle_csr *a, const double *b, double factor)
{
    tess_solve_options options = gmres_basis_options(200, TESS_PRECISION_FP64, 0);
    double *x = test_allocate(a->nrows, sizeof *x);
    tess_solve_result result;

    memset(x, 0, (size_t)a->nrows * sizeof *x);
    options.rtol = factor;
    result = solve_once(ctx, a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_int_equal(result.refinements, 0);
    free(x);
    return result.iterations;
}

/* A cycle in low precision aims at what that precision can give, 2^-17 or 8 roundoffs, even if its basis has space for
   more: there the residual is replaced. It takes as many iterations as FP64 takes to that residual, up to half a unit
   roundoff: a sixteenth of it. */
static void low_cycles_ask_for_what_they_can_give(void **state)
{
    static const struct {
        tess_role_precision inner;
        double factor;
    } cases[] = {{{1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32}, 0x1p-17},
                 {{1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64}, 0x1p-8},
                 {{1, TESS_PRECISION_BF16, TESS_ARITHMETIC_FP32}, 0x1p-5}};
    oracle_csr a = oracle_convection2d(30, 3.0);
    double *b = random_values(a.nrows, 7, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (size_t k = 0; k < GMRES_WAYS * sizeof cases / sizeof *cases; k++) {
        const double factor = cases[k / GMRES_WAYS].factor;

        for (int after = 0; after < 2; after++) {
            tess_solve_options options = solve_options(TESS_SOLVER_GMRES_IR);
            tess_solve_result result;

            options.gmres.inner = cases[k / GMRES_WAYS].inner;
            options.gmres.orthogonalization = (tess_orthogonalization)(k % GMRES_WAYS);
            options.gmres.restart = 200;
            options.max_iterations = after ? iterations_to(ctx, &a, b, factor * 15.0 / 16.0) + 1
                                           : iterations_to(ctx, &a, b, factor * 17.0 / 16.0) - 1;
            memset(x, 0, (size_t)a.nrows * sizeof *x);
            result = solve_once(ctx, &a, &options, b, x);
            assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
            assert_int_equal(result.refinements, after);
            check_honest(&a, b, x, &options, &result);
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* Small systems are left in FP64, large ones are not. */
static void inner_precision_is_chosen_by_size(void **state)
{
    /* the basis, 8 (restart + 1) n, is 0.4 MB, 39 MB and 59 MB; the limit is 50 MB */
    static const int edge[] = {30, 128, 380}, restart[] = {50, 300, 50};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < 3; k++) {
        const tess_precision expected = k == 2 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
        oracle_csr a = oracle_laplace2d(edge[k]);
        double *b = random_values(a.nrows, 7, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
        tess_solve_options options = solve_options(TESS_SOLVER_GMRES);
        tess_solve_result result;

        options.gmres.inner_auto = 1;
        options.gmres.restart = restart[k];
        options.max_iterations = 2;
        memset(x, 0, (size_t)a.nrows * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.gmres.inner.given, 1);
        assert_int_equal(result.gmres.inner.storage, expected);
        assert_int_equal(result.gmres.basis.storage, result.gmres.inner.storage);
        oracle_free(&a);
        free(b);
        free(x);
    }
    tess_context_destroy(ctx);
}

/* In FP32 throughout the residual stays above FP32's rounding; after the switch it goes on falling. */
static void first_in_fp32_then_in_fp64(void **state)
{
    enum { RESTART = 20, LONG = 400 };
    oracle_csr a = oracle_convection2d(40, 3.0);
    double *b = random_values(a.nrows, 7, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x), low = 0.0;
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int k = 0; k < 3; k++) { /* never switched; switched at 2 * RESTART; when FP32 is done */
        tess_solve_options options = solve_options(TESS_SOLVER_GMRES_FD);
        tess_solver *solver = NULL;
        tess_solve_result result;

        options.gmres.restart = RESTART;
        options.rtol = 1e-12;
        options.guard = TESS_GUARD_REPORT;
        options.gmres.switch_at = k == 0 ? 2 * LONG : k == 1 ? 2 * RESTART - 3 : 0;
        options.max_iterations = k == 0 ? LONG : 20000;
        memset(x, 0, (size_t)a.nrows * sizeof *x);
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        result = solve_with(solver, ctx, a.nrows, b, x);
        check_honest(&a, b, x, &options, &result);
        if (k == 0) {
            assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
            low = result.relative_residual;
            assert_true(low > 0x1p-24 && low < 1e-4); /* only x is rounded to FP32 */
        } else {
            assert_int_equal(result.reason, TESS_REASON_RTOL);
            assert_int_equal(result.storage.precision, TESS_PRECISION_FP64);
            assert_int_equal(result.escalated, 0);
        }
        if (k == 1) { assert_true(result.history[2 * RESTART] > low * result.rhs_norm); }
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

/* gmres-fd goes on in FP64 with the first cycle that begins at `switch_at` or after it, no sooner. */
static void switches_come_with_the_first_restart(void **state)
{
    enum { RESTART = 10 };
    static const int switches[][2] = {{1, 10}, {17, 20}, {20, 20}, {21, 30}}; /* asked for; where a cycle ends */
    oracle_csr a = oracle_convection2d(40, 3.0);
    double *b = random_values(a.nrows, 7, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < 4 * 2 * 2; k++) {
        const int *when = switches[k / 4], after = k % 2;
        tess_solve_options options = solve_options(TESS_SOLVER_GMRES_FD);
        tess_solve_result result;

        options.gmres.restart = RESTART;
        options.rtol = 1e-12;
        options.guard = k / 2 % 2 ? TESS_GUARD_REPORT : TESS_GUARD_REPAIR;
        options.gmres.switch_at = when[0];
        options.max_iterations = when[1] + after;
        memset(x, 0, (size_t)a.nrows * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
        assert_int_equal(result.iterations, when[1] + after);
        assert_int_equal(result.storage.precision, after ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32);
        check_honest(&a, b, x, &options, &result);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refinement_reaches_fp64),
        cmocka_unit_test(refinement_works_with_every_format),
        cmocka_unit_test(refinement_that_is_reported_looks_at_restarts),
        cmocka_unit_test(bases_take_the_bytes_of_their_precision),
        cmocka_unit_test(small_entries_keep_their_digits_in_every_basis),
        cmocka_unit_test(low_cycles_ask_for_what_they_can_give),
        cmocka_unit_test(inner_precision_is_chosen_by_size),
        cmocka_unit_test(first_in_fp32_then_in_fp64),
        cmocka_unit_test(switches_come_with_the_first_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
