/* SPDX-License-Identifier: Apache-2.0 */
/* The Jacobi iteration on the CPU: its iterates, step by step, against a naive one; fixed runs; results. */
#include "support/solve.h"
#include "support/sweep.h"

enum { N = 150, ROW = 12 };
static const double U32 = 0x1p-24;

static tess_solve_options jacobi(tess_format format, const char *schedule)
{
    tess_solve_options options = solve_options(TESS_SOLVER_JACOBI);

    options.storage.format = format;
    if (schedule) { options.jacobi.schedule = schedule_of(schedule); }
    return options;
}

/* So many iterations, and nothing looked at in between. */
static tess_solve_options fixed(tess_format format, const char *schedule, int64_t iterations)
{
    tess_solve_options options = jacobi(format, schedule);

    options.rtol = 0.0;
    options.max_iterations = iterations;
    return options;
}

typedef struct storage_case {
    tess_format format, base;
    tess_granularity granularity;
} storage_case;

static const storage_case fp64_storages[] = {{TESS_FORMAT_CSR, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW},
                                             {TESS_FORMAT_ELLR, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW},
                                             {TESS_FORMAT_COMPOSITE, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW},
                                             {TESS_FORMAT_COMPOSITE, TESS_FORMAT_ELLR, TESS_GRANULARITY_ROW}};
static const storage_case mixed_storages[] = {{TESS_FORMAT_CSR, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW},
                                              {TESS_FORMAT_COMPOSITE, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW},
                                              {TESS_FORMAT_COMPOSITE, TESS_FORMAT_ELLR, TESS_GRANULARITY_ROW},
                                              {TESS_FORMAT_SPLIT, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW},
                                              {TESS_FORMAT_SPLIT, TESS_FORMAT_ELLR, TESS_GRANULARITY_ROW},
                                              {TESS_FORMAT_SPLIT, TESS_FORMAT_CSR, TESS_GRANULARITY_ENTRY},
                                              {TESS_FORMAT_SPLIT, TESS_FORMAT_ELLR, TESS_GRANULARITY_ENTRY}};
enum {
    FP64_STORAGES = sizeof fp64_storages / sizeof *fp64_storages,
    MIXED_STORAGES = sizeof mixed_storages / sizeof *mixed_storages
};

static void take_storage(tess_solve_options *options, const storage_case *c)
{
    options->storage.format = c->format;
    options->storage.split.base = c->base;
    options->storage.policy.granularity = c->granularity;
    if (c->format == TESS_FORMAT_ELLR || c->base == TESS_FORMAT_ELLR) { options->storage.slices.max_padding = 100.0; }
}

/* Rows of three magnitudes, so that a policy has something to choose. */
static oracle_csr uneven_matrix(void)
{
    return dominant_matrix(N, ROW, 1.25, 2, 11);
}

/* ---- iterates ---- */

