/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a diagonal that have an entry, for products on the host. */
#ifndef TESS_FORMAT_DIA_DIA_HOST_H
#define TESS_FORMAT_DIA_DIA_HOST_H

#include "device/host/host.h"
#include "format/dia/dia_rows.h"

/* The bits of a word for rows from `row` on, at the positions of these rows. */
static inline uint32_t dia_bits_from(const uint32_t *bitmap, int64_t row, uint32_t inverted)
{
    return (bitmap[row / DIA_WORD] ^ inverted) & (UINT32_MAX << (row % DIA_WORD));
}

/* The first row from `row` on, before `end`, whose bit is set (inverted: is not set); else `end`. */
static inline int64_t dia_find_row(const uint32_t *bitmap, int64_t row, int64_t end, uint32_t inverted)
{
    while (row < end) {
        const uint32_t bits = dia_bits_from(bitmap, row, inverted);
        const int64_t word = row - row % DIA_WORD;

        if (bits != 0) {
            row = word + __builtin_ctz(bits);
            return row < end ? row : end;
        }
        row = word + DIA_WORD;
    }
    return end;
}

/* The next run of rows, before `end`, with an entry on the diagonal: from *row up to *run_end. False: there is none. */
static inline bool dia_next_run(const dia_view *v, dia_diagonal diagonal, int64_t *row, int64_t end, int64_t *run_end)
{
    const uint32_t *bitmap = v->bitmap;

    if (*row >= end) { return false; }
    *run_end = end;
    if (diagonal.bitmap < 0) { return true; }
    bitmap += dia_word(v, diagonal, 0);
    *row = dia_find_row(bitmap, *row, end, 0);
    *run_end = dia_find_row(bitmap, *row, end, UINT32_MAX);
    return *row < end;
}

/* Rows of a block in which a diagonal is within the matrix. */
static inline int64_t dia_clip(const dia_view *v, int32_t offset, int64_t first, int count, int64_t *begin)
{
    int64_t end = dia_end_row(v, offset);

    *begin = dia_first_row(offset) > first ? dia_first_row(offset) : first;
    return end < first + count ? end : first + count;
}

/* Sums of rows first .. first + count - 1 in pairs of FP32 numbers (dia_pairs_host.c). */
void dia_host_sum_pairs(const dia_view *v, const tess_spmv_args *args, int64_t first, int count, double *out);
/* Several columns at once (dia_columns_host.c). */
tess_status dia_host_multiply_columns(tess_context *ctx, const dia_view *v, const tess_spmv_args *args);

#endif
