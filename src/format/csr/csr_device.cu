/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSR on the GPU. Rows are cut into chunks of about equal work (rows + nonzeros). A block takes a chunk: all its threads
 * stream the chunk's values and columns with aligned, coalesced loads, many in flight, whatever the rows' lengths, and
 * leave the products in shared memory; then groups of threads, as wide as the chunk's rows are long, sum up a row each. A
 * row longer than a chunk is summed by several blocks in segments beforehand. Every sum has a fixed order.
 *
 * Staging products of a run of rows in shared memory is the idea of CSR-Stream (Greathouse and Daga, SC 2014), cutting by
 * rows + nonzeros that of merge-based CSR (Merrill and Garland, SC 2016), here without rows shared between blocks.
 */
#include <limits.h>
#include <string.h>

#include <algorithm>

#include "backend/gpu/reduce.cuh"
#include "format/csr/csr.h"
#include "format/csr/csr_rows.h"

enum {
    LOADS = 8,                      /* nonzeros in flight per thread */
    CHUNK_PASS = LOADS * GPU_BLOCK, /* nonzeros that a block has in flight */
    CHUNK_MAX = CHUNK_PASS,         /* work of a chunk, in rows + nonzeros */
    CHUNK_MIN = 256,                /* the same for small matrices, so that all multiprocessors have some */
    CHUNK_BLOCKS = 6,               /* resident blocks per multiprocessor that registers must allow */
    SMALL_BLOCKS = 2,               /* the same for small matrices, where each block's reduction costs more */
    SEGMENT = 8192                  /* nonzeros of a long row per block */
};

struct csr_plan {
    int chunk; /* work per chunk; a row with more nonzeros is a long one */
    int nchunks;
    int blocks; /* each takes a run of chunks */
    int32_t *chunk_row; /* nchunks + 1: first row */
    int64_t *chunk_begin; /* nchunks + 1: first nonzero */
    int64_t *chunk_end;   /* nchunks: end of the nonzeros but for those of a long row at the end */
    int longest_short;  /* nonzeros of the longest row that is not long */
    int nlong;
    int32_t *long_row;      /* nlong, ascending */
    int32_t *long_segment;  /* nlong + 1: first segment of each */
    int nsegments;
    double *segment_sum;
};

/* The plan as a kernel argument. */
struct chunk_arguments {
    const int32_t *chunk_row;
    const int64_t *chunk_begin, *chunk_end;
    int nchunks, nlong;
    const int32_t *long_row, *long_segment;
    const double *segment_sum;
};

template <typename OFFSET>
__device__ static inline int64_t row_work(const OFFSET *row_ptr, int64_t i)
{
    return (int64_t)row_ptr[i] + i;
}

/* ---- plan ---- */

/* The first row that starts at or after `target`, counted in rows + nonzeros. */
template <typename OFFSET>
__device__ static inline int64_t find_row(int64_t nrows, const OFFSET *row_ptr, int64_t target)
{
    int64_t low = 0, high = nrows;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (row_work(row_ptr, middle) >= target) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

template <typename OFFSET>
__global__ static void cut_chunks_kernel(int64_t nrows, const OFFSET *row_ptr, int chunk, int nchunks, int32_t *chunk_row,
                                         int64_t *chunk_begin, int64_t *chunk_end)
{
    int64_t c = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;
    int64_t row, next, end;

    if (c > nchunks) { return; }
    row = c < nchunks ? find_row(nrows, row_ptr, c * chunk) : nrows;
    chunk_row[c] = (int32_t)row;
    chunk_begin[c] = row_ptr[row];
    if (c == nchunks) { return; }
    next = c + 1 < nchunks ? find_row(nrows, row_ptr, (c + 1) * chunk) : nrows;
    end = row_ptr[next];
    /* A row with more nonzeros than a chunk can only be its last. */
    if (next > row && end - (int64_t)row_ptr[next - 1] > chunk) { end = row_ptr[next - 1]; }
    chunk_end[c] = end;
}

/* counts[0]: rows longer than chunk, listed in any order up to `room`; counts[1]: length of the longest other row. */
template <typename OFFSET>
__global__ static void row_lengths_kernel(int64_t nrows, const OFFSET *row_ptr, int chunk, int room, int32_t *long_row,
                                          int *counts)
{
    int longest = 0;

    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < nrows; i += (int64_t)gridDim.x * GPU_BLOCK) {
        int64_t length = (int64_t)row_ptr[i + 1] - (int64_t)row_ptr[i];

        if (length > chunk) {
            int place = atomicAdd(&counts[0], 1);

            if (place < room) { long_row[place] = (int32_t)i; }
        } else if (length > longest) {
            longest = (int)length;
        }
    }
    if (longest > 0) { atomicMax(&counts[1], longest); }
}

