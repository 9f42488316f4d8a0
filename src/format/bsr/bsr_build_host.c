/* SPDX-License-Identifier: Apache-2.0 */
/* Building BSR on the host, and decoding it: block rows are independent. */
#include "base/by_precision.h"
#include "format/bsr/bsr_host.h"

tess_status bsr_host_count_blocks(tess_context *ctx, const csr_view *csr, int block, int64_t *count)
{
    const int64_t nblock_rows = (csr->nrows + block - 1) / block;
    int64_t sum = 0;

#pragma omp parallel for num_threads(host_threads_for(ctx, csr->nnz)) schedule(dynamic, 256) reduction(+ : sum)
    for (int64_t i = 0; i < nblock_rows; i++) {
        sum += bsr_count_row(csr, block, i);
    }
    *count = sum;
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

tess_status bsr_host_fill_offsets(tess_context *ctx, const csr_view *csr, const bsr_view *v)
{
    int64_t before = 0;

#pragma omp parallel for num_threads(host_threads_for(ctx, csr->nnz)) schedule(dynamic, 256)
    for (int64_t i = 0; i < v->nblock_rows; i++) {
        tess_row_offset_set(v->row_ptr, v->row_ptr_bits, i, bsr_count_row(csr, v->block, i));
    }
    for (int64_t i = 0; i < v->nblock_rows; i++) {
        const int64_t count = bsr_offset(v, i);

        tess_row_offset_set(v->row_ptr, v->row_ptr_bits, i, before);
        before += count;
    }
    tess_row_offset_set(v->row_ptr, v->row_ptr_bits, v->nblock_rows, before);
    return TESS_SUCCESS;
}

tess_status bsr_host_fill_columns(tess_context *ctx, const csr_view *csr, const bsr_view *v)
{
#pragma omp parallel for num_threads(host_threads_for(ctx, csr->nnz)) schedule(dynamic, 256)
    for (int64_t i = 0; i < v->nblock_rows; i++) {
        bsr_fill_row_columns(csr, v, i);
    }
    return TESS_SUCCESS;
}

TESS_INLINE void fill_row(tess_precision precision, const csr_view *csr, const bsr_view *v, int64_t block_row)
{
    bsr_fill_row_values(csr, v, precision, block_row);
}

tess_status bsr_host_fill_values(tess_context *ctx, const csr_view *csr, const bsr_view *v)
{
#pragma omp parallel for num_threads(host_threads_for(ctx, csr->nnz)) schedule(dynamic, 256)
    for (int64_t i = 0; i < v->nblock_rows; i++) {
        CALL_BY_PRECISION(v->precision, fill_row, csr, v, i);
    }
    return TESS_SUCCESS;
}

tess_status bsr_host_decode(tess_context *ctx, const csr_view *csr, const bsr_view *v, int32_t *col_ind, double *val)
{
#pragma omp parallel for num_threads(host_threads_for(ctx, csr->nnz)) schedule(dynamic, 256)
    for (int64_t i = 0; i < v->nblock_rows; i++) {
        bsr_decode_row(csr, v, i, col_ind, val);
    }
    return TESS_SUCCESS;
}
