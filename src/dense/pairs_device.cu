/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over complex vectors on the GPU. Blocks store their sums, which the host adds in order. */
#include "dense/pairs.h"
#include "device/gpu/gpu.h"

namespace {

/* Blocks per multiprocessor, and in all: their sums are in the memory that host and device share. */
enum { PAIR_BLOCKS = 4, MOST_BLOCKS = 1024 };
static_assert(MOST_BLOCKS * PAIRS_MOST * sizeof(pair) <= GPU_MAPPED_BYTES, "as many as fit");

__global__ void __launch_bounds__(GPU_BLOCK) combine_kernel(pair_combination c)
{
    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < c.n; i += (int64_t)gridDim.x * GPU_BLOCK) {
        pair_combine(&c, i);
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) turn_kernel(int64_t n, const double *d, const double *x, double *y)
{
    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < n; i += (int64_t)gridDim.x * GPU_BLOCK) {
        pair_turn(d, x, y, i);
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) products_kernel(pair_products p, pair *out)
{
    __shared__ pair of_thread[GPU_BLOCK];
    pair mine[PAIRS_MOST] = {};

    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < p.n; i += (int64_t)gridDim.x * GPU_BLOCK) {
        pair_multiply(&p, i, mine);
    }
    for (int j = 0; j < PAIRS_MOST; j++) {
        __syncthreads();
        of_thread[threadIdx.x] = mine[j];
        __syncthreads();
        for (int half = GPU_BLOCK / 2; half > 0; half /= 2) {
            if ((int)threadIdx.x < half) {
                of_thread[threadIdx.x].re += of_thread[threadIdx.x + half].re;
                of_thread[threadIdx.x].im += of_thread[threadIdx.x + half].im;
            }
            __syncthreads();
        }
        if (threadIdx.x == 0) { out[(int64_t)blockIdx.x * PAIRS_MOST + j] = of_thread[0]; }
    }
}

unsigned grid_of(tess_context *ctx, int64_t n)
{
    const unsigned grid = gpu_grid(ctx, n, PAIR_BLOCKS);

    return grid < (unsigned)MOST_BLOCKS ? grid : (unsigned)MOST_BLOCKS;
}

tess_status combine(tess_context *ctx, const pair_combination *c)
{
    gpu_scope scope(ctx);

    return gpu_launch(ctx, "a combination of complex vectors", combine_kernel, grid_of(ctx, c->n), 0, *c);
}

tess_status products(tess_context *ctx, const pair_products *p, pair *sums)
{
    gpu_scope scope(ctx);
    const gpu_mapped *mapped = &gpu_state_of(ctx)->mapped;
    const unsigned grid = grid_of(ctx, p->n);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_launch(ctx, "complex inner products", products_kernel, grid, 0, *p, (pair *)mapped->device));
    TESS_TRY(ctx->backend->synchronize(ctx));
    for (int j = 0; j < p->count; j++) {
        sums[j] = {0.0, 0.0};
        for (unsigned block = 0; block < grid; block++) {
            sums[j].re += ((const pair *)mapped->host)[block * PAIRS_MOST + j].re;
            sums[j].im += ((const pair *)mapped->host)[block * PAIRS_MOST + j].im;
        }
    }
cleanup:
    return status;
}

tess_status turn(tess_context *ctx, int64_t n, const double *d, const double *x, double *y)
{
    gpu_scope scope(ctx);

    return gpu_launch(ctx, "turning a complex vector", turn_kernel, grid_of(ctx, n), 0, n, d, x, y);
}

} // namespace

extern "C" const pairs_ops *pairs_gpu_ops(void)
{
    static const pairs_ops table = {combine, products, turn};

    return &table;
}
