/* SPDX-License-Identifier: Apache-2.0 */
/* Policies rule by rule on the CPU: ranges, shares, values that fit, scales, levels by row and by entry. */
#include <float.h>

#include <tessera/gallery.h>

#include "matrix/matrix.h"
#include "policy/assignment.h"
#include "support/test.h"

typedef struct outcome {
    tess_assignment_summary summary;
    uint8_t level[4096];
    int16_t exponent[4096];
} outcome;

static outcome assign(const oracle_csr *a, const tess_policy_options *options)
{
    static outcome o;
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, a);
    tess_assignment *assignment = NULL;

    memset(&o, 0, sizeof o);
    assert_true(a->nrows <= 4096 && a->row_ptr[a->nrows] <= 4096);
    assert_ok(ctx, tess_assignment_create(m, options, &assignment));
    assert_ok(ctx, tess_assignment_measure_error(assignment, m));
    assert_ok(ctx, tess_assignment_get_levels(assignment, o.level));
    tess_assignment_summary_init(&o.summary);
    assert_ok(ctx, tess_assignment_get_summary(assignment, &o.summary));
    if (assignment->exponent) { memcpy(o.exponent, assignment->exponent, (size_t)a->nrows * sizeof *o.exponent); }
    tess_matrix_destroy(m);
    tess_assignment_destroy(assignment);
    assert_int_equal(ctx->held_bytes, 0);
    tess_context_destroy(ctx);
    return o;
}

static tess_policy_options options_of(const char *policy, const char *levels)
{
    tess_policy_options o;

    tess_policy_options_init(&o);
    assert_int_equal(tess_policy_options_parse(policy, &o), TESS_SUCCESS);
    assert_int_equal(tess_precision_levels_parse(levels, &o), TESS_SUCCESS);
    return o;
}

/* One row of `count` values, the first ones given and the rest `rest`. */
static oracle_csr one_row(int64_t count, const double *first, int64_t nfirst, double rest)
{
    oracle_csr a = oracle_open(1, count);

    for (int64_t k = 0; k < count; k++) {
        oracle_push(&a, k, k < nfirst ? first[k] : rest);
    }
    oracle_end_row(&a, 0);
    return a;
}

static int level_of(int64_t count, const double *first, int64_t nfirst, const tess_policy_options *o)
{
    oracle_csr a = one_row(count, first, nfirst, 0.5);
    int level = assign(&a, o).level[0];

    oracle_free(&a);
    return level;
}

/* ---- ranges and shares ---- */

static void the_boundary_is_outside(void **state)
{
    const tess_policy_options o = options_of("fixed-range:2", "fp64,fp32");
    const double inside = nextafter(2.0, 0.0), negative = -2.0, at = 2.0;

    (void)state;
    assert_int_equal(level_of(3, &inside, 1, &o), 1);
    assert_int_equal(level_of(3, &at, 1, &o), 0);
    assert_int_equal(level_of(3, &negative, 1, &o), 0);
}

static void a_share_is_counted_in_integers(void **state)
{
    static const double out[6] = {5.0, 5.0, 5.0, 5.0, 5.0, 5.0};
    tess_policy_options o = options_of("fixed-range", "fp64,fp32");

    (void)state;
    assert_int_equal(level_of(100, out, 1, &o), 1); /* 99 of 100 are 99 % */
    assert_int_equal(level_of(99, out, 1, &o), 0);
    assert_int_equal(level_of(199, out, 2, &o), 0); /* 197 / 199 = 98.99... % */
    assert_int_equal(level_of(200, out, 2, &o), 1);
    o.share = 100.0;
    assert_int_equal(level_of(4000, out, 1, &o), 0);
    assert_int_equal(level_of(4000, out, 0, &o), 1);
    o.share = 70.0;
    assert_int_equal(level_of(10, out, 3, &o), 1);
    assert_int_equal(level_of(10, out, 4, &o), 0);
    assert_int_equal(level_of(20, out, 6, &o), 1);
    o.share = 99.5;
    assert_int_equal(level_of(200, out, 1, &o), 1);
    assert_int_equal(level_of(199, out, 1, &o), 0);
}

