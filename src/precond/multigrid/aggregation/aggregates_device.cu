/* SPDX-License-Identifier: Apache-2.0 */
/* Distant nodes and aggregates on a GPU: the same as mis2.c and aggregates.c find. */
#include "precond/multigrid/aggregation/passes_device.cuh"

namespace {

enum { UNDECIDED = 0, CHOSEN = 1, EXCLUDED = 2, ALONE = -1, FREE = -2 };
/* Rounds that are enqueued before the host asks whether nodes are left. Those without undecided nodes change nothing.
 */
enum { ROUNDS_AT_A_TIME = 4 };

/* ---- distant nodes ---- */

struct search {
    device_csr g;
    uint64_t number_mask;
    uint8_t *state;
    uint64_t *least; /* UINT64_MAX: no node beside it is undecided, or one is chosen; so it stays */
    unsigned long long *left;
};

__global__ void __launch_bounds__(GPU_BLOCK) start_kernel(const search s)
{
    for (int64_t i = first_thread(); i < s.g.nrows; i += all_threads()) {
        const bool alone = s.g.row_ptr[i] == s.g.row_ptr[i + 1];

        s.state[i] = static_cast<uint8_t>(alone ? EXCLUDED : UNDECIDED);
        s.least[i] = alone ? UINT64_MAX : 0;
    }
}

/* Chosen nodes have the least value, excluded ones the largest. */
__device__ inline uint64_t value_of(const search &s, uint64_t round, int64_t i)
{
    const int state = s.state[i];

    return state == UNDECIDED ? aggregation_priority(round, i, s.number_mask) : state == CHOSEN ? 0 : UINT64_MAX;
}

__global__ void __launch_bounds__(GPU_BLOCK) find_least_kernel(const search s, uint64_t round)
{
    for (int64_t i = first_team(); i - team_in_wave() < s.g.nrows; i += all_teams()) {
        const bool is_open = i < s.g.nrows && s.least[i] != UINT64_MAX;
        const int32_t begin = is_open ? s.g.row_ptr[i] : 0, end = is_open ? s.g.row_ptr[i + 1] : 0;
        uint64_t least = is_open ? value_of(s, round, i) : UINT64_MAX;

        for (int32_t e = begin + team_lane(); e < end; e += TEAM) {
            const uint64_t other = value_of(s, round, s.g.col_ind[e]);

            least = other < least ? other : least;
        }
        for (int distance = TEAM / 2; distance > 0; distance /= 2) {
            const uint64_t other = GPU_SHUFFLE_XOR(least, distance);

            least = other < least ? other : least;
        }
        if (is_open && team_lane() == 0) { s.least[i] = least == 0 ? UINT64_MAX : least; }
    }
}

/* A node is chosen if it is the least around itself and around all neighbours; excluded with a chosen one near. */
__global__ void __launch_bounds__(GPU_BLOCK) decide_kernel(const search s, uint64_t round)
{
    __shared__ unsigned left;

    if (threadIdx.x == 0) { left = 0; }
    __syncthreads();
    for (int64_t i = first_team(); i - team_in_wave() < s.g.nrows; i += all_teams()) {
        const bool is_open = i < s.g.nrows && s.state[i] == UNDECIDED;
        const uint64_t own = is_open ? value_of(s, round, i) : 0, around = is_open ? s.least[i] : 0;
        int excluded = around == UINT64_MAX, loses = around != own;

        for (int32_t e = is_open ? s.g.row_ptr[i] + team_lane() : 0, end = is_open ? s.g.row_ptr[i + 1] : 0; e < end;
             e += TEAM) {
            const uint64_t least = s.least[s.g.col_ind[e]];

            excluded |= least == UINT64_MAX;
            loses |= least != own;
        }
        for (int distance = TEAM / 2; distance > 0; distance /= 2) {
            excluded |= GPU_SHUFFLE_XOR(excluded, distance);
            loses |= GPU_SHUFFLE_XOR(loses, distance);
        }
        if (!is_open || team_lane() != 0) { continue; }
        if (excluded || !loses) {
            s.state[i] = static_cast<uint8_t>(excluded ? EXCLUDED : CHOSEN);
        } else {
            atomicAdd(&left, 1U);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0 && left > 0) { atomicAdd(s.left, static_cast<unsigned long long>(left)); }
}

tess_status choose_distant_nodes(tess_context *ctx, const search &s)
{
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    const unsigned grid = gpu_grid(ctx, s.g.nrows * TEAM, PASS_BLOCKS);
    unsigned long long left = 1;
    tess_status status = TESS_SUCCESS;

    start_kernel<<<gpu_grid(ctx, s.g.nrows, PASS_BLOCKS), GPU_BLOCK, 0, stream>>>(s);
    for (uint64_t round = 0; left > 0;) {
        for (int k = 0; k < ROUNDS_AT_A_TIME; k++, round++) {
            TESS_TRY(ctx->backend->zero(ctx, s.left, sizeof *s.left));
            find_least_kernel<<<grid, GPU_BLOCK, 0, stream>>>(s, round);
            decide_kernel<<<grid, GPU_BLOCK, 0, stream>>>(s, round);
        }
        TESS_TRY(gpu_check_launch(ctx, "distant nodes"));
        TESS_TRY(ctx->backend->download(ctx, &left, s.left, sizeof left));
    }
cleanup:
    return status;
}

/* ---- aggregates ---- */

/* Chosen nodes and their neighbours get the number of the chosen one for now. */
__global__ void __launch_bounds__(GPU_BLOCK) gather_around_kernel(const search s, int32_t *of)
{
    for (int64_t base = first_team(); base - team_in_wave() < s.g.nrows; base += all_teams()) {
        const team_span row = open_span(s.g.nrows, s.g.row_ptr, base);
        int32_t root = FREE;

        for (int32_t e = row.begin + row.lane; e < row.end; e += TEAM) {
            if (s.state[s.g.col_ind[e]] == CHOSEN) { root = s.g.col_ind[e]; }
        }
        for (int distance = TEAM / 2; distance > 0; distance /= 2) {
            const int32_t other = GPU_SHUFFLE_XOR(root, distance);

            root = other > root ? other : root;
        }
        if (row.row >= s.g.nrows || row.lane != 0) { continue; }
        if (s.state[row.row] == CHOSEN) { root = static_cast<int32_t>(row.row); }
        of[row.row] = row.begin == row.end ? static_cast<int32_t>(ALONE) : root;
    }
}

/* The sum of the weights to an aggregate, in the order of the host. */
__device__ inline double weight_to(const device_csr &g, const int32_t *before, const team_span &row, int32_t aggregate)
{
    double weight = 0.0;

    for (int32_t e = row.begin; e < row.end; e++) {
        if (before[g.col_ind[e]] == aggregate) { weight += g.val[e]; }
    }
    return aggregation_rounded_weight(weight);
}

/* A free node joins the aggregate with the largest sum of weights; the first one of equals. */
__global__ void __launch_bounds__(GPU_BLOCK) join_rest_kernel(const device_csr g, const int32_t *before, int32_t *of)
{
    for (int64_t base = first_team(); base - team_in_wave() < g.nrows; base += all_teams()) {
        const team_span row = open_span(g.nrows, g.row_ptr, base);
        const bool is_free = row.row < g.nrows && before[row.row] == FREE;
        double best_weight = -1.0;
        int32_t best = FREE;

        for (int32_t e = is_free ? row.begin + row.lane : row.end; e < row.end; e += TEAM) {
            const int32_t candidate = before[g.col_ind[e]];

            if (candidate < 0 || candidate == best) { continue; }
            const double weight = weight_to(g, before, row, candidate);

            if (weight > best_weight || (weight == best_weight && candidate < best)) {
                best = candidate;
                best_weight = weight;
            }
        }
        for (int distance = TEAM / 2; distance > 0; distance /= 2) {
            const double weight = GPU_SHUFFLE_XOR(best_weight, distance);
            const int32_t candidate = GPU_SHUFFLE_XOR(best, distance);

            if (weight > best_weight || (weight == best_weight && candidate < best)) {
                best = candidate;
                best_weight = weight;
            }
        }
        if (is_free && row.lane == 0) { of[row.row] = best; }
    }
}

/* offset[i + 1]: whether node i has given its number to an aggregate. */
__global__ void __launch_bounds__(GPU_BLOCK) flag_roots_kernel(int64_t nodes, const int32_t *of, int32_t *offset)
{
    for (int64_t i = first_thread(); i < nodes; i += all_threads()) {
        offset[i + 1] = of[i] == i;
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) number_aggregates_kernel(int64_t nodes, const int32_t *offset, int32_t *of)
{
    for (int64_t i = first_thread(); i < nodes; i += all_threads()) {
        of[i] = of[i] >= 0 ? offset[of[i]] : ALONE;
    }
}

/* before: as many numbers as there are nodes, and one. */
tess_status gather(tess_context *ctx, const search &s, int32_t *before, int32_t *of, int64_t *count)
{
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    const int64_t nodes = s.g.nrows;
    const unsigned grid = gpu_grid(ctx, nodes, PASS_BLOCKS), teams = gpu_grid(ctx, nodes * TEAM, PASS_BLOCKS);
    tess_status status = TESS_SUCCESS;

    gather_around_kernel<<<teams, GPU_BLOCK, 0, stream>>>(s, before);
    TESS_TRY(ctx->backend->copy(ctx, of, before, static_cast<size_t>(nodes) * sizeof *of));
    join_rest_kernel<<<teams, GPU_BLOCK, 0, stream>>>(s.g, before, of);
    flag_roots_kernel<<<grid, GPU_BLOCK, 0, stream>>>(nodes, of, before);
    TESS_TRY(gpu_sum_lengths(ctx, nodes, before, count));
    number_aggregates_kernel<<<grid, GPU_BLOCK, 0, stream>>>(nodes, before, of);
    status = gpu_check_launch(ctx, "aggregates");
cleanup:
    return status;
}

} // namespace

tess_status amg_nodes_aggregate(tess_context *ctx, const device_csr *graph, int32_t *of, int64_t *count)
{
    gpu_scope scope(ctx);
    const int64_t nodes = graph->nrows;
    search s = {*graph, aggregation_number_mask(nodes), nullptr, nullptr, nullptr};
    int32_t *before = nullptr;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, nodes, sizeof *s.state, reinterpret_cast<void **>(&s.state)));
    TESS_TRY(tess_device_allocate(ctx, nodes, sizeof *s.least, reinterpret_cast<void **>(&s.least)));
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *s.left, reinterpret_cast<void **>(&s.left)));
    TESS_TRY(tess_device_allocate(ctx, nodes + 1, sizeof *before, reinterpret_cast<void **>(&before)));
    TESS_TRY(choose_distant_nodes(ctx, s));
    status = gather(ctx, s, before, of, count);
cleanup:
    tess_device_release(ctx, before, nodes + 1, sizeof *before);
    tess_device_release(ctx, s.left, 1, sizeof *s.left);
    tess_device_release(ctx, s.least, nodes, sizeof *s.least);
    tess_device_release(ctx, s.state, nodes, sizeof *s.state);
    return status;
}
