/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of packed matrices on the GPU: a wave takes a slice, a thread one of its rows. The threads agree on where the
 * entries of a place are by counting the rows that have one, so that nothing is read to find a value. AHEAD entries of a
 * thread are on their way at a time. Segments of long rows are summed before.
 */
#ifndef TESS_FORMAT_PACKED_PACKED_PRODUCT_CUH
#define TESS_FORMAT_PACKED_PACKED_PRODUCT_CUH

#include "format/packed/packed_lanes.cuh"
#include "format/select_product.cuh"

/* Stands for the type of the values where levels differ. */
struct packed_mixed {};

/* Blocks of a multiprocessor, for which registers must suffice. */
enum { PACKED_AHEAD = 4, PACKED_BLOCKS = 5, PACKED_BLOCKS_WITH_DOTS = 4 };

/* Where the next place of a record is. */
struct packed_cursor {
    const char *values, *offset;
};

/* Adds the entries of a level to the row's sum. FULL: each row has as many as the others. */
template <typename VALUE, bool FULL, typename VECTOR, typename ARITHMETIC>
__device__ static inline ARITHMETIC packed_add_level(const packed_lanes &by, const char *head, int places,
                                                     packed_cursor &c, const VECTOR *x, ARITHMETIC sum)
{
    const int length = FULL ? places : ((const uint8_t *)head)[by.lane];
    const int32_t *const bases = (const int32_t *)(const void *)(head + PACKED_SLICE);
    const uint8_t *const widths = (const uint8_t *)(bases + places);
    const VALUE *values = (const VALUE *)(const void *)c.values;
    int own_base = 0, own_width = 0;

    for (int k = 0; k < places; k += PACKED_AHEAD) {
        VALUE value[PACKED_AHEAD];
        int64_t column[PACKED_AHEAD];
        VECTOR factor[PACKED_AHEAD];
        bool has[PACKED_AHEAD];

        if (k % PACKED_SLICE == 0 && k + by.lane < places) { /* those of the next places, one a thread */
            own_base = bases[k + by.lane];
            own_width = widths[k + by.lane];
        }
#pragma unroll
        for (int u = 0; u < PACKED_AHEAD; u++) {
            const int base = GPU_SHUFFLE(own_base, (k + u) % PACKED_SLICE, PACKED_SLICE);
            const int width = GPU_SHUFFLE(own_width, (k + u) % PACKED_SLICE, PACKED_SLICE);
            int rank = by.lane, count = PACKED_SLICE;

            has[u] = k + u < length;
            if (!FULL) {
                const uint32_t lanes = by.ballot(has[u]);

                rank = by.rank(lanes);
                count = __popc(lanes);
            } else if (k + u >= places) {
                count = 0;
            }
            if (has[u]) {
                value[u] = gpu_load_once(values + rank);
                column[u] = (int64_t)base + by.lane + (int64_t)packed_offset(c.offset, width, rank);
            }
            values += count;
            c.offset += packed_offset_bytes(count, width);
        }
#pragma unroll
        for (int u = 0; u < PACKED_AHEAD; u++) {
            if (has[u]) { factor[u] = x[column[u]]; }
        }
#pragma unroll
        for (int u = 0; u < PACKED_AHEAD; u++) {
            if (has[u]) { sum += tess::decode<ARITHMETIC>(value[u]) * (ARITHMETIC)factor[u]; }
        }
    }
    return sum;
}

template <typename VALUE, typename VECTOR, typename ARITHMETIC>
__device__ static inline ARITHMETIC packed_add_values(const packed_lanes &by, const char *head, uint32_t word,
                                                      packed_cursor &c, const VECTOR *x, ARITHMETIC sum)
{
    const int places = packed_places(word);

    return packed_count(word) == places * PACKED_SLICE
               ? packed_add_level<VALUE, true>(by, head, places, c, x, sum)
               : packed_add_level<VALUE, false>(by, head, places, c, x, sum);
}

/* The sum of the thread's row of a record. */
template <typename STORED, typename VECTOR, typename ARITHMETIC>
__device__ static inline ARITHMETIC packed_sum(const packed_view &v, const packed_lanes &by, const char *record,
                                               const uint32_t *word, const VECTOR *x)
{
    const packed_parts parts = packed_parts_of(&v, word);
    packed_cursor c = {record, record + parts.offsets};
    ARITHMETIC sum = 0;

    if constexpr (!std::is_same<STORED, packed_mixed>::value) {
        c.values += parts.values[v.only];
        return packed_add_values<STORED>(by, record + parts.head[v.only], word[v.only], c, x, sum);
    } else {
        for (int l = 0; l < v.nlevels; l++) {
            if (packed_places(word[l]) == 0) { continue; }
            c.values = record + parts.values[l];
            sum = gpu_value_by_storage(
                v.precision[l], sum,
                [](auto stored, const packed_lanes &lanes, const char *head, uint32_t own, packed_cursor &at,
                   const VECTOR *from, ARITHMETIC before) {
                    return packed_add_values<typename decltype(stored)::type>(lanes, head, own, at, from, before);
                },
                by, record + parts.head[l], word[l], c, x, sum);
        }
        return sum;
    }
}

