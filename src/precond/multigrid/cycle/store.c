/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/cycle/store.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/by_precision.h"
#include "format/bsr/bsr_rows.h"
#include "format/choose.h"
#include "matrix/assembled.h"

enum { SERIAL = 4096 };

static double scaled_entry(const amg_scaled *s, int64_t i, int64_t k)
{
    return s->a->val[k] * (s->left[i] * s->right[s->a->col_ind[k]]);
}

static double largest_of_row(const amg_scaled *s, int64_t i)
{
    double largest = 0.0;

    for (int64_t k = s->a->row_ptr[i]; k < s->a->row_ptr[i + 1]; k++) {
        const double size = fabs(scaled_entry(s, i, k)); /* GCC 12 for aarch64 fails internally on fmax here */

        largest = size > largest ? size : largest;
    }
    return largest;
}

amg_range amg_find_range(const tess_context *ctx, const amg_scaled *s)
{
    double largest = 0.0, smallest = DBL_MAX;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : largest) reduction(min : smallest)
    for (int64_t i = 0; i < s->a->nrows; i++) {
        const double row = largest_of_row(s, i);

        largest = fmax(largest, row);
        if (row > 0.0) { smallest = fmin(smallest, row); }
    }
    return (amg_range){largest, smallest};
}

/* ---- CSR ---- */

/* Host arrays of a scaled matrix, with values in a precision. */
typedef struct stored_arrays {
    void *row_ptr, *val;
    int32_t *col_ind;
    int bits;
    int64_t nrows, nnz;
    size_t value_bytes;
} stored_arrays;

TESS_INLINE void round_row(tess_precision precision, const amg_scaled *s, int64_t i, void *val)
{
    for (int64_t k = s->a->row_ptr[i]; k < s->a->row_ptr[i + 1]; k++) {
        tess_store(precision, val, k, scaled_entry(s, i, k), TESS_OVERFLOW_SATURATE);
    }
}

static tess_status make_arrays(tess_context *ctx, const amg_scaled *s, tess_precision precision, stored_arrays *out)
{
    const host_csr *a = s->a;
    tess_status status = TESS_SUCCESS;

    *out = (stored_arrays){.bits = host_csr_nnz(a) <= INT32_MAX ? 32 : 64,
                           .nrows = a->nrows,
                           .nnz = host_csr_nnz(a),
                           .value_bytes = tess_precision_bytes(precision)};
    TESS_TRY(tess_host_allocate(ctx, a->nrows + 1, (size_t)out->bits / 8, &out->row_ptr));
    TESS_TRY(tess_host_allocate(ctx, out->nnz, sizeof *out->col_ind, (void **)&out->col_ind));
    TESS_TRY(tess_host_allocate(ctx, out->nnz, out->value_bytes, &out->val));
    tess_row_offset_set(out->row_ptr, out->bits, 0, 0);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (a->nrows > SERIAL)
    for (int64_t i = 0; i < a->nrows; i++) {
        const int64_t first = a->row_ptr[i], count = a->row_ptr[i + 1] - first;

        tess_row_offset_set(out->row_ptr, out->bits, i + 1, first + count);
        memcpy(out->col_ind + first, a->col_ind + first, (size_t)count * sizeof *out->col_ind);
        CALL_BY_PRECISION(precision, round_row, s, i, out->val);
    }
cleanup:
    return status;
}

static void free_arrays(tess_context *ctx, stored_arrays *arrays)
{
    tess_host_release(ctx, arrays->row_ptr, arrays->nrows + 1, (size_t)arrays->bits / 8);
    tess_host_release(ctx, arrays->col_ind, arrays->nnz, sizeof *arrays->col_ind);
    tess_host_release(ctx, arrays->val, arrays->nnz, arrays->value_bytes);
    *arrays = (stored_arrays){0};
}

