/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the threads of a wave sum a block row's rows: entries of a row in flight, groups, two groups at once, and all
 * runs of a block row, whose record is in shared or device memory.
 */
#ifndef TESS_FORMAT_TILES_TILES_GROUP_CUH
#define TESS_FORMAT_TILES_TILES_GROUP_CUH

#include "device/gpu/storage_types.cuh"
#include "format/tiles/tiles_device.cuh"

enum { BATCH = 8 /* most entries of a row in flight */ };
static_assert((BATCH + 1) * 2 * (int)sizeof(double) <= TILES_SLACK, "what a thread may read beyond its group");

/* A thread's entries of a group: `count` of them, every SPLIT-th from place `first` on. */
struct group_row {
    int first, count;
};

/* Columns and scale of a group's slots. base: first column of the lane's slot; 1 << column_bits columns from there on.
 */
template <typename VALUE, typename VECTOR>
struct group_source {
    const uint8_t *index;
    const VALUE *values;
    const VECTOR *x;
    int32_t base, last_column;
    double scale; /* of the lane's slot */
    int column_bits;
};

/* Entries of a thread's row, in flight. */
template <int COUNT, typename VALUE, typename VECTOR>
struct row_entries {
    unsigned index[COUNT];
    VECTOR factor[COUNT];
    VALUE value[COUNT];
};

/*
 * Loads COUNT entries of a thread's row, from number k on. FULL: every thread of the wave has as many. Otherwise a
 * thread reads beyond its own entries, so that all loads are in flight before the first is used; an index without
 * meaning is replaced by a column that x has. All lanes call it.
 */
template <int COUNT, bool FULL, int SPLIT, typename VALUE, typename VECTOR>
__device__ static inline void load_entries(const group_source<VALUE, VECTOR> &g, const group_row &row, int k,
                                           row_entries<COUNT, VALUE, VECTOR> *e)
{
    const int place = row.first + (FULL ? k : min(k, row.count)) * SPLIT;
    const uint8_t *const index = g.index + place;
    const VALUE *const values = g.values + place;
    const unsigned mask = (1U << g.column_bits) - 1U;

#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        e->index[u] = index[u * SPLIT];
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        int32_t column = GPU_SHUFFLE(g.base, (int)(e->index[u] >> g.column_bits), 16) + (int32_t)(e->index[u] & mask);

        if (!FULL) { column = min(column, g.last_column); }
        e->factor[u] = g.x[column];
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        e->value[u] = values[u * SPLIT];
    }
}

/* Adds the products of the row's own entries. All lanes call it. */
template <int COUNT, bool FULL, bool SCALED, typename VALUE, typename VECTOR>
__device__ static inline double sum_entries(const group_source<VALUE, VECTOR> &g, const group_row &row, int k,
                                            const row_entries<COUNT, VALUE, VECTOR> &e, double sum)
{
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        double product = tess::decode<double>(e.value[u]);

        if (SCALED) { product *= GPU_SHUFFLE(g.scale, (int)(e.index[u] >> g.column_bits), 16); }
        product *= (double)e.factor[u];
        if (FULL || k + u < row.count) { sum += product; }
    }
    return sum;
}

template <int COUNT, bool FULL, bool SCALED, int SPLIT, typename VALUE, typename VECTOR>
__device__ static inline double add_entries(const group_source<VALUE, VECTOR> &g, const group_row &row, int k,
                                            double sum)
{
    row_entries<COUNT, VALUE, VECTOR> e;

    load_entries<COUNT, FULL, SPLIT>(g, row, k, &e);
    return sum_entries<COUNT, FULL, SCALED>(g, row, k, e, sum);
}

/* A group as a wave processes it: `least` and `most` are the fewest and most entries of a thread of the wave. */
template <typename VALUE, typename VECTOR>
struct open_group {
    group_source<VALUE, VECTOR> source;
    group_row row;
    int least, most;
};

/* The sum of all entries of a thread's row, from number k on. Records that are not staged belong to exceptionally long
   block rows, or to devices that stage nothing; for them few cases are enough. */
