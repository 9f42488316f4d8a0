/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles with kernel paper: which block has which format, the bytes of each, products. The conformance suite has the
 * rest. */
#include "support/gallery.h"
#include "support/papers.h"
#include "support/product.h"
#include "support/test.h"
#include "support/tiles.h"
#include "support/variants.h"

#include "matrix/matrix.h"
#include "papers/tiles/tcki_record.h"

static const tess_precision_level fp32 = {TESS_PRECISION_FP32, 0};

/* All blocks in one precision. */
static tess_storage_options paper_of(int block_rows, int block_cols, tess_precision precision)
{
    return (tess_storage_options){.size = sizeof(tess_storage_options),
                                  .format = TESS_FORMAT_TILES,
                                  .papers = &papers_kernel,
                                  .policy = {.granularity = TESS_GRANULARITY_BLOCK,
                                             .policy = TESS_POLICY_NONE,
                                             .nlevels = 1,
                                             .level = {{precision, 0}},
                                             .block_rows = block_rows,
                                             .block_cols = block_cols}};
}

/* What is stored, on the host. */
typedef struct blocks {
    int64_t nblocks, units;
    int32_t *row;
    uint32_t *shape, *start;
    char *record;
} blocks;

static blocks read_blocks(const tess_matrix *stored)
{
    const tcki_view *v = &tcki_of(stored)->view;

    return (blocks){.nblocks = v->nblocks,
                    .units = v->units,
                    .row = read_tiles(stored, v->row, v->nblocks, sizeof *v->row),
                    .shape = read_tiles(stored, v->shape, v->nblocks, sizeof *v->shape),
                    .start = read_tiles(stored, v->start, v->nblocks + 1, sizeof *v->start),
                    .record = read_tiles(stored, v->record, v->units, TCKI_UNIT)};
}

static void free_blocks(blocks *b)
{
    free(b->row);
    free(b->shape);
    free(b->start);
    free(b->record);
}

/* ---- which format ---- */

/* The matrix has one block: which format, its width and what is not in its ELL part; and all that it stores holds. */
static void check_choice(tess_context *ctx, const oracle_csr *a, const tess_storage_options *options, int format,
                         int width, int rest)
{
    tess_matrix *assembled = make_matrix(ctx, a), *stored = convert_tiles(assembled, options);
    blocks b = read_blocks(stored);
    int64_t counts[TESS_TCKI_FORMATS];

    assert_int_equal(b.nblocks, 1);
    assert_int_equal(tcki_format(b.shape[0]), format);
    assert_int_equal(tcki_entries(b.shape[0]), a->nnz);
    assert_int_equal(tcki_width(b.shape[0]), width);
    assert_int_equal(tcki_rest(b.shape[0]), rest);
    assert_ok(ctx, tess_matrix_tcki_counts(stored, counts));
    for (int f = 0; f < TESS_TCKI_FORMATS; f++) {
        assert_int_equal(counts[f], f == format);
    }
    free_blocks(&b);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
    check_tiles(ctx, a, options);
}

static void bounds_go_where_the_paper_says(void **state)
{
    tess_storage_options o = paper_of(16, 16, TESS_PRECISION_FP64), wide = paper_of(16, 32, TESS_PRECISION_FP64);
    const int four[16] = {2, 1, 1}, three[16] = {1, 1, 1};
    oracle_csr half = make_alternating_block(16, 16, 1, 3), fifth = make_alternating_block(16, 16, 4, 6);
    oracle_csr nine = make_alternating_block(16, 32, 1, 19), full = make_alternating_block(16, 16, 2, 2);
    oracle_csr few = make_block(16, 16, three), more = make_block(16, 16, four);
    tess_context *ctx = open_device(1);
    tess_papers_storage papers = papers_kernel;

    (void)state;
    o.papers = &papers;
    /* the paper's: CV = 0.2 and CV = 0.9 are CSR */
    check_choice(ctx, &fifth, &o, TESS_TCKI_CSR, 0, 80);
    check_choice(ctx, &nine, &wide, TESS_TCKI_CSR, 0, 160);
    check_choice(ctx, &full, &o, TESS_TCKI_ELL, 2, 0);
    /* CV = 0.5 */
    papers.tcki_thresholds = (tess_tcki_thresholds){.low = 0.5};
    check_choice(ctx, &half, &o, TESS_TCKI_CSR, 0, 32);
    papers.tcki_thresholds = (tess_tcki_thresholds){.low = nextafter(0.5, 1.0)};
    check_choice(ctx, &half, &o, TESS_TCKI_ELL, 3, 0);
    papers.tcki_thresholds = (tess_tcki_thresholds){.high = 0.5};
    check_choice(ctx, &half, &o, TESS_TCKI_CSR, 0, 32);
    papers.tcki_thresholds = (tess_tcki_thresholds){.high = nextafter(0.5, 0.0)};
    check_choice(ctx, &half, &o, TESS_TCKI_HYB, 3, 0);
    /* the default density, 0.02, is 5.12 entries of 256; 1/64 is 4 */
    papers.tcki_thresholds = (tess_tcki_thresholds){0.0, 0.0, 0.0};
    check_choice(ctx, &more, &o, TESS_TCKI_COO, 0, 4);
    papers.tcki_thresholds = (tess_tcki_thresholds){.density = 0x1p-6};
    check_choice(ctx, &few, &o, TESS_TCKI_COO, 0, 3);
    check_choice(ctx, &more, &o, TESS_TCKI_HYB, 0, 4);
    oracle_free(&half);
    oracle_free(&fifth);
    oracle_free(&nine);
    oracle_free(&full);
    oracle_free(&few);
    oracle_free(&more);
    tess_context_destroy(ctx);
}