/* A row's sum and update: at most ROW + 4 roundings, each iteration's passed on without growth by a dominant matrix. */
static void fp64_iterates_are_those_of_a_naive_loop(void **state)
{
    oracle_csr a = uneven_matrix();
    double *b = random_values(N, 3, -5.0, 5.0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int c = 0; c < FP64_STORAGES; c++) {
        for (int64_t k = 1; k <= 40; k += k < 5 ? 1 : 7) {
            tess_solve_options options = fixed(TESS_FORMAT_CSR, "fp64", k);
            double x[N] = {0.0}, naive[N] = {0.0}, size = naive_jacobi(&a, b, 1.0, k, naive);
            tess_solve_result result;

            take_storage(&options, &fp64_storages[c]);
            result = solve_once(ctx, &a, &options, b, x);
            assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
            assert_int_equal(result.iterations, k);
            assert_at_most(largest_difference(x, naive, N), (double)k * 2.0 * gamma_of(ROW + 4) * size);
            check_honest(&a, b, x, &options, &result);
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* In FP32 a product rounds its value, x and itself, and x again when it is stored: 4 u |D^-1| |R| |x| an iteration. */
static void check_low_iterates(tess_context *ctx, const oracle_csr *a, const double *b, tess_solve_options options)
{
    for (int64_t k = 1; k <= 41; k += 10) {
        double x[N] = {0.0}, naive[N] = {0.0}, size = naive_jacobi(a, b, 1.0, k, naive), difference;
        tess_solve_result result;

        options.max_iterations = k;
        result = solve_once(ctx, a, &options, b, x);
        difference = largest_difference(x, naive, N);
        assert_int_equal(result.iterations, k);
        assert_at_most(difference, (double)k * (4.5 * U32 + 2.0 * gamma_of(ROW + 4)) * size);
        if (k > 1) { assert_at_most(1e-4 * U32 * size, difference); } /* it was FP32 indeed */
        check_honest(a, b, x, &options, &result);
    }
}

static void fp32_iterates_stay_near(void **state)
{
    oracle_csr a = uneven_matrix();
    double *b = random_values(N, 3, -5.0, 5.0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int c = 0; c < FP64_STORAGES; c++) {
        tess_solve_options options = fixed(TESS_FORMAT_CSR, "fp32", 1);

        take_storage(&options, &fp64_storages[c]);
        check_low_iterates(ctx, &a, b, options);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

static void mixed_iterates_stay_near(void **state)
{
    oracle_csr a = uneven_matrix();
    double *b = random_values(N, 3, -5.0, 5.0);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int c = 0; c < MIXED_STORAGES; c++) {
        tess_solve_options options = fixed(TESS_FORMAT_CSR, "mixed", 1);

        take_storage(&options, &mixed_storages[c]);
        options.storage.policy.policy = TESS_POLICY_MEAN_RANGE;
        options.storage.policy.parameter = 0.3;
        check_low_iterates(ctx, &a, b, options);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

static void weighted_iterates_are_those_of_a_naive_loop(void **state)
{
    oracle_csr a = uneven_matrix();
    double *b = random_values(N, 3, -5.0, 5.0);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int c = 0; c < 2; c++) {
        tess_solve_options options = fixed(TESS_FORMAT_COMPOSITE, c == 0 ? "fp64" : "fp32", 9);
        double x[N] = {0.0}, naive[N] = {0.0}, plain[N] = {0.0}, size = naive_jacobi(&a, b, 0.7, 9, naive);

        options.jacobi.omega = 0.7;
        (void)solve_once(ctx, &a, &options, b, x);
        (void)naive_jacobi(&a, b, 1.0, 9, plain);
        assert_at_most(largest_difference(x, naive, N),
                       9.0 * (2.0 * gamma_of(ROW + 7) + (c == 0 ? 0.0 : 4.5 * U32)) * 2.0 * size);
        assert_true(largest_difference(x, plain, N) > 1e-3 * size);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* Powers of two, of A and of b, pass through all entries: every vector is kept near 1 inside. */
static void scaling_by_powers_of_two_changes_nothing(void **state)
{
    oracle_csr a = uneven_matrix(), scaled = uneven_matrix();
    double *b = random_values(N, 3, -5.0, 5.0), *scaled_b = random_values(N, 3, -5.0, 5.0);
    tess_solve_options options = fixed(TESS_FORMAT_COMPOSITE, "fp32,mixed,fp64", 60);
    double x[N] = {0.0}, y[N] = {0.0};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        scaled.val[k] = ldexp(scaled.val[k], 60);
    }
    for (int64_t i = 0; i < N; i++) {
        scaled_b[i] = ldexp(scaled_b[i], -400);
    }
    (void)solve_once(ctx, &a, &options, b, x);
    (void)solve_once(ctx, &scaled, &options, scaled_b, y);
    for (int64_t i = 0; i < N; i++) {
        y[i] = ldexp(y[i], 460);
    }
    assert_true(same_bits(x, y, N));
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&scaled);
    free(b);
    free(scaled_b);
}

static void threads_do_not_show(void **state)
{
    oracle_csr a = oracle_convection2d(60, 2.0);
    double *b = random_values(3600, 5, -1.0, 1.0), *x = test_allocate(3600, sizeof *x),
           *y = test_allocate(3600, sizeof *y);
    tess_solve_options options = jacobi(TESS_FORMAT_COMPOSITE, NULL);

    (void)state;
    options.rtol = 1e-6;
    for (int threads = 1; threads <= 3; threads++) {
        tess_context *ctx = open_cpu(threads);

        memset(y, 0, 3600 * sizeof *y);
        (void)solve_once(ctx, &a, &options, b, y);
        if (threads == 1) { memcpy(x, y, 3600 * sizeof *x); }
        assert_true(same_bits(x, y, 3600));
        tess_context_destroy(ctx);
    }
    oracle_free(&a);
    free(b);
    free(x);
    free(y);
}

/* ---- fixed runs ---- */

static void fixed_runs_share_their_iterations(void **state)
{
    static const struct {
        const char *schedule;
        double rtol;
        int64_t most, expected[3], total;
    } cases[] = {{"fp32,mixed,fp64", 0.0, 20, {6, 6, 8}, 20},         {"fp32,mixed,fp64", 0.0, 1, {0, 0, 1}, 1},
                 {"fp32,mixed,fp64", 0.0, 2, {0, 0, 2}, 2},           {"fp32:5,mixed,fp64", 0.0, 20, {5, 7, 8}, 20},
                 {"fp32:5,mixed:4,fp64:3", 1e-12, 20, {5, 4, 3}, 12}, {"fp32:5,mixed:4,fp64:3", 0.0, 7, {5, 2, 0}, 7},
                 {"fp32,mixed:4,fp64", 1e-12, 7, {1, 4, 2}, 7}};
    oracle_csr a = uneven_matrix();
    double *b = random_values(N, 3, -5.0, 5.0);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        tess_solve_options options = fixed(TESS_FORMAT_COMPOSITE, cases[c].schedule, cases[c].most);
        double x[N] = {0.0};
        tess_solve_result result;

        options.rtol = cases[c].rtol;
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_ITERATIONS);
        assert_int_equal(result.iterations, cases[c].total);
        assert_int_equal(result.jacobi.schedule.count, 3);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(result.jacobi.schedule.entry[i].iterations, cases[c].expected[i]);
        }
        assert_false(result.converged);
        assert_int_equal(result.refinements, 0);
        check_honest(&a, b, x, &options, &result);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* Every fourth row: values beside the diagonal a thousandth of the others', so that policies have rows of both kinds.
 */
static oracle_csr with_weak_rows(oracle_csr a)
{
    for (int64_t i = 0; i < a.nrows; i += 4) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] != i) { a.val[k] *= 1e-3 / 3.0; }
        }
    }
    return a;
}

