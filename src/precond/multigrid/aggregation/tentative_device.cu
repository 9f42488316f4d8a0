/* SPDX-License-Identifier: Apache-2.0 */
/* The tentative prolongator on a GPU, a wave for each aggregate: as tentative.c. */
#include <math.h>

#include "device/gpu/wave_sums.cuh"
#include "precond/multigrid/aggregation/passes_device.cuh"

namespace {

/* ---- nodes and near-nullspaces ---- */

__global__ void __launch_bounds__(GPU_BLOCK) fill_nodes_kernel(int block, const amg_device_nodes nodes)
{
    for (int64_t i = first_thread(); i <= nodes.count; i += all_threads()) {
        if (block > 0) { nodes.first[i] = static_cast<int32_t>(i * block); }
        if (i == nodes.count) { continue; }
        const int64_t begin = block > 0 ? i * block : nodes.first[i];
        const int64_t end = block > 0 ? begin + block : nodes.first[i + 1];

        for (int64_t r = begin; r < end; r++) {
            nodes.node_of[r] = static_cast<int32_t>(i);
        }
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) fill_near_kernel(const amg_device_node_level level, const double *columns)
{
    const int64_t n = level.rows.nrows;

    for (int64_t k = first_thread(); k < n * level.vectors; k += all_threads()) {
        const int64_t row = k / level.vectors, c = k % level.vectors;

        level.near[k] = columns ? columns[c * n + row] : static_cast<double>(row % level.most_height == c);
    }
}

/* ---- B = Q R on each aggregate ---- */

struct factor_task {
    amg_device_nodes rows;
    int vectors;
    const double *near;
    device_csr members; /* the nodes of each aggregate */
    double *t, *r;      /* r: vectors x vectors for each aggregate, zeros before */
    int32_t *first;     /* first[g + 1]: the rank of g */
};

/* visit(row of T) for all rows of the calling lane's nodes. */
template <typename VISIT>
__device__ inline void visit_rows(const factor_task &t, int64_t g, VISIT visit)
{
    for (int32_t m = t.members.row_ptr[g] + wave_lane(); m < t.members.row_ptr[g + 1]; m += GPU_WAVE) {
        const int32_t node = t.members.col_ind[m];

        for (int64_t row = t.rows.first[node]; row < t.rows.first[node + 1]; row++) {
            visit(row * t.vectors);
        }
    }
}

__device__ inline double dot_columns(const factor_task &t, int64_t g, int p, int q)
{
    double sum = 0.0;

    visit_rows(t, g, [&](int64_t row) { sum += t.t[row + p] * t.t[row + q]; });
    return lanes_sum(sum, GPU_WAVE);
}

/* Takes the parts along the first `rank` columns out of column c, and adds them to R. */
__device__ inline void orthogonalize(const factor_task &t, int64_t g, int rank, int c)
{
    for (int q = 0; q < rank; q++) {
        const double along = dot_columns(t, g, q, c);

        visit_rows(t, g, [&](int64_t row) { t.t[row + c] -= along * t.t[row + q]; });
        if (wave_lane() == 0) { t.r[(g * t.vectors + q) * t.vectors + c] += along; }
    }
}

/* Column c is at its place in T until it moves to that of its rank. */
__global__ void __launch_bounds__(GPU_BLOCK) factor_kernel(const factor_task t)
{
    for (int64_t g = first_wave(); g < t.members.nrows; g += all_waves()) {
        int rank = 0;

        for (int c = 0; c < t.vectors; c++) {
            visit_rows(t, g, [&](int64_t row) { t.t[row + c] = t.near[row + c]; });
            const double before = sqrt(dot_columns(t, g, c, c));

            orthogonalize(t, g, rank, c);
            orthogonalize(t, g, rank, c);
            const double after = sqrt(dot_columns(t, g, c, c));
            const bool independent = after > AGGREGATION_DEPENDENT * before;

            visit_rows(t, g, [&](int64_t row) {
                const double value = t.t[row + c];

                t.t[row + c] = 0.0;
                if (independent) { t.t[row + rank] = value / after; }
            });
            if (!independent) { continue; }
            if (wave_lane() == 0) { t.r[(g * t.vectors + rank) * t.vectors + c] = after; }
            rank += 1;
        }
        if (wave_lane() == 0) { t.first[g + 1] = rank; }
    }
}

/* Joins the rows of R, of which each aggregate has as many as its rank. */
__global__ void __launch_bounds__(GPU_BLOCK) join_factors_kernel(const amg_device_node_level next, const double *r)
{
    for (int64_t k = first_thread(); k < next.rows.nrows * next.vectors; k += all_threads()) {
        const int64_t row = k / next.vectors, g = next.rows.node_of[row];

        next.near[k] = r[(g * next.vectors + row - next.rows.first[g]) * next.vectors + k % next.vectors];
    }
}

tess_status fill_near(tess_context *ctx, const double *columns, const amg_device_node_level *level)
{
    gpu_scope scope(ctx);
    const unsigned grid = gpu_grid(ctx, level->rows.nrows * level->vectors, PASS_BLOCKS);

    fill_near_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*level, columns);
    return gpu_check_launch(ctx, "near-nullspace vectors");
}

/* The arrays of the next level whose sizes the ranks tell. */
tess_status open_next(tess_context *ctx, amg_device_node_level *next, const double *r)
{
    amg_device_nodes *rows = &next->rows;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, rows->nrows, sizeof *rows->node_of, reinterpret_cast<void **>(&rows->node_of)));
    TESS_TRY(tess_device_allocate(ctx, rows->nrows * next->vectors, sizeof *next->near,
                                  reinterpret_cast<void **>(&next->near)));
    TESS_TRY(amg_nodes_fill(ctx, 0, rows));
    join_factors_kernel<<<gpu_grid(ctx, rows->nrows * next->vectors, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
        *next, r);
    status = gpu_check_launch(ctx, "near-nullspace of a coarse level");
