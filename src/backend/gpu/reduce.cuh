/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions over a grid in a fixed order: each block writes its partial sums, the block that comes last adds them all
 * (always in the same order, whichever block it is) and runs the scalar step.
 */
#ifndef TESS_BACKEND_GPU_REDUCE_CUH
#define TESS_BACKEND_GPU_REDUCE_CUH

#include "backend/gpu/gpu.h"
#include "dense/fused_bodies.h"
#include "solver/steps.h"

/* What a reducing kernel gets as an argument. */
struct reduce_target {
    double *partials; /* ndots * gridDim.x */
    unsigned *ticket;
    tess_loop_state *state;
    tess_step step;
};

/*
 * Waits for the kernel before and reads the loop's phase and scalars in one go. False: this kernel must not run; a
 * reducing one then completes the phase FINISHING.
 */
__device__ static inline bool loop_enter(tess_loop_state *state, bool finishing, bool reduces, tess_scalars *scalars)
{
    int phase = TESS_LOOP_RUNNING;

    GPU_LET_NEXT_START();
    GPU_WAIT_FOR_PREVIOUS();
    if (state) {
        /* Cached loads: the state is one line that every wave reads, and the kernel before has finished with it. */
        phase = state->phase;
        scalars->alpha = state->alpha;
        scalars->beta = state->beta;
        scalars->omega = state->omega;
    }
    if (phase == TESS_LOOP_RUNNING || (phase == TESS_LOOP_FINISHING && finishing)) { return true; }
    if (reduces && phase == TESS_LOOP_FINISHING && blockIdx.x == 0 && threadIdx.x == 0) {
        state->phase = TESS_LOOP_STOPPED;
    }
    return false;
}

/* Sums over the threads of a block; the result is in thread 0. */
template <int N>
__device__ static inline void block_sum(double (&value)[N])
{
    __shared__ double wave_sum[N][GPU_BLOCK / GPU_WAVE];
    int lane = (int)threadIdx.x % GPU_WAVE, wave = (int)threadIdx.x / GPU_WAVE;

#pragma unroll
    for (int k = 0; k < N; k++) {
#pragma unroll
        for (int distance = GPU_WAVE / 2; distance > 0; distance /= 2) {
            value[k] += GPU_SHUFFLE_DOWN(value[k], distance, GPU_WAVE);
        }
        if (lane == 0) { wave_sum[k][wave] = value[k]; }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            double sum = 0.0;

#pragma unroll
            for (int w = 0; w < GPU_BLOCK / GPU_WAVE; w++) { sum += wave_sum[k][w]; }
            value[k] = sum;
        }
    }
}

/* True in every thread of the block that is the last to get here. */
__device__ static inline bool is_last_block(unsigned *ticket)
{
    __shared__ bool last;

    if (threadIdx.x == 0) {
        last = gpu_count_up(ticket) == gridDim.x - 1;
    }
    __syncthreads();
    return last;
}

/* All threads of all blocks call this once with their own sums. */
template <int N>
__device__ static inline void grid_reduce(double (&value)[N], const reduce_target &target)
{
    block_sum(value);
    if (gridDim.x > 1) {
        if (threadIdx.x == 0) {
            for (int k = 0; k < N; k++) { target.partials[(int64_t)k * gridDim.x + blockIdx.x] = value[k]; }
        }
        if (!is_last_block(target.ticket)) { return; }
#pragma unroll
        for (int k = 0; k < N; k++) {
            value[k] = 0.0;
#pragma unroll 4
            for (unsigned b = threadIdx.x; b < gridDim.x; b += GPU_BLOCK) {
                value[k] += GPU_LOAD_L2(&target.partials[(int64_t)k * gridDim.x + b]);
            }
        }
        __syncthreads();
        block_sum(value);
    }
    if (threadIdx.x == 0) {
        for (int k = 0; k < N; k++) { target.state->dots[k] = value[k]; }
        *target.ticket = 0;
        run_step(target.step, target.state);
    }
}

/* Fills the target for a kernel of `blocks` blocks with ndots sums. */
static inline tess_status prepare_reduction(tess_context *ctx, int64_t blocks, int ndots, tess_step step,
                                            tess_loop_state *state, reduce_target *target)
{
    target->ticket = gpu_state_of(ctx)->ticket;
    target->state = state;
    target->step = step;
    target->partials = NULL;
    return ndots > 0 ? gpu_partials(ctx, blocks * ndots, &target->partials) : TESS_SUCCESS;
}

#endif
