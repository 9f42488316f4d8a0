/* SPDX-License-Identifier: Apache-2.0 */
/* Granularity block and policy mean-3std on the CPU: the grid, its levels and scales, mean and standard deviation. */
#include <float.h>

#include "matrix/matrix.h"
#include "policy/assignment.h"
#include "policy/rules.h"
#include "support/blocks.h"
#include "support/test.h"

static const int sides[4][2] = {{16, 16}, {16, 32}, {32, 16}, {32, 32}};

static tess_policy_options options_of(const char *policy, const char *levels)
{
    tess_policy_options o;

    tess_policy_options_init(&o);
    o.granularity = TESS_GRANULARITY_BLOCK;
    assert_int_equal(tess_policy_options_parse(policy, &o), TESS_SUCCESS);
    assert_int_equal(tess_precision_levels_parse(levels, &o), TESS_SUCCESS);
    return o;
}

static tess_assignment_summary summary_of(const oracle_csr *a, const tess_policy_options *o)
{
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = make_matrix(ctx, a);
    tess_assignment *made = NULL;
    tess_assignment_summary s = {.size = sizeof s};

    assert_ok(ctx, tess_assignment_create(m, o, &made));
    assert_ok(ctx, tess_assignment_measure_error(made, m));
    tess_assignment_get_summary(made, &s);
    tess_assignment_destroy(made);
    tess_matrix_destroy(m);
    assert_int_equal(ctx->held_bytes, 0);
    tess_context_destroy(ctx);
    return s;
}

/* The same, held against wide arithmetic. */
static tess_assignment_summary summary_with_bounds(const oracle_csr *a, const tess_policy_options *o)
{
    tess_context *ctx = open_cpu(2);
    tess_assignment_summary s = check_blocks(ctx, a, o);

    tess_context_destroy(ctx);
    return s;
}

/* Checks blocks against a search through the whole matrix, for all shapes of a block. */
static void check_shapes(const oracle_csr *a, const tess_policy_options *options)
{
    tess_context *ctx = open_cpu(2);

    for (int k = 0; k < 4; k++) {
        tess_policy_options o = *options;

        o.block_rows = sides[k][0];
        o.block_cols = sides[k][1];
        check_blocks(ctx, a, &o);
    }
    assert_int_equal(ctx->held_bytes, 0);
    tess_context_destroy(ctx);
}

/* ---- the grid ---- */