static void one_outlier_as_in_the_published_code(void **state)
{
    static const double out[3] = {5.0, 5.0, 5.0};
    tess_policy_options o = options_of("fixed-range", "fp64,fp32");

    (void)state;
    o.at_most_one = 1;
    o.share = 100.0; /* not read */
    assert_int_equal(level_of(1, out, 1, &o), 1);
    assert_int_equal(level_of(7, out, 1, &o), 1);
    assert_int_equal(level_of(100, out, 2, &o), 0);
    assert_int_equal(level_of(199, out, 2, &o), 0);
    assert_int_equal(level_of(200, out, 2, &o), 1);
    assert_int_equal(level_of(200, out, 3, &o), 0);
}

/* The range of mean-range is the factor times the mean over values that are finite and not zero. */
static void the_mean_leaves_zeros_and_what_is_not_finite_out(void **state)
{
    const double values[] = {1.0, -3.0, 0.0, -0.0, 8.0, NAN, (double)INFINITY};
    oracle_csr a = oracle_diagonal(7, values);
    const tess_policy_options o = options_of("mean-range:0.75", "fp64,fp32");
    outcome r = assign(&a, &o);

    (void)state;
    assert_true(r.summary.mean_magnitude == 4.0);
    assert_true(r.summary.range[1] == 3.0);
    assert_true(isinf(r.summary.range[0]));
    assert_int_equal(r.level[0], 1);
    assert_int_equal(r.level[1], 0); /* exactly at r */
    assert_int_equal(r.level[2], 1); /* zeros are inside, and fit */
    assert_int_equal(r.level[3], 1);
    assert_int_equal(r.level[4], 0);
    assert_int_equal(r.level[5], 0);
    assert_int_equal(r.level[6], 0);
    assert_int_equal(r.summary.items_at[1], 3);
    assert_int_equal(r.summary.nonzeros_at[0], 4);
    oracle_free(&a);
}

/* ---- what fits ---- */

/* One outlier of 100 is tolerated, but not one that the precision cannot take. */
static void every_value_must_fit(void **state)
{
    tess_policy_options o = options_of("fixed-range", "fp64,fp32");
    const double largest = (double)FLT_MAX, above = nextafter((double)FLT_MAX, (double)INFINITY), nan_value = NAN;
    const double infinite = -(double)INFINITY, smallest = 0x1p-126, below = nextafter(0x1p-126, 0.0), tiny = 0x1p-1074;

    (void)state;
    assert_int_equal(level_of(100, &largest, 1, &o), 1);
    assert_int_equal(level_of(100, &above, 1, &o), 0);
    assert_int_equal(level_of(100, &nan_value, 1, &o), 0);
    assert_int_equal(level_of(100, &infinite, 1, &o), 0);
    assert_int_equal(level_of(100, &smallest, 1, &o), 1);
    assert_int_equal(level_of(100, &below, 1, &o), 0);
    assert_int_equal(level_of(100, &tiny, 1, &o), 0);
    o.allow_underflow = 1;
    assert_int_equal(level_of(100, &below, 1, &o), 1);
    assert_int_equal(level_of(100, &tiny, 1, &o), 1);
    assert_int_equal(level_of(100, &above, 1, &o), 0);
    assert_int_equal(level_of(100, &nan_value, 1, &o), 0);
}

static void errors_are_those_of_storage(void **state)
{
    const double values[] = {1.0 + 0x1p-24, 1.0, 3.0 + 0x1p-30}, small[] = {0x1p-127 + 0x1p-150, 1.0};
    oracle_csr a = oracle_diagonal(3, values), b = oracle_diagonal(2, small);
    tess_policy_options o = options_of("fixed-range:2", "fp64,fp32");
    outcome r = assign(&a, &o);

    (void)state;
    assert_true(r.summary.largest_relative_error == 0x1p-24 / (1.0 + 0x1p-24)); /* the third is kept in FP64 */
    assert_true(r.summary.largest_error_at[1] == r.summary.largest_relative_error &&
                r.summary.largest_error_at[0] == 0.0);
    o.allow_underflow = 1;
    r = assign(&b, &o);
    assert_true(r.summary.largest_relative_error == 0x1p-150 / (0x1p-127 + 0x1p-150)); /* to even */
    o = options_of("none", "e4m3");
    r = assign(&a, &o);
    assert_true(r.summary.largest_relative_error > 0.0 && r.summary.largest_relative_error <= 0x1p-4);
    a.val[1] = 1e9;
    r = assign(&a, &o);
    assert_true(isinf(r.summary.largest_relative_error));
    oracle_free(&a);
    oracle_free(&b);
}