cleanup:
    return status;
}

} // namespace

tess_status amg_nodes_fill(tess_context *ctx, int block, const amg_device_nodes *nodes)
{
    gpu_scope scope(ctx);

    fill_nodes_kernel<<<gpu_grid(ctx, nodes->count + 1, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(block,
                                                                                                          *nodes);
    return gpu_check_launch(ctx, "nodes of rows");
}

tess_status amg_nodes_make_tentative(tess_context *ctx, const device_csr *members, amg_device_node_level *level,
                                     amg_device_node_level *next)
{
    gpu_scope scope(ctx);
    const int k = level->vectors;
    const int64_t values = level->rows.nrows * k, factors = members->nrows * k * k;
    double *r = nullptr;
    factor_task t = {};
    tess_status status = TESS_SUCCESS;

    next->rows.count = members->nrows;
    next->vectors = next->most_height = k;
    TESS_TRY(tess_device_allocate(ctx, values, sizeof *level->tentative, reinterpret_cast<void **>(&level->tentative)));
    TESS_TRY(tess_device_allocate(ctx, members->nrows + 1, sizeof *next->rows.first,
                                  reinterpret_cast<void **>(&next->rows.first)));
    TESS_TRY(tess_device_allocate(ctx, factors, sizeof *r, reinterpret_cast<void **>(&r)));
    TESS_TRY(ctx->backend->zero(ctx, r, static_cast<size_t>(factors) * sizeof *r));
    TESS_TRY(ctx->backend->zero(ctx, level->tentative, static_cast<size_t>(values) * sizeof *level->tentative));
    t = {level->rows, k, level->near, *members, level->tentative, r, next->rows.first};
    factor_kernel<<<gpu_grid(ctx, members->nrows * GPU_WAVE, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    TESS_TRY(gpu_check_launch(ctx, "tentative prolongators"));
    TESS_TRY(gpu_sum_lengths(ctx, members->nrows, next->rows.first, &next->rows.nrows));
    status = open_next(ctx, next, r);
cleanup:
    tess_device_release(ctx, r, factors, sizeof *r);
    return status;
}

extern "C" const amg_nodes_ops *amg_nodes_gpu_ops(void)
{
    static const amg_nodes_ops table = {amg_nodes_fill,
                                        fill_near,
                                        amg_nodes_list_blocks,
                                        amg_nodes_connect,
                                        amg_nodes_aggregate,
                                        amg_nodes_make_tentative,
                                        amg_nodes_list_aggregates,
                                        amg_nodes_lay_out,
                                        amg_nodes_write_columns,
                                        amg_nodes_invert_blocks,
                                        amg_nodes_estimate,
                                        amg_nodes_smooth,
                                        amg_nodes_restrict,
                                        amg_nodes_multiply};

    return &table;
}
