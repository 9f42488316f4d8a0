/* SPDX-License-Identifier: Apache-2.0 */
/* Mean and standard deviation of magnitudes on the GPU. */
#include "policy/assign_device.cuh"
#include "policy/magnitudes.h"

enum { BLOCKS_PER_MULTIPROCESSOR = 8 };

static_assert((int)MAGNITUDE_LANES == (int)GPU_BLOCK, "a thread is a lane");

template <bool SQUARES>
__device__ static inline magnitude_sum shuffle_down(const magnitude_sum &s, int distance)
{
    magnitude_sum other = {};

    other.sum.high = GPU_SHUFFLE_DOWN(s.sum.high, distance, GPU_WAVE);
    other.sum.low = GPU_SHUFFLE_DOWN(s.sum.low, distance, GPU_WAVE);
    other.count = GPU_SHUFFLE_DOWN(s.count, distance, GPU_WAVE);
    if (SQUARES) {
        other.squares.high = GPU_SHUFFLE_DOWN(s.squares.high, distance, GPU_WAVE);
        other.squares.low = GPU_SHUFFLE_DOWN(s.squares.low, distance, GPU_WAVE);
        other.unit = GPU_SHUFFLE_DOWN(s.unit, distance, GPU_WAVE);
    }
    return other;
}

template <bool SQUARES>
__device__ static inline void join(magnitude_sum *s, const magnitude_sum &other)
{
    magnitude_join(s, &other);
    if (SQUARES) { magnitude_join_squares(s, &other); }
}

/* All threads of a block call it; adds in the order that the header prescribes. The result is in thread 0. */
template <bool SQUARES>
__device__ static inline void join_lanes(magnitude_sum *own)
{
    __shared__ magnitude_sum lane[MAGNITUDE_LANES / 2];
    int j = (int)threadIdx.x;

    for (int half = MAGNITUDE_LANES / 2; half >= GPU_WAVE; half /= 2) {
        if (j >= half && j < 2 * half) { lane[j - half] = *own; }
        __syncthreads();
        if (j < half) { join<SQUARES>(own, lane[j]); }
        __syncthreads();
    }
    if (j < GPU_WAVE) {
#pragma unroll
        for (int half = GPU_WAVE / 2; half > 0; half /= 2) {
            magnitude_sum other = shuffle_down<SQUARES>(*own, half);

            join<SQUARES>(own, other);
        }
    }
}

/* The squares of a lane's entries of a tile. */
__device__ static inline void add_squares(const double (&value)[MAGNITUDE_STEPS], magnitude_sum *own)
{
    double largest = 0.0, scale;

#pragma unroll
    for (int i = 0; i < MAGNITUDE_STEPS; i++) {
        double magnitude = magnitude_of(value[i]);

        largest = magnitude > largest ? magnitude : largest;
    }
    own->unit = magnitude_unit(largest);
    scale = magnitude_scale(own->unit);
#pragma unroll
    for (int i = 0; i < MAGNITUDE_STEPS; i++) {
        magnitude_add_square(&own->squares, magnitude_of(value[i]) * scale);
    }
}

template <bool SQUARES>
__global__ static void __launch_bounds__(GPU_BLOCK)
    sum_tiles_kernel(const assign_task task, int64_t ntiles, magnitude_sum *tile)
{
    for (int64_t t = blockIdx.x; t < ntiles; t += gridDim.x) {
        magnitude_sum own = magnitude_start();
        double value[MAGNITUDE_STEPS];

#pragma unroll
        for (int i = 0; i < MAGNITUDE_STEPS; i++) { /* all loads at once */
            int64_t k = t * MAGNITUDE_TILE + i * MAGNITUDE_LANES + threadIdx.x;

            value[i] = k < task.csr.nnz && !assign_skips(task.skip, k) ? assign_value(&task.csr, k) : 0.0;
        }
#pragma unroll
        for (int i = 0; i < MAGNITUDE_STEPS; i++) {
            double magnitude = magnitude_of(value[i]);

            tess_two_word_add(&own.sum, magnitude);
            own.count += magnitude > 0.0;
        }
        if (SQUARES) { add_squares(value, &own); }
        join_lanes<SQUARES>(&own);
        if (threadIdx.x == 0) { tile[t] = own; }
    }
}

/* One block: the sum over the tiles, then the values that later passes need. */
template <bool SQUARES>
__global__ static void __launch_bounds__(GPU_BLOCK)
    find_ranges_kernel(const assign_task task, int64_t ntiles, const magnitude_sum *tile, assign_totals *totals)
{
    magnitude_sum own = magnitude_start();

#pragma unroll 4
    for (int64_t t = threadIdx.x; t < ntiles; t += MAGNITUDE_LANES) {
        join<SQUARES>(&own, tile[t]);
    }
    join_lanes<SQUARES>(&own);
    if (threadIdx.x > 0) { return; }
    memset(totals, 0, sizeof *totals);
    magnitude_ranges(&task, &own, totals);
}

template <bool SQUARES>
static tess_status launch(tess_context *ctx, const assign_task *task, int64_t ntiles, assign_totals *totals)
{
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    const int64_t most = (int64_t)gpu_state_of(ctx)->multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    magnitude_sum *tile = (magnitude_sum *)(totals + 1);
    tess_status status = TESS_SUCCESS;

    if (ntiles > 0) {
        sum_tiles_kernel<SQUARES>
            <<<(unsigned)(ntiles < most ? ntiles : most), GPU_BLOCK, 0, stream>>>(*task, ntiles, tile);
        TESS_TRY(gpu_check_launch(ctx, "adding up magnitudes"));
    }
    find_ranges_kernel<SQUARES><<<1, GPU_BLOCK, 0, stream>>>(*task, ntiles, tile, totals);
    TESS_TRY(gpu_check_launch(ctx, "finding the range of each precision"));
cleanup:
    return status;
}

static int64_t count_tiles(const assign_task *task)
{
    return magnitude_is_asked(task->policy) ? (task->csr.nnz + MAGNITUDE_TILE - 1) / MAGNITUDE_TILE : 0;
}

int64_t magnitudes_words(const assign_task *task)
{
    return (int64_t)(sizeof(assign_totals) + (size_t)count_tiles(task) * sizeof(magnitude_sum)) / 8;
}

tess_status magnitudes_launch(tess_context *ctx, const assign_task *task, assign_totals *totals)
{
    return task->policy == TESS_POLICY_MEAN_3STD ? launch<true>(ctx, task, count_tiles(task), totals)
                                                 : launch<false>(ctx, task, count_tiles(task), totals);
}
