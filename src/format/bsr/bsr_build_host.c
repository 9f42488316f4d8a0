/* SPDX-License-Identifier: Apache-2.0 */
/* Building BSR on the host, and decoding it: block rows are independent. */
#include <string.h>

#include "base/by_precision.h"
#include "format/bsr/bsr_host.h"

/* Block rows that a thread takes at a time: they may differ in length. */
enum { ROWS_AT_ONCE = 256 };

/* The statement function(height, width, ...), in which the compiler knows the size of square blocks. */
#define CALL_BY_BLOCK(height, width, function, ...)               \
    do {                                                          \
        switch ((height) == (width) ? (height) : 0) {             \
        case 2: function(2, 2, __VA_ARGS__); break;               \
        case 3: function(3, 3, __VA_ARGS__); break;               \
        case 4: function(4, 4, __VA_ARGS__); break;               \
        case 5: function(5, 5, __VA_ARGS__); break;               \
        case 6: function(6, 6, __VA_ARGS__); break;               \
        default: function((height), (width), __VA_ARGS__); break; \
        }                                                         \
    } while (0)

/* ---- counts ---- */

/* Whether the rows of a block row have the columns of the first one, and these are whole blocks; *length of them. */
TESS_INLINE bool is_whole(int height, int width, const csr_view *csr, int64_t block_row, int64_t *length)
{
    const int64_t row = block_row * height;
    const int64_t begin = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row);
    const int32_t *const first = csr->col_ind + begin;

    if (row + height > csr->nrows) { return false; }
    *length = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row + 1) - begin;
    if (*length % width != 0) { return false; }
    for (int r = 1; r < height; r++) {
        if (tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row + r + 1) != begin + (r + 1) * *length) {
            return false;
        }
        if (memcmp(first + r * *length, first, (size_t)*length * sizeof *first) != 0) { return false; }
    }
    for (int64_t k = 0; k < *length; k += width) {
        if (first[k] % width != 0 || first[k + width - 1] != first[k] + width - 1) { return false; }
    }
    return true;
}

TESS_INLINE void count_row(int height, int width, const csr_view *csr, int64_t block_row, int64_t *count)
{
    int64_t length = 0;

    *count = is_whole(height, width, csr, block_row, &length) ? length / width
                                                              : bsr_count_row(csr, height, width, block_row);
}

tess_status bsr_host_count_blocks(tess_context *ctx, const csr_view *csr, int block, int64_t stride, int64_t *blocks,
                                  int64_t *entries)
{
    const int64_t nblock_rows = (csr->nrows + block - 1) / block;
    int64_t found = 0, held = 0;

#pragma omp parallel for num_threads(host_threads_for(ctx, csr->nnz)) schedule(dynamic, ROWS_AT_ONCE) \
    reduction(+ : found, held)
    for (int64_t i = 0; i < nblock_rows; i++) {
        int64_t own = 0;

        if (!bsr_is_sampled(i, stride)) { continue; }
        CALL_BY_BLOCK(block, block, count_row, csr, i, &own);
        found += own;
        held += bsr_count_entries(csr, block, i);
    }
    *blocks = found;
    *entries = held;
    return TESS_SUCCESS;
}

tess_status bsr_host_measure_reach(tess_context *ctx, const csr_view *csr, int block, int64_t *reach)
{
    const int64_t nblock_rows = (csr->nrows + block - 1) / block;
    int64_t most = 0;

#pragma omp parallel for num_threads(host_threads_for(ctx, csr->nnz)) schedule(static) reduction(max : most)
    for (int64_t i = 0; i < nblock_rows; i++) {
        const int64_t own = bsr_reach_row(csr, block, i);

        most = own > most ? own : most;
    }
    *reach = most;
    return TESS_SUCCESS;
}

tess_status bsr_host_fill_offsets(tess_context *ctx, const csr_view *csr, const bsr_view *v, int64_t *nblocks)
{
    int64_t before = 0;

#pragma omp parallel for num_threads(host_threads_for(ctx, csr->nnz)) schedule(dynamic, ROWS_AT_ONCE)
    for (int64_t i = 0; i < v->nblock_rows; i++) {
        int64_t own = 0;

        CALL_BY_BLOCK(v->height, v->width, count_row, csr, i, &own);
        tess_row_offset_set(v->row_ptr, v->row_ptr_bits, i, own);
    }
    for (int64_t i = 0; i < v->nblock_rows; i++) {
        const int64_t count = bsr_offset(v, i);

        tess_row_offset_set(v->row_ptr, v->row_ptr_bits, i, before);
        before += count;
    }
    tess_row_offset_set(v->row_ptr, v->row_ptr_bits, v->nblock_rows, before);
    *nblocks = before;
    return TESS_SUCCESS;
}

/* ---- columns and values ---- */

TESS_INLINE void fill_columns(int height, int width, const csr_view *csr, const bsr_view *v, int64_t block_row)
{
    bsr_fill_row_columns(csr, v, height, width, block_row);
}

tess_status bsr_host_fill_columns(tess_context *ctx, const csr_view *csr, const bsr_view *v)
{
#pragma omp parallel for num_threads(host_threads_for(ctx, csr->nnz)) schedule(dynamic, ROWS_AT_ONCE)
    for (int64_t i = 0; i < v->nblock_rows; i++) {
        CALL_BY_BLOCK(v->height, v->width, fill_columns, csr, v, i);
    }
    return TESS_SUCCESS;
}

TESS_INLINE void fill_values(int height, int width, tess_precision precision, const csr_view *csr, const bsr_view *v,
                             int64_t block_row)
{
    bsr_fill_row_values(csr, v, precision, height, width, block_row);
}

TESS_INLINE void fill_row(tess_precision precision, const csr_view *csr, const bsr_view *v, int64_t block_row)
{
    CALL_BY_BLOCK(v->height, v->width, fill_values, precision, csr, v, block_row);
}

tess_status bsr_host_fill_values(tess_context *ctx, const csr_view *csr, const bsr_view *v)
{
#pragma omp parallel for num_threads(host_threads_for(ctx, csr->nnz)) schedule(dynamic, ROWS_AT_ONCE)
    for (int64_t i = 0; i < v->nblock_rows; i++) {
        CALL_BY_PRECISION(v->precision, fill_row, csr, v, i);
    }
    return TESS_SUCCESS;
}

tess_status bsr_host_decode(tess_context *ctx, const csr_view *csr, const bsr_view *v, int32_t *col_ind, double *val)
{
#pragma omp parallel for num_threads(host_threads_for(ctx, csr->nnz)) schedule(dynamic, ROWS_AT_ONCE)
    for (int64_t i = 0; i < v->nblock_rows; i++) {
        bsr_decode_row(csr, v, i, col_ind, val);
    }
    return TESS_SUCCESS;
}
