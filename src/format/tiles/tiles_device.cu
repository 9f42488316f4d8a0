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
    BATCH = 4, /* entries of a row in flight */
    WAVES = GPU_BLOCK / GPU_WAVE,
    STAGES = 2,         /* stretches that a wave has in shared memory: one is worked on, one is on its way */
    STAGE_BYTES = 3072, /* of a stretch of several strips, about */
    STAGE_STRIPS = 8,   /* most of a stretch */
    LONG_STRIP = 3072,  /* bytes of a mean strip from which a wave takes one strip, two threads a row */
    BLOCKS = 3,         /* resident blocks per multiprocessor that registers must allow */
    LINE = GPU_ALLOCATION_UNIT
};

/* How strips are handed out, and what the view says of levels: four bits for each, since arguments are slow to index. */
struct strips_plan {
    int strips; /* of a stretch, a multiple of those that a wave takes at once */
    int room;   /* bytes of a stage; 0: nothing is staged */
    unsigned precisions, value_bytes;

    __device__ inline tess_precision precision(int level) const
    {
        return (tess_precision)(precisions >> (4 * level) & 15U);
    }

    __device__ inline int bytes_of(int level) const
    {
        return (int)(value_bytes >> (4 * level) & 15U);
    }
};

/* What becomes of the sums. */
struct strips_output {
    bool stores; /* y is the sums, and nothing else is done with them */
    bool steps;  /* of a polynomial */
};

/* ---- a group ---- */

/* A thread's entries of a group: `count` of them, every SPLIT-th from place `first` on; `last` is a place with an entry. */
struct group_row {
    int first, count, last;
};

/* What the entries of a group refer to. base: of the slot that is the lane's; 1 << column_bits columns from there on. */
template <typename VALUE, typename VECTOR>
struct group_source {
    const uint8_t *index;
    const VALUE *values;
    const VECTOR *x;
    int32_t base;
    double scale; /* of the lane's slot */
    int column_bits;
    /* Of the column in a block; 0 where the lane's strip has no such group, and what it reads means nothing. */
    unsigned mask;
};

/*
 * The sum of COUNT entries of a thread's row, from number k on. FULL: every thread of the wave has as many. Else loads go to some
 * entry of the group all the same, so that all are on their way before the first is used, and what is beyond the row's end is
 * not added. All lanes take part.
 */
template <int COUNT, bool FULL, bool SCALED, int ROWS, int SPLIT, typename VALUE, typename VECTOR>
__device__ static inline double add_entries(const group_source<VALUE, VECTOR> &g, const group_row &row, int k,
                                            double sum)
{
    int place[COUNT];
    unsigned entry[COUNT];
    VECTOR factor[COUNT];
    VALUE value[COUNT];

#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        place[u] = row.first + (k + u) * SPLIT;
        if (!FULL) { place[u] = min(place[u], row.last); }
        entry[u] = g.index[place[u]];
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        const int32_t column = GPU_SHUFFLE(g.base, (int)(entry[u] >> g.column_bits), ROWS < 16 ? ROWS : 16);

        factor[u] = g.x[column + (int32_t)(entry[u] & g.mask)];
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        value[u] = g.values[place[u]];
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        double product = tess::decode<double>(value[u]);

        if (SCALED) { product *= GPU_SHUFFLE(g.scale, (int)(entry[u] >> g.column_bits), ROWS < 16 ? ROWS : 16); }
        product *= (double)factor[u];
        if (FULL || k + u < row.count) { sum += product; }
    }
    return sum;
}

/* The sum of all entries of a thread's row; `least` and `most` are the fewest and most that a thread of the wave has. */
template <bool SCALED, int ROWS, int SPLIT, typename VALUE, typename VECTOR>
__device__ static inline double add_row(const group_source<VALUE, VECTOR> &g, const group_row &row, int least, int most,
                                        double sum)
{
    int k = 0;

#pragma unroll 1
    for (; k + BATCH <= least; k += BATCH) {
        sum = add_entries<BATCH, true, SCALED, ROWS, SPLIT>(g, row, k, sum);
    }
#pragma unroll 1
    for (; k + BATCH <= most; k += BATCH) {
        sum = add_entries<BATCH, false, SCALED, ROWS, SPLIT>(g, row, k, sum);
    }
    switch (most - k) { /* less than BATCH: the compiler drops the cases that are not */
    case 1: sum = add_entries<1, false, SCALED, ROWS, SPLIT>(g, row, k, sum); break;
    case 2: sum = add_entries < BATCH >= 3 ? 2 : 1, false, SCALED, ROWS, SPLIT > (g, row, k, sum); break;
    case 3: sum = add_entries < BATCH >= 4 ? 3 : 1, false, SCALED, ROWS, SPLIT > (g, row, k, sum); break;
    default: break;
    }
    return sum;
}

