/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles times a vector on the GPU, for any layout: how waves take block rows. A block row has a thread for each row, or
 * two if block rows are long; a wave has one or two block rows. The records of a few block rows at a time are copied to
 * shared memory while the wave works on the previous ones; waves do not wait for one another. Records that do not fit
 * are read from memory. One thread sums a row, or two threads whose sums are added, in a fixed order.
 *
 * BLOCK_ROWS is defined by a layout: ROWS, SPLIT (threads of a row), and
 *   template <bool STAGED, typename VECTOR>
 *   static double sum(view, plan, lanes, has, block_row, record, args), the sum of the lane's row, or its part of it
 */
#ifndef TESS_FORMAT_TILES_TILES_BLOCK_ROWS_CUH
#define TESS_FORMAT_TILES_TILES_BLOCK_ROWS_CUH

#include "device/gpu/reduce.cuh"
#include "format/row_epilogue.h"
#include "format/tiles/tiles_stretch.cuh"

enum {
    WAVES = GPU_BLOCK / GPU_WAVE,
    BLOCKS = 3 /* resident blocks per multiprocessor, for which registers must suffice */
};

/* How the sums are used. */
struct block_rows_output {
    bool stores; /* y is the plain sum, without further operations */
    bool steps;  /* of a polynomial */
};

/* ---- the kernel ---- */

template <typename VECTOR, int NDOTS>
__device__ static inline void finish(const tess_spmv_args &args, const block_rows_output &output, int64_t row,
                                     double sum, double *dots)
{
    constexpr bool FP32 = sizeof(VECTOR) == sizeof(float);

    if (NDOTS == 0 && output.stores) {
        if constexpr (FP32) {
            args.y_fp32[row] = (float)sum;
        } else {
            args.y[row] = sum;
        }
    } else if (NDOTS == 0 && (FP32 || output.steps)) {
        spmv_finish_step(&args, FP32, row, sum);
    } else {
        finish_row<NDOTS>(args, row, sum, dots);
    }
}

/* All block rows of a stretch; block row 0's record is at `records`. */
template <typename BLOCK_ROWS, bool STAGED, typename VECTOR, int NDOTS>
__device__ static __forceinline__ void work_on(const tiles_view &v, const block_rows_plan &plan, int32_t first,
                                               const stretch &own, const char *records, const tess_spmv_args &args,
                                               const block_rows_output &output, double *dots)
{
    constexpr int ROWS = BLOCK_ROWS::ROWS, SPLIT = BLOCK_ROWS::SPLIT, AT_ONCE = GPU_WAVE / (ROWS * SPLIT);
    const tiles_lanes<ROWS> at;
    const uint32_t origin = own.start_of(0);

#pragma unroll 1
    for (int s = 0; s < plan.block_rows; s += AT_ONCE) {
        const int mine = s + at.shift / (ROWS * SPLIT);
        const int32_t block_row = first + mine;
        const int row = block_row * ROWS + at.lane;
        const bool has = block_row < (int)v.nblock_rows;
        const uint32_t start = own.start_of(has ? mine : 0);
        double sum = BLOCK_ROWS::template sum<STAGED, VECTOR>(v, plan, at, has, block_row,
                                                              records + (int64_t)(start - origin) * TILES_UNIT, args);

        if (SPLIT == 2) { sum += GPU_SHUFFLE_XOR(sum, ROWS); }
        if (has && row < (int)v.nrows && at.shift / ROWS % SPLIT == 0) {
            finish<VECTOR, NDOTS>(args, output, row, sum, dots);
        }
    }
}

