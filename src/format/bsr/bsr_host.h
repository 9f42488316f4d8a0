/* SPDX-License-Identifier: Apache-2.0 */
/* What the products of BSR on the host share: chunks of block rows. */
#ifndef TESS_FORMAT_BSR_BSR_HOST_H
#define TESS_FORMAT_BSR_BSR_HOST_H

#include "device/host/host.h"
#include "format/bsr/bsr_rows.h"

/* Work of a chunk, in stored values and rows; its dot products are one partial sum. Values that are decoded at once.
   Both do not depend on the number of threads. */
enum { BSR_CHUNK = 1 << 14, BSR_DECODED = 2048 };

/* Work before a block row. */
static inline int64_t bsr_work(const bsr_view *v, int64_t block_row)
{
    return bsr_offset(v, block_row) * bsr_values(v) + block_row * v->height;
}

static inline int64_t bsr_chunks(const bsr_view *v)
{
    return (bsr_work(v, v->nblock_rows) + BSR_CHUNK - 1) / BSR_CHUNK;
}

/* The first block row of a chunk, by bisection; that of the chunk after the last one is nblock_rows. */
static inline int64_t bsr_chunk_row(const bsr_view *v, int64_t chunk)
{
    int64_t low = 0, high = v->nblock_rows;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (bsr_work(v, middle) < chunk * BSR_CHUNK) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Rows of a block row that exist. */
static inline int bsr_rows_of(const bsr_view *v, int64_t block_row)
{
    const int64_t left = v->nrows - block_row * v->height;

    return left < v->height ? (int)left : v->height;
}

#endif
