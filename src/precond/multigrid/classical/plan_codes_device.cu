/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of new values of interpolation on a GPU. The codes of a fine row, as in plan_codes.h: one for each of its
 * entries; then, for each entry whose coupling goes through a strong fine neighbour, the place of the way back and a
 * code for each coarse neighbour of that one. Coarse rows have none.
 */
#include "device/gpu/wave_sums.cuh"
#include "precond/multigrid/classical/plan_codes.h"
#include "precond/multigrid/classical/team_rows_device.cuh"

namespace {

struct plan_task {
    interpolation_task of;
    device_csr p;
    amg_device_plan plan;
    int *longest; /* row of A */
};

/* ---- coarse neighbours ---- */

/* The places of row i's diagonal and, in the order of the list, of its coarse neighbours. */
__device__ inline void place_row(const plan_task &t, const team_of<TEAM> &team, int64_t i, int32_t begin, int32_t end)
{
    const amg_device_interpolation &to = t.of.to;
    int32_t at = begin < end ? t.plan.first[i] : 0;
    const bool fine = begin < end && to.split[i] != AMG_COARSE;

    for (int32_t first = begin; GPU_BALLOT(first < end) != 0; first += TEAM) {
        const int32_t k = first + team.lane, j = k < end ? to.a.col_ind[k] : -1;
        const bool is_listed = fine && k < end && to.split[j] == AMG_COARSE;
        const gpu_lanes listed = team.lanes_where(is_listed);

        if (j == i) { t.plan.diagonal[i] = static_cast<uint8_t>(k - begin); }
        if (is_listed) { t.plan.place[at + GPU_COUNT_LANES(listed & team.below)] = static_cast<uint8_t>(k - begin); }
        at += GPU_COUNT_LANES(listed);
    }
}

/* Lists of rows that are too long are not right, and not used. */
__global__ void __launch_bounds__(GPU_BLOCK) place_neighbours_kernel(const plan_task t)
{
    const device_csr &a = t.of.to.a;
    const team_of<TEAM> team;
    __shared__ int longest;

    if (threadIdx.x == 0) { longest = 0; }
    __syncthreads();
    for (int64_t i = first_team(); i - team_in_wave() < a.nrows; i += all_teams()) {
        const team_span row = open_span(a.nrows, a.row_ptr, i);

        if (i < a.nrows && row.lane == 0) {
            t.plan.diagonal[i] = AMG_CODE_NONE;
            if (row.end - row.begin > longest) { atomicMax(&longest, row.end - row.begin); }
        }
        GPU_SYNC_WAVE();
        place_row(t, team, i, row.begin, row.end);
    }
    __syncthreads();
    if (threadIdx.x == 0) { atomicMax(t.longest, longest); }
}

/* ---- codes ---- */

__device__ inline bool goes_through(const amg_device_interpolation &to, int32_t k, int32_t j)
{
    return to.strong[k] && to.split[j] != AMG_COARSE;
}

/* start[r + 1] := units of row r. */
__global__ void __launch_bounds__(GPU_BLOCK) count_codes_kernel(const plan_task t)
{
    const amg_device_interpolation &to = t.of.to;

    for (int64_t r = first_team(); r - team_in_wave() < to.nrows; r += all_teams()) {
        const int64_t i = r < to.nrows ? row_of(t.of, r) : 0;
        const bool fine = r < to.nrows && to.split[i] != AMG_COARSE;
        const int32_t begin = fine ? to.a.row_ptr[i] : 0, end = fine ? to.a.row_ptr[i + 1] : 0;
        int32_t count = team_lane() == 0 ? end - begin : 0;

        for (int32_t k = begin + team_lane(); k < end; k += TEAM) {
            const int32_t j = to.a.col_ind[k];

            if (goes_through(to, k, j)) { count += 1 + t.plan.first[j + 1] - t.plan.first[j]; }
        }
        count = lanes_sum(count, TEAM);
        if (r < to.nrows && team_lane() == 0) {
            t.plan.start[r + 1] = (count + AMG_DEVICE_PLAN_UNIT - 1) / AMG_DEVICE_PLAN_UNIT;
        }
    }
}

/* The place of column i in row k. */
__device__ inline uint8_t find_place(const device_csr &a, int64_t k, int64_t i)
{
    for (int32_t m = a.row_ptr[k]; m < a.row_ptr[k + 1]; m++) {
        if (a.col_ind[m] == i) { return static_cast<uint8_t>(m - a.row_ptr[k]); }
    }
    return AMG_CODE_NONE;
}

/* The weight of each column in the set becomes its code. All lanes of the wave call it. */
template <int WIDTH, int BITS>
__device__ inline void encode_set(const plan_task &t, const team_of<WIDTH> &team, int64_t r, team_set<WIDTH, BITS> &set,
                                  int count)
{
    const int32_t begin = r >= 0 ? t.p.row_ptr[r] : 0, end = r >= 0 ? t.p.row_ptr[r + 1] : 0;

    for (int s = team.lane; s < count; s += WIDTH) {
        const int at = set.taken[s];
        const int32_t column = t.of.to.number[set.column[at]];
        int code = AMG_CODE_DROPPED;

        for (int32_t e = begin; e < end; e++) {
            if (t.p.col_ind[e] == column) { code = e - begin; }
        }
        set.weight[at] = code;
    }
    GPU_SYNC_WAVE();
}

template <int WIDTH, int BITS>
__device__ inline uint8_t code_of(const team_set<WIDTH, BITS> &set, int32_t column, int otherwise)
{
    const int place = set.find(column);

    return static_cast<uint8_t>(place >= 0 ? static_cast<int>(set.weight[place]) : otherwise);
}

template <int WIDTH, int BITS>
__device__ inline void write_list(const plan_task &t, const team_set<WIDTH, BITS> &set, int64_t i, int32_t j,
                                  uint8_t *code)
{
    *code++ = find_place(t.of.to.a, j, i);
    for (int32_t m = t.plan.first[j]; m < t.plan.first[j + 1]; m++) {
        *code++ = code_of(set, column_of(t.of.near.column[m]), AMG_CODE_NOWHERE);
    }
}

/* All lanes of the wave call it. */
template <int WIDTH, int BITS>
__device__ inline void write_codes(const plan_task &t, const team_of<WIDTH> &team, const row_part &row, int64_t r,
                                   const team_set<WIDTH, BITS> &set)
{
    const amg_device_interpolation &to = t.of.to;
    uint8_t *own = t.plan.code + (r >= 0 ? static_cast<int64_t>(t.plan.start[r]) * AMG_DEVICE_PLAN_UNIT : 0);
    uint8_t *lists = own + (row.end - row.begin);

    for (int32_t begin = row.begin; GPU_BALLOT(begin < row.end) != 0; begin += WIDTH) {
        const int32_t k = begin + team.lane, j = k < row.end ? to.a.col_ind[k] : -1;
        const bool through = k < row.end && goes_through(to, k, j);
        const int32_t length = through ? 1 + t.plan.first[j + 1] - t.plan.first[j] : 0;
        int32_t all = 0;
        const int32_t before = team.sum_before(length, &all);

        if (through) { write_list(t, set, row.i, j, lists + before); }
        if (k < row.end) {
            const bool coarse = to.split[j] == AMG_COARSE;

            own[k - row.begin] = through  ? static_cast<uint8_t>(AMG_CODE_THROUGH)
                                 : coarse ? code_of(set, j, AMG_CODE_DIAGONAL)
                                          : static_cast<uint8_t>(AMG_CODE_DIAGONAL);
        }
        lists += all;
    }
}

/* Rows 0 to count - 1, or those of a list; those whose sets have no space go to `overflow`. */
template <int WIDTH, int BITS>
__global__ void __launch_bounds__(GPU_BLOCK)
    encode_kernel(const plan_task t, int64_t count, const int32_t *rows, const row_list overflow)
{
    __shared__ team_set<WIDTH, BITS> sets[GPU_BLOCK / WIDTH];
    const device_csr &a = t.of.to.a;
    const team_of<WIDTH> team;
    team_set<WIDTH, BITS> &set = sets[threadIdx.x / WIDTH];
    const int64_t step = all_threads() / WIDTH;
    const int in_wave = static_cast<int>(threadIdx.x) % GPU_WAVE / WIDTH;

    for (int64_t n = first_thread() / WIDTH; n - in_wave < count; n += step) {
        const int64_t r = n < count ? (rows ? rows[n] : n) : -1, i = r >= 0 ? row_of(t.of, r) : 0;
        const bool fine = r >= 0 && t.of.to.split[i] != AMG_COARSE;
        row_part row = {i, fine ? a.row_ptr[i] : 0, fine ? a.row_ptr[i + 1] : 0};

        find_set(t.of, team, row, set);
        const int found = set.count;
        const bool has_space = found <= team_set<WIDTH, BITS>::MOST;

        row.end = has_space ? row.end : row.begin;
        encode_set(t, team, r, set, has_space ? found : 0);
        write_codes(t, team, row, r, set);
        if (team.lane == 0 && !has_space) { overflow.row[atomicAdd(overflow.count, 1)] = static_cast<int32_t>(r); }
        GPU_SYNC_WAVE();
    }
}

/* ---- passes ---- */

/* first, place, diagonal. *fits: rows are short enough for bytes. */
tess_status place_neighbours(tess_context *ctx, plan_task *t, bool *fits)
{
    amg_device_plan *plan = &t->plan;
    int longest = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_list_neighbours(ctx, &t->of));
    plan->first = t->of.near.first;
    plan->near = t->of.near.count;
    TESS_TRY(tess_device_allocate(ctx, plan->near, sizeof *plan->place, reinterpret_cast<void **>(&plan->place)));
    TESS_TRY(tess_device_allocate(ctx, plan->n, sizeof *plan->diagonal, reinterpret_cast<void **>(&plan->diagonal)));
    TESS_TRY(tess_device_upload(ctx, &longest, 1, sizeof longest, reinterpret_cast<void **>(&t->longest)));
    place_neighbours_kernel<<<gpu_grid(ctx, plan->n * TEAM, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*t);
    TESS_TRY(gpu_check_launch(ctx, "places of coarse neighbours"));
    status = ctx->backend->download(ctx, &longest, t->longest, sizeof longest);
    *fits = longest <= AMG_CODE_MOST_KEPT;
cleanup:
    tess_device_release(ctx, t->longest, 1, sizeof longest);
    return status;
}

