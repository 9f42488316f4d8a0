/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building split and composite storage on the GPU. Rows are placed by counting: runs of rows are counted by block, one block
 * turns counts into places, and blocks place their rows in order. Every row and entry has one place: no order of threads shows.
 */
#include "backend/gpu/scan.cuh"
#include "backend/gpu/storage_types.cuh"
#include "backend/gpu/store_value.cuh"
#include "format/split/split.h"
#include "format/split/split_rows.h"
#include "granule/assign.h"

enum {
    RUN_ROUNDS = 4,               /* rows or entries of a run are taken in rounds, one per thread */
    RUN = RUN_ROUNDS * GPU_BLOCK, /* rows or entries that a block counts and places */
    WAVES = GPU_BLOCK / GPU_WAVE,
    BLOCKS_PER_MULTIPROCESSOR = 8
};

static int64_t runs_of(int64_t count)
{
    return (count + RUN - 1) / RUN;
}

/* What the builder's functions read, as kernel arguments. */
struct device_source {
    csr_view csr;
    split_source source; /* source.csr points into host memory: with_csr() mends that */
    split_rows rows;

    __device__ inline split_source with_csr() const
    {
        split_source own = source;

        own.csr = &csr;
        return own;
    }
};

static device_source make_source(const split_source *source, const split_rows *rows)
{
    device_source s = {*source->csr, *source, {NULL, 0, -1}};

    if (rows) { s.rows = *rows; }
    return s;
}

/* An offset from its 32-bit words: where its width chose between two loads, each would be waited for before the next begins. */
__device__ static inline int64_t load_offset(const void *row_ptr, int bits, int64_t i)
{
    const int32_t *word = (const int32_t *)row_ptr + (bits == 64 ? 2 * i : i);
    uint32_t low = (uint32_t)word[0];
    int32_t high = bits == 64 ? word[1] : 0; /* 32-bit offsets are not negative */

    return (int64_t)((uint64_t)(uint32_t)high << 32 | low);
}

/* split_span_of by such loads. */
__device__ static inline split_span load_span(const device_source &s, int64_t i)
{
    const int64_t row = split_row(&s.rows, i);

    return {row, load_offset(s.csr.row_ptr, s.csr.row_ptr_bits, row),
            load_offset(s.csr.row_ptr, s.csr.row_ptr_bits, row + 1)};
}

/* ---- sums within a block ---- */

/*
 * The threads of a block hold RUN_ROUNDS things each, of series 0 to SERIES - 1 or of none (-1). rank[round] becomes how many of
 * the same series come before, in the order of rounds and of threads within a round; total[series] how many there are. Every
 * thread of the block takes part.
 */
template <int SERIES>
__device__ static inline void rank_in_run(const int (&series)[RUN_ROUNDS], int (&rank)[RUN_ROUNDS],
                                          int (&total)[SERIES])
{
    enum { COUNTS = RUN_ROUNDS * WAVES };
    __shared__ int before[SERIES][COUNTS], all[SERIES];
    const int lane = (int)threadIdx.x % GPU_WAVE, wave = (int)threadIdx.x / GPU_WAVE;
    const gpu_lanes earlier = ((gpu_lanes)1 << lane) - 1;

    static_assert((int)COUNTS <= (int)GPU_WAVE, "a wave adds up the counts of a series");
#pragma unroll
    for (int round = 0; round < RUN_ROUNDS; round++) {
        rank[round] = 0;
#pragma unroll
        for (int p = 0; p < SERIES; p++) {
            gpu_lanes same = GPU_BALLOT(series[round] == p);

            if (series[round] == p) { rank[round] = GPU_COUNT_LANES(same & earlier); }
            if (lane == 0) { before[p][round * WAVES + wave] = GPU_COUNT_LANES(same); }
        }
    }
    __syncthreads();
    for (int p = wave; p < SERIES; p += WAVES) {
        int own = lane < COUNTS ? before[p][lane] : 0, inclusive = own;

        for (int distance = 1; distance < COUNTS; distance *= 2) {
            int other = GPU_SHUFFLE_UP(inclusive, distance, GPU_WAVE);

            if (lane >= distance) { inclusive += other; }
        }
        if (lane < COUNTS) { before[p][lane] = inclusive - own; }
        if (lane == COUNTS - 1) { all[p] = inclusive; }
    }
    __syncthreads();
#pragma unroll
    for (int round = 0; round < RUN_ROUNDS; round++) {
        if (series[round] >= 0) { rank[round] += before[series[round]][round * WAVES + wave]; }
    }
    for (int p = 0; p < SERIES; p++) {
        total[p] = all[p];
    }
    __syncthreads(); /* the counts may be overwritten */
}

