/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles: the records of block rows, their contents, products by block rows. The conformance suite has the rest. */
#include "support/product.h"
#include "support/test.h"
#include "support/tiles.h"
#include "support/variants.h"

#include "format/tiles/tiles_host.h"
#include "format/tiles/tiles_record.h"
#include "matrix/matrix.h"
#include <tessera/codec.h>

static const tess_precision_level fp32 = {TESS_PRECISION_FP32, 0};

/* ---- a record, byte by byte ---- */

static const void *at(const tiles_records *r, int64_t block_row, uint32_t offset)
{
    return r->record + (int64_t)r->start[block_row] * TILES_UNIT + offset;
}

/* One group as it must be; `length` by row, `index` and `value` by entry. */
typedef struct expected_group {
    uint32_t header, offset;
    int nslots, entries;
    int16_t slot[2];
    uint8_t length[16], index[4];
    double value[4];
    tess_precision precision;
} expected_group;

static uint32_t check_group(const tiles_records *r, int64_t block_row, int place, const expected_group *e)
{
    const tiles_group g = tiles_group_at(e->header, e->offset, 16, (int)tess_precision_bytes(e->precision));

    assert_int_equal(((const uint32_t *)at(r, block_row, 0))[1 + place], e->header);
    assert_memory_equal(at(r, block_row, g.slots), e->slot, (size_t)e->nslots * sizeof *e->slot);
    for (int i = 0, end = 0; i < 16; i++) {
        end += e->length[i];
        assert_int_equal(((const uint8_t *)at(r, block_row, g.ends))[i], end);
    }
    assert_memory_equal(at(r, block_row, g.index), e->index, (size_t)e->entries);
    assert_int_equal(g.values % tess_precision_bytes(e->precision), 0);
    for (int k = 0; k < e->entries; k++) {
        assert_true(tess_load(e->precision, at(r, block_row, g.values), k) == e->value[k]);
    }
    return g.end;
}

static void records_are_laid_out_as_documented(void **state)
{
    const tess_storage_options options = tiles_of(16, 16, 4.0, TESS_PRECISION_FP64, fp32);
    /* low first: two slots, one and two entries; rows 0 and 2 */
    const expected_group low = {tiles_header(3, 2, false, false),
                                12,
                                2,
                                3,
                                {1, 2},
                                {[0] = 2, [2] = 1},
                                {0x00, 0x17, 0x10},
                                {0.5, 0.25, 0.125},
                                TESS_PRECISION_FP32};
    expected_group high = {tiles_header(3, 1, false, false),
                           0,
                           1,
                           3,
                           {0},
                           {[0] = 2, [5] = 1},
                           {0x00, 0x03, 0x01},
                           {100.0, 2.0, 3.0},
                           TESS_PRECISION_FP64};
    const expected_group last = {
        tiles_header(1, 1, false, false), 12, 1, 1, {0}, {[3] = 1}, {0x01}, {7.0}, TESS_PRECISION_FP64};
    tess_context *ctx = open_device(1);
    tess_matrix *assembled = make_small_tiled(ctx), *stored = convert_tiles(assembled, &options);
    tiles_records r = read_tiles_records(stored);

    (void)state;
    assert_int_equal(r.nblock_rows, 2);
    assert_int_equal(*(const uint32_t *)at(&r, 0, 0), 1);
    /* 12 of heads, 4 of slots, 16 of rows' ends, 3 of index, 1 of padding, 12 of values: 48 */
    high.offset = check_group(&r, 0, 0, &low);
    assert_int_equal(high.offset, 48);
    /* 2 of slots, 16 of rows' ends, 3 of index, 3 of padding, 24 of values: 96 */
    assert_int_equal(check_group(&r, 0, 1, &high), 96);
    assert_int_equal(r.start[1], 6);
    assert_int_equal(((const uint32_t *)at(&r, 1, 0))[1], 0); /* 7 is outside: nothing is low */
    assert_int_equal(check_group(&r, 1, 1, &last), 40);
    assert_int_equal(r.start[2], 9);
    assert_int_equal(tess_matrix_bytes(stored), 9 * 16 + 3 * 4);
    free_tiles_records(&r);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
    tess_context_destroy(ctx);
}

/* ---- what is stored, and products ---- */

static void every_shape_holds_its_levels(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    check_shapes_of_tiles(ctx, (tiles_kind){.kernel = TESS_KERNEL_DEFAULT});
    tess_context_destroy(ctx);
}

static void scales_and_three_levels_hold(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    check_scales_of_tiles(ctx, (tiles_kind){.kernel = TESS_KERNEL_DEFAULT});
    tess_context_destroy(ctx);
}

