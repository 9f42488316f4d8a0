/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles times a vector on the GPU. A strip has a thread for each row, or two where strips are long; a wave has one or two strips.
 * The records of a few strips at a time come into shared memory in one stretch, while the wave works on those before; waves
 * do not wait for each other. What does not fit there is read from memory. Every row is added up by one thread, or by two whose
 * sums are added, in a fixed order.
 */
#include "backend/gpu/reduce.cuh"
#include "backend/gpu/storage_types.cuh"
#include "format/row_epilogue.h"
#include "format/tiles/tiles_device.cuh"

enum {
    BATCH = 8, /* most entries of a row in flight */
    WAVES = GPU_BLOCK / GPU_WAVE,
    MOST_STAGES = 2,   /* stretches that a wave has in shared memory: one is worked on, one may be on its way */
    MOST_STRIPS = 16,  /* of a stretch */
    LONG_STRIP = 3072, /* bytes of a mean strip from which a wave takes one strip, two threads a row */
    BLOCKS = 3,        /* resident blocks per multiprocessor that registers must allow */
    LINE = GPU_ALLOCATION_UNIT
};
static_assert((BATCH + 1) * 2 * (int)sizeof(double) <= TILES_SLACK, "what a thread may read beyond its group");

/* How strips are handed out, and what the view says of levels: four bits for each from the lowest on, as groups stand, since
   arguments are slow to index. */
struct strips_plan {
    int strips; /* of a stretch, a multiple of those that a wave takes at once */
    int stages;
    int room; /* bytes of a stage; 0: nothing is staged */
    unsigned precisions, value_bytes;
};

/* What becomes of the sums. */
struct strips_output {
    bool stores; /* y is the sums, and nothing else is done with them */
    bool steps;  /* of a polynomial */
};

/* ---- a group ---- */

/* A thread's entries of a group: `count` of them, every SPLIT-th from place `first` on. */
struct group_row {
    int first, count;
};

/* What the entries of a group refer to. base: of the slot that is the lane's; 1 << column_bits columns from there on. */
template <typename VALUE, typename VECTOR>
struct group_source {
    const uint8_t *index;
    const VALUE *values;
    const VECTOR *x;
    int32_t base, last_column;
    double scale; /* of the lane's slot */
    int column_bits;
};

/* Entries of a thread's row, on their way. */
template <int COUNT, typename VALUE, typename VECTOR>
struct row_entries {
    unsigned index[COUNT];
    VECTOR factor[COUNT];
    VALUE value[COUNT];
};

/*
 * Loads COUNT entries of a thread's row, from number k on. FULL: every thread of the wave has as many. Else a thread reads on
 * beyond its own, what other rows have or whatever is there, so that all loads are on their way before the first is used; an
 * index that means nothing is brought to a column that x has. All lanes take part.
 */
template <int COUNT, bool FULL, int SPLIT, typename VALUE, typename VECTOR>
__device__ static inline void load_entries(const group_source<VALUE, VECTOR> &g, const group_row &row, int k,
                                           row_entries<COUNT, VALUE, VECTOR> *e)
{
    const int place = row.first + (FULL ? k : min(k, row.count)) * SPLIT;
    const uint8_t *const index = g.index + place;
    const VALUE *const values = g.values + place;
    const unsigned mask = (1U << g.column_bits) - 1U;

#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        e->index[u] = index[u * SPLIT];
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        int32_t column = GPU_SHUFFLE(g.base, (int)(e->index[u] >> g.column_bits), 16) + (int32_t)(e->index[u] & mask);

        if (!FULL) { column = min(column, g.last_column); }
        e->factor[u] = g.x[column];
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        e->value[u] = values[u * SPLIT];
    }
}

/* Adds the products of those that are the row's. All lanes take part. */
template <int COUNT, bool FULL, bool SCALED, typename VALUE, typename VECTOR>
__device__ static inline double sum_entries(const group_source<VALUE, VECTOR> &g, const group_row &row, int k,
                                            const row_entries<COUNT, VALUE, VECTOR> &e, double sum)
{
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        double product = tess::decode<double>(e.value[u]);

        if (SCALED) { product *= GPU_SHUFFLE(g.scale, (int)(e.index[u] >> g.column_bits), 16); }
        product *= (double)e.factor[u];
        if (FULL || k + u < row.count) { sum += product; }
    }
    return sum;
}

template <int COUNT, bool FULL, bool SCALED, int SPLIT, typename VALUE, typename VECTOR>
__device__ static inline double add_entries(const group_source<VALUE, VECTOR> &g, const group_row &row, int k,
                                            double sum)
{
    row_entries<COUNT, VALUE, VECTOR> e;

    load_entries<COUNT, FULL, SPLIT>(g, row, k, &e);
    return sum_entries<COUNT, FULL, SCALED>(g, row, k, e, sum);
}