/* ---- order ---- */

/* The parts of the thread's rows of a run: -1 past the last row. */
__device__ static inline void read_parts(const split_source &source, int nlevels, int64_t nrows,
                                         int (&part)[RUN_ROUNDS])
{
    const int64_t begin = (int64_t)blockIdx.x * RUN + threadIdx.x;
    uint8_t level[RUN_ROUNDS];

#pragma unroll
    for (int round = 0; round < RUN_ROUNDS; round++) { /* all loads at once */
        level[round] = source.level[min(begin + round * GPU_BLOCK, nrows - 1)];
    }
#pragma unroll
    for (int round = 0; round < RUN_ROUNDS; round++) {
        part[round] = begin + round * GPU_BLOCK < nrows ? split_part_of(level[round], nlevels) : -1;
    }
}

/* PARTS: those of the levels and that of empty rows, or more. */
template <int PARTS>
__global__ static void __launch_bounds__(GPU_BLOCK)
    count_parts_kernel(const split_source source, int nlevels, int64_t nrows, int64_t nruns, int64_t *counts)
{
    __shared__ int count[PARTS];
    int part[RUN_ROUNDS];

    if (threadIdx.x < PARTS) { count[threadIdx.x] = 0; }
    read_parts(source, nlevels, nrows, part);
    __syncthreads();
    for (int p = 0; p < PARTS; p++) {
        int own = 0;

#pragma unroll
        for (int round = 0; round < RUN_ROUNDS; round++) {
            own += GPU_COUNT_LANES(GPU_BALLOT(part[round] == p));
        }
        if (threadIdx.x % GPU_WAVE == 0) { atomicAdd(&count[p], own); }
    }
    __syncthreads();
    if (threadIdx.x < PARTS) { counts[threadIdx.x * nruns + blockIdx.x] = count[threadIdx.x]; }
}

template <int PARTS>
__global__ static void __launch_bounds__(GPU_BLOCK)
    place_rows_kernel(const split_source source, int nlevels, const split_order order, int64_t nruns,
                      const int64_t *first)
{
    int part[RUN_ROUNDS], rank[RUN_ROUNDS], total[PARTS];

    read_parts(source, nlevels, order.nrows, part);
    rank_in_run(part, rank, total);
#pragma unroll
    for (int round = 0; round < RUN_ROUNDS; round++) {
        int64_t i = (int64_t)blockIdx.x * RUN + round * GPU_BLOCK + threadIdx.x, position;

        if (part[round] < 0) { continue; }
        position = first[part[round] * nruns + blockIdx.x] + rank[round];
        order.row_of[position] = (int32_t)i;
        if (order.position_of) { order.position_of[i] = (int32_t)position; }
    }
}

template <int PARTS>
static tess_status order_parts(tess_context *ctx, const split_source *source, int nlevels, const split_order *order)
{
    gpu_scope scope(ctx);
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    int64_t nruns = runs_of(order->nrows), *counts = NULL;
    double *room = NULL;
    series_base base = {};
    tess_status status = TESS_SUCCESS;

    static_assert(PARTS <= (int)SCAN_SERIES, "parts are series of counts");
    if (nruns == 0) { return TESS_SUCCESS; }
    for (int p = 0; p < PARTS; p++) {
        base.begin[p] = order->begin[p];
    }
    TESS_TRY(gpu_parts(ctx, PARTS * nruns, &room));
    counts = (int64_t *)(void *)room;
    count_parts_kernel<PARTS><<<(unsigned)nruns, GPU_BLOCK, 0, stream>>>(*source, nlevels, order->nrows, nruns, counts);
    TESS_TRY(gpu_check_launch(ctx, "counting rows by level"));
    scan_series_kernel<<<PARTS, SCAN_BLOCK, 0, stream>>>(nruns, base, counts, NULL);
    TESS_TRY(gpu_check_launch(ctx, "placing runs of rows"));
    place_rows_kernel<PARTS><<<(unsigned)nruns, GPU_BLOCK, 0, stream>>>(*source, nlevels, *order, nruns, counts);
    status = gpu_check_launch(ctx, "placing rows");
cleanup:
    return status;
}