/* A length is common among the rows if a third of them have it: of blocks of 18 rows 6 are enough, of 16 and 32 it
   takes 6 and 11. */
static void a_third_of_the_rows_is_enough(void **state)
{
    (void)state;
    for (int rows = 1; rows <= TILES_SIDE; rows++) {
        for (int count = 0; count <= rows; count++) {
            assert_int_equal(tcki_is_common(count, rows), (wide)count / rows >= (wide)1 / 3 - 1e-6);
        }
    }
    assert_true(tcki_is_common(6, 18) && !tcki_is_common(5, 18));
    assert_true(tcki_is_common(6, 16) && !tcki_is_common(5, 16));
    assert_true(tcki_is_common(11, 32) && !tcki_is_common(10, 32));
}

/* As many entries as a block has space for, and ends of rows that need two bytes. */
static void full_blocks_hold(void **state)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_FP16};
    oracle_csr full16 = make_alternating_block(16, 16, 16, 16), full32 = make_alternating_block(32, 32, 32, 32);
    oracle_csr csr16 = make_alternating_block(16, 32, 32, 16), csr32 = make_alternating_block(32, 32, 32, 16);
    oracle_csr below = make_alternating_block(32, 16, 16, 15), hybrid, just;
    int length[32], almost[16];
    tess_context *ctx = open_device(1);

    (void)state;
    for (int r = 0; r < 32; r++) {
        length[r] = r % 3 == 0 && r < 30 ? 32 : 2;
    }
    for (int r = 0; r < 16; r++) {
        almost[r] = r < 8 ? 10 : 22; /* 256 entries, CV 0.375 */
    }
    hybrid = make_block(32, 32, length);
    just = make_block(16, 32, almost);
    for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++) {
        const tess_storage_options o16 = paper_of(16, 16, precisions[p]), o32 = paper_of(32, 32, precisions[p]);
        const tess_storage_options wide = paper_of(16, 32, precisions[p]), tall = paper_of(32, 16, precisions[p]);

        check_choice(ctx, &full16, &o16, TESS_TCKI_ELL, 16, 0);
        check_choice(ctx, &full32, &o32, TESS_TCKI_ELL, 32, 0);
        check_choice(ctx, &csr16, &wide, TESS_TCKI_CSR, 0, 384);
        check_choice(ctx, &csr32, &o32, TESS_TCKI_CSR, 0, 768);
        check_choice(ctx, &just, &wide, TESS_TCKI_CSR, 0, 256);
        check_choice(ctx, &below, &tall, TESS_TCKI_ELL, 16, 0);
        check_choice(ctx, &hybrid, &o32, TESS_TCKI_HYB, 2, 300);
    }
    oracle_free(&full16);
    oracle_free(&full32);
    oracle_free(&csr16);
    oracle_free(&csr32);
    oracle_free(&below);
    oracle_free(&hybrid);
    oracle_free(&just);
    tess_context_destroy(ctx);
}

