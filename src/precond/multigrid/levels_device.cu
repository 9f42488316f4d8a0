/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over the levels of multigrid on the GPU: patterns of aggressive levels, blocks, scales, scaled values. */
#include <string.h>

#include "device/gpu/wave_sums.cuh"
#include "precond/multigrid/classical/split.h"
#include "precond/multigrid/extremes_device.cuh"

namespace {

/* ---- patterns of aggressive levels ---- */

/* The rows of S + I of the listed unknowns, with all columns; or all rows, with the columns that have numbers. */
struct part_task {
    device_csr a;
    const uint8_t *strong;
    amg_device_numbers coarse;
    bool rows;
    device_csr out;
};

/* Writes row r, or its length if `write` is false. */
__device__ inline void take_row(const part_task &t, int64_t r, bool write)
{
    const int64_t i = t.rows ? t.coarse.list[r] : r;
    int32_t at = write ? t.out.row_ptr[r] : 0;

    for (int32_t k = t.a.row_ptr[i]; k < t.a.row_ptr[i + 1]; k++) {
        const int32_t j = t.a.col_ind[k], number = t.rows ? j : t.coarse.number[j];

        if ((!t.strong[k] && j != i) || number < 0) { continue; }
        if (write) { t.out.col_ind[at] = number; }
        at++;
    }
    if (!write) { t.out.row_ptr[r + 1] = at; }
}

__global__ void __launch_bounds__(GPU_BLOCK) take_part_kernel(const part_task t, bool write)
{
    for (int64_t r = first_thread(); r < t.out.nrows; r += all_threads()) {
        take_row(t, r, write);
    }
}

/* One without paths to others stays: nothing could interpolate to it. second: AMG_FINE before. */
__global__ void __launch_bounds__(GPU_BLOCK)
    spread_split_kernel(const device_csr paths, const int32_t *list, const uint8_t *split, uint8_t *second)
{
    for (int64_t r = first_thread(); r < paths.nrows; r += all_threads()) {
        const bool alone = paths.row_ptr[r + 1] - paths.row_ptr[r] <= 1;

        second[list[r]] = alone ? static_cast<uint8_t>(AMG_COARSE) : split[r];
    }
}

/* ---- blocks ---- */

/* Whether `size` rows have one pattern of whole groups of columns; as block_size.c. */
__device__ inline bool is_whole(const device_csr &a, int64_t first, int size)
{
    const int32_t begin = a.row_ptr[first], length = a.row_ptr[first + 1] - begin;

    if (length % size != 0) { return false; }
    for (int r = 1; r < size; r++) {
        if (a.row_ptr[first + r + 1] - a.row_ptr[first + r] != length) { return false; }
    }
    for (int32_t k = 0; k < length; k++) {
        const int32_t column = a.col_ind[begin + k];

        if (k % size == 0 && (column % size != 0 || a.col_ind[begin + k + size - 1] != column + size - 1)) {
            return false;
        }
        for (int r = 1; r < size; r++) {
            if (a.col_ind[begin + r * length + k] != column) { return false; }
        }
    }
    return true;
}

/* Whether all have their diagonal entries alone. */
__device__ inline bool are_fixed(const device_csr &a, int64_t first, int size)
{
    for (int64_t r = first; r < first + size; r++) {
        if (a.row_ptr[r + 1] - a.row_ptr[r] != 1 || a.col_ind[a.row_ptr[r]] != r) { return false; }
    }
    return true;
}

enum { GROUPS_FIXED, GROUPS_BROKEN, GROUP_COUNTS };

__global__ void __launch_bounds__(GPU_BLOCK)
    count_groups_kernel(const device_csr a, int size, unsigned long long *counts)
{
    __shared__ unsigned of_block[GROUP_COUNTS];
    unsigned count[GROUP_COUNTS] = {};

    if (threadIdx.x < GROUP_COUNTS) { of_block[threadIdx.x] = 0; }
    __syncthreads();
    for (int64_t g = first_thread(); g < a.nrows / size; g += all_threads()) {
        const bool fixed = are_fixed(a, g * size, size);

        count[GROUPS_FIXED] += fixed;
        count[GROUPS_BROKEN] += !fixed && !is_whole(a, g * size, size);
    }
    for (int k = 0; k < GROUP_COUNTS; k++) {
        if (count[k] > 0) { atomicAdd(&of_block[k], count[k]); }
    }
    __syncthreads();
    if (threadIdx.x < GROUP_COUNTS && of_block[threadIdx.x] > 0) {
        atomicAdd(counts + threadIdx.x, static_cast<unsigned long long>(of_block[threadIdx.x]));
    }
}

/* ---- scales ---- */

__global__ void __launch_bounds__(GPU_BLOCK)
    scale_kernel(const device_csr a, bool l1, const amg_device_scale out, amg_device_extremes *of_all)
{
    double least = DBL_MAX, most = 0.0;

    for (int64_t base = first_team(); base - team_in_wave() < a.nrows; base += all_teams()) {
        const team_span row = open_span(a.nrows, a.row_ptr, base);
        double sum = 0.0;

        for (int32_t k = row.begin + row.lane; k < row.end; k += TEAM) {
            if (l1 || a.col_ind[k] == row.row) { sum += fabs(a.val[k]); }
        }
        sum = lanes_sum(sum, TEAM);
        if (row.row >= a.nrows || row.lane != 0) { continue; }
        const double root = sqrt(sum == 0.0 ? 1.0 : sum), s = 1.0 / root; /* rows of zeros get 1 */

        out.inverse[row.row] = root;
        out.s[row.row] = s;
        if (!(s > 0.0)) { atomicMin(&of_all->bad_row, static_cast<unsigned long long>(row.row)); }
        least = fmin(least, s);
        most = fmax(most, s);
    }
    join_extremes(of_all, least, most);
}

/* The largest entry, and the smallest of the rows' largest. */
__global__ void __launch_bounds__(GPU_BLOCK) range_kernel(const amg_device_scaled s, amg_device_extremes *of_all)
{
    double smallest = DBL_MAX, largest = 0.0;

    for (int64_t base = first_team(); base - team_in_wave() < s.a.nrows; base += all_teams()) {
        const team_span row = open_span(s.a.nrows, s.a.row_ptr, base);
        double own = 0.0;

        for (int32_t k = row.begin + row.lane; k < row.end; k += TEAM) {
            own = fmax(own, fabs(scaled_entry(s, row.row, k)));
        }
        for (int distance = TEAM / 2; distance > 0; distance /= 2) {
            own = fmax(own, GPU_SHUFFLE_XOR(own, distance));
        }
        largest = fmax(largest, own);
        if (own > 0.0) { smallest = fmin(smallest, own); }
    }
    join_extremes(of_all, smallest, largest);
}

__global__ void __launch_bounds__(GPU_BLOCK) scaled_values_kernel(const amg_device_scaled s, double *val)
{
    for (int64_t i = first_team(); i < s.a.nrows; i += all_teams()) {
        for (int32_t k = s.a.row_ptr[i] + team_lane(); k < s.a.row_ptr[i + 1]; k += TEAM) {
            val[k] = scaled_entry(s, i, k);
        }
    }
}

double value_of(unsigned long long bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

amg_device_extremes no_extremes()
{
    const double largest = DBL_MAX;
    amg_device_extremes none = {0, 0, ULLONG_MAX};

    memcpy(&none.least, &largest, sizeof largest);
    return none;
}

tess_status open_extremes(tess_context *ctx, int count, amg_device_extremes **out)
{
    amg_device_extremes none[AMG_MOST_EXTREMES];

    for (int k = 0; k < count; k++) {
        none[k] = no_extremes();
    }
    return tess_device_upload(ctx, none, count, sizeof *none, reinterpret_cast<void **>(out));
}

tess_status read_extremes(tess_context *ctx, int count, const amg_device_extremes *of, amg_extremes *out)
{
    amg_device_extremes found[AMG_MOST_EXTREMES];
    const tess_status status = ctx->backend->download(ctx, found, of, static_cast<size_t>(count) * sizeof *found);

    for (int k = 0; k < count && status == TESS_SUCCESS; k++) {
        out[k] = {value_of(found[k].least), value_of(found[k].most),
                  found[k].bad_row == ULLONG_MAX ? -1 : static_cast<int64_t>(found[k].bad_row)};
    }
    return status;
}

/* ---- symmetry ---- */

/* As is_symmetric_row of cycle/factors.c; t: A^T. */
__global__ void __launch_bounds__(GPU_BLOCK)
    count_unsymmetric_kernel(const device_csr a, const device_csr t, double rounding, unsigned long long *others)
{
    unsigned own = 0;

    for (int64_t i = first_team(); i < a.nrows; i += all_teams()) {
        const int32_t begin = a.row_ptr[i], end = a.row_ptr[i + 1];

        if (t.row_ptr[i] != begin || t.row_ptr[i + 1] != end) {
            own++;
            continue;
        }
        for (int32_t k = begin + team_lane(); k < end; k += TEAM) {
            own += t.col_ind[k] != a.col_ind[k] || !(fabs(t.val[k] - a.val[k]) <= rounding);
        }
    }
    if (own > 0) { atomicAdd(others, static_cast<unsigned long long>(own)); }
}

/* ---- the table ---- */

tess_status find_block_size(tess_context *ctx, const device_csr *a, int *size)
{
    gpu_scope scope(ctx);
    unsigned long long counts[GROUP_COUNTS] = {}, *on_device = nullptr;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, GROUP_COUNTS, sizeof *counts, reinterpret_cast<void **>(&on_device)));
    for (*size = TESS_MAX_AMG_BLOCK; *size > 1; *size -= 1) {
        amg_groups groups = {a->nrows / *size, 0, 0};

        if (a->nrows <= *size || groups.all * *size != a->nrows) { continue; }
        TESS_TRY(ctx->backend->zero(ctx, on_device, sizeof counts));
        count_groups_kernel<<<gpu_grid(ctx, groups.all, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*a, *size,
                                                                                                          on_device);
        TESS_TRY(gpu_check_launch(ctx, "looking for blocks"));
        TESS_TRY(ctx->backend->download(ctx, counts, on_device, sizeof counts));
        groups.fixed = static_cast<int64_t>(counts[GROUPS_FIXED]);
        groups.broken = static_cast<int64_t>(counts[GROUPS_BROKEN]);
        if (amg_shows_blocks(&groups)) { break; }
    }
cleanup:
    tess_device_release(ctx, on_device, GROUP_COUNTS, sizeof *counts);
    return status;
}

