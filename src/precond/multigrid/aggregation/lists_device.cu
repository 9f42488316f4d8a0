/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns by nodes on a GPU: a list of nodes or aggregates for each node, and the rows that follow from it. */
#include "device/gpu/wave_sums.cuh"
#include "precond/multigrid/aggregation/passes_device.cuh"

namespace {

/* ---- the aggregates beside a node ---- */

struct list_task {
    device_csr blocks;
    const int32_t *of;
    bool plain;
    int32_t *found; /* for each block the aggregate, if it is the list's first of it; else -1 */
    device_csr out;
};

__device__ inline int32_t aggregate_at(const list_task &t, int64_t i, int32_t e)
{
    return !t.plain || t.blocks.col_ind[e] == i ? t.of[t.blocks.col_ind[e]] : -1;
}

__global__ void __launch_bounds__(GPU_BLOCK) find_aggregates_kernel(const list_task t)
{
    for (int64_t base = first_team(); base - team_in_wave() < t.blocks.nrows; base += all_teams()) {
        const team_span row = open_span(t.blocks.nrows, t.blocks.row_ptr, base);
        int count = 0;

        for (int32_t e = row.begin + row.lane; e < row.end; e += TEAM) {
            int32_t found = aggregate_at(t, row.row, e);

            for (int32_t other = row.begin; found >= 0 && other < e; other++) {
                if (aggregate_at(t, row.row, other) == found) { found = -1; }
            }
            t.found[e] = found;
            count += found >= 0;
        }
        count = lanes_sum(count, TEAM);
        if (row.row < t.blocks.nrows && row.lane == 0) { t.out.row_ptr[row.row + 1] = count; }
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) sort_aggregates_kernel(const list_task t)
{
    for (int64_t i = first_team(); i < t.blocks.nrows; i += all_teams()) {
        const int32_t begin = t.blocks.row_ptr[i], end = t.blocks.row_ptr[i + 1];

        for (int32_t e = begin + team_lane(); e < end; e += TEAM) {
            const int32_t own = t.found[e];
            int32_t at = t.out.row_ptr[i];

            if (own < 0) { continue; }
            for (int32_t other = begin; other < end; other++) {
                at += t.found[other] >= 0 && t.found[other] < own;
            }
            t.out.col_ind[at] = own;
        }
    }
}

/* ---- rows ---- */

struct layout_task {
    amg_device_nodes rows, columns;
    amg_device_lists lists;
    int32_t *row_ptr, *col_ind;
};

/* The widths of a list's columns before each of its numbers; the length of the rows. A wave for each list. */
__global__ void __launch_bounds__(GPU_BLOCK) lay_out_kernel(const layout_task t)
{
    for (int64_t i = first_wave(); i < t.rows.count; i += all_waves()) {
        const int32_t begin = t.lists.of.row_ptr[i], end = t.lists.of.row_ptr[i + 1];
        int32_t length = 0;

        for (int32_t base = begin; base < end; base += GPU_WAVE) {
            const int32_t e = base + wave_lane();
            const int32_t width = e < end ? node_width(t.columns, t.lists.of.col_ind[e]) : 0;
            int32_t reach = width;

            for (int distance = 1; distance < GPU_WAVE; distance *= 2) {
                const int32_t other = GPU_SHUFFLE_UP(reach, distance, GPU_WAVE);

                if (wave_lane() >= distance) { reach += other; }
            }
            if (e < end) { t.lists.offset[e] = length + reach - width; }
            length += GPU_SHUFFLE(reach, GPU_WAVE - 1, GPU_WAVE);
        }
        for (int32_t row = t.rows.first[i] + wave_lane(); row < t.rows.first[i + 1]; row += GPU_WAVE) {
            t.row_ptr[row + 1] = length;
        }
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) write_columns_kernel(const layout_task t)
{
    for (int64_t row = first_team(); row < t.rows.nrows; row += all_teams()) {
        const int32_t i = t.rows.node_of[row];

        for (int32_t e = t.lists.of.row_ptr[i] + team_lane(); e < t.lists.of.row_ptr[i + 1]; e += TEAM) {
            const int32_t node = t.lists.of.col_ind[e];
            int32_t at = t.row_ptr[row] + t.lists.offset[e];

            for (int32_t c = t.columns.first[node]; c < t.columns.first[node + 1]; c++) {
                t.col_ind[at++] = c;
            }
        }
    }
}

} // namespace

tess_status amg_nodes_list_aggregates(tess_context *ctx, const device_csr *blocks, const int32_t *of,
                                      int64_t aggregates, bool plain, device_csr *lists)
{
    gpu_scope scope(ctx);
    const unsigned grid = gpu_grid(ctx, blocks->nrows * TEAM, PASS_BLOCKS);
    list_task t = {*blocks, of, plain, nullptr, {}};
    int64_t count = 0;
    tess_status status = TESS_SUCCESS;

    *lists = {};
    TESS_TRY(device_csr_allocate_rows(ctx, blocks->nrows, aggregates, lists));
    TESS_TRY(tess_device_allocate(ctx, blocks->nnz, sizeof *t.found, reinterpret_cast<void **>(&t.found)));
    t.out = *lists;
    find_aggregates_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    TESS_TRY(gpu_sum_lengths(ctx, blocks->nrows, lists->row_ptr, &count));
    TESS_TRY(device_csr_allocate_entries(ctx, count, false, lists));
    t.out = *lists;
    sort_aggregates_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    status = gpu_check_launch(ctx, "aggregates beside nodes");
cleanup:
    tess_device_release(ctx, t.found, blocks->nnz, sizeof *t.found);
    if (status != TESS_SUCCESS) { device_csr_release(ctx, lists); }
    return status;
}

tess_status amg_nodes_lay_out(tess_context *ctx, const amg_device_nodes *rows, const amg_device_nodes *columns,
                              const amg_device_lists *lists, int32_t *row_ptr, int64_t *count)
{
    gpu_scope scope(ctx);
    const layout_task t = {*rows, *columns, *lists, row_ptr, nullptr};

    lay_out_kernel<<<gpu_grid(ctx, rows->count * GPU_WAVE, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    return gpu_sum_lengths(ctx, rows->nrows, row_ptr, count);
}

tess_status amg_nodes_write_columns(tess_context *ctx, const amg_device_nodes *rows, const amg_device_nodes *columns,
                                    const amg_device_lists *lists, const device_csr *out)
{
    gpu_scope scope(ctx);
    const layout_task t = {*rows, *columns, *lists, out->row_ptr, out->col_ind};

    write_columns_kernel<<<gpu_grid(ctx, rows->nrows * TEAM, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    return gpu_check_launch(ctx, "columns of a product of nodes");
}