/* Adds the group's products to the row's sum; header 0: there is no group, for this lane's strip. All lanes take part. */
template <typename VALUE, typename VECTOR, int ROWS, int SPLIT>
__device__ static inline double add_group(const tiles_view &v, const tiles_lanes<ROWS> &at, const char *record,
                                          uint32_t header, const tiles_group &g, int32_t diagonal, const VECTOR *x,
                                          double sum)
{
    const int length = header ? (int)((const uint8_t *)record)[g.lengths + (uint32_t)at.lane] : 0;
    const int before = at.before(length), part = at.shift / ROWS % SPLIT, slot = at.lane % 16;
    const bool has_slot = slot < tiles_slots(header), scaled = tiles_is_scaled(header);
    const group_row row = {before + part, (length - part + SPLIT - 1) / SPLIT, max(before + length - 1, 0)};
    const int least = GPU_WAVE_LEAST(row.count), most = GPU_WAVE_MOST(row.count);
    const group_source<VALUE, VECTOR> source = {
        (const uint8_t *)record + g.index,
        (const VALUE *)(const void *)(record + g.values),
        x,
        has_slot ? tiles_slot_column(record, &g, header, slot, diagonal) << v.column_bits : 0,
        has_slot && scaled ? policy_power_of_two(tiles_slot_exponent(record, &g, slot)) : 1.0,
        v.column_bits,
        header ? (1U << v.column_bits) - 1U : 0U};

    if (GPU_BALLOT(scaled)) { return add_row<true, ROWS, SPLIT>(source, row, least, most, sum); }
    return add_row<false, ROWS, SPLIT>(source, row, least, most, sum);
}

template <typename VECTOR, int ROWS, int SPLIT>
__device__ static inline double add_any_group(const tiles_view &v, tess_precision precision,
                                              const tiles_lanes<ROWS> &at, const char *record, uint32_t header,
                                              const tiles_group &g, int32_t diagonal, const VECTOR *x, double sum)
{
    switch (precision) {
#define ADD_GROUP(VALUE, NAME)  \
    case TESS_PRECISION_##NAME: \
        return add_group<VALUE, VECTOR, ROWS, SPLIT>(v, at, record, header, g, diagonal, x, sum);
        STORAGE_TYPES(ADD_GROUP)
#undef ADD_GROUP
    }
    return sum;
}

/* The sum of the lane's row of its strip (SPLIT: its part of it), whose record is in shared or device memory. All lanes of the
   wave take part; `has`: the lane has a strip. */
template <typename VECTOR, int ROWS, int SPLIT>
__device__ static __forceinline__ double sum_strip_row(const tiles_view &v, const strips_plan &plan,
                                                       const tiles_lanes<ROWS> &at, bool has, int32_t strip,
                                                       const char *record, const VECTOR *x)
{
    const uint32_t *words = (const uint32_t *)(const void *)record;
    const int nruns = has ? (int)words[0] : 0;
    const int32_t diagonal = tiles_diagonal_column(&v, strip);
    uint32_t end = tiles_head_bytes(nruns, v.nlevels);
    double sum = 0.0;

#pragma unroll 1
    for (int run = 0; GPU_BALLOT(run < nruns); run++) {
#pragma unroll 1
        for (int l = v.nlevels - 1; l >= 0; l--) {
            const uint32_t header = run < nruns ? words[1 + tiles_header_place(run, l, v.nlevels)] : 0U;
            tiles_group g = {};

            if (!GPU_BALLOT(header != 0)) { continue; }
            if (header) {
                g = tiles_group_at(header, end, ROWS, plan.bytes_of(l));
                end = g.end;
            }
            sum = add_any_group<VECTOR, ROWS, SPLIT>(v, plan.precision(l), at, record, header, g, diagonal, x, sum);
        }
    }
    return sum;
}

/* ---- stretches ---- */

/* A wave's stretch of strips: where their records begin. Lane j has that of strip j, up to the one after the last. */
struct stretch {
    int32_t first; /* strip */
    uint32_t start;

    __device__ inline void find(const tiles_view &v, const strips_plan &plan, int32_t strip)
    {
        const int lane = (int)threadIdx.x % GPU_WAVE, nstrips = (int)v.nstrips;

        first = strip;
        strip += lane < plan.strips ? lane : plan.strips;
        start = first < nstrips ? v.start[strip < nstrips ? strip : nstrips] : 0U;
    }

    __device__ inline uint32_t start_of(int strip) const
    {
        return GPU_SHUFFLE(start, strip, GPU_WAVE);
    }
};

/* Its bytes, from the beginning of a line, and whether they fit a stage. The same in all lanes. */
struct stage_request {
    const char *from;
    uint32_t bytes;
    bool fits;

