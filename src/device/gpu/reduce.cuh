/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions over a grid in a fixed order. Each block writes its partial sums. Within a loop, every block of the next
 * kernel adds them all (always in the same order) and runs the scalar update before its own work. Outside a loop, the
 * last block adds them, and a kernel of one thread runs the update. Updates have more code than most kernels, so a
 * kernel contains that code only if it needs it.
 */
#ifndef TESS_DEVICE_GPU_REDUCE_CUH
#define TESS_DEVICE_GPU_REDUCE_CUH

#include "device/fused_bodies.h"
#include "device/gpu/gpu.h"
#include "device/gpu/wave_sums.cuh"
#include "device/run_scalar_update.h"

/* The argument of a reducing kernel. */
struct reduce_target {
    double *partials; /* ndots * gridDim.x */
    unsigned *ticket; /* NULL: the next kernel finishes the reduction */
    tess_loop_state *state;
    tess_scalar_update scalar;
    int ndots; /* a kernel may be compiled for more */
};

/* The argument of every kernel of a loop: the state, and a reduction to finish first. */
struct loop_predicate {
    tess_loop_state *state;      /* NULL: not in a loop */
    tess_loop_state *state_next; /* where the state is stored if there is a reduction to finish */
    gpu_pending pending;
    bool finishing; /* the kernel runs also in phase FINISHING */
    tess_phase phase;
    tess_phase_clock *clock; /* NULL: time is not measured */
};

/* The predicate of another kernel in the same state. */
static inline loop_predicate at_phase(loop_predicate predicate, tess_phase phase)
{
    predicate.phase = phase;
    return predicate;
}

/* Sums over the threads of a block, in the arithmetic REAL; the result is in thread 0. */
template <typename REAL, int N>
__device__ static inline void block_sum(REAL (&value)[N])
{
    __shared__ REAL wave_sum[N][GPU_BLOCK / GPU_WAVE];
    int lane = (int)threadIdx.x % GPU_WAVE, wave = (int)threadIdx.x / GPU_WAVE;

#pragma unroll
    for (int k = 0; k < N; k++) {
        value[k] = lanes_sum_down(value[k], GPU_WAVE);
        if (lane == 0) { wave_sum[k][wave] = value[k]; }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            REAL sum = 0;

#pragma unroll
            for (int w = 0; w < GPU_BLOCK / GPU_WAVE; w++) {
                sum += wave_sum[k][w];
            }
            value[k] = sum;
        }
    }
}

/* Adds up `count` partial sums of `ndots` dot products, at most N, always in the same order; the result is in thread 0.
 */
template <typename REAL, int N>
__device__ static inline void sum_partials(const double *partials, unsigned count, REAL (&value)[N], int ndots = N)
{
#pragma unroll
    for (int k = 0; k < N; k++) {
        value[k] = 0;
        if (k >= ndots) { break; }
#pragma unroll 4
        for (unsigned b = threadIdx.x; b < count; b += GPU_BLOCK) {
            value[k] += (REAL)GPU_LOAD_L2(&partials[(int64_t)k * count + b]);
        }
    }
    block_sum(value);
}

/*
 * Finishes the pending reduction: every block computes the same new state in its own memory, and the first one stores
 * it for later kernels. If the kernel that should have written the sums was skipped, the phase FINISHING is over.
 */
__device__ static inline const tess_loop_state *finish_pending(const loop_predicate &predicate)
{
    enum { WORDS = sizeof(tess_loop_state) / sizeof(int64_t) };
    __shared__ tess_loop_state local;
    double dots[2] = {0.0, 0.0};

    /* Many threads copy the state while the partial sums are being loaded: a single thread would take longer than the
       sums. */
    if (threadIdx.x < WORDS) { ((int64_t *)&local)[threadIdx.x] = ((const int64_t *)predicate.state)[threadIdx.x]; }
    if (predicate.pending.ndots == 2) {
        sum_partials(predicate.pending.partials, predicate.pending.count, dots);
    } else {
        double dot[1];

        sum_partials(predicate.pending.partials, predicate.pending.count, dot);
        dots[0] = dot[0];
    }
    if (threadIdx.x == 0) { /* block_sum has synchronised the block */
        double *history = local.history;

        if (blockIdx.x > 0) { local.history = NULL; } /* one block writes it */
        if (local.phase == TESS_LOOP_RUNNING) {
            for (int k = 0; k < predicate.pending.ndots; k++) {
                local.dots[k] = dots[k];
            }
            run_pass_update(predicate.pending.scalar, &local);
        } else {
            local.phase = TESS_LOOP_STOPPED;
        }
        local.history = history;
    }
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x < WORDS) {
        ((int64_t *)predicate.state_next)[threadIdx.x] = ((const int64_t *)&local)[threadIdx.x];
    }
    return &local;
}

/* Waits for the previous kernel (unless this one was launched beside it), updates the loop's state (unless the
   predicate is settled) and reads the scalars that kernels need. False: this kernel must not run. */
template <bool SETTLED>
__device__ static inline bool loop_enter(const loop_predicate &predicate, bool reduces, tess_scalars *scalars,
                                         bool beside = false)
{
    const tess_loop_state *state = predicate.state;

    if (!beside) { GPU_WAIT_FOR_PREVIOUS(); }
    GPU_LET_NEXT_START();
    if (!state) { return true; }
    if (!SETTLED && predicate.pending.ndots > 0) { state = finish_pending(predicate); }
    /* Cached loads: every wave reads this line, and the previous kernel has finished with it. */
    int phase = state->phase;

    scalars->alpha = state->alpha;
    scalars->beta = state->beta;
    scalars->omega = state->omega;
    if (phase == TESS_LOOP_RUNNING || (phase == TESS_LOOP_FINISHING && predicate.finishing)) {
        if (predicate.clock && blockIdx.x == 0 && threadIdx.x == 0) {
            phase_stamp(predicate.clock, predicate.phase, GPU_NANOSECONDS());
        }
        return true;
    }
    if (reduces && phase == TESS_LOOP_FINISHING && blockIdx.x == 0 && threadIdx.x == 0 &&
        predicate.pending.ndots == 0) {
        predicate.state->phase = TESS_LOOP_STOPPED;
    }
    return false;
}