/* 17 by 33, entries in five blocks of 16 by 16, one of them at the corner beyond both last lines. */
static void a_grid_by_hand(void **state)
{
    static const int64_t first[] = {0, 3, 5};
    static const int32_t column[] = {0, 1, 2, 0, 2};
    static const uint16_t count[] = {3, 1, 1, 1, 2};
    static const uint8_t level[] = {1, 0, 1, 1, 0};
    const tess_policy_options o = options_of("fixed-range:2", "fp64,fp32");
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_open(17, 48);
    tess_matrix *m = NULL;
    tess_assignment *made = NULL;
    int64_t got_first[3];
    int32_t got_column[5];
    uint16_t got_count[5];
    uint8_t got_level[5];

    (void)state;
    for (int i = 0; i < 17; i++) {
        if (i == 0) {
            oracle_push(&a, 0, 1.0);
            oracle_push(&a, 15, -1.0);
            oracle_push(&a, 16, 2.0); /* at the range: outside */
        }
        if (i == 15) {
            oracle_push(&a, 15, 0.0);
            oracle_push(&a, 32, nextafter(2.0, 0.0));
        }
        if (i == 16) {
            oracle_push(&a, 1, 1.0);
            oracle_push(&a, 32, 1.0);
            oracle_push(&a, 47, -5.0);
        }
        oracle_end_row(&a, i);
    }
    m = make_matrix(ctx, &a);
    assert_ok(ctx, tess_assignment_create(m, &o, &made));
    assert_int_equal(made->grid.rows, 16);
    assert_int_equal(made->grid.cols, 16);
    assert_int_equal(made->grid.nblock_rows, 2);
    assert_int_equal(made->grid.nblocks, 5);
    assert_null(made->exponent);
    assert_int_equal(made->summary.items, 5);
    assert_int_equal(made->summary.items_at[0], 2);
    assert_int_equal(made->summary.items_at[1], 3);
    assert_int_equal(made->summary.nonzeros_at[0], 3);
    assert_int_equal(made->summary.nonzeros_at[1], 5);
    assert_int_equal(made->summary.empty, 0);
    assert_ok(ctx, tess_assignment_get_blocks(made, got_first, got_column, got_count));
    assert_ok(ctx, tess_assignment_get_blocks(made, NULL, NULL, NULL));
    assert_ok(ctx, tess_assignment_get_levels(made, got_level));
    assert_memory_equal(got_first, first, sizeof first);
    assert_memory_equal(got_column, column, sizeof column);
    assert_memory_equal(got_count, count, sizeof count);
    assert_memory_equal(got_level, level, sizeof level);
    tess_assignment_destroy(made);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void ragged_edges_and_empty_rows(void **state)
{
    static const int64_t orders[][2] = {{1, 1}, {16, 16}, {17, 17}, {33, 33}, {31, 65}, {65, 31}, {32, 200}, {200, 3}};
    const tess_policy_options o = options_of("fixed-range:0.9", "fp64,fp32");

    (void)state;
    for (size_t k = 0; k < sizeof orders / sizeof orders[0]; k++) {
        oracle_csr a = oracle_random(orders[k][0], orders[k][1], 2, k);

        check_shapes(&a, &o);
        oracle_free(&a);
    }
}

/* Block rows without entries, none with entries, no rows, no columns. */
static void grids_without_blocks(void **state)
{
    static const int64_t orders[][2] = {{0, 0}, {0, 20}, {20, 0}, {100, 100}};
    const tess_policy_options o = options_of("mean-3std", "fp64,fp32");

    (void)state;
    for (int k = 0; k < 4; k++) {
        for (int last = 0; last < (k == 3 ? 2 : 1); last++) {
            oracle_csr a = oracle_open(orders[k][0], orders[k][1]);

            for (int64_t i = 0; i < a.nrows; i++) {
                if (last && (i == 40 || i == 99)) { oracle_push(&a, 99, 1.0); }
                oracle_end_row(&a, i);
            }
            check_shapes(&a, &o);
            oracle_free(&a);
        }
    }
}

/* Full blocks of 16 by 16 to 32 by 32, and one row that reaches across all of them. */
static void dense_rows_and_full_blocks(void **state)
{
    const tess_policy_options o = options_of("fixed-range:0.99", "fp64,fp32,fp16");
    oracle_csr full = oracle_hilbert(40), a = oracle_open(70, 3000);

    (void)state;
    check_shapes(&full, &o);
    for (int64_t i = 0; i < 70; i++) {
        for (int64_t j = i == 37 ? 0 : 3 * i; j < (i == 37 ? 3000 : 3 * i + 2); j++) {
            oracle_push(&a, j, 1.0 / (double)(1 + j));
        }
        oracle_end_row(&a, i);
    }
    check_shapes(&a, &o);
    oracle_free(&a);
    oracle_free(&full);
}

/* ---- levels ---- */

/* One value of a full block decides. */
static void every_value_of_a_block_must_be_inside_and_fit(void **state)
{
    const double lambda = 2.0, at[] = {lambda, -lambda, nextafter(lambda, 0.0), NAN, (double)INFINITY, 0x1p-140, 0.0};
    static const int expected[] = {0, 0, 1, 0, 0, 0, 1}, underflowing[] = {0, 0, 1, 0, 0, 1, 1};
    tess_policy_options o = options_of("fixed-range:2", "fp64,fp32");

    (void)state;
    o.share = 1.0; /* neither is read */
    o.at_most_one = 1;
    for (int k = 0; k < 14; k++) {
        oracle_csr a = oracle_open(16, 16);
        tess_assignment_summary s = {.size = sizeof s};

        for (int i = 0; i < 256; i++) {
            oracle_push(&a, i % 16, i == 77 ? at[k / 2] : 1.0);
            if (i % 16 == 15) { oracle_end_row(&a, i / 16); }
        }
        o.allow_underflow = k % 2;
        s = summary_of(&a, &o);
        assert_int_equal(s.items_at[1], (k % 2 ? underflowing : expected)[k / 2]);
        assert_int_equal(s.items_at[0] + s.items_at[1], 1);
        check_shapes(&a, &o);
        oracle_free(&a);
    }
}

/* A value exactly at lambda = F (mean + 3 std) is outside: all values alike have std = 0. */
static void a_value_at_lambda_is_outside(void **state)
{
    static const double values[] = {0.1, 1.0 / 3.0, 1e-200, 1e200, 0x1p-1060, 3.0};
    static const tess_granularity all[] = {TESS_GRANULARITY_ROW, TESS_GRANULARITY_ENTRY, TESS_GRANULARITY_BLOCK};

    (void)state;
    for (int k = 0; k < 6 * 3; k++) {
        oracle_csr a = oracle_tridiagonal(333, -values[k / 3], values[k / 3], values[k / 3]);
        tess_policy_options o = options_of("mean-3std:1", "fp64,fp32");
        tess_assignment_summary s = {.size = sizeof s};

        o.granularity = all[k % 3];
        o.allow_underflow = 1;
        s = summary_of(&a, &o);
        assert_true(s.mean_magnitude == values[k / 3]);
        assert_true(s.std_magnitude == 0.0);
        assert_true(s.range[1] == values[k / 3]);
        assert_int_equal(s.items_at[1], 0);
        assert_int_equal(s.nonzeros_at[0], a.nnz);
        oracle_free(&a);
    }
}

/* Values of all magnitudes, and NaN and Inf. */
static void make_wild(oracle_csr *a, uint64_t seed, double spread)
{
    double *exponent = random_values(a->nnz, seed, -spread, spread);

    for (int64_t k = 0; k < a->nnz; k++) {
        a->val[k] = ldexp(a->val[k], (int)exponent[k]);
        if (k % 97 == 13) { a->val[k] = k % 2 ? 0.0 : -0.0; }
        if (k % 501 == 50) { a->val[k] = k % 2 ? NAN : -(double)INFINITY; }
    }
    free(exponent);
}

static void blocks_are_those_of_a_search(void **state)
{
    const tess_policy_options all[] = {options_of("mean-3std", "fp64,fp32"),
                                       options_of("mean-3std:0.01", "fp64,fp32,fp16"),
                                       options_of("mean-range:3", "fp64,bf16"),
                                       options_of("fixed-range:1e3", "fp64,fp16:scaled"),
                                       options_of("mean-3std:2", "fp32:scaled,fp16:scaled,e4m3:scaled"),
                                       options_of("none", "fp16:scaled"),
                                       options_of("none", "fp64,fp32"),
                                       options_of("lossless", "fp64,fp32,fp16,fp8"),
                                       options_of("lossless", "fp64,fp32:scaled,fp16:scaled,e5m2:scaled"),
                                       options_of("lossless:1e-15", "fp64,fp32,bf16,fp8")};

    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        oracle_csr a = seed % 4 == 3 ? oracle_power_law(700, seed)
                                     : oracle_random(40 + 61 * (int64_t)seed, 30 + 97 * (int64_t)(seed % 5),
                                                     1 + (int64_t)seed, seed);

        if (seed > 0) { make_wild(&a, seed, seed % 2 ? 3.0 : 40.0); }
        if (seed % 3 == 1) { shorten_values(&a); }
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
            tess_policy_options o = all[k];

            o.allow_underflow = (int)(seed & 1);
            check_shapes(&a, &o);
        }
        oracle_free(&a);
    }
}