/*
 * Work of a chunk. With its last row, which may reach past its share, and what alignment costs, it should stay within one
 * pass; and its rows times the power of two of threads that share a row should be just below the block's threads, since
 * the others idle while rows are summed. A small matrix is cut into no more chunks than it takes to use all
 * multiprocessors.
 */
static int choose_chunk(const tess_context *ctx, const csr_view *v, int longest_row)
{
    int64_t work = v->nrows + v->nnz, few = (int64_t)SMALL_BLOCKS * gpu_state_of(ctx)->multiprocessors;
    int64_t share = work / few + 1, row_work = v->nrows > 0 ? (work + v->nrows / 2) / v->nrows : 1;
    int spare = CHUNK_MAX / 4, most = CHUNK_MAX - GPU_WAVE - (longest_row < spare ? longest_row : spare);

    if (share < most) { return share > CHUNK_MIN ? (int)share : CHUNK_MIN; }
    for (int width = 1; width <= GPU_WAVE; width *= 2) {
        int64_t full = (GPU_BLOCK / width) * row_work;

        full -= full / 64; /* rows are not all alike */
        if (full <= most) { return full > most / 2 ? (int)full : most; }
    }
    return most;
}

static void free_plan(tess_context *ctx, csr_plan *p)
{
    if (!p) { return; }
    tess_device_release(ctx, p->chunk_row, p->nchunks + 1, sizeof *p->chunk_row);
    tess_device_release(ctx, p->chunk_begin, p->nchunks + 1, sizeof *p->chunk_begin);
    tess_device_release(ctx, p->chunk_end, p->nchunks, sizeof *p->chunk_end);
    tess_device_release(ctx, p->long_row, p->nlong, sizeof *p->long_row);
    tess_device_release(ctx, p->long_segment, p->nlong + 1, sizeof *p->long_segment);
    tess_device_release(ctx, p->segment_sum, p->nsegments, sizeof *p->segment_sum);
    tess_host_release(ctx, p, 1, sizeof *p);
}

template <typename OFFSET>
static tess_status cut_chunks(tess_context *ctx, const csr_view *v, csr_plan *p)
{
    tess_status status = TESS_SUCCESS;
    unsigned grid = (unsigned)(p->nchunks / GPU_BLOCK + 1);

    TESS_TRY(tess_device_allocate(ctx, p->nchunks + 1, sizeof *p->chunk_row, (void **)&p->chunk_row));
    TESS_TRY(tess_device_allocate(ctx, p->nchunks + 1, sizeof *p->chunk_begin, (void **)&p->chunk_begin));
    TESS_TRY(tess_device_allocate(ctx, p->nchunks, sizeof *p->chunk_end, (void **)&p->chunk_end));
    cut_chunks_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v->nrows, (const OFFSET *)v->row_ptr, p->chunk,
                                                                  p->nchunks, p->chunk_row, p->chunk_begin, p->chunk_end);
    status = gpu_check_launch(ctx, "cutting rows into chunks");
cleanup:
    return status;
}