/* The paper's equations 6 to 8, entry by entry, in the widest arithmetic. */
static int expected_format(const tess_assignment_summary *s, const int *length, int entries)
{
    const int rows = s->options.block_rows, places = rows * s->options.block_cols;
    const wide mean = (wide)entries / rows;
    wide sum = 0.0, variation;

    for (int r = 0; r < rows; r++) {
        sum += (length[r] - mean) * (length[r] - mean);
    }
    variation = wide_sqrt(sum / rows) / mean;
    if (entries < 0.02 * places) { return TESS_TCKI_COO; }
    if (wide_abs(variation - (wide)0.2) < 1e-12 || wide_abs(variation - (wide)0.9) < 1e-12) { return TESS_TCKI_CSR; }
    return variation < (wide)0.2 ? TESS_TCKI_ELL : variation > (wide)0.9 ? TESS_TCKI_HYB : TESS_TCKI_CSR;
}

static void check_counts(tess_context *ctx, const oracle_csr *a, const tess_storage_options *options)
{
    tess_matrix *assembled = make_matrix(ctx, a), *stored = convert_tiles(assembled, options);
    const tess_assignment_summary *s = &((const tiles_storage *)stored->storage)->summary;
    const int rows = s->options.block_rows, cols = s->options.block_cols;
    const int64_t block_cols = (a->ncols + cols - 1) / cols, nblock_rows = (a->nrows + rows - 1) / rows;
    int64_t expected[TESS_TCKI_FORMATS] = {0}, counts[TESS_TCKI_FORMATS], next = 0;
    int(*length)[TILES_SIDE] = test_allocate(block_cols, sizeof *length);
    blocks b = read_blocks(stored);

    for (int64_t i = 0; i < nblock_rows; i++) {
        memset(length, 0, (size_t)block_cols * sizeof *length);
        for (int64_t r = i * rows; r < (i + 1) * rows && r < a->nrows; r++) {
            for (int64_t k = a->row_ptr[r]; k < a->row_ptr[r + 1]; k++) {
                length[a->col_ind[k] / cols][r - i * rows] += 1;
            }
        }
        for (int64_t j = 0; j < block_cols; j++) {
            int entries = 0, format;

            for (int r = 0; r < rows; r++) {
                entries += length[j][r];
            }
            if (entries == 0) { continue; }
            format = expected_format(s, length[j], entries);
            expected[format] += 1;
            assert_int_equal(b.row[next], i);
            assert_int_equal(tcki_format(b.shape[next]), format);
            assert_int_equal(tcki_entries(b.shape[next]), entries);
            next++;
        }
    }
    assert_int_equal(next, b.nblocks);
    assert_ok(ctx, tess_matrix_tcki_counts(stored, counts));
    assert_memory_equal(counts, expected, sizeof counts);
    free(length);
    free_blocks(&b);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
}

/* Density and number of rows so that all four formats occur. */
static void every_block_has_the_papers_format(void **state)
{
    int64_t counts[TESS_TCKI_FORMATS], seen[TESS_TCKI_FORMATS] = {0};
    tess_context *ctx = open_device(2);

    (void)state;
    for (size_t s = 0; s < TILES_SHAPES; s++) {
        const tess_storage_options options = paper_of(tiles_shapes[s][0], tiles_shapes[s][1], TESS_PRECISION_FP64);
        oracle_csr matrices[] = {oracle_random(300, 200, 2, 1), oracle_random(333, 100, 20, 2),
                                 oracle_random(100, 90, 85, 3), oracle_power_law(1500, 4),
                                 generate_problem("elasticity3d 4", 1)};

        for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++) {
            tess_matrix *assembled = make_matrix(ctx, &matrices[k]), *stored = convert_tiles(assembled, &options);

            assert_ok(ctx, tess_matrix_tcki_counts(stored, counts));
            for (int f = 0; f < TESS_TCKI_FORMATS; f++) {
                seen[f] += counts[f];
            }
            tess_matrix_destroy(stored);
            tess_matrix_destroy(assembled);
            check_counts(ctx, &matrices[k], &options);
            oracle_free(&matrices[k]);
        }
    }
    for (int f = 0; f < TESS_TCKI_FORMATS; f++) {
        assert_true(seen[f] > 0);
    }
    tess_context_destroy(ctx);
}

/* ---- records, byte by byte ---- */

