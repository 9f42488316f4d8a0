/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of vectors on the GPU. */
#include "device/gpu/gpu.h"
#include "precond/saddle/rows.h"

namespace {

enum { ROW_BLOCKS = 8 };

__device__ bool has_stopped(const tess_loop_state *state)
{
    return state && state->phase != TESS_LOOP_RUNNING;
}

template <class T>
__global__ void __launch_bounds__(GPU_BLOCK)
    take_kernel(int64_t n, const int32_t *rows, const T *whole, double *part, const tess_loop_state *state)
{
    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    if (has_stopped(state)) { return; }
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < n; i += (int64_t)gridDim.x * GPU_BLOCK) {
        part[i] = (double)whole[rows[i]];
    }
}

template <class T>
__global__ void __launch_bounds__(GPU_BLOCK) put_kernel(int64_t n, const int32_t *rows, double factor,
                                                        const double *part, T *whole, const tess_loop_state *state)
{
    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    if (has_stopped(state)) { return; }
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < n; i += (int64_t)gridDim.x * GPU_BLOCK) {
        whole[rows[i]] = (T)(factor * part[i]);
    }
}

tess_status take(tess_context *ctx, int64_t n, const int32_t *rows, tess_precision precision, const void *whole,
                 double *part, const tess_loop_state *state)
{
    gpu_scope scope(ctx);
    const unsigned grid = gpu_grid(ctx, n, ROW_BLOCKS);

    if (precision == TESS_PRECISION_FP64) {
        return gpu_launch(ctx, "rows of a vector", take_kernel<double>, grid, 0, n, rows, (const double *)whole, part,
                          state);
    }
    return gpu_launch(ctx, "rows of a vector", take_kernel<float>, grid, 0, n, rows, (const float *)whole, part, state);
}

tess_status put(tess_context *ctx, int64_t n, const int32_t *rows, double factor, const double *part,
                tess_precision precision, void *whole, const tess_loop_state *state)
{
    gpu_scope scope(ctx);
    const unsigned grid = gpu_grid(ctx, n, ROW_BLOCKS);

    if (precision == TESS_PRECISION_FP64) {
        return gpu_launch(ctx, "rows of a vector", put_kernel<double>, grid, 0, n, rows, factor, part, (double *)whole,
                          state);
    }
    return gpu_launch(ctx, "rows of a vector", put_kernel<float>, grid, 0, n, rows, factor, part, (float *)whole,
                      state);
}

} // namespace

extern "C" const rows_ops *rows_gpu_ops(void)
{
    static const rows_ops table = {take, put};

    return &table;
}
