/* SPDX-License-Identifier: Apache-2.0 */
/* The scaled probe of symmetry on the GPU. Blocks store what they found, and the host joins that, in order. */
#include "device/gpu/gpu.h"
#include "solver/symmetry.h"

namespace {

/* Blocks per multiprocessor, and in all: what they found is in the memory that host and device share. */
enum { PROBE_BLOCKS = 8, MOST_BLOCKS = 1024 };
static_assert(MOST_BLOCKS * sizeof(probe_sums) <= GPU_MAPPED_BYTES, "as many as fit");

void start(probe_sizes *s)
{
    probe_sizes_start(s);
}

void start(probe_sums *s)
{
    *s = {0.0, 0.0, 0.0};
}

TESS_HD void join(probe_sizes *s, const probe_sizes *other)
{
    probe_sizes_join(s, other);
}

TESS_HD void join(probe_sums *s, const probe_sums *other)
{
    probe_sums_join(s, other);
}

/* In a fixed order; thread 0 stores the block's. */
template <typename T>
__device__ void join_block(const T &mine, T *out)
{
    __shared__ T of_thread[GPU_BLOCK];

    of_thread[threadIdx.x] = mine;
    __syncthreads();
    for (int half = GPU_BLOCK / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) { join(&of_thread[threadIdx.x], &of_thread[threadIdx.x + half]); }
        __syncthreads();
    }
    if (threadIdx.x == 0) { out[blockIdx.x] = of_thread[0]; }
}

__global__ void __launch_bounds__(GPU_BLOCK) sizes_kernel(scaled_probe p, probe_sizes *out)
{
    probe_sizes mine;

    probe_sizes_start(&mine);
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < p.n; i += (int64_t)gridDim.x * GPU_BLOCK) {
        probe_sizes_take(&p, i, &mine);
    }
    join_block(mine, out);
}

__global__ void __launch_bounds__(GPU_BLOCK) improve_kernel(scaled_probe p, bool first)
{
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < p.n; i += (int64_t)gridDim.x * GPU_BLOCK) {
        probe_improve(&p, i, first);
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) sums_kernel(scaled_probe p, probe_sums *out)
{
    probe_sums mine = {0.0, 0.0, 0.0};

    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < p.n; i += (int64_t)gridDim.x * GPU_BLOCK) {
        probe_sums_take(&p, i, &mine);
    }
    join_block(mine, out);
}

unsigned grid_of(tess_context *ctx, const scaled_probe *p)
{
    const unsigned grid = gpu_grid(ctx, p->n, PROBE_BLOCKS);

    return grid < (unsigned)MOST_BLOCKS ? grid : (unsigned)MOST_BLOCKS;
}

/* What all blocks of a kernel find. */
template <typename T>
tess_status find(tess_context *ctx, const char *name, void (*kernel)(scaled_probe, T *), const scaled_probe *p, T *out)
{
    gpu_scope scope(ctx);
    const gpu_mapped *mapped = &gpu_state_of(ctx)->mapped;
    const unsigned grid = grid_of(ctx, p);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_launch(ctx, name, kernel, grid, 0, *p, (T *)mapped->device));
    TESS_TRY(ctx->backend->synchronize(ctx));
    start(out);
    for (unsigned block = 0; block < grid; block++) {
        join(out, (const T *)mapped->host + block);
    }
cleanup:
    return status;
}

tess_status sizes(tess_context *ctx, const scaled_probe *p, probe_sizes *out)
{
    return find(ctx, "sizes of rows", sizes_kernel, p, out);
}

tess_status improve(tess_context *ctx, const scaled_probe *p, bool first)
{
    gpu_scope scope(ctx);

    return gpu_launch(ctx, "scaling a probe", improve_kernel, grid_of(ctx, p), 0, *p, first);
}

tess_status sums(tess_context *ctx, const scaled_probe *p, probe_sums *out)
{
    return find(ctx, "sums of a probe", sums_kernel, p, out);
}

} // namespace

extern "C" const symmetry_ops *symmetry_gpu_ops(void)
{
    static const symmetry_ops table = {sizes, improve, sums};

    return &table;
}