/* A CSR matrix of these arrays. On a CPU it takes them, and clears *arrays; a GPU gets copies. */
static tess_status adopt(tess_context *ctx, stored_arrays *arrays, int64_t ncols, tess_precision precision,
                         tess_matrix **out)
{
    csr_view view = {.nrows = arrays->nrows,
                     .ncols = ncols,
                     .nnz = arrays->nnz,
                     .row_ptr_bits = arrays->bits,
                     .precision = precision};
    void *row_ptr = NULL, *col_ind = NULL, *val = NULL;
    tess_status status = TESS_SUCCESS;

    if (ctx->device == TESS_DEVICE_CPU) {
        view.row_ptr = arrays->row_ptr;
        view.col_ind = arrays->col_ind;
        view.val = arrays->val;
        *arrays = (stored_arrays){0};
        return tess_matrix_from_view(ctx, &view, true, out);
    }
    TESS_TRY(tess_device_upload(ctx, arrays->row_ptr, view.nrows + 1, (size_t)view.row_ptr_bits / 8, &row_ptr));
    TESS_TRY(tess_device_upload(ctx, arrays->col_ind, view.nnz, sizeof *arrays->col_ind, &col_ind));
    TESS_TRY(tess_device_upload(ctx, arrays->val, view.nnz, arrays->value_bytes, &val));
    view.row_ptr = row_ptr;
    view.col_ind = col_ind;
    view.val = val;
    return tess_matrix_from_view(ctx, &view, true, out);
cleanup:
    tess_device_release(ctx, row_ptr, view.nrows + 1, (size_t)view.row_ptr_bits / 8);
    tess_device_release(ctx, col_ind, view.nnz, sizeof *arrays->col_ind);
    tess_device_release(ctx, val, view.nnz, arrays->value_bytes);
    return status;
}

/* The same with the index arrays of s->a, on a CPU. */
static tess_status store_borrowed(tess_context *ctx, const amg_scaled *s, tess_precision precision, tess_matrix **out)
{
    const host_csr *a = s->a;
    const int64_t nnz = host_csr_nnz(a);
    csr_view view = {.nrows = a->nrows,
                     .ncols = a->ncols,
                     .nnz = nnz,
                     .row_ptr = a->row_ptr,
                     .row_ptr_bits = 64,
                     .col_ind = a->col_ind,
                     .precision = precision};
    void *val = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, nnz, tess_precision_bytes(precision), &val));
    view.val = val;
    TESS_TRY(tess_matrix_from_view(ctx, &view, false, out));
    ((csr_storage *)(*out)->storage)->owns_values = true;
    (*out)->precision = precision;
    val = NULL;
    amg_store_again(ctx, s, *out);
cleanup:
    tess_host_release(ctx, val, nnz, tess_precision_bytes(precision));
    return status;
}

static tess_status store_csr(tess_context *ctx, const amg_scaled *s, tess_precision precision, tess_matrix **out)
{
    stored_arrays arrays = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_arrays(ctx, s, precision, &arrays));
    TESS_TRY(adopt(ctx, &arrays, s->a->ncols, precision, out));
    (*out)->precision = precision;
cleanup:
    free_arrays(ctx, &arrays);
    return status;
}

/* ---- blocks of nodes ---- */

static tess_arithmetic arithmetic_of(const amg_layout *layout)
{
    return layout->vectors == TESS_PRECISION_FP64 ? TESS_ARITHMETIC_FP64 : TESS_ARITHMETIC_FP32;
}

/* Bytes as it is stored otherwise: on a GPU perhaps in slices, whose columns take 2 bytes. */
static int64_t scalar_bytes(const tess_context *ctx, int64_t nrows, int64_t nnz, tess_precision precision)
{
    const int64_t value = (int64_t)tess_precision_bytes(precision);

    return ctx->device == TESS_DEVICE_GPU ? nnz * (value + 2) : nnz * (value + 4) + nrows * (int64_t)sizeof(int64_t);
}

/* *out: NULL if the level has no such blocks, or they do not pay. */
static tess_status try_nodes(const tess_matrix *pattern, const amg_layout *layout, tess_matrix **out)
{
    const bsr_nodes nodes = {.height = layout->height,
                             .width = layout->width,
                             .precision = layout->precision,
                             .arithmetic = arithmetic_of(layout),
                             .most_bytes = scalar_bytes(pattern->ctx, pattern->nrows, pattern->nnz, layout->precision)};

    *out = NULL;
    if (layout->height == 0 || layout->width == 0 || pattern->nnz == 0) { return TESS_SUCCESS; }
    return bsr_make_nodes(pattern, &nodes, out);
}

/* Row i, if it has all places of its blocks, from place `at` of its first block on. */
TESS_INLINE void round_whole_row(tess_precision precision, const amg_scaled *s, const bsr_view *v, int64_t i,
                                 int64_t at)
{
    const int height = v->height;

    for (int64_t k = s->a->row_ptr[i]; k < s->a->row_ptr[i + 1]; k++, at += height) {
        tess_store(precision, v->val, at, scaled_entry(s, i, k), TESS_OVERFLOW_SATURATE);
    }
}

