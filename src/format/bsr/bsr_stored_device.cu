/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of BSR on the GPU. A group of v.group threads shares a block row. A thread takes columns of its blocks: an
 * index and an element of x, and then `height` values that lie side by side, for a sum of each row. Neighbouring
 * threads take neighbouring columns. Of complex matrices a thread takes entries: an index, and re and im in one load.
 * LOADS of a thread are on their way at a time. Longer rows are cut into segments, which waves sum before. All sums
 * have a fixed order.
 *
 * As on the host, a place without an entry is multiplied as 0, and a sum that is NaN is computed again by the masks.
 * Compiled separately for each precision.
 */
#include "format/bsr/bsr_strips.cuh"

/* LOADS: complex entries of a thread in flight; VALUES: values of columns. BLOCKS: on a multiprocessor, for which
   registers must suffice. */
struct tuning {
    static constexpr int LOADS = 4, VALUES = 12;
    static constexpr int BLOCKS = 4, BLOCKS_WITH_DOTS = 3;
};

/* The threads of a group: thread `lane` of `width`. */
struct group_threads {
    int width, lane;

    __device__ inline explicit group_threads(int width) : width(width), lane((int)threadIdx.x & (width - 1))
    {
    }
};

/* HEIGHT neighbouring values, in as few loads as their place allows. */
template <int HEIGHT, typename STORED>
struct block_column {
    static constexpr int AT_ONCE = HEIGHT % 4 == 0 && sizeof(STORED) <= 4 ? 4 : HEIGHT % 2 == 0 ? 2 : 1;
    tess::pack<STORED, AT_ONCE> part[HEIGHT / AT_ONCE];

    __device__ inline void load(const STORED *from)
    {
#pragma unroll
        for (int i = 0; i < HEIGHT / AT_ONCE; i++) {
            part[i] = tess::load_pack<AT_ONCE>(from + i * AT_ONCE);
        }
    }

    __device__ inline STORED value(int r) const
    {
        return part[r / AT_ONCE].value[r % AT_ONCE];
    }
};

/* Sums of real blocks of HEIGHT rows: a thread has each `step`-th column of the block row, from `first` on. The result
   is in the threads below HEIGHT, for the row of their number. */
template <int HEIGHT>
struct sums_of_height {
    template <typename STORED, typename VECTOR, typename ARITHMETIC>
    struct sums {
        struct number {
            ARITHMETIC of_row[HEIGHT];
        };
        int first, step, more_blocks, more;

        __device__ inline sums(const bsr_view &v, const group_threads &by)
            : first(by.lane), step(by.width), more_blocks(by.width / v.width), more(by.width % v.width)
        {
        }

        /* Blocks begin .. end - 1 of a block row. */
        __device__ inline number add(const bsr_view &v, const VECTOR *x, int64_t block_row, int64_t begin,
                                     int64_t end) const
        {
            constexpr int LOADS = tuning::VALUES / HEIGHT;
            const VECTOR *const from = x + bsr_origin(&v, block_row);
            const STORED *val = (const STORED *)v.val + (begin * v.width + first) * HEIGHT;
            int64_t k = begin + first / v.width;
            int c = first % v.width;
            number sum = {};

            while (k < end) {
                block_column<HEIGHT, STORED> value[LOADS];
                VECTOR factor[LOADS];
                bool is[LOADS];

#pragma unroll
                for (int u = 0; u < LOADS; u++) {
                    is[u] = k < end;
                    if (is[u]) {
                        const int32_t column =
                            v.column_bits == 16 ? ((const int16_t *)v.column)[k] : ((const int32_t *)v.column)[k];

                        value[u].load(val);
                        factor[u] = from[column + c];
                    }
                    val += step * HEIGHT;
                    k += more_blocks;
                    c += more;
                    if (c >= v.width) {
                        c -= v.width;
                        k += 1;
                    }
                }
#pragma unroll
                for (int u = 0; u < LOADS; u++) {
                    if (!is[u]) { continue; }
#pragma unroll
                    for (int r = 0; r < HEIGHT; r++) {
                        sum.of_row[r] += tess::decode<ARITHMETIC>(value[u].value(r)) * (ARITHMETIC)factor[u];
                    }
                }
            }
            return sum;
        }