static tess_status order_rows(tess_context *ctx, const split_source *source, int nlevels, const split_order *order)
{
    return nlevels <= 2 ? order_parts<3>(ctx, source, nlevels, order)
                        : order_parts<SPLIT_MOST_PARTS>(ctx, source, nlevels, order);
}

/* ---- offsets ---- */

__device__ static inline int64_t count_entries(const device_source &s, const split_span &span)
{
    const split_source source = s.with_csr();
    int64_t count = 0;

    if (split_keeps_all(&source, &s.rows)) { return span.end - span.begin; }
    if (s.rows.entry_level < 0) {
        return span.end - span.begin - (assign_find_diagonal(&s.csr, span.row) >= 0 ? 1 : 0);
    }
    for (int64_t k = span.begin; k < span.end; k++) {
        count += split_keeps(&source, &s.rows, span.row, k);
    }
    return count;
}

/* Lengths go to row_ptr[i + 1], the sum of a run to counts[run]. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    count_entries_kernel(const device_source s, int row_ptr_bits, void *row_ptr, int64_t *counts)
{
    int64_t begin = (int64_t)blockIdx.x * RUN + threadIdx.x, sum = 0, total;
    split_span span[RUN_ROUNDS];

#pragma unroll
    for (int round = 0; round < RUN_ROUNDS; round++) { /* all loads before the first store */
        span[round] = load_span(s, min(begin + round * GPU_BLOCK, s.rows.count - 1));
    }
#pragma unroll
    for (int round = 0; round < RUN_ROUNDS; round++) {
        int64_t i = begin + round * GPU_BLOCK;

        if (i < s.rows.count) {
            int64_t length = count_entries(s, span[round]);

            tess_row_offset_set(row_ptr, row_ptr_bits, i + 1, length);
            sum += length;
        }
    }
    (void)scan_block<GPU_BLOCK>(sum, &total);
    if (threadIdx.x == 0) { counts[blockIdx.x] = total; }
}

/* A thread takes neighbouring rows of a run: one scan is enough. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    place_entries_kernel(int64_t count, int row_ptr_bits, void *row_ptr, const int64_t *first)
{
    int64_t begin = (int64_t)blockIdx.x * RUN + (int64_t)threadIdx.x * RUN_ROUNDS, length[RUN_ROUNDS];
    int64_t sum = 0, total, place;

#pragma unroll
    for (int r = 0; r < RUN_ROUNDS; r++) {
        length[r] = begin + r < count ? load_offset(row_ptr, row_ptr_bits, begin + r + 1) : 0;
        sum += length[r];
    }
    place = first[blockIdx.x] + scan_block<GPU_BLOCK>(sum, &total);
    if (blockIdx.x == 0 && threadIdx.x == 0) { tess_row_offset_set(row_ptr, row_ptr_bits, 0, 0); }
#pragma unroll
    for (int r = 0; r < RUN_ROUNDS; r++) {
        place += length[r];
        if (begin + r < count) { tess_row_offset_set(row_ptr, row_ptr_bits, begin + r + 1, place); }
    }
}

static tess_status offsets(tess_context *ctx, const split_source *source, const split_rows *rows, int row_ptr_bits,
                           void *row_ptr, int64_t *nnz)
{
    gpu_scope scope(ctx);
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    int64_t nruns = runs_of(rows->count), *counts = NULL;
    double *room = NULL;
    const series_base base = {};
    tess_status status = TESS_SUCCESS;

    if (nnz) { *nnz = 0; }
    if (nruns == 0) { return ctx->backend->zero(ctx, row_ptr, (size_t)row_ptr_bits / 8); }
    TESS_TRY(gpu_parts(ctx, nruns + 1, &room));
    counts = (int64_t *)(void *)room;
    count_entries_kernel<<<(unsigned)nruns, GPU_BLOCK, 0, stream>>>(make_source(source, rows), row_ptr_bits, row_ptr,
                                                                    counts);
    TESS_TRY(gpu_check_launch(ctx, "counting entries"));
    scan_series_kernel<<<1, SCAN_BLOCK, 0, stream>>>(nruns, base, counts, counts + nruns);
    TESS_TRY(gpu_check_launch(ctx, "placing runs of entries"));
    place_entries_kernel<<<(unsigned)nruns, GPU_BLOCK, 0, stream>>>(rows->count, row_ptr_bits, row_ptr, counts);
    TESS_TRY(gpu_check_launch(ctx, "placing entries"));
    if (nnz) { status = ctx->backend->download(ctx, nnz, counts + nruns, sizeof *nnz); }
cleanup:
    return status;
}

/* ---- columns and values ---- */

