/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles times a vector on the GPU, whatever the layout: how waves take strips. A strip has a thread for each row, or two where
 * strips are long; a wave has one or two strips. The records of a few strips at a time come into shared memory in one stretch, while
 * the wave works on those before; waves do not wait for each other. What does not fit there is read from memory. Every row is
 * added up by one thread, or by two whose sums are added, in a fixed order.
 *
 * STRIPS is a layout's: ROWS, SPLIT (threads of a row), and
 *   template <bool STAGED, typename VECTOR>
 *   static double sum(view, plan, lanes, has, strip, record, args), the sum of the lane's row, or its part of it
 */
#ifndef TESS_FORMAT_TILES_TILES_STRIPS_CUH
#define TESS_FORMAT_TILES_TILES_STRIPS_CUH

#include "device/gpu/reduce.cuh"
#include "format/row_epilogue.h"
#include "format/tiles/tiles_stretch.cuh"

enum {
    WAVES = GPU_BLOCK / GPU_WAVE,
    BLOCKS = 3 /* resident blocks per multiprocessor that registers must allow */
};

/* What becomes of the sums. */
struct strips_output {
    bool stores; /* y is the sums, and nothing else is done with them */
    bool steps;  /* of a polynomial */
};

/* ---- the kernel ---- */

template <typename VECTOR, int NDOTS>
__device__ static inline void finish(const tess_spmv_args &args, const strips_output &output, int64_t row, double sum,
                                     double *dots)
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

/* All strips of a stretch; `records` is where strip 0's record is. */
template <typename STRIPS, bool STAGED, typename VECTOR, int NDOTS>
__device__ static __forceinline__ void work_on(const tiles_view &v, const strips_plan &plan, int32_t first,
                                               const stretch &own, const char *records, const tess_spmv_args &args,
                                               const strips_output &output, double *dots)
{
    constexpr int ROWS = STRIPS::ROWS, SPLIT = STRIPS::SPLIT, AT_ONCE = GPU_WAVE / (ROWS * SPLIT);
    const tiles_lanes<ROWS> at;
    const uint32_t origin = own.start_of(0);

#pragma unroll 1
    for (int s = 0; s < plan.strips; s += AT_ONCE) {
        const int mine = s + at.shift / (ROWS * SPLIT);
        const int32_t strip = first + mine;
        const int row = strip * ROWS + at.lane;
        const bool has = strip < (int)v.nstrips;
        const uint32_t start = own.start_of(has ? mine : 0);
        double sum = STRIPS::template sum<STAGED, VECTOR>(v, plan, at, has, strip,
                                                          records + (int64_t)(start - origin) * TILES_UNIT, args);

        if (SPLIT == 2) { sum += GPU_SHUFFLE_XOR(sum, ROWS); }
        if (has && row < (int)v.nrows && at.shift / ROWS % SPLIT == 0) {
            finish<VECTOR, NDOTS>(args, output, row, sum, dots);
        }
    }
}

template <typename STRIPS, typename VECTOR, int NDOTS>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, BLOCKS)
    strips_kernel(const tiles_view v, const strips_plan plan, const strips_output output, const tess_spmv_args args,
                  const loop_gate gate, const reduce_target target)
{
    extern __shared__ __align__(128) char stages[];
    __shared__ gpu_arrival arrivals[WAVES][MOST_STAGES];
    const int wave = (int)threadIdx.x / GPU_WAVE;
    const int step = (int)gridDim.x * WAVES * plan.strips,
              nstrips = (int)v.nstrips; /* 3 steps + nstrips is below 2^31 */
    int first = ((int)blockIdx.x * WAVES + wave) * plan.strips;
    char *const own_stages = stages + wave * plan.stages * plan.room;
    const bool doubled = plan.stages == MOST_STAGES;
    stretch own, coming, after;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;
    uint32_t parities = 0; /* bit s: of the next arrival at stage s */
    bool runs;

    own.find(v, plan, first);
    coming.find(v, plan, first + step);
#if GPU_HAS_BULK_COPY
    if (threadIdx.x % GPU_WAVE == 0) {
        for (int s = 0; s < MOST_STAGES; s++) {
            gpu_arrival_create(&arrivals[wave][s]);
        }
    }
    GPU_SYNC_WAVE();
#endif
    own.request(v, plan, first, own_stages, &arrivals[wave][0]);
    if (doubled) { coming.request(v, plan, first + step, own_stages + plan.room, &arrivals[wave][1]); }
    /* No kernel of a loop writes what was fetched so far; x comes from the kernel before this one. */
    runs = loop_enter<true>(gate, NDOTS > 0, &scalars);
    for (int stage = 0; first < nstrips; first += step, stage ^= doubled ? 1 : 0) {
        char *const at = own_stages + stage * plan.room;

        after.find(v, plan, first + 2 * step);
        own.await(&arrivals[wave][stage], &parities, stage);
        if (runs) {
            if (own.staged) {
                work_on<STRIPS, true, VECTOR, NDOTS>(v, plan, first, own, at + own.bytes_into_line(), args, output,
                                                     dots);
            } else {
                work_on<STRIPS, false, VECTOR, NDOTS>(
                    v, plan, first, own, v.record + (int64_t)own.start_of(0) * TILES_UNIT, args, output, dots);
            }
            GPU_SYNC_WAVE();
            if (doubled) {
                after.request(v, plan, first + 2 * step, at, &arrivals[wave][stage]);
            } else {
                coming.request(v, plan, first + step, at, &arrivals[wave][stage]);
            }
        } else if (stage == 1 || !doubled) { /* what was on its way has arrived */
            return;
        }
        own = coming;
        coming = after;
    }
    if (NDOTS > 0 && runs) { grid_reduce(dots, target); }
}