__device__ static inline void packed_read_words(const char *record, uint32_t *word)
{
    const uint4 all = *(const uint4 *)(const void *)record;

    word[0] = all.x;
    word[1] = all.y;
    word[2] = all.z;
    word[3] = all.w;
}

template <typename STORED, typename VECTOR, typename ARITHMETIC>
__global__ static void __launch_bounds__(GPU_BLOCK)
    packed_segments_kernel(const packed_view v, const VECTOR *x, const loop_predicate predicate)
{
    const packed_lanes by;
    uint32_t word[TESS_MAX_LEVELS];
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
    for (int64_t s = by.first_record(); s < v.nsegments; s += by.step()) {
        const char *const record = v.record + (int64_t)v.start[v.nslices + s] * PACKED_UNIT;

        packed_read_words(record, word);
        const double all =
            GPU_LANES_SUM((double)packed_sum<STORED, VECTOR, ARITHMETIC>(v, by, record, word, x), PACKED_SLICE);

        if (by.lane == 0) { v.segment_sum[s] = all; }
    }
}

/* The sum of a long row; else `sum`. */
template <typename ARITHMETIC>
__device__ static inline ARITHMETIC packed_long_sum(const packed_view &v, int64_t row, ARITHMETIC sum)
{
    const int64_t j = packed_find(v.long_row, v.nlong, row);
    double all = 0.0;

    if (v.long_row[j] != row) { return sum; }
    for (int64_t s = v.long_segment[j]; s < v.long_segment[j + 1]; s++) {
        all += v.segment_sum[s];
    }
    return (ARITHMETIC)all;
}

template <typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (NDOTS > 0 ? PACKED_BLOCKS_WITH_DOTS : PACKED_BLOCKS))
    packed_kernel(const packed_view v, const tess_spmv_args args, const loop_predicate predicate,
                  const reduce_target target)
{
    const packed_lanes by;
    const VECTOR *const x = factors_of<VECTOR>(args);
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    uint32_t word[TESS_MAX_LEVELS];
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, NDOTS > 0, &scalars)) { return; }
    for (int64_t slice = by.first_record(); slice < v.nslices; slice += by.step()) {
        const char *const record = v.record + (int64_t)v.start[slice] * PACKED_UNIT;
        const int64_t row = slice * PACKED_SLICE + by.lane;

        packed_read_words(record, word);
        ARITHMETIC sum = packed_sum<STORED, VECTOR, ARITHMETIC>(v, by, record, word, x);

        if ((word[0] & PACKED_HAS_LONG) != 0) { sum = packed_long_sum(v, row, sum); }
        store_row<VECTOR, NDOTS, STEP>(v, args, row, sum, dots);
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

/* ---- launching ---- */

struct packed_products {
    template <typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
    static tess_status launch(tess_context *ctx, const packed_view *v, const tess_spmv_args *args)
    {
        const int64_t threads = v->nslices * PACKED_SLICE, needed = (threads + GPU_BLOCK - 1) / GPU_BLOCK;
        const unsigned grid = NDOTS > 0 ? gpu_grid(ctx, threads, PACKED_BLOCKS_WITH_DOTS) : (unsigned)needed;
        const VECTOR *x = sizeof(VECTOR) == sizeof(double) ? (const VECTOR *)(const void *)args->x
                                                           : (const VECTOR *)(const void *)args->x_fp32;
        loop_predicate predicate;
        reduce_target target;
        tess_status status = TESS_SUCCESS;

        if (needed == 0) { return TESS_SUCCESS; }
        TESS_TRY(make_settled_predicate(ctx, args->reduction.state, &predicate));
        if (v->nsegments > 0) {
            TESS_TRY(gpu_launch(ctx, "summing long packed rows", packed_segments_kernel<STORED, VECTOR, ARITHMETIC>,
                                gpu_grid(ctx, v->nsegments * PACKED_SLICE, 8), 0, *v, x, predicate));
        }
        TESS_TRY(prepare_reduction(ctx, grid, NDOTS, args->reduction.scalar, args->reduction.state, &target));
        status = gpu_launch(ctx, "a packed product", packed_kernel<STORED, VECTOR, ARITHMETIC, NDOTS, STEP>, grid, 0,
                            *v, *args, predicate, target);
        status = end_reduction(ctx, status, target);
    cleanup:
        return status;
    }
};

#endif
