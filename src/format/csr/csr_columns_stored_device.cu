/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSR times several columns on the GPU, for the chunks of rows of the products of one column (csr_plan.cuh). Compiled
 * separately for each precision.
 *
 * A group of threads has a row: one thread for V columns, as many times as the mean row has entries for. So it reads
 * whole rows of x, and an entry of the matrix once for all columns. Rows that are long for a group are left for a wave;
 * the row of more than TAIL_ROW entries at a chunk's end is summed by the block, and one longer than a segment by
 * several blocks beforehand. Every sum has a fixed order.
 */
#include <algorithm>
#include <limits.h>

#include "device/gpu/wave_sums.cuh"
#include "format/columns_product.cuh"
#include "format/csr/csr_chunk_sums.cuh"
#include "format/csr/csr_plan.cuh"

enum {
    COLUMN_LOADS = 2,     /* entries in flight per thread */
    COLUMN_NONZEROS = 48, /* entries of a mean row for each thread of a column; more get more threads */
    COLUMN_MOST = 96,     /* for each of these: the most entries of a row that need not be left for a wave, */
    COLUMN_LEAST = 32,    /* and the fewest of one that may be */
};

/* As columns_blocks; here one dot product takes the registers of two. */
__host__ __device__ constexpr int product_blocks(int each, int ndots)
{
    return each > 1 && ndots > 0 ? 3 : 4;
}

struct columns_product {
    csr_view v;
    const csr_chunk *chunk;
    int nchunks;
    int group; /* threads that share a row: a multiple of those for all columns, a power of two, at most a wave */
    int most;  /* entries of a row that a group sums; INT_MAX: all rows are so short */
    int nsplit;
    const int32_t *split_row, *split_segment;
    double *segment_sum; /* of each segment, by columns */
};

__device__ static inline int64_t offset_at(const csr_view &v, int64_t row)
{
    return tess_row_offset(v.row_ptr, v.row_ptr_bits, row);
}

/* The terms of the thread's columns with entries from, from + step, .. below `to`. The next entries are loaded while x
   is. */
template <typename VALUE, typename VECTOR, int V>
__device__ static inline void add_entries(const csr_view &v, const VECTOR *x, int columns, int64_t from, int64_t to,
                                          int step, double (&sum)[V])
{
    const VALUE *val = (const VALUE *)v.val + from;
    const int32_t *col = v.col_ind + from;
    int32_t column[COLUMN_LOADS];
    VALUE next[COLUMN_LOADS];

#pragma unroll
    for (int u = 0; u < COLUMN_LOADS; u++) {
        if (from + u * step < to) {
            column[u] = col[u * step];
            next[u] = val[u * step];
        }
    }
#pragma unroll 1
    for (int64_t left = to - from; left > 0; left -= COLUMN_LOADS * step) {
        VALUE value[COLUMN_LOADS];
        columns_pack<VECTOR, V> factor[COLUMN_LOADS];

        val += COLUMN_LOADS * step;
        col += COLUMN_LOADS * step;
#pragma unroll
        for (int u = 0; u < COLUMN_LOADS; u++) {
            value[u] = next[u];
            if (u * step < left) { factor[u] = pack_at<V>(x + (int64_t)column[u] * columns); }
        }
#pragma unroll
        for (int u = 0; u < COLUMN_LOADS; u++) {
            if ((COLUMN_LOADS + u) * step < left) {
                column[u] = col[u * step];
                next[u] = val[u * step];
            }
        }
#pragma unroll
        for (int u = 0; u < COLUMN_LOADS; u++) {
#pragma unroll
            for (int w = 0; w < V; w++) {
                if (u * step < left) { sum[w] += product_of(value[u], factor[u].value[w]); }
            }
        }
    }
}

/* The sums of a row by `width` neighbouring threads, in the first columns / V of them. All threads of a wave call it.
 */
template <typename VALUE, typename VECTOR, int V>
__device__ static inline void group_columns_sum(const csr_view &v, const VECTOR *x, int columns, int width,
                                                int64_t from, int64_t to, double (&sum)[V])
{
    const int threads = columns / V, place = ((int)threadIdx.x & (width - 1)) / threads;

    add_entries<VALUE>(v, x, columns, from + place, to, width / threads, sum);
#pragma unroll
    for (int w = 0; w < V; w++) {
        sum[w] = lanes_sum_down(sum[w], width, threads);
    }
}

