/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles times a vector on the GPU. A strip has a thread for each row, or two or four where strips are long; a wave has one or two
 * strips, or a team of two waves has one. The records of a few strips at a time come into shared memory in one stretch, while the
 * team works on those before; teams do not wait for each other. What does not fit there is read from memory. Every row is added
 * up by one thread, or by several whose sums are added, in a fixed order.
 */
#include "backend/gpu/reduce.cuh"
#include "format/row_epilogue.h"
#include "format/tiles/tiles_group.cuh"
#include "format/tiles/tiles_stretch.cuh"

enum {
    WAVES = GPU_BLOCK / GPU_WAVE,
    LONG_STRIP = 3072, /* bytes of a mean strip from which rows have two threads */
    TEAM_STRIP = 6144, /* and from which they have four: a stage for each wave would leave no room for a second one */
    BLOCKS = 3         /* resident blocks per multiprocessor that registers must allow */
};

/* Waves that share a strip. */
template <int ROWS, int SPLIT>
constexpr int TEAM = ROWS *SPLIT > GPU_WAVE ? ROWS *SPLIT / GPU_WAVE : 1;

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

/*
 * The sum of a row, from those of its threads; that of the row's first thread counts. In a team all threads take part, and are
 * done with what they read before. turn: 0 and 1 by turns: while the first wave reads the sums of one strip, the other may
 * leave those of the next, and gets no further before the first is there as well.
 */
template <int ROWS, int SPLIT>
__device__ static inline double sum_parts(double own, int turn)
{
    constexpr int WAVES_OF_TEAM = TEAM<ROWS, SPLIT>;

#pragma unroll
    for (int distance = ROWS; distance < ROWS * SPLIT / WAVES_OF_TEAM; distance *= 2) {
        own += GPU_SHUFFLE_XOR(own, distance);
    }
    if constexpr (WAVES_OF_TEAM > 1) {
        static_assert(WAVES_OF_TEAM == 2, "one wave beside the first");
        __shared__ double others[WAVES / WAVES_OF_TEAM][2][ROWS];
        const int wave = (int)threadIdx.x / GPU_WAVE, lane = (int)threadIdx.x % GPU_WAVE;
        double *const other = others[wave / WAVES_OF_TEAM][turn];

        if (wave % WAVES_OF_TEAM != 0 && lane < ROWS) { other[lane] = own; }
        gpu_sync_waves<WAVES_OF_TEAM>(1 + wave / WAVES_OF_TEAM);
        if (wave % WAVES_OF_TEAM == 0 && lane < ROWS) { own += other[lane]; }
    }
    return own;
}

/* All strips of a stretch; `records` is where strip 0's record is. */
template <bool STAGED, bool PAIRS, typename VECTOR, int ROWS, int SPLIT, int NDOTS>
__device__ static __forceinline__ void work_on(const tiles_view &v, const strips_plan &plan, int32_t first,
                                               const stretch &own, const char *records, const tess_spmv_args &args,
                                               const strips_output &output, const VECTOR *x, double *dots, int *turn)
{
    constexpr int AT_ONCE = GPU_WAVE * TEAM<ROWS, SPLIT> / (ROWS * SPLIT);
    const tiles_lanes<ROWS> at;
    const uint32_t origin = own.start_of(0);

#pragma unroll 1
    for (int s = 0; s < plan.strips; s += AT_ONCE) {
        const int mine = s + at.shift / (ROWS * SPLIT);
        const int32_t strip = first + mine;
        const int row = strip * ROWS + at.lane;
        const bool has = strip < (int)v.nstrips;
        const uint32_t start = own.start_of(has ? mine : 0);
        double sum = sum_strip_row<STAGED, PAIRS, VECTOR, ROWS, SPLIT>(
            v, plan, at, has, strip, records + (int64_t)(start - origin) * TILES_UNIT, x);

        sum = sum_parts<ROWS, SPLIT>(sum, *turn);
        *turn ^= 1;
        if (has && row < (int)v.nrows && row_part<ROWS, SPLIT>() == 0) {
            finish<VECTOR, NDOTS>(args, output, row, sum, dots);
        }
    }
}

