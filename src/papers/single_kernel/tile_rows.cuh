/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block's rows in tiles, layout resident: whole block rows. Half a wave has one. Or k half waves share one, and each
 * takes every k-th tile. Where the multiplied vector may be narrowed, each block looks at the segments of its copy.
 * They have the same bits everywhere, and so all blocks find the same of each.
 */
#ifndef TESS_PAPERS_SINGLE_KERNEL_TILE_ROWS_CUH
#define TESS_PAPERS_SINGLE_KERNEL_TILE_ROWS_CUH

#include "device/gpu/wave_sums.cuh"
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

/* Tiles that half a wave may have of one block row, whatever the share of its block's tiles. */
enum { SINGLE_USUAL_TILES = 64 };

template <bool MAY_NARROW>
struct tile_rows {
    static constexpr bool LOOKS_AT_X = MAY_NARROW;
    const char *record;    /* of the block's first block row, in shared memory */
    const char *streamed;  /* the same in device memory */
    const uint32_t *start; /* of each of its block rows, and the end, from the first on, in units */
    const int32_t *column; /* of the block, ascending; whole segments but for the last of all */
    double *parts;         /* of rows that several waves share: SINGLE_TILE for each wave */
    const narrowing_bounds *bounds;
    single_segment *segment;
    int count, lanes, segments;
    int kept;   /* block rows in shared memory, the first ones: their headers have the place of their segment among the
                   block's for their column (kept_tiles.cuh) */
    bool keeps; /* narrowed values stay in place of those that were there */
    int longest, longs;      /* block rows of more tiles are summed by all waves; the number of these block rows */
    const int32_t *long_row; /* which, ascending */

    __device__ static inline tile_rows bring(const single_args &a, char *shared);
    __device__ inline void look(const single_args &a, const double *x, int columns, int product) const;
    __device__ inline void save(const single_args &a, int first_row, int own) const;

    __device__ inline int block_rows() const
    {
        return (int)single_runs(count, SINGLE_TILE);
    }

    __device__ inline const char *record_of(int block_row) const
    {
        return (block_row < kept ? record : streamed) + (int64_t)start[block_row] * TILES_UNIT;
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
};

/* x at the columns of a block, as sum_resident_row takes it. */
template <bool MAY_NARROW>
struct tile_x {
    static constexpr bool NARROWED = MAY_NARROW;
    const tile_rows<MAY_NARROW> &rows;
    const double *x;
    bool kept; /* the block row is in shared memory */

    __device__ inline resident_header settle(resident_header h) const
    {
        return kept ? h : rows.move(h);
    }

    __device__ inline bool is_plain(int use) const
    {
        return use == NARROWING_NONE && !(rows.keeps && kept);
    }

