/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of complex matrices on the GPU: a wave takes the entries of a strip of 32 neighbouring rows as they lie in
 * memory, a thread each, and leaves their products in shared memory, where each thread finds those of its row. Rows are
 * summed entry after entry.
 */
#ifndef TESS_FORMAT_BSR_BSR_STRIPS_CUH
#define TESS_FORMAT_BSR_BSR_STRIPS_CUH

#include "base/search.h"
#include "format/bsr/bsr_rows.h"
#include "format/select_product.cuh"

template <typename ARITHMETIC>
struct bsr_number {
    ARITHMETIC re, im;
};

/* LOADS: entries of a thread in flight. ROOM: entries in shared memory. BLOCKS: on a multiprocessor. */
struct bsr_strip_tuning {
    static constexpr int LOADS = 5, ROOM = 2 * LOADS * BSR_STRIP, BLOCKS = 3;
};

/* Elements 2 i and 2 i + 1 of x. Few vectors of a caller begin between two pairs. */
template <typename VECTOR>
__device__ static __forceinline__ bsr_number<VECTOR> bsr_factor(const VECTOR *at, bool in_pairs)
{
    if (in_pairs) {
        const tess::pack<VECTOR, 2> both = *(const tess::pack<VECTOR, 2> *)(const void *)at;

        return {both.value[0], both.value[1]};
    }
    return {at[0], at[1]};
}

/* Products of `count` entries from `first` on, at most LOADS a thread, to `room`; columns are relative to `origin`. */
template <typename STORED, typename VECTOR, typename ARITHMETIC>
__device__ static __forceinline__ void bsr_multiply_entries(const bsr_view &v, const VECTOR *x, bool in_pairs,
                                                            int64_t origin, int64_t first, int count, int lane,
                                                            bsr_number<ARITHMETIC> *room)
{
    constexpr int LOADS = bsr_strip_tuning::LOADS;
    typedef tess::pack<STORED, 2> stored;
    const stored *const val = (const stored *)v.val + first;
    stored value[LOADS];
    bsr_number<VECTOR> factor[LOADS];
    int32_t column[LOADS];

#pragma unroll
    for (int u = 0; u < LOADS; u++) {
        const int i = lane + u * BSR_STRIP;

        if (i < count) {
            value[u] = gpu_load_once(val + i);
            column[u] =
                v.column_bits == 16 ? ((const int16_t *)v.column)[first + i] : ((const int32_t *)v.column)[first + i];
        }
    }
#pragma unroll
    for (int u = 0; u < LOADS; u++) {
        if (lane + u * BSR_STRIP < count) { factor[u] = bsr_factor(x + (origin + column[u]), in_pairs); }
    }
#pragma unroll
    for (int u = 0; u < LOADS; u++) {
        const int i = lane + u * BSR_STRIP;

        if (i < count) {
            const ARITHMETIC re = tess::decode<ARITHMETIC>(value[u].value[0]);
            const ARITHMETIC im = tess::decode<ARITHMETIC>(value[u].value[1]);

            room[i].re = re * (ARITHMETIC)factor[u].re - im * (ARITHMETIC)factor[u].im;
            room[i].im = im * (ARITHMETIC)factor[u].re + re * (ARITHMETIC)factor[u].im;
        }
    }
}

/* The sums of the segments of a long row. */
template <typename ARITHMETIC>
__device__ static inline bsr_number<ARITHMETIC> bsr_long_number(const bsr_view &v, int64_t block_row)
{
    const int64_t j = tess_last_up_to(v.long_row, v.nlong, block_row);
    bsr_number<ARITHMETIC> sum = {0, 0};

    for (int64_t s = v.long_segment[j]; s < v.long_segment[j + 1]; s++) {
        sum.re += (ARITHMETIC)v.segment_sum[2 * s];
        sum.im += (ARITHMETIC)v.segment_sum[2 * s + 1];
    }
    return sum;
}

/* The least of the values of the strip's threads. */
__device__ static inline int64_t bsr_least(int64_t value)
{
    for (int distance = BSR_STRIP / 2; distance > 0; distance /= 2) {
        const int64_t other = GPU_SHUFFLE_XOR(value, distance);

        value = other < value ? other : value;
    }
    return value;
}

/* The sum of the thread's row, block_row; all threads of a strip call it. */
template <typename STORED, typename VECTOR, typename ARITHMETIC>
__device__ static __forceinline__ bsr_number<ARITHMETIC> bsr_sum_strip(const bsr_view &v, const VECTOR *x,
                                                                       bool in_pairs, int64_t block_row, int lane,
                                                                       bsr_number<ARITHMETIC> *room)
{
    constexpr int64_t ROOM = bsr_strip_tuning::ROOM, EACH = bsr_strip_tuning::LOADS * BSR_STRIP;
    const int64_t origin = bsr_origin(&v, block_row - lane);
    const int64_t begin = bsr_offset(&v, min(block_row, v.nblock_rows));
    const int64_t end = bsr_offset(&v, min(block_row + 1, v.nblock_rows));
    const int64_t last = GPU_SHUFFLE(end, BSR_STRIP - 1, BSR_STRIP);
    const bool is_long = v.nlong > 0 && end - begin > bsr_most_of_group(&v);
    int64_t first = GPU_SHUFFLE(begin, 0, BSR_STRIP);
    bsr_number<ARITHMETIC> sum = {0, 0};

    for (;;) {
        if (v.nlong > 0) { first = bsr_least(is_long || end <= first ? last : max(begin, first)); } /* over long rows */
        if (first >= last) { break; }
        const int64_t stop = min(first + ROOM, last);

#pragma unroll 1
        for (int64_t k = first; k < stop; k += EACH) {
            bsr_multiply_entries<STORED>(v, x, in_pairs, origin, k, (int)min(EACH, stop - k), lane, room + (k - first));
        }
        GPU_SYNC_WAVE();
        for (int64_t k = max(begin, first); k < min(end, stop) && !is_long; k++) {
            sum.re += room[k - first].re;
            sum.im += room[k - first].im;
        }
        GPU_SYNC_WAVE();
        first = stop;
    }
    return is_long ? bsr_long_number<ARITHMETIC>(v, block_row) : sum;
}

template <typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, bsr_strip_tuning::BLOCKS)
    bsr_strips_kernel(const bsr_view v, const tess_spmv_args args, const loop_predicate predicate,
                      const reduce_target target)
{
    __shared__ bsr_number<ARITHMETIC> room[GPU_BLOCK / BSR_STRIP][bsr_strip_tuning::ROOM];
    const int lane = (int)threadIdx.x % BSR_STRIP, strip = (int)threadIdx.x / BSR_STRIP;
    const VECTOR *const x = factors_of<VECTOR>(args);
    const bool in_pairs = (uintptr_t)x % (2 * sizeof(VECTOR)) == 0;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, NDOTS > 0, &scalars)) { return; }
    for (int64_t from = (int64_t)blockIdx.x * GPU_BLOCK; from < v.nblock_rows; from += (int64_t)gridDim.x * GPU_BLOCK) {
        const int64_t block_row = from + (int)threadIdx.x;
        const bsr_number<ARITHMETIC> sum =
            bsr_sum_strip<STORED, VECTOR, ARITHMETIC>(v, x, in_pairs, block_row, lane, room[strip]);
        const ARITHMETIC both[2] = {sum.re, sum.im};

        if (block_row < v.nblock_rows) {
            store_rows<VECTOR, NDOTS, STEP, 2>(v, args, block_row * v.height, both, dots);
        }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

#endif
