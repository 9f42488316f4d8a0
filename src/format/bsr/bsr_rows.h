/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of bsr.h as functions of block rows, for host and device. */
#ifndef TESS_FORMAT_BSR_BSR_ROWS_H
#define TESS_FORMAT_BSR_BSR_ROWS_H

#include <tessera/codec.h>

#include "base/offsets.h"
#include "format/bsr/bsr.h"
#include "format/row_epilogue.h"

/* ---- places ---- */

/* Values of a block, in both forms. */
TESS_HD int bsr_values(const bsr_view *v)
{
    return v->is_complex ? 2 : v->height * v->width;
}

TESS_HD int64_t bsr_offset(const bsr_view *v, int64_t block_row)
{
    return tess_row_offset(v->row_ptr, v->row_ptr_bits, block_row);
}

/* Whether products must not read the elements of x for places without an entry. */
TESS_HD bool bsr_is_narrow(const bsr_view *v)
{
    return v->ncols < v->width;
}

/* The first column of the block with number `number`. */
TESS_HD int32_t bsr_first_column(int64_t ncols, int width, int64_t number)
{
    const int64_t last = ncols > width ? ncols - width : 0;

    return (int32_t)(number * width < last ? number * width : last);
}

/* What columns of 16 bits are relative to: the first row of the block row, or for complex numbers that of its strip,
   whose entries a wave reads without asking for their rows. Blocks that are not square have no diagonal to be near. */
TESS_HD int64_t bsr_narrow_origin(int height, int width, bool is_complex, int64_t block_row)
{
    if (height != width) { return 0; }
    return (is_complex ? block_row - block_row % BSR_STRIP : block_row) * height;
}

/* What the stored columns of a block row are relative to. */
TESS_HD int64_t bsr_origin(const bsr_view *v, int64_t block_row)
{
    return v->column_bits == 16 ? bsr_narrow_origin(v->height, v->width, v->is_complex, block_row) : 0;
}

/* The first column of block k, which is one of the block row. */
TESS_HD int64_t bsr_column(const bsr_view *v, int64_t block_row, int64_t k)
{
    return bsr_origin(v, block_row) +
           (v->column_bits == 16 ? ((const int16_t *)v->column)[k] : ((const int32_t *)v->column)[k]);
}

TESS_HD void bsr_set_column(const bsr_view *v, int64_t block_row, int64_t k, int64_t column)
{
    if (v->column_bits == 16) {
        ((int16_t *)v->column)[k] = (int16_t)(column - bsr_origin(v, block_row));
    } else {
        ((int32_t *)v->column)[k] = (int32_t)column;
    }
}

/* ---- masks: of square blocks alone ---- */

/* Bytes of the mask of a block: a bit for each place. */
TESS_HD int bsr_mask_bytes(int block)
{
    return block == 2 ? 1 : block <= 4 ? 2 : block == 5 ? 4 : 8;
}

TESS_HD uint64_t bsr_mask(const bsr_view *v, int64_t k)
{
    if (!v->mask) { return UINT64_MAX; }
    switch (v->height) {
    case 2: return ((const uint8_t *)v->mask)[k];
    case 3:
    case 4: return ((const uint16_t *)v->mask)[k];
    case 5: return ((const uint32_t *)v->mask)[k];
    default: return ((const uint64_t *)v->mask)[k];
    }
}

TESS_HD void bsr_set_mask(const bsr_view *v, int64_t k, uint64_t mask)
{
    switch (v->height) {
    case 2: ((uint8_t *)v->mask)[k] = (uint8_t)mask; break;
    case 3:
    case 4: ((uint16_t *)v->mask)[k] = (uint16_t)mask; break;
    case 5: ((uint32_t *)v->mask)[k] = (uint32_t)mask; break;
    default: ((uint64_t *)v->mask)[k] = mask; break;
    }
}

/* ---- the blocks of CSR rows ---- */

/* The entries of a block row that are still to come. */
typedef struct bsr_cursor {
    int64_t next[BSR_MOST_BLOCK], end[BSR_MOST_BLOCK]; /* places in the CSR arrays, for each row */
} bsr_cursor;

/* Rows that do not exist have no entries. */
TESS_HD bsr_cursor bsr_open(const csr_view *csr, int height, int64_t block_row)
{
    bsr_cursor c;

    for (int r = 0; r < BSR_MOST_BLOCK; r++) {
        const int64_t row = block_row * height + r;

        c.next[r] = c.end[r] = 0;
        if (r < height && row < csr->nrows) {
            c.next[r] = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row);
            c.end[r] = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row + 1);
        }
    }
    return c;
}