    /* The vector is in shared memory. */
    __device__ inline void prefetch(int32_t) const
    {
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
        return rows.keeps && kept ? add_kept_row(t, (resident_header *)(uintptr_t)header, has, use, *this, sum)
                                  : add_used_row(t, has, use, *this, sum);
    }
};

/* each(header, kept) for all tiles of the block's first `block_rows` block rows, 16 lanes to a block row. */
template <typename ROWS, typename EACH>
__device__ static inline void each_header(const ROWS &rows, int block_rows, EACH each)
{
    const int lane = (int)threadIdx.x % SINGLE_TILE;

    for (int s = (int)threadIdx.x / SINGLE_TILE; s < block_rows; s += SINGLE_THREADS / SINGLE_TILE) {
        const char *record = rows.record_of(s);
        const resident_header *headers = resident_headers(record);

        for (int t = lane; t < resident_tiles(record); t += SINGLE_TILE) {
            each(headers + t, s < rows.kept);
        }
    }
}

/* ---- into shared memory ---- */

/* The first block rows whose records fit: as many as their beginnings, from[0] on, say. Whole waves of them, so that
   all block rows of a wave are in the same memory. */
__device__ static inline int fitting(const uint32_t *from, int block_rows, uint32_t units)
{
    constexpr int TOGETHER = GPU_WAVE / SINGLE_TILE;
    int low = 0, high = block_rows;

    while (low < high) {
        const int middle = (low + high + 1) / 2;

        if (from[middle] - from[0] <= units) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low == block_rows ? low : low / TOGETHER * TOGETHER;
}

/* Lists the block rows of many tiles, ascending. All threads, with a barrier after it. */
template <typename ROWS>
__device__ static inline void list_long_block_rows(ROWS *rows)
{
    __shared__ int32_t list[SINGLE_LONG_ROWS];
    __shared__ int found, bound;

    if ((int)threadIdx.x < GPU_WAVE) {
        const int lane = (int)threadIdx.x, block_rows = rows->block_rows();
        int tiles = 0, count = 0;

        for (int s = lane; s < block_rows; s += GPU_WAVE) {
            tiles += resident_tiles(rows->record_of(s));
        }
        tiles = lanes_sum(tiles, GPU_WAVE);
        /* at most SINGLE_LONG_ROWS have more than that share of all */
        const int usual = SINGLE_USUAL_TILES * rows->lanes, share = tiles / SINGLE_LONG_ROWS;
        const int longest = usual > share ? usual : share;

        for (int first = 0; first < block_rows; first += GPU_WAVE) {
            const int s = first + lane;
            const bool is_long = s < block_rows && resident_tiles(rows->record_of(s)) > longest;
            const gpu_lanes others = GPU_BALLOT(is_long);

            if (is_long) { list[count + GPU_COUNT_LANES(others & (((gpu_lanes)1 << lane) - 1))] = s; }
            count += GPU_COUNT_LANES(others);
        }
        if (lane == 0) {
            found = count;
            bound = longest;
        }
    }
    __syncthreads();
    rows->longs = found;
    rows->longest = bound;
    rows->long_row = list;
}

/* What segments have seen before this launch. */
template <bool MAY_NARROW>
__device__ static inline void bring_segments(const single_args &a, char *shared, const tile_rows<MAY_NARROW> &rows)
{
    const narrowing_pass &pass = tile_args_of(a).narrowing;

    if (threadIdx.x == 0) { *(narrowing_bounds *)(shared + a.at.own) = *pass.bounds; }
    for (int l = (int)threadIdx.x; l < rows.segments; l += SINGLE_THREADS) {
        rows.segment[l] = {pass.segment[rows.column[l * SINGLE_TILE] / SINGLE_TILE], NARROWING_NONE, {}};
    }
}

/* Records, as many as fit, and where each begins. The caller has a barrier before headers are used. */
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
    rows.record = shared + a.at.values;
    rows.streamed = (const char *)units;
    rows.start = start;
    rows.column = a.plan.column + begin;
    rows.parts = (double *)(shared + a.at.parts);
    rows.bounds = (const narrowing_bounds *)(shared + a.at.own);
    rows.segment = (single_segment *)(shared + a.at.segments);
    rows.kept = a.resident ? rows.block_rows() : fitting(from, rows.block_rows(), (uint32_t)a.kept_units);
    rows.keeps = MAY_NARROW && tiles.narrowing.for_good;
    for (int s = (int)threadIdx.x; s <= rows.block_rows(); s += SINGLE_THREADS) {
        start[s] = from[s] - from[0];
    }
    if constexpr (MAY_NARROW) { bring_segments(a, shared, rows); }
    copy_in((uint4 *)(shared + a.at.values), units, (int)(from[rows.kept] - from[0]));
    __syncthreads();
    list_long_block_rows(&rows);
    each_header(rows, rows.kept,
                [&](const resident_header *h, bool) { *(resident_header *)(uintptr_t)h = rows.move(*h); });
    /* a grid fetches the columns there */
    if (!a.resident && !a.plan.cluster) { rows.column = (const int32_t *)(shared + a.at.columns); }
    return rows;
}

/* ---- products ---- */

/* The sum over the groups of 32 threads that share a row, in their order, in the first of them. All threads. */
__device__ static inline double add_parts(double *parts, int waves, double own)
{
    const int wave = (int)threadIdx.x / SINGLE_GROUP, lane = (int)threadIdx.x % SINGLE_GROUP;
    double sum = own;

    if (lane < SINGLE_TILE) { parts[wave * SINGLE_TILE + lane] = own; }
    __syncthreads();
    if (wave % waves > 0) { return 0.0; }
    for (int w = 1; w < waves; w++) {
        sum += parts[(wave + w) * SINGLE_TILE + lane % SINGLE_TILE];
    }
    return sum;
}

/* The block rows that multiply_rows leaves: all half waves sum a share of each. */
template <bool MAY_NARROW, typename DONE>
__device__ static inline void multiply_long_rows(const tile_rows<MAY_NARROW> &a, const double *x, DONE done)
{
    constexpr int PARTS = 4, TURNS = SINGLE_THREADS / SINGLE_TILE / PARTS, WAVES = SINGLE_WAVES;
    const tiles_lanes<SINGLE_TILE> at;
    const int half = (int)threadIdx.x / SINGLE_TILE, wave = (int)threadIdx.x / SINGLE_GROUP;
    const tile_share share = {half % PARTS, PARTS, half / PARTS, TURNS};

    for (int r = 0; r < a.longs; r++) {
        const int block_row = a.long_row[r], row = block_row * SINGLE_TILE + at.lane;
        const tile_x<MAY_NARROW> columns = {a, x, block_row < a.kept};
        double sum = sum_resident_row(at, true, a.record_of(block_row), columns, share), total = 0.0;

        sum += GPU_SHUFFLE_XOR(sum, SINGLE_TILE);
        __syncthreads(); /* the sums before have been read */
        if ((int)threadIdx.x % SINGLE_GROUP < SINGLE_TILE) { a.parts[wave * SINGLE_TILE + at.lane] = sum; }
        __syncthreads();
        if (half != r % TURNS || row >= a.count) { continue; }
        for (int w = 0; w < WAVES; w++) {
            total += a.parts[w * SINGLE_TILE + at.lane];
        }
        done(row, total);
    }
}

/* As that of rows in CSR order. Where a row has several lanes, there are threads for all rows at once. */
template <bool MAY_NARROW, typename DONE>
__device__ static inline void multiply_rows(const tile_rows<MAY_NARROW> &a, const double *x, DONE done)
{
    const tiles_lanes<SINGLE_TILE> at;
    const int half = (int)threadIdx.x / SINGLE_TILE, part = half % a.lanes, block_rows = a.block_rows();

    for (int first = 0; first < block_rows; first += SINGLE_THREADS / SINGLE_TILE / a.lanes) {
        const int block_row = first + half / a.lanes, row = block_row * SINGLE_TILE + at.lane;
        /* the same for all block rows of a wave, though the last be none */
        const tile_x<MAY_NARROW> columns = {a, x, block_row < a.kept || a.kept == block_rows};
        const char *record = a.record_of(block_row < block_rows ? block_row : 0);
        const bool has = block_row < block_rows && (a.longs == 0 || resident_tiles(record) <= a.longest);
        double sum = sum_resident_row(at, has, record, columns, {part, a.lanes, 0, 1});

        if (a.lanes > 1) { sum += GPU_SHUFFLE_XOR(sum, SINGLE_TILE); }
        if (a.lanes > 2) { sum = add_parts(a.parts, a.lanes / 2, sum); }
        if (has && row < a.count && part == 0) { done(row, sum); }
    }
    if (a.longs > 0) { multiply_long_rows(a, x, done); }
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
    each_header(*this, block_rows(), [&](const resident_header *header, bool in_shared) {
        const resident_header h = in_shared ? *header : move(*header);

        for (int use = NARROWING_NONE; use <= NARROWING_BYPASS; use++) {
            narrowing_count_products(resident_precision(h), use, segment[resident_column(h) & KEPT_SEGMENT].uses[use],
                                     counts);
        }
    });
    __syncthreads();
    add_narrowing_counts(counts, sums, pass.counts);
}

#endif
