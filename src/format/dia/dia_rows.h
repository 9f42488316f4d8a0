/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of dia.h as functions of rows, for host and device. */
#ifndef TESS_FORMAT_DIA_DIA_ROWS_H
#define TESS_FORMAT_DIA_DIA_ROWS_H

#include <stdbool.h>

#include <tessera/codec.h>

#include "base/offsets.h"
#include "format/dia/dia.h"
#include "format/row_epilogue.h"

/* ---- reading ---- */

/* The rows in which a diagonal is within the matrix: from the first up to, but not, the end. */
TESS_HD int64_t dia_first_row(int32_t offset)
{
    return offset < 0 ? -(int64_t)offset : 0;
}

TESS_HD int64_t dia_end_row(const dia_view *v, int32_t offset)
{
    int64_t end = v->ncols - offset;

    return end < v->nrows ? end : v->nrows;
}

TESS_HD int64_t dia_place(const dia_view *v, int64_t d, int64_t row)
{
    return d * v->stride + row;
}

/* The word of a diagonal's bitmap that has a row's bit. */
TESS_HD int64_t dia_word(const dia_view *v, dia_diagonal diagonal, int64_t row)
{
    return diagonal.bitmap * v->words + row / DIA_WORD;
}

/* Whether a row has an entry on a diagonal. */
TESS_HD bool dia_has_entry(const dia_view *v, dia_diagonal diagonal, int64_t row)
{
    int64_t column = row + diagonal.offset;

    if (row >= v->nrows || column < 0 || column >= v->ncols) { return false; }
    return diagonal.bitmap < 0 || (v->bitmap[dia_word(v, diagonal, row)] >> (row % DIA_WORD) & 1U) != 0;
}

/* ---- building ---- */

/* The bit of the diagonals' marks that stands for an offset, and the offset that a bit stands for. */
TESS_HD int64_t dia_mark_of(int64_t nrows, int64_t offset)
{
    return offset + nrows - 1;
}

TESS_HD int32_t dia_offset_of(int64_t nrows, int64_t mark)
{
    return (int32_t)(mark - (nrows - 1));
}

/* The remaining entries of a CSR row, while its diagonals are visited in ascending order. */
typedef struct dia_cursor {
    int64_t next, end; /* places in the CSR arrays */
} dia_cursor;

/* Rows that do not exist have no entries. */
TESS_HD dia_cursor dia_open_row(const csr_view *csr, int64_t row)
{
    dia_cursor c = {0, 0};

    if (row >= csr->nrows) { return c; }
    c.next = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row);
    c.end = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row + 1);
    return c;
}

/* Whether the row's next entry is on the diagonal; if so, the cursor moves past it. */
TESS_HD bool dia_take(const csr_view *csr, int64_t row, int32_t offset, dia_cursor *c)
{
    bool found = c->next < c->end && csr->col_ind[c->next] - row == offset;

    c->next += found ? 1 : 0;
    return found;
}

#endif
