/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block's rows in tiles, layout resident: whole block rows. Half a wave has one. Or k half waves share one, and each
 * takes every k-th tile. Where the multiplied vector may be narrowed, each block looks at the segments of its copy.
 * They have the same bits everywhere, and so all blocks find the same of each.
 */
#ifndef TESS_PAPERS_SINGLE_KERNEL_TILE_ROWS_CUH
#define TESS_PAPERS_SINGLE_KERNEL_TILE_ROWS_CUH

#include "papers/narrowing/segment.cuh"
#include "papers/single_kernel/kept_tiles.cuh"
#include "papers/single_kernel/kernels.cuh"
#include "papers/single_kernel/tile_rows.h"
#include "solver/single_kernel/block.cuh"

static_assert((int)SINGLE_TILE == (int)RESIDENT_SIDE, "a run of rows is a block row, a run of columns those of a tile");

__device__ static inline const tile_args &tile_args_of(const single_args &a)
{
    return *(const tile_args *)(const void *)a.rows;
}

template <bool MAY_NARROW>
struct tile_rows {
    static constexpr bool LOOKS_AT_X = MAY_NARROW;
    const char *record;    /* of the block's first block row; in shared or in device memory */
    const uint32_t *start; /* of each of its block rows, and the end, from the first on, in units */
    const int32_t *column; /* of the block, ascending; whole segments but for the last of all */
    double *parts;         /* of rows that several waves share: SINGLE_TILE for each wave */
    const narrowing_bounds *bounds;
    single_segment *segment;
    int count, lanes, segments;
    bool resident; /* headers have the place of their segment among the block's for their column (kept_tiles.cuh) */
    bool keeps;    /* narrowed values stay in place of those that were there */

    __device__ static inline tile_rows bring(const single_args &a, char *shared);
    __device__ inline void look(const single_args &a, const double *x, int columns, int product) const;
    __device__ inline void save(const single_args &a, int first_row, int own) const;

    __device__ inline int block_rows() const
    {
        return (int)single_runs(count, SINGLE_TILE);
    }

    __device__ inline const char *record_of(int block_row) const
    {
        return record + (int64_t)start[block_row] * TILES_UNIT;
    }

    /* The header with the place of its segment. */
    __device__ inline resident_header move(resident_header h) const
    {
        const int32_t sought = resident_column(h) * SINGLE_TILE;
        int low = 0, high = segments - 1;

        while (low < high) {
            const int middle = (low + high) / 2;

            if (column[middle * SINGLE_TILE] < sought) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return resident_moved_header(h, low);
    }

    __device__ inline resident_header settle(resident_header h) const
    {
        return resident ? h : move(h);
    }
};

/* x at the columns of a block, as sum_resident_row takes it. */
template <bool MAY_NARROW>
struct tile_x {
    static constexpr bool NARROWED = MAY_NARROW;
    const tile_rows<MAY_NARROW> &rows;
    const double *x;

    __device__ inline resident_header settle(resident_header h) const
    {
        return rows.settle(h);
    }

    /* Columns are of settled headers, and have more in them than the segment where those are in shared memory. */
    __device__ inline int use(int32_t column) const
    {
        return rows.segment[column & KEPT_SEGMENT].use;
    }

    __device__ inline double at(int32_t column, int index) const
    {
        return x[(column & KEPT_SEGMENT) * SINGLE_TILE + index];
    }