/* The number of the next block; -1: there is none. */
TESS_HD int64_t bsr_next(const csr_view *csr, int height, int width, const bsr_cursor *c)
{
    int64_t least = INT64_MAX;

    for (int r = 0; r < height; r++) {
        if (c->next[r] < c->end[r]) {
            const int64_t column = csr->col_ind[c->next[r]];

            least = column < least ? column : least;
        }
    }
    return least < INT64_MAX ? (int32_t)least / width : -1;
}

/* Whether row r has another entry before column `limit`; if so, *place is its place in the CSR arrays, and the cursor
   moves past it. */
TESS_HD bool bsr_take(const csr_view *csr, int64_t limit, int r, bsr_cursor *c, int64_t *place)
{
    if (c->next[r] >= c->end[r] || csr->col_ind[c->next[r]] >= limit) { return false; }
    *place = c->next[r];
    c->next[r] += 1;
    return true;
}

/* ---- building; `height` and `width` of the blocks are constants in time-critical callers ---- */

/* Block rows that a sample of every `stride`-th run of them contains: 1 for all. */
TESS_HD bool bsr_is_sampled(int64_t block_row, int64_t stride)
{
    return block_row / 32 % stride == 0;
}

TESS_HD int64_t bsr_count_row(const csr_view *csr, int height, int width, int64_t block_row)
{
    bsr_cursor c = bsr_open(csr, height, block_row);
    int64_t count = 0, number, place = 0;

    while ((number = bsr_next(csr, height, width, &c)) >= 0) {
        for (int r = 0; r < height; r++) {
            while (bsr_take(csr, (number + 1) * width, r, &c, &place)) {}
        }
        count += 1;
    }
    return count;
}

/* Entries of the rows of a block row. */
TESS_HD int64_t bsr_count_entries(const csr_view *csr, int block, int64_t block_row)
{
    const int64_t end = (block_row + 1) * block < csr->nrows ? (block_row + 1) * block : csr->nrows;

    return tess_row_offset(csr->row_ptr, csr->row_ptr_bits, end) -
           tess_row_offset(csr->row_ptr, csr->row_ptr_bits, block_row * block);
}

/* The most that the first column of a block is away from the first row of its block row. */
TESS_HD int64_t bsr_reach_row(const csr_view *csr, int block, int64_t block_row)
{
    const bsr_cursor c = bsr_open(csr, block, block_row);
    int64_t reach = 0;

    for (int r = 0; r < block; r++) {
        for (int end = 0; end < 2 && c.next[r] < c.end[r]; end++) {
            const int64_t number = csr->col_ind[end == 0 ? c.next[r] : c.end[r] - 1] / block;
            const int64_t distance = bsr_first_column(csr->ncols, block, number) - block_row * block;

            reach = distance > reach ? distance : -distance > reach ? -distance : reach;
        }
    }
    return reach;
}

/* Columns of a block row whose first row has every place of its blocks. */
TESS_HD void bsr_fill_whole_columns(const csr_view *csr, const bsr_view *v, int width, int64_t begin, int64_t block_row)
{
    const int64_t first = bsr_offset(v, block_row);

    for (int64_t k = first; k < bsr_offset(v, block_row + 1); k++) {
        bsr_set_column(v, block_row, k, csr->col_ind[begin + (k - first) * width]);
    }
}

/* Columns and masks of a block row. */
TESS_HD void bsr_fill_row_columns(const csr_view *csr, const bsr_view *v, int height, int width, int64_t block_row)
{
    bsr_cursor c = bsr_open(csr, height, block_row);

    if (!v->mask && c.end[0] - c.next[0] == (bsr_offset(v, block_row + 1) - bsr_offset(v, block_row)) * width) {
        bsr_fill_whole_columns(csr, v, width, c.next[0], block_row);
        return;
    }

    for (int64_t k = bsr_offset(v, block_row); k < bsr_offset(v, block_row + 1); k++) {
        const int64_t number = bsr_next(csr, height, width, &c);
        const int32_t first = bsr_first_column(v->ncols, width, number);
        uint64_t mask = 0;
        int64_t place = 0;

        for (int r = 0; r < height; r++) {
            while (bsr_take(csr, (number + 1) * width, r, &c, &place)) {
                mask |= (uint64_t)1 << ((csr->col_ind[place] - first) * height + r);
            }
        }
        bsr_set_column(v, block_row, k, first);
        if (v->mask) { bsr_set_mask(v, k, mask); }
    }
}

