/* SPDX-License-Identifier: Apache-2.0 */
/* Granularity block and policy mean-3std on the CPU: the grid, its levels and scales, mean and standard deviation. */
#include "core/internal.h"
#include "granule/assignment.h"
#include "support/blocks.h"
#include "support/test.h"

static const int sides[4][2] = {{16, 16}, {16, 32}, {32, 16}, {32, 32}};

static tess_policy_options options_of(const char *policy, const char *levels)
{
    tess_policy_options o;

    tess_policy_options_init(&o);
    o.granularity = TESS_GRANULARITY_BLOCK;
    assert_int_equal(tess_policy_parse(policy, &o), TESS_SUCCESS);
    assert_int_equal(tess_levels_parse(levels, &o), TESS_SUCCESS);
    return o;
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
    assert_int_equal(made->summary.granules, 5);
    assert_int_equal(made->summary.granules_at[0], 2);
    assert_int_equal(made->summary.granules_at[1], 3);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grid_by_hand),
        cmocka_unit_test(ragged_edges_and_empty_rows),
        cmocka_unit_test(grids_without_blocks),
        cmocka_unit_test(dense_rows_and_full_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