template <typename BLOCK_ROWS, typename VECTOR, int NDOTS>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, BLOCKS)
    block_rows_kernel(const tiles_view v, const block_rows_plan plan, const block_rows_output output,
                      const tess_spmv_args args, const loop_predicate predicate, const reduce_target target)
{
    extern __shared__ __align__(128) char stages[];
    __shared__ gpu_arrival arrivals[WAVES][MAX_STAGES];
    const int wave = (int)threadIdx.x / GPU_WAVE;
    const int step = (int)gridDim.x * WAVES * plan.block_rows,
              nblock_rows = (int)v.nblock_rows; /* 3 steps + nblock_rows is below 2^31 */
    int first = ((int)blockIdx.x * WAVES + wave) * plan.block_rows;
    char *const own_stages = stages + wave * plan.stages * plan.capacity;
    const bool doubled = plan.stages == MAX_STAGES;
    stretch own, coming, after;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;
    uint32_t parities = 0; /* bit s: parity of the next arrival at stage s */
    bool runs;

    own.find(v, plan, first);
    coming.find(v, plan, first + step);
#if GPU_HAS_BULK_COPY
    if (threadIdx.x % GPU_WAVE == 0) {
        for (int s = 0; s < MAX_STAGES; s++) {
            gpu_arrival_create(&arrivals[wave][s]);
        }
    }
    GPU_SYNC_WAVE();
#endif
    own.request(v, plan, first, own_stages, &arrivals[wave][0]);
    if (doubled) { coming.request(v, plan, first + step, own_stages + plan.capacity, &arrivals[wave][1]); }
    /* No kernel of a loop writes the data loaded so far; x comes from the previous kernel. */
    runs = loop_enter<true>(predicate, NDOTS > 0, &scalars);
    for (int stage = 0; first < nblock_rows; first += step, stage ^= doubled ? 1 : 0) {
        char *const at = own_stages + stage * plan.capacity;

        after.find(v, plan, first + 2 * step);
        own.await(&arrivals[wave][stage], &parities, stage);
        if (runs) {
            if (own.staged) {
                work_on<BLOCK_ROWS, true, VECTOR, NDOTS>(v, plan, first, own, at + own.bytes_into_line(), args, output,
                                                         dots);
            } else {
                work_on<BLOCK_ROWS, false, VECTOR, NDOTS>(
                    v, plan, first, own, v.record + (int64_t)own.start_of(0) * TILES_UNIT, args, output, dots);
            }
            GPU_SYNC_WAVE();
            if (doubled) {
                after.request(v, plan, first + 2 * step, at, &arrivals[wave][stage]);
            } else {
                coming.request(v, plan, first + step, at, &arrivals[wave][stage]);
            }
        } else if (stage == 1 || !doubled) { /* the requested records have arrived */
            return;
        }
        own = coming;
        coming = after;
    }
    if (NDOTS > 0 && runs) { grid_reduce(dots, target); }
}

/* ---- launching ---- */

static int64_t mean_block_row(const tiles_view *v)
{
    return v->units * TILES_UNIT / v->nblock_rows;
}

/* Additional bytes of shared memory for each block, besides its stages. */
enum { RESERVED_SHARED = 2048 };

/* at_once: block rows that a wave takes at once. As many blocks are resident as registers allow, if the stages then
   have space: for most block rows if a wave takes several, for the longest if it takes one, because the longest are
   most of the work. */
