/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Approximate inverses on the GPU: a wave computes a row by a small dense factorization in shared memory, one lane for
 * each of its rows. Operations and their order are those of inverse_host.c, and nothing is contracted: host and device
 * give the same bits. Rows are sorted into bins by length, so that short ones take little shared memory.
 */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include <tessera/names.h>

#include "device/gpu/gpu.h"
#include "device/gpu/scan_grid.cuh"
#include "matrix/assembled.h"
#include "matrix/row_bins.cuh"
#include "precond/inverse/inverse_device.cuh"

tess_status inverse_require_offsets(tess_context *ctx, int64_t nnz)
{
    if (nnz <= INT32_MAX) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_OUT_OF_RANGE, "use a CPU context (--device cpu), or shorter rows (--inverse-row)",
                     "an approximate inverse has %s; a GPU takes up to %d", tess_count(nnz, "nonzero").text, INT32_MAX);
}

namespace {

/* Blocks of a multiprocessor; a row of A of more entries is searched, not read. */
enum { ROWS_BLOCKS = 16, PATTERN_BLOCKS = 8, LONG_ROW = 256 };

/* What the waves find, in device memory. Doubles are not negative, so that their bits ascend with them. */
struct device_outcome {
    unsigned long long bad_row, mended, shift, largest, smallest;
};

struct rows_task {
    csr_view a;
    bool symmetric;
    double sign;
    const double *diagonal;
    device_csr rows;
    const int32_t *list; /* NULL: all, in their order */
    int64_t count;
    device_outcome *outcome;
};

/* The small system of a row, in shared memory; the leading dimension is odd, for the banks. */
struct small_system {
    int m, own, ld, lane;
    double *a, *x, *given;
    int32_t *column;
    int *flag;
};

/* What a lane has found in its rows. */
struct lane_outcome {
    unsigned long long bad_row, mended;
    double shift, largest, smallest;
};

/* ---- the matrix of a row's columns ---- */

__device__ inline int64_t offset_of(const csr_view &v, int64_t i)
{
    return tess_row_offset(v.row_ptr, v.row_ptr_bits, i);
}

/* As gather_row of the host. A long row is searched for each column. */
__device__ void gather_row(const csr_view &v, const small_system &s, int q, int last, int stride, double sign,
                           double *to)
{
    const double *val = static_cast<const double *>(v.val);
    const int64_t first = offset_of(v, s.column[q]), end = offset_of(v, s.column[q] + 1);

    if (end - first > LONG_ROW) {
        for (int p = s.lane; p <= last; p += GPU_WAVE) {
            const int64_t k = csr_column_from(v.col_ind, first, end, s.column[p]);

            if (k < end && v.col_ind[k] == s.column[p]) { to[stride * p] = sign * val[k]; }
        }
        return;
    }
    for (int64_t k = first + s.lane; k < end; k += GPU_WAVE) {
        const int p = static_cast<int>(csr_column_from(s.column, 0, last + 1, v.col_ind[k]));

        if (p <= last && s.column[p] == v.col_ind[k]) { to[stride * p] = sign * val[k]; }
    }
}

__device__ void clear(const small_system &s)
{
    for (int c = 0; c < s.m; c++) {
        for (int r = s.lane; r < s.m; r += GPU_WAVE) {
            s.a[r + s.ld * c] = 0.0;
        }
    }
    GPU_SYNC_WAVE();
}

__device__ void gather_symmetric(const rows_task &t, const small_system &s, double shift)
{
    clear(s);
    for (int r = 0; r < s.m; r++) {
        gather_row(t.a, s, r, r, s.ld, t.sign, s.a + r);
    }
    GPU_SYNC_WAVE();
    for (int r = s.lane; r < s.m; r += GPU_WAVE) {
        double *own = s.a + r + s.ld * r;

        s.given[r] = *own;
        *own = __dadd_rn(*own, __dmul_rn(shift, *own));
    }
    GPU_SYNC_WAVE();
}

__device__ void gather_general(const rows_task &t, const small_system &s)
{
    clear(s);
    for (int c = 0; c < s.m; c++) {
        gather_row(t.a, s, c, s.m - 1, 1, 1.0, s.a + s.ld * c);
    }
    GPU_SYNC_WAVE();
    for (int c = s.lane; c < s.m; c += GPU_WAVE) {
        double largest = 0.0;

        for (int r = 0; r < s.m; r++) {
            largest = fmax(largest, fabs(s.a[r + s.ld * c]));
        }
        s.given[c] = largest;
    }
    GPU_SYNC_WAVE();
}

/* ---- factorizations ---- */

__device__ bool factor_symmetric(const small_system &s)
{
    for (int k = 0; k < s.m; k++) {
        double *own = s.a + s.ld * k;
        const double pivot = own[k], root = sqrt(pivot);

        if (!(pivot > INVERSE_LEAST_PIVOT * s.given[k])) { return false; }
        GPU_SYNC_WAVE();
        if (s.lane == 0) { own[k] = root; }
        for (int i = k + 1 + s.lane; i < s.m; i += GPU_WAVE) {
            own[i] /= root;
        }
        GPU_SYNC_WAVE();
        for (int i = k + 1 + s.lane; i < s.m; i += GPU_WAVE) {
            const double factor = own[i];

            for (int j = k + 1; j <= i; j++) {
                inverse_subtract(&s.a[i + s.ld * j], own[j], factor);
            }
        }
        GPU_SYNC_WAVE();
    }
    return true;
}

/* x := e_own */
__device__ void set_unit(const small_system &s, double value)
{
    for (int p = s.lane; p < s.m; p += GPU_WAVE) {
        s.x[p] = p == s.own ? value : 0.0;
    }
    GPU_SYNC_WAVE();
}

/* x := L^-T e_m */
__device__ void solve_symmetric(const small_system &s)
{
    set_unit(s, 1.0);
    for (int k = s.m - 1; k >= 0; k--) {
        const double value = s.x[k] / s.a[k + s.ld * k];

        GPU_SYNC_WAVE();
        if (s.lane == 0) { s.x[k] = value; }
        for (int i = s.lane; i < k; i += GPU_WAVE) {
            inverse_subtract(&s.x[i], s.a[k + s.ld * i], value);
        }
        GPU_SYNC_WAVE();
    }
}

/* Every lane computes it for itself. */
__device__ int find_pivot(const double *column, int s, int m)
{
    int pivot = s;

    for (int i = s + 1; i < m; i++) {
        if (fabs(column[i]) > fabs(column[pivot])) { pivot = i; }
    }
    return pivot;
}

__device__ void swap_rows(const small_system &s, int p, int q)
{
    for (int j = s.lane; j <= s.m; j += GPU_WAVE) { /* x counts as the last column */
        double *column = j < s.m ? s.a + s.ld * j : s.x;
        const double value = column[p];

        column[p] = column[q];
        column[q] = value;
    }
}

__device__ bool eliminate(const small_system &s)
{
    for (int k = 0; k < s.m; k++) {
        double *own = s.a + s.ld * k;
        const int pivot = find_pivot(own, k, s.m);
        const double value = own[pivot];

        if (!(fabs(value) > INVERSE_LEAST_PIVOT * s.given[k])) { return false; }
        GPU_SYNC_WAVE();
        if (pivot != k) { swap_rows(s, k, pivot); }
        GPU_SYNC_WAVE();
        for (int i = k + 1 + s.lane; i < s.m; i += GPU_WAVE) {
            const double factor = own[i] / value;

            own[i] = factor;
            for (int j = k + 1; j < s.m; j++) {
                inverse_subtract(&s.a[i + s.ld * j], s.a[k + s.ld * j], factor);
            }
            inverse_subtract(&s.x[i], s.x[k], factor);
        }
        GPU_SYNC_WAVE();
    }
    return true;
}

/* x := A^-1 x */
__device__ bool solve_general(const small_system &s)
{
    if (!eliminate(s)) { return false; }
    for (int k = s.m - 1; k >= 0; k--) {
        const double value = s.x[k] / s.a[k + s.ld * k];

        GPU_SYNC_WAVE();
        if (s.lane == 0) { s.x[k] = value; }
        for (int i = s.lane; i < k; i += GPU_WAVE) {
            inverse_subtract(&s.x[i], value, s.a[i + s.ld * k]);
        }
        GPU_SYNC_WAVE();
    }
    return true;
}

/* ---- rows ---- */

/* Whether `count` columns of m values are finite; for all lanes. */
__device__ bool is_finite(const small_system &s, int count, const double *columns)
{
    if (s.lane == 0) { *s.flag = 0; }
    GPU_SYNC_WAVE();
    for (int c = 0; c < count; c++) {
        for (int r = s.lane; r < s.m; r += GPU_WAVE) {
            const double value = columns[r + s.ld * c];

            if (value - value != 0.0) { *s.flag = 1; }
        }
    }
    GPU_SYNC_WAVE();
    const bool finite = *s.flag == 0;

    GPU_SYNC_WAVE();
    return finite;
}

__device__ bool compute_symmetric(const rows_task &t, const small_system &s, double *shift)
{
    bool done = false;

    for (int tried = 0; tried <= INVERSE_SHIFTS && !done; tried++) {
        *shift = tried == 0 ? 0.0 : ldexp(INVERSE_FIRST_SHIFT, tried - 1);
        gather_symmetric(t, s, *shift);
        done = factor_symmetric(s);
        GPU_SYNC_WAVE();
    }
    if (done) { solve_symmetric(s); }
    return done && is_finite(s, 1, s.x);
}

__device__ bool compute_general(const rows_task &t, const small_system &s, bool *mended)
{
    const double inverse = 1.0 / t.diagonal[s.column[s.own]];

    gather_general(t, s);
    if (!is_finite(s, s.m, s.a)) { return false; }
    set_unit(s, 1.0);
    *mended = !solve_general(s);
    GPU_SYNC_WAVE();
    *mended = !is_finite(s, 1, s.x) || *mended;
    if (!*mended) { return true; }
    set_unit(s, inverse);
    return inverse - inverse == 0.0;
}

__device__ void note_row(const rows_task &t, const small_system &s, double shift, bool mended, lane_outcome *own)
{
    double largest = 0.0;

    for (int p = 0; p < s.m; p++) {
        largest = fmax(largest, fabs(s.x[p]));
    }
    own->mended += mended || shift > 0.0 ? 1U : 0U;
    own->shift = fmax(own->shift, shift);
    own->largest = fmax(own->largest, largest);
    own->smallest = fmin(own->smallest, t.symmetric ? s.x[s.own] : largest);
}

__device__ void compute_row(const rows_task &t, small_system s, int64_t i, lane_outcome *own)
{
    const int32_t first = t.rows.row_ptr[i];
    double shift = 0.0;
    bool mended = false, done = false;

    s.m = t.rows.row_ptr[i + 1] - first;
    for (int p = s.lane; p < s.m; p += GPU_WAVE) {
        s.column[p] = t.rows.col_ind[first + p];
    }
    GPU_SYNC_WAVE();
    s.own = static_cast<int>(csr_column_from(s.column, 0, s.m, i));
    done = t.symmetric ? compute_symmetric(t, s, &shift) : compute_general(t, s, &mended);
    if (done && s.lane == 0) { note_row(t, s, shift, mended, own); }
    if (!done && static_cast<unsigned long long>(i) < own->bad_row) {
        own->bad_row = static_cast<unsigned long long>(i);
    }
    for (int p = s.lane; p < s.m; p += GPU_WAVE) {
        t.rows.val[first + p] = s.x[p];
    }
    GPU_SYNC_WAVE();
}

__device__ inline unsigned long long bits_of(double value)
{
    return static_cast<unsigned long long>(__double_as_longlong(value));
}

__device__ void report(const rows_task &t, const lane_outcome &own)
{
    if (own.bad_row != ULLONG_MAX) { atomicMin(&t.outcome->bad_row, own.bad_row); }
    if (own.mended > 0) { atomicAdd(&t.outcome->mended, own.mended); }
    if (own.shift > 0.0) { atomicMax(&t.outcome->shift, bits_of(own.shift)); }
    if (own.largest > 0.0) { atomicMax(&t.outcome->largest, bits_of(own.largest)); }
    atomicMin(&t.outcome->smallest, bits_of(own.smallest));
}

/* Rows of up to MOST entries, WAVES of them at once in a block. */
template <int MOST, int WAVES>
__global__ void __launch_bounds__(WAVES *GPU_WAVE) rows_kernel(const rows_task t)
{
    __shared__ double a[WAVES][MOST * (MOST | 1)], x[WAVES][MOST], given[WAVES][MOST];
    __shared__ int32_t column[WAVES][MOST];
    __shared__ int flag[WAVES];
    const int wave = static_cast<int>(threadIdx.x) / GPU_WAVE, lane = static_cast<int>(threadIdx.x) % GPU_WAVE;
    const small_system s = {0, 0, MOST | 1, lane, a[wave], x[wave], given[wave], column[wave], &flag[wave]};
    lane_outcome own = {ULLONG_MAX, 0, 0.0, 0.0, DBL_MAX};

    for (int64_t k = static_cast<int64_t>(blockIdx.x) * WAVES + wave; k < t.count;
         k += static_cast<int64_t>(gridDim.x) * WAVES) {
        compute_row(t, s, t.list ? t.list[k] : k, &own);
    }
    if (lane == 0) { report(t, own); }
}

template <int MOST, int WAVES>
tess_status launch_rows(tess_context *ctx, const rows_task &t)
{
    const int64_t needed = (t.count + WAVES - 1) / WAVES;
    const int64_t most = static_cast<int64_t>(gpu_state_of(ctx)->multiprocessors) * ROWS_BLOCKS;

    if (t.count == 0) { return TESS_SUCCESS; }
    rows_kernel<MOST, WAVES>
        <<<static_cast<unsigned>(needed < most ? needed : most), WAVES * GPU_WAVE, 0, gpu_stream_of(ctx)>>>(t);
    return gpu_check_launch(ctx, "rows of an approximate inverse");
}

tess_status compute_bins(tess_context *ctx, rows_task *t, inverse_outcome *out)
{
    const bin_limits limits = {3, {16, 32, INT32_MAX}};
    const row_sizes sizes = {t->rows.row_ptr, true};
    device_outcome found = {ULLONG_MAX, 0, 0, 0, 0};
    const double most = DBL_MAX;
    row_bins bins = {};
    tess_status status = TESS_SUCCESS;

    memcpy(&found.smallest, &most, sizeof most);
    TESS_TRY(row_bins_make(ctx, t->rows.nrows, sizes, limits, &bins));
    TESS_TRY(tess_device_upload(ctx, &found, 1, sizeof found, reinterpret_cast<void **>(&t->outcome)));
    for (int b = 0; b < limits.count; b++) {
        t->list = row_bins_list(&bins, b);
        t->count = bins.rows[b];
        TESS_TRY(b == 0   ? (launch_rows<16, 8>(ctx, *t))
                 : b == 1 ? (launch_rows<32, 4>(ctx, *t))
                          : (launch_rows<INVERSE_MOST_ENTRIES, 1>(ctx, *t)));
    }
    TESS_TRY(ctx->backend->download(ctx, &found, t->outcome, sizeof found));
    *out = {};
    out->bad_row = found.bad_row == ULLONG_MAX ? -1 : static_cast<int64_t>(found.bad_row);
    out->mended = static_cast<int64_t>(found.mended);
    memcpy(&out->shift, &found.shift, sizeof out->shift);
    memcpy(&out->largest, &found.largest, sizeof out->largest);
    memcpy(&out->smallest, &found.smallest, sizeof out->smallest);
cleanup:
    tess_device_release(ctx, t->outcome, 1, sizeof found);
    row_bins_free(ctx, &bins);
    return status;
}

tess_status compute(const inverse_request *q, inverse_rows *rows, inverse_outcome *out)
{
    tess_context *ctx = q->a->ctx;
    gpu_scope scope(ctx);
    device_csr *own = &rows->device;
    rows_task t = {};
    tess_status status = TESS_SUCCESS;

    if (!own->val) {
        TESS_TRY(tess_device_allocate(ctx, own->nnz, sizeof *own->val, reinterpret_cast<void **>(&own->val)));
    }
    t.a = csr_of(q->a)->view;
    t.symmetric = q->symmetric;
    t.sign = q->negative ? -1.0 : 1.0;
    t.diagonal = q->diagonal;
    t.rows = *own;
    status = compute_bins(ctx, &t, out);
cleanup:
    return status;
}

/* ---- patterns ---- */

/* Which entries of a row stay. */
enum pattern_rule {
    TAKE_ALL,
    TAKE_LARGE, /* of A: at least `least` times the largest off the diagonal, both scaled by A's diagonal */
    TAKE_USEFUL /* of the inverse: at least `least` times the diagonal one, likewise */
};

struct pattern_task {
    csr_view from;
    pattern_rule rule;
    bool lower;
    double least;
    const double *diagonal;
    device_csr to;
    int *longest;
};

__device__ inline double weight_of(const pattern_task &t, int64_t i, int64_t k)
{
    const double value = fabs(static_cast<const double *>(t.from.val)[k]);
    const double column = t.diagonal[t.from.col_ind[k]];

    return t.rule == TAKE_USEFUL ? value * sqrt(fabs(column))
                                 : value * (inverse_scale_of(t.diagonal[i]) * inverse_scale_of(column));
}

__device__ double least_weight(const pattern_task &t, int64_t i, int64_t first, int64_t end)
{
    double largest = 0.0;

    if (t.rule == TAKE_ALL) { return 0.0; }
    if (t.rule == TAKE_USEFUL) {
        const double own =
            fabs(static_cast<const double *>(t.from.val)[csr_column_from(t.from.col_ind, first, end, i)]);

        return t.least * own * sqrt(fabs(t.diagonal[i]));
    }
    for (int64_t k = first; k < end; k++) {
        if (t.from.col_ind[k] != i) { largest = fmax(largest, weight_of(t, i, k)); }
    }
    return t.least * largest;
}

/* Row i, with its diagonal entry. Returns its length; writes it unless out is NULL. */
__device__ int64_t pattern_row(const pattern_task &t, int64_t i, int32_t *out)
{
    const int64_t first = offset_of(t.from, i), end = offset_of(t.from, i + 1);
    const double least = least_weight(t, i, first, end);
    bool passed = false;
    int64_t count = 0;

    for (int64_t k = first; k < end; k++) {
        const int32_t j = t.from.col_ind[k];

        if (j == i || (t.lower && j > i)) { continue; }
        if (t.rule != TAKE_ALL && !(weight_of(t, i, k) >= least)) { continue; }
        if (j > i && !passed) {
            passed = true;
            if (out) { out[count] = static_cast<int32_t>(i); }
            count++;
        }
        if (out) { out[count] = j; }
        count++;
    }
    if (!passed && out) { out[count] = static_cast<int32_t>(i); }
    return count + (passed ? 0 : 1);
}

__global__ void __launch_bounds__(GPU_BLOCK) count_kernel(const pattern_task t)
{
    int longest = 0;

    for (int64_t i = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; i < t.to.nrows;
         i += static_cast<int64_t>(gridDim.x) * GPU_BLOCK) {
        const int64_t length = pattern_row(t, i, nullptr);

        t.to.row_ptr[i + 1] = static_cast<int32_t>(length < INT32_MAX ? length : INT32_MAX);
        longest = max(longest, t.to.row_ptr[i + 1]);
    }
    atomicMax(t.longest, longest);
}

__global__ void __launch_bounds__(GPU_BLOCK) fill_kernel(const pattern_task t)
{
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; i < t.to.nrows;
         i += static_cast<int64_t>(gridDim.x) * GPU_BLOCK) {
        pattern_row(t, i, t.to.col_ind + t.to.row_ptr[i]);
    }
}