/* ---- scales ---- */

static void rows_that_do_not_fit_have_a_scale(void **state)
{
    const tess_policy_options plain = options_of("fixed-range:1e300", "fp64,fp16");
    const tess_policy_options scaled = options_of("fixed-range:1e300", "fp64,fp16:scaled");
    /* fits unscaled; too large; too small; too far apart, except for a copy; at the limits of the distance */
    const double pairs[5][2] = {{1.0, 2.0}, {1e9, 3e9}, {1e-9, 2e-9}, {1e-9, 1.0}, {0x1p20, 0x1.8p48}};
    static const int plain_level[] = {1, 0, 0, 0, 0}, scaled_level[] = {1, 1, 1, 0, 1};
    static const int exponent[] = {0, 31 - 14, -29 - 14, 0 - 14, 48 - 14};
    oracle_csr a = oracle_open(5, 2);
    outcome r;

    (void)state;
    for (int i = 0; i < 5; i++) {
        oracle_push(&a, 0, pairs[i][0]);
        oracle_push(&a, 1, pairs[i][1]);
        oracle_end_row(&a, i);
    }
    r = assign(&a, &plain);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(r.level[i], plain_level[i]);
        assert_int_equal(r.exponent[i], 0);
    }
    assert_false(r.summary.scaled[1]);
    r = assign(&a, &scaled);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(r.level[i], scaled_level[i]);
        assert_int_equal(r.exponent[i], exponent[i]);
    }
    assert_true(r.summary.scaled[1]);
    assert_true(r.summary.largest_relative_error > 0.0);
    assert_at_most(r.summary.largest_relative_error, 0x1p-11);
    a.val[8] = 0x1p19; /* 2^-15 of the stored value: a subnormal */
    assert_int_equal(assign(&a, &scaled).level[4], 0);
    oracle_free(&a);
}

/* Without a row that needs one there are no exponents. */
static void scales_that_nothing_needs_are_not_kept(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_laplace2d(5);
    tess_matrix *m = make_matrix(ctx, &a);
    const tess_policy_options o = options_of("fixed-range:100", "fp64,fp16:scaled");
    tess_assignment *assignment = NULL;

    (void)state;
    assert_ok(ctx, tess_assignment_create(m, &o, &assignment));
    assert_null(assignment->exponent);
    assert_int_equal(assignment->summary.items_at[1], 25);
    tess_assignment_destroy(assignment);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* For any magnitude, exponents are such that 2^e and 2^-e are normal and nothing overflows. */
static void scales_reach_all_of_fp64(void **state)
{
    static const char *const levels[] = {"fp64,fp32:scaled", "fp64,bf16:scaled", "fp64,fp16:scaled", "fp64,e4m3:scaled",
                                         "fp64,e5m2:scaled"};
    const double values[] = {DBL_MAX, -1e300, 1e200, 1e-200, 1e-300, -0x1p-1022, 0x1p-1074};
    oracle_csr a = oracle_diagonal(7, values);

    (void)state;
    for (int k = 0; k < 5; k++) {
        tess_policy_options o = options_of("fixed-range:1.7e308", levels[k]);
        outcome r;

        r = assign(&a, &o);
        for (int i = 1; i < 6; i++) {
            assert_int_equal(r.level[i], 1);
            assert_true(r.exponent[i] != 0 && abs(r.exponent[i]) <= 1022);
        }
        assert_int_equal(r.level[0], 0); /* outside */
        assert_at_most(r.summary.largest_relative_error, tess_precision_unit_roundoff(o.level[1].precision));
    }
    oracle_free(&a);
}

/* ---- levels, granularities ---- */

/* fp16 holds values below r 2^-13; zeros get the lowest level possible. */
static void the_third_level_has_a_range_of_its_own(void **state)
{
    const double values[] = {1.0, nextafter(1.0, 0.0), 0x1p-13, nextafter(0x1p-13, 0.0), 0x1p-14, 0x1p-15, 0.0};
    static const int expected[] = {0, 1, 1, 2, 2, 1, 2}; /* 2^-15 is a subnormal of fp16 */
    const tess_policy_options o = options_of("fixed-range", "fp64,fp32,fp16");
    oracle_csr a = oracle_diagonal(7, values);
    outcome r = assign(&a, &o);

    (void)state;
    assert_true(r.summary.range[2] == 0x1p-13);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(r.level[i], expected[i]);
    }
    assert_int_equal(r.summary.items_at[0], 1);
    assert_int_equal(r.summary.items_at[1], 3);
    assert_int_equal(r.summary.items_at[2], 3);
    oracle_free(&a);
}

