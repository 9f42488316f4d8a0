/* SPDX-License-Identifier: Apache-2.0 */
/* Time steps on the CPU against naive products, in every storage and schedule. */
#include <tessera/gallery.h>
#include <tessera/timestep.h>

#include "support/gallery.h"
#include "support/sweep.h"

enum { N = 150, ROW = 12 };
static const double U32 = 0x1p-24;

/* An explicit step of something that decays: rows of magnitudes that sum to 1 at most, a large diagonal. */
static oracle_csr step_matrix(void)
{
    oracle_csr a = dominant_matrix(N, ROW, 4.0, 1, 21);

    for (int64_t i = 0; i < N; i++) {
        double sum = 0.0;

        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            sum += fabs(a.val[k]);
        }
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] /= 1.001 * sum;
        }
    }
    return a;
}

static tess_timestep_options options_for(tess_format format, const char *schedule)
{
    tess_timestep_options options;

    tess_timestep_options_init(&options);
    options.storage.format = format;
    if (format == TESS_FORMAT_ELLR || format == TESS_FORMAT_SELL) { options.storage.slices.max_padding = 100.0; }
    if (schedule) { options.schedule = schedule_of(schedule); }
    return options;
}

static tess_timestep_result run_once(tess_context *ctx, const oracle_csr *a, const tess_timestep_options *options,
                                     int64_t count, double *x)
{
    tess_matrix *m = make_matrix(ctx, a);
    tess_vector *v = make_vector(ctx, a->nrows, x);
    tess_timestep *ts = NULL;
    tess_timestep_result result;

    assert_ok(ctx, tess_timestep_create(m, options, &ts));
    tess_timestep_result_init(&result);
    assert_ok(ctx, tess_timestep_run(ts, v, count, NULL, NULL, 0, &result));
    read_vector(v, x);
    tess_timestep_destroy(ts);
    tess_vector_destroy(v);
    tess_matrix_destroy(m);
    return result;
}

/* ---- steps ---- */

typedef struct step_case {
    tess_format format, base;
    tess_granularity granularity;
    const char *schedule;
    double roundoffs; /* of FP32, in a step */
} step_case;

static const step_case cases[] = {
    {TESS_FORMAT_CSR, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, NULL, 0.0},
    {TESS_FORMAT_ELLR, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, NULL, 0.0},
    {TESS_FORMAT_SELL, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, NULL, 0.0},
    {TESS_FORMAT_CSR, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, "fp64", 0.0},
    {TESS_FORMAT_COMPOSITE, TESS_FORMAT_ELLR, TESS_GRANULARITY_ROW, "fp64", 0.0},
    {TESS_FORMAT_COMPOSITE, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, NULL, 4.5},
    {TESS_FORMAT_COMPOSITE, TESS_FORMAT_ELLR, TESS_GRANULARITY_ROW, "mixed,fp64", 4.5},
    {TESS_FORMAT_COMPOSITE, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, "fp32,mixed,fp64", 4.5},
    {TESS_FORMAT_COMPOSITE, TESS_FORMAT_ELLR, TESS_GRANULARITY_ROW, "fp32", 4.5},
    {TESS_FORMAT_SPLIT, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, NULL, 4.5},
    {TESS_FORMAT_SPLIT, TESS_FORMAT_ELLR, TESS_GRANULARITY_ENTRY, NULL, 4.5}};
enum { CASES = sizeof cases / sizeof *cases };

static tess_timestep_options options_of(const step_case *c)
{
    tess_timestep_options options = options_for(c->format, c->schedule);

    options.storage.split.base = c->base;
    if (c->base == TESS_FORMAT_ELLR) { options.storage.slices.max_padding = 100.0; }
    options.storage.policy.granularity = c->granularity;
    return options;
}