csr_view view_of(const device_csr &a)
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

/* *to := the pattern, unless a row has more than `most` entries: then there is none. */
tess_status make_pattern(tess_context *ctx, int most, pattern_task t, device_csr *to)
{
    const int64_t n = t.from.nrows;
    const unsigned grid = gpu_grid(ctx, n, PATTERN_BLOCKS);
    int64_t total = 0;
    int longest = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_upload(ctx, &longest, 1, sizeof longest, reinterpret_cast<void **>(&t.longest)));
    TESS_TRY(device_csr_allocate_rows(ctx, n, n, to));
    t.to = *to;
    count_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    TESS_TRY(gpu_check_launch(ctx, "lengths of an approximate inverse's rows"));
    TESS_TRY(ctx->backend->download(ctx, &longest, t.longest, sizeof longest));
    if (longest > most) {
        device_csr_release(ctx, to);
        goto cleanup;
    }
    TESS_TRY(gpu_sum_lengths(ctx, n, to->row_ptr, &total));
    TESS_TRY(inverse_require_offsets(ctx, total));
    TESS_TRY(device_csr_allocate_entries(ctx, total, false, to));
    t.to = *to;
    fill_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    status = gpu_check_launch(ctx, "the pattern of an approximate inverse");
cleanup:
    tess_device_release(ctx, t.longest, 1, sizeof longest);
    if (status != TESS_SUCCESS) { device_csr_release(ctx, to); }
    return status;
}