    __device__ inline stage_request(const tiles_view &v, const strips_plan &plan, const stretch &s)
    {
        const char *begin = v.record + (int64_t)s.start_of(0) * TILES_UNIT;
        const char *end = v.record + (int64_t)s.start_of(plan.strips) * TILES_UNIT;
        const uint32_t excess = (uint32_t)((uintptr_t)begin % LINE);

        from = begin - excess;
        bytes = (uint32_t)((end - from + LINE - 1) / LINE * LINE);
        fits = GPU_HAS_BULK_COPY && s.first < (int)v.nstrips && (int64_t)bytes <= plan.room;
    }
};

__device__ static inline void request_stretch(const stage_request &request, char *stage, gpu_arrival *arrival)
{
#if GPU_HAS_BULK_COPY
    if (request.fits && threadIdx.x % GPU_WAVE == 0) {
        gpu_arrival_expect(arrival, request.bytes);
        gpu_bulk_copy(stage, request.from, request.bytes, arrival);
    }
#else
    (void)request;
    (void)stage;
    (void)arrival;
#endif
}

__device__ static inline void await_stretch(bool fits, gpu_arrival *arrival, uint32_t *parities, int stage)
{
#if GPU_HAS_BULK_COPY
    if (fits) {
        gpu_arrival_wait(arrival, *parities >> stage & 1U);
        *parities ^= 1U << stage;
    }
#else
    (void)fits;
    (void)arrival;
    (void)parities;
    (void)stage;
#endif
}

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
template <typename VECTOR, int ROWS, int SPLIT, int NDOTS>
__device__ static __forceinline__ void work_on(const tiles_view &v, const strips_plan &plan, const stretch &own,
                                               const char *records, const tess_spmv_args &args,
                                               const strips_output &output, const VECTOR *x, double *dots)
{
    constexpr int AT_ONCE = GPU_WAVE / (ROWS * SPLIT);
    const tiles_lanes<ROWS> at;
    const uint32_t origin = own.start_of(0);

#pragma unroll 1
    for (int s = 0; s < plan.strips; s += AT_ONCE) {
        const int mine = s + at.shift / (ROWS * SPLIT);
        const int32_t strip = own.first + mine;
        const int64_t row = (int64_t)strip * ROWS + at.lane;
        const bool has = strip < (int)v.nstrips;
        const uint32_t start = own.start_of(has ? mine : 0);
        double sum = sum_strip_row<VECTOR, ROWS, SPLIT>(v, plan, at, has, strip,
                                                        records + (int64_t)(start - origin) * TILES_UNIT, x);

        if (SPLIT == 2) { sum += GPU_SHUFFLE_XOR(sum, ROWS); }
        if (has && row < v.nrows && at.shift / ROWS % SPLIT == 0) {
            finish<VECTOR, NDOTS>(args, output, row, sum, dots);
        }
    }
}

template <typename VECTOR>
__device__ static inline const VECTOR *vector_of(const tess_spmv_args &args)
{
    if constexpr (sizeof(VECTOR) == sizeof(float)) {
        return args.x_fp32;
    } else {
        return args.x;
    }
}