/* ---- launching ---- */

static int64_t mean_strip(const tiles_view *v)
{
    return v->units * TILES_UNIT / v->nstrips;
}

/* Bytes of shared memory that each block takes besides its stages. */
enum { RESERVED_SHARED = 2048 };

/* at_once: strips that a wave takes at once. As many blocks are resident as registers allow, if stages have room then: for most
   strips where several are taken, for the longest where one is, since those are what work is. */
static strips_plan make_plan(const gpu_state *state, const tiles_view *v, int64_t longest, int at_once)
{
    enum { SURROUNDINGS = 2 * LINE + TILES_SLACK }; /* of a stretch, in its stage */
    const int64_t mean = mean_strip(v), likely = longest < mean + mean / 4 ? longest : mean + mean / 4;
    const int64_t least = at_once * (at_once > 1 ? likely : longest) + SURROUNDINGS;
    int64_t room = 0, strips;
    strips_plan plan = {0, 0, 0, 0, 0};

    for (int blocks = BLOCKS; blocks > 0 && room < least; blocks--) {
        const int64_t bytes = state->shared_bytes / blocks;

        room = ((bytes < state->shared_bytes_per_block ? bytes : state->shared_bytes_per_block) - RESERVED_SHARED) /
               WAVES / LINE * LINE;
        if (blocks == 2 && room < least && at_once == 1) { break; } /* longer ones are read from memory */
    }
    for (int l = 0; l < v->nlevels; l++) {
        const int shift = 4 * (v->nlevels - 1 - l);

        plan.precisions |= (unsigned)v->precision[l] << shift;
        plan.value_bytes |= (unsigned)tess_precision_bytes(v->precision[l]) << shift;
    }
    plan.stages = room / 2 >= least ? 2 : 1;
    room = room / plan.stages / LINE * LINE;
    strips = at_once > 1 ? (room - SURROUNDINGS) / likely / at_once * at_once : 1;
    plan.strips = (int)(strips < at_once ? at_once : strips < MOST_STRIPS ? strips : (int64_t)MOST_STRIPS);
    strips = (plan.strips * longest + SURROUNDINGS + LINE - 1) / LINE * LINE;
    plan.room = (int)(room < strips ? room : strips);
    return plan;
}

template <typename STRIPS, typename VECTOR, int NDOTS>
static tess_status launch(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    const gpu_state *state = gpu_state_of(ctx);
    const strips_plan plan = make_plan(state, v, longest, GPU_WAVE / (STRIPS::ROWS * STRIPS::SPLIT));
    const bool fp32 = args->vectors == TESS_PRECISION_FP32;
    const strips_output output = {(fp32 || args->y) && !args->residual && args->alpha == 1.0 && args->beta == 0.0 &&
                                      args->update.kind == TESS_UPDATE_NONE,
                                  args->update.kind == TESS_UPDATE_POLYNOMIAL};
    const size_t shared = (size_t)plan.room * (size_t)plan.stages * WAVES;
    const int64_t needed = ((v->nstrips + plan.strips - 1) / plan.strips + WAVES - 1) / WAVES;
    int64_t resident = state->shared_bytes / ((int64_t)shared + RESERVED_SHARED);
    loop_gate gate;
    reduce_target target;
    unsigned grid;
    tess_status status = TESS_SUCCESS;

    resident = resident < 1 ? 1 : resident < BLOCKS ? resident : (int64_t)BLOCKS;
    resident *= state->multiprocessors;
    grid = (unsigned)(needed < resident ? needed : resident);
    TESS_TRY(gpu_allow_shared(ctx, (const void *)strips_kernel<STRIPS, VECTOR, NDOTS>));
    TESS_TRY(open_settled_gate(ctx, args->reduction.state, &gate));
    TESS_TRY(prepare_reduction(ctx, grid, NDOTS > 0 ? args->reduction.ndots : 0, args->reduction.step,
                               args->reduction.state, &target));
    status = gpu_launch(ctx, "a product of tiles", strips_kernel<STRIPS, VECTOR, NDOTS>, grid, shared, *v, plan, output,
                        *args, gate, target);
    status = end_reduction(ctx, status, target);
cleanup:
    return status;
}

/* Kernels for two dot products are those for one as well: they are long, and the sum of another costs little. */
template <typename STRIPS>
static tess_status multiply_strips(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    if (args->vectors == TESS_PRECISION_FP32) { return launch<STRIPS, float, 0>(ctx, v, longest, args); }
    return args->reduction.ndots == 0 ? launch<STRIPS, double, 0>(ctx, v, longest, args)
                                      : launch<STRIPS, double, 2>(ctx, v, longest, args);
}

#endif