/* No step makes an error larger: the norm of A is below 1. */
static void steps_are_those_of_a_naive_loop(void **state)
{
    oracle_csr a = step_matrix();
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int c = 0; c < CASES; c++) {
        const tess_timestep_options options = options_of(&cases[c]);

        for (int64_t count = 0; count <= 31; count += count < 4 ? 1 : 9) {
            double *x = random_values(N, 5, -80.0, 40.0), *naive = random_values(N, 5, -80.0, 40.0);
            double size = naive_steps(&a, count, naive), difference;
            tess_timestep_result result = run_once(ctx, &a, &options, count, x);

            difference = largest_difference(x, naive, N);
            assert_int_equal(result.count, count);
            assert_int_equal(result.finite, 1);
            if (cases[c].roundoffs > 0.0) { assert_true(result.nonzeros_per_precision[TESS_PRECISION_FP32] > N); }
            assert_at_most(difference,
                           (double)count * (cases[c].roundoffs * U32 + 2.0 * gamma_of(ROW + 4)) * fmax(size, 80.0));
            if (cases[c].roundoffs > 0.0 && count > 3) { assert_at_most(1e-4 * U32, difference); }
            free(x);
            free(naive);
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void results_count_steps_and_bytes(void **state)
{
    oracle_csr a = step_matrix();
    tess_context *ctx = open_cpu(1);
    tess_timestep_options options = options_for(TESS_FORMAT_COMPOSITE, "fp32,mixed:5,fp64");
    double *x = random_values(N, 5, -80.0, 40.0);
    tess_timestep_result result = run_once(ctx, &a, &options, 20, x);
    int64_t rest = a.nnz - N; /* entries beside the diagonal */

    (void)state;
    assert_int_equal(result.count, 20);
    assert_int_equal(result.schedule.count, 3);
    assert_int_equal(result.schedule.entry[0].iterations, 7);
    assert_int_equal(result.schedule.entry[1].iterations, 5);
    assert_int_equal(result.schedule.entry[2].iterations, 8);
    assert_int_equal(result.format, TESS_FORMAT_COMPOSITE);
    assert_true(result.setup_seconds > 0.0 && result.seconds > 0.0);
    assert_int_equal(
        result.nonzeros_per_precision[TESS_PRECISION_FP64] + result.nonzeros_per_precision[TESS_PRECISION_FP32], rest);
    /* values and columns; offsets, diagonal, x in and out */
    assert_int_equal(result.bytes_per_step[0], 8 * rest + (4 + 8 + 24) * N);
    assert_int_equal(result.bytes_per_step[1],
                     8 * rest + 4 * result.nonzeros_per_precision[TESS_PRECISION_FP64] + (4 + 8 + 24) * N);
    assert_int_equal(result.bytes_per_step[2], 12 * rest + (4 + 8 + 16) * N);
    options = options_for(TESS_FORMAT_CSR, NULL);
    result = run_once(ctx, &a, &options, 3, x);
    assert_int_equal(result.schedule.count, 1);
    assert_int_equal(result.schedule.entry[0].what, TESS_PRECISION_FP64);
    assert_int_equal(result.schedule.entry[0].iterations, 3);
    assert_int_equal(result.bytes_per_step[0], 12 * a.nnz + 4 * (N + 1) + 16 * N);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(x);
}

/* Plain products round the matrix to the precision of the storage, in every format. */
static void plain_products_take_a_precision(void **state)
{
    static const tess_format formats[] = {TESS_FORMAT_CSR, TESS_FORMAT_ELLR, TESS_FORMAT_SELL};
    double diagonal[2] = {1.0 / 3.0, 0.1};
    oracle_csr a = oracle_diagonal(2, diagonal);
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int f = 0; f < 3; f++) {
        tess_timestep_options options = options_for(formats[f], NULL);
        double x[2] = {1.0, 1.0};
        tess_timestep_result result;

        options.storage.precision = TESS_PRECISION_FP32;
        result = run_once(ctx, &a, &options, 1, x);
        assert_true(x[0] == (double)(float)diagonal[0] && x[1] == (double)(float)diagonal[1]);
        assert_int_equal(result.nonzeros_per_precision[TESS_PRECISION_FP32], 2);
        assert_int_equal(result.schedule.entry[0].what, TESS_PRECISION_FP32);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Algorithm 2, line 5: x in FP64 beside its FP32 copy. With x in FP32 alone the diagonal, which is almost 1, multiplies
   a rounded x each time: 7e-6 after 2,000 steps. */
static void long_runs_in_fp32_stay_near(void **state)
{
    static const char *const arguments[] = {"2000"}, *const steps[] = {"fp32", "mixed", "fp32,mixed,fp64"};
    const int64_t count = 2000;
    tess_context *ctx = open_cpu(2);
    const tess_timestep_options plain = options_for(TESS_FORMAT_CSR, NULL);
    oracle_csr a = generate_problem("ventricle 2000", 1);
    double *x = test_allocate(a.nrows, sizeof *x), *exact = test_allocate(a.nrows, sizeof *exact);
    tess_vector *potential = NULL;

    (void)state;
    assert_ok(ctx, tess_gallery_ventricle_potential(ctx, 1, arguments, &potential));
    read_vector(potential, x);
    tess_vector_destroy(potential);
    memcpy(exact, x, (size_t)a.nrows * sizeof *exact);
    (void)run_once(ctx, &a, &plain, count, exact);
    for (int c = 0; c < 3; c++) {
        tess_timestep_options options = options_for(TESS_FORMAT_COMPOSITE, steps[c]);
        double *y = test_allocate(a.nrows, sizeof *y), difference = 0.0, size = 0.0;
        tess_timestep_result result;

        memcpy(y, x, (size_t)a.nrows * sizeof *y);
        options.storage.policy.at_most_one = 1;
        result = run_once(ctx, &a, &options, count, y);
        assert_true(result.nonzeros_per_precision[TESS_PRECISION_FP32] > a.nnz / 4);
        for (int64_t i = 0; i < a.nrows; i++) {
            difference += (y[i] - exact[i]) * (y[i] - exact[i]);
            size += exact[i] * exact[i];
        }
        assert_at_most(sqrt(difference), 16.0 * U32 * sqrt(size));
        assert_true(sqrt(difference) > 0.1 * U32 * sqrt(size)); /* it was FP32 indeed */
        free(y);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(x);
    free(exact);
}

/* ---- snapshots ---- */

typedef struct album {
    int64_t every, calls, stop_at;
    double last[N];
} album;

static int take_snapshot(void *user, int64_t step, const tess_vector *x)
{
    album *a = user;

    a->calls += 1;
    assert_int_equal(step, a->calls * a->every);
    read_vector(x, a->last);
    return step == a->stop_at;
}

static void snapshots_are_what_shorter_runs_give(void **state)
{
    static const char *const schedule[] = {"mixed", "fp32", "fp64"};
    oracle_csr a = step_matrix();
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int c = 0; c < 3; c++) {
        const tess_timestep_options options = options_for(TESS_FORMAT_COMPOSITE, schedule[c]);
        double *x0 = random_values(N, 5, -80.0, 40.0), x[N], shorter[N];
        tess_vector *v = make_vector(ctx, N, x0);
        album seen = {.every = 7, .stop_at = -1};
        tess_timestep_result result;
        tess_timestep *ts = NULL;

        assert_ok(ctx, tess_timestep_create(m, &options, &ts));
        tess_timestep_result_init(&result);
        assert_ok(ctx, tess_timestep_run(ts, v, 23, take_snapshot, &seen, 7, &result));
        assert_int_equal(seen.calls, 3);
        memcpy(shorter, x0, sizeof shorter);
        (void)run_once(ctx, &a, &options, 21, shorter);
        assert_true(same_bits(seen.last, shorter, N));
        read_vector(v, x);
        memcpy(shorter, x0, sizeof shorter);
        (void)run_once(ctx, &a, &options, 23, shorter);
        assert_true(same_bits(x, shorter, N));

        seen = (album){.every = 5, .stop_at = 10};
        assert_ok(ctx, tess_vector_set(v, x0, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_timestep_run(ts, v, 23, take_snapshot, &seen, 5, &result));
        assert_int_equal(seen.calls, 2);
        assert_int_equal(result.count, 10);
        read_vector(v, x);
        assert_true(same_bits(seen.last, x, N));
        tess_timestep_destroy(ts);
        tess_vector_destroy(v);
        free(x0);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* ---- the ends of the range ---- */

static void nan_and_inf_are_found(void **state)
{
    oracle_csr a = oracle_tridiagonal(N, 1e10, 1e30, -1e10);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int c = 0; c < CASES; c++) {
        const tess_timestep_options options = options_of(&cases[c]);
        double *x0 = random_values(N, 5, -80.0, 40.0);
        tess_vector *v = make_vector(ctx, N, x0);
        album seen = {.every = 3, .stop_at = -1};
        tess_timestep_result result;
        tess_timestep *ts = NULL;

        assert_ok(ctx, tess_timestep_create(m, &options, &ts));
        tess_timestep_result_init(&result);
        assert_ok(ctx, tess_timestep_run(ts, v, 40, NULL, NULL, 0, &result));
        assert_int_equal(result.count, 40);
        assert_int_equal(result.finite, 0);
        assert_ok(ctx, tess_vector_set(v, x0, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_timestep_run(ts, v, 40, take_snapshot, &seen, 3, &result));
        assert_int_equal(result.finite, 0);
        assert_true(result.count < 40);
        assert_int_equal(seen.calls, result.count / 3);
        x0[7] = NAN;
        assert_ok(ctx, tess_vector_set(v, x0, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_timestep_run(ts, v, 0, NULL, NULL, 0, &result));
        assert_int_equal(result.finite, 0);
        x0[7] = 0.0; /* and the same handle is clean afterwards */
        assert_ok(ctx, tess_vector_set(v, x0, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_timestep_run(ts, v, 0, NULL, NULL, 0, &result));
        assert_int_equal(result.finite, 1);
        tess_timestep_destroy(ts);
        tess_vector_destroy(v);
        free(x0);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void the_size_of_x_does_not_matter(void **state)
{
    oracle_csr a = step_matrix();
    const tess_timestep_options options = options_for(TESS_FORMAT_COMPOSITE, "fp32,mixed,fp64");
    double *x = random_values(N, 5, -80.0, 40.0), *y = random_values(N, 5, -80.0, 40.0);
    tess_context *ctx = open_cpu(1);

    (void)state;
    (void)run_once(ctx, &a, &options, 12, x);
    for (int s = -300; s <= 300; s += 600) {
        for (int64_t i = 0; i < N; i++) {
            y[i] = ldexp(y[i], s);
        }
        (void)run_once(ctx, &a, &options, 12, y);
        for (int64_t i = 0; i < N; i++) {
            y[i] = ldexp(y[i], -s);
        }
        assert_true(same_bits(x, y, N));
        free(y);
        y = random_values(N, 5, -80.0, 40.0);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(x);
    free(y);
}

/* ---- handles and requests ---- */

static void a_handle_notices_new_values(void **state)
{
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int c = 0; c < CASES; c++) {
        oracle_csr a = step_matrix();
        const tess_timestep_options options = options_of(&cases[c]);
        tess_matrix *m = make_matrix(ctx, &a);
        tess_timestep *ts = NULL;
        tess_timestep_result result;

        assert_ok(ctx, tess_timestep_create(m, &options, &ts));
        for (int round = 0; round < 3; round++) {
            double *x0 = random_values(N, 30 + (uint64_t)round, -80.0, 40.0), x[N];
            tess_vector *v = make_vector(ctx, N, x0);

            if (round > 0) {
                for (int64_t k = 0; k < a.nnz; k++) {
                    a.val[k] *= 0.9;
                }
                assert_ok(ctx, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
            }
            tess_timestep_result_init(&result);
            assert_ok(ctx, tess_timestep_run(ts, v, 6, NULL, NULL, 0, &result));
            read_vector(v, x);
            (void)naive_steps(&a, 6, x0);
            assert_at_most(largest_difference(x, x0, N), 6.0 * 80.0 * (4.5 * U32 + 2.0 * gamma_of(ROW + 4)));
            tess_vector_destroy(v);
            free(x0);
        }
        tess_timestep_destroy(ts);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

static int copy_vector(void *user, tess_operation operation, const double *x, double *y)
{
    (void)user;
    (void)operation;
    memcpy(y, x, 3 * sizeof *y);
    return 0;
}

static void wrong_requests_are_refused(void **state)
{
    oracle_csr a = oracle_tridiagonal(3, 1.0, 4.0, 1.0), wide = oracle_random(3, 4, 2, 1);
    const tess_shell_operator identity = {.apply = copy_vector};
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a), *w = make_matrix(ctx, &wide), *shell = NULL;
    tess_timestep_options o = options_for(TESS_FORMAT_SPLIT, "mixed,fp32");
    tess_vector *x = make_zeros(ctx, 3), *longer = make_zeros(ctx, 4);
    tess_timestep_result result;
    tess_timestep *ts = NULL;

    (void)state;
    assert_ok(ctx, tess_matrix_create_shell(ctx, 3, 3, &identity, &shell));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_timestep_create(m, &o, &ts));
    o = options_for(TESS_FORMAT_SELL, "fp64");
    assert_fails(ctx, TESS_UNSUPPORTED, tess_timestep_create(m, &o, &ts));
    for (int k = 0; k < 4; k++) { /* storage options that nothing reads */
        static const tess_format formats[] = {TESS_FORMAT_CSR, TESS_FORMAT_COMPOSITE, TESS_FORMAT_CSR,
                                              TESS_FORMAT_AUTO};
        static const char *const words[] = {"max_padding", "max_padding", "mean-range", "block_rows"};

        o = options_for(formats[k], k == 1 ? "mixed" : k == 3 ? "fp32" : NULL);
        if (k < 2) { o.storage.slices.max_padding = 100.0; }
        if (k == 2) { o.storage.policy.parameter = 0.5; } /* of a policy that csr does not take */
        if (k == 3) { o.storage.policy.block_rows = 32; }
        assert_int_not_equal(tess_timestep_create(m, &o, &ts), TESS_SUCCESS);
        assert_non_null(strstr(tess_context_last_error(ctx)->message, words[k]));
        assert_null(ts);
    }
    assert_fails(ctx, TESS_UNSUPPORTED, tess_timestep_create(shell, NULL, &ts));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_timestep_create(w, NULL, &ts));
    assert_null(ts);
    tess_timestep_destroy(NULL);
    assert_ok(ctx, tess_timestep_create(m, NULL, &ts));
    tess_timestep_result_init(&result);
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_timestep_run(ts, longer, 1, NULL, NULL, 0, &result));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_timestep_run(ts, x, -1, NULL, NULL, 0, &result));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_timestep_run(ts, x, 1, NULL, NULL, -1, &result));
    assert_ok(ctx, tess_timestep_run(ts, x, 1, NULL, NULL, 1, &result));
    tess_timestep_destroy(ts);
    tess_vector_destroy(x);
    tess_vector_destroy(longer);
    tess_matrix_destroy(shell);
    tess_matrix_destroy(w);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_are_those_of_a_naive_loop),
                                       cmocka_unit_test(results_count_steps_and_bytes),
                                       cmocka_unit_test(snapshots_are_what_shorter_runs_give),
                                       cmocka_unit_test(nan_and_inf_are_found),
                                       cmocka_unit_test(plain_products_take_a_precision),
                                       cmocka_unit_test(the_size_of_x_does_not_matter),
                                       cmocka_unit_test(long_runs_in_fp32_stay_near),
                                       cmocka_unit_test(a_handle_notices_new_values),
                                       cmocka_unit_test(wrong_requests_are_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
