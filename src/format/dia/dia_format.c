/* SPDX-License-Identifier: Apache-2.0 */
/* DIA over a backend's functions: the code that all backends share. */
#include <string.h>

#include <tessera/names.h>

#include "format/dia/dia_rows.h"
#include "format/padded.h"
#include "matrix/matrix.h"
#include "matrix/storage_options.h"

static const dia_view *view_of(const tess_matrix *a)
{
    const dia_storage *s = a->storage;

    return &s->view;
}

void dia_release_view(tess_context *ctx, dia_view *v)
{
    tess_device_release(ctx, v->diagonal, v->ndiagonals, sizeof *v->diagonal);
    tess_device_release(ctx, v->bitmap, v->nbitmaps * v->words, sizeof *v->bitmap);
    tess_device_release(ctx, v->val, v->ndiagonals * v->stride, tess_precision_bytes(v->precision));
}

static void dia_destroy(tess_context *ctx, void *storage)
{
    dia_storage *s = storage;

    dia_release_view(ctx, &s->view);
    tess_host_release(ctx, s, 1, sizeof *s);
}

/* ---- building ---- */

/* Places of existing rows, also those outside the matrix: products read all of them. */
static tess_status check_padding(tess_context *ctx, const tess_storage_options *o, const dia_view *v)
{
    double most = storage_max_padding(o);
    double places = (double)v->ndiagonals * (double)v->nrows;
    double ratio = v->nnz > 0 ? places / (double)v->nnz : 0.0;

    if (ratio > most) {
        return tess_fail_here(
            ctx, "choose csr, ellr or sell, or raise max_padding (--max-padding)",
            "format dia would store %s, or %.4g entries per nonzero (%.0f for %lld), but max_padding is %g",
            tess_count(v->ndiagonals, "diagonal").text, ratio, places, (long long)v->nnz, most);
    }
    if (v->ndiagonals > INT32_MAX) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "choose csr", "format dia would store %s, which is too many",
                         tess_count(v->ndiagonals, "diagonal").text);
    }
    return TESS_SUCCESS;
}

/* Finds the diagonals. */
static tess_status find_diagonals(tess_context *ctx, const csr_view *csr, const tess_storage_options *o, dia_view *v)
{
    const dia_ops *backend = dia_ops_of(ctx);
    const int64_t bits = csr->nnz > 0 ? csr->nrows + csr->ncols - 1 : 0, words = (bits + DIA_WORD - 1) / DIA_WORD;
    uint32_t *marks = NULL;
    int64_t count = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, words, sizeof *marks, (void **)&marks));
    TESS_TRY(ctx->backend->zero(ctx, marks, (size_t)words * sizeof *marks));
    TESS_TRY(backend->mark(ctx, csr, marks));
    TESS_TRY(backend->count_marks(ctx, words, marks, &count));
    v->ndiagonals = count;
    TESS_TRY(check_padding(ctx, o, v));
    TESS_TRY(tess_device_allocate(ctx, count, sizeof *v->diagonal, (void **)&v->diagonal));
    status = backend->list_marks(ctx, words, marks, v);
cleanup:
    tess_device_release(ctx, marks, words, sizeof *marks);
    return status;
}

/* Numbers the diagonals (on the host) that have fewer entries than places within the matrix. */
static void number_bitmaps(dia_view *v, dia_diagonal *diagonal, const uint32_t *entries)
{
    v->nbitmaps = 0;
    for (int64_t d = 0; d < v->ndiagonals; d++) {
        int64_t places = dia_end_row(v, diagonal[d].offset) - dia_first_row(diagonal[d].offset);

        diagonal[d].bitmap = entries[d] == places ? -1 : (int32_t)v->nbitmaps++;
    }
}

/* Finds the diagonals with holes. */
static tess_status find_holes(tess_context *ctx, const csr_view *csr, dia_view *v)
{
    const int64_t count = v->ndiagonals;
    const size_t bytes = (size_t)count * sizeof(uint32_t), list_bytes = (size_t)count * sizeof(dia_diagonal);
    uint32_t *entries = NULL, *host_entries = NULL;
    dia_diagonal *host_list = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, count, sizeof *entries, (void **)&entries));
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *host_entries, (void **)&host_entries));
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *host_list, (void **)&host_list));
    TESS_TRY(ctx->backend->zero(ctx, entries, bytes));
    TESS_TRY(dia_ops_of(ctx)->count_entries(ctx, csr, v, entries));
    TESS_TRY(ctx->backend->download(ctx, host_entries, entries, bytes));
    TESS_TRY(ctx->backend->download(ctx, host_list, v->diagonal, list_bytes));
    number_bitmaps(v, host_list, host_entries);
    status = ctx->backend->upload(ctx, v->diagonal, host_list, list_bytes);
cleanup:
    tess_device_release(ctx, entries, count, sizeof *entries);
    tess_host_release(ctx, host_entries, count, sizeof *host_entries);
    tess_host_release(ctx, host_list, count, sizeof *host_list);
    return status;
}