/* Values of a block row; in the complex form those of its first column. */
TESS_HD void bsr_fill_row_values(const csr_view *csr, const bsr_view *v, tess_precision precision, int height,
                                 int width, int64_t block_row)
{
    bsr_cursor c = bsr_open(csr, height, block_row);
    const int values = v->is_complex ? 2 : height * width;

    for (int64_t k = bsr_offset(v, block_row); k < bsr_offset(v, block_row + 1); k++) {
        const int64_t number = bsr_next(csr, height, width, &c);
        const int32_t first = bsr_first_column(v->ncols, width, number);
        int64_t place = 0;

        for (int i = 0; v->mask && i < values; i++) {
            tess_store(precision, v->val, k * values + i, 0.0, TESS_OVERFLOW_INFINITY);
        }
        for (int r = 0; r < height; r++) {
            while (bsr_take(csr, (number + 1) * width, r, &c, &place)) {
                const int at = (csr->col_ind[place] - first) * height + r;

                if (at < values) {
                    tess_store(precision, v->val, k * values + at, ((const double *)csr->val)[place],
                               TESS_OVERFLOW_INFINITY);
                }
            }
        }
    }
}

/* Where the value in row r and column c of block k is. */
TESS_HD int64_t bsr_place(const bsr_view *v, int64_t k, int r, int64_t c)
{
    return (k * v->width + c) * v->height + r;
}

/* The stored value of place c * height + r of block k, in FP64. */
TESS_HD double bsr_value_at(const bsr_view *v, int64_t k, int place)
{
    if (!v->is_complex) { return tess_load(v->precision, v->val, k * v->height * v->width + place); }
    switch (place) {
    case 2: return -tess_load(v->precision, v->val, 2 * k + 1);
    case 3: return tess_load(v->precision, v->val, 2 * k);
    default: return tess_load(v->precision, v->val, 2 * k + place);
    }
}

/* Columns and values of a block row to their places in CSR order. */
TESS_HD void bsr_decode_row(const csr_view *csr, const bsr_view *v, int64_t block_row, int32_t *col_ind, double *val)
{
    bsr_cursor c = bsr_open(csr, v->height, block_row);

    for (int64_t k = bsr_offset(v, block_row); k < bsr_offset(v, block_row + 1); k++) {
        const uint64_t mask = bsr_mask(v, k);

        for (int r = 0; r < v->height; r++) {
            for (int column = 0; column < v->width; column++) {
                const int place = column * v->height + r;

                if ((mask >> place & 1U) == 0) { continue; }
                if (col_ind) { col_ind[c.next[r]] = (int32_t)bsr_column(v, block_row, k) + column; }
                if (val) { val[c.next[r]] = bsr_value_at(v, k, place); }
                c.next[r] += 1;
            }
        }
    }
}

/* ---- sums by the masks ---- */

/* The sum of row r of a block row, by its entries alone: for x with Inf or NaN, or shorter than a block. Element j of x
   is at j * columns; fp32: of FP32 vectors. */
TESS_HD double bsr_masked_sum(const bsr_view *v, int64_t block_row, int r, const void *x, bool fp32, int64_t columns)
{
    double sum = 0.0;

    for (int64_t k = bsr_offset(v, block_row); k < bsr_offset(v, block_row + 1); k++) {
        const uint64_t mask = bsr_mask(v, k);

        for (int c = 0; c < v->width; c++) {
            const int place = c * v->height + r;

            if ((mask >> place & 1U) == 0) { continue; }
            sum += bsr_value_at(v, k, place) * spmv_element(x, fp32, (bsr_column(v, block_row, k) + c) * columns);
        }
    }
    return sum;
}

/* ---- groups of threads on a GPU ---- */

/* Blocks of a segment of a long row: about 1024 values, which a wave sums. */
TESS_HD int64_t bsr_segment(const bsr_view *v)
{
    return 1024 / bsr_values(v);
}

/* Blocks of a row from which on it is long: more would keep its group for longer than others. */
TESS_HD int64_t bsr_most_of_group(const bsr_view *v)
{
    return v->is_complex ? (int64_t)v->group * 8 : (int64_t)v->group * 32 / v->width;
}

#endif