/* Rows longer than p->chunk: their number and, up to `room` of them in any order, *device_rows; and the longest other. */
template <typename OFFSET>
static tess_status measure_rows(tess_context *ctx, const csr_view *v, csr_plan *p, int32_t *device_rows, int64_t room)
{
    int counts[2] = {0, 0};
    int *device_counts = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, 2, sizeof *device_counts, (void **)&device_counts));
    TESS_TRY(ctx->backend->zero(ctx, device_counts, sizeof counts));
    row_lengths_kernel<<<gpu_grid(ctx, v->nrows, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
        v->nrows, (const OFFSET *)v->row_ptr, p->chunk, (int)room, device_rows, device_counts);
    TESS_TRY(gpu_check_launch(ctx, "measuring rows"));
    TESS_TRY(ctx->backend->download(ctx, counts, device_counts, sizeof counts));
    p->nlong = counts[0];
    p->longest_short = counts[1];
cleanup:
    tess_device_release(ctx, device_counts, 2, sizeof *device_counts);
    return status;
}

/* Chooses the chunk from the rows' lengths, and brings the long rows to the host: *rows, in ascending order. */
template <typename OFFSET>
static tess_status find_long_rows(tess_context *ctx, const csr_view *v, csr_plan *p, int32_t **rows, int64_t *room)
{
    int32_t *device_rows = NULL;
    tess_status status = TESS_SUCCESS;

    *room = 0;
    p->chunk = CHUNK_MAX;
    TESS_TRY(measure_rows<OFFSET>(ctx, v, p, NULL, 0));
    p->chunk = choose_chunk(ctx, v, p->longest_short);
    *room = v->nnz / p->chunk + 1; /* no more rows than that can be long */
    TESS_TRY(tess_device_allocate(ctx, *room, sizeof *device_rows, (void **)&device_rows));
    TESS_TRY(measure_rows<OFFSET>(ctx, v, p, device_rows, *room));
    TESS_TRY(tess_host_allocate(ctx, *room, sizeof **rows, (void **)rows));
    TESS_TRY(ctx->backend->download(ctx, *rows, device_rows, (size_t)p->nlong * sizeof **rows));
    std::sort(*rows, *rows + p->nlong); /* atomics listed them in any order */
cleanup:
    tess_device_release(ctx, device_rows, *room, sizeof *device_rows);
    return status;
}

template <typename OFFSET>
static tess_status read_length(tess_context *ctx, const csr_view *v, int32_t row, int64_t *length)
{
    OFFSET ends[2] = {0, 0};
    tess_status status =
        ctx->backend->download(ctx, ends, (const OFFSET *)v->row_ptr + row, sizeof ends);

    *length = (int64_t)ends[1] - (int64_t)ends[0];
    return status;
}

/* Segments of the long rows, to the device. */
template <typename OFFSET>
static tess_status plan_segments(tess_context *ctx, const csr_view *v, csr_plan *p, const int32_t *rows)
{
    int32_t *segment = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, p->nlong + 1, sizeof *segment, (void **)&segment));
    segment[0] = 0;
    for (int r = 0; r < p->nlong; r++) {
        int64_t length = 0;

        TESS_TRY(read_length<OFFSET>(ctx, v, rows[r], &length));
        segment[r + 1] = segment[r] + (int32_t)((length + SEGMENT - 1) / SEGMENT);
    }
    p->nsegments = segment[p->nlong];
    TESS_TRY(tess_device_allocate(ctx, p->nlong, sizeof *p->long_row, (void **)&p->long_row));
    TESS_TRY(tess_device_allocate(ctx, p->nlong + 1, sizeof *p->long_segment, (void **)&p->long_segment));
    TESS_TRY(tess_device_allocate(ctx, p->nsegments, sizeof *p->segment_sum, (void **)&p->segment_sum));
    TESS_TRY(ctx->backend->upload(ctx, p->long_row, rows, (size_t)p->nlong * sizeof *rows));
    TESS_TRY(ctx->backend->upload(ctx, p->long_segment, segment, (size_t)(p->nlong + 1) * sizeof *segment));
