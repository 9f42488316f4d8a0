/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of interpolation that a team of threads finds: a hash table of columns and weights in shared memory. Then its
 * truncation to the columns that truncate.c keeps. Places in the table depend on the threads' order; no result does.
 */
#ifndef TESS_PRECOND_MULTIGRID_CLASSICAL_TEAM_SET_DEVICE_CUH
#define TESS_PRECOND_MULTIGRID_CLASSICAL_TEAM_SET_DEVICE_CUH

#include "device/gpu/wave_sums.cuh"
#include "precond/multigrid/classical/row_set_device.cuh"

/* Tables of teams and of whole waves have 2^BITS places. */
enum { TEAM_BITS = 6, WAVE_BITS = 8 };

/* A team's part of a wave. */
template <int WIDTH>
struct team_of {
    int lane, first;       /* first: lane of the wave */
    gpu_lanes mask, below; /* the team's lanes, and those of them before this one */

    __device__ inline team_of()
        : lane(static_cast<int>(threadIdx.x) % WIDTH), first(static_cast<int>(threadIdx.x) % GPU_WAVE / WIDTH * WIDTH),
          mask((~static_cast<gpu_lanes>(0) >> (GPU_WAVE - WIDTH)) << first),
          below(mask & ((static_cast<gpu_lanes>(1) << (static_cast<int>(threadIdx.x) % GPU_WAVE)) - 1))
    {
    }
    /* All lanes of the wave call these. */
    __device__ inline gpu_lanes lanes_where(bool holds) const
    {
        return GPU_BALLOT(holds) & mask;
    }
    __device__ inline double sum(double value) const
    {
        value = lanes_sum(value, WIDTH);
        return value;
    }
    /* The sum of the values of the lanes before, and of all lanes of the team. */
    __device__ inline int32_t sum_before(int32_t value, int32_t *all) const
    {
        int32_t sum = value;

#pragma unroll
        for (int distance = 1; distance < WIDTH; distance *= 2) {
            const int32_t other = GPU_SHUFFLE_UP(sum, distance, WIDTH);

            sum += lane >= distance ? other : 0;
        }
        *all = GPU_SHUFFLE(sum, WIDTH - 1, WIDTH);
        return sum - value;
    }
};

/* A set with more than MOST columns has no space. Each lane may be about to add one more when it is found out. */
template <int WIDTH, int BITS>
struct team_set {
    enum { SIZE = 1 << BITS, MOST = SIZE / 4 * 3, ROUNDS = (MOST + WIDTH - 1) / WIDTH };
    static_assert((int)MOST - 1 + WIDTH < (int)SIZE, "a search ends");

    int32_t column[SIZE]; /* -1: empty */
    double weight[SIZE];
    uint16_t taken[MOST];
    int count;

    /* All lanes of the wave call it. */
    __device__ inline void clear(int lane)
    {
        for (int s = lane; s < SIZE; s += WIDTH) {
            column[s] = -1;
        }
        if (lane == 0) { count = 0; }
        GPU_SYNC_WAVE();
    }
    __device__ static inline uint32_t first_place(int32_t c)
    {
        return static_cast<uint32_t>(c) * UINT32_C(2654435769) >> (32 - BITS);
    }
    __device__ static inline uint32_t next_place(uint32_t at)
    {
        return (at + 1) & (SIZE - 1);
    }
    /* Places that others take meanwhile are seen as empty or not: the exchange decides. */
    __device__ inline void add(int32_t c)
    {
        uint32_t at = first_place(c);

        for (;; at = next_place(at)) {
            int32_t there = *static_cast<volatile int32_t *>(&column[at]);

            if (there == c) { return; }
            if (there != -1) { continue; }
            if (*static_cast<volatile int *>(&count) >= MOST) {
                atomicAdd(&count, 1);
                return;
            }
            there = atomicCAS(&column[at], -1, c);
            if (there == c) { return; }
            if (there == -1) {
                const int number = atomicAdd(&count, 1);

                weight[at] = 0.0;
                if (number < MOST) { taken[number] = static_cast<uint16_t>(at); }
                return;
            }
        }
    }
    /* The place of a column, or -1. */
    __device__ inline int find(int32_t c) const
    {
        uint32_t at = first_place(c);

        while (column[at] != c && column[at] != -1) {
            at = next_place(at);
        }
        return column[at] == c ? static_cast<int>(at) : -1;
    }
};

/* Whether a weight is kept before another one: as rank_of of truncate.c. */
__device__ static inline bool goes_before(float magnitude, int32_t column, float other, int32_t other_column)
{
    return magnitude > other || (magnitude == other && column < other_column);
}

/* NaN is kept last. */
__device__ static inline float magnitude_of(double weight)
{
    return fmaxf(fabsf(static_cast<float>(weight)), 0.0F);
}

