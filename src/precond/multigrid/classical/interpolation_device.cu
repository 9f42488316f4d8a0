/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extended+i interpolation on the GPU, as interpolation.c has it: teams of threads take rows, with their sets in
 * shared memory. Rows whose sets do not fit are listed for waves, and of these again for threads with sets in global
 * memory.
 */
#include "precond/multigrid/classical/interpolation_device.cuh"
#include "precond/multigrid/classical/team_set_device.cuh"

namespace {

/* Bytes that sets in global memory take together at most, and their threads on a multiprocessor. */
const int64_t most_set_bytes = INT64_C(1) << 28;
enum { LARGE_SET_BLOCKS = 4 };

/* ---- coarse neighbours ---- */

/* Whether the row's diagonal is negative. All lanes of the wave call it. */
__device__ inline bool is_negative(const device_csr &a, const team_of<TEAM> &team, const team_span &row)
{
    bool negative = false;

    for (int32_t k = row.begin + row.lane; k < row.end; k += TEAM) {
        if (a.col_ind[k] == row.row) { negative = a.val[k] < 0.0; }
    }
    return team.lanes_where(negative) != 0;
}

/* Writes a row's coarse neighbours from place `at` on, or counts them if `at` is negative. All lanes of the wave call
   it. */
__device__ inline int32_t list_row(const interpolation_task &t, const team_of<TEAM> &team, const team_span &row,
                                   bool negative, int32_t at)
{
    const device_csr &a = t.to.a;
    int32_t count = 0;

    for (int32_t begin = row.begin; GPU_BALLOT(begin < row.end) != 0; begin += TEAM) {
        const int32_t k = begin + row.lane, j = k < row.end ? a.col_ind[k] : 0;
        const double value = k < row.end ? a.val[k] : 0.0;
        const bool has_own_sign = (value < 0.0) == negative;
        const bool is_listed = k < row.end && t.to.split[j] == AMG_COARSE && (!has_own_sign || t.out.known);
        const gpu_lanes listed = team.lanes_where(is_listed);

        if (at >= 0 && is_listed) {
            const int32_t to = at + count + GPU_COUNT_LANES(listed & team.below);

            t.near.column[to] = t.to.strong[k] ? j : ~j;
            t.near.value[to] = has_own_sign ? 0.0 : value;
        }
        count += GPU_COUNT_LANES(listed);
    }
    return count;
}

/* Coarse rows have no list. */
__device__ inline team_span open_fine_row(const interpolation_task &t, int64_t i)
{
    const bool fine = i < t.to.a.nrows && t.to.split[i] != AMG_COARSE;

    return open_span(fine ? t.to.a.nrows : 0, t.to.a.row_ptr, i);
}

__global__ void __launch_bounds__(GPU_BLOCK) count_neighbours_kernel(const interpolation_task t)
{
    const team_of<TEAM> team;

    for (int64_t i = first_team(); i - team_in_wave() < t.to.a.nrows; i += all_teams()) {
        const team_span row = open_fine_row(t, i);
        const bool negative = is_negative(t.to.a, team, row);
        const int32_t count = list_row(t, team, row, negative, -1);

        if (i < t.to.a.nrows && team.lane == 0) {
            t.near.negative[i] = negative;
            t.near.first[i + 1] = count;
        }
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) list_neighbours_kernel(const interpolation_task t)
{
    const team_of<TEAM> team;

    for (int64_t i = first_team(); i - team_in_wave() < t.to.a.nrows; i += all_teams()) {
        const bool is_row = i < t.to.a.nrows;

        (void)list_row(t, team, open_fine_row(t, i), is_row && t.near.negative[i] != 0, is_row ? t.near.first[i] : 0);
    }
}

/* ---- rows with large sets, a thread for each ---- */

__device__ inline void add_strong(const interpolation_task &t, int64_t row, large_set &set)
{
    for (int32_t m = t.near.first[row]; m < t.near.first[row + 1]; m++) {
        if (t.near.column[m] >= 0) { set.add(t.near.column[m]); }
    }
}

/* C^_i: strong coarse neighbours of i and of its strong fine neighbours; eq. (4.9). */
__device__ inline void find_set(const interpolation_task &t, int64_t i, large_set &set)
{
    const device_csr &a = t.to.a;

    add_strong(t, i, set);
    for (int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
        if (t.to.strong[k]) { add_strong(t, a.col_ind[k], set); } /* coarse rows have no list */
    }
}

/* The coupling a_ik goes by way of k to the set and to i itself: the sums of eq. (4.10) and (4.11). Returns what a~_ii
   gains. */
__device__ inline double distribute(const interpolation_task &t, int64_t i, int32_t k, double coupling, large_set &set)
{
    const int32_t begin = t.near.first[k], end = t.near.first[k + 1];
    const double own = find_back(t, k, i);
    double sum = own, factor;

    for (int32_t m = begin; m < end; m++) {
        if (set.find(column_of(t.near.column[m])) >= 0) { sum += t.near.value[m]; }
    }
    if (sum == 0.0) { return coupling; }
    factor = coupling / sum;
    for (int32_t m = begin; m < end; m++) {
        const int place = set.find(column_of(t.near.column[m]));

        if (place >= 0) { set.weight(place) += factor * t.near.value[m]; }
    }
    return factor * own;
}

/* Weights of row i to its set; eq. (4.10). Columns become those of p. */
__device__ inline void find_weights(const interpolation_task &t, int64_t i, large_set &set)
{
    const device_csr &a = t.to.a;
    double diagonal = 0.0;

    for (int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
        const int32_t j = a.col_ind[k];
        const bool coarse = t.to.split[j] == AMG_COARSE;
        const int place = coarse ? set.find(j) : -1;

        if (place >= 0) {
            set.weight(place) += a.val[k];
        } else if (!coarse && t.to.strong[k]) {
            diagonal += distribute(t, i, j, a.val[k], set);
        } else { /* the diagonal and weak couplings; eq. (4.11) */
            diagonal += a.val[k];
        }
    }
    for (int s = 0; s < set.count; s++) {
        set.weight(s) = diagonal != 0.0 ? -set.weight(s) / diagonal : 0.0;
        set.column(s) = t.to.number[set.column(s)];
    }
}

/* An empty set becomes row r of p; the row is fine, as coarse ones have small sets. */
__device__ inline void interpolate_row(const interpolation_task &t, int64_t r, large_set &set)
{
    const int64_t i = row_of(t, r);

    find_set(t, i, set);
    find_weights(t, i, set);
    write_set(t.out, set, r);
}

/* At least the number of coarse neighbours at a distance of one or two. */
__device__ inline int64_t bound_set(const interpolation_task &t, int64_t i)
{
    const device_csr &a = t.to.a;
    int64_t bound = t.near.first[i + 1] - t.near.first[i];

    for (int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
        if (t.to.strong[k]) { bound += t.near.first[a.col_ind[k] + 1] - t.near.first[a.col_ind[k]]; }
    }
    return min(bound, t.to.ncoarse);
}

__global__ void __launch_bounds__(GPU_BLOCK)
    bound_sets_kernel(const interpolation_task t, const row_list list, int64_t rows)
{
    for (int64_t r = first_thread(); r < rows; r += all_threads()) {
        atomicMax(&list.count[1], static_cast<int>(bound_set(t, row_of(t, list.row[r]))));
    }
}

/* Memory of `threads` threads: tables of `size` places and sets of `most` columns. */
struct set_memory {
    int64_t threads, size, most;
    int32_t *key, *place, *columns;
    double *weights;
};

__global__ void __launch_bounds__(ROW_THREADS)
    interpolate_large_kernel(const interpolation_task t, const row_list list, int64_t rows, const set_memory memory)
{
    const int64_t thread = static_cast<int64_t>(blockIdx.x) * ROW_THREADS + threadIdx.x;
    large_set set = {memory.columns + thread * memory.most,
                     memory.key + thread * memory.size,
                     memory.place + thread * memory.size,
                     memory.weights + thread * memory.most,
                     0,
                     0};

    for (int64_t r = thread; r < rows; r += memory.threads) {
        set.clear(bound_set(t, row_of(t, list.row[r])));
        interpolate_row(t, list.row[r], set);
    }
}

tess_status make_memory(tess_context *ctx, int64_t rows, int64_t most, set_memory *out)
{
    const int64_t resident = static_cast<int64_t>(gpu_state_of(ctx)->multiprocessors) * LARGE_SET_BLOCKS;
    int64_t blocks = (rows + ROW_THREADS - 1) / ROW_THREADS, fitting = 0;
    tess_status status = TESS_SUCCESS;

    out->size = 16;
    while (out->size < 2 * most) {
        out->size *= 2;
    }
    out->most = most;
    fitting = most_set_bytes / (ROW_THREADS * (out->size * 8 + most * 12)); /* as large_set has them */
    blocks = blocks < resident ? blocks : resident;
    blocks = blocks < fitting ? blocks : fitting;
    out->threads = (blocks < 1 ? 1 : blocks) * ROW_THREADS;
    TESS_TRY(
        tess_device_allocate(ctx, out->threads * out->size, sizeof *out->key, reinterpret_cast<void **>(&out->key)));
    TESS_TRY(tess_device_allocate(ctx, out->threads * out->size, sizeof *out->place,
                                  reinterpret_cast<void **>(&out->place)));
    TESS_TRY(
        tess_device_allocate(ctx, out->threads * most, sizeof *out->columns, reinterpret_cast<void **>(&out->columns)));
    status =
        tess_device_allocate(ctx, out->threads * most, sizeof *out->weights, reinterpret_cast<void **>(&out->weights));
cleanup:
    return status;
}

void free_memory(tess_context *ctx, set_memory *m)
{
    tess_device_release(ctx, m->key, m->threads * m->size, sizeof *m->key);
    tess_device_release(ctx, m->place, m->threads * m->size, sizeof *m->place);
    tess_device_release(ctx, m->columns, m->threads * m->most, sizeof *m->columns);
    tess_device_release(ctx, m->weights, m->threads * m->most, sizeof *m->weights);
}

/* counts[0] listed rows. */
tess_status interpolate_large(tess_context *ctx, const interpolation_task &t, const row_list &list, int *counts)
{
    set_memory memory = {};
    tess_status status = TESS_SUCCESS;

    bound_sets_kernel<<<gpu_grid(ctx, counts[0], PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t, list, counts[0]);
    TESS_TRY(gpu_check_launch(ctx, "bounding rows of the interpolation"));
    TESS_TRY(ctx->backend->download(ctx, counts, list.count, 2 * sizeof *counts));
    TESS_TRY(make_memory(ctx, counts[0], counts[1], &memory));
    interpolate_large_kernel<<<static_cast<unsigned>(memory.threads / ROW_THREADS), ROW_THREADS, 0,
                               gpu_stream_of(ctx)>>>(t, list, counts[0], memory);
    status = gpu_check_launch(ctx, "long rows of the interpolation");
cleanup:
    free_memory(ctx, &memory);
    return status;
}

/* ---- rows of larger sets ---- */

/* Rows whose sets teams had no space for: by waves, and what these leave. */
tess_status interpolate_listed(tess_context *ctx, const interpolation_task &t, const row_list &list)
{
    int counts[2] = {0, 0}, left[2] = {0, 0};
    row_list larger = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ctx->backend->download(ctx, counts, list.count, sizeof counts));
    if (counts[0] == 0) { return TESS_SUCCESS; }
    TESS_TRY(amg_open_row_list(ctx, counts[0], &larger));
    TESS_TRY(amg_interpolate_by_waves(ctx, &t, &list, counts[0], &larger));
    TESS_TRY(ctx->backend->download(ctx, left, larger.count, sizeof left));
    if (left[0] > 0) { status = interpolate_large(ctx, t, larger, left); }
cleanup:
    amg_close_row_list(ctx, counts[0], &larger);
    return status;
}

} // namespace

