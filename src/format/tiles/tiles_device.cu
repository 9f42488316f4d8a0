/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles times a vector on the GPU. As many neighbouring threads as a block has rows take a strip, a row each; a wave has one or
 * two strips. The records of a few strips at a time come into shared memory in one stretch, while the wave works on those
 * before; waves do not wait for each other. A lane finds its entries by counting, with a ballot for each step, the rows before it
 * that have one. Strips too long for that, and all where the mean one is, are read from memory. Every row is added up by one
 * thread in a fixed order.
 */
#include "backend/gpu/reduce.cuh"
#include "format/row_epilogue.h"
#include "format/tiles/tiles_device.cuh"

enum {
    BATCH = 4,           /* entries of a row in flight */
    WAVES = GPU_BLOCK / GPU_WAVE,
    STAGES = 2,          /* stretches that a wave has in shared memory: one is worked on, one is on its way */
    STAGE_BYTES = 3072,  /* of a stretch, about */
    STAGE_STRIPS = 8,    /* most of a stretch */
    LONG_STRIP = 4096,   /* bytes of a mean strip from which records are read from memory */
    BLOCKS = 4,          /* resident blocks per multiprocessor that registers must allow */
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

/* Adds the group's products to the row's sum; header 0: there is no group, for this lane's strip. All lanes take part. */
template <typename VALUE, typename VECTOR, int ROWS>
__device__ static inline double add_group(const tiles_view &v, const tiles_lanes<ROWS> &at, const char *record,
                                          uint32_t header, const tiles_group &g, bool scaled, int32_t diagonal,
                                          const VECTOR *x, double sum)
{
    const uint8_t *index = (const uint8_t *)record + g.index;
    const VALUE *values = (const VALUE *)(const void *)(record + g.values);
    const int length = header ? (int)((const uint8_t *)record)[g.lengths + (uint32_t)at.lane] : 0;
    const bool has_slot = at.lane < tiles_slots(header);
    const int32_t base = has_slot ? tiles_slot_column(record, &g, header, at.lane, diagonal) << v.column_bits : 0;
    const double scale = scaled && has_slot ? policy_power_of_two(tiles_slot_exponent(record, &g, at.lane)) : 1.0;
    const unsigned mask = (1U << v.column_bits) - 1U;
    int before = 0;

    for (int step = 0; GPU_BALLOT(step < length); step += BATCH) {
        int place[BATCH];
        VECTOR factor[BATCH];
        int slot[BATCH];

#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            const uint32_t members = at.group_part(GPU_BALLOT(step + u < length));
            unsigned entry = 0;
            int32_t column;

            place[u] = before + __popc(members & at.below());
            before += __popc(members);
            if (step + u < length) { entry = index[place[u]]; }
            slot[u] = (int)(entry >> v.column_bits);
            column = GPU_SHUFFLE(base, slot[u], ROWS) + (int32_t)(entry & mask);
            if (step + u < length) { factor[u] = x[column]; }
        }
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            const double power = scaled ? GPU_SHUFFLE(scale, slot[u], ROWS) : 1.0;

            if (step + u < length) {
                double product = tess::decode<double>(values[place[u]]) * (double)factor[u];

                sum += scaled ? product * power : product;
            }
        }
    }
    return sum;
}

template <typename VECTOR, int ROWS>
__device__ static inline double add_any_group(const tiles_view &v, tess_precision precision,
                                              const tiles_lanes<ROWS> &at,
                                              const char *record, uint32_t header, const tiles_group &g, bool scaled,
                                              int32_t diagonal, const VECTOR *x, double sum)
{
    switch (precision) {
    case TESS_PRECISION_FP64: return add_group<double>(v, at, record, header, g, scaled, diagonal, x, sum);
    case TESS_PRECISION_FP32: return add_group<float>(v, at, record, header, g, scaled, diagonal, x, sum);
    case TESS_PRECISION_BF16: return add_group<tess::bf16>(v, at, record, header, g, scaled, diagonal, x, sum);
    case TESS_PRECISION_FP16: return add_group<tess::fp16>(v, at, record, header, g, scaled, diagonal, x, sum);
    case TESS_PRECISION_E4M3: return add_group<tess::e4m3>(v, at, record, header, g, scaled, diagonal, x, sum);
    case TESS_PRECISION_E5M2: return add_group<tess::e5m2>(v, at, record, header, g, scaled, diagonal, x, sum);
    }
    return sum;
}

/* The sum of the lane's row of its strip, whose record is in shared or device memory. All lanes of the wave take part; `has`:
   the lane's group has a strip. */