/* The relative residual of 2,000 iterations; with a mixed step rows of both kinds are there. */
static double run_fixed(tess_context *ctx, const oracle_csr *a, const double *b, const char *schedule)
{
    tess_solve_options options = fixed(TESS_FORMAT_COMPOSITE, schedule, 2000);
    double *x = test_allocate(a->nrows, sizeof *x);
    tess_solve_result result;

    memset(x, 0, (size_t)a->nrows * sizeof *x);
    options.guard = TESS_GUARD_REPORT;
    options.storage.policy.policy = TESS_POLICY_MEAN_RANGE;
    options.storage.policy.parameter = 0.1;
    options.storage.policy.at_most_one = 1;
    result = solve_once(ctx, a, &options, b, x);
    assert_int_equal(result.escalated, 0);
    check_honest(a, b, x, &options, &result);
    if (strstr(schedule, "mixed")) {
        assert_true(result.storage.nonzeros_per_precision[TESS_PRECISION_FP32] > a->nrows / 8);
        assert_true(result.storage.nonzeros_per_precision[TESS_PRECISION_FP64] > a->nrows / 8);
    }
    free(x);
    return result.relative_residual;
}

/* Tezcan et al. 2022, Table IV: the last precision makes up for the others; one mixed step lies between FP32 and FP64.
 */
static void three_precisions_end_as_good_as_fp64(void **state)
{
    oracle_csr matrices[] = {with_weak_rows(oracle_laplace2d(12)), with_weak_rows(oracle_convection2d(12, 4.0)),
                             with_weak_rows(oracle_tridiagonal(200, -1.0, 2.5, -0.7)), with_weak_rows(uneven_matrix())};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int m = 0; m < 4; m++) {
        double *b = random_values(matrices[m].nrows, 8, -1.0, 1.0);
        const double fp64 = run_fixed(ctx, &matrices[m], b, "fp64"), fp32 = run_fixed(ctx, &matrices[m], b, "fp32");
        const double mixed = run_fixed(ctx, &matrices[m], b, "mixed");

        assert_at_most(fp64, 1e-14);
        assert_true(fp32 > 1e-10);
        assert_true(mixed > 1e3 * fp64 && mixed < 0.5 * fp32);
        assert_at_most(run_fixed(ctx, &matrices[m], b, "mixed,fp64"), 2.0 * fp64 + U64);
        assert_at_most(run_fixed(ctx, &matrices[m], b, "fp32,mixed,fp64"), 2.0 * fp64 + U64);
        oracle_free(&matrices[m]);
        free(b);
    }
    tess_context_destroy(ctx);
}

