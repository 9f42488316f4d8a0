/* SPDX-License-Identifier: Apache-2.0 */
/* Building BSR on the host, and decoding it: block rows are independent. */
#include "base/by_precision.h"
#include "format/bsr/bsr_host.h"

/* Block rows that a thread takes at a time: they may differ in length. */
enum { ROWS_AT_ONCE = 256 };

/* The statement function(block, ...), in which the compiler knows the size. */
#define CALL_BY_BLOCK(block, function, ...)       \
    do {                                          \
        switch (block) {                          \
        case 2: function(2, __VA_ARGS__); break;  \
        case 3: function(3, __VA_ARGS__); break;  \
        case 4: function(4, __VA_ARGS__); break;  \
        case 5: function(5, __VA_ARGS__); break;  \
        default: function(6, __VA_ARGS__); break; \
        }                                         \
    } while (0)

/* ---- counts ---- */

TESS_INLINE void count_row(int block, const csr_view *csr, int64_t block_row, int64_t *count)
{
    *count = bsr_count_row(csr, block, block_row);
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
        CALL_BY_BLOCK(block, count_row, csr, i, &own);
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

        CALL_BY_BLOCK(v->block, count_row, csr, i, &own);
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

TESS_INLINE void fill_columns(int block, const csr_view *csr, const bsr_view *v, int64_t block_row)
{
    bsr_fill_row_columns(csr, v, block, block_row);
}

tess_status bsr_host_fill_columns(tess_context *ctx, const csr_view *csr, const bsr_view *v)
{
#pragma omp parallel for num_threads(host_threads_for(ctx, csr->nnz)) schedule(dynamic, ROWS_AT_ONCE)
    for (int64_t i = 0; i < v->nblock_rows; i++) {
        CALL_BY_BLOCK(v->block, fill_columns, csr, v, i);
    }
    return TESS_SUCCESS;
}

TESS_INLINE void fill_values(int block, tess_precision precision, const csr_view *csr, const bsr_view *v,
                             int64_t block_row)
{
    bsr_fill_row_values(csr, v, precision, block, block_row);
}

TESS_INLINE void fill_row(tess_precision precision, const csr_view *csr, const bsr_view *v, int64_t block_row)
{
    CALL_BY_BLOCK(v->block, fill_values, precision, csr, v, block_row);
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