cleanup:
    tess_host_release(ctx, segment, p->nlong + 1, sizeof *segment);
    return status;
}

template <typename OFFSET>
static tess_status fill_plan(tess_context *ctx, const csr_view *v, csr_plan *p)
{
    int32_t *rows = NULL;
    int64_t room = 0;
    int most = CHUNK_BLOCKS * gpu_state_of(ctx)->multiprocessors;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(find_long_rows<OFFSET>(ctx, v, p, &rows, &room));
    p->nchunks = (int)((v->nrows + v->nnz + p->chunk - 1) / p->chunk);
    p->blocks = p->nchunks < most ? p->nchunks : most;
    TESS_TRY(cut_chunks<OFFSET>(ctx, v, p));
    TESS_TRY(plan_segments<OFFSET>(ctx, v, p, rows));
cleanup:
    tess_host_release(ctx, rows, room, sizeof *rows);
    return status;
}

static tess_status make_plan(tess_context *ctx, const csr_view *v, csr_plan **out)
{
    gpu_scope scope(ctx);
    csr_plan *p = NULL;
    tess_status status = TESS_SUCCESS;

    if ((v->nrows + v->nnz) / CHUNK_MIN >= INT_MAX - 1) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, NULL, "%lld nonzeros are too many for one device", (long long)v->nnz);
    }
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *p, (void **)&p));
    memset(p, 0, sizeof *p);
    TESS_TRY(v->row_ptr_bits == 32 ? fill_plan<int32_t>(ctx, v, p) : fill_plan<int64_t>(ctx, v, p));
    *out = p;
cleanup:
    if (status != TESS_SUCCESS) { free_plan(ctx, p); }
    return status;
}

/* ---- product ---- */

/* Place of product k in shared memory: one place in 17 is skipped, so that rows of 8, 16 or 32 nonzeros do not all start in
   the same bank. */
__device__ static inline unsigned skewed(unsigned k)
{
    return k + k / 16U;
}

/*
 * A chunk as a block sees it: places of nonzeros are counted from an aligned start; those outside [low, high) belong
 * to other chunks.
 */
struct chunk_extent {
    int64_t start; /* nonzero at place 0 */
    int low, high;
    int first;      /* row */
    int rows;
    int short_rows; /* rows but for a long one at the end */
};

__device__ static inline chunk_extent find_chunk(const chunk_arguments &plan, int c)
{
    int64_t begin = plan.chunk_begin[c], end = plan.chunk_end[c];
    chunk_extent e;

    e.start = begin / GPU_WAVE * GPU_WAVE;
    e.low = (int)(begin - e.start);
    e.high = (int)(end - e.start);
    e.first = plan.chunk_row[c];
    e.rows = plan.chunk_row[c + 1] - e.first;
    e.short_rows = end == plan.chunk_begin[c + 1] ? e.rows : e.rows - 1;
    return e;
}

/* All threads: leaves value * x[column] of the nonzero at each place at products[skewed(place)], from `base` on. */
template <typename VALUE>
struct nonzero_batch {
    int32_t column[LOADS];
    VALUE value[LOADS];

    __device__ inline void load(const VALUE *val, const int32_t *col_ind, const chunk_extent &e, int base)
    {
        val += e.start;
        col_ind += e.start;
#pragma unroll
        for (int u = 0; u < LOADS; u++) {
            int k = base + u * GPU_BLOCK + (int)threadIdx.x;
            bool inside = k >= e.low && k < e.high;

            column[u] = inside ? gpu_load_once(col_ind + k) : -1;
            value[u] = inside ? gpu_load_once(val + k) : (VALUE)0;
        }
    }