template <bool STAGED, bool SCALED, int SPLIT, typename VALUE, typename VECTOR>
__device__ static inline double add_row(const open_group<VALUE, VECTOR> &g, int k, double sum)
{
    static_assert(BATCH == 8, "the cases below");
    if constexpr (STAGED) {
#pragma unroll 1
        for (; k + BATCH <= g.least; k += BATCH) {
            sum = add_entries<BATCH, true, SCALED, SPLIT>(g.source, g.row, k, sum);
        }
#pragma unroll 1
        for (; k < g.most; k += BATCH) {
            switch ((g.most - k + 1) / 2) {
            case 1: sum = add_entries<2, false, SCALED, SPLIT>(g.source, g.row, k, sum); break;
            case 2: sum = add_entries<4, false, SCALED, SPLIT>(g.source, g.row, k, sum); break;
            case 3: sum = add_entries<6, false, SCALED, SPLIT>(g.source, g.row, k, sum); break;
            default: sum = add_entries<8, false, SCALED, SPLIT>(g.source, g.row, k, sum); break;
            }
        }
    } else {
#pragma unroll 1
        for (; k < g.most; k += BATCH / 2) {
            sum = add_entries<BATCH / 2, false, SCALED, SPLIT>(g.source, g.row, k, sum);
        }
    }
    return sum;
}

/* header 0: there is no group for this lane's block row. All lanes call it. */
template <int ROWS, int SPLIT, typename VALUE, typename VECTOR>
__device__ static inline void open(const tiles_view &v, const tiles_lanes<ROWS> &at, const char *record,
                                   uint32_t header, const tiles_group &g, int32_t diagonal, const VECTOR *x,
                                   open_group<VALUE, VECTOR> *open)
{
    const int part = at.shift / ROWS % SPLIT, slot = at.lane % 16;
    const int read = tiles_row_end(record, &g, header, at.lane), end = header ? read : 0;
    const int above = GPU_SHUFFLE_UP(end, 1, ROWS), before = at.lane == 0 ? 0 : above;
    const int32_t column = tiles_slot_column(record, &g, header, slot, diagonal);

    open->source.index = (const uint8_t *)record + g.index;
    open->source.values = (const VALUE *)(const void *)(record + g.values);
    open->source.x = x;
    open->source.base = slot < tiles_slots(header) ? column << v.column_bits : 0;
    open->source.last_column = (int32_t)v.ncols - 1;
    open->source.scale = 1.0;
    open->source.column_bits = v.column_bits;
    open->row.first = before + part;
    open->row.count = (end - before - part + SPLIT - 1) / SPLIT;
    open->least = GPU_WAVE_MIN(open->row.count);
    open->most = GPU_WAVE_MAX(open->row.count);
}

/* Adds the group's products to the row's sum. All lanes call it. */
template <bool STAGED, typename VALUE, typename VECTOR, int ROWS, int SPLIT>
__device__ static inline double add_group(const tiles_view &v, const tiles_lanes<ROWS> &at, const char *record,
                                          uint32_t header, const tiles_group &g, int32_t diagonal, const VECTOR *x,
                                          double sum)
{
    const int slot = at.lane % 16;
    open_group<VALUE, VECTOR> group;

    open<ROWS, SPLIT>(v, at, record, header, g, diagonal, x, &group);
    /* Whether the level may have scales: FP64 never has, levels below FP32 almost always have. */
    if (sizeof(VALUE) < sizeof(float) || (sizeof(VALUE) == sizeof(float) && GPU_BALLOT(tiles_is_scaled(header)))) {
        if (slot < tiles_slots(header) && tiles_is_scaled(header)) {
            group.source.scale = tess_power_of_two(tiles_slot_exponent(record, &g, slot));
        }
        return add_row<STAGED, sizeof(VALUE) <= sizeof(float), SPLIT>(group, 0, sum);
    }
    return add_row<STAGED, sizeof(VALUE) < sizeof(float), SPLIT>(group, 0, sum);
}

template <bool STAGED, bool PAIRS, typename VECTOR, int ROWS, int SPLIT>
__device__ static inline double add_any_group(const tiles_view &v, tess_precision precision,
                                              const tiles_lanes<ROWS> &at, const char *record, uint32_t header,
                                              const tiles_group &g, int32_t diagonal, const VECTOR *x, double sum)
{
    typedef storage_of_bytes_or_more<PAIRS ? sizeof(float) : 1> of_groups;

    return gpu_value_by_storage<of_groups>(
        precision, sum,
        [](auto stored, const auto &...arguments) {
            typedef typename decltype(stored)::type VALUE;

            return add_group<STAGED, VALUE, VECTOR, ROWS, SPLIT>(arguments...);
        },
        v, at, record, header, g, diagonal, x, sum);
}

/* A run's groups in FP32 and in FP64, from `start` on. */
struct group_pair {
    uint32_t header[2], start, end;
    tiles_group low, high;

    __device__ inline group_pair(uint32_t first, uint32_t second, uint32_t start, int rows)
        : header{first, second}, start(start), low(tiles_group_at(first, start, rows, (int)sizeof(float)))
    {
        const uint32_t middle = first ? low.end : start;

        high = tiles_group_at(second, middle, rows, (int)sizeof(double));
        end = second ? high.end : middle;
    }
};

