/* SPDX-License-Identifier: Apache-2.0 */
/* A row of interpolation in the registers of a team of threads, and its truncation: the columns that truncate.c keeps.
 */
#ifndef TESS_PRECOND_MULTIGRID_TEAM_SET_DEVICE_CUH
#define TESS_PRECOND_MULTIGRID_TEAM_SET_DEVICE_CUH

#include "precond/multigrid/row_set_device.cuh"

enum { SET_ROUNDS = 4 }; /* columns of a set that each thread has */

/* A team's part of a wave. */
template <int WIDTH>
struct team_of {
    int lane;
    gpu_lanes mask;

    __device__ inline team_of()
        : lane(static_cast<int>(threadIdx.x) % WIDTH),
          mask((~static_cast<gpu_lanes>(0) >> (GPU_WAVE - WIDTH))
               << (static_cast<int>(threadIdx.x) % GPU_WAVE / WIDTH * WIDTH))
    {
    }
    /* All lanes of the wave call it. */
    __device__ inline bool any(bool holds) const
    {
        return (GPU_BALLOT(holds) & mask) != 0;
    }
    __device__ inline double sum(double value) const
    {
#pragma unroll
        for (int distance = WIDTH / 2; distance > 0; distance /= 2) {
            value += GPU_SHUFFLE_XOR(value, distance);
        }
        return value;
    }
};

/* Column s is in round s / WIDTH of lane s % WIDTH; -1: none. `count` is the team's, and -1 once there was no space. */
template <int WIDTH>
struct team_set {
    int32_t column[SET_ROUNDS];
    double weight[SET_ROUNDS];
    int count;

    __device__ inline void clear()
    {
#pragma unroll
        for (int u = 0; u < SET_ROUNDS; u++) {
            column[u] = -1;
            weight[u] = 0.0;
        }
        count = 0;
    }
    __device__ inline bool has(int32_t c) const
    {
        bool found = false;

#pragma unroll
        for (int u = 0; u < SET_ROUNDS; u++) {
            found |= column[u] == c;
        }
        return found;
    }
    /* Adds column c >= 0, if it is new. All lanes of the wave call it. */
    __device__ inline void add(const team_of<WIDTH> &team, int32_t c)
    {
        const bool fresh = !team.any(c >= 0 && has(c)) && c >= 0 && count >= 0;
        const bool mine = fresh && team.lane == count % WIDTH;

#pragma unroll
        for (int u = 0; u < SET_ROUNDS; u++) {
            if (mine && u == count / WIDTH) { column[u] = c; }
        }
        if (fresh) { count = count < SET_ROUNDS * WIDTH ? count + 1 : -1; }
    }
    __device__ inline void gain(int32_t c, double value)
    {
#pragma unroll
        for (int u = 0; u < SET_ROUNDS; u++) {
            if (column[u] == c) { weight[u] += value; }
        }
    }
};

template <int WIDTH>
__device__ static inline double sum_of_set(const team_of<WIDTH> &team, const team_set<WIDTH> &set)
{
    double sum = 0.0;

#pragma unroll
    for (int u = 0; u < SET_ROUNDS; u++) {
        sum += set.weight[u];
    }
    return team.sum(sum);
}

struct candidate {
    float magnitude; /* of the weight; -1: none */
    int32_t column;
};

/* As goes_before of truncate.c. */
__device__ static inline bool goes_before(const candidate &a, const candidate &b)
{
    return a.magnitude > b.magnitude || (a.magnitude == b.magnitude && a.column < b.column);
}

/* The first column of those that the team still has; it leaves the set. Returns its weight. */
template <int WIDTH>
__device__ static inline double take_first(const team_of<WIDTH> &team, team_set<WIDTH> &set, int32_t *column)
{
    candidate best = {-1.0F, INT32_MAX};
    double weight = 0.0;

#pragma unroll
    for (int u = 0; u < SET_ROUNDS; u++) {
        const candidate own = {fmaxf(fabsf(static_cast<float>(set.weight[u])), 0.0F), set.column[u]}; /* 0 for NaN */

        if (own.column >= 0 && goes_before(own, best)) { best = own; }
    }
#pragma unroll
    for (int distance = WIDTH / 2; distance > 0; distance /= 2) {
        const candidate other = {GPU_SHUFFLE_XOR(best.magnitude, distance), GPU_SHUFFLE_XOR(best.column, distance)};

        if (goes_before(other, best)) { best = other; }
    }
#pragma unroll
    for (int u = 0; u < SET_ROUNDS; u++) {
        if (set.column[u] == best.column) {
            weight = set.weight[u];
            set.column[u] = -1;
        }
    }
    *column = best.column;
    return team.sum(weight); /* the others have 0 */
}

/* The largest columns of the set: one for each of the first lanes, and its place in p's row; -1 for other lanes. */
template <int WIDTH>
__device__ static inline int truncate_set(const team_of<WIDTH> &team, team_set<WIDTH> &set, int most, int32_t *column,
                                          double *value)
{
    const int length = min(set.count, most);
    const double all = sum_of_set<WIDTH>(team, set);
    int32_t chosen = INT32_MAX;
    double weight = 0.0, kept = 0.0;
    int rank = 0;

    static_assert((int)AMG_DEVICE_TRUNCATION <= WIDTH, "each column that is kept has a lane");
    for (int s = 0; s < most; s++) {
        int32_t first = 0;
        const double w = take_first<WIDTH>(team, set, &first);

        if (s < length && team.lane == s) {
            chosen = first;
            weight = w;
        }
    }
    for (int s = 0; s < most; s++) {
        rank += GPU_SHUFFLE(chosen, s, WIDTH) < chosen;
    }
    for (int s = 0; s < most; s++) { /* in the order of a renewal, so that the bits are the same */
        kept += team.sum(team.lane < length && rank == s ? weight : 0.0);
    }
    *column = chosen;
    *value = set.count > length ? weight * factor_to_sum(all, kept) : weight;
    return team.lane < length ? rank : -1;
}

#endif