static block_rows_plan make_plan(const gpu_state *state, const tiles_view *v, int64_t longest, int at_once)
{
    enum { SURROUNDINGS = 2 * LINE + TILES_SLACK }; /* of a stretch, in its stage */
    const int64_t mean = mean_block_row(v), likely = longest < mean + mean / 4 ? longest : mean + mean / 4;
    const int64_t least = at_once * (at_once > 1 ? likely : longest) + SURROUNDINGS;
    int64_t capacity = 0, block_rows;
    block_rows_plan plan = {0, 0, 0, 0, 0};

    for (int blocks = BLOCKS; blocks > 0 && capacity < least; blocks--) {
        const int64_t bytes = state->shared_bytes / blocks;

        capacity = ((bytes < state->shared_bytes_per_block ? bytes : state->shared_bytes_per_block) - RESERVED_SHARED) /
                   WAVES / LINE * LINE;
        if (blocks == 2 && capacity < least && at_once == 1) { break; } /* longer ones are read from memory */
    }
    for (int l = 0; l < v->nlevels; l++) {
        const int shift = 4 * (v->nlevels - 1 - l);

        plan.precisions |= (unsigned)v->precision[l] << shift;
        plan.value_bytes |= (unsigned)tess_precision_bytes(v->precision[l]) << shift;
    }
    plan.stages = capacity / 2 >= least ? 2 : 1;
    capacity = capacity / plan.stages / LINE * LINE;
    block_rows = at_once > 1 ? (capacity - SURROUNDINGS) / likely / at_once * at_once : 1;
    plan.block_rows = (int)(block_rows < at_once          ? at_once
                            : block_rows < MAX_BLOCK_ROWS ? block_rows
                                                          : (int64_t)MAX_BLOCK_ROWS);
    block_rows = (plan.block_rows * longest + SURROUNDINGS + LINE - 1) / LINE * LINE;
    plan.capacity = (int)(capacity < block_rows ? capacity : block_rows);
    return plan;
}

template <typename BLOCK_ROWS, typename VECTOR, int NDOTS>
static tess_status launch(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    const gpu_state *state = gpu_state_of(ctx);
    const block_rows_plan plan = make_plan(state, v, longest, GPU_WAVE / (BLOCK_ROWS::ROWS * BLOCK_ROWS::SPLIT));
    const bool fp32 = args->vectors == TESS_PRECISION_FP32;
    const block_rows_output output = {(fp32 || args->y) && !args->residual && args->alpha == 1.0 && args->beta == 0.0 &&
                                          args->update.kind == TESS_UPDATE_NONE,
                                      args->update.kind == TESS_UPDATE_POLYNOMIAL};
    const size_t shared = (size_t)plan.capacity * (size_t)plan.stages * WAVES;
    const int64_t needed = ((v->nblock_rows + plan.block_rows - 1) / plan.block_rows + WAVES - 1) / WAVES;
    int64_t resident = state->shared_bytes / ((int64_t)shared + RESERVED_SHARED);
    loop_predicate predicate;
    reduce_target target;
    unsigned grid;
    tess_status status = TESS_SUCCESS;

    resident = resident < 1 ? 1 : resident < BLOCKS ? resident : (int64_t)BLOCKS;
    resident *= state->multiprocessors;
    grid = (unsigned)(needed < resident ? needed : resident);
    TESS_TRY(gpu_allow_shared(ctx, (const void *)block_rows_kernel<BLOCK_ROWS, VECTOR, NDOTS>));
    TESS_TRY(make_settled_predicate(ctx, args->reduction.state, &predicate));
    TESS_TRY(prepare_reduction(ctx, grid, NDOTS > 0 ? args->reduction.ndots : 0, args->reduction.scalar,
                               args->reduction.state, &target));
    status = gpu_launch(ctx, "a product of tiles", block_rows_kernel<BLOCK_ROWS, VECTOR, NDOTS>, grid, shared, *v, plan,
                        output, *args, predicate, target);
    status = end_reduction(ctx, status, target);
cleanup:
    return status;
}

/* Kernels for two dot products also serve one: they are long, and another sum costs little. */
template <typename BLOCK_ROWS>
static tess_status multiply_block_rows(tess_context *ctx, const tiles_view *v, int64_t longest,
                                       const tess_spmv_args *args)
{
    if (args->vectors == TESS_PRECISION_FP32) { return launch<BLOCK_ROWS, float, 0>(ctx, v, longest, args); }
    return args->reduction.ndots == 0 ? launch<BLOCK_ROWS, double, 0>(ctx, v, longest, args)
                                      : launch<BLOCK_ROWS, double, 2>(ctx, v, longest, args);
}

#endif