/* Block rows with many runs and one row of thousands of entries; far columns need wide slots. */
static void long_and_wide_block_rows_hold(void **state)
{
    const tess_storage_options options = tiles_of(16, 16, 0.5, TESS_PRECISION_FP64, fp32);
    oracle_csr power = oracle_power_law(5000, 3), far = oracle_open(20, 2000000);
    tess_context *ctx = open_device(2);

    (void)state;
    for (int64_t i = 0; i < 20; i++) {
        oracle_push(&far, i, 0.25);
        oracle_push(&far, 100000 * (i + 1) - 1, i % 2 == 0 ? 3.0 : 0.125);
        oracle_end_row(&far, i);
    }
    check_tiles(ctx, &power, &options);
    check_tiles(ctx, &far, &options);
    oracle_free(&power);
    oracle_free(&far);
    tess_context_destroy(ctx);
}

/* Narrow slots reach 32,767 block columns to the right of the diagonal and 32,768 to the left, and no farther. */
static void slots_are_narrow_as_far_as_16_bits_reach(void **state)
{
    const tess_storage_options options = tiles_of(16, 16, 4.0, TESS_PRECISION_FP64, fp32);
    tess_context *ctx = open_device(1);

    (void)state;
    assert_true(tiles_fits_narrow(100 + 32767, 100) && tiles_fits_narrow(0, 32768));
    assert_false(tiles_fits_narrow(100 + 32768, 100) || tiles_fits_narrow(0, 32769));
    assert_false(tiles_fits_narrow(INT32_MAX, 0) || tiles_fits_narrow(0, INT32_MAX));
    for (int64_t column = 32767; column <= 32768; column++) {
        oracle_csr a = oracle_open(1, 16 * 32769);
        tess_matrix *assembled, *stored;
        tiles_records r;

        oracle_push(&a, 16 * column, 0.5);
        oracle_end_row(&a, 0);
        assembled = make_matrix(ctx, &a);
        stored = convert_tiles(assembled, &options);
        r = read_tiles_records(stored);
        assert_int_equal(tiles_is_wide(((const uint32_t *)at(&r, 0, 0))[1]), column > 32767);
        check_tiles(ctx, &a, &options);
        free_tiles_records(&r);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(assembled);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* ---- long block rows ---- */

/*
 * As many bytes of a mean block row as give each row two threads on a GPU. The number of block rows is such that each
 * team takes several there, except the last time. Widths: a stage for a block row; every 37th block row is too long for
 * any.
 */
enum { LONG_MEAN = 6144 };
typedef struct long_block_rows {
    int block_rows, width, wider; /* rows of every 37th block row have `wider` entries, others about `width` */
} long_block_rows;
#ifdef TESTS_ON_GPU
static const long_block_rows long_cases[] = {{3601, 72, 72}, {1301, 250, 250}, {2201, 72, 480}};
#else
static const long_block_rows long_cases[] = {{41, 72, 72}, {5, 250, 250}, {75, 72, 480}};
#endif

/* Blocks of 1, 2, 3, and every third of these and larger numbers; some rows are shorter, some empty, the last block row
 * lacks five. */
static oracle_csr make_long(const long_block_rows *c)
{
    const int64_t nrows = 16 * on_gpu_or_emulated(c->block_rows, 1 + c->block_rows / 12) - 5;
    oracle_csr a = oracle_open(nrows, nrows + 480);

    for (int64_t i = 0; i < nrows; i++) {
        const int width = i / 16 % 37 == 1 ? c->wider : c->width;
        const int64_t entries = i % 16 == 5 ? 0 : width - i % 4 - (i % 16 == 9 ? width / 2 : 0);

        for (int64_t j = i; j < i + entries; j++) {
            oracle_push(&a, j, (double)(1 + (3 * i + 7 * j) % 3 + ((i / 16 + j / 16) % 3 == 0 ? 8 : 0)));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static float *copy_of_fp32(tess_context *ctx, const double *values, int64_t n)
{
    float *host = test_allocate(n, sizeof *host);
    void *device = NULL;

    for (int64_t i = 0; i < n; i++) {
        host[i] = (float)values[i];
    }
    assert_ok(ctx, tess_device_allocate(ctx, n, sizeof *host, &device));
    assert_ok(ctx, ctx->backend->upload(ctx, device, host, (size_t)n * sizeof *host));
    free(host);
    return device;
}

static void long_product_in_fp32_is(const tess_matrix *stored, const double *x, const double *expected)
{
    tess_context *ctx = stored->ctx;
    const int64_t nrows = tess_matrix_nrows(stored), ncols = tess_matrix_ncols(stored);
    tess_spmv_args args = {.vectors = TESS_PRECISION_FP32, .alpha = 1.0};
    float *vx = copy_of_fp32(ctx, x, ncols), *out = test_allocate(nrows, sizeof *out);
    int64_t wrong = 0;

    args.x_fp32 = vx;
    args.y_fp32 = copy_of_fp32(ctx, expected, nrows);
    assert_ok(ctx, ctx->backend->zero(ctx, args.y_fp32, (size_t)nrows * sizeof(float)));
    assert_ok(ctx, stored->ops->spmv(stored, &args));
    assert_ok(ctx, ctx->backend->download(ctx, out, args.y_fp32, (size_t)nrows * sizeof *out));
    for (int64_t i = 0; i < nrows; i++) {
        wrong += (double)out[i] != expected[i];
    }
    assert_int_equal(wrong, 0);
    tess_device_release(ctx, vx, ncols, sizeof(float));
    tess_device_release(ctx, args.y_fp32, nrows, sizeof(float));
    free(out);
}

/* y := 0.5 A x + y with so many dot products; all is exact. */
static void long_product_and_dots_are(const tess_matrix *stored, const double *x, const double *product, int ndots)
{
    tess_context *ctx = stored->ctx;
    const int64_t nrows = tess_matrix_nrows(stored);
    double *y = test_allocate(nrows, sizeof *y), *with = test_allocate(nrows, sizeof *with), dots[2] = {0.0, 0.0};
    tess_vector *vx = make_vector(ctx, tess_matrix_ncols(stored), x), *vy = NULL, *vwith = NULL;
    tess_spmv_args args = {.x = vx->data, .alpha = 0.5, .beta = 1.0};
    tess_loop_state state;
    int64_t wrong = 0;

    for (int64_t i = 0; i < nrows; i++) {
        y[i] = (double)(i % 10);
        with[i] = (double)(i % 7 - 3);
    }
    vy = make_vector(ctx, nrows, y);
    vwith = make_vector(ctx, nrows, with);
    args.y = vy->data;
    args.reduction = (tess_reduction){.ndots = ndots, .with = {vy->data, vwith->data}, .state = ctx->scratch_state};
    assert_ok(ctx, stored->ops->spmv(stored, &args));
    for (int64_t i = 0; i < nrows; i++) {
        y[i] += 0.5 * product[i];
        dots[0] += y[i] * y[i];
        dots[1] += y[i] * with[i];
    }
    read_vector(vy, with);
    for (int64_t i = 0; i < nrows; i++) {
        wrong += with[i] != y[i];
    }
    assert_int_equal(wrong, 0);
    assert_ok(ctx, ctx->backend->download(ctx, &state, ctx->scratch_state, sizeof state));
    for (int k = 0; k < ndots; k++) {
        assert_true(state.dots[k] == dots[k]);
    }
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    tess_vector_destroy(vwith);
    free(y);
    free(with);
}

/* The same bits again. */
static void long_product_repeats(const tess_matrix *stored)
{
    const int64_t nrows = tess_matrix_nrows(stored);
    double *x = random_values(tess_matrix_ncols(stored), 17, -1.0, 1.0), *y = test_allocate(nrows, sizeof *y);
    double *first = test_allocate(nrows, sizeof *first), *again = test_allocate(nrows, sizeof *again);

    multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, first);
    for (int k = 0; k < 3; k++) {
        multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, again);
        assert_true(same_bits(first, again, nrows));
    }
    free(x);
    free(y);
    free(first);
    free(again);
}

/* One of the cases: small integers, whose products are exact in any order. */
typedef struct long_fixture {
    tess_context *ctx;
    int64_t nrows;
    tess_matrix *assembled, *stored;
    double *x, *product;
} long_fixture;

static long_fixture open_long(tess_context *ctx, const long_block_rows *c)
{
    const tess_storage_options options = tiles_of(16, 16, 4.0, TESS_PRECISION_FP64, fp32);
    oracle_csr a = make_long(c);
    tess_matrix *assembled = make_matrix(ctx, &a);
    long_fixture f = {
        .ctx = ctx, .nrows = a.nrows, .assembled = assembled, .stored = convert_tiles(assembled, &options)};
    const tiles_view *v = &((const tiles_storage *)f.stored->storage)->view;

    assert_true(v->units * TILES_UNIT >= LONG_MEAN * v->nblock_rows);
    assert_ok(ctx, f.stored->ops->prepare(f.stored));
    f.x = test_allocate(a.ncols, sizeof *f.x);
    f.product = test_allocate(a.nrows, sizeof *f.product);
    for (int64_t j = 0; j < a.ncols; j++) {
        f.x[j] = (double)(j * 5 % 17 - 8);
    }
    for (int64_t i = 0; i < a.nrows; i++) {
        f.product[i] = 0.0;
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            f.product[i] += a.val[k] * f.x[a.col_ind[k]];
        }
    }
    oracle_free(&a);
    return f;
}

static void close_long(long_fixture *f)
{
    free(f->x);
    free(f->product);
    tess_matrix_destroy(f->stored);
    tess_matrix_destroy(f->assembled);
}

/* y := A x, where y is stored and nothing else. */
static void long_product_is(const long_fixture *f)
{
    double *y = test_allocate(f->nrows, sizeof *y);
    int64_t wrong = 0;

    multiply(f->stored, TESS_OP_NONE, 1.0, f->x, 0.0, f->product, y);
    for (int64_t i = 0; i < f->nrows; i++) {
        wrong += y[i] != f->product[i];
    }
    assert_int_equal(wrong, 0);
    free(y);
}

static void long_block_rows_are_multiplied_exactly(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    for (size_t c = 0; c < sizeof long_cases / sizeof *long_cases; c++) {
        long_fixture f = open_long(ctx, &long_cases[c]);

        long_product_is(&f);
        long_product_in_fp32_is(f.stored, f.x, f.product);
        for (int ndots = 0; ndots <= 2; ndots++) {
            long_product_and_dots_are(f.stored, f.x, f.product, ndots);
        }
        long_product_repeats(f.stored);
        close_long(&f);
    }
    tess_context_destroy(ctx);
}

static void new_values_keep_their_levels(void **state)
{
    tess_context *ctx = open_device(1);

    (void)state;
    check_new_values_of_tiles(ctx, (tiles_kind){.kernel = TESS_KERNEL_DEFAULT});
    tess_context_destroy(ctx);
}

/* A column that no entry of a row is in may hold anything. */
static void what_is_not_read_does_not_count(void **state)
{
    const tess_storage_options options = tiles_of(16, 16, 4.0, TESS_PRECISION_FP64, fp32);
    tess_context *ctx = open_device(1);
    tess_matrix *assembled = make_small_tiled(ctx), *stored = convert_tiles(assembled, &options);
    double x[40], y[20], zero[20] = {0.0};

    (void)state;
    for (int j = 0; j < 40; j++) {
        x[j] = NAN;
    }
    x[0] = x[1] = x[3] = x[16] = x[32] = x[39] = 1.0;
    multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, zero, y);
    assert_true(y[0] == 102.75 && y[2] == 0.125 && y[5] == 3.0 && y[7] == 0.0 && isnan(y[19]));
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
    tess_context_destroy(ctx);
}

static void what_cannot_be_is_refused(void **state)
{
    tess_storage_options options = tiles_of(16, 16, 0.5, TESS_PRECISION_FP64, fp32);
    tess_context *ctx = open_device(1);
    tess_matrix *assembled = make_small_tiled(ctx), *stored = NULL;

    (void)state;
    options.policy.granularity = TESS_GRANULARITY_ENTRY;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(assembled, &options, &stored));
    options = tiles_of(16, 16, 0.5, TESS_PRECISION_FP64, fp32);
    options.arithmetic = TESS_ARITHMETIC_FP32;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(assembled, &options, &stored));
    options = tiles_of(16, 24, 0.5, TESS_PRECISION_FP64, fp32);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(assembled, &options, &stored));
    assert_null(stored);
    tess_matrix_destroy(assembled);
    tess_context_destroy(ctx);
}