/* A group as a wave works on it: `least` and `most` are the fewest and most entries that a thread of the wave has. */
template <typename VALUE, typename VECTOR>
struct open_group {
    group_source<VALUE, VECTOR> source;
    group_row row;
    int least, most;
};

/* The sum of all entries of a thread's row, from number k on. What is not staged is for strips that are much longer than others,
   or for devices that stage nothing: few cases will do. */
template <bool STAGED, bool SCALED, int SPLIT, typename VALUE, typename VECTOR>
__device__ static inline double add_row(const open_group<VALUE, VECTOR> &g, int k, double sum)
{
    static_assert(BATCH == 8, "the cases below");
    if constexpr (STAGED) {
#pragma unroll 1
        for (; k + BATCH <= g.least; k += BATCH) {
            sum = add_entries<BATCH, true, SCALED, SPLIT>(g.source, g.row, k, sum);
        }
#pragma unroll 1
        for (; k < g.most; k += BATCH) {
            switch ((g.most - k + 1) / 2) {
            case 1: sum = add_entries<2, false, SCALED, SPLIT>(g.source, g.row, k, sum); break;
            case 2: sum = add_entries<4, false, SCALED, SPLIT>(g.source, g.row, k, sum); break;
            case 3: sum = add_entries<6, false, SCALED, SPLIT>(g.source, g.row, k, sum); break;
            default: sum = add_entries<8, false, SCALED, SPLIT>(g.source, g.row, k, sum); break;
            }
        }
    } else {
#pragma unroll 1
        for (; k < g.most; k += BATCH / 2) {
            sum = add_entries<BATCH / 2, false, SCALED, SPLIT>(g.source, g.row, k, sum);
        }
    }
    return sum;
}

/* header 0: there is no group, for this lane's strip. All lanes take part. */
template <int ROWS, int SPLIT, typename VALUE, typename VECTOR>
__device__ static inline void open(const tiles_view &v, const tiles_lanes<ROWS> &at, const char *record,
                                   uint32_t header, const tiles_group &g, int32_t diagonal, const VECTOR *x,
                                   open_group<VALUE, VECTOR> *open)
{
    const int part = at.shift / ROWS % SPLIT, slot = at.lane % 16;
    const int read = tiles_row_end(record, &g, header, at.lane), end = header ? read : 0;
    const int above = GPU_SHUFFLE_UP(end, 1, ROWS), before = at.lane == 0 ? 0 : above;
    const int32_t column = tiles_slot_column(record, &g, header, slot, diagonal);

    open->source.index = (const uint8_t *)record + g.index;
    open->source.values = (const VALUE *)(const void *)(record + g.values);
    open->source.x = x;
    open->source.base = slot < tiles_slots(header) ? column << v.column_bits : 0;
    open->source.last_column = (int32_t)v.ncols - 1;
    open->source.scale = 1.0;
    open->source.column_bits = v.column_bits;
    open->row.first = before + part;
    open->row.count = (end - before - part + SPLIT - 1) / SPLIT;
    open->least = GPU_WAVE_LEAST(open->row.count);
    open->most = GPU_WAVE_MOST(open->row.count);
}

/* Adds the group's products to the row's sum. All lanes take part. */
template <bool STAGED, typename VALUE, typename VECTOR, int ROWS, int SPLIT>
__device__ static inline double add_group(const tiles_view &v, const tiles_lanes<ROWS> &at, const char *record,
                                          uint32_t header, const tiles_group &g, int32_t diagonal, const VECTOR *x,
                                          double sum)
{
    const int slot = at.lane % 16;
    open_group<VALUE, VECTOR> group;

    open<ROWS, SPLIT>(v, at, record, header, g, diagonal, x, &group);
    /* Never of FP64, and of what is below FP32 almost always. */
    if (sizeof(VALUE) < sizeof(float) || (sizeof(VALUE) == sizeof(float) && GPU_BALLOT(tiles_is_scaled(header)))) {
        if (slot < tiles_slots(header) && tiles_is_scaled(header)) {
            group.source.scale = policy_power_of_two(tiles_slot_exponent(record, &g, slot));
        }
        return add_row<STAGED, sizeof(VALUE) <= sizeof(float), SPLIT>(group, 0, sum);
    }
    return add_row<STAGED, sizeof(VALUE) < sizeof(float), SPLIT>(group, 0, sum);
}

template <bool STAGED, bool PAIRS, typename VECTOR, int ROWS, int SPLIT>
__device__ static inline double add_any_group(const tiles_view &v, tess_precision precision,
                                              const tiles_lanes<ROWS> &at, const char *record, uint32_t header,
                                              const tiles_group &g, int32_t diagonal, const VECTOR *x, double sum)
{
    switch (precision) {
#define ADD_GROUP(VALUE, NAME)                                                                                \
    case TESS_PRECISION_##NAME:                                                                               \
        if constexpr (!PAIRS || sizeof(VALUE) >= sizeof(float)) {                                             \
            return add_group<STAGED, VALUE, VECTOR, ROWS, SPLIT>(v, at, record, header, g, diagonal, x, sum); \
        }                                                                                                     \
        break;
        STORAGE_TYPES(ADD_GROUP)
#undef ADD_GROUP
    }
    return sum;
}