/* A block that does not fit unscaled has a power of two for its level; a level without scales has none. */
static void blocks_that_do_not_fit_have_a_scale(void **state)
{
    static const int16_t expected[] = {0, 31 - 14, 0};
    const tess_policy_options o = options_of("fixed-range:1e12", "fp64,fp16:scaled");
    tess_context *ctx = open_cpu(1);
    const double values[48] = {[0] = 1.0, [16] = 1e9, [17] = 3e9, [32] = 1e9, [33] = 1e-9};
    oracle_csr a = oracle_diagonal(48, values);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_assignment *made = NULL;

    (void)state;
    assert_ok(ctx, tess_assignment_create(m, &o, &made));
    assert_memory_equal(made->exponent, expected, sizeof expected);
    assert_int_equal(made->level[0], 1);
    assert_int_equal(made->level[1], 1);
    assert_int_equal(made->level[2], 0); /* too far apart */
    assert_true(made->summary.scaled[1]);
    assert_false(made->summary.scaled[0]);
    assert_ok(ctx, tess_assignment_measure_error(made, m));
    assert_true(made->summary.largest_relative_error > 0.0);
    assert_at_most(made->summary.largest_relative_error, 0x1p-11);
    tess_assignment_destroy(made);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* The error is that of the block's level, found for each entry anew. */
static void errors_are_those_of_blocks(void **state)
{
    const tess_policy_options o = options_of("fixed-range:2", "fp64,fp32");
    oracle_csr a = oracle_tridiagonal(64, 1.0, 1.0, 1.0);

    (void)state;
    a.val[0] = 1.0 + 0x1p-30; /* block (0, 0) is high for another's sake */
    a.val[1] = 4.0;
    assert_true(summary_of(&a, &o).largest_relative_error == 0.0);
    a.val[3 * 20] = 4.0; /* so is (1, 1), which is not the first of its block row */
    a.val[3 * 20 + 3] = 1.0 + 0x1p-30;
    assert_true(summary_of(&a, &o).largest_relative_error == 0.0);
    a.val[a.nnz - 1] = 1.0 + 0x1p-30;
    assert_true(summary_of(&a, &o).largest_relative_error == 0x1p-30 / (1.0 + 0x1p-30));
    oracle_free(&a);
}

/* ---- mean and standard deviation ---- */

/* By hand: magnitudes 1, 3, 8, 8 have mean 5 and variance 9.5; values that are zero or not finite do not count. */
static void mean_and_deviation_by_hand(void **state)
{
    const double values[] = {1.0, -3.0, 0.0, -0.0, 8.0, NAN, -8.0, (double)INFINITY};
    const tess_policy_options o = options_of("mean-3std:0.25", "fp64,fp32");
    oracle_csr a = oracle_diagonal(8, values);
    tess_assignment_summary s = summary_of(&a, &o);

    (void)state;
    assert_true(s.mean_magnitude == 5.0);
    assert_true(s.std_magnitude == sqrt(9.5));
    assert_true(s.range[1] == 0.25 * fma(3.0, sqrt(9.5), 5.0));
    oracle_free(&a);
}

/* The unit of the squares changes within a tile and between tiles; sums of squares would overflow, underflow or cancel.
 */
static void deviations_are_within_their_bound(void **state)
{
    static const double scales[] = {1.0, 0x1p-1000, 0x1p1000, 0x1p-310, 0x1p310, 0x1p-299, 0x1p299};

    (void)state;
    for (int k = 0; k < 7 * 4; k++) {
        oracle_csr a = oracle_random(2000, 2000, 9, (uint64_t)k);
        tess_policy_options o = options_of("mean-3std", "fp64,fp32");

        for (int64_t i = 0; i < a.nnz; i++) {
            double value = k / 7 == 3 ? ldexp(a.val[i], (int)(i / 3000) * 300 - 900) : a.val[i] * scales[k % 7];

            if (k / 7 == 1) { value = scales[k % 7] * (1.0 + ldexp(a.val[i], -20)); } /* cancels 40 bits */
            if (k / 7 == 2) { value = (i % 1000 == 7 ? 1e6 : 1.0) * a.val[i] * scales[k % 7]; }
            a.val[i] = value;
        }
        assert_true(summary_with_bounds(&a, &o).std_magnitude > 0.0);
        oracle_free(&a);
    }
}

/* A sum beyond FP64 is Inf, and so are deviation and range: nothing is NaN. */
static void sums_that_overflow_are_inf(void **state)
{
    const double values[] = {DBL_MAX, DBL_MAX, 1.0};
    const tess_policy_options o = options_of("mean-3std", "fp64,fp32");
    oracle_csr a = oracle_diagonal(3, values);
    tess_assignment_summary s = summary_of(&a, &o);

    (void)state;
    assert_true(isinf(s.mean_magnitude) && isinf(s.std_magnitude) && isinf(s.range[1]));
    assert_int_equal(s.items_at[0], 1); /* FP32 does not hold it */
    oracle_free(&a);
}

/* ---- the rest ---- */

static void blocks_do_not_depend_on_threads(void **state)
{
    oracle_csr a = oracle_random(5000, 5000, 20, 7);
    const tess_policy_options o = options_of("mean-3std:0.4", "fp64,fp32,fp16");
    tess_assignment_summary first = {.size = sizeof first, .items = -1};
    uint8_t *level = NULL, *again = NULL;

    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        tess_context *ctx = open_cpu(threads);
        tess_matrix *m = make_matrix(ctx, &a);
        tess_assignment *made = NULL;
        tess_assignment_summary s = {.size = sizeof s};

        assert_ok(ctx, tess_assignment_create(m, &o, &made));
        tess_assignment_get_summary(made, &s);
        again = test_allocate(s.items, 1);
        assert_ok(ctx, tess_assignment_get_levels(made, again));
        if (threads == 1) {
            first = s;
            level = again;
        } else {
            assert_memory_equal(&first, &s, sizeof s);
            assert_memory_equal(level, again, (size_t)s.items);
            free(again);
        }
        tess_assignment_destroy(made);
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
    }
    free(level);
    oracle_free(&a);
}

