/* SPDX-License-Identifier: Apache-2.0 */
#include "support/tiles.h"
#include "support/papers.h"

#include "format/tiles/tiles.h"
#include "matrix/matrix.h"
#include "support/gallery.h"
#include "support/product.h"
#include "support/variants.h"
#include <tessera/codec.h>

static const tess_precision_level fp32 = {TESS_PRECISION_FP32, 0};

const int tiles_shapes[TILES_SHAPES][2] = {{16, 16}, {16, 32}, {32, 16}, {32, 32}};

tess_storage_options tiles_of(int block_rows, int block_cols, double range, tess_precision high,
                              tess_precision_level low)
{
    return (tess_storage_options){.size = sizeof(tess_storage_options),
                                  .format = TESS_FORMAT_TILES,
                                  .policy = {.granularity = TESS_GRANULARITY_BLOCK,
                                             .policy = TESS_POLICY_FIXED_RANGE,
                                             .parameter = range,
                                             .nlevels = 2,
                                             .level = {{high, 0}, low},
                                             .block_rows = block_rows,
                                             .block_cols = block_cols}};
}

tess_storage_options resident_lossless(const char *levels)
{
    tess_storage_options options = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_TILES, .papers = &papers_resident};

    assert_int_equal(tess_policy_options_parse("lossless", &options.policy), TESS_SUCCESS);
    assert_int_equal(tess_precision_levels_parse(levels, &options.policy), TESS_SUCCESS);
    options.policy.granularity = TESS_GRANULARITY_BLOCK;
    return options;
}

tess_matrix *convert_tiles(const tess_matrix *assembled, const tess_storage_options *options)
{
    tess_matrix *stored = NULL;

    assert_ok(tess_matrix_context(assembled), tess_matrix_convert(assembled, options, &stored));
    return stored;
}

void *read_tiles(const tess_matrix *stored, const void *from, int64_t count, size_t size)
{
    void *to = test_allocate(count + 1, size);

    assert_ok(stored->ctx, stored->ctx->backend->download(stored->ctx, to, from, (size_t)count * size));
    return to;
}

tiles_records read_tiles_records(const tess_matrix *stored)
{
    const tiles_view *v = &((const tiles_storage *)stored->storage)->view;

    return (tiles_records){.nblock_rows = v->nblock_rows,
                           .units = v->units,
                           .start = read_tiles(stored, v->start, v->nblock_rows + 1, sizeof *v->start),
                           .record = read_tiles(stored, v->record, v->units, TILES_UNIT)};
}

void free_tiles_records(tiles_records *r)
{
    free(r->start);
    free(r->record);
}

tess_matrix *make_small_tiled(tess_context *ctx)
{
    oracle_csr a = oracle_open(20, 40);
    tess_matrix *m = NULL;

    for (int64_t i = 0; i < 20; i++) {
        if (i == 0) {
            oracle_push(&a, 0, 100.0);
            oracle_push(&a, 3, 2.0);
            oracle_push(&a, 16, 0.5);
            oracle_push(&a, 39, 0.25);
        }
        if (i == 2) { oracle_push(&a, 32, 0.125); }
        if (i == 5) { oracle_push(&a, 1, 3.0); }
        if (i == 19) { oracle_push(&a, 17, 7.0); }
        oracle_end_row(&a, i);
    }
    m = make_matrix(ctx, &a);
    oracle_free(&a);
    return m;
}

oracle_csr make_far_matrix(void)
{
    oracle_csr far = oracle_open(200, 2000000);

    for (int64_t i = 0; i < 200; i++) {
        for (int64_t j = 0; i == 77 && j < 20000; j++) {
            oracle_push(&far, 100 * j, j % 3 == 0 ? 3.0 : 0.125);
        }
        if (i % 50 == 3) { oracle_push(&far, 1999999 - i, 0.25); }
        oracle_end_row(&far, i);
    }
    return far;
}

void make_tiles_matrices(oracle_csr matrices[TILES_MATRICES])
{
    matrices[0] = oracle_random(300, 200, 2, 1);
    matrices[1] = oracle_random(333, 100, 20, 2);
    matrices[2] = oracle_random(100, 90, 85, 3);
    matrices[3] = oracle_power_law(5000, 4);
    matrices[4] = oracle_open(0, 0);
    matrices[5] = generate_problem("elasticity3d 25", 2);
}

oracle_csr make_block(int rows, int cols, const int *length)
{
    oracle_csr a = oracle_open(rows, cols);

    for (int r = 0; r < rows; r++) {
        const int first = r + length[r] <= cols ? r : cols - length[r];

        for (int k = 0; k < length[r]; k++) {
            oracle_push(&a, first + k, (double)(a.nnz + 1));
        }
        oracle_end_row(&a, r);
    }
    return a;
}

oracle_csr make_alternating_block(int rows, int cols, int even, int odd)
{
    int length[TILES_SIDE];

    for (int r = 0; r < rows; r++) {
        length[r] = r % 2 == 0 ? even : odd;
    }
    return make_block(rows, cols, length);
}

static double rounded(tess_precision precision, double value)
{
    double code = 0.0;

    tess_store(precision, &code, 0, value, TESS_OVERFLOW_INFINITY);
    return tess_load(precision, &code, 0);
}