static void empty_rows_have_no_level(void **state)
{
    oracle_csr a = oracle_open(3, 3);
    const tess_policy_options ranged = options_of("mean-range", "fp64,fp32"), none = options_of("none", "fp64,fp32");
    outcome r;

    (void)state;
    oracle_end_row(&a, 0);
    oracle_push(&a, 1, 4.0);
    oracle_end_row(&a, 1);
    oracle_end_row(&a, 2);
    for (int k = 0; k < 2; k++) {
        r = assign(&a, k == 0 ? &ranged : &none);
        assert_int_equal(r.level[0], TESS_LEVEL_NONE);
        assert_int_equal(r.level[1], 0);
        assert_int_equal(r.level[2], TESS_LEVEL_NONE);
        assert_int_equal(r.summary.empty, 2);
        assert_int_equal(r.summary.items, 3);
        assert_int_equal(r.summary.items_at[0], 1);
    }
    oracle_free(&a);
}

static void without_the_diagonal(void **state)
{
    oracle_csr a = oracle_tridiagonal(50, -1.0, 1e6, -1.0), d = oracle_diagonal(4, (const double[]){1, 2, 3, 4});
    tess_policy_options o = options_of("mean-range:2", "fp64,fp32");
    outcome r;

    (void)state;
    assert_int_equal(assign(&a, &o).summary.items_at[0], 50);
    o.without_diagonal = 1;
    r = assign(&a, &o);
    assert_true(r.summary.mean_magnitude == 1.0);
    assert_int_equal(r.summary.items_at[1], 50);
    assert_int_equal(r.summary.nonzeros_at[1], 98);
    r = assign(&d, &o); /* nothing is left */
    assert_int_equal(r.summary.empty, 4);
    assert_int_equal(r.level[2], TESS_LEVEL_NONE);
    assert_true(r.summary.mean_magnitude == 0.0);
    o.granularity = TESS_GRANULARITY_ENTRY;
    r = assign(&a, &o);
    for (int64_t i = 0, k = 0; i < a.nrows; i++) {
        for (; k < a.row_ptr[i + 1]; k++) {
            assert_int_equal(r.level[k], a.col_ind[k] == i ? TESS_LEVEL_NONE : 1);
        }
    }
    assert_int_equal(r.summary.nonzeros_at[1], 98);
    assert_true(r.summary.largest_relative_error == 0.0);
    o = options_of("none", "fp64");
    o.granularity = TESS_GRANULARITY_MATRIX;
    o.without_diagonal = 1;
    assert_int_equal(assign(&a, &o).summary.nonzeros_at[0], 98);
    oracle_free(&a);
    oracle_free(&d);
}

static void entries_are_judged_alone(void **state)
{
    tess_policy_options o = options_of("fixed-range", "fp64,fp32");
    const double values[] = {0.5, -1.0, 1.0, 0.0, 1e-40, NAN, (double)INFINITY, nextafter(-1.0, 0.0)};
    static const int expected[] = {1, 0, 0, 1, 0, 0, 0, 1};
    oracle_csr a = one_row(8, values, 8, 0.0);
    outcome r;

    (void)state;
    o.granularity = TESS_GRANULARITY_ENTRY;
    o.share = 1.0; /* not read */
    r = assign(&a, &o);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(r.level[i], expected[i]);
    }
    assert_int_equal(r.summary.items, 8);
    assert_int_equal(r.summary.items_at[1], 3);
    assert_int_equal(r.summary.nonzeros_at[0], 5);
    oracle_free(&a);
}

static void one_level_or_no_policy_is_level_0(void **state)
{
    oracle_csr a = oracle_laplace2d(6);
    tess_policy_options all[] = {options_of("fixed-range:1e9", "fp32"), options_of("none", "fp64,fp32"),
                                 options_of("none", "fp64,fp32")};

    (void)state;
    all[2].granularity = TESS_GRANULARITY_MATRIX;
    for (int k = 0; k < 3; k++) {
        outcome r = assign(&a, &all[k]);

        assert_int_equal(r.summary.nonzeros_at[0], a.nnz);
        assert_int_equal(r.summary.items_at[0], k == 2 ? 1 : 36);
        assert_int_equal(r.level[0], 0);
    }
    oracle_free(&a);
}