/* A run's groups in FP32 and in FP64, from `start` on. */
struct group_pair {
    uint32_t header[2], start, end;
    tiles_group low, high;

    __device__ inline group_pair(uint32_t first, uint32_t second, uint32_t start, int rows)
        : header{first, second}, start(start), low(tiles_group_at(first, start, rows, (int)sizeof(float)))
    {
        const uint32_t middle = first ? low.end : start;

        high = tiles_group_at(second, middle, rows, (int)sizeof(double));
        end = second ? high.end : middle;
    }
};

/* Adds the products of a run's two groups, none of them scaled: as with add_any_group, but what both need is on its way at once.
   For rows of few entries: what others have beyond comes last, and begins anew. All lanes take part. */
template <typename VECTOR, int ROWS>
__device__ static inline double add_pair(const tiles_view &v, const tiles_lanes<ROWS> &at, const char *record,
                                         const group_pair &pair, int32_t diagonal, const VECTOR *x, double sum)
{
    enum { LOW = 4, MORE_LOW = 2, HIGH = 3 }; /* entries that are loaded before the first is used */
    open_group<float, VECTOR> low;
    open_group<double, VECTOR> high;
    row_entries<LOW, float, VECTOR> first;
    row_entries<HIGH, double, VECTOR> last;

    open<ROWS, 1>(v, at, record, pair.header[0], pair.low, diagonal, x, &low);
    open<ROWS, 1>(v, at, record, pair.header[1], pair.high, diagonal, x, &high);
    load_entries<LOW, false, 1>(low.source, low.row, 0, &first);
    load_entries<HIGH, false, 1>(high.source, high.row, 0, &last);
    if (low.most > LOW) {
        row_entries<MORE_LOW, float, VECTOR> second;

        load_entries<MORE_LOW, false, 1>(low.source, low.row, LOW, &second);
        sum = sum_entries<LOW, false, false>(low.source, low.row, 0, first, sum);
        sum = sum_entries<MORE_LOW, false, false>(low.source, low.row, LOW, second, sum);
    } else {
        sum = sum_entries<LOW, false, false>(low.source, low.row, 0, first, sum);
    }
    sum = sum_entries<HIGH, false, false>(high.source, high.row, 0, last, sum);
    if (low.most > LOW + MORE_LOW || high.most > HIGH) {
        const group_pair again(GPU_UNKNOWN(pair.header[0]), GPU_UNKNOWN(pair.header[1]), pair.start, ROWS);

        open<ROWS, 1>(v, at, record, again.header[0], again.low, diagonal, x, &low);
        sum = add_row<true, false, 1>(low, LOW + MORE_LOW, sum);
        open<ROWS, 1>(v, at, record, again.header[1], again.high, diagonal, x, &high);
        sum = add_row<true, false, 1>(high, HIGH, sum);
    }
    return sum;
}

/* The sum of the lane's row of its strip (SPLIT: its part of it), whose record is in shared or device memory. All lanes of the
   wave take part; `has`: the lane has a strip. PAIRS: levels are in FP64 and FP32, and rows have few entries. */
template <bool STAGED, bool PAIRS, typename VECTOR, int ROWS, int SPLIT>
__device__ static __forceinline__ double sum_strip_row(const tiles_view &v, const strips_plan &plan,
                                                       const tiles_lanes<ROWS> &at, bool has, int32_t strip,
                                                       const char *record, const VECTOR *x)
{
    const uint32_t *words = (const uint32_t *)(const void *)record;
    const int nruns = has ? (int)*words++ : 0, nlevels = PAIRS ? 2 : v.nlevels;
    const int32_t diagonal = (strip * ROWS) >> v.column_bits;
    uint32_t end = tiles_head_bytes(nruns, nlevels);
    double sum = 0.0;

#pragma unroll 1
    for (int run = 0; GPU_BALLOT(run < nruns); run++) {
        unsigned precisions = plan.precisions, value_bytes = plan.value_bytes;

        if constexpr (PAIRS && STAGED) {
            const group_pair pair(run < nruns ? words[0] : 0U, run < nruns ? words[1] : 0U, end, ROWS);

            if (!GPU_BALLOT(tiles_is_scaled(pair.header[0]))) {
                words += 2;
                end = pair.end;
                sum = add_pair<VECTOR, ROWS>(v, at, record, pair, diagonal, x, sum);
                continue;
            }
        }
#pragma unroll 1
        for (int l = nlevels; l > 0; l--, precisions >>= 4, value_bytes >>= 4) {
            const uint32_t header = run < nruns ? *words++ : 0U;

            if (GPU_BALLOT(header != 0)) {
                const tiles_group g = tiles_group_at(header, end, ROWS, (int)(value_bytes & 15U));

                end = header ? g.end : end;
                sum = add_any_group<STAGED, PAIRS, VECTOR, ROWS, SPLIT>(v, (tess_precision)(precisions & 15U), at,
                                                                        record, header, g, diagonal, x, sum);
            }
        }
    }
    return sum;
}

