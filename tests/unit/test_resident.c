/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles in layout resident: the bytes of records, what they hold, products. The conformance suite has the rest. */
#include "support/gallery.h"
#include "support/papers.h"
#include "support/product.h"
#include "support/test.h"
#include "support/tiles.h"
#include "support/variants.h"

#include "matrix/matrix.h"
#include "papers/tiles/resident_record.h"

static const tess_precision_level fp32 = {TESS_PRECISION_FP32, 0};
static const tiles_kind resident = {.layout = TESS_LAYOUT_RESIDENT};

static tess_storage_options resident_of(double range, tess_precision high, tess_precision_level low)
{
    tess_storage_options options = tiles_of(16, 16, range, high, low);

    options.papers = &papers_resident;
    return options;
}

/* ---- records, byte by byte ---- */

static void check_header(const char *record, int tile, resident_header expected)
{
    const resident_header h = resident_headers(record)[tile];

    assert_int_equal(h.where, expected.where);
    assert_int_equal(h.what, expected.what);
}

static void records_are_laid_out_as_documented(void **state)
{
    const double high[3] = {100.0, 2.0, 3.0}, seven = 7.0;
    const float low[3] = {0.5F, 0.25F, 0.125F};
    const uint8_t first[3] = {2, 0x30, 0x01}; /* row 0 ends after two; columns 0, 3, 1 */
    tess_storage_options options = resident_of(4.0, TESS_PRECISION_FP64, fp32);
    tess_context *ctx = open_device(1);
    tess_matrix *assembled = make_small_tiled(ctx), *stored = NULL;
    tiles_records r;

    (void)state;
    stored = convert_tiles(assembled, &options);
    r = read_tiles_records(stored);
    assert_int_equal(tess_matrix_layout(stored), TESS_LAYOUT_RESIDENT);
    /* 8 + 3 headers; 24 + 1 + 2, 4 + 1 and 8 + 1 bytes, each to a multiple of 8: 88 bytes are 6 units */
    assert_int_equal(r.start[0], 0);
    assert_int_equal(r.start[1], 6);
    assert_int_equal(r.start[2], 8); /* 8 + 8; 8 + 1 */
    assert_int_equal(tess_matrix_bytes(stored), 8 * TILES_UNIT + 3 * 4);
    assert_int_equal(resident_tiles(r.record), 3);
    check_header(r.record, 0, resident_header_of(0, TESS_PRECISION_FP64, 1U | 1U << 5, 3, false));
    check_header(r.record, 1, resident_header_of(1, TESS_PRECISION_FP32, 1U, 1, false));
    check_header(r.record, 2, resident_header_of(2, TESS_PRECISION_FP32, 1U | 1U << 2, 2, false));
    assert_memory_equal(r.record + 32, high, sizeof high);
    assert_memory_equal(r.record + 32 + 24, first, sizeof first);
    assert_memory_equal(r.record + 64, &low[0], sizeof low[0]);
    assert_int_equal(r.record[68], 0);
    assert_memory_equal(r.record + 72, &low[1], 2 * sizeof low[1]);
    assert_int_equal(r.record[80], 0x07); /* columns 7 and 0; both rows have one entry, so no ends are stored */
    for (int i = 81; i < 96; i++) {
        assert_int_equal(r.record[i], 0);
    }
    assert_int_equal(resident_tiles(r.record + 96), 1);
    check_header(r.record + 96, 0, resident_header_of(1, TESS_PRECISION_FP64, 1U << 3, 1, false));
    assert_memory_equal(r.record + 112, &seven, sizeof seven);
    assert_int_equal(r.record[120], 1);
    free_tiles_records(&r);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
    tess_context_destroy(ctx);
}

/* A scaled tile of three values of one byte: the exponent stands at the next multiple of two. */
static void scales_are_laid_out_as_documented(void **state)
{
    const int length[16] = {1, 1, 1};
    tess_storage_options options =
        resident_of(1e300, TESS_PRECISION_FP64, (tess_precision_level){TESS_PRECISION_E4M3, 1});
    oracle_csr a = make_block(16, 16, length);
    tess_context *ctx = open_device(1);
    tess_matrix *assembled = NULL, *stored = NULL;
    resident_parts p;
    resident_header h;
    tiles_records r;

    (void)state;
    for (int k = 0; k < 3; k++) {
        a.val[k] = ldexp(1.0 + k / 4.0, 100);
    }
    assembled = make_matrix(ctx, &a);
    stored = convert_tiles(assembled, &options);
    r = read_tiles_records(stored);
    h = resident_headers(r.record)[0];
    p = resident_parts_of(h);
    assert_true(resident_is_scaled(h) && resident_precision(h) == TESS_PRECISION_E4M3 && !p.has_ends);
    assert_true(p.exponent == 4 && p.index == 6 && p.bytes == 8);
    for (int k = 0; k < 3; k++) {
        assert_true(tess_load(TESS_PRECISION_E4M3, r.record + 16, k) * resident_scale(r.record + 16, &p, h) ==
                    a.val[k]);
    }
    free_tiles_records(&r);
    oracle_free(&a);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
    tess_context_destroy(ctx);
}