    __device__ inline double add_used(const open_tile &t, const resident_header *header, bool has, int use,
                                      double sum) const
    {
        return rows.keeps ? add_kept_row(t, (resident_header *)(uintptr_t)header, has, use, *this, sum)
                          : add_used_row(t, has, use, *this, sum);
    }
};

/* each(header) for all tiles of the block, 16 lanes to a block row. */
template <typename ROWS, typename EACH>
__device__ static inline void each_header(const ROWS &rows, EACH each)
{
    const int lane = (int)threadIdx.x % SINGLE_TILE;

    for (int s = (int)threadIdx.x / SINGLE_TILE; s < rows.block_rows(); s += SINGLE_THREADS / SINGLE_TILE) {
        const char *record = rows.record_of(s);
        const resident_header *headers = resident_headers(record);

        for (int t = lane; t < resident_tiles(record); t += SINGLE_TILE) {
            each(headers + t);
        }
    }
}

/* ---- into shared memory ---- */

/* Records, where each begins, and what segments have seen before this launch. The caller has a barrier before headers
 * are used. */
template <bool MAY_NARROW>
__device__ inline tile_rows<MAY_NARROW> tile_rows<MAY_NARROW>::bring(const single_args &a, char *shared)
{
    const int b = (int)blockIdx.x, first = a.plan.row_begin[b], begin = a.plan.column_begin[b];
    const tile_args &tiles = tile_args_of(a);
    const uint32_t *from = tiles.start + first / SINGLE_TILE;
    const uint4 *units = (const uint4 *)(const void *)tiles.record + from[0];
    uint32_t *start = (uint32_t *)(shared + a.at.offsets);
    tile_rows rows;

    rows.count = a.plan.row_begin[b + 1] - first;
    rows.lanes = a.plan.lanes;
    rows.segments = (int)single_runs(a.plan.column_begin[b + 1] - begin, SINGLE_TILE);
    rows.record = (const char *)units;
    rows.start = start;
    rows.column = a.plan.column + begin;
    rows.parts = (double *)(shared + a.at.parts);
    rows.bounds = (const narrowing_bounds *)(shared + a.at.own);
    rows.segment = (single_segment *)(shared + a.at.segments);
    rows.resident = a.resident;
    rows.keeps = MAY_NARROW && a.resident && tiles.narrowing.for_good;
    for (int s = (int)threadIdx.x; s <= rows.block_rows(); s += SINGLE_THREADS) {
        start[s] = from[s] - from[0];
    }
    if constexpr (MAY_NARROW) {
        if (threadIdx.x == 0) { *(narrowing_bounds *)(shared + a.at.own) = *tiles.narrowing.bounds; }
        for (int l = (int)threadIdx.x; l < rows.segments; l += SINGLE_THREADS) {
            rows.segment[l] = {tiles.narrowing.segment[rows.column[l * SINGLE_TILE] / SINGLE_TILE], NARROWING_NONE, {}};
        }
    }
    if (a.resident) { copy_in((uint4 *)(shared + a.at.values), units, (int)(from[rows.block_rows()] - from[0])); }
    __syncthreads();
    if (!a.resident) {
        if (!a.plan.cluster) { rows.column = (const int32_t *)(shared + a.at.columns); } /* a grid fetches from there */
        return rows;
    }
    rows.record = shared + a.at.values;
    each_header(rows, [&](const resident_header *h) { *(resident_header *)(uintptr_t)h = rows.move(*h); });
    return rows;
}

/* ---- products ---- */

/* The sum over the waves that share a row, in their order, in the first of them. All threads. */
__device__ static inline double add_parts(double *parts, int waves, double own)
{
    const int wave = (int)threadIdx.x / GPU_WAVE, lane = (int)threadIdx.x % GPU_WAVE;
    double sum = own;

    if (lane < SINGLE_TILE) { parts[wave * SINGLE_TILE + lane] = own; }
    __syncthreads();
    if (wave % waves > 0) { return 0.0; }
    for (int w = 1; w < waves; w++) {
        sum += parts[(wave + w) * SINGLE_TILE + lane % SINGLE_TILE];
    }
    return sum;
}

/* As that of rows in CSR order. Where a row has several lanes, there are threads for all rows at once. */
template <bool MAY_NARROW, typename DONE>
__device__ static inline void multiply_rows(const tile_rows<MAY_NARROW> &a, const double *x, DONE done)
{
    const tiles_lanes<SINGLE_TILE> at;
    const tile_x<MAY_NARROW> columns = {a, x};
    const int half = (int)threadIdx.x / SINGLE_TILE, part = half % a.lanes, block_rows = a.block_rows();

    for (int first = 0; first < block_rows; first += SINGLE_THREADS / SINGLE_TILE / a.lanes) {
        const int block_row = first + half / a.lanes, row = block_row * SINGLE_TILE + at.lane;
        const bool has = block_row < block_rows;
        double sum = sum_resident_row(at, has, a.record_of(has ? block_row : 0), columns, part, a.lanes);

        if (a.lanes > 1) { sum += GPU_SHUFFLE_XOR(sum, SINGLE_TILE); }
        if (a.lanes > 2) { sum = add_parts(a.parts, a.lanes / 2, sum); }
        if (row < a.count && part == 0) { done(row, sum); }
    }
}

/* ---- narrowing ---- */

/* Looks at the segments of x, which product 0 or 1 of an iteration multiplies next: as narrowing_device.cu does. Each
   thread reads what it has written of x itself. All threads; the caller has a barrier before the product. */
template <bool MAY_NARROW>
__device__ inline void tile_rows<MAY_NARROW>::look(const single_args &a, const double *x, int columns,
                                                   int product) const
{
    const narrowing_pass &pass = tile_args_of(a).narrowing;

    for (int first = 0; first < columns; first += SINGLE_THREADS) {
        const int l = first + (int)threadIdx.x;
        const double magnitude = segment_magnitude(l < columns ? fabs(x[l]) : 0.0);

        if (l % SINGLE_TILE == 0 && l < columns) {
            single_segment *const s = segment + l / SINGLE_TILE;
            const int level = narrowing_level(bounds, magnitude);
            const int use = narrowing_use(&s->seen, level, product, pass.nproducts, pass.for_good);

            s->use = (uint8_t)use;
            s->uses[use] += 1;
        }
    }
}

/* What the block's own segments have seen is written back, the first of which is `own`; the products of its tiles are
   counted. All threads, after a barrier. */
template <bool MAY_NARROW>
__device__ inline void tile_rows<MAY_NARROW>::save(const single_args &a, int first_row, int own) const
{
    const narrowing_pass &pass = tile_args_of(a).narrowing;
    __shared__ unsigned long long sums[NARROWING_COUNTS];
    uint64_t counts[NARROWING_COUNTS] = {};

    if (threadIdx.x < NARROWING_COUNTS) { sums[threadIdx.x] = 0; }
    for (int s = (int)threadIdx.x; s < block_rows(); s += SINGLE_THREADS) {
        pass.segment[first_row / SINGLE_TILE + s] = segment[own / SINGLE_TILE + s].seen;
    }
    each_header(*this, [&](const resident_header *header) {
        const resident_header h = settle(*header);

        for (int use = NARROWING_NONE; use <= NARROWING_BYPASS; use++) {
            narrowing_count_products(resident_precision(h), use, segment[resident_column(h) & KEPT_SEGMENT].uses[use],
                                     counts);
        }
    });
    __syncthreads();
    add_narrowing_counts(counts, sums, pass.counts);
}

#endif
