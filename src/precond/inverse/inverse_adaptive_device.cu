/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adaptive patterns of fsai on the GPU: a wave grows a row as inverse_adaptive.c does, with the same operations in the
 * same order, so that host and device find the same pattern. Derivatives of a row are in a hash table in device memory,
 * one for each wave; a list has the places that are in use. Its order differs from run to run, and nothing depends on
 * it.
 */
#include "device/gpu/gpu.h"
#include "device/gpu/scan_grid.cuh"
#include "matrix/assembled.h"
#include "precond/inverse/inverse_device.cuh"

namespace {

/* Blocks of a multiprocessor, and what all tables take at most. A row with more places is the host's. */
enum { BLOCKS = 8, MOST_PLACES = 1 << 16 };
const int64_t most_table_bytes = INT64_C(1) << 28;
/* No column. */
enum { FREE = INT32_MIN };

struct growth {
    csr_view a;
    double sign;
    const double *diagonal;
    inverse_choice choice;
    int most;   /* entries of a row beside the diagonal one */
    int places; /* of a table: a power of 2 */
    int32_t *key, *list;
    double *derivative;
    int32_t *column; /* most + 1 of each row */
    device_csr to;
};

/* A row while it grows: in shared memory, but for the table. */
struct growing_row {
    int64_t i;
    int m, ld, lane, mask;
    int32_t *column, *key, *list;
    double *l, *y, *g, *own, *derivative;
    int *used;
    double *size; /* per lane: the largest derivative, and its place */
    int *place;
};

/* ---- values ---- */

__device__ inline int64_t offset_of(const growth &t, int64_t i)
{
    return tess_row_offset(t.a.row_ptr, t.a.row_ptr_bits, i);
}

__device__ inline double value_of(const growth &t, double scale, int64_t k)
{
    return t.sign * (static_cast<const double *>(t.a.val)[k] * (scale * inverse_scale_of(t.diagonal[t.a.col_ind[k]])));
}

__device__ double find_value(const growth &t, int64_t row, int32_t j)
{
    const int64_t end = offset_of(t, row + 1), k = csr_column_from(t.a.col_ind, offset_of(t, row), end, j);

    return k < end && t.a.col_ind[k] == j ? value_of(t, inverse_scale_of(t.diagonal[row]), k) : 0.0;
}

/* ---- derivatives ---- */

/* The place of column j, which is taken where it is new. */
__device__ int place_of(const growing_row &r, int32_t j)
{
    unsigned place = ((static_cast<unsigned>(j) * 2654435761U) >> 7) & static_cast<unsigned>(r.mask);

    for (;;) {
        const int32_t found = atomicCAS(&r.key[place], static_cast<int32_t>(FREE), j);

        if (found == FREE) {
            r.derivative[place] = 0.0;
            r.list[atomicAdd(r.used, 1)] = static_cast<int32_t>(place);
        }
        if (found == FREE || found == j || found == ~j) { return static_cast<int>(place); }
        place = (place + 1) & static_cast<unsigned>(r.mask);
    }
}

/* Columns of a row are unique: no two lanes have the same place. */
__device__ void add_row(const growth &t, const growing_row &r, int64_t row, double factor)
{
    const double scale = inverse_scale_of(t.diagonal[row]);
    const int64_t end = offset_of(t, row + 1);

    for (int64_t k = offset_of(t, row) + r.lane; k < end && t.a.col_ind[k] < r.i; k += GPU_WAVE) {
        double *to = r.derivative + place_of(r, t.a.col_ind[k]);

        *to = __dadd_rn(*to, __dmul_rn(factor, value_of(t, scale, k)));
    }
    GPU_SYNC_WAVE();
}

__device__ void find_derivatives(const growth &t, const growing_row &r)
{
    for (int c = r.lane; c < *r.used; c += GPU_WAVE) {
        r.derivative[r.list[c]] = 0.0;
    }
    GPU_SYNC_WAVE();
    add_row(t, r, r.i, 1.0);
    for (int k = 0; k < r.m; k++) {
        add_row(t, r, r.column[k], r.g[k]);
    }
}

__device__ inline bool comes_first(double size, int32_t j, double best_size, int32_t best)
{
    return size > best_size || (size == best_size && size > 0.0 && j > best);
}

/* The place of the candidate that the host takes; -1: there is none. For all lanes. */
__device__ int best_place(const growing_row &r)
{
    double largest = 0.0;
    int best = -1;

    for (int c = r.lane; c < *r.used; c += GPU_WAVE) {
        const int place = r.list[c];
        const double size = fabs(r.derivative[place]);

        if (r.key[place] < 0 || !(size > 0.0)) { continue; } /* it was taken */
        if (comes_first(size, r.key[place], largest, best < 0 ? -1 : r.key[best])) {
            largest = size;
            best = place;
        }
    }
    r.size[r.lane] = largest;
    r.place[r.lane] = best;
    GPU_SYNC_WAVE();
    for (int k = 0; k < GPU_WAVE; k++) {
        if (r.place[k] >= 0 && comes_first(r.size[k], r.key[r.place[k]], largest, best < 0 ? -1 : r.key[best])) {
            largest = r.size[k];
            best = r.place[k];
        }
    }
    GPU_SYNC_WAVE();
    return best;
}

/* ---- growth ---- */

/* Takes column j, unless it depends on the others. */
__device__ void append(const growth &t, growing_row *r, int32_t j)
{
    const int m = r->m;
    const double own = find_value(t, j, j);
    double pivot = own, right = -find_value(t, r->i, j), *l = r->own;

    for (int k = r->lane; k < m; k += GPU_WAVE) {
        l[k] = find_value(t, j, r->column[k]);
    }
    GPU_SYNC_WAVE();
    for (int k = 0; k < m; k++) {
        const double value = l[k] / r->l[k + r->ld * k];

        GPU_SYNC_WAVE();
        if (r->lane == 0) { l[k] = value; }
        for (int s = k + 1 + r->lane; s < m; s += GPU_WAVE) {
            inverse_subtract(&l[s], r->l[s + r->ld * k], value);
        }
        inverse_subtract(&pivot, value, value);
        inverse_subtract(&right, value, r->y[k]);
        GPU_SYNC_WAVE();
    }
    if (!(pivot > INVERSE_LEAST_PIVOT * own)) { return; }
    for (int k = r->lane; k < m; k += GPU_WAVE) {
        r->l[m + r->ld * k] = l[k];
    }
    if (r->lane == 0) {
        r->l[m + r->ld * m] = sqrt(pivot);
        r->y[m] = right / sqrt(pivot);
        r->column[m] = j;
    }
    r->m = m + 1;
    GPU_SYNC_WAVE();
}

/* L^T g = y */
__device__ void solve(const growing_row &r)
{
    for (int k = r.lane; k < r.m; k += GPU_WAVE) {
        r.g[k] = r.y[k];
    }
    GPU_SYNC_WAVE();
    for (int k = r.m - 1; k >= 0; k--) {
        const double value = r.g[k] / r.l[k + r.ld * k];

        GPU_SYNC_WAVE();
        if (r.lane == 0) { r.g[k] = value; }
        for (int s = r.lane; s < k; s += GPU_WAVE) {
            inverse_subtract(&r.g[s], r.l[k + r.ld * s], value);
        }
        GPU_SYNC_WAVE();
    }
}

/* A step. False: the row is done. */
__device__ bool grow(const growth &t, growing_row *r, double *psi)
{
    const int before = r->m;
    double gain = 0.0;

    find_derivatives(t, *r);
    for (int taken = 0; taken < t.choice.step_size && r->m < t.most; taken++) {
        const int place = best_place(*r);

        if (place < 0) { break; }
        const int32_t j = r->key[place];

        GPU_SYNC_WAVE();
        if (r->lane == 0) { r->key[place] = ~j; }
        GPU_SYNC_WAVE();
        append(t, r, j);
    }
    for (int k = before; k < r->m; k++) {
        gain = __dadd_rn(gain, __dmul_rn(r->y[k], r->y[k]));
    }
    if (!(gain > t.choice.tolerance * *psi)) {
        r->m = before;
        return false;
    }
    *psi -= gain;
    solve(*r);
    return *psi > INVERSE_LEAST_PIVOT && r->m < t.most;
}

/* Writes the row, sorted, and clears the table. */
__device__ void close_row(const growth &t, const growing_row &r)
{
    int32_t *out = t.column + r.i * (t.most + 1);

    for (int p = r.lane; p < r.m; p += GPU_WAVE) {
        int rank = 0;

        for (int q = 0; q < r.m; q++) {
            rank += r.column[q] < r.column[p];
        }
        out[rank] = r.column[p];
    }
    if (r.lane == 0) {
        out[r.m] = static_cast<int32_t>(r.i);
        t.to.row_ptr[r.i + 1] = r.m + 1;
    }
    for (int c = r.lane; c < *r.used; c += GPU_WAVE) {
        r.key[r.list[c]] = FREE;
    }
    GPU_SYNC_WAVE();
    if (r.lane == 0) { *r.used = 0; }
    GPU_SYNC_WAVE();
}

/* Rows of up to MOST entries beside the diagonal one. */
template <int MOST, int WAVES>
__global__ void __launch_bounds__(WAVES *GPU_WAVE) grow_kernel(const growth t)
{
    __shared__ double l[WAVES][MOST * (MOST | 1)], y[WAVES][MOST], g[WAVES][MOST], own[WAVES][MOST];
    __shared__ double size[WAVES][GPU_WAVE];
    __shared__ int place[WAVES][GPU_WAVE], used[WAVES];
    __shared__ int32_t column[WAVES][MOST];
    const int wave = static_cast<int>(threadIdx.x) / GPU_WAVE, lane = static_cast<int>(threadIdx.x) % GPU_WAVE;
    const int64_t first = static_cast<int64_t>(blockIdx.x) * WAVES + wave, table = first * t.places;
    growing_row r = {
        0,       0,       MOST | 1, lane,      t.places - 1,         column[wave], t.key + table, t.list + table,
        l[wave], y[wave], g[wave],  own[wave], t.derivative + table, &used[wave],  size[wave],    place[wave]};

    for (int c = lane; c < t.places; c += GPU_WAVE) {
        r.key[c] = FREE;
    }
    if (lane == 0) { used[wave] = 0; }
    GPU_SYNC_WAVE();
    for (r.i = first; r.i < t.to.nrows; r.i += static_cast<int64_t>(gridDim.x) * WAVES) {
        double psi = 1.0;
        bool more = t.most > 0;

        r.m = 0;
        for (int step = 0; step < t.choice.steps && more; step++) {
            more = grow(t, &r, &psi);
        }
        close_row(t, r);
    }
}

/* ---- all ---- */

__global__ void __launch_bounds__(GPU_BLOCK) collect_kernel(const growth t)
{
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; i < t.to.nrows;
         i += static_cast<int64_t>(gridDim.x) * GPU_BLOCK) {
        const int32_t begin = t.to.row_ptr[i], count = t.to.row_ptr[i + 1] - begin;

        for (int32_t k = 0; k < count; k++) {
            t.to.col_ind[begin + k] = t.column[i * (t.most + 1) + k];
        }
    }
}