tess_status make_space(tess_context *ctx, plan_task *t, bool *fits)
{
    amg_device_plan *plan = &t->plan;
    const unsigned grid = gpu_grid(ctx, plan->nrows * TEAM, PASS_BLOCKS);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, plan->nrows + 1, sizeof *plan->start, reinterpret_cast<void **>(&plan->start)));
    count_codes_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*t);
    TESS_TRY(gpu_sum_lengths(ctx, plan->nrows, plan->start, &plan->units));
    *fits = plan->units > 0 && plan->units <= INT32_MAX;
    if (!*fits) { goto cleanup; }
    status = tess_device_allocate(ctx, plan->units * AMG_DEVICE_PLAN_UNIT, sizeof *plan->code,
                                  reinterpret_cast<void **>(&plan->code));
cleanup:
    return status;
}

/* By teams, and what these leave by waves. *fits: nothing was left. */
tess_status encode(tess_context *ctx, const plan_task &t, bool *fits)
{
    const int64_t rows = t.plan.nrows;
    int left = 0;
    row_list longer = {}, larger = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_open_row_list(ctx, rows, &longer));
    encode_kernel<TEAM, TEAM_BITS>
        <<<gpu_grid(ctx, rows * TEAM, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t, rows, NULL, longer);
    TESS_TRY(gpu_check_launch(ctx, "planning the interpolation"));
    TESS_TRY(ctx->backend->download(ctx, &left, longer.count, sizeof left));
    if (left == 0) { goto cleanup; }
    TESS_TRY(amg_open_row_list(ctx, rows, &larger));
    encode_kernel<GPU_WAVE, WAVE_BITS>
        <<<gpu_grid(ctx, static_cast<int64_t>(left) * GPU_WAVE, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
            t, left, longer.row, larger);
    TESS_TRY(gpu_check_launch(ctx, "planning longer rows of the interpolation"));
    status = ctx->backend->download(ctx, &left, larger.count, sizeof left);
    *fits = left == 0;