        /* Segments begin .. end - 1 of a long row. */
        __device__ inline number add_segments(const bsr_view &v, int64_t begin, int64_t end) const
        {
            number sum = {};

            for (int64_t s = begin + first; s < end; s += step) {
#pragma unroll
                for (int r = 0; r < HEIGHT; r++) {
                    sum.of_row[r] += (ARITHMETIC)v.segment_sum[s * HEIGHT + r];
                }
            }
            return sum;
        }

        /* All threads of a wave call it. */
        __device__ inline ARITHMETIC together(const bsr_view &, const group_threads &by, number sum) const
        {
            ARITHMETIC own = 0;

#pragma unroll
            for (int r = 0; r < HEIGHT; r++) {
                for (int distance = by.width / 2; distance > 0; distance /= 2) {
                    sum.of_row[r] += GPU_SHUFFLE_XOR(sum.of_row[r], distance);
                }
                if (by.lane == r) { own = sum.of_row[r]; }
            }
            return own;
        }
    };
};

/* Sums of complex entries of a segment: a thread has each width-th. The results, re and im, are in the first two. */
template <typename STORED, typename VECTOR, typename ARITHMETIC>
struct complex_sums {
    typedef bsr_number<ARITHMETIC> number;
    int first, step;

    __device__ inline complex_sums(const bsr_view &, const group_threads &by) : first(by.lane), step(by.width)
    {
    }

    __device__ inline number add(const bsr_view &v, const VECTOR *x, int64_t block_row, int64_t begin,
                                 int64_t end) const
    {
        constexpr int LOADS = tuning::LOADS;
        typedef tess::pack<STORED, 2> stored;
        number sum = {0, 0};

        for (int64_t k = begin + first; k < end; k += LOADS * step) {
            stored value[LOADS];
            VECTOR factor[LOADS][2];

#pragma unroll
            for (int u = 0; u < LOADS; u++) {
                if (k + u * step < end) {
                    const VECTOR *const at = x + bsr_column(&v, block_row, k + u * step);

                    value[u] = gpu_load_once((const stored *)v.val + k + u * step);
                    factor[u][0] = at[0];
                    factor[u][1] = at[1];
                }
            }
#pragma unroll
            for (int u = 0; u < LOADS; u++) {
                if (k + u * step < end) {
                    const ARITHMETIC re = tess::decode<ARITHMETIC>(value[u].value[0]);
                    const ARITHMETIC im = tess::decode<ARITHMETIC>(value[u].value[1]);

                    sum.re += re * (ARITHMETIC)factor[u][0];
                    sum.re -= im * (ARITHMETIC)factor[u][1];
                    sum.im += im * (ARITHMETIC)factor[u][0];
                    sum.im += re * (ARITHMETIC)factor[u][1];
                }
            }
        }
        return sum;
    }

    __device__ inline ARITHMETIC together(const bsr_view &, const group_threads &by, number sum) const
    {
        for (int distance = by.width / 2; distance > 0; distance /= 2) {
            sum.re += GPU_SHUFFLE_DOWN(sum.re, distance, by.width);
            sum.im += GPU_SHUFFLE_DOWN(sum.im, distance, by.width);
        }
        sum.im = GPU_SHUFFLE_UP(sum.im, 1, by.width);
        return by.lane == 0 ? sum.re : sum.im;
    }
};

