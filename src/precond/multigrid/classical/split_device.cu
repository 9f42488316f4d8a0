/* SPDX-License-Identifier: Apache-2.0 */
/* Strong couplings and splits on the GPU: the same as split.c finds, bit by bit. */
#include "base/random.h"
#include "device/gpu/gpu.h"
#include "device/gpu/wave_sums.cuh"
#include "precond/multigrid/classical/split.h"
#include "precond/multigrid/passes_device.cuh"

namespace {

/* ---- strong couplings ---- */

/* The largest of a team; all its lanes get it. */
__device__ inline double team_largest(double value)
{
    for (int distance = TEAM / 2; distance > 0; distance /= 2) {
        const double other = GPU_SHUFFLE_XOR(value, distance);

        value = other > value ? other : value;
    }
    return value;
}

/* Couplings that differ from the threshold by rounding alone count as strong, as on the host. */
struct strength {
    device_csr a;
    double theta, max_row_sum;
    uint8_t *strong;
    unsigned long long *count; /* NULL: not needed */
};

/* The diagonal of a row, and the sum of its entries. */
__device__ inline void sum_row(const device_csr &a, const team_span &row, double *diagonal, double *sum)
{
    *diagonal = *sum = 0.0;
    for (int32_t k = row.begin + row.lane; k < row.end; k += TEAM) {
        if (a.col_ind[k] == row.row) { *diagonal = a.val[k]; }
        *sum += a.val[k];
    }
    *diagonal = lanes_sum(*diagonal, TEAM);
    *sum = lanes_sum(*sum, TEAM);
}

__device__ inline double largest_coupling(const device_csr &a, const team_span &row, double sign)
{
    double most = 0.0;

    for (int32_t k = row.begin + row.lane; k < row.end; k += TEAM) {
        const double coupling = -sign * a.val[k];

        if (a.col_ind[k] != row.row && coupling > most) { most = coupling; }
    }
    return team_largest(most);
}

/* Returns how many entries of the calling thread are strong. */
__device__ inline unsigned mark_row(const strength &s, const team_span &row, double sign, double most)
{
    unsigned count = 0;

    for (int32_t k = row.begin + row.lane; k < row.end; k += TEAM) {
        const double coupling = -sign * s.a.val[k];
        const bool is_strong =
            most > 0.0 && s.a.col_ind[k] != row.row && coupling >= s.theta * (1.0 - 0x1p-30) * most && coupling > 0.0;

        s.strong[k] = is_strong;
        count += is_strong;
    }
    return count;
}

__global__ void __launch_bounds__(GPU_BLOCK) find_strong_kernel(const strength s)
{
    __shared__ unsigned long long of_block;
    unsigned long long count = 0;

    if (threadIdx.x == 0) { of_block = 0; }
    __syncthreads();
    for (int64_t base = first_team(); base - team_in_wave() < s.a.nrows; base += all_teams()) {
        const team_span row = open_span(s.a.nrows, s.a.row_ptr, base);
        double diagonal, sum;

        sum_row(s.a, row, &diagonal, &sum);
        const double sign = diagonal < 0.0 ? -1.0 : 1.0;
        double most = largest_coupling(s.a, row, sign);

        if (s.max_row_sum < 1.0 && fabs(sum) > s.max_row_sum * fabs(diagonal)) { most = 0.0; }
        count += mark_row(s, row, sign, most);
    }
    if (count > 0) { atomicAdd(&of_block, count); }
    __syncthreads();
    if (threadIdx.x == 0 && of_block > 0 && s.count) { atomicAdd(s.count, of_block); }
}

/* ---- the split ---- */

/* The host waits for so many rounds together; there are fewer than ROUND_COUNTS, but for odd graphs. */
enum { RANDOM_BITS = 32, ROUNDS_AT_A_TIME = 3, ROUND_COUNTS = 64 };
const int undecided = 2, decided_fine = AMG_FINE, decided_coarse = AMG_COARSE;

/* measure: how many depend on an unknown, then random bits. `state` is of the round before. */
struct pmis {
    amg_device_graph g;
    int32_t *degree;
    uint64_t *measure;
    uint8_t *state, *beaten, *decision; /* decision: of the unknowns in the list */
    const int32_t *list;                /* NULL: all */
    int64_t most;                       /* listed at most */
    const unsigned long long *listed;   /* NULL: `most` */
    int32_t *next;
    unsigned long long *count; /* of the next list */
};

__device__ inline int64_t listed_of(const pmis &p)
{
    return p.listed ? static_cast<int64_t>(*p.listed) : p.most;
}

__device__ inline bool is_strong(const amg_device_graph &g, int64_t i, int32_t k)
{
    return g.strong ? g.strong[k] != 0 : g.col_ind[k] != i;
}

__device__ inline int64_t listed_row(const pmis &p, int64_t l, int64_t listed)
{
    return p.list && l < listed ? p.list[l] : l;
}

__global__ void __launch_bounds__(GPU_BLOCK) count_dependents_kernel(const pmis p)
{
    for (int64_t i = first_team(); i < p.g.n; i += all_teams()) {
        for (int32_t k = p.g.row_ptr[i] + team_lane(); k < p.g.row_ptr[i + 1]; k += TEAM) {
            if (is_strong(p.g, i, k)) { atomicAdd(&p.degree[p.g.col_ind[k]], 1); }
        }
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) find_measures_kernel(const pmis p, uint64_t seed)
{
    for (int64_t i = first_thread(); i < p.g.n; i += all_threads()) {
        const uint64_t dependents = static_cast<uint64_t>(p.degree[i]);

        p.measure[i] =
            (dependents << RANDOM_BITS) + (tess_random_bits(seed, static_cast<uint64_t>(i)) >> (64 - RANDOM_BITS));
        p.decision[i] = static_cast<uint8_t>(dependents == 0 ? decided_fine : undecided); /* nothing depends on it */
    }
}

/* The loser of a coupling is not taken in this round. Several threads may write the same 1; none reads it here. */
__global__ void __launch_bounds__(GPU_BLOCK) compare_kernel(const pmis p)
{
    const int64_t listed = listed_of(p);

    for (int64_t l = first_team(); l < listed; l += all_teams()) {
        const int64_t i = listed_row(p, l, listed);
        const uint64_t own = p.measure[i];

        for (int32_t k = p.g.row_ptr[i] + team_lane(); k < p.g.row_ptr[i + 1]; k += TEAM) {
            const int32_t j = p.g.col_ind[k];

            if (!is_strong(p.g, i, k) || p.state[j] != undecided) { continue; }
            const uint64_t other = p.measure[j];

            p.beaten[own > other || (own == other && i > j) ? j : i] = 1;
        }
    }
}

/* Who was not beaten is coarse; who depends on such a one is fine. */
__global__ void __launch_bounds__(GPU_BLOCK) decide_kernel(const pmis p)
{
    const int64_t listed = listed_of(p);

    for (int64_t base = first_team(); base - team_in_wave() < listed; base += all_teams()) {
        const int64_t i = listed_row(p, base, listed);
        const bool is_listed = base < listed, was_beaten = is_listed && p.beaten[i];
        int depends = 0;

        for (int32_t k = was_beaten ? p.g.row_ptr[i] + team_lane() : 0, end = was_beaten ? p.g.row_ptr[i + 1] : 0;
             k < end; k += TEAM) {
            const int32_t j = p.g.col_ind[k];

            if (is_strong(p.g, i, k) && p.state[j] == undecided && !p.beaten[j]) { depends = 1; }
        }
        for (int distance = TEAM / 2; distance > 0; distance /= 2) {
            depends |= GPU_SHUFFLE_XOR(depends, distance);
        }
        if (is_listed && team_lane() == 0) {
            p.decision[base] = static_cast<uint8_t>(!was_beaten ? decided_coarse : depends ? decided_fine : undecided);
        }
    }
}

/* Decisions become states; the rest gets places in the next list, in any order. */
__global__ void __launch_bounds__(GPU_BLOCK) settle_kernel(const pmis p)
{
    __shared__ unsigned taken;
    __shared__ unsigned long long first;
    const int64_t listed = listed_of(p);

    for (int64_t base = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK; base < listed; base += all_threads()) {
        const int64_t l = base + threadIdx.x, i = listed_row(p, l, listed);
        const bool stays = l < listed && p.decision[l] == undecided;
        unsigned rank = 0;

        if (threadIdx.x == 0) { taken = 0; }
        __syncthreads();
        if (l < listed) { p.state[i] = p.decision[l]; }
        if (stays) {
            p.beaten[i] = 0;
            rank = atomicAdd(&taken, 1U);
        }
        __syncthreads();
        if (threadIdx.x == 0) { first = atomicAdd(p.count, static_cast<unsigned long long>(taken)); }
        __syncthreads();
        if (stays) { p.next[first + rank] = static_cast<int32_t>(i); }
        __syncthreads();
    }
}

/* `turn` counts the lists. counts: ROUND_COUNTS, zeros before. */
tess_status settle(tess_context *ctx, pmis *p, int32_t *const lists[2], unsigned long long *counts, int turn)
{
    tess_status status = TESS_SUCCESS;

    p->next = lists[turn % 2];
    p->count = counts + turn % ROUND_COUNTS;
    if (turn >= ROUND_COUNTS) { TESS_TRY(ctx->backend->zero(ctx, p->count, sizeof *p->count)); }
    settle_kernel<<<gpu_grid(ctx, p->most, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*p);
    TESS_TRY(gpu_check_launch(ctx, "splitting unknowns"));
    p->list = p->next;
    p->listed = p->count;
cleanup:
    return status;
}

/* Some rounds; those after the last one have nothing to do. */
tess_status run_some_rounds(tess_context *ctx, pmis *p, int32_t *const lists[2], unsigned long long *counts, int first)
{
    const unsigned grid = gpu_grid(ctx, p->most * TEAM, PASS_BLOCKS);
    unsigned long long left = 0;
    tess_status status = TESS_SUCCESS;

    for (int turn = first; turn < first + ROUNDS_AT_A_TIME; turn++) {
        compare_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*p);
        decide_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*p);
        TESS_TRY(gpu_check_launch(ctx, "comparing unknowns"));
        TESS_TRY(settle(ctx, p, lists, counts, turn));
    }
    TESS_TRY(ctx->backend->download(ctx, &left, p->count, sizeof left));
    p->most = static_cast<int64_t>(left);
cleanup:
    return status;
}

