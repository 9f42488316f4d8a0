/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a matrix on a GPU, and their strong connections: as graph.c. */
#include <tessera/codec.h>

#include "precond/multigrid/aggregation/passes_device.cuh"

namespace {

/* ---- the blocks of a matrix ---- */

struct block_task {
    device_csr a;
    amg_device_nodes rows;
    device_csr out;
    int32_t *found; /* out's columns, unsorted */
    double scale;   /* amg_square_scale */
};

__global__ void __launch_bounds__(GPU_BLOCK) find_largest_kernel(const device_csr a, unsigned long long *largest)
{
    double own = 0.0;

    for (int64_t k = first_thread(); k < a.nnz; k += all_threads()) {
        const double size = fabs(a.val[k]);

        own = size > own ? size : own;
    }
    if (own > 0.0) { atomicMax(largest, static_cast<unsigned long long>(tess_double_bits(own))); }
}

tess_status find_scale(tess_context *ctx, const device_csr *a, double *scale)
{
    unsigned long long *on_device = nullptr;
    double largest = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *on_device, reinterpret_cast<void **>(&on_device)));
    TESS_TRY(ctx->backend->zero(ctx, on_device, sizeof *on_device));
    find_largest_kernel<<<gpu_grid(ctx, a->nnz, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*a, on_device);
    TESS_TRY(gpu_check_launch(ctx, "the largest entry"));
    TESS_TRY(ctx->backend->download(ctx, &largest, on_device, sizeof largest)); /* the bits of a number */
    *scale = amg_square_scale(largest);
cleanup:
    tess_device_release(ctx, on_device, 1, sizeof *on_device);
    return status;
}

/* Whether a row has an entry of a node. It is likely at place `guess` of the row. */
__device__ inline bool has_block(const block_task &t, int64_t row, int32_t node, int32_t guess)
{
    const int32_t first = t.rows.first[node], end = t.rows.first[node + 1];
    int32_t k = t.a.row_ptr[row] + guess;

    if (k < t.a.row_ptr[row + 1] && t.a.col_ind[k] >= first && t.a.col_ind[k] < end) { return true; }
    k = find_from(t.a, row, first);
    return k < t.a.row_ptr[row + 1] && t.a.col_ind[k] < end;
}

/* The node of entry k, if it is the first entry of that node in the rows of node i; -1: it is not, or is i itself. */
__device__ inline int32_t node_begun(const block_task &t, int64_t i, int64_t row, int32_t k)
{
    const int32_t begin = t.a.row_ptr[row], node = t.rows.node_of[t.a.col_ind[k]];

    if (node == i || (k > begin && t.rows.node_of[t.a.col_ind[k - 1]] == node)) { return -1; }
    for (int64_t above = t.rows.first[i]; above < row; above++) {
        if (has_block(t, above, node, k - begin)) { return -1; }
    }
    return node;
}

/* A wave for each node: the node itself, then what its rows begin. Counts, or writes where out.row_ptr says. */
__global__ void __launch_bounds__(GPU_BLOCK) find_blocks_kernel(const block_task t, bool write)
{
    for (int64_t i = first_wave(); i < t.rows.count; i += all_waves()) {
        int32_t *found = write ? t.found + t.out.row_ptr[i] : nullptr;
        int32_t count = 1;

        if (write && wave_lane() == 0) { found[0] = static_cast<int32_t>(i); }
        for (int64_t row = t.rows.first[i]; row < t.rows.first[i + 1]; row++) {
            for (int32_t base = t.a.row_ptr[row]; base < t.a.row_ptr[row + 1]; base += GPU_WAVE) {
                const int32_t k = base + wave_lane();
                const int32_t node = k < t.a.row_ptr[row + 1] ? node_begun(t, i, row, k) : -1;
                const gpu_lanes begun = GPU_BALLOT(node >= 0);

                if (write && node >= 0) { found[count + count_before(begun)] = node; }
                count += GPU_COUNT_LANES(begun);
            }
        }
        if (!write && wave_lane() == 0) { t.out.row_ptr[i + 1] = count; }
    }
}