/* Sums of segments: a wave each. */
template <template <typename, typename, typename> class SUMS, typename STORED, typename VECTOR, typename ARITHMETIC>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, tuning::BLOCKS)
    segments_kernel(const bsr_view v, const VECTOR *x, const loop_predicate predicate)
{
    const group_threads by(GPU_WAVE);
    const SUMS<STORED, VECTOR, ARITHMETIC> sums(v, by);
    const int64_t s = (int64_t)blockIdx.x * (GPU_BLOCK / GPU_WAVE) + (int)threadIdx.x / GPU_WAVE;
    int64_t row = 0, begin = 0, end = 0;
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
    if (s < v.nsegments) {
        const int64_t j = tess_last_up_to(v.long_segment, v.nlong, s);

        row = v.long_row[j];
        begin = bsr_offset(&v, row) + (s - v.long_segment[j]) * bsr_segment(&v);
        end = min(begin + bsr_segment(&v), bsr_offset(&v, row + 1));
    }
    const ARITHMETIC sum = sums.together(v, by, sums.add(v, x, row, begin, end));

    if (s < v.nsegments && by.lane < v.height) { v.segment_sum[s * v.height + by.lane] = (double)sum; }
}

/* The sum of the thread's row of a block row; all threads of a wave call it. */
template <typename SUMS, typename VECTOR>
__device__ static inline auto sum_block_row(const bsr_view &v, const VECTOR *x, const group_threads &by,
                                            const SUMS &sums, int64_t block_row)
{
    const bool exists = block_row < v.nblock_rows && !bsr_is_narrow(&v);
    const int64_t begin = exists ? bsr_offset(&v, block_row) : 0, end = exists ? bsr_offset(&v, block_row + 1) : 0;

    const bool is_long = v.nlong > 0 && end - begin > bsr_most_of_group(&v);
    const int64_t j = is_long ? tess_last_up_to(v.long_row, v.nlong, block_row) : 0;

    return sums.together(v, by,
                         is_long ? sums.add_segments(v, v.long_segment[j], v.long_segment[j + 1])
                                 : sums.add(v, x, block_row, begin, end));
}