/* ---- stretches ---- */

/* A wave's stretch of strips: where their records begin. Lane j has that of strip j, up to the one after the last. */
struct stretch {
    uint32_t start;
    bool staged; /* its records come to shared memory */

    /* first: its first strip; from nstrips on there is none. */
    __device__ inline void find(const tiles_view &v, const strips_plan &plan, int32_t first)
    {
        const int lane = (int)threadIdx.x % GPU_WAVE, nstrips = (int)v.nstrips;
        const int32_t strip = first + (lane < plan.strips ? lane : plan.strips);

        start = first < nstrips ? v.start[strip < nstrips ? strip : nstrips] : 0U;
        staged = false;
    }

    __device__ inline uint32_t start_of(int strip) const
    {
        return GPU_SHUFFLE(start, strip, GPU_WAVE);
    }

    /* Sends for its records, from the beginning of a line (of `record`, which begins with one), if they fit a stage. */
    __device__ inline void request(const tiles_view &v, const strips_plan &plan, int32_t first, char *stage,
                                   gpu_arrival *arrival)
    {
#if GPU_HAS_BULK_COPY
        constexpr uint32_t UNITS = LINE / TILES_UNIT; /* of a line */
        const uint32_t from = start_of(0) / UNITS * UNITS;
        const uint32_t units = (start_of(plan.strips) - from + UNITS - 1) / UNITS * UNITS;

        staged = first < (int)v.nstrips && units <= (uint32_t)(plan.room - TILES_SLACK) / TILES_UNIT;
        if (staged && threadIdx.x % GPU_WAVE == 0) {
            gpu_arrival_expect(arrival, units * TILES_UNIT);
            gpu_bulk_copy(stage, v.record + (int64_t)from * TILES_UNIT, units * TILES_UNIT, arrival);
        }
#else
        (void)v;
        (void)plan;
        (void)first;
        (void)stage;
        (void)arrival;
#endif
    }

    /* Where strip 0's record is, once what was sent for has arrived. parities: of the next arrival at each stage. */
    __device__ inline void await(gpu_arrival *arrival, uint32_t *parities, int stage) const
    {
#if GPU_HAS_BULK_COPY
        if (staged) {
            gpu_arrival_wait(arrival, *parities >> stage & 1U);
            *parities ^= 1U << stage;
        }
#else
        (void)arrival;
        (void)parities;
        (void)stage;
#endif
    }

    __device__ inline uint32_t bytes_into_line(void) const
    {
        return start_of(0) * TILES_UNIT % LINE;
    }
};

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
template <bool STAGED, bool PAIRS, typename VECTOR, int ROWS, int SPLIT, int NDOTS>
__device__ static __forceinline__ void work_on(const tiles_view &v, const strips_plan &plan, int32_t first,
                                               const stretch &own, const char *records, const tess_spmv_args &args,
                                               const strips_output &output, const VECTOR *x, double *dots)
{
    constexpr int AT_ONCE = GPU_WAVE / (ROWS * SPLIT);
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

        if (SPLIT == 2) { sum += GPU_SHUFFLE_XOR(sum, ROWS); }
        if (has && row < (int)v.nrows && at.shift / ROWS % SPLIT == 0) {
            finish<VECTOR, NDOTS>(args, output, row, sum, dots);
        }
    }
}

template <bool PAIRS, typename VECTOR, int ROWS, int SPLIT, int NDOTS>
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
                work_on<true, PAIRS, VECTOR, ROWS, SPLIT, NDOTS>(v, plan, first, own, at + own.bytes_into_line(), args,
                                                                 output, vector_of<VECTOR>(args), dots);
            } else {
                work_on<false, PAIRS, VECTOR, ROWS, SPLIT, NDOTS>(v, plan, first, own,
                                                                  v.record + (int64_t)own.start_of(0) * TILES_UNIT,
                                                                  args, output, vector_of<VECTOR>(args), dots);
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

template <bool PAIRS, typename VECTOR, int ROWS, int SPLIT, int NDOTS>
static tess_status launch(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    const gpu_state *state = gpu_state_of(ctx);
    const strips_plan plan = make_plan(gpu_state_of(ctx), v, longest, GPU_WAVE / (ROWS * SPLIT));
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