/* In the order of the host, without contraction: the bits are the host's. */
__device__ inline double squared_norm(const block_task &t, int64_t i, int32_t node)
{
    const int32_t end = t.rows.first[node + 1];
    double norm = 0.0;

    for (int64_t row = t.rows.first[i]; row < t.rows.first[i + 1]; row++) {
        for (int32_t k = find_from(t.a, row, t.rows.first[node]); k < t.a.row_ptr[row + 1] && t.a.col_ind[k] < end;
             k++) {
            const double value = __dmul_rn(t.scale, t.a.val[k]);

            norm = __dadd_rn(norm, __dmul_rn(value, value));
        }
    }
    return norm;
}

/* Sorts the lists, and adds the norms. */
__global__ void __launch_bounds__(GPU_BLOCK) settle_blocks_kernel(const block_task t)
{
    for (int64_t i = first_team(); i < t.rows.count; i += all_teams()) {
        const int32_t begin = t.out.row_ptr[i], end = t.out.row_ptr[i + 1];

        for (int32_t e = begin + team_lane(); e < end; e += TEAM) {
            const int32_t node = t.found[e];
            int32_t at = begin;

            for (int32_t other = begin; other < end; other++) {
                at += t.found[other] < node;
            }
            t.out.col_ind[at] = node;
            t.out.val[at] = squared_norm(t, i, node);
        }
    }
}

/* ---- strong connections ---- */

struct connect_task {
    device_csr blocks;
    double threshold;
    double *strongest;
    int32_t *missing; /* of each node: edges to it whose opposite is no block; zeros before */
    unsigned long long *all_missing;
    device_csr out;
};

__global__ void __launch_bounds__(GPU_BLOCK) find_strongest_kernel(const connect_task t)
{
    for (int64_t base = first_team(); base - team_in_wave() < t.blocks.nrows; base += all_teams()) {
        const team_span row = open_span(t.blocks.nrows, t.blocks.row_ptr, base);
        double most = 0.0;

        for (int32_t e = row.begin + row.lane; e < row.end; e += TEAM) {
            if (t.blocks.col_ind[e] != row.row && t.blocks.val[e] > most) { most = t.blocks.val[e]; }
        }
        for (int distance = TEAM / 2; distance > 0; distance /= 2) {
            const double other = GPU_SHUFFLE_XOR(most, distance);

            most = other > most ? other : most;
        }
        if (row.row < t.blocks.nrows && row.lane == 0) { t.strongest[row.row] = most; }
    }
}

__device__ inline bool is_strong(const connect_task &t, int64_t i, int32_t e)
{
    const int32_t j = t.blocks.col_ind[e];
    const double norm = t.blocks.val[e];

    return j != i && norm > 0.0 && norm >= t.threshold * fmin(t.strongest[i], t.strongest[j]);
}

/* An edge has its own weight if it is strong, else that of its opposite. 0: neither is strong. */
__device__ inline double weight_of(const connect_task &t, int64_t i, int32_t e, int32_t opposite)
{
    if (is_strong(t, i, e)) { return t.blocks.val[e]; }
    return opposite >= 0 && is_strong(t, t.blocks.col_ind[e], opposite) ? t.blocks.val[opposite] : 0.0;
}

__device__ inline int32_t opposite_of(const connect_task &t, int64_t i, int32_t e)
{
    return find_entry(t.blocks, t.blocks.col_ind[e], static_cast<int32_t>(i));
}