static tess_status fill(tess_context *ctx, const csr_view *csr, dia_view *v)
{
    const dia_ops *backend = dia_ops_of(ctx);
    const int64_t unit = (int64_t)DIA_ALIGNMENT / (int64_t)tess_precision_bytes(v->precision);
    tess_status status = TESS_SUCCESS;

    v->stride = (v->nrows + unit - 1) / unit * unit;
    v->words = (v->nrows + DIA_WORD - 1) / DIA_WORD;
    TESS_TRY(tess_device_allocate(ctx, v->nbitmaps * v->words, sizeof *v->bitmap, (void **)&v->bitmap));
    TESS_TRY(
        tess_device_allocate(ctx, v->ndiagonals * v->stride, tess_precision_bytes(v->precision), (void **)&v->val));
    TESS_TRY(backend->fill_bitmaps(ctx, csr, v));
    if (csr->val) { status = backend->fill_values(ctx, csr, v); }
cleanup:
    return status;
}

tess_status dia_build_view(tess_context *ctx, const csr_view *rows, const tess_storage_options *options, dia_view *out)
{
    dia_view v = {.nrows = rows->nrows,
                  .ncols = rows->ncols,
                  .nnz = rows->nnz,
                  .precision = options->precision,
                  .arithmetic = options->arithmetic};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(find_diagonals(ctx, rows, options, &v));
    TESS_TRY(find_holes(ctx, rows, &v));
    TESS_TRY(fill(ctx, rows, &v));
    *out = v;
cleanup:
    if (status != TESS_SUCCESS) { dia_release_view(ctx, &v); }
    return status;
}

static tess_status dia_build(const tess_matrix *assembled, const tess_storage_options *options,
                             const tess_assignment *assignment, void **out)
{
    (void)assignment; /* one precision */
    tess_context *ctx = assembled->ctx;
    dia_storage *s = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *s, (void **)&s));
    memset(s, 0, sizeof *s);
    TESS_TRY(dia_build_view(ctx, &csr_of(assembled)->view, options, &s->view));
    *out = s;
cleanup:
    if (status != TESS_SUCCESS && s) { dia_destroy(ctx, s); }
    return status;
}

static tess_status dia_refresh(const tess_matrix *assembled, void *storage)
{
    const dia_storage *s = storage;

    return dia_ops_of(assembled->ctx)->fill_values(assembled->ctx, &csr_of(assembled)->view, &s->view);
}

/* ---- products ---- */

static tess_status dia_prepare(const tess_matrix *a)
{
    return dia_ops_of(a->ctx)->prepare(a->ctx, view_of(a));
}

static tess_status dia_spmv(const tess_matrix *a, const tess_spmv_args *args)
{
    const dia_view *v = view_of(a);
    tess_status status = padded_check_product(a, v->arithmetic, args);

    if (status != TESS_SUCCESS) { return status; }
    if (args->operation == TESS_OP_TRANSPOSE) { return tess_spmv_of_original(a, args); }
    return dia_ops_of(a->ctx)->spmv(a->ctx, v, args);
}

static bool dia_takes_columns(const tess_matrix *a, bool steps)
{
    const tess_arithmetic arithmetic = view_of(a)->arithmetic;

    return steps ? dia_ops_of(a->ctx)->columns_take_steps && arithmetic != TESS_ARITHMETIC_FP32X2
                 : arithmetic == TESS_ARITHMETIC_FP64;
}

static tess_status dia_multiply_columns(const tess_matrix *a, const tess_spmv_args *args)
{
    return dia_ops_of(a->ctx)->multiply_columns(a->ctx, view_of(a), args);
}

/* ---- back to the host ---- */

static tess_status dia_decode(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val)
{
    const csr_view *csr = &csr_of(a->original)->view;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(padded_decode_offsets(a, row_ptr));
    if (col_ind || val) { status = dia_ops_of(a->ctx)->decode(a->ctx, csr, view_of(a), col_ind, val); }
cleanup:
    return status;
}

int64_t dia_view_bytes(const dia_view *v)
{
    return v->ndiagonals * (int64_t)sizeof *v->diagonal + v->nbitmaps * v->words * (int64_t)sizeof *v->bitmap +
           v->ndiagonals * v->stride * (int64_t)tess_precision_bytes(v->precision);
}

static int64_t dia_bytes(const tess_matrix *a)
{
    return dia_view_bytes(view_of(a));
}

const tess_format_ops dia_format = {
    .can =
        {
            .description = "diagonals",
            .precisions = TESS_EVERY_PRECISION,
            .gpu_precisions = TESS_EVERY_PRECISION,
            .policies = TESS_WHOLE_POLICIES,
            .granularities = 1U << TESS_GRANULARITY_MATRIX,
            .granularity = TESS_GRANULARITY_MATRIX,
            .arithmetics = TESS_EVERY_ARITHMETIC,
            .row_orders = 1U << TESS_ROW_ORDER_ORIGINAL,
            .as_base = 1U << TESS_GRANULARITY_ENTRY | 1U << TESS_GRANULARITY_BLOCK,
            .pads = 1,
        },
    .role = TESS_ROLE_DIAGONALS,
    .check_options = padded_check_options,
    .build = dia_build,
    .refresh = dia_refresh,
    .destroy = dia_destroy,
    .prepare = dia_prepare,
    .spmv = dia_spmv,
    .takes_columns = dia_takes_columns,
    .multiply_columns = dia_multiply_columns,
    .decode = dia_decode,
    .bytes = dia_bytes,
};