/* The same by the block, in its first columns / V threads. All threads call it. */
template <typename VALUE, typename VECTOR, int V>
__device__ static inline void block_columns_sum(const csr_view &v, const VECTOR *x, int columns, int64_t from,
                                                int64_t to, double (&sum)[V])
{
    const int threads = columns / V;

    add_entries<VALUE>(v, x, columns, from + (int)threadIdx.x / threads, to, GPU_BLOCK / threads, sum);
    column_block_sum(sum, threads);
}

/* A thread's columns, and their dot products. */
template <int V, int NDOTS>
struct own_columns {
    thread_columns<V> of;
    double dots[V][NDOTS > 0 ? NDOTS : 1];
};

/* The thread's columns of a row, which may be one of a part. */
template <typename VECTOR, int NDOTS, bool STEP, int V>
__device__ static inline void finish_row_columns(const csr_view &v, const tess_spmv_args &args, int64_t row,
                                                 const double (&sum)[V], own_columns<V, NDOTS> *own)
{
    const double scale = v.exponent ? part_row_scale(v.exponent, row) : 1.0;
    double scaled[V];

    if (!own->of.any()) { return; }
#pragma unroll
    for (int w = 0; w < V; w++) {
        scaled[w] = scale * sum[w];
    }
    finish_columns<VECTOR, NDOTS, STEP>(args, part_row_target(v.row_of, v.row_shift, row), own->of, scaled, own->dots);
}

/* A row by a whole wave. */
template <typename VALUE, typename VECTOR, int NDOTS, bool STEP, int V>
__device__ static inline void multiply_row_by_wave(const columns_product &p, int64_t row, const tess_spmv_args &args,
                                                   const VECTOR *x, own_columns<V, NDOTS> *own)
{
    const int64_t from = offset_at(p.v, row), to = offset_at(p.v, row + 1);
    double sum[V] = {};

    group_columns_sum<VALUE>(p.v, x, args.columns, GPU_WAVE, from, own->of.any() ? to : from, sum);
    if ((int)threadIdx.x % GPU_WAVE < args.columns / V) {
        finish_row_columns<VECTOR, NDOTS, STEP>(p.v, args, row, sum, own);
    }
}

/* The rows of a chunk that are long for a group. All waves look for them, and take them in turns. */
template <typename VALUE, typename VECTOR, int NDOTS, bool STEP, int V>
__device__ static inline void multiply_left_rows(const columns_product &p, const csr_chunk &chunk,
                                                 const tess_spmv_args &args, const VECTOR *x,
                                                 own_columns<V, NDOTS> *own)
{
    const int lane = (int)threadIdx.x % GPU_WAVE;
    int turn = (int)threadIdx.x / GPU_WAVE;

    for (int r0 = 0; r0 < chunk.short_rows; r0 += GPU_WAVE) {
        const int r = r0 + lane;
        const int64_t row = (int64_t)chunk.first_row + r;
        const bool longer = r < chunk.short_rows && offset_at(p.v, row + 1) - offset_at(p.v, row) > p.most;
        const gpu_lanes left = GPU_BALLOT(longer);

        for (int k = 0; k < GPU_WAVE && left >> k != 0; k++) {
            if ((left >> k & 1U) == 0) { continue; }
            if (turn == 0) {
                multiply_row_by_wave<VALUE, VECTOR, NDOTS, STEP>(p, (int64_t)chunk.first_row + r0 + k, args, x, own);
            }
            turn = turn == 0 ? WAVES - 1 : turn - 1;
        }
    }
}

/* The rows of chunk `at`, except a long one at its end. Waves share the rows of a chunk, and wait for no other; the
   last rows are those of another wave in each chunk. */