/* ---- lists of rows ---- */

tess_status amg_open_row_list(tess_context *ctx, int64_t rows, row_list *list)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, rows, sizeof *list->row, reinterpret_cast<void **>(&list->row)));
    TESS_TRY(tess_device_allocate(ctx, 2, sizeof *list->count, reinterpret_cast<void **>(&list->count)));
    status = ctx->backend->zero(ctx, list->count, 2 * sizeof *list->count);
cleanup:
    return status;
}

void amg_close_row_list(tess_context *ctx, int64_t rows, const row_list *list)
{
    tess_device_release(ctx, list->row, rows, sizeof *list->row);
    tess_device_release(ctx, list->count, 2, sizeof *list->count);
}

/* ---- all rows ---- */

tess_status amg_list_neighbours(tess_context *ctx, interpolation_task *t)
{
    const int64_t n = t->to.a.nrows;
    const unsigned grid = gpu_grid(ctx, n * TEAM, PASS_BLOCKS);
    neighbours *near = &t->near;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, n + 1, sizeof *near->first, reinterpret_cast<void **>(&near->first)));
    TESS_TRY(tess_device_allocate(ctx, n, sizeof *near->negative, reinterpret_cast<void **>(&near->negative)));
    count_neighbours_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*t);
    TESS_TRY(gpu_sum_lengths(ctx, n, near->first, &near->count));
    TESS_TRY(tess_device_allocate(ctx, near->count, sizeof *near->column, reinterpret_cast<void **>(&near->column)));
    TESS_TRY(tess_device_allocate(ctx, near->count, sizeof *near->value, reinterpret_cast<void **>(&near->value)));
    list_neighbours_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*t);
    status = gpu_check_launch(ctx, "coarse neighbours");
