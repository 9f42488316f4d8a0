/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product of one block row in layout resident, from a pointer to its bytes in shared or device memory: half a wave
 * has the block row, a lane has a row and walks its entries tile by tile, from left to right. Lanes look at 16 headers
 * at a time, one each.
 */
#ifndef TESS_PAPERS_TILES_RESIDENT_ROW_CUH
#define TESS_PAPERS_TILES_RESIDENT_ROW_CUH

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
    __device__ inline tile_window(const tiles_lanes<16> &at, const char *record, int first, int ntiles, const X &x)
        : own{0, 0}, place(0), bytes(0), count(max(min(ntiles - first, 16), 0))
    {
        const bool has = at.lane < count;

        if (has) { own = x.settle(resident_headers(record)[first + at.lane]); }
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

/* The sum of the lane's row of its block row, or of every `parts`-th tile of it from number `part` on; `parts` is a
   power of two up to 16. All lanes of the wave take part; `has`: the lane has a block row. */
template <typename X>
__device__ static inline double sum_resident_row(const tiles_lanes<16> &at, bool has, const char *record, const X &x,
                                                 int part = 0, int parts = 1)
{
    const int ntiles = has ? resident_tiles(record) : 0;
    const char *data = record + resident_data(ntiles);
    double sum = 0.0;

#pragma unroll 1
    for (int first = 0; GPU_BALLOT(first < ntiles); first += 16) {
        const tile_window window(at, record, first, ntiles, x);
        const int most = GPU_WAVE_MAX(window.count);
        int uses = NARROWING_NONE; /* of the lane's tile */

        if constexpr (X::NARROWED) {
            if (at.lane < window.count) { uses = x.use(resident_column(window.own)); }
        }

#pragma unroll 1
        for (int whole = 0; whole < most; whole += parts) {
            const int t = whole + part;
            const resident_header header = window.header_of(t);
            const uint32_t place = GPU_SHUFFLE(window.place, t, 16);

            if constexpr (X::NARROWED) {
                const bool own = t < window.count;
                const int use = GPU_SHUFFLE(uses, t, 16);
                const open_tile tile =
                    open_resident_tile(header, data + place, at.lane, own && use != NARROWING_BYPASS);

                sum = x.add_used(tile, resident_headers(record) + first + t, own, use, sum);
            } else if (t < window.count) {
                sum = add_any_tile_row(open_resident_tile(header, data + place, at.lane), x, sum);
            }
        }
        data += window.bytes;
    }
    return sum;
}

#endif