enum { COPIES = RUN_ROUNDS }; /* entries in flight per thread */

struct copied_entries {
    int32_t column[COPIES];
    double value[COPIES];
};

/* Entries from[c] of the assembled matrix, where they are not negative: all loads at once. */
__device__ static inline void load_entries(const csr_view &csr, const split_target &target,
                                           const int64_t (&from)[COPIES], copied_entries *e)
{
#pragma unroll
    for (int c = 0; c < COPIES; c++) {
        e->column[c] = target.col_ind && from[c] >= 0 ? gpu_load_once(csr.col_ind + from[c]) : 0;
        e->value[c] = target.val && from[c] >= 0 ? gpu_load_once((const double *)csr.val + from[c]) : 0.0;
    }
#pragma unroll
    for (int c = 0; c < COPIES; c++) {
        if (target.position_of && target.col_ind && from[c] >= 0) { e->column[c] = target.position_of[e->column[c]]; }
    }
}

template <tess_precision PRECISION>
__device__ static inline void store_entry(const split_target &target, int64_t place, int32_t column, double value)
{
    if (target.col_ind) { target.col_ind[place] = column; }
    if (target.val) { tess_store(PRECISION, target.val, place, value, TESS_OVERFLOW_INFINITY); }
}

/* Neighbouring rows of a list, one for each thread of a block. */
struct row_tile {
    int64_t place[GPU_BLOCK + 1]; /* of each row's first entry; last, past them all */
    int64_t shift[GPU_BLOCK];     /* from a place to the entry that goes there */
    int64_t gap[GPU_BLOCK];       /* place from which on that is one entry further: the diagonal's is left out */
    double inverse[GPU_BLOCK];    /* of the row's scale, where values are scaled */
};

/* All threads of a block. */
__device__ static inline void load_tile(const device_source &s, const csr_view &to, bool scaled, int64_t first,
                                        row_tile *tile)
{
    const int t = (int)threadIdx.x;
    const int64_t count = s.rows.count, i = first + t, row = split_row(&s.rows, min(i, count - 1));
    const int64_t place = load_offset(to.row_ptr, to.row_ptr_bits, min(i, count));
    const int64_t end = load_offset(to.row_ptr, to.row_ptr_bits, min(first + GPU_BLOCK, count));
    const int64_t begin = load_offset(s.csr.row_ptr, s.csr.row_ptr_bits, row);
    const int64_t diagonal = s.source.without_diagonal ? assign_find_diagonal(&s.csr, row) : -1;

    tile->place[t] = place;
    if (t == 0) { tile->place[GPU_BLOCK] = end; }
    tile->shift[t] = begin - place;
    tile->gap[t] = diagonal >= 0 ? place + (diagonal - begin) : INT64_MAX;
    if (scaled) { tile->inverse[t] = policy_power_of_two(-s.source.exponent[row]); }
    __syncthreads();
}

