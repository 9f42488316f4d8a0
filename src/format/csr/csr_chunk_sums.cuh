/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a block of threads computes for a chunk of a CSR matrix (csr_product.cuh): sums of its rows from shared memory;
 * or products of its nonzeros and then their sums; and sums of long rows. Every sum has a fixed order.
 */
#ifndef TESS_FORMAT_CSR_CSR_CHUNK_SUMS_CUH
#define TESS_FORMAT_CSR_CSR_CHUNK_SUMS_CUH

#include <limits.h>

#include "device/gpu/reduce.cuh"
#include "device/gpu/storage_types.cuh"
#include "device/gpu/wave_sums.cuh"
#include "format/csr/csr_stage.cuh"
#include "format/row_epilogue.h"

enum { IN_FLIGHT = 8 /* elements of x that a thread loads at once */ };

/* Rows longer than a segment, and the sums of their segments. */
struct split_rows_argument {
    int nsplit;
    const int32_t *split_row, *split_segment;
    const double *segment_sum;
};

/* One matrix, or one part, in device memory. */
struct matrix_argument {
    const void *row_ptr;
    const int32_t *col_ind;
    const void *val;
    int offset_shift; /* as in row_offsets */
    split_rows_argument split;
};

static inline matrix_argument make_matrix_argument(const csr_view *v, const csr_plan *p)
{
    matrix_argument m = {v->row_ptr,
                         v->col_ind,
                         v->val,
                         v->row_ptr_bits == 64,
                         {p->nsplit, p->split_row, p->split_segment, p->segment_sum}};

    return m;
}

/*
 * By rows: where the rows of a chunk begin, by offsets of 32 or 64 bits. A chunk has far fewer than 2^32 nonzeros, so
 * the lower words of offsets are enough for distances, and one kernel serves both widths. By nonzeros there are no
 * registers for this; those kernels know the width at compile time.
 */
struct row_offsets {
    const uint32_t *word; /* of the first row */
    uint32_t begin;       /* origin of places: a lower word */
    int shift;            /* an offset has 2^shift words */

    __device__ inline row_offsets(const void *first, int offset_shift, int64_t from)
        : word((const uint32_t *)first), begin((uint32_t)from), shift(offset_shift)
    {
    }

    /* The place of row r's first nonzero. */
    __device__ inline int operator[](int r) const
    {
        return (int)(word[r << shift] - begin);
    }
};

/* Bytes of an offset. */
__host__ __device__ static inline int offset_bytes(int offset_shift)
{
    return (int)sizeof(int32_t) << offset_shift;
}

/* The offsets of a matrix from a row on. */
__device__ static inline const char *offsets_from(const matrix_argument &m, int64_t row)
{
    return (const char *)m.row_ptr + row * offset_bytes(m.offset_shift);
}

/* All of the offset of a row. */
__device__ static inline int64_t offset_of(const matrix_argument &m, int64_t row)
{
    return m.offset_shift ? ((const int64_t *)m.row_ptr)[row] : ((const int32_t *)m.row_ptr)[row];
}

/* The product of a stored value and an element of x, in the arithmetic of that element. */
template <typename VALUE>
__device__ static inline double product_of(VALUE value, double factor)
{
    return tess::decode<double>(value) * factor;
}

template <typename VALUE>
__device__ static inline double product_of(VALUE value, float factor)
{
    if constexpr (sizeof(VALUE) == sizeof(double)) { return value * (double)factor; }
    return (double)(tess::decode<float>(value) * factor);
}

/* How groups of threads share a chunk's rows. */
struct row_groups {
    int width, lane, group, groups;

    __device__ inline explicit row_groups(int width_log)
        : width(1 << width_log), lane((int)threadIdx.x & (width - 1)), group((int)threadIdx.x >> width_log),
          groups(GPU_BLOCK >> width_log)
    {
    }
};

/* What a block knows of a chunk in one of its stages; in shared memory. The last four are bytes from the stage's
   beginning. */
struct staged_chunk {
    int64_t begin;
    int32_t first_row, rows, part, group_log;
    int32_t offsets, columns, values, map; /* offsets < 0: a part without nonzeros has none; map < 0: no map */
};

/*
 * The products of a thread's elements of a row: `count` of them, WIDTH apart; from the first on the row has `rest`
 * elements. All elements of x that fit into registers are loaded before the first is used. Loads and sums must not
 * share conditions, because there are few predicates; so the sums test the same condition in another form.
 */
