/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSR on the GPU. Rows are cut into chunks of about equal work (rows + nonzeros). A block takes a chunk: all its threads
 * stream the chunk's values and columns with aligned, coalesced loads, many in flight, whatever the rows' lengths, and
 * leave the products in shared memory; then groups of threads, as wide as the chunk's rows are few, sum up a row each, and
 * waves the rows that are too long for a group. A long row at a chunk's end is summed by the block from memory, or, where
 * it is longer than a segment, by several blocks beforehand. Every sum has a fixed order.
 *
 * Staging products of a run of rows in shared memory is the idea of CSR-Stream (Greathouse and Daga, SC 2014), cutting by
 * rows + nonzeros that of merge-based CSR (Merrill and Garland, SC 2016), here without rows shared between blocks.
 */
#include <limits.h>

#include "backend/gpu/reduce.cuh"
#include "backend/gpu/storage_types.cuh"
#include "format/csr/csr_plan.cuh"
#include "format/csr/csr_rows.h"

/* The plan as a kernel argument. */
struct chunk_arguments {
    const int32_t *chunk_row;
    const int64_t *chunk_begin, *chunk_end;
    int nchunks, nsplit;
    const int32_t *split_row, *split_segment;
    const double *segment_sum;
};

/* Place of product k in shared memory: one place in 17 is skipped, so that rows of 8, 16 or 32 nonzeros do not all start in
   the same bank. */
__host__ __device__ static inline unsigned skewed(unsigned k)
{
    return k + k / 16U;
}

/*
 * A chunk as a block sees it: places of nonzeros are counted from an aligned start, so that each wave's loads are aligned.
 * The first places may belong to the chunk before; their products are made, and not used.
 */
template <typename OFFSET>
struct chunk_extent {
    OFFSET start; /* nonzero at place 0 */
    int high;     /* places in use */
    int first;    /* row */
    int rows;
    int short_rows; /* rows but for a long one at the end */
};

template <typename OFFSET, bool IRREGULAR>
__device__ static inline chunk_extent<OFFSET> find_chunk(const chunk_arguments &plan, int c)
{
    OFFSET begin = (OFFSET)plan.chunk_begin[c], next = (OFFSET)plan.chunk_begin[c + 1];
    OFFSET end = IRREGULAR ? (OFFSET)plan.chunk_end[c] : next;
    chunk_extent<OFFSET> e;

    e.start = begin / GPU_WAVE * GPU_WAVE;
    e.high = (int)(end - e.start);
    e.first = plan.chunk_row[c];
    e.rows = plan.chunk_row[c + 1] - e.first;
    e.short_rows = end == next ? e.rows : e.rows - 1;
    return e;
}

/* All threads: leaves value * x[column] of the nonzero at each place at products[skewed(place)], from `base` on. */
template <typename VALUE>
struct nonzero_batch {
    int32_t column[LOADS];
    VALUE value[LOADS];

    __device__ inline void load(const VALUE *val, const int32_t *col_ind, int high, int base)
    {
#pragma unroll
        for (int u = 0; u < LOADS; u++) {
            int k = base + u * GPU_BLOCK + (int)threadIdx.x;

            column[u] = -1;
            if (k < high) {
                column[u] = gpu_load_once(col_ind + k);
                value[u] = gpu_load_once(val + k);
            }
        }
    }

    __device__ inline void multiply(const double *x, int base, double *products) const
    {
        double *to = products + skewed((unsigned)base) + skewed(threadIdx.x); /* base is a multiple of the block */
        double factor[LOADS];

#pragma unroll
        for (int u = 0; u < LOADS; u++) {
            if (column[u] >= 0) { factor[u] = x[column[u]]; }
        }
#pragma unroll
        for (int u = 0; u < LOADS; u++) {
            if (column[u] >= 0) { to[skewed(u * GPU_BLOCK)] = tess::decode<double>(value[u]) * factor[u]; }
        }
    }
};

