/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of the caller's arrays on the GPU. */
#include "dense/columns.h"
#include "device/gpu/gpu.h"

/* Neighbouring threads have neighbouring values of `to`: of a row, or (BY_COLUMN) of a column. */
template <bool BY_COLUMN>
__global__ static void move_kernel(int64_t rows, int64_t columns, const columns_place from, const columns_place to)
{
    const int64_t all = rows * columns, step = (int64_t)gridDim.x * GPU_BLOCK, width = BY_COLUMN ? rows : columns;

    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    for (int64_t k = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; k < all; k += step) {
        const int64_t high = BY_COLUMN && columns == 1 ? 0 : k / width, low = k - high * width;
        const int64_t i = BY_COLUMN ? low : high, c = BY_COLUMN ? high : low;

        to.data[i * to.row_stride + c * to.column_stride] = from.data[i * from.row_stride + c * from.column_stride];
    }
}

static tess_status move(tess_context *ctx, int64_t rows, int64_t columns, columns_place from, columns_place to)
{
    gpu_scope scope(ctx);
    const bool by_column = columns == 1 || to.row_stride < to.column_stride;

    if (rows * columns == 0) { return TESS_SUCCESS; }
    return gpu_launch(ctx, "moving columns", by_column ? move_kernel<true> : move_kernel<false>,
                      gpu_grid(ctx, rows * columns, 8), 0, rows, columns, from, to);
}

extern "C" const columns_ops *columns_gpu_ops(void)
{
    static const columns_ops table = {move};

    return &table;
}
