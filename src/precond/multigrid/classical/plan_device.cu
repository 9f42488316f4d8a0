/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New values of interpolation on a GPU by its plan, and of interpolation in two stages. The terms of a row go to a few
 * sums of each thread, and these are added in the order of the threads: no set is made, and nothing is searched.
 */
#include "precond/multigrid/classical/plan_codes.h"
#include "precond/multigrid/classical/team_set_device.cuh"

namespace {

/* What a thread has found of a row's entries, of what truncation left out, and of a~_ii. */
struct row_sums {
    double kept[AMG_DEVICE_TRUNCATION], dropped, diagonal;
};

/* The coarse neighbours' values of A: 0 where the coupling has the sign of the diagonal. */
struct shared_values {
    double *coarse;
    uint8_t *negative;
};

struct again_task {
    device_csr a, p;
    amg_device_plan plan;
    shared_values shared;
};

/* ---- values that rows share ---- */

__global__ void __launch_bounds__(GPU_BLOCK) share_values_kernel(const again_task t)
{
    for (int64_t i = first_team(); i < t.a.nrows; i += all_teams()) {
        const double *row = t.a.val + t.a.row_ptr[i];
        const uint8_t diagonal = t.plan.diagonal[i];
        const bool negative = diagonal != AMG_CODE_NONE && row[diagonal] < 0.0;

        if (team_lane() == 0) { t.shared.negative[i] = negative; }
        for (int32_t m = t.plan.first[i] + team_lane(); m < t.plan.first[i + 1]; m += TEAM) {
            const double value = row[t.plan.place[m]];

            t.shared.coarse[m] = (value < 0.0) == negative ? 0.0 : value;
        }
    }
}

/* ---- a row ---- */

__device__ inline void add_term(row_sums &sums, int code, double term)
{
#pragma unroll
    for (int s = 0; s < AMG_DEVICE_TRUNCATION; s++) {
        sums.kept[s] += code == s ? term : 0.0;
    }
    sums.dropped += code == AMG_CODE_DROPPED ? term : 0.0;
    sums.diagonal += code == AMG_CODE_DIAGONAL ? term : 0.0;
}

/* The coupling a_ik goes by way of k to the row's sums and to i itself; eq. (4.10) and (4.11). */
__device__ inline void distribute(const again_task &t, int32_t k, double coupling, const uint8_t *code, row_sums &sums)
{
    const int32_t first = t.plan.first[k], end = t.plan.first[k + 1];
    const uint8_t place = *code++;
    double back = place != AMG_CODE_NONE ? t.a.val[t.a.row_ptr[k] + place] : 0.0, sum;
    row_sums own = {};

    if ((back < 0.0) == (t.shared.negative[k] != 0)) { back = 0.0; }
    sum = back;
    for (int32_t m = first; m < end; m++) {
        const int to = *code++;
        const double value = t.shared.coarse[m];

        sum += to != AMG_CODE_NOWHERE ? value : 0.0;
        add_term(own, to, value);
    }
    if (sum == 0.0) { /* no way to the set nor back: as a weak coupling */
        sums.diagonal += coupling;
        return;
    }
    const double factor = coupling / sum;

    sums.diagonal += factor * back;
    sums.dropped += factor * own.dropped;
#pragma unroll
    for (int s = 0; s < AMG_DEVICE_TRUNCATION; s++) {
        sums.kept[s] += factor * own.kept[s];
    }
}

/* The team's sums, the same for all of its threads. All lanes of the wave call it. */
__device__ inline void join_sums(const team_of<TEAM> &team, row_sums &sums)
{
#pragma unroll
    for (int s = 0; s < AMG_DEVICE_TRUNCATION; s++) {
        sums.kept[s] = team.sum(sums.kept[s]);
    }
    sums.dropped = team.sum(sums.dropped);
    sums.diagonal = team.sum(sums.diagonal);
}

/* Row r of p: its sums times `factor`, and times what keeps the sum of the whole row. */
__device__ inline void write_sums(const device_csr &p, const team_of<TEAM> &team, int64_t r, const row_sums &sums,
                                  double factor)
{
    const int32_t begin = p.row_ptr[r], length = p.row_ptr[r + 1] - begin;
    double kept = 0.0, own = 0.0;

#pragma unroll
    for (int s = 0; s < AMG_DEVICE_TRUNCATION; s++) {
        kept += sums.kept[s];
        own = s == team.lane ? sums.kept[s] : own;
    }
    if (team.lane < length) {
        p.val[begin + team.lane] = factor * own * factor_to_sum(factor * (kept + sums.dropped), factor * kept);
    }
}

/* ---- weights ---- */

/* All lanes of the wave call it. */
__device__ inline row_sums sum_row(const again_task &t, const team_of<TEAM> &team, int32_t begin, int32_t end,
                                   const uint8_t *own)
{
    const uint8_t *lists = own + (end - begin);
    row_sums sums = {};

    for (int32_t at = begin; GPU_BALLOT(at < end) != 0; at += TEAM) {
        const int32_t k = at + team.lane;
        const int code = k < end ? own[k - begin] : static_cast<int>(AMG_CODE_NOWHERE);
        const double value = k < end ? t.a.val[k] : 0.0;
        const bool through = code == AMG_CODE_THROUGH;
        const int32_t j = through ? t.a.col_ind[k] : 0;
        int32_t all = 0;
        const int32_t before = team.sum_before(through ? 1 + t.plan.first[j + 1] - t.plan.first[j] : 0, &all);

        if (through) {
            distribute(t, j, value, lists + before, sums);
        } else {
            add_term(sums, code, value);
        }
        lists += all;
    }
    join_sums(team, sums);
    return sums;
}

/* Coarse rows have no codes, and a 1. */
__global__ void __launch_bounds__(GPU_BLOCK) weigh_again_kernel(const again_task t)
{
    const team_of<TEAM> team;

    for (int64_t r = first_team(); r - team_in_wave() < t.p.nrows; r += all_teams()) {
        const bool is_row = r < t.p.nrows, fine = is_row && t.plan.start[r + 1] > t.plan.start[r];
        const int64_t i = fine ? (t.plan.rows ? t.plan.rows[r] : r) : 0;
        const int32_t begin = fine ? t.a.row_ptr[i] : 0, end = fine ? t.a.row_ptr[i + 1] : 0;
        const int64_t start = fine ? static_cast<int64_t>(t.plan.start[r]) * AMG_DEVICE_PLAN_UNIT : 0;
        const row_sums sums = sum_row(t, team, begin, end, t.plan.code + start);

        if (fine) {
            write_sums(t.p, team, r, sums, sums.diagonal != 0.0 ? -1.0 / sums.diagonal : 0.0);
        } else if (is_row && team.lane < t.p.row_ptr[r + 1] - t.p.row_ptr[r]) {
            t.p.val[t.p.row_ptr[r] + team.lane] = 1.0;
        }
    }
}

/* ---- interpolation in two stages ---- */

/* Each lane takes an entry of p1's row. Columns that p has not are what truncation left out. */
__device__ inline void multiply_entry(const device_csr &p1, const device_csr &p2, const device_csr &p, int32_t k,
                                      int64_t r, row_sums &sums)
{
    const int32_t begin = p.row_ptr[r], length = p.row_ptr[r + 1] - begin, row = p1.col_ind[k];
    const double factor = p1.val[k];
    int32_t column[AMG_DEVICE_TRUNCATION];

#pragma unroll
    for (int s = 0; s < AMG_DEVICE_TRUNCATION; s++) {
        column[s] = s < length ? p.col_ind[begin + s] : -1;
    }
    for (int32_t m = p2.row_ptr[row]; m < p2.row_ptr[row + 1]; m++) {
        int code = AMG_CODE_DROPPED;

#pragma unroll
        for (int s = 0; s < AMG_DEVICE_TRUNCATION; s++) {
            code = p2.col_ind[m] == column[s] ? s : code;
        }
        add_term(sums, code, factor * p2.val[m]);
    }
}

__global__ void __launch_bounds__(GPU_BLOCK)
    join_again_kernel(const device_csr p1, const device_csr p2, const device_csr p)
{
    const team_of<TEAM> team;

    for (int64_t r = first_team(); r - team_in_wave() < p.nrows; r += all_teams()) {
        const bool is_row = r < p.nrows;
        const int32_t k = is_row ? p1.row_ptr[r] + team.lane : 0;
        row_sums sums = {};

        if (is_row && k < p1.row_ptr[r + 1]) { multiply_entry(p1, p2, p, k, r, sums); }
        join_sums(team, sums);
        if (is_row) { write_sums(p, team, r, sums, 1.0); }
    }
}

tess_status make_values(tess_context *ctx, device_csr *p)
{
    return p->val ? TESS_SUCCESS
                  : tess_device_allocate(ctx, p->nnz, sizeof *p->val, reinterpret_cast<void **>(&p->val));
}

} // namespace

