/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles with kernel paper on the host: building, and products, block row by block row in a fixed order. */
#include <string.h>

#include "device/host/host.h"
#include "format/row_epilogue.h"
#include "format/tiles/tiles_host.h"
#include "papers/tiles/tcki_record.h"

/* ---- building ---- */

/* Takes the block's entries off the rows; cursor[r] is the next entry of row r. */
static block_entries take_block(const tiles_source *source, const tcki_view *v, int64_t block_row, int64_t block,
                                int64_t *cursor)
{
    return tiles_host_take_block(source->csr, block_row, v->rows, v->column_bits, v->column[block], cursor);
}

/* The largest width that is common among the rows. */
static int hybrid_width(const tcki_view *v, const block_entries *e)
{
    int width = 0;

    for (bool common = true; common;) {
        int count = 0;

        for (int r = 0; r < v->rows; r++) {
            count += e->length[r] > width;
        }
        common = count > 0 && tcki_is_common(count, v->rows);
        width += common;
    }
    return width;
}

static uint32_t shape_of(const tcki_rules *rules, const tcki_view *v, const block_entries *e, int level)
{
    int entries = 0, squares = 0, longest = 0, format, width, rest = 0;

    for (int r = 0; r < v->rows; r++) {
        entries += e->length[r];
        squares += e->length[r] * e->length[r];
        longest = e->length[r] > longest ? e->length[r] : longest;
    }
    format = tcki_choose(rules, v->rows, entries, squares);
    width = format == TESS_TCKI_ELL ? longest : format == TESS_TCKI_HYB ? hybrid_width(v, e) : 0;
    for (int r = 0; r < v->rows; r++) {
        rest += e->length[r] > width ? e->length[r] - width : 0;
    }
    return tcki_shape(entries, rest, width, format, level);
}

static tess_status measure(tess_context *ctx, const tiles_source *source, const tcki_rules *rules, const tcki_view *v,
                           int64_t *counts, int64_t *units)
{
    int64_t place = 0;

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t block_row = 0; block_row < v->nblock_rows; block_row++) {
        int64_t cursor[TILES_SIDE];

        tiles_host_open_block_row(source->csr, block_row, v->rows, cursor);
        for (int64_t b = v->first[block_row]; b < v->first[block_row + 1]; b++) {
            const block_entries e = take_block(source, v, block_row, b, cursor);

            v->row[b] = (int32_t)block_row;
            v->shape[b] = shape_of(rules, v, &e, source->level ? source->level[b] : 0);
        }
    }
    memset(counts, 0, TESS_TCKI_FORMATS * sizeof *counts);
    for (int64_t b = 0; b < v->nblocks; b++) {
        v->start[b] = (uint32_t)place;
        place += tcki_parts_in(v, v->shape[b]).end / TCKI_UNIT;
        counts[tcki_format(v->shape[b])] += 1;
    }
    v->start[v->nblocks] = (uint32_t)place;
    *units = place;
    return TESS_SUCCESS;
}

static void write_index(const tcki_view *v, uint32_t shape, uint8_t *index, int row, int column, int place)
{
    if (tcki_format(shape) == TESS_TCKI_COO) {
        const int both = row << v->column_bits | column;

        if (tcki_row_bits(v->rows) + v->column_bits > 8) {
            ((uint16_t *)(void *)index)[place] = (uint16_t)both;
        } else {
            index[place] = (uint8_t)both;
        }
    } else if (v->column_bits > 4) {
        index[place] = (uint8_t)column;
    } else { /* the other half of the byte stays */
        const int shift = place % 2 * 4;

        index[place / 2] = (uint8_t)((index[place / 2] & ~(15 << shift)) | column << shift);
    }
}

static void write_block(const tiles_source *source, const tcki_view *v, int64_t block, const block_entries *e,
                        char *record)
{
    const uint32_t shape = v->shape[block];
    const int level = tcki_level(shape), width = tcki_width(shape), mask = (1 << v->column_bits) - 1;
    const double scale = source->scaled[level] ? tess_power_of_two(-source->exponent[block]) : 1.0;
    const double *val = source->csr->val;
    const tcki_parts p = tcki_parts_in(v, shape);
    int before = 0;

    for (int r = 0; r < v->rows; r++) {
        const int own = e->length[r] < width ? e->length[r] : width;

        for (int k = 0; k < e->length[r]; k++) {
            const int place = tcki_place(&p, v->rows, width, r, before, k);

            write_index(v, shape, (uint8_t *)record + p.index, r, source->csr->col_ind[e->at[r] + k] & mask, place);
            tess_store(tcki_precision(v, shape), record + p.values, place, val[e->at[r] + k] * scale,
                       TESS_OVERFLOW_INFINITY);
        }
        before += e->length[r] - own;
        tcki_set_end(record, &p, r, before);
        if (p.has_lengths) { ((uint8_t *)record)[p.lengths + (uint32_t)r] = (uint8_t)own; }
    }
}

