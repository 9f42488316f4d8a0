/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of approximate inverses on the GPU, as inverse_pattern.c makes them: the same weights, bit by bit, and of
 * rows that are too long the same entries. A wave takes a row.
 */
#include <limits.h>

#include "device/gpu/scan_grid.cuh"
#include "matrix/assembled.h"
#include "precond/inverse/inverse_pattern_device.cuh"

namespace {

/* Waves of a block. A digit of a weight's bits is counted at a time. */
enum { WAVES = GPU_BLOCK / GPU_WAVE, DIGIT_BITS = 4, DIGITS = 1 << DIGIT_BITS };
enum { WEIGHT_BITS = 64, NEARNESS_BITS = 36 };
/* The row of a wave; column i is its diagonal. */
struct wave_row {
    int64_t i, first, end;
    double least;
    int lane;
    int *count; /* DIGITS counters in shared memory */
};

/* Of a row that is too long: entries of larger weights stay, and of weights equal to this those that are near enough.
 */
struct row_cut {
    bool cuts;
    uint64_t weight, nearness;
};

/* ---- weights ---- */

__device__ inline double weight_of(const pattern_task &t, int64_t i, int64_t k)
{
    if (!t.from.val) { return 1.0; } /* of a pattern, all are equal */
    const double value = static_cast<const double *>(t.from.val)[k];

    if (t.rule == TAKE_WEIGHTS) { return value; }
    const double column = t.diagonal[t.from.col_ind[k]];

    return t.rule == TAKE_USEFUL ? fabs(value) * sqrt(fabs(column))
                                 : fabs(value) * (inverse_scale_of(t.diagonal[i]) * inverse_scale_of(column));
}

__device__ inline double wave_largest(double value)
{
    for (int distance = GPU_WAVE / 2; distance > 0; distance /= 2) {
        value = fmax(value, GPU_SHUFFLE_XOR(value, distance));
    }
    return value;
}

__device__ double least_weight(const pattern_task &t, const wave_row &r)
{
    double largest = 0.0;

    if (t.rule == TAKE_WEIGHTS || !(t.least > 0.0)) { return 0.0; }
    if (t.rule == TAKE_USEFUL) {
        const double own =
            fabs(static_cast<const double *>(t.from.val)[csr_column_from(t.from.col_ind, r.first, r.end, r.i)]);

        return t.least * own * sqrt(fabs(t.diagonal[r.i]));
    }
    for (int64_t k = r.first + r.lane; k < r.end; k += GPU_WAVE) {
        if (t.from.col_ind[k] != r.i) { largest = fmax(largest, weight_of(t, r.i, k)); }
    }
    return t.least * wave_largest(largest);
}

__device__ wave_row open_row(const pattern_task &t, int64_t row, int lane, int *count)
{
    wave_row r = {t.first_row + row,
                  tess_row_offset(t.from.row_ptr, t.from.row_ptr_bits, row),
                  tess_row_offset(t.from.row_ptr, t.from.row_ptr_bits, row + 1),
                  0.0,
                  lane,
                  count};

    r.least = least_weight(t, r);
    return r;
}

/* Whether an entry off the diagonal may stay. False for NaN. */
__device__ inline bool may_stay(const pattern_task &t, const wave_row &r, int64_t k)
{
    const int32_t j = t.from.col_ind[k];

    return j != r.i && !(t.lower && j > r.i) && weight_of(t, r.i, k) >= r.least;
}

/* Beside the diagonal entry. */
__device__ int64_t count_row(const pattern_task &t, const wave_row &r)
{
    int64_t count = 0;

    for (int64_t base = r.first; base < r.end; base += GPU_WAVE) {
        const int64_t k = base + r.lane;

        count += GPU_COUNT_LANES(GPU_BALLOT(k < r.end && may_stay(t, r, k)));
    }
    return count;
}

/* ---- the largest entries of a row ---- */

/* Weights are not negative, so that their bits ascend with them. */
__device__ inline uint64_t bits_of(double weight)
{
    return static_cast<uint64_t>(__double_as_longlong(weight));
}

/* Larger for columns nearer to the diagonal, of two as near for the one before it. */
__device__ inline uint64_t nearness_of(const pattern_task &t, const wave_row &r, int64_t k)
{
    const int64_t j = t.from.col_ind[k], far = j > r.i ? 2 * (j - r.i) + 1 : 2 * (r.i - j);

    return (UINT64_C(1) << NEARNESS_BITS) - 1 - static_cast<uint64_t>(far);
}

/* The *need-th largest key of a row, digit by digit (a radix selection); key(k, &value) says whether entry k has one.
   Returns true if all keys from *found on are wanted; else as many as *need of those that are equal to it. */
template <typename KEY>
__device__ bool select_largest(const wave_row &r, int bits, int64_t *need, uint64_t *found, KEY key)
{
    *found = 0;
    for (int shift = bits - DIGIT_BITS; shift >= 0; shift -= DIGIT_BITS) {
        int digit = DIGITS - 1;

        for (int d = r.lane; d < DIGITS; d += GPU_WAVE) {
            r.count[d] = 0;
        }
        GPU_SYNC_WAVE();
        for (int64_t k = r.first + r.lane; k < r.end; k += GPU_WAVE) {
            uint64_t value = 0;

            if (!key(k, &value)) { continue; }
            value = (value ^ *found) >> shift; /* the digit, if the digits before are those that were found */
            if (value < DIGITS) { atomicAdd(&r.count[value], 1); }
        }
        GPU_SYNC_WAVE();
        while (digit > 0 && r.count[digit] < *need) {
            *need -= r.count[digit--];
        }
        *found |= static_cast<uint64_t>(digit) << shift;
        const bool all = r.count[digit] == *need;

        GPU_SYNC_WAVE();
        if (all) { return true; }
    }
    return false;
}

/* By the order of comes_first of the host: the diagonal, then larger weights, then nearer columns. */
__device__ row_cut cut_row(const pattern_task &t, const wave_row &r)
{
    row_cut cut = {true, UINT64_MAX, 0};
    int64_t need = t.most - 1;
    const bool all = need == 0 || select_largest(r, WEIGHT_BITS, &need, &cut.weight, [&](int64_t k, uint64_t *value) {
                         *value = may_stay(t, r, k) ? bits_of(weight_of(t, r.i, k)) : 0;
                         return may_stay(t, r, k);
                     });

    if (all) { return cut; }
    (void)select_largest(r, NEARNESS_BITS, &need, &cut.nearness, [&](int64_t k, uint64_t *value) {
        *value = nearness_of(t, r, k);
        return may_stay(t, r, k) && bits_of(weight_of(t, r.i, k)) == cut.weight;
    });
    return cut;
}

__device__ inline bool stays(const pattern_task &t, const wave_row &r, const row_cut &cut, int64_t k)
{
    if (!may_stay(t, r, k)) { return false; }
    if (!cut.cuts) { return true; }
    const uint64_t weight = bits_of(weight_of(t, r.i, k));

    return weight > cut.weight || (weight == cut.weight && nearness_of(t, r, k) >= cut.nearness);
}

/* ---- passes ---- */

/* Columns, and weights if they are wanted, with a diagonal entry of weight 1. */
__device__ void write_row(const pattern_task &t, const wave_row &r, const row_cut &cut, int32_t begin)
{
    const gpu_lanes earlier = (static_cast<gpu_lanes>(1) << r.lane) - 1;
    int32_t written = 0, before = 0;

    for (int64_t base = r.first; base < r.end; base += GPU_WAVE) {
        const int64_t k = base + r.lane;
        const bool own = k < r.end && stays(t, r, cut, k);
        const int32_t j = own ? t.from.col_ind[k] : 0;
        const gpu_lanes lanes = GPU_BALLOT(own);
        const int32_t at = begin + written + static_cast<int32_t>(GPU_COUNT_LANES(lanes & earlier)) + (j > r.i ? 1 : 0);

        if (own) { t.to.col_ind[at] = j; }
        if (own && t.to.val) { t.to.val[at] = weight_of(t, r.i, k); }
        written += static_cast<int32_t>(GPU_COUNT_LANES(lanes));
        before += static_cast<int32_t>(GPU_COUNT_LANES(GPU_BALLOT(own && j < r.i)));
    }
    if (r.lane != 0) { return; }
    t.to.col_ind[begin + before] = static_cast<int32_t>(r.i);
    if (t.to.val) { t.to.val[begin + before] = 1.0; }
}

__device__ inline int64_t first_wave(void)
{
    return static_cast<int64_t>(blockIdx.x) * WAVES + threadIdx.x / GPU_WAVE;
}

__global__ void __launch_bounds__(GPU_BLOCK) count_kernel(const pattern_task t)
{
    const int lane = static_cast<int>(threadIdx.x) % GPU_WAVE;
    int64_t longest = 0;

    for (int64_t row = first_wave(); row < t.to.nrows; row += static_cast<int64_t>(gridDim.x) * WAVES) {
        const int64_t length = count_row(t, open_row(t, row, lane, nullptr)) + 1;

        if (lane == 0) { t.to.row_ptr[row + 1] = static_cast<int32_t>(min(length, static_cast<int64_t>(t.most))); }
        longest = max(longest, length);
    }
    if (lane == 0) { atomicMax(t.longest, static_cast<int>(min(longest, static_cast<int64_t>(INT32_MAX)))); }
}

__global__ void __launch_bounds__(GPU_BLOCK) fill_kernel(const pattern_task t)
{
    __shared__ int count[WAVES][DIGITS];
    const int wave = static_cast<int>(threadIdx.x) / GPU_WAVE, lane = static_cast<int>(threadIdx.x) % GPU_WAVE;

    for (int64_t row = first_wave(); row < t.to.nrows; row += static_cast<int64_t>(gridDim.x) * WAVES) {
        const wave_row r = open_row(t, row, lane, count[wave]);
        row_cut cut = {false, 0, 0};

        if (r.end - r.first >= t.most && count_row(t, r) >= t.most) { cut = cut_row(t, r); }
        write_row(t, r, cut, t.to.row_ptr[row]);
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) longest_row_kernel(const csr_view a, int *longest)
{
    int64_t own = 0;

    for (int64_t i = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; i < a.nrows;
         i += static_cast<int64_t>(gridDim.x) * GPU_BLOCK) {
        own =
            max(own, tess_row_offset(a.row_ptr, a.row_ptr_bits, i + 1) - tess_row_offset(a.row_ptr, a.row_ptr_bits, i));
    }
    atomicMax(longest, static_cast<int>(min(own, static_cast<int64_t>(INT32_MAX))));
}

} // namespace

/* ---- all ---- */

csr_view inverse_view_of(const device_csr &a)
{
    csr_view v = {};

    v.nrows = a.nrows;
    v.ncols = a.ncols;
    v.nnz = a.nnz;
    v.row_ptr = a.row_ptr;
    v.row_ptr_bits = 32;
    v.col_ind = a.col_ind;
    v.val = a.val;
    return v;
}

tess_status inverse_keep_rows(tess_context *ctx, pattern_task t, bool weights, device_csr *to)
{
    const int64_t n = t.from.nrows;
    const unsigned grid = gpu_grid(ctx, n * GPU_WAVE, PATTERN_BLOCKS);
    int64_t total = 0;
    int longest = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_upload(ctx, &longest, 1, sizeof longest, reinterpret_cast<void **>(&t.longest)));
    TESS_TRY(device_csr_allocate_rows(ctx, n, t.from.ncols, to));
    t.to = *to;
    count_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    TESS_TRY(gpu_check_launch(ctx, "lengths of an approximate inverse's rows"));
    TESS_TRY(ctx->backend->download(ctx, &longest, t.longest, sizeof longest));
    if (longest > t.most && !t.from.val) {
        device_csr_release(ctx, to);
        goto cleanup;
    }
    TESS_TRY(gpu_sum_lengths(ctx, n, to->row_ptr, &total));
    TESS_TRY(inverse_require_offsets(ctx, total));
    TESS_TRY(device_csr_allocate_entries(ctx, total, weights, to));
    t.to = *to;
    fill_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    status = gpu_check_launch(ctx, "the pattern of an approximate inverse");
cleanup:
    tess_device_release(ctx, t.longest, 1, sizeof longest);
    if (status != TESS_SUCCESS) { device_csr_release(ctx, to); }
    return status;
}