cleanup:
    amg_close_row_list(ctx, rows, &larger);
    amg_close_row_list(ctx, rows, &longer);
    return status;
}

/* Rows of P_2 are some of A's. */
tess_status copy_rows(tess_context *ctx, const amg_device_interpolation *to, amg_device_plan *plan)
{
    const size_t bytes = static_cast<size_t>(to->nrows) * sizeof *plan->rows;
    tess_status status = TESS_SUCCESS;

    if (!to->rows) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(ctx, to->nrows, sizeof *plan->rows, reinterpret_cast<void **>(&plan->rows)));
    status = ctx->backend->copy(ctx, plan->rows, to->rows, bytes);
cleanup:
    return status;
}

} // namespace

tess_status amg_device_plan_weights(tess_context *ctx, const amg_device_interpolation *to, const device_csr *p,
                                    amg_device_plan *plan)
{
    gpu_scope scope(ctx);
    plan_task t = {};
    bool fits = true;
    tess_status status = TESS_SUCCESS;

    t.of.to = *to;
    t.of.out.known = true;
    t.p = *p;
    t.plan.nrows = to->nrows;
    t.plan.n = to->a.nrows;
    TESS_TRY(place_neighbours(ctx, &t, &fits));
    if (fits) { TESS_TRY(make_space(ctx, &t, &fits)); }
    if (fits) { TESS_TRY(encode(ctx, t, &fits)); }
    if (fits) { status = copy_rows(ctx, to, &t.plan); }
cleanup:
    t.plan.first = t.of.near.first;
    t.of.near.first = NULL;
    amg_free_neighbours(ctx, &t.of);
    if (status != TESS_SUCCESS || !fits) { amg_device_plan_release(ctx, &t.plan); }
    *plan = t.plan;
    plan->made = status == TESS_SUCCESS;
    return status;
}