template <int WIDTH, typename VALUE, typename FACTOR>
__device__ static inline double sum_elements(const int32_t *column, const VALUE *value, const FACTOR *x, int count,
                                             int rest)
{
    double sum = 0.0;

#pragma unroll 1
    for (; count > 0; count -= IN_FLIGHT) {
        unsigned scaled = (unsigned)rest * 3U;
        FACTOR factor[IN_FLIGHT];

#pragma unroll
        for (int u = 0; u < IN_FLIGHT; u++) {
            if (u < count) { factor[u] = x[column[u * WIDTH]]; }
        }
#pragma unroll
        for (int u = 0; u < IN_FLIGHT; u++) {
            if (scaled > 3U * (unsigned)(u * WIDTH)) { sum += product_of(value[u * WIDTH], factor[u]); }
        }
        column += IN_FLIGHT * WIDTH;
        value += IN_FLIGHT * WIDTH;
        rest -= IN_FLIGHT * WIDTH;
    }
    return sum;
}

/* WIDTH threads sum one row. */
template <int WIDTH, typename VALUE, typename FACTOR, typename FINISH>
__device__ static inline void sum_rows(const char *stage, const staged_chunk &chunk, int offset_shift, const FACTOR *x,
                                       FINISH finish)
{
    const row_offsets offset(stage + chunk.offsets, offset_shift, chunk.begin);
    const int32_t *column = (const int32_t *)(const void *)(stage + chunk.columns);
    const VALUE *value = (const VALUE *)(const void *)(stage + chunk.values);
    const int lane = (int)(threadIdx.x % WIDTH), group = (int)(threadIdx.x / WIDTH);

    for (int r0 = 0; r0 < chunk.rows; r0 += GPU_BLOCK / WIDTH) {
        int r = r0 + group;
        double sum = 0.0;

        if (r < chunk.rows) {
            int from = offset[r] + lane, to = offset[r + 1];

            sum = sum_elements<WIDTH>(column + from, value + from, x, (to - from + WIDTH - 1) / WIDTH, to - from);
        }
        sum = lanes_sum_down(sum, WIDTH);
        if (r < chunk.rows && lane == 0) { finish(r, sum); }
    }
}

/* A chunk by rows: each group of threads sums one row; `finish` gets each row's sum. */
template <typename VALUE, typename FACTOR, typename FINISH>
__device__ static inline void sum_by_rows(const char *stage, const staged_chunk &chunk, int offset_shift,
                                          const FACTOR *x, FINISH finish)
{
    switch (chunk.group_log) {
    case 0: sum_rows<1, VALUE>(stage, chunk, offset_shift, x, finish); break;
    case 1: sum_rows<2, VALUE>(stage, chunk, offset_shift, x, finish); break;
    case 2: sum_rows<4, VALUE>(stage, chunk, offset_shift, x, finish); break;
    case 3: sum_rows<8, VALUE>(stage, chunk, offset_shift, x, finish); break;
    case 4: sum_rows<16, VALUE>(stage, chunk, offset_shift, x, finish); break;
    default: sum_rows<32, VALUE>(stage, chunk, offset_shift, x, finish); break;
    }
}

/* Place of product k in shared memory. One place in 17 is skipped, so that rows of 8, 16 or 32 nonzeros do not all
   start in the same bank. */
__host__ __device__ static inline unsigned skewed(unsigned k)
{
    return k + k / 16U;
}

/* The sum of thread `lane` of `width` over products [from, to). */
__device__ static inline double add_products(const double *products, int from, int to, int lane, int width)
{
    double sum = 0.0;

#pragma unroll 4
    for (int k = from + lane; k < to; k += width) {
        sum += products[skewed((unsigned)k)];
    }
    return sum;
}

/* Their sum by `width` neighbouring threads; the result is in lane 0. */
__device__ static inline double sum_products(const double *products, int from, int to, int lane, int width)
{
    return lanes_sum_down(add_products(products, from, to, lane, width), width);
}

/* Sums a chunk's rows from their products. Rows that are too long for a group are left for a wave. */
template <typename OFFSET, typename FINISH>
__device__ static inline void sum_uneven_rows(const OFFSET *offset, OFFSET begin, int rows, int group_log,
                                              const double *products, FINISH finish)
{
    const row_groups by(group_log);
    int most = by.width == GPU_WAVE ? INT_MAX : GROUP_STEPS * by.width, lane = (int)threadIdx.x % GPU_WAVE;
    bool left_over = false;

    for (int r0 = 0; r0 < rows; r0 += by.groups) {
        int r = r0 + by.group, from = 0, to = 0;
        bool own = r < rows;
        double sum;

        if (own) {
            from = (int)(offset[r] - begin);
            to = (int)(offset[r + 1] - begin);
            own = to - from <= most;
            left_over = left_over || !own;
        }
        sum = sum_products(products, from, own ? to : from, by.lane, by.width);
        if (own && by.lane == 0) { finish(r, sum); }
    }
    if (!__syncthreads_or(left_over)) { return; }
    for (int r = (int)threadIdx.x / GPU_WAVE; r < rows; r += WAVES) {
        int from = (int)(offset[r] - begin), to = (int)(offset[r + 1] - begin);

        if (to - from > most) {
            double sum = sum_products(products, from, to, lane, GPU_WAVE);

            if (lane == 0) { finish(r, sum); }
        }
    }
}

