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

/* Stands for the type of the values where levels differ. */
struct packed_mixed {};

/* Entries of a thread in flight. Blocks of a multiprocessor, for which registers must suffice. */
enum { PACKED_AHEAD = 4, PACKED_BLOCKS = 5, PACKED_BLOCKS_MIXED = 4, PACKED_BLOCKS_WITH_DOTS = 4 };

template <typename STORED, int NDOTS>
constexpr int packed_blocks = NDOTS > 0                                   ? PACKED_BLOCKS_WITH_DOTS
                              : std::is_same<STORED, packed_mixed>::value ? PACKED_BLOCKS_MIXED
                                                                          : PACKED_BLOCKS;

/* A row's sum, and where the offsets of the next level are. */
template <typename ARITHMETIC>
struct packed_run {
    ARITHMETIC sum;
    const char *offset;
};

/* What is known of a level: rows differ in their entries; each has as many; and columns have no offsets either. */
enum packed_shape { PACKED_RAGGED, PACKED_FULL, PACKED_SHARED };

/* Adds the entries of a level to the row's sum. */
template <typename VALUE, int SHAPE, typename VECTOR, typename ARITHMETIC>
__device__ static __forceinline__ packed_run<ARITHMETIC> packed_add_level(const packed_lanes by, const char *head,
                                                                          int places, const VALUE *values,
                                                                          const VECTOR *x, packed_run<ARITHMETIC> run)
{
    const int length = SHAPE != PACKED_RAGGED ? places : ((const uint8_t *)head)[by.lane];
    const int32_t *const bases = (const int32_t *)(const void *)(head + PACKED_SLICE);
    const uint8_t *const widths = (const uint8_t *)(bases + places);
    int own_base = 0, own_width = 0;

    for (int k = 0; k < places; k += PACKED_AHEAD) {
        VALUE value[PACKED_AHEAD];
        int32_t column[PACKED_AHEAD];
        VECTOR factor[PACKED_AHEAD];

        if (k % PACKED_SLICE == 0 && k + by.lane < places) { /* those of the next places, one a thread */
            own_base = bases[k + by.lane];
            if (SHAPE != PACKED_SHARED) { own_width = widths[k + by.lane]; }
        }
#pragma unroll
        for (int u = 0; u < PACKED_AHEAD; u++) {
            const int base = GPU_SHUFFLE(own_base, (k + u) % PACKED_SLICE, PACKED_SLICE);
            const int width = SHAPE == PACKED_SHARED ? 0 : GPU_SHUFFLE(own_width, (k + u) % PACKED_SLICE, PACKED_SLICE);
            int rank = by.lane, count = PACKED_SLICE;

            column[u] = base + by.lane;
            if (SHAPE == PACKED_RAGGED) {
                const uint32_t lanes = by.ballot(k + u < length);

                rank = by.rank(lanes);
                count = __popc(lanes);
            } else if (k + u >= places) {
                count = 0;
            }
            if (k + u < length) {
                value[u] = gpu_load_once(values + rank);
                if (SHAPE != PACKED_SHARED) { column[u] += (int32_t)packed_offset(run.offset, width, rank); }
            }
            values += count;
            if (SHAPE != PACKED_SHARED) { run.offset += packed_offset_bytes(count, width); }
        }
#pragma unroll
        for (int u = 0; u < PACKED_AHEAD; u++) {
            if (k + u < length) { factor[u] = x[column[u]]; }
        }
#pragma unroll
        for (int u = 0; u < PACKED_AHEAD; u++) {
            if (k + u < length) { run.sum += tess::decode<ARITHMETIC>(value[u]) * (ARITHMETIC)factor[u]; }
        }
    }
    return run;
}

