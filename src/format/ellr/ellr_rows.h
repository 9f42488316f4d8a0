/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of ellr.h as functions of positions, for host and device. Offsets are counted in 64 bits. */
#ifndef TESS_FORMAT_ELLR_ELLR_ROWS_H
#define TESS_FORMAT_ELLR_ELLR_ROWS_H

#include <tessera/codec.h>

#include "base/offsets.h"
#include "format/ellr/ellr.h"
#include "format/row_epilogue.h"

/* ---- reading ---- */

TESS_HD bool ellr_is_permuted(ellr_slice s)
{
    return (s.flags & ELLR_PERMUTED) != 0;
}

TESS_HD bool ellr_has_wide_columns(ellr_slice s)
{
    return (s.flags & ELLR_WIDE) != 0;
}

/* The slice's first value. */
TESS_HD int64_t ellr_first_value(ellr_slice s)
{
    return (int64_t)s.first_value * ELLR_SLICE;
}

/* The slice's first column, counted in 16-bit words. */
TESS_HD int64_t ellr_first_column(ellr_slice s)
{
    return (int64_t)s.first_column * ELLR_SLICE;
}

TESS_HD int32_t ellr_length(const ellr_view *v, int64_t position)
{
    return v->length_bits == 8 ? ((const uint8_t *)v->length)[position] : ((const int32_t *)v->length)[position];
}

/* Which of its slice's rows, in their order, has this position: the two halves alternate. */
TESS_HD int64_t ellr_rank_at(int64_t position)
{
    int64_t lane = position % ELLR_SLICE;

    return position - lane + lane % 2 * (ELLR_SLICE / 2) + lane / 2;
}

/* The inverse. */
TESS_HD int64_t ellr_position_of(int64_t rank)
{
    int64_t place = rank % ELLR_SLICE;

    return rank - place + place % (ELLR_SLICE / 2) * 2 + place / (ELLR_SLICE / 2);
}

/* The row at a position; beyond the last row, a number that is not a row. */
TESS_HD int64_t ellr_row_at(const ellr_view *v, bool permuted, int64_t position)
{
    return permuted ? position + v->order[position] : ellr_rank_at(position);
}

TESS_HD int64_t ellr_row(const ellr_view *v, ellr_slice s, int64_t position)
{
    return ellr_row_at(v, ellr_is_permuted(s), position);
}

/* The row of y for row i of the view; for a row that does not exist, some number that columns can be relative to. */
TESS_HD int64_t ellr_target(const ellr_view *v, int64_t i)
{
    if (v->row_of) { return v->row_of[i < v->nrows ? i : v->nrows - 1]; }
    return v->row_shift + i;
}

/* Column of entry k of the row at a position. */
TESS_HD int64_t ellr_column(const ellr_view *v, ellr_slice s, int64_t position, int64_t row, int64_t k)
{
    const int16_t *words = (const int16_t *)v->column + ellr_first_column(s);
    int64_t place = k * ELLR_SLICE + position % ELLR_SLICE;

    return ellr_has_wide_columns(s) ? ((const int32_t *)(const void *)words)[place]
                                    : ellr_target(v, row) + words[place];
}

/* ---- building ---- */

TESS_HD int64_t ellr_csr_offset(const csr_view *csr, int64_t i)
{
    return tess_row_offset(csr->row_ptr, csr->row_ptr_bits, i);
}

/* ellr_target, from the rows that the view is made of. */
TESS_HD int64_t ellr_csr_target(const csr_view *csr, int64_t i)
{
    if (csr->row_of) { return csr->row_of[i < csr->nrows ? i : csr->nrows - 1]; }
    return csr->row_shift + i;
}

/* Entries of a row; 0 for rows that do not exist. */
TESS_HD int32_t ellr_csr_length(const csr_view *csr, int64_t i)
{
    return i < csr->nrows ? (int32_t)(ellr_csr_offset(csr, i + 1) - ellr_csr_offset(csr, i)) : 0;
}

/*
 * The column that pads a row: its last one, so that padding loads no more of x than the row does. For an empty row, or
 * one that does not exist, it is some existing column. Kernels may load that element of x, and never multiply it.
 */
TESS_HD int64_t ellr_padding_column(const csr_view *csr, int64_t i)
{
    int64_t begin = i < csr->nrows ? ellr_csr_offset(csr, i) : 0,
            end = i < csr->nrows ? ellr_csr_offset(csr, i + 1) : 0, target;

    if (end > begin) { return csr->col_ind[end - 1]; }
    target = ellr_csr_target(csr, i);
    return target < csr->ncols ? target : csr->ncols - 1;
}

/* Whether all columns of a row fit into 16 bits relative to its row of y. If they ascend, the first and the last tell.
 */
TESS_HD bool ellr_is_narrow(const csr_view *csr, int64_t i)
{
    int64_t last = ellr_padding_column(csr, i), first = last, target = ellr_csr_target(csr, i);
    int32_t length = ellr_csr_length(csr, i);

    if (length > 0) { first = csr->col_ind[ellr_csr_offset(csr, i)]; }
    for (int32_t k = 0; csr->unsorted && k < length; k++) {
        int64_t column = csr->col_ind[ellr_csr_offset(csr, i) + k];

        first = column < first ? column : first;
        last = column > last ? column : last;
    }
    return first - target >= INT16_MIN && last - target <= INT16_MAX;
}