tess_status amg_device_weigh_again(tess_context *ctx, const device_csr *a, const amg_device_plan *plan, device_csr *p)
{
    gpu_scope scope(ctx);
    const unsigned shared_grid = gpu_grid(ctx, a->nrows * TEAM, PASS_BLOCKS),
                   grid = gpu_grid(ctx, p->nrows * TEAM, PASS_BLOCKS);
    shared_values shared = {};
    again_task t = {*a, {}, *plan, {}};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_values(ctx, p));
    TESS_TRY(tess_device_allocate(ctx, plan->near, sizeof *shared.coarse, reinterpret_cast<void **>(&shared.coarse)));
    TESS_TRY(tess_device_allocate(ctx, plan->n, sizeof *shared.negative, reinterpret_cast<void **>(&shared.negative)));
    t.p = *p;
    t.shared = shared;
    share_values_kernel<<<shared_grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    TESS_TRY(gpu_check_launch(ctx, "values of coarse neighbours"));
    weigh_again_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    status = gpu_check_launch(ctx, "planned values of the interpolation");
cleanup:
    tess_device_release(ctx, shared.coarse, plan->near, sizeof *shared.coarse);
    tess_device_release(ctx, shared.negative, plan->n, sizeof *shared.negative);
    return status;
}

tess_status amg_device_join_again(tess_context *ctx, const device_csr *p1, const device_csr *p2, device_csr *p)
{
    gpu_scope scope(ctx);
    tess_status status = TESS_SUCCESS;

    static_assert((int)AMG_DEVICE_TRUNCATION <= (int)TEAM, "each entry of p1's row has a lane");
    TESS_TRY(make_values(ctx, p));
    join_again_kernel<<<gpu_grid(ctx, p->nrows * TEAM, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*p1, *p2, *p);
    status = gpu_check_launch(ctx, "new values of interpolation in two stages");
cleanup:
    return status;
}