/* The same by the level's word. */
template <typename VALUE, typename VECTOR, typename ARITHMETIC>
__device__ static __forceinline__ packed_run<ARITHMETIC> packed_add_values(const packed_lanes by, const char *head,
                                                                           uint32_t word, const char *values,
                                                                           const VECTOR *x, packed_run<ARITHMETIC> run)
{
    const int places = packed_places(word);
    const VALUE *const from = (const VALUE *)(const void *)values;

    if (packed_count(word) != places * PACKED_SLICE) {
        return packed_add_level<VALUE, PACKED_RAGGED>(by, head, places, from, x, run);
    }
    return packed_width(word) == 0 ? packed_add_level<VALUE, PACKED_SHARED>(by, head, places, from, x, run)
                                   : packed_add_level<VALUE, PACKED_FULL>(by, head, places, from, x, run);
}

/* The same for a precision that only the run knows. */
template <typename VECTOR, typename ARITHMETIC>
__device__ static __forceinline__ packed_run<ARITHMETIC>
packed_add_mixed(tess_precision precision, const packed_lanes by, const char *head, uint32_t word, const char *values,
                 const VECTOR *x, packed_run<ARITHMETIC> run)
{
    switch (precision) {
#define ADD_VALUES(type, NAME) \
    case TESS_PRECISION_##NAME: return packed_add_values<type>(by, head, word, values, x, run);
        STORAGE_TYPES(ADD_VALUES)
#undef ADD_VALUES
    }
    return run;
}

/* The sum of the thread's row of a record. */
template <typename STORED, typename VECTOR, typename ARITHMETIC>
__device__ static __forceinline__ ARITHMETIC packed_sum(const packed_view &v, const packed_lanes by, const char *record,
                                                        const VECTOR *x)
{
    const packed_head *const own = (const packed_head *)(const void *)record;
    const char *head = record + sizeof *own;
    packed_run<ARITHMETIC> run = {0, record + own->offsets * PACKED_UNIT};

    if constexpr (!std::is_same<STORED, packed_mixed>::value) {
        const char *const values = record + own->values[v.only] * PACKED_UNIT;

        return packed_add_values<STORED>(by, head, own->word[v.only], values, x, run).sum;
    } else {
#pragma unroll 1
        for (int l = 0; l < v.nlevels; l++) {
            const uint32_t word = own->word[l];

            if (packed_places(word) == 0) { continue; }
            run = packed_add_mixed((tess_precision)own->precision[l], by, head, word,
                                   record + own->values[l] * PACKED_UNIT, x, run);
            head += packed_level_head(packed_places(word));
        }
        return run.sum;
    }
}

/* Whether a row of a slice is long. */
__device__ static inline bool packed_has_long(const char *record)
{
    return (((const packed_head *)(const void *)record)->word[0] & PACKED_HAS_LONG) != 0;
}

template <typename STORED, typename VECTOR, typename ARITHMETIC>
__global__ static void __launch_bounds__(GPU_BLOCK)
    packed_segments_kernel(const packed_view v, const VECTOR *x, const loop_predicate predicate)
{
    const packed_lanes by;
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
    for (int64_t s = by.first_record(); s < v.nsegments; s += by.step()) {
        const char *const record = v.record + (int64_t)v.start[v.nslices + s] * PACKED_UNIT;
        const ARITHMETIC own = packed_sum<STORED, VECTOR, ARITHMETIC>(v, by, record, x);
        const double all = lanes_sum((double)own, PACKED_SLICE);

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
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (packed_blocks<STORED, NDOTS>))
    packed_kernel(const packed_view v, const tess_spmv_args args, const loop_predicate predicate,
                  const reduce_target target)
{
    const packed_lanes by;
    const VECTOR *const x = factors_of<VECTOR>(args);
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, NDOTS > 0, &scalars)) { return; }
    for (int64_t slice = by.first_record(); slice < v.nslices; slice += by.step()) {
        const char *const record = v.record + (int64_t)v.start[slice] * PACKED_UNIT;
        const int64_t row = slice * PACKED_SLICE + by.lane;

        ARITHMETIC sum = packed_sum<STORED, VECTOR, ARITHMETIC>(v, by, record, x);

        if (packed_has_long(record)) { sum = packed_long_sum(v, row, sum); }
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