template <template <typename, typename, typename> class SUMS, typename STORED, typename VECTOR, typename ARITHMETIC,
          int NDOTS, bool STEP>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (NDOTS > 0 ? tuning::BLOCKS_WITH_DOTS : tuning::BLOCKS))
    blocks_kernel(const bsr_view v, const tess_spmv_args args, const loop_predicate predicate,
                  const reduce_target target)
{
    const group_threads by(v.group);
    const SUMS<STORED, VECTOR, ARITHMETIC> sums(v, by);
    const VECTOR *const x = factors_of<VECTOR>(args);
    const int groups = GPU_BLOCK / by.width;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, NDOTS > 0, &scalars)) { return; }
    for (int64_t from = (int64_t)blockIdx.x * groups; from < v.nblock_rows; from += (int64_t)gridDim.x * groups) {
        const int64_t block_row = from + (int)threadIdx.x / by.width;
        ARITHMETIC sum = sum_block_row(v, x, by, sums, block_row);

        if (block_row >= v.nblock_rows || by.lane >= v.height) { continue; }
        if (v.mask && (sum != sum || bsr_is_narrow(&v))) {
            sum = (ARITHMETIC)bsr_masked_sum(&v, block_row, by.lane, x, sizeof(VECTOR) == sizeof(float), 1);
        }
        store_row<VECTOR, NDOTS, STEP>(v, args, block_row * v.height + by.lane, sum, dots);
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

/* ---- launching ---- */

/* Sums the segments of long rows, if there are any. */
template <template <typename, typename, typename> class SUMS, typename STORED, typename VECTOR, typename ARITHMETIC>
static tess_status launch_segments(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args,
                                   const loop_predicate &predicate)
{
    const int64_t waves = GPU_BLOCK / GPU_WAVE;

    if (v->nsegments == 0) { return TESS_SUCCESS; }
    return gpu_launch(ctx, "summing long block rows", segments_kernel<SUMS, STORED, VECTOR, ARITHMETIC>,
                      (unsigned)((v->nsegments + waves - 1) / waves), 0, *v, factors_of<VECTOR>(*args), predicate);
}

/* `kernel` with a thread for each of `threads`, or as many as run at once where it reduces. */
template <int NDOTS, typename KERNEL>
static tess_status launch_rows(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args, int64_t threads,
                               const loop_predicate &predicate, KERNEL kernel)
{
    const int64_t needed = (threads + GPU_BLOCK - 1) / GPU_BLOCK;
    const unsigned grid = NDOTS > 0 ? gpu_grid(ctx, threads, tuning::BLOCKS_WITH_DOTS) : (unsigned)needed;
    reduce_target target;
    tess_status status = prepare_reduction(ctx, grid, NDOTS, args->reduction.scalar, args->reduction.state, &target);

    if (status != TESS_SUCCESS) { return status; }
    status = gpu_launch(ctx, "a product by blocks", kernel, grid, 0, *v, *args, predicate, target);
    return end_reduction(ctx, status, target);
}

struct products_of_blocks {
    template <template <typename, typename, typename> class SUMS, typename STORED, typename VECTOR, typename ARITHMETIC,
              int NDOTS, bool STEP>
    static tess_status launch_by(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args)
    {
        loop_predicate predicate;
        tess_status status = TESS_SUCCESS;

        TESS_TRY(make_settled_predicate(ctx, args->reduction.state, &predicate));
        TESS_TRY((launch_segments<SUMS, STORED, VECTOR, ARITHMETIC>(ctx, v, args, predicate)));
        status = launch_rows<NDOTS>(ctx, v, args, v->nblock_rows * v->group, predicate,
                                    blocks_kernel<SUMS, STORED, VECTOR, ARITHMETIC, NDOTS, STEP>);
    cleanup:
        return status;
    }

    template <typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
    static tess_status launch(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args)
    {
        if (v->nblock_rows == 0) { return TESS_SUCCESS; }
        switch (v->height) {
        case 2: return launch_by<sums_of_height<2>::sums, STORED, VECTOR, ARITHMETIC, NDOTS, STEP>(ctx, v, args);
        case 3: return launch_by<sums_of_height<3>::sums, STORED, VECTOR, ARITHMETIC, NDOTS, STEP>(ctx, v, args);
        case 4: return launch_by<sums_of_height<4>::sums, STORED, VECTOR, ARITHMETIC, NDOTS, STEP>(ctx, v, args);
        case 5: return launch_by<sums_of_height<5>::sums, STORED, VECTOR, ARITHMETIC, NDOTS, STEP>(ctx, v, args);
        default: return launch_by<sums_of_height<6>::sums, STORED, VECTOR, ARITHMETIC, NDOTS, STEP>(ctx, v, args);
        }
    }
};

struct products_of_strips {
    template <typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
    static tess_status launch(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args)
    {
        loop_predicate predicate;
        tess_status status = TESS_SUCCESS;

        if (v->nblock_rows == 0) { return TESS_SUCCESS; }
        TESS_TRY(make_settled_predicate(ctx, args->reduction.state, &predicate));
        TESS_TRY((launch_segments<complex_sums, STORED, VECTOR, ARITHMETIC>(ctx, v, args, predicate)));
        status = launch_rows<NDOTS>(ctx, v, args, (v->nblock_rows + BSR_STRIP - 1) / BSR_STRIP * BSR_STRIP, predicate,
                                    bsr_strips_kernel<STORED, VECTOR, ARITHMETIC, NDOTS, STEP>);
    cleanup:
        return status;
    }
};

template <typename STORED>
tess_status bsr_multiply(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args)
{
    return v->is_complex ? select_kernel<products_of_strips, STORED>(ctx, v, args)
                         : select_kernel<products_of_blocks, STORED>(ctx, v, args);
}

#define MULTIPLY(STORED) \
    template tess_status bsr_multiply<STORED>(tess_context *, const bsr_view *, const tess_spmv_args *);
STORED_TYPES(MULTIPLY)
#undef MULTIPLY