template <typename VECTOR, int ROWS>
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
            sum = add_any_group(v, plan.precision(l), at, record, header, g, GPU_BALLOT(tiles_is_scaled(header)) != 0, diagonal, x,
                                sum);
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
template <typename VECTOR, int ROWS, int NDOTS>
__device__ static __forceinline__ void work_on(const tiles_view &v, const strips_plan &plan, const stretch &own,
                                               const char *records, const tess_spmv_args &args,
                                               const strips_output &output, const VECTOR *x, double *dots)
{
    constexpr int AT_ONCE = GPU_WAVE / ROWS;
    const tiles_lanes<ROWS> at;
    const uint32_t origin = own.start_of(0);

#pragma unroll 1
    for (int s = 0; s < plan.strips; s += AT_ONCE) {
        const int mine = s + at.shift / ROWS;
        const int32_t strip = own.first + mine;
        const int64_t row = (int64_t)strip * ROWS + at.lane;
        const uint32_t start = own.start_of(mine);
        const bool has = strip < (int)v.nstrips;
        const double sum =
            sum_strip_row<VECTOR, ROWS>(v, plan, at, has, strip, records + (int64_t)(start - origin) * TILES_UNIT, x);

        if (has && row < v.nrows) { finish<VECTOR, NDOTS>(args, output, row, sum, dots); }
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

template <typename VECTOR, int ROWS, int NDOTS>
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
                work_on<VECTOR, ROWS, NDOTS>(v, plan, own, at + (v.record + begin - request.from), args, output,
                                             vector_of<VECTOR>(args), dots);
            } else {
                work_on<VECTOR, ROWS, NDOTS>(v, plan, own, v.record + begin, args, output, vector_of<VECTOR>(args),
                                             dots);
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

static strips_plan make_plan(const tiles_view *v, int64_t longest)
{
    const int at_once = GPU_WAVE / v->rows;
    const int64_t mean = v->units * TILES_UNIT / v->nstrips;
    int64_t strips = at_once, room;
    strips_plan plan = {at_once, 0, 0, 0};

    for (int l = 0; l < v->nlevels; l++) {
        plan.precisions |= (unsigned)v->precision[l] << (4 * l);
        plan.value_bytes |= (unsigned)tess_precision_bytes(v->precision[l]) << (4 * l);
    }
    if (mean > LONG_STRIP) { return plan; }
    while (2 * strips <= STAGE_STRIPS && 2 * strips * mean <= STAGE_BYTES) {
        strips *= 2;
    }
    room = longest < 2 * mean ? strips * longest : 2 * strips * mean;
    plan.strips = (int)strips;
    plan.room = (int)((room + 3 * LINE - 2) / LINE * LINE);
    return plan;
}

template <typename VECTOR, int ROWS, int NDOTS>
static tess_status launch(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    enum { RESERVED_SHARED = 2048 }; /* bytes that each block takes besides */
    const gpu_state *state = gpu_state_of(ctx);
    const strips_plan plan = make_plan(v, longest);
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
    TESS_TRY(gpu_allow_shared(ctx, (const void *)strips_kernel<VECTOR, ROWS, NDOTS>));
    TESS_TRY(open_settled_gate(ctx, args->reduction.state, &gate));
    TESS_TRY(prepare_reduction(ctx, grid, NDOTS, args->reduction.step, args->reduction.state, &target));
    status = gpu_launch(ctx, "a product of tiles", strips_kernel<VECTOR, ROWS, NDOTS>, grid, shared, *v, plan, output,
                        *args, gate, target);
cleanup:
    return status;
}

template <int ROWS>
static tess_status select_kernel(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    if (args->vectors == TESS_PRECISION_FP32) { return launch<float, ROWS, 0>(ctx, v, longest, args); }
    switch (args->reduction.ndots) {
    case 0: return launch<double, ROWS, 0>(ctx, v, longest, args);
    case 1: return launch<double, ROWS, 1>(ctx, v, longest, args);
    default: return launch<double, ROWS, 2>(ctx, v, longest, args);
    }
}

static tess_status spmv(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    if (v->nstrips == 0) { return TESS_SUCCESS; }
    return v->rows == 16 ? select_kernel<16>(ctx, v, longest, args) : select_kernel<32>(ctx, v, longest, args);
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
    static const tess_format_ops table = {TESS_FORMAT_TILES, tiles_build, tiles_refresh,
                                          tiles_destroy,     tiles_prepare, tiles_spmv,
                                          tiles_decode,      tiles_bytes, (1U << TESS_PRECISION_COUNT) - 1U};

    return &table;
}