/* The large entries of A. */
pattern_task large_entries(const inverse_request *q)
{
    pattern_task t = {};

    t.from = csr_of(q->a)->view;
    t.rule = q->entries.threshold > 0.0 ? TAKE_LARGE : TAKE_ALL;
    t.least = q->entries.threshold;
    t.diagonal = q->diagonal;
    t.lower = q->symmetric;
    return t;
}

/* The same of a power, by products of patterns, if no row is so long that the host would cut it. */
tess_status find_power(const inverse_request *q, device_csr *out)
{
    tess_context *ctx = q->a->ctx;
    const int most = 2 * q->entries.row;
    pattern_task t = large_entries(q);
    device_csr base = {}, power = {}, product = {};
    tess_status status = TESS_SUCCESS;

    t.lower = false;
    TESS_TRY(make_pattern(ctx, most, t, &base));
    t.rule = TAKE_ALL;
    for (int k = 1; base.row_ptr && k < q->entries.power; k++) {
        TESS_TRY(device_csr_ops_of(ctx)->multiply(ctx, k == 1 ? &base : &power, &base, &product));
        device_csr_release(ctx, &power);
        t.from = view_of(product);
        TESS_TRY(make_pattern(ctx, most, t, &power));
        device_csr_release(ctx, &product);
        if (!power.row_ptr) { goto cleanup; }
    }
    if (!base.row_ptr) { goto cleanup; }
    t.from = view_of(power);
    t.lower = q->symmetric;
    status = make_pattern(ctx, q->entries.row, t, out);
cleanup:
    device_csr_release(ctx, &product);
    device_csr_release(ctx, &power);
    device_csr_release(ctx, &base);
    return status;
}

