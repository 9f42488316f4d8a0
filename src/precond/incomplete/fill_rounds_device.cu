/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of factors with fill in rounds, on the GPU: a thread takes a row, and products are those of device_csr.h. */
#include "base/deadline.h"
#include "device/gpu/gpu.h"
#include "device/gpu/scan_grid.cuh"
#include "matrix/device_csr.h"
#include "precond/incomplete/fill_rounds.h"

namespace {

enum { FILL_BLOCKS = 8 };

__device__ inline int64_t first_row()
{
    return static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x;
}

__device__ inline int64_t rows_at_once()
{
    return static_cast<int64_t>(gridDim.x) * GPU_BLOCK;
}

unsigned grid_of(tess_context *ctx, int64_t count)
{
    return gpu_grid(ctx, count, FILL_BLOCKS);
}

/* ---- rows ---- */

__device__ inline void raise(double *place, double magnitude)
{
    static_assert(sizeof(unsigned long long) == sizeof(double), "the bits of a magnitude order it");
    atomicMax(reinterpret_cast<unsigned long long *>(place),
              static_cast<unsigned long long>(__double_as_longlong(magnitude)));
}

__global__ void __launch_bounds__(GPU_BLOCK) measure_rows(const fill_task t)
{
    for (int64_t i = first_row(); i < t.n; i += rows_at_once()) {
        fill_measure_row(&t, i);
        if (!t.rule.symmetric) { continue; }
        for (int64_t k = tess_row_offset(t.base.row_ptr, t.base.row_ptr_bits, i); k < fill_row_end(&t.base, i, true);
             k++) {
            const double magnitude = fabs(static_cast<const double *>(t.base.val)[k]);

            raise(t.size + i, magnitude);
            raise(t.size + t.base.col_ind[k], magnitude);
        }
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) count_rows(const fill_task t, int32_t *row_ptr)
{
    for (int64_t i = first_row(); i < t.n; i += rows_at_once()) {
        row_ptr[i + 1] = fill_count_row(&t, i);
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) write_rows(const fill_task t, const int32_t *row_ptr)
{
    for (int64_t i = first_row(); i < t.n; i += rows_at_once()) {
        fill_write_row(&t, i, row_ptr[i]);
    }
}

/* The first place of row i on that side of the diagonal, which is there, and the number of places. */
__device__ inline int64_t side_of_row(const device_csr &w, int64_t i, bool upper, int32_t *count)
{
    const int64_t begin = w.row_ptr[i], end = w.row_ptr[i + 1], at = csr_column_from(w.col_ind, begin, end, i);

    *count = static_cast<int32_t>(upper ? end - at - 1 : at - begin);
    return upper ? at + 1 : begin;
}

__global__ void __launch_bounds__(GPU_BLOCK) count_side(const device_csr w, bool upper, int32_t *row_ptr)
{
    for (int64_t i = first_row(); i < w.nrows; i += rows_at_once()) {
        side_of_row(w, i, upper, row_ptr + i + 1);
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) take_entries(const device_csr w, bool upper, const device_csr side)
{
    for (int64_t i = first_row(); i < w.nrows; i += rows_at_once()) {
        int32_t count = 0;
        const int64_t from = side_of_row(w, i, upper, &count), to = side.row_ptr[i];

        for (int32_t k = 0; k < count; k++) {
            side.col_ind[to + k] = w.col_ind[from + k];
            side.val[to + k] = w.val[from + k];
        }
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) scale_left(const fill_task t, const device_csr left)
{
    for (int64_t k = first_row(); k < left.nnz; k += rows_at_once()) {
        left.val[k] = fill_left(&t, left.val[k], left.col_ind[k]);
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) spread_rows(const csr_view a, const csr_view filled, double *val)
{
    for (int64_t i = first_row(); i < a.nrows; i += rows_at_once()) {
        fill_spread_row(&a, &filled, i, val);
    }
}

/* ---- memory ---- */

template <typename T>
tess_status allocate(tess_context *ctx, int64_t count, T **out)
{
    return tess_device_allocate(ctx, count, sizeof **out, reinterpret_cast<void **>(out));
}

tess_status open_task(tess_context *ctx, const csr_view *a, const fill_rule *rule, fill_task *t)
{
    const int64_t n = a->nrows;
    tess_status status = TESS_SUCCESS;

    *t = {};
    t->rule = *rule;
    t->n = n;
    t->base = *a;
    TESS_TRY(allocate(ctx, n, &t->size));
    TESS_TRY(allocate(ctx, n, &t->tolerance));
    TESS_TRY(allocate(ctx, n, &t->most));
    TESS_TRY(allocate(ctx, n, &t->limit));
    TESS_TRY(allocate(ctx, n, &t->of_limit));
    TESS_TRY(allocate(ctx, n, &t->inverse));
    status = ctx->backend->zero(ctx, t->size, static_cast<size_t>(n) * sizeof *t->size);
cleanup:
    return status;
}

void close_task(tess_context *ctx, fill_task *t)
{
    tess_device_release(ctx, t->size, t->n, sizeof *t->size);
    tess_device_release(ctx, t->tolerance, t->n, sizeof *t->tolerance);
    tess_device_release(ctx, t->most, t->n, sizeof *t->most);
    tess_device_release(ctx, t->limit, t->n, sizeof *t->limit);
    tess_device_release(ctx, t->of_limit, t->n, sizeof *t->of_limit);
    tess_device_release(ctx, t->inverse, t->n, sizeof *t->inverse);
}

csr_view view_of(const device_csr *a)
{
    csr_view v = {};

    v.nrows = a->nrows;
    v.ncols = a->ncols;
    v.nnz = a->nnz;
    v.row_ptr = a->row_ptr;
    v.col_ind = a->col_ind;
    v.val = a->val;
    v.row_ptr_bits = 32;
    v.precision = TESS_PRECISION_FP64;
    return v;
}

/* ---- a round ---- */

/* The new w. */
tess_status make_rows(tess_context *ctx, fill_task *t, device_csr *w)
{
    const unsigned grid = grid_of(ctx, t->n);
    int64_t total = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(device_csr_allocate_rows(ctx, t->n, t->n, w));
    count_rows<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*t, w->row_ptr);
    TESS_TRY(gpu_check_launch(ctx, "rows with fill"));
    TESS_TRY(gpu_sum_lengths(ctx, t->n, w->row_ptr, &total));
    TESS_TRY(device_csr_allocate_entries(ctx, total, true, w));
    t->col_ind = w->col_ind;
    t->val = w->val;
    write_rows<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*t, w->row_ptr);
    status = gpu_check_launch(ctx, "entries with fill");
cleanup:
    if (status != TESS_SUCCESS) { device_csr_release(ctx, w); }
    return status;
}

tess_status take_side(tess_context *ctx, const device_csr &w, bool upper, device_csr *side)
{
    const unsigned grid = grid_of(ctx, w.nrows);
    int64_t total = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(device_csr_allocate_rows(ctx, w.nrows, w.nrows, side));
    count_side<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(w, upper, side->row_ptr);
    TESS_TRY(gpu_check_launch(ctx, "rows of a triangle with fill"));
    TESS_TRY(gpu_sum_lengths(ctx, w.nrows, side->row_ptr, &total));
    TESS_TRY(device_csr_allocate_entries(ctx, total, true, side));
    take_entries<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(w, upper, *side);
    status = gpu_check_launch(ctx, "entries of a triangle with fill");
cleanup:
    return status;
}

/* The sums of a round from the last w. */
tess_status multiply_triangles(tess_context *ctx, const fill_task &t, const device_csr &w, device_csr *product)
{
    const device_csr_ops *ops = device_csr_ops_of(ctx);
    device_csr left = {}, right = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(take_side(ctx, w, false, &left));
    TESS_TRY(t.rule.symmetric ? ops->transpose(ctx, &left, &right, nullptr) : take_side(ctx, w, true, &right));
    scale_left<<<grid_of(ctx, left.nnz), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t, left);
    TESS_TRY(gpu_check_launch(ctx, "a triangle over its pivots"));
    status = ops->multiply(ctx, &left, &right, product);
cleanup:
    device_csr_release(ctx, &left);
    device_csr_release(ctx, &right);
    return status;
}

/* w: by a last round, or the first. */
tess_status run_round(tess_context *ctx, fill_task *t, device_csr *w)
{
    device_csr product = {}, next = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(multiply_triangles(ctx, *t, *w, &product));
    t->product = view_of(&product);
    if (t->rule.by_levels) { t->base = view_of(w); }
    TESS_TRY(make_rows(ctx, t, &next));
    device_csr_release(ctx, w);
    *w = next;
cleanup:
    device_csr_release(ctx, &product);
    return status;
}

} // namespace

extern "C" tess_status fill_rounds_on_gpu(const tess_matrix *assembled, const fill_rule *rule, tess_matrix **filled)
{
    tess_context *ctx = assembled->ctx;
    gpu_scope scope(ctx);
    const csr_view a = csr_of(assembled)->view;
    fill_task t = {};
    device_csr w = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(open_task(ctx, &a, rule, &t));
    measure_rows<<<grid_of(ctx, t.n), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t);
    TESS_TRY(gpu_check_launch(ctx, "magnitudes of rows"));
    TESS_TRY(make_rows(ctx, &t, &w));
    for (int r = 0; r < rule->rounds; r++) {
        TESS_TRY(tess_deadline_check(ctx, "a pattern with fill"));
        TESS_TRY(run_round(ctx, &t, &w));
    }
    status = device_csr_to_matrix(ctx, &w, filled);
cleanup:
    device_csr_release(ctx, &w);
    close_task(ctx, &t);
    return status;
}

extern "C" tess_status fill_spread_on_gpu(tess_context *ctx, const csr_view *a, const csr_view *filled, double *val)
{
    gpu_scope scope(ctx);

    spread_rows<<<grid_of(ctx, a->nrows), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*a, *filled, val);
    return gpu_check_launch(ctx, "values on a pattern with fill");
}
