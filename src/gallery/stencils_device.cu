/* SPDX-License-Identifier: Apache-2.0 */
/* Stencils generated on the GPU: a thread per row, offsets in closed form. */
#include "device/gpu/gpu.h"
#include "gallery/stencils.h"

/* Blocks per multiprocessor: rows are short and writes scattered, so many are needed to hide them. */
enum { STENCIL_BLOCKS = 16 };

template <typename OFFSET>
__global__ static void __launch_bounds__(GPU_BLOCK)
    stencil_kernel(const tess_stencil s, int64_t nrows, OFFSET *row_ptr, int32_t *col, double *val)
{
    for (int64_t row = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; row <= nrows;
         row += (int64_t)gridDim.x * GPU_BLOCK) {
        int64_t offset = stencil_row_offset(&s, row);

        row_ptr[row] = (OFFSET)offset;
        if (row < nrows) { stencil_row_fill(&s, row, col + offset, val + offset); }
    }
}

static tess_status launch_stencil(tess_context *ctx, const tess_stencil *s, int64_t nrows, void *row_ptr, int bits,
                                  int32_t *col, double *val)
{
    gpu_scope scope(ctx);
    unsigned grid = gpu_grid(ctx, nrows + 1, STENCIL_BLOCKS);
    GPU(Stream_t) stream = gpu_stream_of(ctx);

    if (bits == 32) {
        stencil_kernel<<<grid, GPU_BLOCK, 0, stream>>>(*s, nrows, (int32_t *)row_ptr, col, val);
    } else {
        stencil_kernel<<<grid, GPU_BLOCK, 0, stream>>>(*s, nrows, (int64_t *)row_ptr, col, val);
    }
    return gpu_check_launch(ctx, "the stencil builder");
}

static tess_status build(tess_context *ctx, const tess_stencil *stencil, tess_matrix **out)
{
    int64_t nrows = stencil->nx * stencil->ny * stencil->nz, nnz = stencil_row_offset(stencil, nrows);
    int bits = nnz > INT32_MAX ? 64 : 32;
    void *row_ptr = NULL, *col = NULL, *val = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, nrows + 1, (size_t)bits / 8, &row_ptr));
    TESS_TRY(tess_device_allocate(ctx, nnz, sizeof(int32_t), &col));
    TESS_TRY(tess_device_allocate(ctx, nnz, sizeof(double), &val));
    TESS_TRY(launch_stencil(ctx, stencil, nrows, row_ptr, bits, (int32_t *)col, (double *)val));
    return tess_matrix_adopt_device_csr(ctx, nrows, nrows, nnz, row_ptr, bits, (int32_t *)col, (double *)val, out);
cleanup:
    tess_device_release(ctx, row_ptr, nrows + 1, (size_t)bits / 8);
    tess_device_release(ctx, col, nnz, sizeof(int32_t));
    tess_device_release(ctx, val, nnz, sizeof(double));
    return status;
}

extern "C" const stencil_ops *stencil_gpu_ops(void)
{
    static const stencil_ops table = {build};

    return &table;
}