tess_status run_rounds(tess_context *ctx, pmis *p, uint64_t seed, int32_t *const lists[2], unsigned long long *counts)
{
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    tess_status status = TESS_SUCCESS;

    count_dependents_kernel<<<gpu_grid(ctx, p->g.n * TEAM, PASS_BLOCKS), GPU_BLOCK, 0, stream>>>(*p);
    find_measures_kernel<<<gpu_grid(ctx, p->g.n, PASS_BLOCKS), GPU_BLOCK, 0, stream>>>(*p, seed);
    TESS_TRY(gpu_check_launch(ctx, "measuring unknowns"));
    TESS_TRY(settle(ctx, p, lists, counts, 0));
    for (int turn = 1; p->most > 0; turn += ROUNDS_AT_A_TIME) {
        TESS_TRY(run_some_rounds(ctx, p, lists, counts, turn));
    }
cleanup:
    return status;
}

/* ---- numbers ---- */

__global__ void __launch_bounds__(GPU_BLOCK) flag_coarse_kernel(int64_t n, const uint8_t *split, int32_t *offset)
{
    for (int64_t i = first_thread(); i < n; i += all_threads()) {
        offset[i + 1] = split[i] == AMG_COARSE;
    }
}

__global__ void __launch_bounds__(GPU_BLOCK)
    number_kernel(const uint8_t *split, const int32_t *offset, const amg_device_numbers out)
{
    for (int64_t i = first_thread(); i < out.n; i += all_threads()) {
        const bool coarse = split[i] == AMG_COARSE;

        out.number[i] = coarse ? offset[i] : -1;
        if (coarse) { out.list[offset[i]] = static_cast<int32_t>(i); }
    }
}

} // namespace

