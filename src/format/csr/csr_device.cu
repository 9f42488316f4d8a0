/* SPDX-License-Identifier: Apache-2.0 */
/* CSR on the GPU: the choice of a product (csr_stored_device.cu has them), values, checks, and the tables. */
#include <limits.h>

#include "device/gpu/gpu.h"
#include "device/gpu/storage_types.cuh"
#include "format/csr/csr_plan.cuh"

static tess_status spmv(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    switch (v->precision) {
#define SELECT_VALUE(VALUE, NAME) \
    case TESS_PRECISION_##NAME: return csr_multiply<VALUE>(ctx, v, p, args);
        STORAGE_TYPES(SELECT_VALUE)
#undef SELECT_VALUE
    }
    return tess_fail(ctx, TESS_INTERNAL, NULL, "values in precision %d", (int)v->precision);
}

/* ---- values and checks ---- */

__global__ static void gather_kernel(int64_t n, const double *source, const int64_t *from, double *values)
{
    for (int64_t k = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; k < n; k += (int64_t)gridDim.x * GPU_BLOCK) {
        values[k] = source[from[k]];
    }
}

static tess_status gather(tess_context *ctx, int64_t n, const double *source, const int64_t *from, double *values)
{
    gpu_scope scope(ctx);

    gather_kernel<<<gpu_grid(ctx, n, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(n, source, from, values);
    return gpu_check_launch(ctx, "copying matrix values");
}

template <typename OFFSET>
__global__ static void check_kernel(int64_t nrows, int64_t ncols, int64_t nnz, const OFFSET *row_ptr,
                                    const int32_t *col_ind, unsigned long long *first_bad)
{
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < nrows; i += (int64_t)gridDim.x * GPU_BLOCK) {
        int64_t begin = row_ptr[i], end = row_ptr[i + 1], previous = -1;
        bool sound = begin >= 0 && end >= begin && end <= nnz && (i > 0 || begin == 0) && (i < nrows - 1 || end == nnz);

        for (int64_t k = begin; sound && k < end; k++) {
            sound = col_ind[k] > previous && col_ind[k] < ncols;
            previous = col_ind[k];
        }
        if (!sound) { atomicMin(first_bad, (unsigned long long)i); }
    }
}

static tess_status check(tess_context *ctx, const csr_view *v, int64_t *bad_row)
{
    gpu_scope scope(ctx);
    unsigned long long first = ULLONG_MAX, *device_first = NULL;
    unsigned grid = gpu_grid(ctx, v->nrows, 8);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, 1, sizeof first, (void **)&device_first));
    TESS_TRY(ctx->backend->upload(ctx, device_first, &first, sizeof first));
    if (v->row_ptr_bits == 32) {
        check_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v->nrows, v->ncols, v->nnz,
                                                                 (const int32_t *)v->row_ptr, v->col_ind, device_first);
    } else {
        check_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v->nrows, v->ncols, v->nnz,
                                                                 (const int64_t *)v->row_ptr, v->col_ind, device_first);
    }
    TESS_TRY(gpu_check_launch(ctx, "checking a borrowed matrix"));
    TESS_TRY(ctx->backend->download(ctx, &first, device_first, sizeof first));
    *bad_row = first == ULLONG_MAX ? -1 : (int64_t)first;
cleanup:
    tess_device_release(ctx, device_first, 1, sizeof first);
    return status;
}

/* Behind functions: a table that is visible outside would be emitted for the device as well by HIP. */
extern "C" const csr_backend *csr_gpu(void)
{
    static const csr_backend table = {
        csr_make_plans,  csr_free_plan, spmv, csr_prepare_parts, csr_spmv_parts, csr_make_layers, csr_free_layers,
        csr_spmv_layers, gather,        check};

    return &table;
}

extern "C" const tess_format_ops *csr_gpu_ops(void)
{
    static const tess_format_ops table = {
        TESS_FORMAT_CSR, csr_build,   csr_refresh,
        csr_destroy,     csr_prepare, csr_spmv,
        csr_decode,      csr_bytes,   (1U << TESS_PRECISION_COUNT) - 1U,
    };

    return &table;
}