/* The first `count` bytes of the only block's record are these, and values in FP64 follow from `values` on. */
static void check_record(tess_context *ctx, const oracle_csr *a, const tess_storage_options *options,
                         const uint8_t *bytes, int count, const double *values, int nvalues)
{
    const int first = (count + 7) / 8 * 8;
    tess_matrix *assembled = make_matrix(ctx, a), *stored = convert_tiles(assembled, options);
    blocks b = read_blocks(stored);

    assert_int_equal(b.nblocks, 1);
    assert_int_equal(b.start[0], 0);
    assert_int_equal(b.start[1], b.units);
    assert_int_equal(b.units * TCKI_UNIT, first + 8 * nvalues);
    assert_memory_equal(b.record, bytes, (size_t)count);
    for (int i = count; i < first; i++) {
        assert_int_equal(b.record[i], 0);
    }
    assert_memory_equal(b.record + first, values, (size_t)nvalues * sizeof *values);
    assert_int_equal(tess_matrix_bytes(stored), 16 + 4 + b.units * TCKI_UNIT);
    free_blocks(&b);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
}

static void coo_is_laid_out_as_documented(void **state)
{
    const tess_storage_options o16 = paper_of(16, 16, TESS_PRECISION_FP64), o32 = paper_of(32, 32, TESS_PRECISION_FP64);
    const double values[] = {7.0, -0.5, 0.0};
    const uint8_t small[] = {0x03, 0x51, 0xff};
    const uint16_t large[] = {3, 5 << 5 | 17, 31 << 5 | 31};
    tess_context *ctx = open_device(1);

    (void)state;
    for (int side = 16; side <= 32; side += 16) {
        oracle_csr a = oracle_open(side, side);

        for (int r = 0; r < side; r++) {
            if (r == 0) { oracle_push(&a, 3, values[0]); }
            if (r == 5) { oracle_push(&a, side == 16 ? 1 : 17, values[1]); }
            if (r == side - 1) { oracle_push(&a, side - 1, values[2]); }
            oracle_end_row(&a, r);
        }
        check_record(ctx, &a, side == 16 ? &o16 : &o32, side == 16 ? small : (const uint8_t *)large, side == 16 ? 3 : 6,
                     values, 3);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

static void ell_is_laid_out_as_documented(void **state)
{
    const tess_storage_options options = paper_of(16, 16, TESS_PRECISION_FP64);
    int length[16];
    uint8_t bytes[16 + 48] = {0};
    double values[96] = {0.0};
    oracle_csr a;
    tess_context *ctx = open_device(1);

    (void)state;
    for (int r = 0; r < 16; r++) {
        length[r] = r == 2 ? 5 : 6; /* width 6: one place is padded, so lengths are stored */
        bytes[r] = (uint8_t)length[r];
    }
    a = make_block(16, 16, length);
    for (int r = 0; r < 16; r++) {
        for (int k = 0; k < length[r]; k++) {
            const int place = k * 16 + r;
            const int64_t e = a.row_ptr[r] + k;

            bytes[16 + place / 2] = (uint8_t)(bytes[16 + place / 2] | a.col_ind[e] << (place % 2 * 4));
            values[place] = a.val[e];
        }
    }
    assert_int_equal(bytes[16], 0x10); /* places 0 and 1: rows 0 and 1, columns 0 and 1 */
    assert_int_equal(bytes[16 + 5 * 8 + 1],
                     0x80); /* places 82 and 83: row 2 has no sixth entry, row 3's is in column 8 */
    check_record(ctx, &a, &options, bytes, sizeof bytes, values, 96);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void csr_is_laid_out_as_documented(void **state)
{
    const tess_storage_options options = paper_of(16, 16, TESS_PRECISION_FP64);
    oracle_csr a = make_alternating_block(16, 16, 1, 3);
    uint8_t bytes[16 + 16] = {0};
    tess_context *ctx = open_device(1);

    (void)state;
    for (int r = 0; r < 16; r++) {
        bytes[r] = (uint8_t)(r % 2 == 0 ? 2 * r + 1 : 2 * r + 2);
    }
    for (int e = 0; e < 32; e++) {
        bytes[16 + e / 2] = (uint8_t)(bytes[16 + e / 2] | a.col_ind[e] << (e % 2 * 4));
    }
    assert_int_equal(bytes[15], 32);
    assert_int_equal(bytes[16], 0x10);
    assert_int_equal(bytes[17], 0x32);
    check_record(ctx, &a, &options, bytes, sizeof bytes, a.val, 32);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Six of 16 rows have two entries or more, which is a third; one has more. */
static void hyb_is_laid_out_as_documented(void **state)
{
    const tess_storage_options options = paper_of(16, 16, TESS_PRECISION_FP64);
    const int length[16] = {16, 2, 2, 2, 2, 2};
    oracle_csr a = make_block(16, 16, length);
    uint8_t bytes[16 + 16 + 23] = {0};
    double values[46] = {0.0};
    tess_context *ctx = open_device(1);

    (void)state;
    for (int r = 0; r < 16; r++) {
        bytes[r] = 14;                            /* ends of the CSR part */
        bytes[16 + r] = (uint8_t)(r < 6 ? 2 : 0); /* lengths of the ELL part */
        for (int k = 0; k < length[r]; k++) {
            const int place = k < 2 ? k * 16 + r : 32 + k - 2;

            bytes[32 + place / 2] = (uint8_t)(bytes[32 + place / 2] | a.col_ind[a.row_ptr[r] + k] << (place % 2 * 4));
            values[place] = a.val[a.row_ptr[r] + k];
        }
    }
    assert_int_equal(bytes[32 + 16], 0x32); /* row 0 goes on with columns 2 and 3 */
    check_record(ctx, &a, &options, bytes, sizeof bytes, values, 46);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- what is stored, and products ---- */

static void every_shape_holds_its_levels(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    check_shapes_of_tiles(ctx, (tiles_kind){.kernel = TESS_KERNEL_PAPER});
    tess_context_destroy(ctx);
}

static void scales_and_three_levels_hold(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    check_scales_of_tiles(ctx, (tiles_kind){.kernel = TESS_KERNEL_PAPER});
    tess_context_destroy(ctx);
}

/* A block row of hundreds of blocks, empty rows and block rows, a last column far out. */
static void long_and_empty_block_rows_hold(void **state)
{
    tess_storage_options options = tiles_of(16, 16, 0.5, TESS_PRECISION_FP64, fp32);
    oracle_csr power = oracle_power_law(5000, 3), far = make_far_matrix();
    tess_context *ctx = open_device(2);

    (void)state;
    options.papers = &papers_kernel;
    check_tiles(ctx, &power, &options);
    check_tiles(ctx, &far, &options);
    oracle_free(&power);
    oracle_free(&far);
    tess_context_destroy(ctx);
}

static void new_values_keep_formats_and_levels(void **state)
{
    tess_context *ctx = open_device(1);

    (void)state;
    check_new_values_of_tiles(ctx, (tiles_kind){.kernel = TESS_KERNEL_PAPER});
    tess_context_destroy(ctx);
}

/* What pads is not multiplied: NaN and Inf stay with the rows that have an entry in their column. */
static void what_pads_does_not_count(void **state)
{
    const tess_storage_options options = paper_of(16, 16, TESS_PRECISION_FP64);
    const int hyb[16] = {16, 2, 2, 2, 2, 2};
    int ell[16];
    tess_context *ctx = open_device(1);

    (void)state;
    for (int r = 0; r < 16; r++) {
        ell[r] = r == 15 ? 13 : 16;
    }
    for (int kind = 0; kind < 2; kind++) {
        oracle_csr a = make_block(16, 16, kind == 0 ? ell : hyb);
        tess_matrix *assembled = make_matrix(ctx, &a), *stored = convert_tiles(assembled, &options);
        double x[16], y[16];

        for (int j = 0; j < 16; j++) {
            x[j] = j == 0 ? (double)NAN : 1.0;
        }
        memset(y, 0, sizeof y);
        multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
        for (int r = 0; r < 16; r++) {
            const bool has = a.row_ptr[r + 1] > a.row_ptr[r] && a.col_ind[a.row_ptr[r]] == 0;

            assert_int_equal(isnan(y[r]) != 0, has);
        }
        oracle_free(&a);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(assembled);
    }
    tess_context_destroy(ctx);
}

static void what_cannot_be_is_refused(void **state)
{
    static const tess_tcki_thresholds bad[] = {{-1.0, 0.0, 0.0},        {0.0, -0.1, 0.0}, {0.0, 0.0, -1.0},
                                               {0.0, (double)NAN, 0.0}, {0.0, 0.0, 0.1},  {0.0, 1.0, 0.0}};
    const int length[16] = {1, 1, 1};
    tess_storage_options options = paper_of(16, 16, TESS_PRECISION_FP64);
    oracle_csr a = make_block(16, 16, length);
    tess_context *ctx = open_device(1);
    tess_matrix *assembled = make_matrix(ctx, &a), *stored = NULL;
    int64_t counts[TESS_TCKI_FORMATS];
    tess_papers_storage papers = papers_kernel;

    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        papers.tcki_thresholds = bad[k];
        options.papers = &papers;
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(assembled, &options, &stored));
        assert_null(stored);
    }
    options = paper_of(16, 16, TESS_PRECISION_FP64);
    papers.kernel = (tess_kernel)7;
    options.papers = &papers;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(assembled, &options, &stored));
    for (int f = 0; f < 7; f++) {
        if (f == TESS_FORMAT_TILES || f == TESS_FORMAT_SPLIT) { continue; } /* these have one */
        options = (tess_storage_options){.size = sizeof(tess_storage_options),
                                         .format = (tess_format)f,
                                         .papers = &papers_kernel,
                                         .slices.window = 1};
        assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(assembled, &options, &stored));
        assert_null(stored);
    }
    options = paper_of(16, 16, TESS_PRECISION_FP64);
    options.papers = NULL;
    stored = convert_tiles(assembled, &options);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_tcki_counts(stored, counts));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_tcki_counts(assembled, counts));
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- a matrix of many blocks ---- */