template <typename VALUE, typename VECTOR, int NDOTS, bool STEP, int V>
__device__ static inline void multiply_short_rows(const columns_product &p, int at, const csr_chunk &chunk,
                                                  const tess_spmv_args &args, const VECTOR *x,
                                                  own_columns<V, NDOTS> *own)
{
    const int columns = args.columns, width = p.group;
    const int wave = ((int)threadIdx.x / GPU_WAVE + at) % WAVES, lane = (int)threadIdx.x % GPU_WAVE;

    for (int r0 = wave * (GPU_WAVE / width); r0 < chunk.short_rows; r0 += GPU_BLOCK / width) {
        const int r = r0 + lane / width;
        const int64_t row = (int64_t)chunk.first_row + r;
        int64_t from = 0, to = 0;
        bool takes = r < chunk.short_rows;
        double sum[V] = {};

        if (takes) {
            from = offset_at(p.v, row);
            to = offset_at(p.v, row + 1);
            takes = to - from <= p.most;
        }
        group_columns_sum<VALUE>(p.v, x, columns, width, from, takes && own->of.any() ? to : from, sum);
        if (takes && (lane & (width - 1)) < columns / V) {
            finish_row_columns<VECTOR, NDOTS, STEP>(p.v, args, row, sum, own);
        }
    }
    if (p.most < INT_MAX) { multiply_left_rows<VALUE, VECTOR, NDOTS, STEP>(p, chunk, args, x, own); }
}

