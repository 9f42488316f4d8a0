/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of packed matrices on the GPU: a wave takes a slice, a thread one of its rows. The threads agree on where
 * the entries of a place are by counting the rows that have one, so that nothing is read to find a value. AHEAD entries
 * of a thread are on their way at a time. Segments of long rows are summed before.
 */
#ifndef TESS_FORMAT_PACKED_PACKED_PRODUCT_CUH
#define TESS_FORMAT_PACKED_PACKED_PRODUCT_CUH

#include "format/packed/packed_lanes.cuh"
#include "format/select_product.cuh"

/* Stands for the type of the values where levels differ: a bit for each precision that a level has. */
template <unsigned PRECISIONS>
struct packed_mixed {
    template <typename STORAGE>
    static constexpr bool has = (PRECISIONS >> tess::storage_traits<STORAGE>::precision & 1U) != 0;
};

template <typename STORED>
struct packed_is_mixed {
    static constexpr bool value = false;
};
template <unsigned PRECISIONS>
struct packed_is_mixed<packed_mixed<PRECISIONS>> {
    static constexpr bool value = true;
};

/* Entries of a thread in flight: as many as base columns are read at once. Blocks of a multiprocessor, for which
   registers must suffice. */
enum { PACKED_AHEAD = 4, PACKED_BLOCKS = 5, PACKED_BLOCKS_MIXED = 4, PACKED_BLOCKS_WITH_DOTS = 4 };
static_assert(PACKED_AHEAD * sizeof(int32_t) == PACKED_BASE_UNIT, "base columns in one load");

template <typename STORED, int NDOTS>
constexpr int packed_blocks = NDOTS > 0                        ? PACKED_BLOCKS_WITH_DOTS
                              : packed_is_mixed<STORED>::value ? PACKED_BLOCKS_MIXED
                                                               : PACKED_BLOCKS;

/* What is known of a section: rows differ in their entries; each has as many; and columns have no offsets either. */
enum packed_shape { PACKED_RAGGED, PACKED_FULL, PACKED_SHARED };

/* Offset `i` of those at `at`, of 0, 1, 2 or 4 bytes. One load for all of them: branches would keep the loads of the
   next places waiting. */
__device__ static __forceinline__ int32_t packed_load_offset(const char *at, int width, int i)
{
    const int byte = i * width, shift = byte % 4 * 8;
    const uint32_t mask = width == 4 ? ~0U : (1U << (8 * width)) - 1U;

    return (int32_t)(*(const uint32_t *)(const void *)(at + (byte - byte % 4)) >> shift & mask);
}

/* Adds the entries of a section to the row's sum. */
template <typename VALUE, int SHAPE, typename VECTOR, typename ARITHMETIC>
__device__ static __forceinline__ ARITHMETIC packed_add_shape(const packed_lanes by, const char *section, uint32_t word,
                                                              const VECTOR *x, ARITHMETIC sum)
{
    const int places = packed_places(word);
    const int length = SHAPE != PACKED_RAGGED ? places : ((const uint8_t *)section)[by.lane];
    const VALUE *values = (const VALUE *)(const void *)(section + packed_values_at(word));
    const uint4 *bases = (const uint4 *)(const void *)(section + packed_bases_at(word));
    const uint32_t *widths = (const uint32_t *)(const void *)(section + packed_widths_at(word));
    const char *offset = section + packed_offsets_at(word);
    const bool differ = packed_width(word) == PACKED_WIDTHS_DIFFER;
    const uint32_t same = (uint32_t)packed_width(word) * 0x01010101U;

    for (int k = 0; k < places; k += PACKED_AHEAD) {
        const uint4 base = *bases++;
        const uint32_t width_bytes = SHAPE == PACKED_SHARED ? 0U : differ ? *widths++ : same;
        int32_t column[PACKED_AHEAD] = {(int32_t)base.x, (int32_t)base.y, (int32_t)base.z, (int32_t)base.w};
        VALUE value[PACKED_AHEAD];
        VECTOR factor[PACKED_AHEAD];

#pragma unroll
        for (int u = 0; u < PACKED_AHEAD; u++) {
            const int width = (int)(width_bytes >> (8 * u) & 0xFFU);
            int rank = by.lane, count = PACKED_SLICE;

            column[u] += by.lane;
            if (SHAPE == PACKED_RAGGED) {
                const uint32_t lanes = by.ballot(k + u < length);

                rank = by.rank(lanes);
                count = __popc(lanes);
            }
            if (k + u < length) {
                value[u] = gpu_load_once(values + rank);
                if (SHAPE != PACKED_SHARED) { column[u] += packed_load_offset(offset, width, rank); }
            }
            values += count;
            if (SHAPE != PACKED_SHARED) { offset += packed_offset_bytes(count, width); }
        }
#pragma unroll
        for (int u = 0; u < PACKED_AHEAD; u++) {
            if (k + u < length) { factor[u] = x[column[u]]; }
        }
#pragma unroll
        for (int u = 0; u < PACKED_AHEAD; u++) {
            if (k + u < length) { sum += tess::decode<ARITHMETIC>(value[u]) * (ARITHMETIC)factor[u]; }
        }
    }
    return sum;
}