/* Sum of a split row from its segments, by one thread in order. */
__device__ static inline double split_row_sum(const chunk_arguments &plan, int64_t row)
{
    int low = 0, high = plan.nsplit - 1;
    double sum = 0.0;

    while (low < high) {
        int middle = (low + high) / 2;

        if (plan.split_row[middle] >= row) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    for (int s = plan.split_segment[low]; s < plan.split_segment[low + 1]; s++) {
        sum += plan.segment_sum[s];
    }
    return sum;
}

/* Threads that share a row: as many as the block has for each row of the chunk, a power of two up to a wave. */
__device__ static inline int group_width(int rows)
{
    int width = 1;

    while (width < GPU_WAVE && 2 * width * rows <= GPU_BLOCK) {
        width *= 2;
    }
    return width;
}

/* Where the products of the chunk's row r lie. */
struct row_range {
    int from, to;
};

template <typename OFFSET>
__device__ static inline row_range locate_row(const OFFSET *row_ptr, const chunk_extent<OFFSET> &e, int r)
{
    row_range range = {0, 0};

    if (r < e.short_rows) {
        range.from = (int)(row_ptr[e.first + r] - e.start);
        range.to = (int)(row_ptr[e.first + r + 1] - e.start);
    }
    return range;
}

/* Sum of products [from, to) by `width` neighbouring threads, this one being number `lane`; the result is in lane 0. */
__device__ static inline double sum_products(const double *products, row_range range, int lane, int width)
{
    double sum = 0.0;

#pragma unroll 4
    for (int k = range.from + lane; k < range.to; k += width) {
        sum += products[skewed((unsigned)k)];
    }
    for (int distance = width / 2; distance > 0; distance /= 2) {
        sum += GPU_SHUFFLE_DOWN(sum, distance, GPU_WAVE);
    }
    return sum;
}

/* Sums up the staged rows of a chunk by groups of threads; `range` is that of the thread's first row. */
template <typename OFFSET, int NDOTS>
__device__ static inline void sum_rows(const OFFSET *row_ptr, const tess_spmv_args &args, const chunk_extent<OFFSET> &e,
                                       int width, row_range range, const double *products, double *dots)
{
    int lane = (int)threadIdx.x % width, group = (int)threadIdx.x / width, groups = GPU_BLOCK / width;

    for (int r0 = 0; r0 < e.rows; r0 += groups) {
        double sum;

        if (r0 > 0) { range = locate_row(row_ptr, e, r0 + group); }
        sum = sum_products(products, range, lane, width);
        if (r0 + group < e.rows && lane == 0) { finish_row<NDOTS>(args, e.first + r0 + group, sum, dots); }
    }
}

/* The same where rows differ much: those that are too long for a group wait for a wave. */
template <typename OFFSET, int NDOTS>
__device__ static inline void sum_uneven_rows(const OFFSET *row_ptr, const tess_spmv_args &args,
                                              const chunk_extent<OFFSET> &e, int width, const double *products,
                                              double *dots)
{
    int lane = (int)threadIdx.x % width, group = (int)threadIdx.x / width, groups = GPU_BLOCK / width;
    int most = width == GPU_WAVE ? INT_MAX : GROUP_STEPS * width;
    bool left_over = false;

    for (int r0 = 0; r0 < e.short_rows; r0 += groups) {
        row_range range = locate_row(row_ptr, e, r0 + group);
        bool too_long = range.to - range.from > most;
        double sum;

        left_over = left_over || too_long;
        if (too_long) { range.to = range.from; }
        sum = sum_products(products, range, lane, width);
        if (r0 + group < e.short_rows && lane == 0 && !too_long) {
            finish_row<NDOTS>(args, e.first + r0 + group, sum, dots);
        }
    }
    if (!__syncthreads_or(left_over)) { return; }
    lane = (int)threadIdx.x % GPU_WAVE;
    for (int r = (int)threadIdx.x / GPU_WAVE; r < e.short_rows; r += WAVES) {
        row_range range = locate_row(row_ptr, e, r);

        if (range.to - range.from > most) {
            double sum = sum_products(products, range, lane, GPU_WAVE);

            if (lane == 0) { finish_row<NDOTS>(args, e.first + r, sum, dots); }
        }
    }
}

/* Sum of nonzeros [begin, end) by a whole block; the result is in thread 0. */
template <typename VALUE, typename OFFSET>
__device__ static inline double block_row_sum(const int32_t *col_ind, const VALUE *val, const double *x, OFFSET begin,
                                              OFFSET end)
{
    double sum[1] = {0.0};

#pragma unroll 4
    for (OFFSET k = begin + (OFFSET)threadIdx.x; k < end; k += GPU_BLOCK) {
        sum[0] += tess::decode<double>(gpu_load_once(val + k)) * x[gpu_load_once(col_ind + k)];
    }
    block_sum(sum);
    return sum[0];
}

/* The row at a chunk's end that is too long to be staged. */
template <typename VALUE, typename OFFSET, int NDOTS>
__device__ static void sum_long_row(const OFFSET *row_ptr, const int32_t *col_ind, const VALUE *val,
                                    const chunk_arguments &plan, const tess_spmv_args &args, int64_t row, double *dots)
{
    OFFSET begin = row_ptr[row], end = row_ptr[row + 1];
    double sum = 0.0;

    if (end - begin <= SEGMENT) {
        sum = block_row_sum(col_ind, val, args.x, begin, end);
    } else if (threadIdx.x == 0) {
        sum = split_row_sum(plan, row);
    }
    if (threadIdx.x == 0) { finish_row<NDOTS>(args, row, sum, dots); }
}

/* Resident blocks per multiprocessor that a kernel's registers must allow. */
template <int NDOTS, bool IRREGULAR>
constexpr int chunk_blocks()
{
    return IRREGULAR || NDOTS > 0 ? FEWER_BLOCKS : CHUNK_BLOCKS;
}

template <typename VALUE, typename OFFSET, int NDOTS, bool IRREGULAR>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (chunk_blocks<NDOTS, IRREGULAR>()))
    chunk_kernel(const OFFSET *row_ptr, const int32_t *col_ind, const VALUE *val, const chunk_arguments plan,
                 const tess_spmv_args args, const loop_gate gate, const reduce_target target)
{
    extern __shared__ double products[];
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    bool entered = false;

    for (int c = (int)blockIdx.x; c < plan.nchunks; c += (int)gridDim.x) {
        chunk_extent<OFFSET> chunk = find_chunk<OFFSET, IRREGULAR>(plan, c);
        int width = group_width(chunk.rows);
        nonzero_batch<VALUE> batch;
        row_range range = {0, 0};
        tess_scalars scalars;

        batch.load(val + chunk.start, col_ind + chunk.start, chunk.high, 0);
        if (!IRREGULAR) { range = locate_row(row_ptr, chunk, (int)threadIdx.x / width); }
        /* No kernel of a loop writes what was fetched so far; x comes from the kernel before this one. */
        if (!entered && !loop_enter<true>(gate, true, &scalars)) { return; }
        entered = true;
        batch.multiply(args.x, 0, products);
        for (int base = CHUNK_PASS; base < chunk.high; base += CHUNK_PASS) {
            batch.load(val + chunk.start, col_ind + chunk.start, chunk.high, base);
            batch.multiply(args.x, base, products);
        }
        __syncthreads();
        if (IRREGULAR) {
            sum_uneven_rows<OFFSET, NDOTS>(row_ptr, args, chunk, width, products, dots);
            if (chunk.short_rows < chunk.rows) {
                sum_long_row<VALUE, OFFSET, NDOTS>(row_ptr, col_ind, val, plan, args, chunk.first + chunk.short_rows,
                                                   dots);
            }
        } else {
            sum_rows<OFFSET, NDOTS>(row_ptr, args, chunk, width, range, products, dots);
        }
        __syncthreads();
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

template <typename VALUE, typename OFFSET>
__global__ static void __launch_bounds__(GPU_BLOCK)
    segment_kernel(const OFFSET *row_ptr, const int32_t *col_ind, const VALUE *val, int nsplit,
                   const int32_t *split_row, const int32_t *split_segment, const double *x, const loop_gate gate,
                   double *segment_sum)
{
    int low = 0, high = nsplit - 1, segment = (int)blockIdx.x;
    double sum;
    int64_t row;
    tess_scalars scalars;
    OFFSET begin, end;

    if (!loop_enter<true>(gate, false, &scalars)) { return; }
    while (low < high) { /* the row that this segment belongs to */
        int middle = (low + high + 1) / 2;

        if (split_segment[middle] <= segment) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    row = split_row[low];
    begin = row_ptr[row] + (OFFSET)(segment - split_segment[low]) * SEGMENT;
    end = row_ptr[row + 1] - begin > SEGMENT ? begin + SEGMENT : row_ptr[row + 1];
    sum = block_row_sum(col_ind, val, x, begin, end);
    if (threadIdx.x == 0) { segment_sum[segment] = sum; }
}

template <typename VALUE, typename OFFSET, int NDOTS>
static tess_status launch_product(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    const OFFSET *row_ptr = (const OFFSET *)v->row_ptr;
    const VALUE *val = (const VALUE *)v->val;
    size_t places = (size_t)(GPU_WAVE + p->chunk + p->longest), shared = (places + places / 16 + 1) * sizeof(double);
    chunk_arguments plan = {p->chunk_row, p->chunk_begin, p->chunk_end,     p->nchunks,
                            p->nsplit,    p->split_row,   p->split_segment, p->segment_sum};
    int resident = (p->irregular ? chunk_blocks<NDOTS, true>() : chunk_blocks<NDOTS, false>()) *
                   gpu_state_of(ctx)->multiprocessors;
    unsigned grid = (unsigned)(p->nchunks < resident ? p->nchunks : resident);
    loop_gate gate;
    reduce_target target;
    tess_status status = TESS_SUCCESS;

    if (p->nchunks == 0) { return TESS_SUCCESS; }
    TESS_TRY(open_settled_gate(ctx, args->reduction.state, &gate));
    if (p->nsplit > 0) {
        TESS_TRY(gpu_launch(ctx, "summing split rows", segment_kernel<VALUE, OFFSET>, (unsigned)p->nsegments, 0,
                            row_ptr, v->col_ind, val, p->nsplit, p->split_row, p->split_segment, args->x, gate,
                            p->segment_sum));
    }
    TESS_TRY(prepare_reduction(ctx, grid, NDOTS, args->reduction.step, args->reduction.state, &target));
    status =
        gpu_launch(ctx, "a sparse product",
                   p->irregular ? chunk_kernel<VALUE, OFFSET, NDOTS, true> : chunk_kernel<VALUE, OFFSET, NDOTS, false>,
                   grid, shared, row_ptr, v->col_ind, val, plan, *args, gate, target);
cleanup:
    return status;
}

template <typename VALUE, typename OFFSET>
static tess_status select_dots(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    switch (args->reduction.ndots) {
    case 0: return launch_product<VALUE, OFFSET, 0>(ctx, v, p, args);
    case 1: return launch_product<VALUE, OFFSET, 1>(ctx, v, p, args);
    default: return launch_product<VALUE, OFFSET, 2>(ctx, v, p, args);
    }
}

static tess_status spmv(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    switch (v->precision) {
#define SELECT_VALUE(VALUE, NAME)                                                   \
    case TESS_PRECISION_##NAME:                                                     \
        return v->row_ptr_bits == 32 ? select_dots<VALUE, int32_t>(ctx, v, p, args) \
                                     : select_dots<VALUE, int64_t>(ctx, v, p, args);
        STORAGE_TYPES(SELECT_VALUE)
#undef SELECT_VALUE
    }
    return tess_fail(ctx, TESS_INTERNAL, NULL, "values in precision %d", (int)v->precision);
}

/* ---- values and checks ---- */

__global__ static void gather_kernel(int64_t n, const double *source, const int64_t *from, double *values)
{
    for (int64_t k = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; k < n; k += (int64_t)gridDim.x * GPU_BLOCK) {
        values[k] = source[from[k]];
    }
}

static tess_status gather(tess_context *ctx, int64_t n, const double *source, const int64_t *from, double *values)
{
    gpu_scope scope(ctx);

    gather_kernel<<<gpu_grid(ctx, n, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(n, source, from, values);
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
        check_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v->nrows, v->ncols, v->nnz,
                                                                 (const int32_t *)v->row_ptr, v->col_ind, device_first);
    } else {
        check_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v->nrows, v->ncols, v->nnz,
                                                                 (const int64_t *)v->row_ptr, v->col_ind, device_first);
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
    static const csr_backend table = {csr_make_plan, csr_free_plan, spmv, NULL, gather, check};

    return &table;
}

extern "C" const tess_format_ops *csr_gpu_ops(void)
{
    static const tess_format_ops table = {
        TESS_FORMAT_CSR, csr_build,   csr_refresh,
        csr_destroy,     csr_prepare, csr_spmv,
        csr_decode,      csr_bytes,   (1U << TESS_PRECISION_COUNT) - 1U,
    };

    return &table;
}