    __device__ inline void multiply(const double *x, int base, double *products) const
    {
        double factor[LOADS];

#pragma unroll
        for (int u = 0; u < LOADS; u++) { factor[u] = column[u] >= 0 ? x[column[u]] : 0.0; }
#pragma unroll
        for (int u = 0; u < LOADS; u++) {
            unsigned k = (unsigned)(base + u * GPU_BLOCK) + threadIdx.x;

            if (column[u] >= 0) { products[skewed(k)] = (double)value[u] * factor[u]; }
        }
    }
};

/* Sum of a long row from its segments, by one thread in order. */
__device__ static inline double long_row_sum(const chunk_arguments &plan, int64_t row)
{
    int low = 0, high = plan.nlong - 1;
    double sum = 0.0;

    while (low < high) {
        int middle = (low + high) / 2;

        if (plan.long_row[middle] >= row) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    for (int s = plan.long_segment[low]; s < plan.long_segment[low + 1]; s++) { sum += plan.segment_sum[s]; }
    return sum;
}

/* Threads that share a row: as many as the block has for each row of the chunk, a power of two up to a wave. */
__device__ static inline int group_width(int rows)
{
    int width = 1;

    while (width < GPU_WAVE && 2 * width * rows <= GPU_BLOCK) { width *= 2; }
    return width;
}

/* Writes y_row and adds it to the dot products. */
template <int NDOTS>
__device__ static inline void finish_row(const tess_spmv_args &args, int64_t row, double sum, double *dots)
{
    double value = spmv_result(&args, row, sum);

    args.y[row] = value;
#pragma unroll
    for (int k = 0; k < NDOTS; k++) {
        dots[k] += value * (args.reduction.with[k] == args.y ? value : args.reduction.with[k][row]);
    }
}

/* Where the products of the chunk's row r lie. */
struct row_range {
    int from, to;
};

template <typename OFFSET>
__device__ static inline row_range locate_row(const OFFSET *row_ptr, const chunk_extent &e, int r)
{
    row_range range = {0, 0};

    if (r < e.short_rows) {
        range.from = (int)((int64_t)row_ptr[e.first + r] - e.start);
        range.to = (int)((int64_t)row_ptr[e.first + r + 1] - e.start);
    }
    return range;
}

/* Sums up the rows of a chunk from their products; `range` is that of the thread's first row. */
template <typename OFFSET, int NDOTS>
__device__ static inline void sum_rows(const OFFSET *row_ptr, const chunk_arguments &plan, const tess_spmv_args &args,
                                       const chunk_extent &e, int width, row_range range, const double *products,
                                       double *dots)
{
    int lane = (int)threadIdx.x % width, group = (int)threadIdx.x / width, groups = GPU_BLOCK / width;

    for (int r0 = 0; r0 < e.rows; r0 += groups) {
        int r = r0 + group;
        double sum = 0.0;

        if (r0 > 0) { range = locate_row(row_ptr, e, r); }
#pragma unroll 4
        for (int k = range.from + lane; k < range.to; k += width) { sum += products[skewed((unsigned)k)]; }
        for (int distance = width / 2; distance > 0; distance /= 2) { sum += GPU_SHUFFLE_DOWN(sum, distance, GPU_WAVE); }
        if (r < e.rows && lane == 0) {
            finish_row<NDOTS>(args, e.first + r, r < e.short_rows ? sum : long_row_sum(plan, e.first + r), dots);
        }
    }
}

template <typename VALUE, typename OFFSET, int NDOTS>
__global__ static void __launch_bounds__(GPU_BLOCK, CHUNK_BLOCKS)
    chunk_kernel(const OFFSET *row_ptr, const int32_t *col_ind, const VALUE *val, const chunk_arguments plan,
                 const tess_spmv_args args, const reduce_target target)
{
    extern __shared__ double products[];
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    bool entered = false;

    for (int c = (int)blockIdx.x; c < plan.nchunks; c += (int)gridDim.x) {
        chunk_extent chunk = find_chunk(plan, c);
        int width = group_width(chunk.rows);
        nonzero_batch<VALUE> batch;
        row_range range;
        tess_scalars scalars;

        batch.load(val, col_ind, chunk, 0);
        range = locate_row(row_ptr, chunk, (int)threadIdx.x / width);
        /* No kernel of a loop writes what was fetched so far; x comes from the kernel before this one. */
        if (!entered && !loop_enter(args.reduction.state, false, true, &scalars)) { return; }
        entered = true;
        batch.multiply(args.x, 0, products);
        for (int base = CHUNK_PASS; base < chunk.high; base += CHUNK_PASS) {
            batch.load(val, col_ind, chunk, base);
            batch.multiply(args.x, base, products);
        }
        __syncthreads();
        sum_rows<OFFSET, NDOTS>(row_ptr, plan, args, chunk, width, range, products, dots);
        __syncthreads();
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

template <typename VALUE, typename OFFSET>
__global__ static void __launch_bounds__(GPU_BLOCK)
    segment_kernel(const OFFSET *row_ptr, const int32_t *col_ind, const VALUE *val, int nlong, const int32_t *long_row,
                   const int32_t *long_segment, const double *x, const tess_loop_state *state, double *segment_sum)
{
    int low = 0, high = nlong - 1, segment = (int)blockIdx.x;
    double sum[1] = {0.0};
    int64_t row;
    OFFSET begin, end;

    GPU_LET_NEXT_START();
    GPU_WAIT_FOR_PREVIOUS();
    if (state && state->phase != TESS_LOOP_RUNNING) { return; }
    while (low < high) { /* the long row that this segment belongs to */
        int middle = (low + high + 1) / 2;

        if (long_segment[middle] <= segment) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    row = long_row[low];
    begin = row_ptr[row] + (OFFSET)(segment - long_segment[low]) * SEGMENT;
    end = row_ptr[row + 1] - begin > SEGMENT ? begin + SEGMENT : row_ptr[row + 1];
#pragma unroll 4
    for (OFFSET k = begin + (OFFSET)threadIdx.x; k < end; k += GPU_BLOCK) {
        sum[0] += (double)gpu_load_once(val + k) * x[gpu_load_once(col_ind + k)];
    }
    block_sum(sum);
    if (threadIdx.x == 0) { segment_sum[segment] = sum[0]; }
}

template <typename VALUE, typename OFFSET, int NDOTS>
static tess_status launch_product(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    const OFFSET *row_ptr = (const OFFSET *)v->row_ptr;
    const VALUE *val = (const VALUE *)v->val;
    size_t places = (size_t)(GPU_WAVE + p->chunk + p->longest_short), shared = (places + places / 16 + 1) * sizeof(double);
    chunk_arguments plan = {p->chunk_row, p->chunk_begin, p->chunk_end,    p->nchunks,
                            p->nlong,     p->long_row,    p->long_segment, p->segment_sum};
    reduce_target target;
    tess_status status = TESS_SUCCESS;

    if (p->nchunks == 0) { return TESS_SUCCESS; }
    TESS_TRY(prepare_reduction(ctx, p->blocks, NDOTS, args->reduction.step, args->reduction.state, &target));
    if (p->nlong > 0) {
        TESS_TRY(gpu_launch(ctx, "summing long rows", segment_kernel<VALUE, OFFSET>, (unsigned)p->nsegments, 0, row_ptr,
                            v->col_ind, val, p->nlong, p->long_row, p->long_segment, args->x, args->reduction.state,
                            p->segment_sum));
    }
    status = gpu_launch(ctx, "a sparse product", chunk_kernel<VALUE, OFFSET, NDOTS>, (unsigned)p->blocks, shared, row_ptr,
                        v->col_ind, val, plan, *args, target);
cleanup:
    return status;
}

template <typename VALUE, typename OFFSET>
static tess_status select_dots(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    switch (args->reduction.ndots) {
    case 0:
        return launch_product<VALUE, OFFSET, 0>(ctx, v, p, args);
    case 1:
        return launch_product<VALUE, OFFSET, 1>(ctx, v, p, args);
    default:
        return launch_product<VALUE, OFFSET, 2>(ctx, v, p, args);
    }
}

static tess_status spmv(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);
    bool fp64 = v->precision == TESS_PRECISION_FP64;

    if (v->row_ptr_bits == 32) {
        return fp64 ? select_dots<double, int32_t>(ctx, v, p, args) : select_dots<float, int32_t>(ctx, v, p, args);
    }
    return fp64 ? select_dots<double, int64_t>(ctx, v, p, args) : select_dots<float, int64_t>(ctx, v, p, args);
}

/* ---- values and checks ---- */

template <typename TO>
__global__ static void gather_kernel(int64_t n, const double *source, const int64_t *from, TO *values)
{
    for (int64_t k = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; k < n; k += (int64_t)gridDim.x * GPU_BLOCK) {
        values[k] = (TO)source[from ? from[k] : k];
    }
}

static tess_status gather(tess_context *ctx, int64_t n, const double *source, const int64_t *from,
                          tess_precision precision, void *values)
{
    gpu_scope scope(ctx);
    unsigned grid = gpu_grid(ctx, n, 8);

    if (precision == TESS_PRECISION_FP64) {
        gather_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(n, source, from, (double *)values);
    } else {
        gather_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(n, source, from, (float *)values);
    }
    return gpu_check_launch(ctx, "copying matrix values");
}

template <typename OFFSET>
__global__ static void check_kernel(int64_t nrows, int64_t ncols, int64_t nnz, const OFFSET *row_ptr,
                                    const int32_t *col_ind, unsigned long long *first_bad)
{
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < nrows; i += (int64_t)gridDim.x * GPU_BLOCK) {
        int64_t begin = row_ptr[i], end = row_ptr[i + 1], previous = -1;
        bool sound = begin >= 0 && end >= begin && end <= nnz && (i > 0 || begin == 0) && (i < nrows - 1 || end == nnz);

        for (int64_t k = begin; sound && k < end; k++) {
            sound = col_ind[k] > previous && col_ind[k] < ncols;
            previous = col_ind[k];
        }
        if (!sound) { atomicMin(first_bad, (unsigned long long)i); }
    }
}

static tess_status check(tess_context *ctx, const csr_view *v, int64_t *bad_row)
{
    gpu_scope scope(ctx);
    unsigned long long first = ULLONG_MAX, *device_first = NULL;
    unsigned grid = gpu_grid(ctx, v->nrows, 8);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, 1, sizeof first, (void **)&device_first));
    TESS_TRY(ctx->backend->upload(ctx, device_first, &first, sizeof first));
    if (v->row_ptr_bits == 32) {
        check_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v->nrows, v->ncols, v->nnz, (const int32_t *)v->row_ptr,
                                                                 v->col_ind, device_first);
    } else {
        check_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v->nrows, v->ncols, v->nnz, (const int64_t *)v->row_ptr,
                                                                 v->col_ind, device_first);
    }
    TESS_TRY(gpu_check_launch(ctx, "checking a borrowed matrix"));
    TESS_TRY(ctx->backend->download(ctx, &first, device_first, sizeof first));
    *bad_row = first == ULLONG_MAX ? -1 : (int64_t)first;
cleanup:
    tess_device_release(ctx, device_first, 1, sizeof first);
    return status;
}

/* Behind functions: a table that is visible outside would be emitted for the device as well by HIP. */
extern "C" const csr_backend *csr_gpu(void)
{
    static const csr_backend table = {make_plan, free_plan, spmv, gather, check};

    return &table;
}

extern "C" const tess_format_ops *csr_gpu_ops(void)
{
    static const tess_format_ops table = {
        TESS_FORMAT_CSR,
        csr_build,
        csr_refresh,
        csr_destroy,
        csr_prepare,
        csr_spmv,
        csr_decode,
        csr_bytes,
        (1U << TESS_PRECISION_FP64) | (1U << TESS_PRECISION_FP32),
    };

    return &table;
}
