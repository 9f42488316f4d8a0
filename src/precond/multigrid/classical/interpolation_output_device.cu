/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of interpolation on the GPU: the space that they are found in, and interpolation in two stages. */
#include "precond/multigrid/classical/team_set_device.cuh"

namespace {

__global__ void __launch_bounds__(GPU_BLOCK) compact_kernel(const row_output out)
{
    const int64_t entries = out.p.nrows * out.truncation;

    for (int64_t e = first_thread(); e < entries; e += all_threads()) {
        const int64_t r = e / out.truncation;
        const int32_t s = static_cast<int32_t>(e % out.truncation), begin = out.p.row_ptr[r];

        if (s < out.p.row_ptr[r + 1] - begin) {
            out.p.col_ind[begin + s] = out.column[e];
            out.p.val[begin + s] = out.value[e];
        }
    }
}

/* A product's row has at most so many columns. */
static_assert(AMG_DEVICE_TRUNCATION * AMG_DEVICE_TRUNCATION <= team_set<TEAM, TEAM_BITS>::MOST, "rows have space");

/* Row r of p1 p2; r < 0: none. Sums are rounded as on the host. All lanes of the wave call it. */
__device__ inline void multiply_row(const device_csr &p1, const device_csr &p2, const team_of<TEAM> &team, int64_t r,
                                    team_set<TEAM, TEAM_BITS> &set)
{
    const int32_t begin = r >= 0 ? p1.row_ptr[r] : 0, length = r >= 0 ? p1.row_ptr[r + 1] - begin : 0;
    const int32_t row = team.lane < length ? p1.col_ind[begin + team.lane] : 0;
    const double factor = team.lane < length ? p1.val[begin + team.lane] : 0.0;
    const int32_t first = team.lane < length ? p2.row_ptr[row] : 0, end = team.lane < length ? p2.row_ptr[row + 1] : 0;

    set.clear(team.lane);
    for (int32_t m = first; m < end; m++) {
        set.add(p2.col_ind[m]);
    }
    GPU_SYNC_WAVE();
    for (int s = 0; s < AMG_DEVICE_TRUNCATION; s++) {
        const double of_row = GPU_SHUFFLE(factor, s, TEAM);
        const int32_t m = GPU_SHUFFLE(first, s, TEAM) + team.lane, last = GPU_SHUFFLE(end, s, TEAM);

        if (m < last) {
            double &weight = set.weight[set.find(p2.col_ind[m])];

            weight = __dadd_rn(weight, __dmul_rn(of_row, p2.val[m]));
        }
        GPU_SYNC_WAVE();
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) join_kernel(const device_csr p1, const device_csr p2, const row_output out)
{
    __shared__ team_set<TEAM, TEAM_BITS> sets[GPU_BLOCK / TEAM];
    const team_of<TEAM> team;
    team_set<TEAM, TEAM_BITS> &set = sets[threadIdx.x / TEAM];

    for (int64_t i = first_team(); i - team_in_wave() < p1.nrows; i += all_teams()) {
        const int64_t r = i < p1.nrows ? i : -1;

        multiply_row(p1, p2, team, r, set);
        finish_row(out, team, r, set, set.count);
        GPU_SYNC_WAVE();
    }
}

} // namespace

tess_status row_output_open(tess_context *ctx, int64_t nrows, int64_t ncols, device_csr *p, row_output *out)
{
    tess_status status = TESS_SUCCESS;

    if (!out->known) {
        const int64_t entries = nrows * out->truncation;

        *p = {};
        TESS_TRY(device_csr_allocate_rows(ctx, nrows, ncols, p));
        TESS_TRY(tess_device_allocate(ctx, entries, sizeof *out->column, reinterpret_cast<void **>(&out->column)));
        TESS_TRY(tess_device_allocate(ctx, entries, sizeof *out->value, reinterpret_cast<void **>(&out->value)));
    } else if (!p->val) {
        TESS_TRY(tess_device_allocate(ctx, p->nnz, sizeof *p->val, reinterpret_cast<void **>(&p->val)));
    }
    out->p = *p;
cleanup:
    return status;
}

tess_status row_output_take(tess_context *ctx, row_output *out, device_csr *p)
{
    int64_t nnz = 0;
    tess_status status = TESS_SUCCESS;

    if (out->known) { return TESS_SUCCESS; }
    TESS_TRY(gpu_sum_lengths(ctx, p->nrows, p->row_ptr, &nnz));
    TESS_TRY(device_csr_allocate_entries(ctx, nnz, true, p));
    out->p = *p;
    compact_kernel<<<gpu_grid(ctx, p->nrows * out->truncation, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*out);
    status = gpu_check_launch(ctx, "rows of the interpolation");
cleanup:
    return status;
}

void row_output_close(tess_context *ctx, int64_t nrows, const row_output *out)
{
    tess_device_release(ctx, out->column, nrows * out->truncation, sizeof *out->column);
    tess_device_release(ctx, out->value, nrows * out->truncation, sizeof *out->value);
}

tess_status amg_device_join(tess_context *ctx, const device_csr *p1, const device_csr *p2, int truncation, bool known,
                            device_csr *p)
{
    gpu_scope scope(ctx);
    row_output out = {};
    tess_status status = TESS_SUCCESS;

    out.known = known;
    out.truncation = truncation;
    TESS_TRY(row_output_open(ctx, p1->nrows, p2->ncols, p, &out));
    join_kernel<<<gpu_grid(ctx, p1->nrows * TEAM, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*p1, *p2, out);
    TESS_TRY(gpu_check_launch(ctx, "interpolation in two stages"));
    status = row_output_take(ctx, &out, p);
cleanup:
    row_output_close(ctx, p1->nrows, &out);
    if (status != TESS_SUCCESS && !known) { device_csr_release(ctx, p); }
    return status;
}