/* A window is sorted only if this saves a sixteenth of its entries: a row out of order costs a look-up. */
TESS_HD bool ellr_sorting_pays(int64_t width_in_order, int64_t width_sorted)
{
    return 16 * width_sorted <= 15 * width_in_order;
}

TESS_HD void ellr_set_length(const ellr_view *v, int64_t position, int32_t length)
{
    if (v->length_bits == 8) {
        ((uint8_t *)v->length)[position] = (uint8_t)length;
    } else {
        ((int32_t *)v->length)[position] = length;
    }
}

/* Columns of the row at a position, with its padding. */
TESS_HD void ellr_fill_row_columns(const csr_view *csr, const ellr_view *v, int64_t position)
{
    ellr_slice s = v->slice[position / ELLR_SLICE];
    int64_t length = ellr_length(v, position), row = ellr_row(v, s, position), lane = position % ELLR_SLICE;
    int64_t begin = length > 0 ? ellr_csr_offset(csr, row) : 0, padding = ellr_padding_column(csr, row);
    int64_t target = ellr_csr_target(csr, row);
    int16_t *narrow = (int16_t *)v->column + ellr_first_column(s);
    int32_t *wide = (int32_t *)(void *)narrow;

    for (int64_t k = 0; k < s.width; k++) {
        int64_t column = k < length ? csr->col_ind[begin + k] : padding;

        if (ellr_has_wide_columns(s)) {
            wide[k * ELLR_SLICE + lane] = (int32_t)column;
        } else {
            narrow[k * ELLR_SLICE + lane] = (int16_t)(column - target);
        }
    }
}

/* Values of the row at a position, over its scale. */
TESS_HD void ellr_fill_row_values(const csr_view *csr, const ellr_view *v, int64_t position)
{
    ellr_slice s = v->slice[position / ELLR_SLICE];
    int64_t length = ellr_length(v, position), row = ellr_row(v, s, position);
    int64_t begin = length > 0 ? ellr_csr_offset(csr, row) : 0;
    int64_t place = ellr_first_value(s) + position % ELLR_SLICE;
    const double *val = (const double *)csr->val;
    double inverse = length > 0 && v->exponent ? tess_power_of_two(-v->exponent[row]) : 1.0;

    for (int64_t k = 0; k < length; k++) {
        tess_store(v->precision, v->val, place + k * ELLR_SLICE, val[begin + k] * inverse, TESS_OVERFLOW_INFINITY);
    }
}

/* Copies the row at a position to its place in CSR arrays, counted from the first row's entries; either array may be
   NULL. */
TESS_HD void ellr_decode_row(const csr_view *csr, const ellr_view *v, int64_t position, int32_t *col_ind, double *val)
{
    ellr_slice s = v->slice[position / ELLR_SLICE];
    int64_t length = ellr_length(v, position), row = ellr_row(v, s, position);
    int64_t begin = length > 0 ? ellr_csr_offset(csr, row) - ellr_csr_offset(csr, 0) : 0;
    int64_t place = ellr_first_value(s) + position % ELLR_SLICE;
    double scale = length > 0 ? part_row_scale(v->exponent, row) : 1.0;

    for (int64_t k = 0; k < length; k++) {
        if (col_ind) { col_ind[begin + k] = (int32_t)ellr_column(v, s, position, row, k); }
        if (val) { val[begin + k] = tess_load(v->precision, v->val, place + k * ELLR_SLICE) * scale; }
    }
}

/* ---- parts that take turns ---- */

/* Distributes passes over several parts evenly, in turn. Part p takes share[p] / 2^32 of the passes that earlier parts
   leave. */
typedef struct ellr_turns {
    uint64_t share[ELLR_MAX_PARTS];
} ellr_turns;

/* A pass: number `index` of those over a part. */
typedef struct ellr_turn {
    int part, index;
} ellr_turn;

static inline ellr_turns ellr_make_turns(const int passes[ELLR_MAX_PARTS])
{
    ellr_turns turns;
    uint64_t left = 0;

    for (int p = 0; p < ELLR_MAX_PARTS; p++) {
        left += (uint64_t)passes[p];
    }
    for (int p = 0; p < ELLR_MAX_PARTS; p++) { /* rounded up: at most one pass in 2^32 too many */
        turns.share[p] = left > 0 ? (((uint64_t)passes[p] << 32) + left - 1) / left : 0;
        left -= (uint64_t)passes[p];
    }
    return turns;
}

/* Pass `pass` of all: part p takes the passes at which the whole part of pass * share rises. */
TESS_HD ellr_turn ellr_turn_of(const ellr_turns *turns, int pass)
{
    ellr_turn turn = {0, pass};

    while (turn.part < ELLR_MAX_PARTS - 1) {
        uint64_t share = turns->share[turn.part];
        int before = (int)((uint64_t)turn.index * share >> 32);

        if ((int)(((uint64_t)turn.index + 1) * share >> 32) > before) {
            turn.index = before;
            return turn;
        }
        turn.index -= before;
        turn.part += 1;
    }
    return turn;
}

#endif