tess_status take_pattern(tess_context *ctx, host_csr *host, inverse_rows *rows)
{
    const int64_t nnz = host_csr_nnz(host);
    device_csr *out = &rows->device;
    int32_t *row_ptr = nullptr;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(inverse_require_offsets(ctx, nnz));
    TESS_TRY(device_csr_allocate_rows(ctx, host->nrows, host->ncols, out));
    TESS_TRY(device_csr_allocate_entries(ctx, nnz, false, out));
    TESS_TRY(tess_host_allocate(ctx, host->nrows + 1, sizeof *row_ptr, reinterpret_cast<void **>(&row_ptr)));
    for (int64_t i = 0; i <= host->nrows; i++) {
        row_ptr[i] = static_cast<int32_t>(host->row_ptr[i]);
    }
    TESS_TRY(ctx->backend->upload(ctx, out->row_ptr, row_ptr, static_cast<size_t>(host->nrows + 1) * sizeof *row_ptr));
    status = ctx->backend->upload(ctx, out->col_ind, host->col_ind, static_cast<size_t>(nnz) * sizeof *out->col_ind);
cleanup:
    tess_host_release(ctx, row_ptr, host->nrows + 1, sizeof *row_ptr);
    return status;
}

/* The host has what is too large here: powers whose rows it cuts, and tables of adaptive patterns. */
tess_status find_pattern(const inverse_request *q, inverse_rows *rows, bool *found)
{
    tess_context *ctx = q->a->ctx;
    gpu_scope scope(ctx);
    device_csr *own = &rows->device;
    const tess_error before = ctx->error;
    tess_status status = TESS_SUCCESS;

    if (q->entries.adaptive) {
        status = inverse_adapt_on_device(q, own);
    } else if (q->entries.power == 1) {
        status = make_pattern(ctx, q->entries.row, large_entries(q), own);
    } else {
        status = find_power(q, own);
    }
    if ((status == TESS_OUT_OF_RANGE && q->entries.power > 1) ||
        (status == TESS_OUT_OF_DEVICE_MEMORY && q->entries.adaptive)) {
        ctx->error = before;
        status = TESS_SUCCESS;
    }
    *found = own->row_ptr != nullptr;
    return status;
}