tess_status amg_device_find_strong(tess_context *ctx, const device_csr *a, double theta, double max_row_sum,
                                   uint8_t *strong, int64_t *count)
{
    gpu_scope scope(ctx);
    unsigned long long found = 0;
    strength s = {*a, theta, max_row_sum, strong, nullptr};
    tess_status status = TESS_SUCCESS;

    if (count) { TESS_TRY(tess_device_upload(ctx, &found, 1, sizeof found, reinterpret_cast<void **>(&s.count))); }
    find_strong_kernel<<<gpu_grid(ctx, a->nrows * TEAM, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(s);
    TESS_TRY(gpu_check_launch(ctx, "strong couplings"));
    if (!count) { return TESS_SUCCESS; }
    TESS_TRY(ctx->backend->download(ctx, &found, s.count, sizeof found));
    *count = static_cast<int64_t>(found);
cleanup:
    tess_device_release(ctx, s.count, 1, sizeof found);
    return status;
}

tess_status amg_device_split(tess_context *ctx, const amg_device_graph *g, uint64_t seed, uint8_t *split)
{
    gpu_scope scope(ctx);
    const size_t n = static_cast<size_t>(g->n);
    pmis p = {};
    int32_t *lists[2] = {nullptr, nullptr};
    unsigned long long *counts = nullptr;
    tess_status status = TESS_SUCCESS;

    p.g = *g;
    p.state = split;
    p.most = g->n;
    TESS_TRY(tess_device_allocate(ctx, g->n, sizeof *p.degree, reinterpret_cast<void **>(&p.degree)));
    TESS_TRY(tess_device_allocate(ctx, g->n, sizeof *p.measure, reinterpret_cast<void **>(&p.measure)));
    TESS_TRY(tess_device_allocate(ctx, g->n, sizeof *p.beaten, reinterpret_cast<void **>(&p.beaten)));
    TESS_TRY(tess_device_allocate(ctx, g->n, sizeof *p.decision, reinterpret_cast<void **>(&p.decision)));
    TESS_TRY(tess_device_allocate(ctx, g->n, sizeof *lists[0], reinterpret_cast<void **>(&lists[0])));
    TESS_TRY(tess_device_allocate(ctx, g->n, sizeof *lists[1], reinterpret_cast<void **>(&lists[1])));
    TESS_TRY(tess_device_allocate(ctx, ROUND_COUNTS, sizeof *counts, reinterpret_cast<void **>(&counts)));
    TESS_TRY(ctx->backend->zero(ctx, counts, ROUND_COUNTS * sizeof *counts));
    TESS_TRY(ctx->backend->zero(ctx, p.degree, n * sizeof *p.degree));
    TESS_TRY(ctx->backend->zero(ctx, p.beaten, n * sizeof *p.beaten));
    status = run_rounds(ctx, &p, seed, lists, counts);
cleanup:
    tess_device_release(ctx, counts, ROUND_COUNTS, sizeof *counts);
    tess_device_release(ctx, lists[1], g->n, sizeof *lists[1]);
    tess_device_release(ctx, lists[0], g->n, sizeof *lists[0]);
    tess_device_release(ctx, p.decision, g->n, sizeof *p.decision);
    tess_device_release(ctx, p.beaten, g->n, sizeof *p.beaten);
    tess_device_release(ctx, p.measure, g->n, sizeof *p.measure);
    tess_device_release(ctx, p.degree, g->n, sizeof *p.degree);
    return status;
}

tess_status amg_device_number(tess_context *ctx, const uint8_t *split, amg_device_numbers *out)
{
    gpu_scope scope(ctx);
    const unsigned grid = gpu_grid(ctx, out->n, PASS_BLOCKS);
    int32_t *offset = nullptr;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, out->n + 1, sizeof *offset, reinterpret_cast<void **>(&offset)));
    flag_coarse_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(out->n, split, offset);
    TESS_TRY(gpu_sum_lengths(ctx, out->n, offset, &out->count));
    number_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(split, offset, *out);
    status = gpu_check_launch(ctx, "numbering coarse unknowns");
cleanup:
    tess_device_release(ctx, offset, out->n + 1, sizeof *offset);
    return status;
}
