/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of approximate inverses on the GPU: a wave computes a row by a small dense factorization in shared memory, one
 * lane for each of its rows. Operations and their order are those of inverse_host.c, and nothing is contracted: host
 * and device give the same bits. Rows are sorted into bins by length, so that short ones take little shared memory.
 */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "device/gpu/gpu.h"
#include "matrix/assembled.h"
#include "matrix/row_bins.cuh"
#include "precond/inverse/inverse_device.cuh"

namespace {

/* Blocks of a multiprocessor, more than run at once, so that the last ones are short. A row of A of more entries is
   searched, not read. Columns of a factor that are computed together. */
enum { ROWS_BLOCKS = 96, LONG_ROW = 256, PANEL = 4 };

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

/* The small system of a row, in shared memory: of G the lower triangle, by columns; of M all, with a leading dimension
   that is odd, for the banks. */
struct small_system {
    int m, own, ld, lane;
    double *a, *x, *given;
    int64_t *begin; /* of the rows of A that belong to the columns, and their lengths */
    int32_t *column, *length;
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

/* Column c of the triangle: its entries from c on. */
__device__ inline double *triangle_column(const small_system &s, int c)
{
    return s.a + c * s.m - c * (c + 1) / 2;
}

/* Where entry (r, c) of the system is; of a triangle r >= c. */
template <bool SYMMETRIC>
__device__ inline double *place_of(const small_system &s, int r, int c)
{
    return SYMMETRIC ? triangle_column(s, c) + r : s.a + r + s.ld * c;
}

/* An entry of A for the calling lane; column -1: none. */
struct lane_entry {
    int32_t column;
    double value;
};

__device__ inline lane_entry load_entry(const csr_view &v, const small_system &s, int q, int at)
{
    lane_entry e = {-1, 0.0};

    if (at < s.length[q] && s.length[q] <= LONG_ROW) {
        e = {v.col_ind[s.begin[q] + at], static_cast<const double *>(v.val)[s.begin[q] + at]};
    }
    return e;
}

/* Row q of the triangle, or column q of A^T: entries in the row's columns up to `last`. */
template <bool SYMMETRIC>
__device__ inline void put_entry(const small_system &s, int q, int last, double sign, const lane_entry &e)
{
    const int p = e.column < 0 ? last + 1 : static_cast<int>(csr_column_from(s.column, 0, last + 1, e.column));

    if (p <= last && s.column[p] == e.column) {
        *(SYMMETRIC ? place_of<true>(s, q, p) : place_of<false>(s, p, q)) = sign * e.value;
    }
}

template <bool SYMMETRIC>
__device__ void search_row(const csr_view &v, const small_system &s, int q, int last, double sign)
{
    const int64_t first = s.begin[q], end = first + s.length[q];

    for (int p = s.lane; p <= last; p += GPU_WAVE) {
        const int64_t k = csr_column_from(v.col_ind, first, end, s.column[p]);

        if (k < end && v.col_ind[k] == s.column[p]) {
            put_entry<SYMMETRIC>(s, q, last, sign, {s.column[p], static_cast<const double *>(v.val)[k]});
        }
    }
}

/* As gather_row of the host, for all rows. The next row's entries are loaded before those of one are put. A long row is
   searched for each column. */
template <bool SYMMETRIC>
__device__ void gather_rows(const csr_view &v, const small_system &s, double sign)
{
    const int entries = SYMMETRIC ? s.m * (s.m + 1) / 2 : s.ld * s.m;

    for (int k = s.lane; k < entries; k += GPU_WAVE) {
        s.a[k] = 0.0;
    }
    for (int q = s.lane; q < s.m; q += GPU_WAVE) {
        s.begin[q] = offset_of(v, s.column[q]);
        s.length[q] = static_cast<int32_t>(offset_of(v, s.column[q] + 1) - s.begin[q]);
    }
    GPU_SYNC_WAVE();
    lane_entry next = load_entry(v, s, 0, s.lane);

    for (int q = 0; q < s.m; q++) {
        const int last = SYMMETRIC ? q : s.m - 1;
        const lane_entry e = next;

        if (q + 1 < s.m) { next = load_entry(v, s, q + 1, s.lane); }
        put_entry<SYMMETRIC>(s, q, last, sign, e);
        if (s.length[q] > LONG_ROW) {
            search_row<SYMMETRIC>(v, s, q, last, sign);
            continue;
        }
        for (int at = s.lane + GPU_WAVE; at < s.length[q]; at += GPU_WAVE) {
            put_entry<SYMMETRIC>(s, q, last, sign, load_entry(v, s, q, at));
        }
    }
    GPU_SYNC_WAVE();
}

__device__ void gather_symmetric(const rows_task &t, const small_system &s, double shift)
{
    gather_rows<true>(t.a, s, t.sign);
    for (int r = s.lane; r < s.m; r += GPU_WAVE) {
        double *own = place_of<true>(s, r, r);

        s.given[r] = *own;
        *own = __dadd_rn(*own, __dmul_rn(shift, *own));
    }
    GPU_SYNC_WAVE();
}

__device__ void gather_general(const rows_task &t, const small_system &s)
{
    gather_rows<false>(t.a, s, 1.0);
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

/* PANEL columns of the triangle from `first` on: row first + lane + t GPU_WAVE in own[t]. What lies outside of the
   triangle has any values. */
template <int SLOTS>
struct panel {
    int first, row[SLOTS];
    double own[SLOTS][PANEL];
};

/* Whether rows of own[t] exist; the same for all lanes. */
template <int SLOTS>
__device__ inline bool has_rows(const small_system &s, const panel<SLOTS> &p, int t)
{
    return t == 0 || p.first + t * GPU_WAVE < s.m;
}

/* Subtracts the terms of the columns before: a row of the panel times the panel's first rows, which are for all lanes.
 */
template <int SLOTS>
__device__ inline void subtract_columns(const small_system &s, panel<SLOTS> *p)
{
#pragma unroll 2
    for (int k = 0; k < p->first; k++) {
        const double *column = triangle_column(s, k);
        double factor[PANEL];

#pragma unroll
        for (int c = 0; c < PANEL; c++) {
            factor[c] = column[min(p->first + c, s.m - 1)];
        }
#pragma unroll
        for (int t = 0; t < SLOTS; t++) {
            if (!has_rows(s, *p, t)) { continue; }
            const double x = column[p->row[t]];

#pragma unroll
            for (int c = 0; c < PANEL; c++) {
                inverse_subtract(&p->own[t][c], factor[c], x);
            }
        }
    }
}

/* The factor's entries, from those of the panel. False: a pivot is not usable. */
template <int SLOTS>
__device__ inline bool factor_panel(const small_system &s, panel<SLOTS> *p)
{
#pragma unroll
    for (int c = 0; c < PANEL; c++) {
        if (p->first + c >= s.m) { continue; } /* the same for all lanes */
        const double pivot = GPU_SHUFFLE(p->own[0][c], c, GPU_WAVE), root = sqrt(pivot);

        if (!(pivot > INVERSE_LEAST_PIVOT * s.given[p->first + c])) { return false; }
#pragma unroll
        for (int t = 0; t < SLOTS; t++) {
            p->own[t][c] = t == 0 && s.lane == c ? root : p->own[t][c] / root;
        }
#pragma unroll
        for (int d = c + 1; d < PANEL; d++) {
            const double factor = GPU_SHUFFLE(p->own[0][c], d, GPU_WAVE);

#pragma unroll
            for (int t = 0; t < SLOTS; t++) {
                inverse_subtract(&p->own[t][d], factor, p->own[t][c]);
            }
        }
    }
    return true;
}

/* Copies the panel's part of the triangle to own, or from it. */
template <int SLOTS, bool STORE>
__device__ inline void move_panel(const small_system &s, panel<SLOTS> *p)
{
#pragma unroll
    for (int t = 0; t < SLOTS; t++) {
        const int row = p->first + s.lane + t * GPU_WAVE;

        p->row[t] = min(row, s.m - 1);
#pragma unroll
        for (int c = 0; c < PANEL; c++) {
            const bool is_there = row < s.m && row >= p->first + c;

            if (STORE && is_there) { triangle_column(s, p->first + c)[row] = p->own[t][c]; }
            if (!STORE) { p->own[t][c] = is_there ? triangle_column(s, p->first + c)[row] : 0.0; }
        }
    }
}

/* As the host's: each entry loses the terms of one column after another. */
template <int SLOTS>
__device__ bool factor_symmetric(const small_system &s)
{
    panel<SLOTS> p;

    for (p.first = 0; p.first < s.m; p.first += PANEL) {
        move_panel<SLOTS, false>(s, &p);
        subtract_columns(s, &p);
        if (!factor_panel(s, &p)) { return false; }
        move_panel<SLOTS, true>(s, &p);
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
        const double value = s.x[k] / *place_of<true>(s, k, k);

        GPU_SYNC_WAVE();
        if (s.lane == 0) { s.x[k] = value; }
        for (int i = s.lane; i < k; i += GPU_WAVE) {
            inverse_subtract(&s.x[i], *place_of<true>(s, k, i), value);
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

template <int SLOTS>
__device__ bool compute_symmetric(const rows_task &t, const small_system &s, double *shift)
{
    bool done = false;

    for (int tried = 0; tried <= INVERSE_SHIFTS && !done; tried++) {
        *shift = tried == 0 ? 0.0 : ldexp(INVERSE_FIRST_SHIFT, tried - 1);
        gather_symmetric(t, s, *shift);
        done = factor_symmetric<SLOTS>(s);
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

template <bool SYMMETRIC, int SLOTS>
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
    if constexpr (SYMMETRIC) {
        done = compute_symmetric<SLOTS>(t, s, &shift);
    } else {
        done = compute_general(t, s, &mended);
    }
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
template <bool SYMMETRIC, int MOST, int WAVES>
__global__ void __launch_bounds__(WAVES *GPU_WAVE) rows_kernel(const rows_task t)
{
    enum { SLOTS = (MOST + GPU_WAVE - 1) / GPU_WAVE, SPACE = SYMMETRIC ? MOST * (MOST + 1) / 2 : MOST * (MOST | 1) };
    __shared__ double a[WAVES][SPACE], x[WAVES][MOST], given[WAVES][MOST];
    __shared__ int64_t begin[WAVES][MOST];
    __shared__ int32_t column[WAVES][MOST], length[WAVES][MOST];
    __shared__ int flag[WAVES];
    const int wave = static_cast<int>(threadIdx.x) / GPU_WAVE, lane = static_cast<int>(threadIdx.x) % GPU_WAVE;
    const small_system s = {0,           0,           MOST | 1,     lane,         a[wave],    x[wave],
                            given[wave], begin[wave], column[wave], length[wave], &flag[wave]};
    lane_outcome own = {ULLONG_MAX, 0, 0.0, 0.0, DBL_MAX};

    for (int64_t k = static_cast<int64_t>(blockIdx.x) * WAVES + wave; k < t.count;
         k += static_cast<int64_t>(gridDim.x) * WAVES) {
        compute_row<SYMMETRIC, SLOTS>(t, s, t.list ? t.list[k] : k, &own);
    }
    if (lane == 0) { report(t, own); }
}

template <int MOST, int WAVES>
tess_status launch_rows(tess_context *ctx, const rows_task &t)
{
    const int64_t needed = (t.count + WAVES - 1) / WAVES;
    const int64_t most = static_cast<int64_t>(gpu_state_of(ctx)->multiprocessors) * ROWS_BLOCKS;
    const unsigned grid = static_cast<unsigned>(needed < most ? needed : most);

    if (t.count == 0) { return TESS_SUCCESS; }
    if (t.symmetric) {
        rows_kernel<true, MOST, WAVES><<<grid, WAVES * GPU_WAVE, 0, gpu_stream_of(ctx)>>>(t);
    } else {
        rows_kernel<false, MOST, WAVES><<<grid, WAVES * GPU_WAVE, 0, gpu_stream_of(ctx)>>>(t);
    }
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

} // namespace

tess_status inverse_rows_on_device(const inverse_request *q, inverse_rows *rows, inverse_outcome *out)
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