static void other_granularities_have_no_blocks(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_laplace2d(4);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_policy_options o = options_of("mean-3std", "fp64,fp32");
    tess_assignment *made = NULL;
    int64_t first[2];

    (void)state;
    o.granularity = TESS_GRANULARITY_ROW;
    assert_ok(ctx, tess_assignment_create(m, &o, &made));
    assert_int_equal(made->grid.rows, 0);
    assert_null(made->grid.first);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_assignment_get_blocks(made, first, NULL, NULL));
    tess_assignment_destroy(made);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* A composite has whole rows in every precision. */
static void composites_refuse_blocks(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_laplace2d(4);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_storage_options storage;
    tess_assignment *made = NULL;

    (void)state;
    tess_storage_options_init(&storage);
    storage.format = TESS_FORMAT_COMPOSITE;
    storage.policy = options_of("mean-3std", "fp64,fp32");
    assert_ok(ctx, tess_assignment_create(m, &storage.policy, &made));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(m, &storage, &stored));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert_assigned(m, &storage, made, &stored));
    tess_assignment_destroy(made);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* The condition on every value of a block, by a range and by the limits of the level's precision, as the span of bits
   that devices test. */
static void check_span(const policy_rules *rules, double range, double value)
{
    const policy_ranges ranges = policy_ranges_of(rules, range);
    item_statistics s = item_start();

    item_add(&s, &ranges, false, value);
    for (int l = 1; l < rules->nlevels; l++) {
        const policy_span span = policy_span_of(rules, &ranges, l);

        assert_int_equal(policy_span_takes(&span, value),
                         policy_is_inside(rules, l, &s) && policy_fits_at(rules, l, &s, 0));
    }
}