#ifndef TESTS_ON_GPU
/* The last block row is cut off: what is beyond it is neither read nor written. */
static void rows_beyond_the_last_have_no_cursor(void **state)
{
    enum { SIDE = 16, ROWS = SIDE + 5 };
    int64_t row_ptr[2 * SIDE + 1], cursor[SIDE];
    const csr_view csr = {.nrows = ROWS, .row_ptr = row_ptr, .row_ptr_bits = 64};

    (void)state;
    for (int i = 0; i <= 2 * SIDE; i++) {
        row_ptr[i] = 3 * i;
    }
    for (int r = 0; r < SIDE; r++) {
        cursor[r] = -1;
    }
    tiles_host_open_block_row(&csr, 1, SIDE, cursor);
    for (int r = 0; r < SIDE; r++) {
        assert_int_equal(cursor[r], SIDE + r < ROWS ? 3 * (SIDE + r) : -1);
    }
}
#endif

/* The tests of this file, also for a GPU. */
#define TILES_TESTS                                                                                               \
    cmocka_unit_test(records_are_laid_out_as_documented), cmocka_unit_test(every_shape_holds_its_levels),         \
        cmocka_unit_test(scales_and_three_levels_hold), cmocka_unit_test(long_and_wide_block_rows_hold),          \
        cmocka_unit_test(slots_are_narrow_as_far_as_16_bits_reach),                                               \
        cmocka_unit_test(long_block_rows_are_multiplied_exactly), cmocka_unit_test(new_values_keep_their_levels), \
        cmocka_unit_test(what_is_not_read_does_not_count), cmocka_unit_test(what_cannot_be_is_refused)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        TILES_TESTS,
        cmocka_unit_test(rows_beyond_the_last_have_no_cursor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