tess_status drop_small(const inverse_request *q, inverse_rows *rows)
{
    tess_context *ctx = q->a->ctx;
    gpu_scope scope(ctx);
    pattern_task t = {};
    device_csr kept = {};
    tess_status status = TESS_SUCCESS;

    t.from = view_of(rows->device);
    t.rule = TAKE_USEFUL;
    t.least = q->entries.filter;
    t.diagonal = q->diagonal;
    TESS_TRY(make_pattern(ctx, INVERSE_MOST_ENTRIES, t, &kept));
    device_csr_release(ctx, &rows->device);
    rows->device = kept;
cleanup:
    return status;
}

/* ---- matrices ---- */

/* A copy of the pattern, which takes the values. */
tess_status take_values(tess_context *ctx, device_csr *rows, device_csr *out)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(device_csr_allocate_rows(ctx, rows->nrows, rows->ncols, out));
    TESS_TRY(device_csr_allocate_entries(ctx, rows->nnz, false, out));
    TESS_TRY(ctx->backend->copy(ctx, out->row_ptr, rows->row_ptr,
                                static_cast<size_t>(rows->nrows + 1) * sizeof *out->row_ptr));
    TESS_TRY(
        ctx->backend->copy(ctx, out->col_ind, rows->col_ind, static_cast<size_t>(rows->nnz) * sizeof *out->col_ind));
    out->val = rows->val;
    rows->val = nullptr;