template <bool PAIRS, typename VECTOR, int ROWS, int SPLIT, int NDOTS>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, BLOCKS)
    strips_kernel(const tiles_view v, const strips_plan given, const strips_output output, const tess_spmv_args args,
                  const loop_gate gate, const reduce_target target)
{
    constexpr int THREADS = GPU_WAVE * TEAM<ROWS, SPLIT>, TEAMS = GPU_BLOCK / THREADS;
    /* What takes one strip at a time has stretches of one: the compiler needs to know, it saves registers. */
    const strips_plan plan = {THREADS == ROWS * SPLIT ? 1 : given.strips, given.stages, given.room, given.precisions,
                              given.value_bytes};
    extern __shared__ __align__(128) char stages[];
    __shared__ gpu_arrival arrivals[TEAMS][MOST_STAGES];
    const int team = (int)threadIdx.x / THREADS;
    const int step = (int)gridDim.x * TEAMS * plan.strips,
              nstrips = (int)v.nstrips; /* 3 steps + nstrips is below 2^31 */
    int first = ((int)blockIdx.x * TEAMS + team) * plan.strips, turn = 0;
    char *const own_stages = stages + team * plan.stages * plan.room;
    gpu_arrival *const own_arrivals = arrivals[team];
    const bool doubled = plan.stages == MOST_STAGES;
    const bool asks =
        threadIdx.x % THREADS == THREADS - GPU_WAVE; /* of the last wave: in a team the first finishes rows */
    stretch own, coming, after;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;
    uint32_t parities = 0; /* bit s: of the next arrival at stage s */
    bool runs;

    own.find(v, plan, first);
    coming.find(v, plan, first + step);
#if GPU_HAS_BULK_COPY
    if (asks) {
        for (int s = 0; s < MOST_STAGES; s++) {
            gpu_arrival_create(&own_arrivals[s]);
        }
    }
    gpu_sync_waves<TEAM<ROWS, SPLIT>>(1 + team);
#endif
    own.request(v, plan, first, asks, own_stages, &own_arrivals[0]);
    if (doubled) { coming.request(v, plan, first + step, asks, own_stages + plan.room, &own_arrivals[1]); }
    /* No kernel of a loop writes what was fetched so far; x comes from the kernel before this one. */
    runs = loop_enter<true>(gate, NDOTS > 0, &scalars);
    for (int stage = 0; first < nstrips; first += step, stage ^= doubled ? 1 : 0) {
        char *const at = own_stages + stage * plan.room;

        after.find(v, plan, first + 2 * step);
        own.await(&own_arrivals[stage], &parities, stage);
        if (runs) {
            if (own.staged) {
                work_on<true, PAIRS, VECTOR, ROWS, SPLIT, NDOTS>(v, plan, first, own, at + own.bytes_into_line(), args,
                                                                 output, vector_of<VECTOR>(args), dots, &turn);
            } else {
                work_on<false, PAIRS, VECTOR, ROWS, SPLIT, NDOTS>(v, plan, first, own,
                                                                  v.record + (int64_t)own.start_of(0) * TILES_UNIT,
                                                                  args, output, vector_of<VECTOR>(args), dots, &turn);
            }
            if (TEAM<ROWS, SPLIT> == 1) { GPU_SYNC_WAVE(); }
            if (doubled) {
                after.request(v, plan, first + 2 * step, asks, at, &own_arrivals[stage]);
            } else {
                coming.request(v, plan, first + step, asks, at, &own_arrivals[stage]);
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
enum { RESERVED_SHARED = 2048, RESERVED_SHARED_OF_TEAMS = 3072 };

/* How a kernel shares out a block. */
struct block_shape {
    int at_once;   /* strips that a team takes at once */
    int teams;     /* of a block */
    bool in_teams; /* of several waves */
    int64_t reserved;
};

template <int ROWS, int SPLIT>
static block_shape shape_of_block(void)
{
    constexpr int WAVES_OF_TEAM = TEAM<ROWS, SPLIT>;

    return {GPU_WAVE * WAVES_OF_TEAM / (ROWS * SPLIT), WAVES / WAVES_OF_TEAM, WAVES_OF_TEAM > 1,
            WAVES_OF_TEAM > 1 ? RESERVED_SHARED_OF_TEAMS : RESERVED_SHARED};
}

/* Bytes for the stages of a team, if so many blocks are resident. */
static int64_t room_of_team(const gpu_state *state, const block_shape &shape, int blocks)
{
    const int64_t bytes = state->shared_bytes / blocks;

    return ((bytes < state->shared_bytes_per_block ? bytes : state->shared_bytes_per_block) - shape.reserved) /
           shape.teams / LINE * LINE;
}

/* As many blocks are resident as registers allow, if stages have room then: for most strips where several are taken, for the
   longest where one is, since those are what work is. Of teams there are few: that each has two stages comes before a third block,
   and where the longest strip fits no stage at all, it does not count. */
static strips_plan make_plan(const gpu_state *state, const tiles_view *v, int64_t longest, const block_shape &shape)
{
    enum { SURROUNDINGS = 2 * LINE + TILES_SLACK }; /* of a stretch, in its stage */
    const int64_t mean = mean_strip(v), likely = longest < mean + mean / 4 ? longest : mean + mean / 4;
    const int fewest = shape.at_once > 1 ? 1 : 2; /* longer ones are read from memory */
    const bool fits = longest + SURROUNDINGS <= room_of_team(state, shape, fewest);
    const bool for_most = shape.at_once > 1 || (shape.in_teams && !fits);
    const int64_t least = shape.at_once * (for_most ? likely : longest) + SURROUNDINGS;
    int64_t room = 0, strips;
    strips_plan plan = {0, 0, 0, 0, 0};

    for (int stages = shape.in_teams ? MOST_STAGES : 1; stages > 0 && room < stages * least; stages--) {
        room = 0;
        for (int blocks = BLOCKS; blocks >= fewest && room < stages * least; blocks--) {
            room = room_of_team(state, shape, blocks);
        }
    }
    for (int l = 0; l < v->nlevels; l++) {
        const int shift = 4 * (v->nlevels - 1 - l);

        plan.precisions |= (unsigned)v->precision[l] << shift;
        plan.value_bytes |= (unsigned)tess_precision_bytes(v->precision[l]) << shift;
    }
    plan.stages = room / 2 >= least ? 2 : 1;
    room = room / plan.stages / LINE * LINE;
    strips = shape.at_once > 1 ? (room - SURROUNDINGS) / likely / shape.at_once * shape.at_once : 1;
    plan.strips = (int)(strips < shape.at_once ? shape.at_once : strips < MOST_STRIPS ? strips : (int64_t)MOST_STRIPS);
    strips = (plan.strips * longest + SURROUNDINGS + LINE - 1) / LINE * LINE;
    plan.room = (int)(room < strips ? room : strips);
    return plan;
}

template <bool PAIRS, typename VECTOR, int ROWS, int SPLIT, int NDOTS>
static tess_status launch(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    const gpu_state *state = gpu_state_of(ctx);
    const block_shape shape = shape_of_block<ROWS, SPLIT>();
    const strips_plan plan = make_plan(state, v, longest, shape);
    const bool fp32 = args->vectors == TESS_PRECISION_FP32;
    const strips_output output = {(fp32 || args->y) && !args->residual && args->alpha == 1.0 && args->beta == 0.0 &&
                                      args->update.kind == TESS_UPDATE_NONE,
                                  args->update.kind == TESS_UPDATE_POLYNOMIAL};
    const size_t shared = (size_t)plan.room * (size_t)plan.stages * (size_t)shape.teams;
    const int64_t needed = ((v->nstrips + plan.strips - 1) / plan.strips + shape.teams - 1) / shape.teams;
    int64_t resident = state->shared_bytes / ((int64_t)shared + shape.reserved);
    loop_gate gate;
    reduce_target target;
    unsigned grid;
    tess_status status = TESS_SUCCESS;

    resident = resident < 1 ? 1 : resident < BLOCKS ? resident : (int64_t)BLOCKS;
    resident *= state->multiprocessors;
    grid = (unsigned)(needed < resident ? needed : resident);
    TESS_TRY(gpu_allow_shared(ctx, (const void *)strips_kernel<PAIRS, VECTOR, ROWS, SPLIT, NDOTS>));
    TESS_TRY(open_settled_gate(ctx, args->reduction.state, &gate));
    TESS_TRY(prepare_reduction(ctx, grid, NDOTS, args->reduction.step, args->reduction.state, &target));
    status = gpu_launch(ctx, "a product of tiles", strips_kernel<PAIRS, VECTOR, ROWS, SPLIT, NDOTS>, grid, shared, *v,
                        plan, output, *args, gate, target);
cleanup:
    return status;
}

template <bool PAIRS, int ROWS, int SPLIT>
static tess_status select_kernel(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    if (args->vectors == TESS_PRECISION_FP32) { return launch<PAIRS, float, ROWS, SPLIT, 0>(ctx, v, longest, args); }
    switch (args->reduction.ndots) {
    case 0: return launch<PAIRS, double, ROWS, SPLIT, 0>(ctx, v, longest, args);
    case 1: return launch<PAIRS, double, ROWS, SPLIT, 1>(ctx, v, longest, args);
    default: return launch<PAIRS, double, ROWS, SPLIT, 2>(ctx, v, longest, args);
    }
}

/* Levels in FP64 and FP32, and few entries in a row: what both need is fetched at once. */
static bool takes_pairs(const tiles_view *v)
{
    enum { FEW = 12 };

    return v->nlevels == 2 && v->precision[0] == TESS_PRECISION_FP64 && v->precision[1] == TESS_PRECISION_FP32 &&
           v->nnz <= FEW * v->nrows;
}

static tess_status spmv(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    if (v->nstrips == 0) { return TESS_SUCCESS; }
    if (v->rows == 32) {
        return takes_pairs(v) ? select_kernel<true, 32, 1>(ctx, v, longest, args)
                              : select_kernel<false, 32, 1>(ctx, v, longest, args);
    }
    if (mean_strip(v) >= TEAM_STRIP) { return select_kernel<false, 16, 4>(ctx, v, longest, args); }
    if (mean_strip(v) >= LONG_STRIP) { return select_kernel<false, 16, 2>(ctx, v, longest, args); }
    return takes_pairs(v) ? select_kernel<true, 16, 1>(ctx, v, longest, args)
                          : select_kernel<false, 16, 1>(ctx, v, longest, args);
}

/* Products need nothing beyond the build. */
static tess_status prepare(tess_context *, const tiles_view *)
{
    return TESS_SUCCESS;
}

/* Behind functions: a table that is visible outside would be emitted for the device as well by HIP. */
extern "C" const tiles_backend *tiles_gpu(void)
{
    static const tiles_backend table = {tiles_gpu_measure, tiles_gpu_fill, prepare, spmv};

    return &table;
}

extern "C" const tess_format_ops *tiles_gpu_ops(void)
{
    static const tess_format_ops table = {TESS_FORMAT_TILES, tiles_build,   tiles_refresh,
                                          tiles_destroy,     tiles_prepare, tiles_spmv,
                                          tiles_decode,      tiles_bytes,   (1U << TESS_PRECISION_COUNT) - 1U};

    return &table;
}