/* The rows of a block row: entries of a row and blocks both ascend. */
TESS_INLINE void round_block_row(tess_precision precision, const amg_scaled *s, const bsr_view *v, int64_t block_row)
{
    const int64_t begin = bsr_offset(v, block_row), places = (bsr_offset(v, block_row + 1) - begin) * v->width;

    for (int r = 0; r < v->height; r++) {
        const int64_t i = block_row * v->height + r;
        int64_t block = begin;

        if (s->a->row_ptr[i + 1] - s->a->row_ptr[i] == places) {
            round_whole_row(precision, s, v, i, bsr_place(v, begin, r, 0));
            continue;
        }
        for (int64_t k = s->a->row_ptr[i]; k < s->a->row_ptr[i + 1]; k++) {
            const int64_t column = s->a->col_ind[k];

            while (bsr_column(v, block_row, block) + v->width <= column) {
                block++;
            }
            tess_store(precision, v->val, bsr_place(v, block, r, column - bsr_column(v, block_row, block)),
                       scaled_entry(s, i, k), TESS_OVERFLOW_SATURATE);
        }
    }
}

static void round_blocks(const tess_context *ctx, const amg_scaled *s, const bsr_view *v)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (v->nrows > SERIAL)
    for (int64_t i = 0; i < v->nblock_rows; i++) {
        CALL_BY_PRECISION(v->precision, round_block_row, s, v, i);
    }
}

/* On a CPU. */
static tess_status store_nodes(tess_context *ctx, const amg_scaled *s, const amg_layout *layout, tess_matrix **out)
{
    const csr_view view = {.nrows = s->a->nrows,
                           .ncols = s->a->ncols,
                           .nnz = host_csr_nnz(s->a),
                           .row_ptr = s->a->row_ptr,
                           .row_ptr_bits = 64,
                           .col_ind = s->a->col_ind,
                           .precision = TESS_PRECISION_FP64};
    tess_matrix *pattern = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_matrix_from_view(ctx, &view, false, &pattern));
    TESS_TRY(try_nodes(pattern, layout, out));
    if (*out) { amg_store_again(ctx, s, *out); }
cleanup:
    tess_matrix_destroy(pattern);
    return status;
}

/* ---- new values ---- */

/* Index arrays that a matrix of rows borrows may have been made anew. */
void amg_store_again(tess_context *ctx, const amg_scaled *s, tess_matrix *m)
{
    csr_storage *rows = m->storage;

    if (m->ops->role == TESS_ROLE_NODES) {
        round_blocks(ctx, s, &((const bsr_storage *)m->storage)->view);
        return;
    }
    if (!rows->owns_index) {
        rows->view.row_ptr = s->a->row_ptr;
        rows->view.col_ind = s->a->col_ind;
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (m->nrows > SERIAL)
    for (int64_t i = 0; i < m->nrows; i++) {
        CALL_BY_PRECISION(rows->view.precision, round_row, s, i, csr_own_values(rows));
    }
}

/* ---- other formats ---- */

tess_status amg_store_in_formats(tess_matrix *assembled, const amg_layout *layout, bool diagonals, tess_matrix **out)
{
    tess_storage_options options;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    tess_storage_options_init(&options);
    options.precision = layout->precision;
    options.arithmetic = arithmetic_of(layout);
    if (diagonals) { TESS_TRY(tess_matrix_try_diagonals(assembled, &options, out)); }
    if (!*out) { TESS_TRY(try_nodes(assembled, layout, out)); }
    if (!*out) { TESS_TRY(tess_matrix_try_padded(assembled, &options, false, out)); }
    if (*out && (*out)->original) { /* products need no original, and new values make new levels */
        tess_matrix_release((*out)->original);
        (*out)->original = NULL;
    }
cleanup:
    return status;
}

/* The FP64 matrix that they are made from is freed. */
static tess_status try_formats(tess_context *ctx, const amg_scaled *s, const amg_layout *layout, tess_matrix **out)
{
    tess_matrix *assembled = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(store_csr(ctx, s, TESS_PRECISION_FP64, &assembled));
    status = amg_store_in_formats(assembled, layout, true, out);
cleanup:
    tess_matrix_destroy(assembled);
    return status;
}

tess_status amg_store(tess_context *ctx, const amg_scaled *s, const amg_layout *layout, bool outlives,
                      tess_matrix **out)
{
    const bool on_host = ctx->device == TESS_DEVICE_CPU, borrows = outlives && on_host;
    const tess_precision precision = layout->precision;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    if (host_csr_nnz(s->a) > 0) {
        TESS_TRY(on_host ? store_nodes(ctx, s, layout, out) : try_formats(ctx, s, layout, out));
    }
    if (!*out) { TESS_TRY(borrows ? store_borrowed(ctx, s, precision, out) : store_csr(ctx, s, precision, out)); }
    status = (*out)->ops->prepare ? (*out)->ops->prepare(*out) : TESS_SUCCESS;
cleanup:
    if (status != TESS_SUCCESS) {
        tess_matrix_destroy(*out);
        *out = NULL;
    }
    return status;
}