pattern_task inverse_large_entries(const inverse_request *q, bool lower, int most)
{
    pattern_task t = {};

    t.from = csr_of(q->a)->view;
    t.rule = TAKE_LARGE;
    t.lower = lower;
    t.most = most;
    t.least = q->entries.threshold;
    t.diagonal = q->diagonal;
    return t;
}

tess_status inverse_longest_row(tess_context *ctx, const csr_view *a, int *longest)
{
    int *on_device = nullptr;
    tess_status status = TESS_SUCCESS;

    *longest = 0;
    TESS_TRY(tess_device_upload(ctx, longest, 1, sizeof *longest, reinterpret_cast<void **>(&on_device)));
    longest_row_kernel<<<gpu_grid(ctx, a->nrows, PATTERN_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*a, on_device);
    TESS_TRY(gpu_check_launch(ctx, "lengths of rows"));
    status = ctx->backend->download(ctx, longest, on_device, sizeof *longest);
cleanup:
    tess_device_release(ctx, on_device, 1, sizeof *longest);
    return status;
}

tess_status inverse_pattern_on_device(const inverse_request *q, inverse_rows *rows, bool *found)
{
    tess_context *ctx = q->a->ctx;
    gpu_scope scope(ctx);
    device_csr *own = &rows->device;
    const tess_error before = ctx->error;
    const bool grown = q->entries.adaptive || q->entries.power > 1;
    tess_status status = TESS_SUCCESS;

    if (q->entries.adaptive) {
        status = inverse_adapt_on_device(q, own);
    } else if (q->entries.power > 1) {
        status = inverse_power_on_device(q, own);
    } else {
        status = inverse_keep_rows(ctx, inverse_large_entries(q, q->symmetric, q->entries.row), false, own);
    }
    if (grown && (status == TESS_OUT_OF_RANGE || status == TESS_OUT_OF_DEVICE_MEMORY)) {
        ctx->error = before;
        status = TESS_SUCCESS;
    }
    *found = own->row_ptr != nullptr;
    return status;
}

tess_status inverse_drop_small_on_device(const inverse_request *q, inverse_rows *rows)
{
    tess_context *ctx = q->a->ctx;
    gpu_scope scope(ctx);
    pattern_task t = {};
    device_csr kept = {};
    tess_status status = TESS_SUCCESS;

    t.from = inverse_view_of(rows->device);
    t.rule = TAKE_USEFUL;
    t.most = INVERSE_MOST_ENTRIES;
    t.least = q->entries.filter;
    t.diagonal = q->diagonal;
    TESS_TRY(inverse_keep_rows(ctx, t, false, &kept));
    device_csr_release(ctx, &rows->device);
    rows->device = kept;
cleanup:
    return status;
}