/* Twice what a row can see; 0: too many. */
int places_for(const growth &t, int longest)
{
    const int64_t seen = 2 * static_cast<int64_t>(longest) * (t.most + 1);
    int64_t places = GPU_WAVE;

    while (places < seen) {
        places *= 2;
    }
    return longest <= INVERSE_LONG_ROW && places <= MOST_PLACES ? static_cast<int>(places) : 0;
}

template <int MOST, int WAVES>
tess_status launch(tess_context *ctx, growth *t)
{
    const int64_t bytes = t->places * static_cast<int64_t>(sizeof *t->key + sizeof *t->list + sizeof *t->derivative);
    const int64_t needed = (t->to.nrows + WAVES - 1) / WAVES, room = most_table_bytes / (WAVES * bytes) + 1;
    const int64_t most = static_cast<int64_t>(gpu_state_of(ctx)->multiprocessors) * BLOCKS;
    const int64_t blocks = needed < most ? needed : most, grid = blocks < room ? blocks : room;
    const int64_t places = grid * WAVES * t->places;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, places, sizeof *t->key, reinterpret_cast<void **>(&t->key)));
    TESS_TRY(tess_device_allocate(ctx, places, sizeof *t->list, reinterpret_cast<void **>(&t->list)));
    TESS_TRY(tess_device_allocate(ctx, places, sizeof *t->derivative, reinterpret_cast<void **>(&t->derivative)));
    grow_kernel<MOST, WAVES><<<static_cast<unsigned>(grid), WAVES * GPU_WAVE, 0, gpu_stream_of(ctx)>>>(*t);
    status = gpu_check_launch(ctx, "growing the rows of an approximate inverse");