static tess_status fill(tess_context *ctx, const tiles_source *source, const tcki_view *v, char *record)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t block_row = 0; block_row < v->nblock_rows; block_row++) {
        int64_t cursor[TILES_SIDE];

        tiles_host_open_block_row(source->csr, block_row, v->rows, cursor);
        for (int64_t b = v->first[block_row]; b < v->first[block_row + 1]; b++) {
            const block_entries e = take_block(source, v, block_row, b, cursor);

            write_block(source, v, b, &e, record + (int64_t)v->start[b] * TCKI_UNIT);
        }
    }
    return TESS_SUCCESS;
}

/* ---- products ---- */

/* Adds a block's products to the sums of its rows. Precision and kind of x are constants of the functions below. */
TESS_INLINE void add_block(const tcki_view *v, int64_t block, tess_precision precision, const void *x, bool fp32,
                           double *sum)
{
    const uint32_t shape = v->shape[block];
    const tcki_parts p = tcki_parts_in(v, shape);
    const char *record = v->record + (int64_t)v->start[block] * TCKI_UNIT, *values = record + p.values;
    const uint8_t *index = (const uint8_t *)record + p.index;
    const int64_t base = (int64_t)v->column[block] << v->column_bits;
    const double scale = tcki_scale(v, block);
    int before = 0;

    for (int i = 0; tcki_format(shape) == TESS_TCKI_COO && i < p.count; i++) {
        const int both = tcki_row_and_column(index, v->rows, v->column_bits, i);
        const int64_t column = base + (both & ((1 << v->column_bits) - 1));

        sum[both >> v->column_bits] += tess_load(precision, values, i) * scale * spmv_element(x, fp32, column);
    }
    for (int r = 0; tcki_format(shape) != TESS_TCKI_COO && r < v->rows; r++) {
        const int width = tcki_length(record, &p, shape, r), end = tcki_end(record, &p, r);
        double own = 0.0;

        for (int k = 0; k < width + end - before; k++) {
            const int place = tcki_place(&p, v->rows, width, r, before, k);

            own += tess_load(precision, values, place) * scale *
                   spmv_element(x, fp32, base + tcki_column(index, v->column_bits, place));
        }
        sum[r] += own;
        before = end;
    }
}

typedef void (*block_function)(const tcki_view *v, int64_t block, const void *x, double *sum);

#define BLOCK_FUNCTION(name, stored, fp32)                                          \
    static void name(const tcki_view *v, int64_t block, const void *x, double *sum) \
    {                                                                               \
        add_block(v, block, stored, x, fp32, sum);                                  \
    }
#define BLOCK_FUNCTIONS(NAME, ...)                           \
    BLOCK_FUNCTION(add_##NAME, TESS_PRECISION_##NAME, false) \
    BLOCK_FUNCTION(add_##NAME##_fp32, TESS_PRECISION_##NAME, true)
TESS_PRECISION_LIST(BLOCK_FUNCTIONS)
#undef BLOCK_FUNCTIONS
#undef BLOCK_FUNCTION

static void sum_block_row(const void *view, int64_t block_row, const void *x, bool fp32, double *sum)
{
#define BLOCK_ROW(NAME, ...) {add_##NAME, add_##NAME##_fp32},
    static const block_function functions[TESS_PRECISION_COUNT][2] = {TESS_PRECISION_LIST(BLOCK_ROW)};
#undef BLOCK_ROW
    const tcki_view *v = view;

    memset(sum, 0, (size_t)v->rows * sizeof *sum);
    for (int64_t b = v->first[block_row]; b < v->first[block_row + 1]; b++) {
        functions[tcki_precision(v, v->shape[b])][fp32](v, b, x, sum);
    }
}

static tess_status spmv(tess_context *ctx, const tcki_view *v, double *sums, const tess_spmv_args *args)
{
    const tiles_block_rows block_rows = {.view = v,
                                         .sum = sum_block_row,
                                         .nrows = v->nrows,
                                         .nnz = v->nnz,
                                         .nblock_rows = v->nblock_rows,
                                         .rows = v->rows};

    (void)sums;
    return tiles_host_product(ctx, &block_rows, args);
}

static tess_status prepare(tess_context *ctx, const tcki_view *v)
{
    return tiles_host_prepare(ctx, v->nblock_rows);
}

const tcki_ops tcki_host_ops = {false, measure, fill, prepare, spmv};
