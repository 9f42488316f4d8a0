/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product of one block row in layout resident, from a pointer to its bytes in shared or device memory: half a wave
 * has the block row, a lane has a row and walks its entries tile by tile, from left to right. Lanes look at 16 headers
 * at a time, one each.
 */
#ifndef TESS_PAPERS_TILES_RESIDENT_ROW_CUH
#define TESS_PAPERS_TILES_RESIDENT_ROW_CUH

#include "device/gpu/prefetch.cuh"
#include "device/gpu/storage_types.cuh"
#include "format/tiles/tiles_device.cuh"
#include "papers/narrowing/narrowing_rules.h"
#include "papers/tiles/resident_record.h"

struct open_tile;

/* x as products have it: whole, in the order of the matrix. A kernel that keeps x otherwise brings a type of its own,
 * with as much. */
template <typename VECTOR, bool MAY_NARROW>
struct resident_x {
    static constexpr bool NARROWED = MAY_NARROW;
    const VECTOR *x;
    const uint8_t *segments;

    /* The header as it is asked about from then on: its column is what `use` and `at` are given. */
    __device__ inline resident_header settle(resident_header h) const
    {
        return h;
    }

    /* How the tiles of a block column are used, where they may be narrowed. */
    __device__ inline int use(int32_t tile_column) const
    {
        return segments[tile_column];
    }

    /* Whether tiles used so are multiplied by their values as they are stored. */
    __device__ inline bool is_plain(int use) const
    {
        return use == NARROWING_NONE;
    }

    /* Asks for the elements at a tile's columns. */
    __device__ inline void prefetch(int32_t tile_column) const
    {
        enum { SECTOR = 32 };
        const char *segment = (const char *)(x + (int64_t)tile_column * RESIDENT_SIDE);

#pragma unroll
        for (int at = 0; at < RESIDENT_SIDE * (int)sizeof(VECTOR); at += SECTOR) {
            gpu_prefetch(segment + at);
        }
    }

    /* The element at a column of a tile. */
    __device__ inline double at(int32_t tile_column, int index) const
    {
        return (double)x[(int64_t)tile_column * RESIDENT_SIDE + index];
    }

    /* add_used_row, of the tile whose header stands there. */
    __device__ inline double add_used(const open_tile &t, const resident_header *header, bool has, int use,
                                      double sum) const;
};

/* A tile as the lanes of its block row know it. */
struct open_tile {
    resident_header header;
    resident_parts parts;
    const char *data;
    resident_row row; /* the lane's */
};

/* reads: the tile's data are read; else its row is empty. */
__device__ static inline open_tile open_resident_tile(resident_header header, const char *data, int lane,
                                                      bool reads = true)
{
    open_tile t;

    t.header = header;
    t.parts = resident_parts_of(header);
    t.data = data;
    t.row = {0, 0};
    if (reads) { t.row = resident_row_of(data, &t.parts, header, lane); }
    return t;
}

/* Adds the products of the lane's row of a tile, whose values are times `scale`, to its sum: loads of several entries
 * are on their way before the first is used. */
template <typename VALUE, typename X>
__device__ static inline double add_tile_row(const open_tile &t, double scale, const X &x, double sum)
{
    enum { AT_ONCE = 4 };
    const VALUE *const values = (const VALUE *)(const void *)t.data;
    const int32_t column = resident_column(t.header);

#pragma unroll 1
    for (int k = t.row.first; k < t.row.end; k += AT_ONCE) {
        double factor[AT_ONCE];
        VALUE value[AT_ONCE];

#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            const int place = min(k + u, t.row.end - 1);

            factor[u] = x.at(column, resident_index(t.data, &t.parts, place));
            value[u] = values[place];
        }
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            if (k + u < t.row.end) { sum += tess::decode<double>(value[u]) * scale * factor[u]; }
        }
    }
    return sum;
}

template <typename X>
__device__ static inline double add_any_tile_row(const open_tile &t, const X &x, double sum)
{
    return gpu_value_by_storage(
        resident_precision(t.header), sum,
        [](auto stored, const open_tile &t, const X &x, double sum) {
            typedef typename decltype(stored)::type VALUE;

            return add_tile_row<VALUE>(
                t, sizeof(VALUE) < sizeof(double) ? resident_scale(t.data, &t.parts, t.header) : 1.0, x, sum);
        },
        t, x, sum);
}

/* The same for values that are used in a narrower precision, over 2^exponent. */
template <typename X>
__device__ static inline double add_narrowed_row(const open_tile &t, tess_precision narrow, double largest, const X &x,
                                                 double sum)
{
    const int exponent = narrowing_has_scale(largest) ? narrowing_exponent(narrow, largest) : 0;

    for (int k = t.row.first; k < t.row.end; k++) {
        const double value = resident_value(t.data, &t.parts, t.header, k);
        const double factor = x.at(resident_column(t.header), resident_index(t.data, &t.parts, k));

        sum += (narrowing_has_scale(largest) ? narrowing_round(narrow, exponent, value) : value) * factor;
    }
    return sum;
}