cleanup:
    return status;
}

tess_status scale_values(tess_context *ctx, double factor, const device_csr *rows)
{
    tess_fused op = {};

    if (factor == 1.0 || rows->nnz == 0) { return TESS_SUCCESS; }
    op.op = TESS_FUSED_SCALE;
    op.n = rows->nnz;
    op.x.data = rows->val;
    op.y.data = rows->val;
    op.result = rows->val;
    op.a = factor;
    return ctx->backend->fused(ctx, &op);
}

tess_status to_matrices(tess_context *ctx, inverse_rows *rows, double factor, tess_matrix **m, tess_matrix **transpose)
{
    gpu_scope scope(ctx);
    device_csr turned = {}, own = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(scale_values(ctx, factor, &rows->device));
    if (transpose) {
        TESS_TRY(device_csr_ops_of(ctx)->transpose(ctx, &rows->device, &turned, nullptr));
        TESS_TRY(device_csr_to_matrix(ctx, &turned, transpose));
    }
    TESS_TRY(take_values(ctx, &rows->device, &own));
    status = device_csr_to_matrix(ctx, &own, m);
cleanup:
    device_csr_release(ctx, &turned);
    device_csr_release(ctx, &own);
    return status;
}

int64_t entries(const inverse_rows *rows)
{
    return rows->device.nnz;
}

int64_t bytes(const inverse_rows *rows)
{
    return device_csr_bytes(&rows->device);
}

void release(tess_context *ctx, inverse_rows *rows)
{
    gpu_scope scope(ctx);

    device_csr_release(ctx, &rows->device);
}

const inverse_ops operations = {find_pattern, take_pattern, compute, drop_small, to_matrices, entries, bytes, release};

} // namespace

extern "C" const inverse_ops *inverse_gpu_ops(void)
{
    return &operations;
}
