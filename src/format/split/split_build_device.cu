/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building split and composite storage on the GPU. Rows are placed by counting: blocks count runs of rows, one block
 * turns the counts into places, and blocks place their rows in order. Every row and entry has one place, so the result
 * does not depend on the order of threads.
 */
#include "device/gpu/scan.cuh"
#include "device/gpu/storage_types.cuh"
#include "format/split/split_build.cuh"

static int64_t runs_of(int64_t count)
{
    return (count + RUN - 1) / RUN;
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

/* PARTS: the levels' parts and that of empty rows, or more. */
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
    __shared__ run_counts<PARTS> run;
    int part[RUN_ROUNDS], rank[RUN_ROUNDS];

    read_parts(source, nlevels, order.nrows, part);
    rank_in_run(part, rank, &run);
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
    double *workspace = NULL;
    series_base base = {};
    tess_status status = TESS_SUCCESS;

    static_assert(PARTS <= (int)SCAN_SERIES, "parts are series of counts");
    if (nruns == 0) { return TESS_SUCCESS; }
    for (int p = 0; p < PARTS; p++) {
        base.begin[p] = order->begin[p];
    }
    TESS_TRY(gpu_parts(ctx, PARTS * nruns, &workspace));
    counts = (int64_t *)(void *)workspace;
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
                        : order_parts<SPLIT_MAX_PARTS>(ctx, source, nlevels, order);
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

/* A thread takes neighbouring rows of a run, so that one scan is enough. */
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
    double *workspace = NULL;
    const series_base base = {};
    tess_status status = TESS_SUCCESS;

    if (nnz) { *nnz = 0; }
    if (nruns == 0) { return ctx->backend->zero(ctx, row_ptr, (size_t)row_ptr_bits / 8); }
    TESS_TRY(gpu_parts(ctx, nruns + 1, &workspace));
    counts = (int64_t *)(void *)workspace;
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

template <tess_precision PRECISION>
__device__ static inline void store_entry(const split_target &target, int64_t place, int32_t column, double value)
{
    if (target.col_ind) { target.col_ind[place] = column; }
    if (target.val) { tess_store(PRECISION, target.val, place, value, TESS_OVERFLOW_INFINITY); }
}

/* Neighbouring rows of a list, one for each thread of a block. */
struct row_tile {
    int64_t place[GPU_BLOCK + 1]; /* of each row's first entry; the last is the end */
    int64_t shift[GPU_BLOCK];     /* from a place to the entry stored there */
    int64_t gap[GPU_BLOCK];       /* from this place on, one entry further, because the diagonal's is left out */
    double inverse[GPU_BLOCK];    /* of the row's scale, if values are scaled */
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
    if (scaled) { tile->inverse[t] = tess_power_of_two(-s.source.exponent[row]); }
    __syncthreads();
}

/* The row of a place in a tile: the last row that begins there or before. */
__device__ static inline int find_place(const row_tile &tile, int64_t place)
{
    int row = 0;

#pragma unroll
    for (int step = GPU_BLOCK / 2; step > 0; step /= 2) {
        row += tile.place[row + step] <= place ? step : 0;
    }
    return row;
}

/* A block takes rows whose entries go to neighbouring places; its threads share these entries, however long the rows
   are. */
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

static tess_status copy_entries(tess_context *ctx, const split_source *source, const split_rows *rows,
                                const csr_view *to, const split_target *target)
{
    gpu_scope scope(ctx);
    const device_source s = make_source(source, rows);

    if (rows->count == 0) { return TESS_SUCCESS; }
    if (rows->entry_level >= 0) { return split_gpu_copy_layer(ctx, source, rows->entry_level, to, target); }
    return gpu_by_storage(ctx, to->precision, [&](auto stored) {
        launch_copy<decltype(stored)::precision>(ctx, s, to, target);
        return gpu_check_launch(ctx, "copying rows");
    });
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

/* Behind functions, because HIP would also emit a visible table for the device. */
extern "C" const split_ops *split_gpu_ops(void)
{
    static const split_ops table = {
        split_gpu_spread, order_rows,           offsets, copy_entries, split_gpu_count_layers, split_gpu_copy_layers,
        exponents,        split_gpu_spmv_layers};

    return &table;
}