static void spans_of_bits_are_the_rules_for_a_value(void **state)
{
    static const char *const levels[] = {"fp64,fp32,fp16", "fp64,bf16,e5m2", "fp64,fp32,bf16,e4m3"};
    static const double ranges[] = {0.0,     DBL_TRUE_MIN, 1e-310,  0x1p-126, 1.0,         448.0,
                                    65504.0, 1e38,         DBL_MAX, INFINITY, (double)NAN, -1.0};
    static const double edges[] = {DBL_TRUE_MIN, DBL_MIN, 0x1p-126, 0x1p-14, 0x1p-6,  1.0,
                                   448.0,        57344.0, 65504.0,  FLT_MAX, DBL_MAX, INFINITY};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < 6; k++) {
        tess_policy_options o = options_of("fixed-range:1", levels[k / 2]), resolved;
        policy_rules rules;

        o.allow_underflow = k % 2;
        assert_ok(ctx, tess_policy_resolve(ctx, &o, &resolved));
        rules = tess_policy_rules(&resolved);
        for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
            check_span(&rules, ranges[r], 0.0);
            check_span(&rules, ranges[r], (double)NAN);
            for (size_t e = 0; e < sizeof edges / sizeof edges[0]; e++) {
                check_span(&rules, ranges[r], edges[e]);
                check_span(&rules, ranges[r], -nextafter(edges[e], 0.0));
                check_span(&rules, ranges[r], nextafter(edges[e], INFINITY));
            }
        }
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grid_by_hand),
        cmocka_unit_test(ragged_edges_and_empty_rows),
        cmocka_unit_test(grids_without_blocks),
        cmocka_unit_test(dense_rows_and_full_blocks),
        cmocka_unit_test(every_value_of_a_block_must_be_inside_and_fit),
        cmocka_unit_test(a_value_at_lambda_is_outside),
        cmocka_unit_test(blocks_are_those_of_a_search),
        cmocka_unit_test(blocks_that_do_not_fit_have_a_scale),
        cmocka_unit_test(errors_are_those_of_blocks),
        cmocka_unit_test(mean_and_deviation_by_hand),
        cmocka_unit_test(deviations_are_within_their_bound),
        cmocka_unit_test(sums_that_overflow_are_inf),
        cmocka_unit_test(spans_of_bits_are_the_rules_for_a_value),
        cmocka_unit_test(blocks_do_not_depend_on_threads),
        cmocka_unit_test(other_granularities_have_no_blocks),
        cmocka_unit_test(composites_refuse_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