template <typename VECTOR, int ROWS, int SPLIT, int NDOTS>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, BLOCKS)
    strips_kernel(const tiles_view v, const strips_plan plan, const strips_output output, const tess_spmv_args args,
                  const loop_gate gate, const reduce_target target)
{
    extern __shared__ __align__(128) char stages[];
    __shared__ gpu_arrival arrivals[WAVES][STAGES];
    const int wave = (int)threadIdx.x / GPU_WAVE;
    const int step = (int)gridDim.x * WAVES * plan.strips, nstrips = (int)v.nstrips; /* their sum is below 2^31 */
    char *const own_stages = stages + wave * STAGES * plan.room;
    stretch own, coming, after;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;
    uint32_t parities = 0; /* bit s: of the next arrival at stage s */
    bool runs;

    static_assert(STAGES == 2, "one stretch is worked on, the next is on its way");
    own.find(v, plan, ((int)blockIdx.x * WAVES + wave) * plan.strips);
    coming.find(v, plan, own.first + step);
#if GPU_HAS_BULK_COPY
    if (threadIdx.x % GPU_WAVE == 0) {
        for (int s = 0; s < STAGES; s++) {
            gpu_arrival_create(&arrivals[wave][s]);
        }
    }
    GPU_SYNC_WAVE();
#endif
    request_stretch(stage_request(v, plan, own), own_stages, &arrivals[wave][0]);
    request_stretch(stage_request(v, plan, coming), own_stages + plan.room, &arrivals[wave][1]);
    /* No kernel of a loop writes what was fetched so far; x comes from the kernel before this one. */
    runs = loop_enter<true>(gate, NDOTS > 0, &scalars);
    for (int stage = 0; own.first < nstrips; stage ^= 1) {
        const stage_request request(v, plan, own);
        char *const at = own_stages + stage * plan.room;

        after.find(v, plan, coming.first + step);
        await_stretch(request.fits, &arrivals[wave][stage], &parities, stage);
        if (runs) {
            const int64_t begin = (int64_t)own.start_of(0) * TILES_UNIT;

            if (request.fits) {
                work_on<VECTOR, ROWS, SPLIT, NDOTS>(v, plan, own, at + (v.record + begin - request.from), args, output,
                                                    vector_of<VECTOR>(args), dots);
            } else {
                work_on<VECTOR, ROWS, SPLIT, NDOTS>(v, plan, own, v.record + begin, args, output,
                                                    vector_of<VECTOR>(args), dots);
            }
            GPU_SYNC_WAVE();
            request_stretch(stage_request(v, plan, after), at, &arrivals[wave][stage]);
        } else if (stage == 1) { /* what was on its way has arrived */
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

/* THREADS: of a strip. */
template <int THREADS>
static strips_plan make_plan(const gpu_state *state, const tiles_view *v, int64_t longest)
{
    enum { RESERVED_SHARED = 2048 }; /* bytes that each block takes besides */
    const int64_t mean = mean_strip(v), most = (state->shared_bytes_per_block - RESERVED_SHARED) / (WAVES * STAGES);
    int64_t strips = GPU_WAVE / THREADS, room;
    strips_plan plan = {0, 0, 0, 0};

    for (int l = 0; l < v->nlevels; l++) {
        plan.precisions |= (unsigned)v->precision[l] << (4 * l);
        plan.value_bytes |= (unsigned)tess_precision_bytes(v->precision[l]) << (4 * l);
    }
    while (2 * strips <= STAGE_STRIPS && 2 * strips * mean <= STAGE_BYTES) {
        strips *= 2;
    }
    room = (longest < 2 * mean ? strips * longest : 2 * strips * mean) + 3 * LINE - 2;
    plan.strips = (int)strips;
    plan.room = (int)((room < most ? room : most) / LINE * LINE);
    return plan;
}

template <typename VECTOR, int ROWS, int SPLIT, int NDOTS>
static tess_status launch(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    enum { RESERVED_SHARED = 2048 }; /* bytes that each block takes besides */
    const gpu_state *state = gpu_state_of(ctx);
    const strips_plan plan = make_plan<ROWS * SPLIT>(gpu_state_of(ctx), v, longest);
    const bool fp32 = args->vectors == TESS_PRECISION_FP32;
    const strips_output output = {(fp32 || args->y) && !args->residual && args->alpha == 1.0 && args->beta == 0.0 &&
                                      args->update.kind == TESS_UPDATE_NONE,
                                  args->update.kind == TESS_UPDATE_POLYNOMIAL};
    const size_t shared = (size_t)plan.room * STAGES * WAVES;
    const int64_t needed = ((v->nstrips + plan.strips - 1) / plan.strips + WAVES - 1) / WAVES;
    int64_t resident = state->shared_bytes / ((int64_t)shared + RESERVED_SHARED);
    loop_gate gate;
    reduce_target target;
    unsigned grid;
    tess_status status = TESS_SUCCESS;

    resident = resident < 1 ? 1 : resident < BLOCKS ? resident : (int64_t)BLOCKS;
    resident *= state->multiprocessors;
    grid = (unsigned)(needed < resident ? needed : resident);
    TESS_TRY(gpu_allow_shared(ctx, (const void *)strips_kernel<VECTOR, ROWS, SPLIT, NDOTS>));
    TESS_TRY(open_settled_gate(ctx, args->reduction.state, &gate));
    TESS_TRY(prepare_reduction(ctx, grid, NDOTS, args->reduction.step, args->reduction.state, &target));
    status = gpu_launch(ctx, "a product of tiles", strips_kernel<VECTOR, ROWS, SPLIT, NDOTS>, grid, shared, *v, plan,
                        output, *args, gate, target);
cleanup:
    return status;
}

template <int ROWS, int SPLIT>
static tess_status select_kernel(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    if (args->vectors == TESS_PRECISION_FP32) { return launch<float, ROWS, SPLIT, 0>(ctx, v, longest, args); }
    switch (args->reduction.ndots) {
    case 0: return launch<double, ROWS, SPLIT, 0>(ctx, v, longest, args);
    case 1: return launch<double, ROWS, SPLIT, 1>(ctx, v, longest, args);
    default: return launch<double, ROWS, SPLIT, 2>(ctx, v, longest, args);
    }
}

static tess_status spmv(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    if (v->nstrips == 0) { return TESS_SUCCESS; }
    if (v->rows == 32) { return select_kernel<32, 1>(ctx, v, longest, args); }
    return mean_strip(v) < LONG_STRIP ? select_kernel<16, 1>(ctx, v, longest, args)
                                      : select_kernel<16, 2>(ctx, v, longest, args);
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