/* Counts the edges of each node, and those that its blocks do not have; or writes the first. */
__global__ void __launch_bounds__(GPU_BLOCK) find_edges_kernel(const connect_task t, bool write)
{
    for (int64_t i = first_wave(); i < t.blocks.nrows; i += all_waves()) {
        int32_t at = write ? t.out.row_ptr[i] : 0;

        for (int32_t base = t.blocks.row_ptr[i]; base < t.blocks.row_ptr[i + 1]; base += GPU_WAVE) {
            const int32_t e = base + wave_lane();
            const bool is_block = e < t.blocks.row_ptr[i + 1];
            const int32_t opposite = is_block ? opposite_of(t, i, e) : -1;
            const double weight = is_block ? weight_of(t, i, e, opposite) : 0.0;
            const gpu_lanes edges = GPU_BALLOT(weight > 0.0);

            if (write && weight > 0.0) {
                t.out.col_ind[at + count_before(edges)] = t.blocks.col_ind[e];
                t.out.val[at + count_before(edges)] = weight;
            }
            if (!write && weight > 0.0 && opposite < 0) {
                atomicAdd(&t.missing[t.blocks.col_ind[e]], 1);
                atomicAdd(t.all_missing, 1ULL);
            }
            at += GPU_COUNT_LANES(edges);
        }
        if (!write && wave_lane() == 0) { t.out.row_ptr[i + 1] = at; }
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) add_missing_kernel(const connect_task t)
{
    for (int64_t i = first_thread(); i < t.blocks.nrows; i += all_threads()) {
        t.out.row_ptr[i + 1] += t.missing[i];
    }
}

/* Opposites that are no blocks go to the ends of the rows, in any order. */
__global__ void __launch_bounds__(GPU_BLOCK) append_missing_kernel(const connect_task t)
{
    for (int64_t i = first_team(); i < t.blocks.nrows; i += all_teams()) {
        for (int32_t e = t.blocks.row_ptr[i] + team_lane(); e < t.blocks.row_ptr[i + 1]; e += TEAM) {
            const int32_t j = t.blocks.col_ind[e];

            if (!is_strong(t, i, e) || opposite_of(t, i, e) >= 0) { continue; }
            const int32_t at = t.out.row_ptr[j + 1] - atomicAdd(&t.missing[j], -1);

            t.out.col_ind[at] = static_cast<int32_t>(i);
            t.out.val[at] = t.blocks.val[e];
        }
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) sort_edges_kernel(const device_csr from, const device_csr to)
{
    for (int64_t i = first_team(); i < from.nrows; i += all_teams()) {
        const int32_t begin = from.row_ptr[i], end = from.row_ptr[i + 1];

        for (int32_t e = begin + team_lane(); e < end; e += TEAM) {
            int32_t at = begin;

            for (int32_t other = begin; other < end; other++) {
                at += from.col_ind[other] < from.col_ind[e];
            }
            to.col_ind[at] = from.col_ind[e];
            to.val[at] = from.val[e];
        }
    }
}

/* Adds the opposites that are no blocks to the edges that are there. */
tess_status add_missing(tess_context *ctx, connect_task *t, device_csr *graph)
{
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    const unsigned grid = gpu_grid(ctx, t->blocks.nrows * TEAM, PASS_BLOCKS);
    device_csr sorted = *graph;
    tess_status status = TESS_SUCCESS;

    sorted.col_ind = nullptr;
    sorted.val = nullptr;
    append_missing_kernel<<<grid, GPU_BLOCK, 0, stream>>>(*t);
    TESS_TRY(gpu_check_launch(ctx, "strong connections in one direction"));
    TESS_TRY(device_csr_allocate_entries(ctx, graph->nnz, true, &sorted));
    sort_edges_kernel<<<grid, GPU_BLOCK, 0, stream>>>(*graph, sorted);
    TESS_TRY(gpu_check_launch(ctx, "sorting connections"));
    tess_device_release(ctx, graph->col_ind, graph->nnz, sizeof *graph->col_ind);
    tess_device_release(ctx, graph->val, graph->nnz, sizeof *graph->val);
    *graph = sorted;
    return status;
cleanup:
    tess_device_release(ctx, sorted.col_ind, graph->nnz, sizeof *sorted.col_ind);
    tess_device_release(ctx, sorted.val, graph->nnz, sizeof *sorted.val);
    return status;
}

tess_status find_edges(tess_context *ctx, connect_task *t, device_csr *graph)
{
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    const int64_t nodes = t->blocks.nrows;
    const unsigned grid = gpu_grid(ctx, nodes * GPU_WAVE, PASS_BLOCKS);
    unsigned long long missing = 0;
    int64_t edges = 0;
    tess_status status = TESS_SUCCESS;

    find_strongest_kernel<<<gpu_grid(ctx, nodes * TEAM, PASS_BLOCKS), GPU_BLOCK, 0, stream>>>(*t);
    find_edges_kernel<<<grid, GPU_BLOCK, 0, stream>>>(*t, false);
    add_missing_kernel<<<gpu_grid(ctx, nodes, PASS_BLOCKS), GPU_BLOCK, 0, stream>>>(*t);
    TESS_TRY(gpu_sum_lengths(ctx, nodes, graph->row_ptr, &edges));
    TESS_TRY(ctx->backend->download(ctx, &missing, t->all_missing, sizeof missing));
    TESS_TRY(device_csr_allocate_entries(ctx, edges, true, graph));
    t->out = *graph;
    find_edges_kernel<<<grid, GPU_BLOCK, 0, stream>>>(*t, true);
    TESS_TRY(gpu_check_launch(ctx, "strong connections"));
    if (missing > 0) { status = add_missing(ctx, t, graph); }
cleanup:
    return status;
}

} // namespace

tess_status amg_nodes_list_blocks(tess_context *ctx, const device_csr *a, const amg_device_nodes *rows,
                                  device_csr *blocks)
{
    gpu_scope scope(ctx);
    const unsigned grid = gpu_grid(ctx, rows->count * GPU_WAVE, PASS_BLOCKS);
    block_task t = {*a, *rows, {}, nullptr, 1.0};
    int64_t nnz = 0;
    tess_status status = TESS_SUCCESS;

    *blocks = {};
    TESS_TRY(find_scale(ctx, a, &t.scale));
    TESS_TRY(device_csr_allocate_rows(ctx, rows->count, rows->count, blocks));
    t.out = *blocks;
    find_blocks_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t, false);
    TESS_TRY(gpu_sum_lengths(ctx, rows->count, blocks->row_ptr, &nnz));
    TESS_TRY(device_csr_allocate_entries(ctx, nnz, true, blocks));
    TESS_TRY(tess_device_allocate(ctx, nnz, sizeof *t.found, reinterpret_cast<void **>(&t.found)));
    t.out = *blocks;
    find_blocks_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t, true);
    TESS_TRY(gpu_check_launch(ctx, "nodes beside nodes"));
    settle_blocks_kernel<<<gpu_grid(ctx, rows->count * TEAM, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    status = gpu_check_launch(ctx, "blocks of nodes");
cleanup:
    tess_device_release(ctx, t.found, nnz, sizeof *t.found);
    if (status != TESS_SUCCESS) { device_csr_release(ctx, blocks); }
    return status;
}