tess_status scale(tess_context *ctx, const device_csr *a, bool l1, const amg_device_scale *out, amg_device_extremes *of)
{
    gpu_scope scope(ctx);

    scale_kernel<<<gpu_grid(ctx, a->nrows * TEAM, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*a, l1, *out, of);
    return gpu_check_launch(ctx, "scales of a level");
}

tess_status find_range(tess_context *ctx, const amg_device_scaled *s, amg_device_extremes *of)
{
    gpu_scope scope(ctx);

    range_kernel<<<gpu_grid(ctx, s->a.nrows * TEAM, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*s, of);
    return gpu_check_launch(ctx, "magnitudes of a level");
}

tess_status scaled_values(tess_context *ctx, const amg_device_scaled *s, double *val)
{
    gpu_scope scope(ctx);

    scaled_values_kernel<<<gpu_grid(ctx, s->a.nrows * TEAM, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*s, val);
    return gpu_check_launch(ctx, "scaling a level");
}

tess_status find_symmetry(tess_context *ctx, const device_csr *a, double rounding, bool *symmetric)
{
    gpu_scope scope(ctx);
    unsigned long long others = 0, *on_device = nullptr;
    device_csr t = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(device_csr_ops_of(ctx)->transpose(ctx, a, &t, nullptr));
    TESS_TRY(tess_device_upload(ctx, &others, 1, sizeof others, reinterpret_cast<void **>(&on_device)));
    count_unsymmetric_kernel<<<gpu_grid(ctx, a->nrows * TEAM, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
        *a, t, rounding, on_device);
    TESS_TRY(gpu_check_launch(ctx, "comparing a level with its transpose"));
    TESS_TRY(ctx->backend->download(ctx, &others, on_device, sizeof others));
    *symmetric = others == 0;
cleanup:
    tess_device_release(ctx, on_device, 1, sizeof others);
    device_csr_release(ctx, &t);
    return status;
}