/* 256 entries; rows of every length; one entry in the last place. */
static void tiles_of_every_filling_hold(void **state)
{
    static const char *const levels[] = {"fp64", "fp64,fp32", "fp64,fp16", "fp64,e4m3", "fp64,e5m2", "fp64,bf16"};
    const int full[16] = {16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16};
    const int every[16] = {1, 0, 2, 3, 16, 5, 0, 7, 8, 9, 10, 11, 12, 13, 14, 15}, last[16] = {[15] = 1};
    const int *const lengths[] = {full, every, last};
    tess_context *ctx = open_device(1);

    (void)state;
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            tess_storage_options options = resident_lossless(levels[l]);
            oracle_csr a = make_block(16, 16, lengths[k]);

            for (int64_t e = 0; e < a.nnz; e++) {
                a.val[e] = (double)(e % 4) + 0.5;
            }
            check_tiles(ctx, &a, &options);
            oracle_free(&a);
        }
    }
    tess_context_destroy(ctx);
}

/* ---- what is stored, and products ---- */

static void every_size_holds_its_levels(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    check_shapes_of_tiles(ctx, resident);
    tess_context_destroy(ctx);
}

static void scales_and_three_levels_hold(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    check_scales_of_tiles(ctx, resident);
    tess_context_destroy(ctx);
}

static void new_values_keep_their_levels(void **state)
{
    tess_context *ctx = open_device(1);

    (void)state;
    check_new_values_of_tiles(ctx, resident);
    tess_context_destroy(ctx);
}

/* A block row of hundreds of tiles that no stage has space for, empty rows and block rows, a last column far out. */
static void long_and_empty_block_rows_of_tiles_hold(void **state)
{
    const tess_storage_options options = resident_of(0.5, TESS_PRECISION_FP64, fp32);
    oracle_csr power = oracle_power_law(5000, 3), far = make_far_matrix();
    tess_context *ctx = open_device(2);

    (void)state;
    check_tiles(ctx, &power, &options);
    check_tiles(ctx, &far, &options);
    oracle_free(&power);
    oracle_free(&far);
    tess_context_destroy(ctx);
}

/* Four lossless levels; sizes that are no multiple of 16 keep their last rows. */
static void lossless_levels_keep_every_bit(void **state)
{
    const tess_storage_options options = resident_lossless("fp64,fp32,fp16,e4m3");
    tess_context *ctx = open_device(2);
    const char *const problems[] = {"laplace2d 47 51", "elasticity3d 5", "laplace3d 11 12 13"};

    (void)state;
    for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
        oracle_csr a = generate_problem(problems[k], 1), held;
        tess_matrix *assembled = make_matrix(ctx, &a), *stored = convert_tiles(assembled, &options);

        assert_true(a.nrows % 16 != 0);
        held = decode_matrix(stored);
        assert_int_equal(held.nnz, a.nnz);
        assert_memory_equal(held.col_ind, a.col_ind, (size_t)a.nnz * sizeof *a.col_ind);
        assert_memory_equal(held.val, a.val, (size_t)a.nnz * sizeof *a.val);
        check_product(stored, &held, TESS_OP_NONE, 1.0, 0.0);
        assert_true(tess_matrix_is_exact(stored));
        oracle_free(&held);
        oracle_free(&a);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(assembled);
    }
    tess_context_destroy(ctx);
}

static void what_cannot_be_is_refused(void **state)
{
    const int length[16] = {1, 1, 1};
    tess_storage_options options = resident_of(0.5, TESS_PRECISION_FP64, fp32);
    oracle_csr a = make_block(16, 16, length);
    tess_context *ctx = open_device(1);
    tess_matrix *assembled = make_matrix(ctx, &a), *stored = NULL;
    tess_layout layout = TESS_LAYOUT_GROUPED;
    tess_papers_storage papers = papers_resident;

    (void)state;
    for (size_t s = 1; s < TILES_SHAPES; s++) {
        options.policy.block_rows = tiles_shapes[s][0];
        options.policy.block_cols = tiles_shapes[s][1];
        assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(assembled, &options, &stored));
    }
    options = resident_of(0.5, TESS_PRECISION_FP64, fp32);
    options.papers = papers_tiles(TESS_KERNEL_PAPER, TESS_LAYOUT_RESIDENT);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(assembled, &options, &stored));
    papers.layout = (tess_layout)5;
    options.papers = &papers;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(assembled, &options, &stored));
    options = (tess_storage_options){
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_CSR, .papers = &papers_resident};
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(assembled, &options, &stored));
    assert_non_null(strstr(tess_context_last_error(ctx)->hint, "tiles"));
    assert_null(stored);
    assert_int_equal(tess_matrix_layout(assembled), TESS_LAYOUT_GROUPED);
    assert_int_equal(tess_layout_parse("resident", &layout), TESS_SUCCESS);
    assert_int_equal(layout, TESS_LAYOUT_RESIDENT);
    assert_int_equal(tess_layout_parse("residents", &layout), TESS_INVALID_ARGUMENT);
    assert_string_equal(tess_layout_name(TESS_LAYOUT_GROUPED), "grouped");
    tess_matrix_destroy(assembled);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* What stands here, for a GPU too. */
#define RESIDENT_TESTS                                                                                               \
    cmocka_unit_test(records_are_laid_out_as_documented), cmocka_unit_test(scales_are_laid_out_as_documented),       \
        cmocka_unit_test(tiles_of_every_filling_hold), cmocka_unit_test(every_size_holds_its_levels),                \
        cmocka_unit_test(scales_and_three_levels_hold), cmocka_unit_test(new_values_keep_their_levels),              \
        cmocka_unit_test(long_and_empty_block_rows_of_tiles_hold), cmocka_unit_test(lossless_levels_keep_every_bit), \
        cmocka_unit_test(what_cannot_be_is_refused)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        RESIDENT_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