tess_status amg_nodes_connect(tess_context *ctx, const device_csr *blocks, double theta, device_csr *graph)
{
    gpu_scope scope(ctx);
    const int64_t nodes = blocks->nrows;
    connect_task t = {*blocks, aggregation_threshold(theta), nullptr, nullptr, nullptr, {}};
    tess_status status = TESS_SUCCESS;

    *graph = {};
    TESS_TRY(device_csr_allocate_rows(ctx, nodes, nodes, graph));
    t.out = *graph;
    TESS_TRY(tess_device_allocate(ctx, nodes, sizeof *t.strongest, reinterpret_cast<void **>(&t.strongest)));
    TESS_TRY(tess_device_allocate(ctx, nodes, sizeof *t.missing, reinterpret_cast<void **>(&t.missing)));
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *t.all_missing, reinterpret_cast<void **>(&t.all_missing)));
    TESS_TRY(ctx->backend->zero(ctx, t.missing, static_cast<size_t>(nodes) * sizeof *t.missing));
    TESS_TRY(ctx->backend->zero(ctx, t.all_missing, sizeof *t.all_missing));
    status = find_edges(ctx, &t, graph);
cleanup:
    tess_device_release(ctx, t.strongest, nodes, sizeof *t.strongest);
    tess_device_release(ctx, t.missing, nodes, sizeof *t.missing);
    tess_device_release(ctx, t.all_missing, 1, sizeof *t.all_missing);
    if (status != TESS_SUCCESS) { device_csr_release(ctx, graph); }
    return status;
}