/* order_set for sets of up to ROUNDS * WIDTH columns. */
template <int ROUNDS, int WIDTH, int BITS>
__device__ static inline void order_in_rounds(const team_of<WIDTH> &team, team_set<WIDTH, BITS> &set, int count)
{
    int32_t column[ROUNDS];
    double weight[ROUNDS];
    float magnitude[ROUNDS];
    int rank[ROUNDS] = {};

#pragma unroll
    for (int u = 0; u < ROUNDS; u++) {
        const int s = team.lane + u * WIDTH, at = s < count ? set.taken[s] : 0;

        column[u] = set.column[at];
        weight[u] = set.weight[at];
        magnitude[u] = magnitude_of(weight[u]);
    }
    for (int s = 0; s < count; s++) {
        const int at = set.taken[s];
        const float other = magnitude_of(set.weight[at]);
        const int32_t other_column = set.column[at];

#pragma unroll
        for (int u = 0; u < ROUNDS; u++) {
            rank[u] += goes_before(other, other_column, magnitude[u], column[u]);
        }
    }
    GPU_SYNC_WAVE();
#pragma unroll
    for (int u = 0; u < ROUNDS; u++) {
        if (team.lane + u * WIDTH < count) {
            set.column[rank[u]] = column[u];
            set.weight[rank[u]] = weight[u];
        }
    }
    GPU_SYNC_WAVE();
}

/* The entries become the first places of the table, those that truncation keeps first at the front. The set must have
   space; all lanes of the wave call it. */
template <int WIDTH, int BITS>
__device__ static inline void order_set(const team_of<WIDTH> &team, team_set<WIDTH, BITS> &set, int count)
{
    const int longest = GPU_WAVE_MAX(count);

    if (longest <= WIDTH) {
        order_in_rounds<1>(team, set, count);
    } else if (longest <= 2 * WIDTH) {
        order_in_rounds<2>(team, set, count);
    } else {
        order_in_rounds<team_set<WIDTH, BITS>::ROUNDS>(team, set, count);
    }
}

/* Of an ordered set. */
template <int WIDTH, int BITS>
__device__ static inline double sum_of_set(const team_of<WIDTH> &team, const team_set<WIDTH, BITS> &set, int count)
{
    double sum = 0.0;

    for (int s = team.lane; s < count; s += WIDTH) {
        sum += set.weight[s];
    }
    return team.sum(sum);
}

/* The first `length` entries of an ordered set by their columns. Sums are in this order, as in a renewal, so that the
   bits are the same. All lanes of the wave call it. */
template <int WIDTH, int BITS>
__device__ static inline void sort_first(const team_of<WIDTH> &team, team_set<WIDTH, BITS> &set, int length)
{
    const bool has = team.lane < length;
    const int32_t column = has ? set.column[team.lane] : 0;
    const double weight = has ? set.weight[team.lane] : 0.0;
    int place = 0;

    static_assert((int)AMG_DEVICE_TRUNCATION <= WIDTH, "each column that is kept has a lane");
    for (int s = 0; s < length; s++) {
        place += set.column[s] < column;
    }
    GPU_SYNC_WAVE();
    if (has) {
        set.column[place] = column;
        set.weight[place] = weight;
    }
    GPU_SYNC_WAVE();
}

/* Row r of p from the set; r < 0: none. */
template <int WIDTH, int BITS>
__device__ static inline void write_row(const row_output &out, const team_of<WIDTH> &team, int64_t r,
                                        team_set<WIDTH, BITS> &set, int count)
{
    const int length = min(count, out.truncation);

    order_set(team, set, count);
    const double all = sum_of_set(team, set, count);

    sort_first(team, set, length);
    double kept = 0.0;

    for (int s = 0; s < length; s++) {
        kept += set.weight[s];
    }
    if (r < 0) { return; }
    if (team.lane < length) {
        const double weight = set.weight[team.lane];

        out.column[r * out.truncation + team.lane] = set.column[team.lane];
        out.value[r * out.truncation + team.lane] = count > length ? weight * factor_to_sum(all, kept) : weight;
    }
    if (team.lane == 0) { out.p.row_ptr[r + 1] = length; }
}

/* p's values of row r, with the set's sum where p has not all of its columns. */
template <int WIDTH, int BITS>
__device__ static inline void restrict_row(const row_output &out, const team_of<WIDTH> &team, int64_t r,
                                           team_set<WIDTH, BITS> &set, int count)
{
    const device_csr &p = out.p;
    const int32_t begin = r >= 0 ? p.row_ptr[r] : 0, length = r >= 0 ? p.row_ptr[r + 1] - begin : 0;
    const int32_t column = team.lane < length ? p.col_ind[begin + team.lane] : -1;
    double weight = 0.0, kept = 0.0;

    order_set(team, set, count);
    for (int s = 0; s < count; s++) {
        weight = set.column[s] == column ? set.weight[s] : weight;
    }
    const double all = sum_of_set(team, set, count);

    for (int s = 0; s < AMG_DEVICE_TRUNCATION; s++) {
        const double next = GPU_SHUFFLE(weight, s, WIDTH); /* 0 beyond the row's end */

        kept += next;
    }
    if (team.lane < length) { p.val[begin + team.lane] = count > length ? weight * factor_to_sum(all, kept) : weight; }
}

/* The row from a set of `count` columns, or what is known of p of it. */
template <int WIDTH, int BITS>
__device__ static inline void finish_row(const row_output &out, const team_of<WIDTH> &team, int64_t r,
                                         team_set<WIDTH, BITS> &set, int count)
{
    if (out.known) {
        restrict_row(out, team, r, set, count);
    } else {
        write_row(out, team, r, set, count);
    }
}

#endif