/* The largest over the 16 lanes of a block row. All lanes of the wave take part. */
__device__ static inline double block_row_largest(double own)
{
#pragma unroll
    for (int mask = 8; mask > 0; mask /= 2) {
        own = fmax(own, GPU_SHUFFLE_XOR(own, mask));
    }
    return own;
}

/*
 * Adds the products of the lane's row of a tile; `has`: the lane has one. `use` is the same for the lanes of a block
 * row. All lanes of the wave take part, since the lanes of a block row look for the largest value together where one
 * narrows its tile.
 */
template <typename X>
__device__ static inline double add_used_row(const open_tile &t, bool has, int use, const X &x, double sum)
{
    const tess_precision stored = resident_precision(t.header), narrow = narrowing_precision(stored, use);
    const bool made = has && use != NARROWING_BYPASS, narrows = made && narrow != stored;

    if (GPU_BALLOT(narrows)) {
        const double own = narrows ? resident_largest(t.data, &t.parts, t.header, t.row.first, t.row.end) : 0.0;
        const double largest = block_row_largest(own);

        if (narrows) { sum = add_narrowed_row(t, narrow, largest, x, sum); }
    }
    return made && !narrows ? add_any_tile_row(t, x, sum) : sum;
}

template <typename VECTOR, bool MAY_NARROW>
__device__ inline double resident_x<VECTOR, MAY_NARROW>::add_used(const open_tile &t, const resident_header *, bool has,
                                                                  int use, double sum) const
{
    return add_used_row(t, has, use, *this, sum);
}

/* The headers of 16 tiles of a block row, one for each of its lanes, and where their data are. */
struct tile_window {
    resident_header own;
    uint32_t place; /* of the lane's tile, from the data of the window's first */
    uint32_t bytes; /* of all */
    int count;

    /* first: its first tile; from ntiles on there is none. All lanes of the wave take part. */
    template <typename X>
    __device__ inline tile_window(const tiles_lanes<16> &at, const resident_header *headers, int first, int ntiles,
                                  const X &x)
        : own{0, 0}, place(0), bytes(0), count(max(min(ntiles - first, 16), 0))
    {
        const bool has = at.lane < count;

        if (has) { own = x.settle(headers[first + at.lane]); }
        const int size = has ? (int)resident_parts_of(own).bytes : 0;

        place = (uint32_t)at.before(size);
        bytes = (uint32_t)GPU_SHUFFLE((int)place + size, 15, 16);
    }

    __device__ inline resident_header header_of(int tile) const
    {
        resident_header h;

        h.where = GPU_SHUFFLE(own.where, tile, 16);
        h.what = GPU_SHUFFLE(own.what, tile, 16);
        return h;
    }
};

/* ---- tiles of a few entries ---- */

/* Most entries of a tile that one lane reads whole. */
enum { FEW_ENTRIES = 4 };

/* The entries of a lane's tile, if they are few: each tile of a window has a lane that reads them, so that all loads of
 * the window are on their way together. Where a lane reads its row of one tile after another, almost all lanes have
 * none, and each tile waits for memory. */
struct few_entries {
    uint32_t what; /* number of entries (0: not read) << 16 | row of each, 4 bits */
    double value[FEW_ENTRIES], factor[FEW_ENTRIES];

    template <typename X>
    __device__ inline void read(bool reads, resident_header header, const char *data, const X &x)
    {
        const int entries = reads ? resident_entries(header) : 0;

        what = 0;
#pragma unroll
        for (int e = 0; e < FEW_ENTRIES; e++) {
            value[e] = factor[e] = 0.0;
        }
        if (entries == 0 || entries > FEW_ENTRIES) { return; }
        const resident_parts parts = resident_parts_of(header);
        const double scale = resident_scale(data, &parts, header);

        what = (uint32_t)entries << 16 | rows_of(header, parts, data);
#pragma unroll
        for (int e = 0; e < FEW_ENTRIES; e++) {
            if (e < entries) {
                value[e] = tess_load(resident_precision(header), data, e) * scale;
                factor[e] = x.at(resident_column(header), resident_index(data, &parts, e));
            }
        }
    }

    /* Adds those of lane `tile` to the sums of their rows; all lanes of the block row have `entries` of them. */
    __device__ inline double add(int tile, int entries, uint32_t rows, int lane, double sum) const
    {
#pragma unroll
        for (int e = 0; e < FEW_ENTRIES; e++) {
            if (!GPU_BALLOT(e < entries)) { break; }
            const double v = GPU_SHUFFLE(value[e], tile, 16), f = GPU_SHUFFLE(factor[e], tile, 16);

            if (e < entries && (int)(rows >> (4 * e) & 15U) == lane) { sum += v * f; }
        }
        return sum;
    }