/* The place among `count` ascending numbers of the last that is at most `value`. */
__device__ static inline int last_up_to(const int32_t *number, int count, int64_t value)
{
    int low = 0, high = count - 1;

    while (low < high) {
        const int middle = (low + high + 1) / 2;

        if (number[middle] <= value) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* The long row at a chunk's end. */
template <typename VALUE, typename VECTOR, int NDOTS, bool STEP, int V>
__device__ static inline void multiply_long_row(const columns_product &p, int64_t row, const tess_spmv_args &args,
                                                const VECTOR *x, own_columns<V, NDOTS> *own)
{
    const int columns = args.columns;
    const int64_t from = offset_at(p.v, row), to = offset_at(p.v, row + 1);
    double sum[V] = {};

    if (to - from <= SEGMENT) {
        block_columns_sum<VALUE>(p.v, x, columns, from, own->of.any() ? to : from, sum);
    } else if ((int)threadIdx.x < columns / V) {
        const int split = last_up_to(p.split_row, p.nsplit, row);

        for (int s = p.split_segment[split]; s < p.split_segment[split + 1]; s++) {
#pragma unroll
            for (int w = 0; w < V; w++) {
                sum[w] += p.segment_sum[(int64_t)s * columns + own->of.first + w];
            }
        }
    }
    if ((int)threadIdx.x < columns / V) { finish_row_columns<VECTOR, NDOTS, STEP>(p.v, args, row, sum, own); }
}

template <typename VALUE, typename VECTOR, int NDOTS, bool STEP, int V>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (product_blocks(V, NDOTS)))
    columns_product_kernel(const columns_product p, const tess_spmv_args args, const columns_target target)
{
    tess_scalars scalars;
    const bool runs = column_enter(target, true, &scalars);
    own_columns<V, NDOTS> own = {thread_columns<V>(target), {}};
    const VECTOR *x = factors_of<VECTOR>(args) + own.of.first;

    for (int at = (int)blockIdx.x; at < p.nchunks; at += (int)gridDim.x) {
        const csr_chunk chunk = p.chunk[at];

        multiply_short_rows<VALUE, VECTOR, NDOTS, STEP>(p, at, chunk, args, x, &own);
        if (chunk.short_rows < chunk.rows) {
            multiply_long_row<VALUE, VECTOR, NDOTS, STEP>(p, (int64_t)chunk.first_row + chunk.short_rows, args, x,
                                                          &own);
        }
    }
    if constexpr (NDOTS > 0) {
        double sums[NDOTS];

        own.of.give_sums(own.dots, sums);
        column_grid_reduce(sums, runs, target);
    }
}

/* One segment of a row to split for each block. */
template <typename VALUE, typename VECTOR, int V>
__global__ static void __launch_bounds__(GPU_BLOCK)
    column_segments_kernel(const columns_product p, const tess_spmv_args args, const columns_target target)
{
    const int segment = (int)blockIdx.x, split = last_up_to(p.split_segment, p.nsplit, segment);
    const int threads = target.columns / V;
    double sum[V] = {};
    tess_scalars scalars;

    (void)column_enter(target, false, &scalars);
    const thread_columns<V> own(target);
    const int64_t row = p.split_row[split], end = offset_at(p.v, row + 1);
    const int64_t from = offset_at(p.v, row) + (int64_t)(segment - p.split_segment[split]) * SEGMENT;
    const int64_t to = end - from > SEGMENT ? from + SEGMENT : end;

    block_columns_sum<VALUE>(p.v, factors_of<VECTOR>(args) + own.first, target.columns, from, own.any() ? to : from,
                             sum);
#pragma unroll
    for (int w = 0; w < V; w++) {
        if ((int)threadIdx.x < threads) { p.segment_sum[(int64_t)segment * target.columns + own.first + w] = sum[w]; }
    }
}

/* Threads for a row. threads: for all columns. */
static int choose_columns_group(const csr_view *v, int threads)
{
    int group = threads;

    while (group < GPU_WAVE && v->nnz > v->nrows * COLUMN_NONZEROS * (group / threads)) {
        group *= 2;
    }
    return group;
}

/* The most entries of a row for such a group: about as many as two mean rows have. */
static int choose_most(const csr_view *v, const csr_plan *p, int group, int threads)
{
    const int64_t mean = v->nrows > 0 ? v->nnz / v->nrows : 0;
    const int64_t most = std::min(std::max(2 * mean, (int64_t)COLUMN_LEAST), (int64_t)COLUMN_MOST * (group / threads));

    return group == GPU_WAVE || p->longest <= COLUMN_MOST * (group / threads) ? INT_MAX : (int)most;
}

template <typename VALUE, typename VECTOR, int NDOTS, bool STEP, int V>
static tess_status launch_product_of(tess_context *ctx, const csr_view *v, const csr_plan *p,
                                     const tess_spmv_args *args)
{
    const int64_t most = (int64_t)gpu_state_of(ctx)->multiprocessors * product_blocks(V, NDOTS);
    const unsigned grid = (unsigned)(p->nchunks < most ? p->nchunks : most);
    const int threads = args->columns / V, group = choose_columns_group(v, threads);
    columns_product product = {*v,        p->chunk,     p->nchunks,       group, choose_most(v, p, group, threads),
                               p->nsplit, p->split_row, p->split_segment, NULL};
    columns_target target = {args->reduction.state, args->columns, false, NULL, NULL, TESS_SCALAR_NONE};
    tess_status status = TESS_SUCCESS;

    if (p->nchunks == 0) { return TESS_SUCCESS; }
    TESS_TRY(prepare_columns(ctx, grid, NDOTS, args->reduction.scalar, &target));
    if (p->nsplit > 0) {
        TESS_TRY(gpu_parts(ctx, (int64_t)p->nsegments * args->columns, &product.segment_sum));
        TESS_TRY(gpu_launch(ctx, "summing split rows of several columns", column_segments_kernel<VALUE, VECTOR, V>,
                            (unsigned)p->nsegments, 0, product, *args, target));
    }
    status = gpu_launch(ctx, "a sparse product of several columns",
                        columns_product_kernel<VALUE, VECTOR, NDOTS, STEP, V>, grid, 0, product, *args, target);
cleanup:
    return status;
}

template <typename VALUE, typename VECTOR, int NDOTS, bool STEP>
static tess_status launch_product(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    constexpr int EACH = columns_tuning::EACH;

    return columns_take_packs(args) ? launch_product_of<VALUE, VECTOR, NDOTS, STEP, EACH>(ctx, v, p, args)
                                    : launch_product_of<VALUE, VECTOR, NDOTS, STEP, 1>(ctx, v, p, args);
}

template <typename VALUE>
tess_status csr_multiply_columns(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    if (args->vectors == TESS_PRECISION_FP32) { return launch_product<VALUE, float, 0, true>(ctx, v, p, args); }
    if (args->update.kind == TESS_UPDATE_POLYNOMIAL) { return launch_product<VALUE, double, 0, true>(ctx, v, p, args); }
    switch (args->reduction.ndots) {
    case 0: return launch_product<VALUE, double, 0, false>(ctx, v, p, args);
    case 1: return launch_product<VALUE, double, 1, false>(ctx, v, p, args);
    default: return launch_product<VALUE, double, 2, false>(ctx, v, p, args);
    }
}

#define MULTIPLY(VALUE)                                                                                  \
    template tess_status csr_multiply_columns<VALUE>(tess_context *, const csr_view *, const csr_plan *, \
                                                     const tess_spmv_args *);
STORED_TYPES(MULTIPLY)
#undef MULTIPLY