cleanup:
    return status;
}

void amg_free_neighbours(tess_context *ctx, const interpolation_task *t)
{
    const neighbours *near = &t->near;
    const int64_t n = t->to.a.nrows;

    tess_device_release(ctx, near->first, n + 1, sizeof *near->first);
    tess_device_release(ctx, near->negative, n, sizeof *near->negative);
    tess_device_release(ctx, near->column, near->count, sizeof *near->column);
    tess_device_release(ctx, near->value, near->count, sizeof *near->value);
}

tess_status amg_device_interpolate(tess_context *ctx, const amg_device_interpolation *to, bool known, device_csr *p)
{
    gpu_scope scope(ctx);
    interpolation_task t = {};
    row_list longer = {};
    tess_status status = TESS_SUCCESS;

    t.to = *to;
    t.out.known = known;
    t.out.truncation = to->truncation;
    TESS_TRY(row_output_open(ctx, to->nrows, to->ncoarse, p, &t.out));
    TESS_TRY(amg_open_row_list(ctx, to->nrows, &longer));
    TESS_TRY(amg_list_neighbours(ctx, &t));
    TESS_TRY(amg_interpolate_by_teams(ctx, &t, &longer));
    TESS_TRY(interpolate_listed(ctx, t, longer));
    status = row_output_take(ctx, &t.out, p);
cleanup:
    amg_close_row_list(ctx, to->nrows, &longer);
    amg_free_neighbours(ctx, &t);
    row_output_close(ctx, to->nrows, &t.out);
    if (status != TESS_SUCCESS && !known) { device_csr_release(ctx, p); }
    return status;
}