template <typename VALUE, typename VECTOR, typename ARITHMETIC>
__device__ static __forceinline__ ARITHMETIC packed_add(const packed_lanes by, const char *section, uint32_t word,
                                                        const VECTOR *x, ARITHMETIC sum)
{
    if (!packed_is_full(word)) { return packed_add_shape<VALUE, PACKED_RAGGED>(by, section, word, x, sum); }
    return packed_width(word) == 0 ? packed_add_shape<VALUE, PACKED_SHARED>(by, section, word, x, sum)
                                   : packed_add_shape<VALUE, PACKED_FULL>(by, section, word, x, sum);
}

/* The sections of a slice that these threads read next: one precision, or a level for each of the first threads. */
template <typename STORED>
struct packed_reader {
    __device__ static inline packed_section read(const packed_view &v, const packed_lanes by, int64_t slice)
    {
        (void)by;
        return slice < v.nslices + v.nsegments ? v.section[slice * v.nlevels + v.only] : packed_section{0, 0};
    }
    /* The sum of the thread's row. */
    template <typename VECTOR, typename ARITHMETIC>
    __device__ static inline ARITHMETIC sum(const packed_view &v, const packed_lanes by, packed_section section,
                                            const VECTOR *x)
    {
        return packed_add<STORED>(by, v.record + (int64_t)section.start * PACKED_UNIT, section.word, x, (ARITHMETIC)0);
    }
};

template <unsigned PRECISIONS>
struct packed_reader<packed_mixed<PRECISIONS>> {
    __device__ static inline packed_section read(const packed_view &v, const packed_lanes by, int64_t slice)
    {
        const bool has = slice < v.nslices + v.nsegments && by.lane < v.nlevels;

        return has ? v.section[slice * v.nlevels + by.lane] : packed_section{0, 0};
    }
    template <typename VECTOR, typename ARITHMETIC>
    __device__ static inline ARITHMETIC add(const packed_lanes by, const char *section, uint32_t word, const VECTOR *x,
                                            ARITHMETIC sum)
    {
        return gpu_value_by_storage<packed_mixed<PRECISIONS>>(
            packed_precision(word), sum,
            [](auto stored, const packed_lanes threads, const char *at, uint32_t about, const VECTOR *from,
               ARITHMETIC before) {
                return packed_add<typename decltype(stored)::type>(threads, at, about, from, before);
            },
            by, section, word, x, sum);
    }
    template <typename VECTOR, typename ARITHMETIC>
    __device__ static inline ARITHMETIC sum(const packed_view &v, const packed_lanes by, packed_section section,
                                            const VECTOR *x)
    {
        ARITHMETIC sum = 0;

#pragma unroll 1
        for (int l = 0; l < v.nlevels; l++) {
            const uint32_t start = GPU_SHUFFLE(section.start, l, PACKED_SLICE);
            const uint32_t word = GPU_SHUFFLE(section.word, l, PACKED_SLICE);

            sum = add(by, v.record + (int64_t)start * PACKED_UNIT, word, x, sum);
        }
        return sum;
    }
};

template <typename STORED, typename VECTOR, typename ARITHMETIC>
__global__ static void __launch_bounds__(GPU_BLOCK)
    packed_segments_kernel(const packed_view v, const VECTOR *x, const loop_predicate predicate)
{
    typedef packed_reader<STORED> reader;
    const packed_lanes by;
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
    for (int64_t s = by.first_slice(); s < v.nsegments; s += by.step()) {
        const packed_section section = reader::read(v, by, v.nslices + s);
        const double all = lanes_sum((double)reader::template sum<VECTOR, ARITHMETIC>(v, by, section, x), PACKED_SLICE);

        if (by.lane == 0) { v.segment_sum[s] = all; }
    }
}

/* The sum of a long row; else `sum`. */
template <typename ARITHMETIC>
__device__ static inline ARITHMETIC packed_long_sum(const packed_view &v, int64_t row, ARITHMETIC sum)
{
    const int64_t j = tess_last_up_to(v.long_row, v.nlong, row);
    double all = 0.0;

    if (v.long_row[j] != row) { return sum; }
    for (int64_t s = v.long_segment[j]; s < v.long_segment[j + 1]; s++) {
        all += v.segment_sum[s];
    }
    return (ARITHMETIC)all;
}

/* The sections of the next slice are on their way while one is summed. */
template <typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (packed_blocks<STORED, NDOTS>))
    packed_kernel(const packed_view v, const tess_spmv_args args, const loop_predicate predicate,
                  const reduce_target target)
{
    typedef packed_reader<STORED> reader;
    const packed_lanes by;
    const VECTOR *const x = factors_of<VECTOR>(args);
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, NDOTS > 0, &scalars)) { return; }
    packed_section next = reader::read(v, by, by.first_slice());
    for (int64_t slice = by.first_slice(); slice < v.nslices; slice += by.step()) {
        const packed_section section = next;
        const int64_t row = slice * PACKED_SLICE + by.lane;

        next = reader::read(v, by, slice + by.step());
        ARITHMETIC sum = reader::template sum<VECTOR, ARITHMETIC>(v, by, section, x);

        if (v.nlong > 0 && by.ballot((section.word & PACKED_HAS_LONG) != 0) != 0) {
            sum = packed_long_sum(v, row, sum);
        }
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
        const unsigned grid = gpu_grid(ctx, threads, packed_blocks<STORED, NDOTS>);
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
