/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extended+i interpolation on the GPU: a team of threads takes a row. Its set is in the registers of the team;
 * couplings are read together and go to the set one after another, so that sums have an order.
 */
#include "precond/multigrid/interpolation_device.cuh"
#include "precond/multigrid/team_set_device.cuh"

namespace {

/* The entries of a list that a team reads at once, one a lane. */
struct list_part {
    int32_t column; /* as neighbours has it */
    double value;
    int length, longest; /* the team's part, and that of all teams of the wave */
};

/* All lanes of the wave call it. */
template <int WIDTH>
__device__ inline list_part read_part(const interpolation_task &t, int32_t begin, int32_t end, int lane)
{
    list_part part = {0, 0.0, max(min(end - begin, static_cast<int32_t>(WIDTH)), 0), 0};

    if (lane < part.length) {
        part.column = t.near.column[begin + lane];
        part.value = t.near.value[begin + lane];
    }
    part.longest = GPU_WAVE_MAX(part.length);
    return part;
}

/* ---- the set ---- */

/* Strong coarse neighbours begin..end-1 of the lists go to the set. All lanes of the wave call it. */
template <int WIDTH>
__device__ inline void add_list(const interpolation_task &t, const team_of<WIDTH> &team, int32_t begin, int32_t end,
                                team_set<WIDTH> &set)
{
    while (GPU_BALLOT(begin < end) != 0) {
        const int length = max(min(end - begin, static_cast<int32_t>(WIDTH)), 0), longest = GPU_WAVE_MAX(length);
        const int32_t own = team.lane < length ? t.near.column[begin + team.lane] : -1;

        for (int p = 0; p < longest; p++) {
            const int32_t next = GPU_SHUFFLE(own, p, WIDTH); /* p may be beyond this team's list, whose lanes have -1 */

            set.add(team, next);
        }
        begin += WIDTH;
    }
}

/* C^_i: strong coarse neighbours of i and of its strong fine neighbours; eq. (4.9). */
template <int WIDTH>
__device__ inline void find_set(const interpolation_task &t, const team_of<WIDTH> &team, int64_t i, bool fine,
                                team_set<WIDTH> &set)
{
    const device_csr &a = t.to.a;
    int32_t begin = fine ? a.row_ptr[i] : 0;
    const int32_t end = fine ? a.row_ptr[i + 1] : 0;

    add_list<WIDTH>(t, team, fine ? t.near.first[i] : 0, fine ? t.near.first[i + 1] : 0, set);
    while (GPU_BALLOT(begin < end) != 0) {
        const int32_t k = begin + team.lane;
        const bool strong = k < end && t.to.strong[k] != 0;
        const int32_t j = strong ? a.col_ind[k] : 0;
        const int32_t first = strong ? t.near.first[j] : 0, last = strong ? t.near.first[j + 1] : 0;

        for (int q = 0; q < WIDTH; q++) { /* coarse rows have no list */
            add_list<WIDTH>(t, team, GPU_SHUFFLE(first, q, WIDTH), GPU_SHUFFLE(last, q, WIDTH), set);
        }
        begin += WIDTH;
    }
}

/* ---- weights ---- */

/* A coupling a_ik of the row. */
struct coupling {
    double value, back;  /* back: a_ki, where the coupling goes through k */
    int32_t column;      /* of a coarse neighbour; else -1 */
    int32_t first, last; /* the list of k */
};

__device__ inline coupling read_coupling(const interpolation_task &t, int64_t i, int32_t k, int32_t end)
{
    const device_csr &a = t.to.a;
    coupling c = {0.0, 0.0, -1, 0, 0};

    if (k >= end) { return c; }
    const int32_t j = a.col_ind[k];

    c.value = a.val[k];
    if (t.to.split[j] == AMG_COARSE) {
        c.column = j;
    } else if (t.to.strong[k]) {
        c.first = t.near.first[j];
        c.last = t.near.first[j + 1];
        c.back = find_back(t, j, i);
    }
    return c;
}

template <int WIDTH>
__device__ inline coupling take_coupling(const coupling &own, int q)
{
    return {GPU_SHUFFLE(own.value, q, WIDTH), GPU_SHUFFLE(own.back, q, WIDTH), GPU_SHUFFLE(own.column, q, WIDTH),
            GPU_SHUFFLE(own.first, q, WIDTH), GPU_SHUFFLE(own.last, q, WIDTH)};
}

/* The sum over the list of what goes to the set, in its order. */
template <int WIDTH>
__device__ inline double sum_of_list(const interpolation_task &t, const team_of<WIDTH> &team, const coupling &c,
                                     const team_set<WIDTH> &set)
{
    double sum = c.back;

    for (int32_t begin = c.first; GPU_BALLOT(begin < c.last) != 0; begin += WIDTH) {
        const list_part part = read_part<WIDTH>(t, begin, c.last, team.lane);

        for (int p = 0; p < part.longest; p++) {
            const int32_t column = GPU_SHUFFLE(column_of(part.column), p, WIDTH);
            const double value = GPU_SHUFFLE(part.value, p, WIDTH);

            if (team.any(p < part.length && set.has(column))) { sum += value; }
        }
    }
    return sum;
}

/* The coupling goes by way of k to the set and to i itself: eq. (4.10) and (4.11). Returns what a~_ii gains. */
template <int WIDTH>
__device__ inline double distribute(const interpolation_task &t, const team_of<WIDTH> &team, const coupling &c,
                                    team_set<WIDTH> &set)
{
    const double sum = sum_of_list<WIDTH>(t, team, c, set);
    const double factor = sum != 0.0 ? c.value / sum : 0.0;

    for (int32_t begin = c.first; GPU_BALLOT(begin < c.last) != 0; begin += WIDTH) {
        const list_part part = read_part<WIDTH>(t, begin, c.last, team.lane);

        for (int p = 0; p < part.longest; p++) {
            const int32_t column = GPU_SHUFFLE(column_of(part.column), p, WIDTH);
            const double value = GPU_SHUFFLE(part.value, p, WIDTH);

            if (p < part.length) { set.gain(column, factor * value); }
        }
    }
    return sum != 0.0 ? factor * c.back : c.value; /* an empty list and no way back: as a weak coupling */
}

/* Weights of row i to its set; eq. (4.10). */
template <int WIDTH>
__device__ inline void find_weights(const interpolation_task &t, const team_of<WIDTH> &team, int64_t i, bool fine,
                                    team_set<WIDTH> &set)
{
    const int32_t end = fine ? t.to.a.row_ptr[i + 1] : 0;
    double diagonal = 0.0;

    for (int32_t begin = fine ? t.to.a.row_ptr[i] : 0; GPU_BALLOT(begin < end) != 0; begin += WIDTH) {
        const coupling own = read_coupling(t, i, begin + team.lane, end);

        for (int q = 0; q < WIDTH; q++) {
            const coupling c = take_coupling<WIDTH>(own, q);
            const bool direct = team.any(c.column >= 0 && set.has(c.column));
            const double gain = distribute<WIDTH>(t, team, c, set);

            if (direct) { set.gain(c.column, c.value); }
            diagonal += direct ? 0.0 : gain;
        }
    }
#pragma unroll
    for (int u = 0; u < SET_ROUNDS; u++) {
        if (fine && set.column[u] >= 0) {
            set.weight[u] = diagonal != 0.0 ? -set.weight[u] / diagonal : 0.0;
            set.column[u] = t.to.number[set.column[u]];
        }
    }
}

/* ---- the row of p ---- */

template <int WIDTH>
__device__ inline void write_row(const interpolation_task &t, const team_of<WIDTH> &team, int64_t r,
                                 team_set<WIDTH> &set)
{
    int32_t column = 0;
    double value = 0.0;
    const int place = truncate_set<WIDTH>(team, set, t.out.truncation, &column, &value);

    if (r < 0) { return; }
    if (place >= 0) {
        t.out.column[r * t.out.truncation + place] = column;
        t.out.value[r * t.out.truncation + place] = value;
    }
    if (team.lane == 0) { t.out.p.row_ptr[r + 1] = min(set.count, t.out.truncation); }
}

/* p's row r from the set, with the set's sum where p has not all of its columns. r < 0: none. */
template <int WIDTH>
__device__ inline void restrict_row(const interpolation_task &t, const team_of<WIDTH> &team, int64_t r,
                                    const team_set<WIDTH> &set)
{
    const device_csr &p = t.out.p;
    const int32_t begin = r >= 0 ? p.row_ptr[r] : 0, end = r >= 0 ? p.row_ptr[r + 1] : 0;
    const double all = sum_of_set<WIDTH>(team, set);
    double kept = 0.0, own = 0.0;

    for (int32_t e = begin; GPU_BALLOT(e < end) != 0; e++) {
        const int32_t column = e < end ? p.col_ind[e] : -1;
        double weight = 0.0;

#pragma unroll
        for (int u = 0; u < SET_ROUNDS; u++) {
            weight = column >= 0 && set.column[u] == column ? set.weight[u] : weight;
        }
        weight = team.sum(weight); /* the others have 0 */
        kept += weight;
        own = e - begin == team.lane ? weight : own;
    }
    if (team.lane < end - begin) {
        p.val[begin + team.lane] = set.count > end - begin ? own * factor_to_sum(all, kept) : own;
    }
}

/* ---- all rows ---- */

/* Rows 0 to count - 1, or those of `rows`. */
struct team_task {
    interpolation_task of;
    int64_t count;
    const int32_t *rows;
    row_list overflow;
};

template <int WIDTH>
__device__ inline void interpolate_row(const team_task &t, const team_of<WIDTH> &team, int64_t r)
{
    const int64_t i = r >= 0 ? row_of(t.of, r) : 0;
    const bool coarse = r >= 0 && t.of.to.split[i] == AMG_COARSE, fine = r >= 0 && !coarse;
    team_set<WIDTH> set;

    set.clear();
    find_set<WIDTH>(t.of, team, i, fine, set);
    find_weights<WIDTH>(t.of, team, i, fine && set.count >= 0, set);
    if (coarse) {
        set.column[0] = team.lane == 0 ? t.of.to.number[i] : -1;
        set.weight[0] = team.lane == 0 ? 1.0 : 0.0;
        set.count = 1;
    }
    if (set.count < 0 && team.lane == 0) { t.overflow.row[atomicAdd(t.overflow.count, 1)] = static_cast<int32_t>(r); }
    if (t.of.out.known) {
        restrict_row<WIDTH>(t.of, team, set.count >= 0 ? r : -1, set);
    } else {
        write_row<WIDTH>(t.of, team, set.count >= 0 ? r : -1, set);
    }
}

template <int WIDTH>
__global__ void __launch_bounds__(GPU_BLOCK) team_kernel(const team_task t)
{
    const team_of<WIDTH> team;
    const int64_t step = all_threads() / WIDTH;
    const int in_wave = static_cast<int>(threadIdx.x) % GPU_WAVE / WIDTH;

    for (int64_t n = first_thread() / WIDTH; n - in_wave < t.count; n += step) {
        const int64_t r = n < t.count ? (t.rows ? t.rows[n] : n) : -1;

        interpolate_row<WIDTH>(t, team, r);
    }
}

template <int WIDTH>
tess_status launch(tess_context *ctx, const team_task &t, const char *what)
{
    team_kernel<WIDTH><<<gpu_grid(ctx, t.count * WIDTH, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    return gpu_check_launch(ctx, what);
}

} // namespace

tess_status amg_interpolate_by_teams(tess_context *ctx, const interpolation_task *t, const row_list *overflow)
{
    return launch<TEAM>(ctx, {*t, t->to.nrows, NULL, *overflow}, "the interpolation");
}

tess_status amg_interpolate_by_waves(tess_context *ctx, const interpolation_task *t, const row_list *rows,
                                     int64_t count, const row_list *overflow)
{
    return launch<GPU_WAVE>(ctx, {*t, count, rows->row, *overflow}, "longer rows of the interpolation");
}
