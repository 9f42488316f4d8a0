/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels over vectors of several columns, by rows (base/fused.h). A thread keeps its columns: one, that of its number
 * modulo the number of columns, a power of two up to the threads of a wave; or V of them, to read 16 bytes at a time.
 * Every kernel finishes its own reduction: threads of one column add up, then waves, then blocks, always in the same
 * order; the last block runs the scalar updates.
 */
#ifndef TESS_DEVICE_GPU_COLUMNS_CUH
#define TESS_DEVICE_GPU_COLUMNS_CUH

#include "device/gpu/reduce.cuh"

static_assert((int)TESS_MAX_COLUMNS <= (int)GPU_WAVE, "the threads of a wave have all columns");

/* Columns of a thread in products and preconditioners, where they are a multiple of it. */
enum { COLUMNS_EACH = 4 };

/* V columns of a row. */
template <typename VECTOR, int V>
struct alignas(V * sizeof(VECTOR) < 16 ? V * sizeof(VECTOR) : 16) columns_pack {
    VECTOR value[V];
};

template <int V, typename VECTOR>
__device__ static inline columns_pack<VECTOR, V> pack_at(const VECTOR *x)
{
    return *(const columns_pack<VECTOR, V> *)(const void *)x;
}

/* The argument of kernels over several columns. */
struct columns_target {
    tess_loop_state *state; /* one for each column; NULL: not in a loop */
    int columns;
    bool finishing;   /* runs also in phase FINISHING */
    double *partials; /* of a reduction: ndots * gridDim.x * columns */
    unsigned *ticket;
    tess_scalar_update scalar;
};

/* The column of this thread. */
__device__ static inline int column_of_thread(const columns_target &target)
{
    return (int)threadIdx.x & (target.columns - 1);
}

/* As loop_enter, for the thread's column. Kernels that reduce go on whatever the result. */
__device__ static inline bool column_enter(const columns_target &target, bool reduces, tess_scalars *scalars)
{
    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    if (!target.state) { return true; }
    tess_loop_state *state = &target.state[column_of_thread(target)];
    const int phase = state->phase;

    scalars->alpha = state->alpha;
    scalars->beta = state->beta;
    scalars->omega = state->omega;
    if (phase == TESS_LOOP_RUNNING || (phase == TESS_LOOP_FINISHING && target.finishing)) { return true; }
    /* Other threads see one phase or the other: the column runs in neither. */
    if (reduces && phase == TESS_LOOP_FINISHING && blockIdx.x == 0 && (int)threadIdx.x < target.columns) {
        state->phase = TESS_LOOP_STOPPED;
    }
    return false;
}

/* The V neighbouring columns of this thread among those of a row. */
template <int V>
struct thread_columns {
    int columns, first;
    unsigned running; /* bit w: column first + w */

    /* After column_enter. */
    __device__ explicit inline thread_columns(const columns_target &target)
        : columns(target.columns), first(((int)threadIdx.x & (target.columns / V - 1)) * V), running(0U)
    {
#pragma unroll
        for (int w = 0; w < V; w++) {
            const int phase = target.state ? target.state[first + w].phase : TESS_LOOP_RUNNING;

            running |= (phase == TESS_LOOP_RUNNING || (phase == TESS_LOOP_FINISHING && target.finishing) ? 1U : 0U)
                       << w;
        }
    }

    __device__ inline bool runs(int w) const
    {
        return (running >> w & 1U) != 0U;
    }

    __device__ inline bool any() const
    {
        return running != 0U;
    }

    /* Writes the columns that run to a row of x, from the thread's first one on. */
    template <typename VECTOR>
    __device__ inline void put(VECTOR *x, const columns_pack<VECTOR, V> &pack) const
    {
        if (running == (1U << V) - 1U) {
            *(columns_pack<VECTOR, V> *)(void *)x = pack;
            return;
        }
#pragma unroll
        for (int w = 0; w < V; w++) {
            if (runs(w)) { x[w] = pack.value[w]; }
        }
    }