/* Sum of nonzeros [begin, end) by a whole block, from memory; the result is in thread 0. */
template <typename VALUE, typename OFFSET, typename FACTOR>
__device__ static inline double block_row_sum(const matrix_argument &m, const FACTOR *x, OFFSET begin, OFFSET end)
{
    const VALUE *val = (const VALUE *)m.val;
    double sum[1] = {0.0};

#pragma unroll 4
    for (OFFSET k = begin + (OFFSET)threadIdx.x; k < end; k += GPU_BLOCK) {
        sum[0] += product_of(gpu_load_once(val + k), x[gpu_load_once(m.col_ind + k)]);
    }
    block_sum(sum);
    return sum[0];
}

/* Sum of a split row from its segments, by one thread in order. */
__device__ static inline double split_row_sum(const split_rows_argument &split, int64_t row)
{
    int low = 0, high = split.nsplit - 1;
    double sum = 0.0;

    while (low < high) {
        int middle = (low + high) / 2;

        if (split.split_row[middle] >= row) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    for (int s = split.split_segment[low]; s < split.split_segment[low + 1]; s++) {
        sum += split.segment_sum[s];
    }
    return sum;
}

/* The row at a chunk's end that is too long to be staged; the sum is in thread 0. */
template <typename VALUE, typename OFFSET, typename FACTOR>
__device__ static inline double long_row_sum(const matrix_argument &m, const FACTOR *x, int64_t row)
{
    const OFFSET *row_ptr = (const OFFSET *)m.row_ptr;
    OFFSET begin = row_ptr[row], end = row_ptr[row + 1];
    double sum = 0.0;

    if (end - begin <= SEGMENT) {
        sum = block_row_sum<VALUE>(m, x, begin, end);
    } else if (threadIdx.x == 0) {
        sum = split_row_sum(m.split, row);
    }
    return sum;
}

/* All threads: stores value * x[column] of the nonzero at each place to products[skewed(place)], from `base` on. */
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

    template <typename FACTOR>
    __device__ inline void multiply(const FACTOR *x, int base, double *products) const
    {
        double *to = products + skewed((unsigned)base) + skewed(threadIdx.x); /* base is a multiple of the block */
        FACTOR factor[LOADS];

#pragma unroll
        for (int u = 0; u < LOADS; u++) {
            if (column[u] >= 0) { factor[u] = x[column[u]]; }
        }
#pragma unroll
        for (int u = 0; u < LOADS; u++) {
            if (column[u] >= 0) { to[skewed(u * GPU_BLOCK)] = product_of(value[u], factor[u]); }
        }
    }
};

/*
 * The products of nonzeros `begin` to begin + count - 1. Places are counted from an aligned start, so that each wave's
 * loads are aligned. The first places may belong to the previous chunk; their products are computed but not used.
 * `enter` is called when the first loads are in flight; if it returns false, nothing else happens and the result is
 * false.
 */
template <typename VALUE, typename FACTOR, typename ENTER>
__device__ static __forceinline__ bool multiply_nonzeros(const matrix_argument &m, int64_t begin, int count,
                                                         const FACTOR *x, double *products, ENTER enter)
{
    int64_t start = begin / GPU_WAVE * GPU_WAVE;
    int high = (int)(begin - start) + count;
    const VALUE *val = (const VALUE *)m.val + start;
    nonzero_batch<VALUE> batch;

    batch.load(val, m.col_ind + start, high, 0);
    if (!enter()) { return false; }
    batch.multiply(x, 0, products);
    for (int base = CHUNK_PASS; base < high; base += CHUNK_PASS) {
        batch.load(val, m.col_ind + start, high, base);
        batch.multiply(x, base, products);
    }
    return true;
}

/* A chunk by nonzeros. */
template <typename VALUE, typename OFFSET, typename FACTOR, typename ENTER, typename FINISH>
__device__ static __forceinline__ bool stream_chunk(const csr_chunk &chunk, const matrix_argument &m, const FACTOR *x,
                                                    double *products, ENTER enter, FINISH finish)
{
    int64_t start = chunk.begin / GPU_WAVE * GPU_WAVE;

    if (!multiply_nonzeros<VALUE>(m, chunk.begin, chunk.staged, x, products, enter)) { return false; }
    __syncthreads();
    sum_uneven_rows((const OFFSET *)m.row_ptr + chunk.first_row, (OFFSET)start, chunk.short_rows, chunk.group_log,
                    products, finish);
    if (chunk.short_rows < chunk.rows) {
        double sum = long_row_sum<VALUE, OFFSET>(m, x, (int64_t)chunk.first_row + chunk.short_rows);

        if (threadIdx.x == 0) { finish(chunk.short_rows, sum); }
    }
    __syncthreads();
    return true;
}

#endif
