/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the rows that have fewer than 7 significant digits with an assignment, on the GPU. */
#include "policy/assign_device.cuh"
#include "policy/choice.h"

enum { TOGETHER = GPU_BLOCK / CHOICE_LANES /* rows of a block of threads */, BLOCKS_PER_MULTIPROCESSOR = 6 };

/* Adds the lanes of a row in the order that the header prescribes; the result is in the first. All threads of the wave
   call it. */
__device__ static inline void join_lanes(choice_sums *own)
{
#pragma unroll
    for (int half = CHOICE_LANES / 2; half > 0; half /= 2) {
        choice_sums other;

#pragma unroll
        for (int i = 0; i < CHOICE_VECTORS; i++) {
            other.value[i] = GPU_SHUFFLE_DOWN(own->value[i], half, CHOICE_LANES);
            other.error[i] = GPU_SHUFFLE_DOWN(own->error[i], half, CHOICE_LANES);
        }
        choice_join(own, &other);
    }
}

/* Atomics are on integers, so the result does not depend on their order. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    count_inaccurate_kernel(const assign_task task, int rounds, unsigned long long *inaccurate)
{
    __shared__ unsigned count[CHOICE_COUNTS];
    const int lane = (int)threadIdx.x % CHOICE_LANES;

    for (int i = (int)threadIdx.x; i < CHOICE_COUNTS; i += GPU_BLOCK) {
        count[i] = 0;
    }
    __syncthreads();
    for (int64_t first = (int64_t)blockIdx.x * TOGETHER; first < task.csr.nrows;
         first += (int64_t)gridDim.x * TOGETHER) {
        const int64_t row = first + (int)threadIdx.x / CHOICE_LANES;
        const bool there = row < task.csr.nrows;
        const int64_t start = there ? assign_row_start(&task.csr, row) : 0;
        const int64_t end = there ? assign_row_start(&task.csr, row + 1) : 0;

        for (int round = 0; round < rounds; round++) { /* the same count for all threads */
            choice_sums own = choice_start();

            for (int64_t k = start + lane; k < end; k += CHOICE_LANES) {
                choice_add(&task, round, row, k, &own);
            }
            join_lanes(&own);
#pragma unroll
            for (int i = 0; i < CHOICE_VECTORS; i++) {
                if (lane == 0 && choice_falls_short(&own, i)) { atomicAdd(&count[round * CHOICE_VECTORS + i], 1U); }
            }
        }
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < CHOICE_COUNTS; i += GPU_BLOCK) {
        if (count[i] > 0) { atomicAdd(&inaccurate[i], (unsigned long long)count[i]); }
    }
}

tess_status choice_count_gpu(tess_context *ctx, const assign_task *task, int rounds, unsigned long long *inaccurate)
{
    gpu_scope scope(ctx);
    const unsigned grid = gpu_grid(ctx, task->csr.nrows * CHOICE_LANES, BLOCKS_PER_MULTIPROCESSOR);
    double *workspace = NULL;
    tess_status status = gpu_parts(ctx, CHOICE_COUNTS, &workspace);

    if (status != TESS_SUCCESS) { return status; }
    TESS_TRY(ctx->backend->zero(ctx, workspace, CHOICE_COUNTS * sizeof *workspace));
    if (task->csr.nrows > 0) {
        count_inaccurate_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*task, rounds,
                                                                            (unsigned long long *)workspace);
        TESS_TRY(gpu_check_launch(ctx, "counting rows of few digits"));
    }
    status = ctx->backend->download(ctx, inaccurate, workspace, CHOICE_COUNTS * sizeof *workspace);
cleanup:
    return status;
}