    /* Sums as column_grid_reduce takes them: the wave's, in the thread of each column, and 0 in others. All threads
       call it. */
    template <int N>
    __device__ inline void give_sums(const double (&value)[V][N], double (&own)[N]) const
    {
        const int lane = (int)threadIdx.x % GPU_WAVE;

#pragma unroll
        for (int k = 0; k < N; k++) {
            own[k] = 0.0;
#pragma unroll
            for (int w = 0; w < V; w++) {
                const double sum = lanes_sum_down(value[w][k], GPU_WAVE, columns / V);
                const double given = GPU_SHUFFLE(sum, lane / V, GPU_WAVE);

                if (lane < columns && lane % V == w) { own[k] = given; }
            }
        }
    }
};

/* The block's sums by column; those of column c are in thread c. All threads call it. */
template <int N>
__device__ static inline void column_block_sum(double (&value)[N], int columns)
{
    __shared__ double wave_sum[N][GPU_BLOCK / GPU_WAVE][TESS_MAX_COLUMNS];
    const int lane = (int)threadIdx.x % GPU_WAVE, wave = (int)threadIdx.x / GPU_WAVE;

#pragma unroll
    for (int k = 0; k < N; k++) {
        value[k] = lanes_sum_down(value[k], GPU_WAVE, columns);
        if (lane < columns) { wave_sum[k][wave][lane] = value[k]; }
    }
    __syncthreads();
    if ((int)threadIdx.x < columns) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            double sum = 0.0;

#pragma unroll
            for (int w = 0; w < GPU_BLOCK / GPU_WAVE; w++) {
                sum += wave_sum[k][w][threadIdx.x];
            }
            value[k] = sum;
        }
    }
    __syncthreads(); /* the memory is free again */
}

/* Adds up the partial sums of all blocks. */
template <int N>
__device__ static inline void column_sum_partials(const columns_target &target, double (&value)[N])
{
    const int64_t all = (int64_t)gridDim.x * target.columns;

#pragma unroll
    for (int k = 0; k < N; k++) {
        value[k] = 0.0;
    }
#pragma unroll 8
    for (int64_t i = threadIdx.x; i < all; i += GPU_BLOCK) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            value[k] += GPU_LOAD_L2(&target.partials[k * all + i]);
        }
    }
    column_block_sum(value, target.columns);
}

/* All threads of all blocks call this once with their own sums and what column_enter returned. */
template <int N>
__device__ static inline void column_grid_reduce(double (&value)[N], bool runs, const columns_target &target)
{
    const int c = (int)threadIdx.x;

    column_block_sum(value, target.columns);
    if (gridDim.x > 1) {
        for (int k = 0; k < N && c < target.columns; k++) {
            target.partials[((int64_t)k * gridDim.x + blockIdx.x) * target.columns + c] = value[k];
        }
        __syncthreads();
        if (!is_last_block(target.ticket)) { return; }
        column_sum_partials(target, value);
    }
    if (c == 0) { *target.ticket = 0; }
    if (c >= target.columns || !runs) { return; }
    for (int k = 0; k < N; k++) {
        target.state[c].dots[k] = value[k];
    }
    run_pass_update(target.scalar, &target.state[c]);
}

/* The target for a kernel of `blocks` blocks with ndots sums by column. No loop of several columns defers reductions.
 */
static inline tess_status prepare_columns(tess_context *ctx, int64_t blocks, int ndots, tess_scalar_update scalar,
                                          columns_target *target)
{
    target->ticket = gpu_state_of(ctx)->ticket;
    target->scalar = ndots > 0 ? scalar : TESS_SCALAR_NONE;
    target->partials = NULL;
    if (ndots == 0) { return TESS_SUCCESS; }
    return gpu_partials(ctx, blocks * ndots * target->columns, &target->partials);
}

/* A fused operation on several columns (columns_device.cu). */
tess_status gpu_fused_columns(tess_context *ctx, const tess_fused *op);

#endif