/* ---- what results say ---- */

static void results_name_the_storage(void **state)
{
    oracle_csr a = uneven_matrix();
    double *b = random_values(N, 3, -5.0, 5.0), x[N] = {0.0};
    tess_context *ctx = open_cpu(1);
    tess_solve_options options = fixed(TESS_FORMAT_COMPOSITE, "fp32,mixed,fp64", 30);
    tess_solve_result result;

    (void)state;
    options.storage.policy.policy = TESS_POLICY_MEAN_RANGE;
    options.storage.policy.parameter = 0.3;
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.solver, TESS_SOLVER_JACOBI);
    assert_int_equal(result.storage.format, TESS_FORMAT_COMPOSITE);
    assert_int_equal(result.storage.precision, TESS_PRECISION_FP64);
    assert_true(result.storage.nonzeros_per_precision[TESS_PRECISION_FP32] > 0);
    assert_true(result.storage.nonzeros_per_precision[TESS_PRECISION_FP64] > 0);
    assert_int_equal(result.storage.nonzeros_per_precision[TESS_PRECISION_FP32] +
                         result.storage.nonzeros_per_precision[TESS_PRECISION_FP64],
                     a.nnz - N); /* the diagonal is apart */
    /* Table I: 16 bytes an entry, 4 an offset, 8 a diagonal entry */
    assert_true(result.storage.matrix_bytes > 16 * (a.nnz - N) + 8 * N);
    assert_at_most((double)result.storage.matrix_bytes, (double)(16 * (a.nnz - N) + 12 * N + 16));
    assert_true(result.resident_bytes > result.storage.matrix_bytes);
    options.storage.policy.policy = TESS_POLICY_NONE;
    options.storage.policy.parameter = 0.0;
    options.storage.format = TESS_FORMAT_ELLR;
    options.storage.slices.max_padding = 100.0;
    options.jacobi.schedule = schedule_of("fp64");
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.storage.format, TESS_FORMAT_ELLR);
    assert_int_equal(result.storage.nonzeros_per_precision[TESS_PRECISION_FP64], a.nnz - N);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* Entry k is the residual of iterate k where it was measured: over A itself in FP64. */
static void the_history_holds_residuals_of_iterates(void **state)
{
    oracle_csr a = uneven_matrix();
    double *b = random_values(N, 3, -5.0, 5.0), x[N] = {0.0};
    tess_context *ctx = open_cpu(1);
    tess_solve_options options = jacobi(TESS_FORMAT_CSR, "fp64");
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solver *solver = NULL;
    tess_solve_result result;
    int measured = 0;

    (void)state;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    result = solve_with(solver, ctx, N, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    assert_int_equal(result.history_length, result.iterations + 1);
    for (int64_t k = 0; k < result.history_length; k++) {
        double naive[N] = {0.0}, size = naive_jacobi(&a, b, 1.0, k, naive);
        double exact = (double)oracle_residual_norm(&a, b, naive);

        if (isnan(result.history[k])) { continue; }
        measured += 1;
        assert_at_most(fabs(result.history[k] - exact), 1e-9 * exact + 1e-10 * size);
    }
    assert_true(measured >= 3);
    assert_true(result.history[0] > 0.0);
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fp64_iterates_are_those_of_a_naive_loop),
                                       cmocka_unit_test(fp32_iterates_stay_near),
                                       cmocka_unit_test(mixed_iterates_stay_near),
                                       cmocka_unit_test(weighted_iterates_are_those_of_a_naive_loop),
                                       cmocka_unit_test(scaling_by_powers_of_two_changes_nothing),
                                       cmocka_unit_test(threads_do_not_show),
                                       cmocka_unit_test(fixed_runs_share_their_iterations),
                                       cmocka_unit_test(three_precisions_end_as_good_as_fp64),
                                       cmocka_unit_test(results_name_the_storage),
                                       cmocka_unit_test(the_history_holds_residuals_of_iterates)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