tess_status take_part(tess_context *ctx, const device_csr *a, const uint8_t *strong, const amg_device_numbers *coarse,
                      bool rows, device_csr *out)
{
    gpu_scope scope(ctx);
    const int64_t nrows = rows ? coarse->count : a->nrows;
    const unsigned grid = gpu_grid(ctx, nrows, PASS_BLOCKS);
    part_task t = {*a, strong, *coarse, rows, {}};
    int64_t nnz = 0;
    tess_status status = TESS_SUCCESS;

    *out = {};
    TESS_TRY(device_csr_allocate_rows(ctx, nrows, rows ? a->ncols : coarse->count, out));
    t.out = *out;
    take_part_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t, false);
    TESS_TRY(gpu_sum_lengths(ctx, nrows, out->row_ptr, &nnz));
    TESS_TRY(device_csr_allocate_entries(ctx, nnz, false, out));
    t.out = *out;
    take_part_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t, true);
    status = gpu_check_launch(ctx, "strong couplings of coarse unknowns");
cleanup:
    if (status != TESS_SUCCESS) { device_csr_release(ctx, out); }
    return status;
}

tess_status spread_split(tess_context *ctx, const device_csr *paths, const amg_device_numbers *coarse,
                         const uint8_t *split, uint8_t *second)
{
    gpu_scope scope(ctx);
    tess_status status = TESS_SUCCESS;

    static_assert(AMG_FINE == 0, "zeros are fine unknowns");
    TESS_TRY(ctx->backend->zero(ctx, second, static_cast<size_t>(coarse->n)));
    spread_split_kernel<<<gpu_grid(ctx, paths->nrows, PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
        *paths, coarse->list, split, second);
    status = gpu_check_launch(ctx, "the second split");
cleanup:
    return status;
}

} // namespace

extern "C" const amg_device_ops *amg_device_gpu_ops(void)
{
    static const amg_device_ops table = {find_block_size,
                                         amg_device_find_strong,
                                         amg_device_split,
                                         amg_device_number,
                                         take_part,
                                         spread_split,
                                         amg_device_interpolate,
                                         amg_device_join,
                                         amg_device_plan_weights,
                                         amg_device_weigh_again,
                                         amg_device_join_again,
                                         scale,
                                         find_range,
                                         scaled_values,
                                         find_symmetry,
                                         open_extremes,
                                         read_extremes,
                                         amg_device_store_again,
                                         amg_device_estimate_spectra,
                                         amg_device_read_spectra,
                                         amg_device_sample_largest,
                                         amg_device_sample_sums};

    return &table;
}