/* ---- whole matrices ---- */

static double low_share_of_rowscale(tess_context *ctx, const char *percent)
{
    const char *const args[] = {"30", percent};
    const tess_policy_options o = options_of("mean-range", "fp64,fp32");
    tess_matrix *m = NULL;
    tess_assignment *assignment = NULL;
    tess_assignment_summary s = {.size = sizeof s};

    assert_ok(ctx, tess_gallery_create(ctx, "rowscale", 2, args, &m));
    assert_ok(ctx, tess_assignment_create(m, &o, &assignment));
    tess_assignment_get_summary(assignment, &s);
    assert_int_equal(s.nonzeros_at[0] + s.nonzeros_at[1], m->nnz);
    assert_int_equal(s.items_at[0] + s.items_at[1], m->nrows);
    tess_assignment_destroy(assignment);
    tess_matrix_destroy(m);
    return 100.0 * (double)s.nonzeros_at[1] / (double)(s.nonzeros_at[0] + s.nonzeros_at[1]);
}

/* The gallery promises the share up to the evenness of its choice of rows: 30^3 rows, a tenth of a percent. */
static void rowscale_has_the_share_that_it_promises(void **state)
{
    static const char *const percents[] = {"0", "10", "25", "50", "75", "90", "100"};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < 7; k++) {
        double share = low_share_of_rowscale(ctx, percents[k]);

        assert_at_most(fabs(share - strtod(percents[k], NULL)), 0.1);
    }
    tess_context_destroy(ctx);
}

/* More than a tile of values, so that the order of the sum matters; compared with a sum in more digits. */
static void assignments_do_not_depend_on_threads(void **state)
{
    oracle_csr a = oracle_random(5000, 5000, 20, 7);
    const tess_policy_options o = options_of("mean-range:0.7", "fp64,fp32,fp16");
    uint8_t *first = test_allocate(a.nrows, 1), *level = test_allocate(a.nrows, 1);
    double mean = 0.0;
    wide sum = 0;

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        sum += wide_abs((wide)a.val[k]);
    }
    for (int threads = 1; threads <= 3; threads++) {
        tess_context *ctx = open_cpu(threads);
        tess_matrix *m = make_matrix(ctx, &a);
        tess_assignment *assignment = NULL;

        assert_ok(ctx, tess_assignment_create(m, &o, &assignment));
        assert_ok(ctx, tess_assignment_get_levels(assignment, threads == 1 ? first : level));
        if (threads == 1) {
            mean = assignment->summary.mean_magnitude;
        } else {
            assert_memory_equal(first, level, (size_t)a.nrows);
            assert_true(assignment->summary.mean_magnitude == mean);
        }
        tess_assignment_destroy(assignment);
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
    }
    assert_at_most(fabs(mean - (double)(sum / (wide)a.nnz)), 2.0 * U64 * mean); /* two roundings */
    oracle_free(&a);
    free(first);
    free(level);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_boundary_is_outside),
        cmocka_unit_test(a_share_is_counted_in_integers),
        cmocka_unit_test(one_outlier_as_in_the_published_code),
        cmocka_unit_test(the_mean_leaves_zeros_and_what_is_not_finite_out),
        cmocka_unit_test(every_value_must_fit),
        cmocka_unit_test(errors_are_those_of_storage),
        cmocka_unit_test(rows_that_do_not_fit_have_a_scale),
        cmocka_unit_test(scales_that_nothing_needs_are_not_kept),
        cmocka_unit_test(scales_reach_all_of_fp64),
        cmocka_unit_test(the_third_level_has_a_range_of_its_own),
        cmocka_unit_test(empty_rows_have_no_level),
        cmocka_unit_test(without_the_diagonal),
        cmocka_unit_test(entries_are_judged_alone),
        cmocka_unit_test(one_level_or_no_policy_is_level_0),
        cmocka_unit_test(rowscale_has_the_share_that_it_promises),
        cmocka_unit_test(assignments_do_not_depend_on_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