/* The row of a tile that has a place: the last one that begins there or before. */
__device__ static inline int find_place(const row_tile &tile, int64_t place)
{
    int row = 0;

#pragma unroll
    for (int step = GPU_BLOCK / 2; step > 0; step /= 2) {
        row += tile.place[row + step] <= place ? step : 0;
    }
    return row;
}

/* A block takes rows whose entries go to neighbouring places; threads share these, however long the rows are. */
template <tess_precision PRECISION>
__global__ static void __launch_bounds__(GPU_BLOCK)
    copy_rows_kernel(const device_source s, const csr_view to, const split_target target)
{
    __shared__ row_tile tile;

    load_tile(s, to, target.scaled, (int64_t)blockIdx.x * GPU_BLOCK, &tile);
    for (int64_t first = tile.place[0]; first < tile.place[GPU_BLOCK]; first += COPIES * GPU_BLOCK) {
        copied_entries e;
        int64_t from[COPIES];
        int row[COPIES];

#pragma unroll
        for (int c = 0; c < COPIES; c++) {
            int64_t place = first + c * GPU_BLOCK + threadIdx.x;

            row[c] = find_place(tile, place);
            from[c] = place < tile.place[GPU_BLOCK] ? place + tile.shift[row[c]] + (place >= tile.gap[row[c]]) : -1;
        }
        load_entries(s.csr, target, from, &e);
#pragma unroll
        for (int c = 0; c < COPIES; c++) {
            if (from[c] < 0) { continue; }
            if (target.scaled) { e.value[c] *= tile.inverse[row[c]]; }
            store_entry<PRECISION>(target, first + c * GPU_BLOCK + threadIdx.x, e.column[c], e.value[c]);
        }
    }
}

template <tess_precision PRECISION>
static void launch_copy(tess_context *ctx, const device_source &s, const csr_view *to, const split_target *target)
{
    const unsigned grid = (unsigned)((s.rows.count + GPU_BLOCK - 1) / GPU_BLOCK);

    copy_rows_kernel<PRECISION><<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(s, *to, *target);
}

/* ---- layers ---- */

/* Where the entries of each level go; those of a level without offsets go nowhere. */
struct layer_targets {
    csr_view to[TESS_MOST_LEVELS];
    split_target target[TESS_MOST_LEVELS];
    split_target wanted; /* of any entry: that of a level that goes somewhere */
};

/* Entries out of all rows in their order: those of a level in a block's rows go to neighbouring places. */
template <int LEVELS>
__global__ static void __launch_bounds__(GPU_BLOCK) copy_layers_kernel(const device_source s, const layer_targets t)
{
    const int64_t first_row = (int64_t)blockIdx.x * GPU_BLOCK;
    const int64_t end = assign_row_start(&s.csr, min(first_row + GPU_BLOCK, s.csr.nrows));
    int64_t place[LEVELS] = {};

#pragma unroll
    for (int l = 0; l < LEVELS; l++) {
        if (t.to[l].row_ptr) { place[l] = tess_row_offset(t.to[l].row_ptr, t.to[l].row_ptr_bits, first_row); }
    }
    for (int64_t first = assign_row_start(&s.csr, first_row); first < end; first += RUN) {
        copied_entries e;
        int64_t from[COPIES];
        int series[COPIES], rank[COPIES], total[LEVELS];

#pragma unroll
        for (int c = 0; c < COPIES; c++) {
            const int64_t k = first + c * GPU_BLOCK + threadIdx.x;
            const int level = s.source.level[min(k, end - 1)];

            series[c] = -1;
#pragma unroll
            for (int l = 0; l < LEVELS; l++) {
                if (k < end && level == l && t.to[l].row_ptr) { series[c] = l; }
            }
            from[c] = series[c] < 0 ? -1 : k;
        }
        load_entries(s.csr, t.wanted, from, &e);
        rank_in_run(series, rank, total);
#pragma unroll
        for (int c = 0; c < COPIES; c++) {
#pragma unroll
            for (int l = 0; l < LEVELS; l++) {
                if (series[c] != l) { continue; }
                if (t.wanted.col_ind) { t.target[l].col_ind[place[l] + rank[c]] = e.column[c]; }
                if (t.wanted.val) { store_value(t.to[l].precision, t.target[l].val, place[l] + rank[c], e.value[c]); }
            }
        }
#pragma unroll
        for (int l = 0; l < LEVELS; l++) {
            place[l] += total[l];
        }
    }
}

