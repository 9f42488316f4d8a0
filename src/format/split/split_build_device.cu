/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building split and composite storage on the GPU. Rows are placed by counting: runs of rows are counted by block, one block
 * turns counts into places, and blocks place their rows in order. Every row and entry has one place: no order of threads shows.
 */
#include "backend/gpu/gpu.h"
#include "format/split/split.h"
#include "format/split/split_rows.h"
#include "granule/assign.h"

enum {
    RUN_ROUNDS = 4,               /* rows of a run are taken in rounds, one row per thread */
    RUN = RUN_ROUNDS * GPU_BLOCK, /* rows that a block counts and places */
    SCAN_BLOCK = 1024,            /* threads that turn counts into places */
    GROUP = 8,                    /* threads that copy a row together */
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

/* ---- sums within a block ---- */

/* Sum over the threads before this one; *total receives the sum over all. Every thread of the block takes part. */
template <int THREADS>
__device__ static inline int64_t scan_block(int64_t value, int64_t *total)
{
    __shared__ int64_t wave_sum[THREADS / GPU_WAVE];
    int lane = (int)threadIdx.x % GPU_WAVE, wave = (int)threadIdx.x / GPU_WAVE;
    int64_t inclusive = value, before = 0, all = 0;

    for (int distance = 1; distance < GPU_WAVE; distance *= 2) {
        int64_t other = GPU_SHUFFLE_UP(inclusive, distance, GPU_WAVE);

        if (lane >= distance) { inclusive += other; }
    }
    if (lane == GPU_WAVE - 1) { wave_sum[wave] = inclusive; }
    __syncthreads();
    for (int w = 0; w < THREADS / GPU_WAVE; w++) {
        before += w < wave ? wave_sum[w] : 0;
        all += wave_sum[w];
    }
    __syncthreads();
    *total = all;
    return before + inclusive - value;
}

/* Turns `counts`, `nseries` series of `count` numbers each, into the sums of those before within a series, plus base[series]. One
   block. totals[series], where it is not NULL, receives the sum of a series and its base. */
struct series_base {
    int64_t begin[SPLIT_MOST_PARTS];
};

__global__ static void __launch_bounds__(SCAN_BLOCK)
    scan_series_kernel(int nseries, int64_t count, const series_base base, int64_t *counts, int64_t *totals)
{
    int64_t run = (count + SCAN_BLOCK - 1) / SCAN_BLOCK;
    int64_t first = min((int64_t)threadIdx.x * run, count), last = min(first + run, count);

    for (int series = 0; series < nseries; series++) {
        int64_t *own = counts + series * count;
        int64_t sum = 0, total = 0, place;

        for (int64_t i = first; i < last; i++) {
            sum += own[i];
        }
        place = base.begin[series] + scan_block<SCAN_BLOCK>(sum, &total);
        for (int64_t i = first; i < last; i++) {
            int64_t here = own[i];

            own[i] = place;
            place += here;
        }
        if (totals && threadIdx.x == 0) { totals[series] = base.begin[series] + total; }
    }
}

/* ---- order ---- */

__global__ static void __launch_bounds__(GPU_BLOCK)
    count_parts_kernel(const split_source source, int nlevels, int64_t nrows, int64_t nruns, int64_t *counts)
{
    __shared__ int count[SPLIT_MOST_PARTS];
    int64_t begin = (int64_t)blockIdx.x * RUN;

    if (threadIdx.x < SPLIT_MOST_PARTS) { count[threadIdx.x] = 0; }
    __syncthreads();
    for (int round = 0; round < RUN_ROUNDS; round++) {
        int64_t i = begin + round * GPU_BLOCK + threadIdx.x;

        if (i < nrows) { atomicAdd(&count[split_part_of(&source, nlevels, i)], 1); }
    }
    __syncthreads();
    if (threadIdx.x < SPLIT_MOST_PARTS) { counts[threadIdx.x * nruns + blockIdx.x] = count[threadIdx.x]; }
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    place_rows_kernel(const split_source source, int nlevels, const split_order order, int64_t nruns,
                      const int64_t *first)
{
    int64_t begin = (int64_t)blockIdx.x * RUN, next[SPLIT_MOST_PARTS];

    for (int p = 0; p < SPLIT_MOST_PARTS; p++) {
        next[p] = first[p * nruns + blockIdx.x];
    }
    for (int round = 0; round < RUN_ROUNDS; round++) {
        int64_t i = begin + round * GPU_BLOCK + threadIdx.x, position = 0;
        int part = i < order.nrows ? split_part_of(&source, nlevels, i) : -1;

        for (int p = 0; p < SPLIT_MOST_PARTS; p++) {
            int64_t total, before = scan_block<GPU_BLOCK>(part == p, &total);

            if (part == p) { position = next[p] + before; }
            next[p] += total;
        }
        if (part >= 0) {
            order.row_of[position] = (int32_t)i;
            if (order.position_of) { order.position_of[i] = (int32_t)position; }
        }
    }
}

static tess_status order_rows(tess_context *ctx, const split_source *source, int nlevels, const split_order *order)
{
    gpu_scope scope(ctx);
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    int64_t nruns = runs_of(order->nrows), *counts = NULL;
    series_base base = {};
    tess_status status = TESS_SUCCESS;

    if (nruns == 0) { return TESS_SUCCESS; }
    for (int p = 0; p < SPLIT_MOST_PARTS; p++) {
        base.begin[p] = order->begin[p];
    }
    TESS_TRY(tess_device_allocate(ctx, SPLIT_MOST_PARTS * nruns, sizeof *counts, (void **)&counts));
    count_parts_kernel<<<(unsigned)nruns, GPU_BLOCK, 0, stream>>>(*source, nlevels, order->nrows, nruns, counts);
    TESS_TRY(gpu_check_launch(ctx, "counting rows by level"));
    scan_series_kernel<<<1, SCAN_BLOCK, 0, stream>>>(SPLIT_MOST_PARTS, nruns, base, counts, NULL);
    TESS_TRY(gpu_check_launch(ctx, "placing runs of rows"));
    place_rows_kernel<<<(unsigned)nruns, GPU_BLOCK, 0, stream>>>(*source, nlevels, *order, nruns, counts);
    status = gpu_check_launch(ctx, "placing rows");
cleanup:
    tess_device_release(ctx, counts, SPLIT_MOST_PARTS * nruns, sizeof *counts);
    return status;
}

/* ---- offsets ---- */

__device__ static inline int64_t count_entries(const device_source &s, int64_t i)
{
    const split_source source = s.with_csr();
    split_span span = split_span_of(&source, &s.rows, i);
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
    int64_t begin = (int64_t)blockIdx.x * RUN, sum = 0, total;

    for (int round = 0; round < RUN_ROUNDS; round++) {
        int64_t i = begin + round * GPU_BLOCK + threadIdx.x;

        if (i < s.rows.count) {
            int64_t length = count_entries(s, i);

            tess_row_offset_set(row_ptr, row_ptr_bits, i + 1, length);
            sum += length;
        }
    }
    (void)scan_block<GPU_BLOCK>(sum, &total);
    if (threadIdx.x == 0) { counts[blockIdx.x] = total; }
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    place_entries_kernel(int64_t count, int row_ptr_bits, void *row_ptr, const int64_t *first)
{
    int64_t begin = (int64_t)blockIdx.x * RUN, next = first[blockIdx.x];

    if (blockIdx.x == 0 && threadIdx.x == 0) { tess_row_offset_set(row_ptr, row_ptr_bits, 0, 0); }
    for (int round = 0; round < RUN_ROUNDS; round++) {
        int64_t i = begin + round * GPU_BLOCK + threadIdx.x, total;
        int64_t length = i < count ? tess_row_offset(row_ptr, row_ptr_bits, i + 1) : 0;
        int64_t before = scan_block<GPU_BLOCK>(length, &total);

        if (i < count) { tess_row_offset_set(row_ptr, row_ptr_bits, i + 1, next + before + length); }
        next += total;
    }
}

static tess_status offsets(tess_context *ctx, const split_source *source, const split_rows *rows, int row_ptr_bits,
                           void *row_ptr, int64_t *nnz)
{
    gpu_scope scope(ctx);
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    int64_t nruns = runs_of(rows->count), *counts = NULL;
    const series_base base = {};
    tess_status status = TESS_SUCCESS;

    *nnz = 0;
    if (nruns == 0) { return ctx->backend->zero(ctx, row_ptr, (size_t)row_ptr_bits / 8); }
    TESS_TRY(tess_device_allocate(ctx, nruns + 1, sizeof *counts, (void **)&counts));
    count_entries_kernel<<<(unsigned)nruns, GPU_BLOCK, 0, stream>>>(make_source(source, rows), row_ptr_bits, row_ptr,
                                                                    counts);
    TESS_TRY(gpu_check_launch(ctx, "counting entries"));
    scan_series_kernel<<<1, SCAN_BLOCK, 0, stream>>>(1, nruns, base, counts, counts + nruns);
    TESS_TRY(gpu_check_launch(ctx, "placing runs of entries"));
    place_entries_kernel<<<(unsigned)nruns, GPU_BLOCK, 0, stream>>>(rows->count, row_ptr_bits, row_ptr, counts);
    TESS_TRY(gpu_check_launch(ctx, "placing entries"));
    status = ctx->backend->download(ctx, nnz, counts + nruns, sizeof *nnz);
cleanup:
    tess_device_release(ctx, counts, nruns + 1, sizeof *counts);
    return status;
}

/* ---- columns and values ---- */

/* Calls put(source entry, place) for every entry of row i, GROUP threads sharing the row where its entries' places are known
   without counting. */
template <typename PUT>
__device__ static inline void copy_row(const device_source &s, const csr_view &to, int64_t i, int lane, PUT put)
{
    const split_source source = s.with_csr();
    split_span span = split_span_of(&source, &s.rows, i);
    int64_t place = tess_row_offset(to.row_ptr, to.row_ptr_bits, i), diagonal = INT64_MAX;

    if (s.rows.entry_level >= 0) {
        for (int64_t k = span.begin; k < span.end && lane == 0; k++) {
            if (split_keeps(&source, &s.rows, span.row, k)) { put(span.row, k, place++); }
        }
        return;
    }
    if (source.without_diagonal) {
        int64_t found = assign_find_diagonal(&s.csr, span.row);

        if (found >= 0) { diagonal = found; }
    }
    for (int64_t k = span.begin + lane; k < span.end; k += GROUP) {
        if (k != diagonal) { put(span.row, k, place + (k - span.begin) - (k > diagonal ? 1 : 0)); }
    }
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    columns_kernel(const device_source s, const csr_view to, const int32_t *position_of, int32_t *col_ind)
{
    int64_t thread = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x, step = (int64_t)gridDim.x * GPU_BLOCK / GROUP;
    int lane = (int)(thread % GROUP);

    for (int64_t i = thread / GROUP; i < s.rows.count; i += step) {
        copy_row(s, to, i, lane, [&](int64_t, int64_t from, int64_t place) {
            int32_t column = gpu_load_once(s.csr.col_ind + from);

            col_ind[place] = position_of ? position_of[column] : column;
        });
    }
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    values_kernel(const device_source s, const csr_view to, bool scaled, void *val)
{
    const double *from_values = (const double *)s.csr.val;
    int64_t thread = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x, step = (int64_t)gridDim.x * GPU_BLOCK / GROUP;
    int lane = (int)(thread % GROUP);

    for (int64_t i = thread / GROUP; i < s.rows.count; i += step) {
        copy_row(s, to, i, lane, [&](int64_t row, int64_t from, int64_t place) {
            double inverse = scaled ? policy_power_of_two(-s.source.exponent[row]) : 1.0;

            tess_store(to.precision, val, place, gpu_load_once(from_values + from) * inverse, TESS_OVERFLOW_INFINITY);
        });
    }
}

static tess_status columns(tess_context *ctx, const split_source *source, const split_rows *rows, const csr_view *to,
                           const int32_t *position_of, int32_t *col_ind)
{
    gpu_scope scope(ctx);
    unsigned grid = gpu_grid(ctx, rows->count * GROUP, BLOCKS_PER_MULTIPROCESSOR);

    columns_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(make_source(source, rows), *to, position_of, col_ind);
    return gpu_check_launch(ctx, "copying columns by level");
}

static tess_status values(tess_context *ctx, const split_source *source, const split_rows *rows, const csr_view *to,
                          bool scaled, void *val)
{
    gpu_scope scope(ctx);
    unsigned grid = gpu_grid(ctx, rows->count * GROUP, BLOCKS_PER_MULTIPROCESSOR);

    values_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(make_source(source, rows), *to, scaled, val);
    return gpu_check_launch(ctx, "copying values by level");
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
    static const split_backend table = {order_rows, offsets, columns, values, exponents};

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