/* Adds the products of a run's two groups, none of them scaled, as add_any_group does, but with the data of both in
   flight at once. For rows of few entries: longer rows start again for the rest. All lanes call it. */
template <typename VECTOR, int ROWS>
__device__ static inline double add_pair(const tiles_view &v, const tiles_lanes<ROWS> &at, const char *record,
                                         const group_pair &pair, int32_t diagonal, const VECTOR *x, double sum)
{
    enum { LOW = 4, MORE_LOW = 2, HIGH = 3 }; /* entries that are loaded before the first is used */
    open_group<float, VECTOR> low;
    open_group<double, VECTOR> high;
    row_entries<LOW, float, VECTOR> first;
    row_entries<HIGH, double, VECTOR> last;

    open<ROWS, 1>(v, at, record, pair.header[0], pair.low, diagonal, x, &low);
    open<ROWS, 1>(v, at, record, pair.header[1], pair.high, diagonal, x, &high);
    load_entries<LOW, false, 1>(low.source, low.row, 0, &first);
    load_entries<HIGH, false, 1>(high.source, high.row, 0, &last);
    if (low.most > LOW) {
        row_entries<MORE_LOW, float, VECTOR> second;

        load_entries<MORE_LOW, false, 1>(low.source, low.row, LOW, &second);
        sum = sum_entries<LOW, false, false>(low.source, low.row, 0, first, sum);
        sum = sum_entries<MORE_LOW, false, false>(low.source, low.row, LOW, second, sum);
    } else {
        sum = sum_entries<LOW, false, false>(low.source, low.row, 0, first, sum);
    }
    sum = sum_entries<HIGH, false, false>(high.source, high.row, 0, last, sum);
    if (low.most > LOW + MORE_LOW || high.most > HIGH) {
        const group_pair again(GPU_UNKNOWN(pair.header[0]), GPU_UNKNOWN(pair.header[1]), pair.start, ROWS);

        open<ROWS, 1>(v, at, record, again.header[0], again.low, diagonal, x, &low);
        sum = add_row<true, false, 1>(low, LOW + MORE_LOW, sum);
        open<ROWS, 1>(v, at, record, again.header[1], again.high, diagonal, x, &high);
        sum = add_row<true, false, 1>(high, HIGH, sum);
    }
    return sum;
}

/* The sum of the lane's row of its block row (SPLIT: its part of it), whose record is in shared or device memory. All
   lanes of the wave call it; `has`: the lane has a block row. PAIRS: levels are FP64 and FP32, and rows have few
   entries. */
template <bool STAGED, bool PAIRS, typename VECTOR, int ROWS, int SPLIT>
__device__ static __forceinline__ double sum_row(const tiles_view &v, const block_rows_plan &plan,
                                                 const tiles_lanes<ROWS> &at, bool has, int32_t block_row,
                                                 const char *record, const VECTOR *x)
{
    const uint32_t *words = (const uint32_t *)(const void *)record;
    const int nruns = has ? (int)*words++ : 0, nlevels = PAIRS ? 2 : v.nlevels;
    const int32_t diagonal = (block_row * ROWS) >> v.column_bits;
    uint32_t end = tiles_head_bytes(nruns, nlevels);
    double sum = 0.0;

#pragma unroll 1
    for (int run = 0; GPU_BALLOT(run < nruns); run++) {
        unsigned precisions = plan.precisions, value_bytes = plan.value_bytes;

        if constexpr (PAIRS && STAGED) {
            const group_pair pair(run < nruns ? words[0] : 0U, run < nruns ? words[1] : 0U, end, ROWS);

            if (!GPU_BALLOT(tiles_is_scaled(pair.header[0]))) {
                words += 2;
                end = pair.end;
                sum = add_pair<VECTOR, ROWS>(v, at, record, pair, diagonal, x, sum);
                continue;
            }
        }
#pragma unroll 1
        for (int l = nlevels; l > 0; l--, precisions >>= 4, value_bytes >>= 4) {
            const uint32_t header = run < nruns ? *words++ : 0U;

            if (GPU_BALLOT(header != 0)) {
                const tiles_group g = tiles_group_at(header, end, ROWS, (int)(value_bytes & 15U));

                end = header ? g.end : end;
                sum = add_any_group<STAGED, PAIRS, VECTOR, ROWS, SPLIT>(v, (tess_precision)(precisions & 15U), at,
                                                                        record, header, g, diagonal, x, sum);
            }
        }
    }
    return sum;
}

#endif