/* Levels from `first` on. */
static tess_status launch_layers(tess_context *ctx, const split_source *source, int first, int count,
                                 const csr_view *to, const split_target *target)
{
    const device_source s = make_source(source, NULL);
    const unsigned grid = (unsigned)((s.csr.nrows + GPU_BLOCK - 1) / GPU_BLOCK);
    layer_targets t = {};

    if (s.csr.nrows == 0) { return TESS_SUCCESS; }
    for (int l = 0; l < count; l++) {
        t.to[first + l] = to[l];
        t.target[first + l] = target[l];
    }
    t.wanted = target[0];
    if (first + count <= 2) {
        copy_layers_kernel<2><<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(s, t);
    } else {
        copy_layers_kernel<TESS_MOST_LEVELS><<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(s, t);
    }
    return gpu_check_launch(ctx, "copying entries by level");
}

static tess_status copy_layers(tess_context *ctx, const split_source *source, int nlevels, const csr_view *to,
                               const split_target *target)
{
    gpu_scope scope(ctx);

    return launch_layers(ctx, source, 0, nlevels, to, target);
}

static tess_status copy_entries(tess_context *ctx, const split_source *source, const split_rows *rows,
                                const csr_view *to, const split_target *target)
{
    gpu_scope scope(ctx);
    const device_source s = make_source(source, rows);

    if (rows->count == 0) { return TESS_SUCCESS; }
    if (rows->entry_level >= 0) { return launch_layers(ctx, source, rows->entry_level, 1, to, target); }
    switch (to->precision) {
#define LAUNCH(TYPE, NAME) \
    case TESS_PRECISION_##NAME: launch_copy<TESS_PRECISION_##NAME>(ctx, s, to, target); break;
        STORAGE_TYPES(LAUNCH)
#undef LAUNCH
    }
    return gpu_check_launch(ctx, "copying rows");
}

__global__ static void __launch_bounds__(GPU_BLOCK) exponents_kernel(const device_source s, int16_t *exponent)
{
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < s.rows.count;
         i += (int64_t)gridDim.x * GPU_BLOCK) {
        exponent[i] = s.source.exponent[split_row(&s.rows, i)];
    }
}

static tess_status exponents(tess_context *ctx, const split_source *source, const split_rows *rows, int16_t *exponent)
{
    gpu_scope scope(ctx);
    unsigned grid = gpu_grid(ctx, rows->count, BLOCKS_PER_MULTIPROCESSOR);

    exponents_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(make_source(source, rows), exponent);
    return gpu_check_launch(ctx, "copying exponents");
}

/* Behind functions: a table that is visible outside would be emitted for the device as well by HIP. */
extern "C" const split_backend *split_gpu(void)
{
    static const split_backend table = {split_gpu_spread, order_rows,           offsets, copy_entries, copy_layers,
                                        exponents,        split_gpu_spmv_layers};

    return &table;
}

enum {
    GPU_PRECISIONS =
        1U << TESS_PRECISION_FP64 | 1U << TESS_PRECISION_FP32 | 1U << TESS_PRECISION_BF16 | 1U << TESS_PRECISION_FP16
};

extern "C" const tess_format_ops *split_gpu_ops(void)
{
    static const tess_format_ops table = {TESS_FORMAT_SPLIT, split_build,  split_refresh, split_destroy, split_prepare,
                                          split_spmv,        split_decode, split_bytes,   GPU_PRECISIONS};

    return &table;
}

extern "C" const tess_format_ops *composite_gpu_ops(void)
{
    static const tess_format_ops table = {TESS_FORMAT_COMPOSITE, split_build,   split_refresh,
                                          split_destroy,         split_prepare, split_spmv,
                                          split_decode,          split_bytes,   GPU_PRECISIONS};

    return &table;
}