  private:
    /* Entry by entry, the rows that have entries, lowest first. */
    __device__ static inline uint32_t rows_of(resident_header header, const resident_parts &parts, const char *data)
    {
        const uint8_t *ends = (const uint8_t *)data + parts.ends;
        const int entries = resident_entries(header);
        unsigned left = resident_rows(header);
        uint32_t rows = 0;
        int number = 0;

#pragma unroll
        for (int e = 0; e < FEW_ENTRIES; e++) {
            if (e < entries) {
                const int end = !parts.has_ends ? e : number + 1 < parts.nrows ? ends[number] : entries;

                if (e > 0 && e >= end) {
                    left &= left - 1;
                    number += 1;
                }
                rows |= (uint32_t)(__ffs((int)left) - 1) << (4 * e);
            }
        }
        return rows;
    }
};

/* ---- block rows ---- */

/* A share of a block row's tiles: of each window those with numbers part, part + parts, ...; of the windows those with
   numbers turn, turn + turns, ... `parts` is a power of two up to 16. */
struct tile_share {
    int part, parts, turn, turns;
};

/* Adds a window's first `count` tiles to the lane's row, from left to right. All lanes of the wave take part. */
template <typename X>
__device__ static inline double add_window(const tiles_lanes<16> &at, const tile_window &window, int count,
                                           const resident_header *headers, const char *data, const X &x,
                                           const tile_share &share, double sum)
{
    const int most = GPU_WAVE_MAX(count);
    const bool own = at.lane < count && at.lane % share.parts == share.part;
    int uses = NARROWING_NONE; /* of the lane's tile */
    few_entries few;

    if constexpr (X::NARROWED) {
        if (at.lane < count) { uses = x.use(resident_column(window.own)); }
    }
    few.read(own && x.is_plain(uses), window.own, data + window.place, x);

#pragma unroll 1
    for (int whole = 0; whole < most; whole += share.parts) {
        const int t = whole + share.part;
        const bool has = t < count;
        const uint32_t what = GPU_SHUFFLE(few.what, t, 16);
        const int entries = has ? (int)(what >> 16) : 0;

        sum = few.add(t, entries, what, at.lane, sum);
        if (!GPU_BALLOT(has && entries == 0)) { continue; }
        const resident_header header = window.header_of(t);
        const uint32_t place = GPU_SHUFFLE(window.place, t, 16);
        const bool left = has && entries == 0;

        if constexpr (X::NARROWED) {
            const int use = GPU_SHUFFLE(uses, t, 16);
            const open_tile tile = open_resident_tile(header, data + place, at.lane, left && use != NARROWING_BYPASS);

            sum = x.add_used(tile, headers + t, left, use, sum);
        } else if (left) {
            sum = add_any_tile_row(open_resident_tile(header, data + place, at.lane), x, sum);
        }
    }
    return sum;
}

/*
 * Asks for what the tiles of a window read, one tile for each lane: their elements of x and the beginning of their data
 * (nothing where that is in shared memory), and for the headers of the next window. A lane walks its row tile by tile;
 * without this it would wait for x several times at each.
 */
template <typename X>
__device__ static inline void prefetch_window(const tiles_lanes<16> &at, const tile_window &window,
                                              const resident_header *headers, const char *data, const X &x)
{
    enum { LINES = 4, LINE_BYTES = 128 };
    const char *own = data + window.place;

    if (at.lane >= window.count) { return; }
    x.prefetch(resident_column(window.own));
    for (int l = 0; l < LINES && l * LINE_BYTES < (int)resident_parts_of(window.own).bytes; l++) {
        gpu_prefetch(own + l * LINE_BYTES);
    }
    if (at.lane == 0 && window.count == 16) { gpu_prefetch(headers + 16); }
}

/* Adds the tiles of a share to the lane's row, which are `ntiles` from `headers` on. All lanes of the wave take part.
 */
template <typename X>
__device__ static inline double sum_tiles(const tiles_lanes<16> &at, const resident_header *headers, int ntiles,
                                          const char *data, const X &x, const tile_share &share)
{
    double sum = 0.0;
    int turn = 0;

#pragma unroll 1
    for (int first = 0; GPU_BALLOT(first < ntiles); first += 16) {
        const tile_window window(at, headers, first, ntiles, x);
        const int count = turn == share.turn ? window.count : 0; /* block rows of a wave may have other turns */

        prefetch_window(at, window, headers + first, data, x);
        if (GPU_BALLOT(count > 0)) { sum = add_window(at, window, count, headers + first, data, x, share, sum); }
        turn = turn + 1 == share.turns ? 0 : turn + 1;
        data += window.bytes;
    }
    return sum;
}

/* The sum of the lane's row of its block row, or of a share of it. All lanes of the wave take part; `has`: the lane has
   a block row. */
template <typename X>
__device__ static inline double sum_resident_row(const tiles_lanes<16> &at, bool has, const char *record, const X &x,
                                                 const tile_share &share = {0, 1, 0, 1})
{
    const int ntiles = has ? resident_tiles(record) : 0;

    return sum_tiles(at, resident_headers(record), ntiles, record + resident_data(ntiles), x, share);
}

#endif