cleanup:
    tess_device_release(ctx, t->key, places, sizeof *t->key);
    tess_device_release(ctx, t->list, places, sizeof *t->list);
    tess_device_release(ctx, t->derivative, places, sizeof *t->derivative);
    return status;
}

tess_status collect(tess_context *ctx, growth *t, device_csr *out)
{
    int64_t total = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_sum_lengths(ctx, out->nrows, out->row_ptr, &total));
    TESS_TRY(inverse_require_offsets(ctx, total));
    TESS_TRY(device_csr_allocate_entries(ctx, total, false, out));
    t->to = *out;
    collect_kernel<<<gpu_grid(ctx, out->nrows, BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*t);
    status = gpu_check_launch(ctx, "the pattern of an approximate inverse");
cleanup:
    return status;
}

} // namespace

tess_status inverse_adapt_on_device(const inverse_request *q, device_csr *out)
{
    tess_context *ctx = q->a->ctx;
    const inverse_choice *o = &q->entries;
    const int64_t grown = static_cast<int64_t>(o->steps) * o->step_size, n = q->a->nrows;
    growth t = {};
    int longest = 0;
    tess_status status = TESS_SUCCESS;

    t.a = csr_of(q->a)->view;
    t.sign = q->negative ? -1.0 : 1.0;
    t.diagonal = q->diagonal;
    t.choice = *o;
    t.most = static_cast<int>(grown < o->row - 1 ? grown : o->row - 1);
    TESS_TRY(inverse_longest_row(ctx, &t.a, &longest));
    t.places = places_for(t, longest);
    if (t.places == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(ctx, n * (t.most + 1), sizeof *t.column, reinterpret_cast<void **>(&t.column)));
    TESS_TRY(device_csr_allocate_rows(ctx, n, n, out));
    t.to = *out;
    TESS_TRY(t.most <= 16 ? (launch<16, 8>(ctx, &t)) : (launch<INVERSE_MOST_ENTRIES, 1>(ctx, &t)));
    status = collect(ctx, &t, out);
cleanup:
    tess_device_release(ctx, t.column, n * (t.most + 1), sizeof *t.column);
    if (status != TESS_SUCCESS) { device_csr_release(ctx, out); }
    return status;
}
