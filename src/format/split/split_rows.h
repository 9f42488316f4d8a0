/* SPDX-License-Identifier: Apache-2.0 */
/* The rows and entries of the assembled matrix that belong to a part, for builders on host and device. */
#ifndef TESS_FORMAT_SPLIT_SPLIT_ROWS_H
#define TESS_FORMAT_SPLIT_SPLIT_ROWS_H

#include <tessera/codec.h>

#include "base/offsets.h"
#include "format/split/split.h"
#include "policy/rules.h"

/* The part for rows of a level: the lowest level first, empty rows last. */
TESS_HD int split_part_of(int level, int nlevels)
{
    return level == TESS_LEVEL_NONE ? nlevels : nlevels - 1 - level;
}

/* The row of the assembled matrix that is number i of a list. */
TESS_HD int64_t split_row(const split_rows *rows, int64_t i)
{
    return rows->rows ? rows->rows[i] : i;
}

/* A row of the assembled matrix and its entries. */
typedef struct split_span {
    int64_t row, begin, end;
} split_span;

TESS_HD split_span split_span_of(const split_source *source, const split_rows *rows, int64_t i)
{
    const csr_view *csr = source->csr;
    split_span s;

    s.row = split_row(rows, i);
    s.begin = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, s.row);
    s.end = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, s.row + 1);
    return s;
}

/* Whether the list takes every entry of its rows. */
TESS_HD bool split_keeps_all(const split_source *source, const split_rows *rows)
{
    return rows->entry_level < 0 && !source->without_diagonal;
}

/* Whether it takes entry k of row `row`. Entries that are left out have no level. */
TESS_HD bool split_keeps(const split_source *source, const split_rows *rows, int64_t row, int64_t k)
{
    if (rows->entry_level >= 0) { return source->level[k] == rows->entry_level; }
    return !(source->without_diagonal && source->csr->col_ind[k] == row);
}

#endif