/* True in every thread of the last block to arrive. */
__device__ static inline bool is_last_block(unsigned *ticket)
{
    __shared__ bool last;

    if (threadIdx.x == 0) { last = gpu_count_up(ticket) == gridDim.x - 1; }
    __syncthreads();
    return last;
}

/* All threads of all blocks call this once with their own sums: N, or the target's number if that is less. FP32 sums
   stay FP32, except in memory. */
template <typename REAL, int N>
__device__ static inline void grid_reduce(REAL (&value)[N], const reduce_target &target)
{
    block_sum(value);
    if (gridDim.x > 1 || !target.ticket) {
        if (threadIdx.x == 0) {
            for (int k = 0; k < N && k < target.ndots; k++) {
                target.partials[(int64_t)k * gridDim.x + blockIdx.x] = value[k];
            }
        }
        if (!target.ticket || !is_last_block(target.ticket)) { return; }
        sum_partials(target.partials, gridDim.x, value, target.ndots);
    }
    if (threadIdx.x == 0) {
        for (int k = 0; k < N && k < target.ndots; k++) {
            target.state->dots[k] = value[k];
        }
        *target.ticket = 0;
    }
}

/* Whether `state` belongs to the loop that runs or is recorded. */
static inline bool is_deferred(const tess_context *ctx, const tess_loop_state *state)
{
    return state && gpu_state_of(ctx)->deferring == state;
}

/* The predicate of a kernel of the loop with `state`. Within the loop it takes over the pending reduction. */
static inline loop_predicate make_predicate(tess_context *ctx, tess_loop_state *state, bool finishing)
{
    gpu_state *gpu = gpu_state_of(ctx);
    loop_predicate predicate = {state, NULL, {NULL, 0, 0, TESS_SCALAR_NONE}, finishing, ctx->phase, ctx->clock};

    if (!is_deferred(ctx, state)) { return predicate; }
    predicate.state = gpu->state_now;
    if (gpu->pending.ndots > 0) {
        predicate.pending = gpu->pending;
        predicate.state_next = gpu->state_next;
        gpu->pending.ndots = 0;
        gpu->state_next = gpu->state_now;
        gpu->state_now = predicate.state_next;
    }
    return predicate;
}

/* Launches a kernel that only finishes the predicate's pending reduction (loop.cu). */
tess_status gpu_settle(tess_context *ctx, const loop_predicate &predicate);
/* Launches a kernel that runs the scalar update, unless the loop has ended (loop.cu). */
tess_status gpu_run_scalar_update(tess_context *ctx, tess_scalar_update scalar, tess_loop_state *state);

/* A predicate without a pending reduction, for kernels that have no registers for one: a small kernel finishes the
   reduction first. */
static inline tess_status make_settled_predicate(tess_context *ctx, tess_loop_state *state, bool finishing,
                                                 loop_predicate *predicate)
{
    tess_status status = TESS_SUCCESS;

    *predicate = make_predicate(ctx, state, finishing);
    if (predicate->pending.ndots > 0) {
        status = gpu_settle(ctx, *predicate);
        *predicate = make_predicate(ctx, state, finishing);
    }
    return status;
}

static inline tess_status make_settled_predicate(tess_context *ctx, tess_loop_state *state, loop_predicate *predicate)
{
    return make_settled_predicate(ctx, state, false, predicate);
}

/* Fills the target for a kernel of `blocks` blocks with ndots sums; call it after make_predicate. Within a loop the
   reduction becomes the pending one. Partial sums then use two halves of their workspace in turn, because the kernel
   still reads the previous sums. Other reductions meanwhile leave the pending one's half alone. */
static inline tess_status prepare_reduction(tess_context *ctx, int64_t blocks, int ndots, tess_scalar_update scalar,
                                            tess_loop_state *state, reduce_target *target)
{
    gpu_state *gpu = gpu_state_of(ctx);
    bool deferred = is_deferred(ctx, state);
    tess_status status = TESS_SUCCESS;

    target->ticket = deferred ? NULL : gpu->ticket;
    target->state = state;
    target->scalar = ndots > 0 ? scalar : TESS_SCALAR_NONE;
    target->ndots = ndots;
    target->partials = NULL;
    if (ndots == 0) { return TESS_SUCCESS; }
    status = gpu_partials(ctx, blocks * ndots * 2, &target->partials);
    if (status != TESS_SUCCESS) { return status; }
    if (!gpu->upper_half) { target->partials += gpu->partials.bytes / (int64_t)(2 * sizeof(double)); }
    if (!deferred) { return status; }
    gpu->upper_half = !gpu->upper_half;
    gpu->pending.partials = target->partials;
    gpu->pending.count = (unsigned)blocks;
    gpu->pending.ndots = ndots;
    gpu->pending.scalar = scalar;
    return TESS_SUCCESS;
}

/* After the launch for the target, with its status: runs the scalar update if no later kernel does. */
static inline tess_status end_reduction(tess_context *ctx, tess_status launched, const reduce_target &target)
{
    if (launched != TESS_SUCCESS || !target.ticket || target.scalar == TESS_SCALAR_NONE) { return launched; }
    return gpu_run_scalar_update(ctx, target.scalar, target.state);
}

#endif
