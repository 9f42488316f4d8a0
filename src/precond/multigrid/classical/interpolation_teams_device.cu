/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extended+i interpolation on the GPU: a team of threads takes a row. Its set is a table of the team. Each thread reads
 * the list of another neighbour; what they add to a weight comes neighbour by neighbour, so that sums have an order.
 */
#include "precond/multigrid/classical/team_rows_device.cuh"

namespace {

/* ---- weights ---- */

/* A coupling a_ik of the row. */
struct coupling {
    double value, factor; /* factor: a_ik over the sum of eq. (4.10), for the list of k */
    double gain;          /* of a~_ii; eq. (4.11) */
    int place;            /* of a coarse neighbour in the set; else -1 */
    int32_t first, last;  /* the list of k */
};

/* The coupling goes by way of k to the set and to i itself. */
template <int WIDTH, int BITS>
__device__ inline void find_factor(const interpolation_task &t, int64_t i, int32_t k, const team_set<WIDTH, BITS> &set,
                                   coupling *c)
{
    const double back = find_back(t, k, i);
    double sum = back;

    for (int32_t m = t.near.first[k], end = t.near.first[k + 1]; m < end; m++) {
        if (set.find(column_of(t.near.column[m])) >= 0) { sum += t.near.value[m]; }
    }
    if (sum == 0.0) { return; } /* no way to the set nor back: as a weak coupling */
    c->factor = c->value / sum;
    c->gain = c->factor * back;
    c->first = t.near.first[k];
    c->last = t.near.first[k + 1];
}

template <int WIDTH, int BITS>
__device__ inline coupling read_coupling(const interpolation_task &t, const row_part &row, int32_t k,
                                         const team_set<WIDTH, BITS> &set)
{
    const device_csr &a = t.to.a;
    coupling c = {0.0, 0.0, 0.0, -1, 0, 0};

    if (k >= row.end) { return c; }
    const int32_t j = a.col_ind[k];

    c.value = c.gain = a.val[k];
    if (t.to.split[j] == AMG_COARSE) {
        c.place = set.find(j);
        if (c.place >= 0) { c.gain = 0.0; }
    } else if (t.to.strong[k]) {
        find_factor(t, row.i, j, set, &c);
    }
    return c;
}

/* What the set gains by the couplings of the team's lanes, one after another. All lanes of the wave call it. */
template <int WIDTH, int BITS>
__device__ inline void add_couplings(const interpolation_task &t, const team_of<WIDTH> &team, const coupling &own,
                                     team_set<WIDTH, BITS> &set)
{
    gpu_lanes left = team.lanes_where(own.place >= 0 || own.first < own.last) >> team.first;

    while (GPU_BALLOT(left != 0) != 0) {
        const int q = left != 0 ? GPU_COUNT_LANES((left - 1) & ~left) : 0; /* the first lane that is left */
        const double factor = GPU_SHUFFLE(own.factor, q, WIDTH);
        const int32_t first = GPU_SHUFFLE(own.first, q, WIDTH), last = GPU_SHUFFLE(own.last, q, WIDTH);

        if (left != 0 && team.lane == q && own.place >= 0) { set.weight[own.place] += own.value; }
        for (int32_t m = first + team.lane; left != 0 && m < last; m += WIDTH) {
            const int place = set.find(column_of(t.near.column[m]));

            if (place >= 0) { set.weight[place] += factor * t.near.value[m]; }
        }
        left &= left - 1;
        GPU_SYNC_WAVE();
    }
}

/* Weights of row i to its set; eq. (4.10). Columns become those of p. All lanes of the wave call it. */
template <int WIDTH, int BITS>
__device__ inline void find_weights(const interpolation_task &t, const team_of<WIDTH> &team, const row_part &row,
                                    team_set<WIDTH, BITS> &set, int count)
{
    double diagonal = 0.0;

    for (int32_t begin = row.begin; GPU_BALLOT(begin < row.end) != 0; begin += WIDTH) {
        const coupling own = read_coupling(t, row, begin + team.lane, set);

        add_couplings(t, team, own, set);
        diagonal += own.gain;
    }
    diagonal = team.sum(diagonal);
    for (int s = team.lane; s < count; s += WIDTH) {
        const int at = set.taken[s];

        set.weight[at] = diagonal != 0.0 ? -set.weight[at] / diagonal : 0.0;
        set.column[at] = t.to.number[set.column[at]];
    }
    GPU_SYNC_WAVE();
}

/* ---- all rows ---- */

/* Rows 0 to count - 1, or those of `rows`. */
struct team_task {
    interpolation_task of;
    int64_t count;
    const int32_t *rows;
    row_list overflow;
};

__device__ inline void write_coarse_row(const interpolation_task &t, int64_t r, int64_t i)
{
    const row_output &out = t.out;

    if (out.known) {
        out.p.val[out.p.row_ptr[r]] = 1.0;
        return;
    }
    out.column[r * out.truncation] = t.to.number[i];
    out.value[r * out.truncation] = 1.0;
    out.p.row_ptr[r + 1] = 1;
}

template <int WIDTH, int BITS>
__device__ inline void interpolate_row(const team_task &t, const team_of<WIDTH> &team, int64_t r,
                                       team_set<WIDTH, BITS> &set)
{
    const device_csr &a = t.of.to.a;
    const int64_t i = r >= 0 ? row_of(t.of, r) : 0;
    const bool coarse = r >= 0 && t.of.to.split[i] == AMG_COARSE, fine = r >= 0 && !coarse;
    row_part row = {i, fine ? a.row_ptr[i] : 0, fine ? a.row_ptr[i + 1] : 0};

    find_set(t.of, team, row, set);
    const int found = set.count;
    const bool has_space = found <= team_set<WIDTH, BITS>::MOST;

    row.end = has_space ? row.end : row.begin;
    find_weights(t.of, team, row, set, has_space ? found : 0);
    finish_row(t.of.out, team, fine && has_space ? r : -1, set, has_space ? found : 0);
    if (team.lane == 0 && coarse) { write_coarse_row(t.of, r, i); }
    if (team.lane == 0 && !has_space) { t.overflow.row[atomicAdd(t.overflow.count, 1)] = static_cast<int32_t>(r); }
    GPU_SYNC_WAVE();
}

template <int WIDTH, int BITS>
__global__ void __launch_bounds__(GPU_BLOCK) team_kernel(const team_task t)
{
    __shared__ team_set<WIDTH, BITS> sets[GPU_BLOCK / WIDTH];
    const team_of<WIDTH> team;
    const int64_t step = all_threads() / WIDTH;
    const int in_wave = static_cast<int>(threadIdx.x) % GPU_WAVE / WIDTH;

    for (int64_t n = first_thread() / WIDTH; n - in_wave < t.count; n += step) {
        const int64_t r = n < t.count ? (t.rows ? t.rows[n] : n) : -1;

        interpolate_row(t, team, r, sets[threadIdx.x / WIDTH]);
    }
}

template <int WIDTH, int BITS>
tess_status launch(tess_context *ctx, const team_task &t, const char *what)
{
    team_kernel<WIDTH, BITS><<<gpu_grid(ctx, t.count * WIDTH, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    return gpu_check_launch(ctx, what);
}

} // namespace

tess_status amg_interpolate_by_teams(tess_context *ctx, const interpolation_task *t, const row_list *overflow)
{
    return launch<TEAM, TEAM_BITS>(ctx, {*t, t->to.nrows, NULL, *overflow}, "the interpolation");
}

tess_status amg_interpolate_by_waves(tess_context *ctx, const interpolation_task *t, const row_list *rows,
                                     int64_t count, const row_list *overflow)
{
    return launch<GPU_WAVE, WAVE_BITS>(ctx, {*t, count, rows->row, *overflow}, "longer rows of the interpolation");
}