void check_tiles(tess_context *ctx, const oracle_csr *a, const tess_storage_options *options)
{
    tess_matrix *assembled = make_matrix(ctx, a), *stored = convert_tiles(assembled, options);
    uint8_t *level = levels_of_entries(assembled, a, &options->policy);
    oracle_csr held = decode_matrix(stored);

    assert_int_equal(held.nnz, a->nnz);
    assert_memory_equal(held.row_ptr, a->row_ptr, (size_t)(a->nrows + 1) * sizeof *a->row_ptr);
    for (int64_t k = 0; k < a->nnz; k++) {
        const tess_precision_level *l = &options->policy.level[level[k]];
        const double u = tess_precision_unit_roundoff(l->precision);

        assert_int_equal(held.col_ind[k], a->col_ind[k]);
        if (l->scaled) {
            assert_at_most(fabs(held.val[k] - a->val[k]), u * fabs(a->val[k]));
        } else {
            assert_true(held.val[k] == rounded(l->precision, a->val[k]));
        }
    }
    check_product(stored, &held, TESS_OP_NONE, 1.0, 0.0);
    check_product(stored, &held, TESS_OP_NONE, -0.75, 0.5);
    oracle_free(&held);
    free(level);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
}

/* These options for tiles of a kind, with blocks that it takes. */
static tess_storage_options of_kind(tess_storage_options options, tiles_kind kind)
{
    options.papers = papers_tiles(kind.kernel, kind.layout);
    if (kind.layout == TESS_LAYOUT_RESIDENT) { options.policy.block_rows = options.policy.block_cols = 16; }
    return options;
}

void check_shapes_of_tiles(tess_context *ctx, tiles_kind kind)
{
    static const int64_t sizes[][2] = {{1, 1}, {16, 16}, {17, 33}, {100, 1000}, {1000, 100}, {257, 257}};

    for (size_t s = 0; s < (kind.layout == TESS_LAYOUT_RESIDENT ? 1 : TILES_SHAPES); s++) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            for (int64_t dense = 1; dense <= 64; dense *= 8) {
                const tess_storage_options options =
                    of_kind(tiles_of(tiles_shapes[s][0], tiles_shapes[s][1], dense == 1 ? 0.5 : 0.99,
                                     TESS_PRECISION_FP64, fp32),
                            kind);
                oracle_csr a = oracle_random(sizes[k][0], sizes[k][1], dense, 7 * k + s);

                check_tiles(ctx, &a, &options);
                oracle_free(&a);
            }
        }
    }
}

void check_scales_of_tiles(tess_context *ctx, tiles_kind kind)
{
    static const tess_precision_level fp16_scaled = {TESS_PRECISION_FP16, 1};
    static const tess_precision lowest[] = {TESS_PRECISION_E5M2, TESS_PRECISION_E4M3, TESS_PRECISION_BF16};
    const tess_storage_options two = of_kind(tiles_of(16, 16, 1e30, TESS_PRECISION_FP64, fp16_scaled), kind);
    tess_storage_options three = of_kind(tiles_of(16, 32, 2.0, TESS_PRECISION_FP64, fp32), kind);
    oracle_csr a = oracle_random(300, 500, 6, 5), b = oracle_random(300, 500, 6, 6);
    uint64_t seed = 99;

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] = (a.val[k] < 0.0 ? -1.0 : 1.0) * oracle_uniform(&seed, 1.0, 100.0);
            a.val[k] = ldexp(a.val[k], (int)(i / 16 * 9 + a.col_ind[k] / 16) % 120 - 60);
        }
    }
    check_tiles(ctx, &a, &two);
    three.policy.nlevels = 3;
    for (int64_t k = 0; k < b.nnz; k++) {
        b.val[k] = ldexp(1.0 + b.val[k] * b.val[k], -(int)(b.col_ind[k] / 32 * 3));
    }
    for (size_t l = 0; l < sizeof lowest / sizeof *lowest; l++) {
        three.policy.level[2] = (tess_precision_level){lowest[l], 1};
        check_tiles(ctx, &b, &three);
    }
    oracle_free(&a);
    oracle_free(&b);
}

void check_new_values_of_tiles(tess_context *ctx, tiles_kind kind)
{
    const tess_storage_options options = of_kind(tiles_of(32, 16, 0.5, TESS_PRECISION_FP64, fp32), kind);
    oracle_csr a = oracle_random(200, 200, 25, 8), held;
    tess_matrix *assembled = NULL, *stored = NULL;
    uint8_t *level = NULL;

    for (int64_t k = 0; k < a.nnz; k++) { /* some blocks low, some high */
        a.val[k] *= a.col_ind[k] < 96 ? 0.4 : 1.0;
    }
    assembled = make_matrix(ctx, &a);
    stored = convert_tiles(assembled, &options);
    level = levels_of_entries(assembled, &a, &options.policy);
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = 3.0 * a.val[k] + 1.0 / 3.0;
    }
    assert_ok(ctx, tess_matrix_update_values(assembled, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_matrix_refresh(stored)); /* as the next product does */
    held = decode_matrix(stored);
    for (int64_t k = 0; k < a.nnz; k++) {
        assert_int_equal(held.col_ind[k], a.col_ind[k]);
        assert_true(held.val[k] == (level[k] == 0 ? a.val[k] : (double)(float)a.val[k]));
    }
    check_product(stored, &held, TESS_OP_NONE, 1.0, 0.0);
    oracle_free(&held);
    oracle_free(&a);
    free(level);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
}