/* Twenty products, each within the bound; on a CPU not a bit differs. 50,700 rows, 3.8 million nonzeros, three levels.
 */
static void a_large_matrix_holds(void **state)
{
    enum { TIMES = 20 };
    tess_storage_options options = tiles_of(16, 16, 1.0, TESS_PRECISION_FP64, fp32);
    oracle_csr a = generate_problem("elasticity3d 25", 2), held;
    tess_context *ctx = open_device(2);
    tess_matrix *assembled = make_matrix(ctx, &a), *stored = NULL;
    double *x = random_values(a.ncols, 12, -1.0, 1.0), *zero = random_values(a.nrows, 1, 0.0, 1.0);
    double *y = test_allocate(a.nrows, sizeof *y), *magnitude = test_allocate(a.nrows, sizeof *magnitude);
    wide *exact = test_allocate(a.nrows, sizeof *exact);
    double gamma;

    (void)state;
    assert_true(a.nrows >= 50000);
    options.papers = &papers_kernel;
    options.policy.nlevels = 3;
    options.policy.parameter = 0.02;
    options.policy.level[2] = (tess_precision_level){TESS_PRECISION_FP16, 1};
    stored = convert_tiles(assembled, &options);
    held = decode_matrix(stored);
    assert_int_equal(held.nnz, a.nnz);
    assert_memory_equal(held.col_ind, a.col_ind, (size_t)a.nnz * sizeof *a.col_ind);
    oracle_multiply(&held, false, x, exact, magnitude);
    gamma = gamma_of((double)oracle_longest_row(&held, false) + 2.0);
    for (int time = 0; time < TIMES; time++) {
        multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, zero, y);
        for (int64_t i = 0; i < a.nrows; i++) {
            assert_at_most((double)wide_abs((wide)y[i] - exact[i]), gamma * magnitude[i] * (1.0 + gamma));
        }
    }
    oracle_free(&a);
    oracle_free(&held);
    free(x);
    free(y);
    free(zero);
    free(magnitude);
    free(exact);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
    tess_context_destroy(ctx);
}

/* What stands here, for a GPU too. */
#define TCKI_TESTS                                                                                              \
    cmocka_unit_test(bounds_go_where_the_paper_says), cmocka_unit_test(a_third_of_the_rows_is_enough),          \
        cmocka_unit_test(full_blocks_hold), cmocka_unit_test(every_block_has_the_papers_format),                \
        cmocka_unit_test(coo_is_laid_out_as_documented), cmocka_unit_test(ell_is_laid_out_as_documented),       \
        cmocka_unit_test(csr_is_laid_out_as_documented), cmocka_unit_test(hyb_is_laid_out_as_documented),       \
        cmocka_unit_test(every_shape_holds_its_levels), cmocka_unit_test(scales_and_three_levels_hold),         \
        cmocka_unit_test(long_and_empty_block_rows_hold), cmocka_unit_test(new_values_keep_formats_and_levels), \
        cmocka_unit_test(what_pads_does_not_count), cmocka_unit_test(what_cannot_be_is_refused),                \
        cmocka_unit_test(a_large_matrix_holds)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        TCKI_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
