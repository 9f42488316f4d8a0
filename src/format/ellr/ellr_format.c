/* SPDX-License-Identifier: Apache-2.0 */
/* ELLPACK-R and SELL-C-sigma over a backend's functions: the code that all backends share. */
#include <math.h>
#include <string.h>

#include <tessera/names.h>

#include "format/ellr/ellr.h"
#include "format/padded.h"
#include "matrix/matrix.h"
#include "matrix/storage_options.h"

static const ellr_view *view_of(const tess_matrix *a)
{
    const ellr_storage *s = a->storage;

    return &s->view;
}

static int64_t positions_of(const ellr_view *v)
{
    return v->nslices * ELLR_SLICE;
}

static void release_order(tess_context *ctx, ellr_view *v)
{
    tess_device_release(ctx, v->order, positions_of(v), sizeof *v->order);
    v->order = NULL;
}

void ellr_release_values(tess_context *ctx, const ellr_view *slices, tess_precision precision, void *val)
{
    tess_device_release(ctx, val, slices->value_units * ELLR_SLICE, tess_precision_bytes(precision));
}

void ellr_release_view(tess_context *ctx, ellr_view *v)
{
    tess_device_release(ctx, v->slice, v->nslices, sizeof *v->slice);
    tess_device_release(ctx, v->length, positions_of(v), (size_t)v->length_bits / 8);
    release_order(ctx, v);
    tess_device_release(ctx, v->column, v->column_units * ELLR_SLICE, sizeof(int16_t));
    ellr_release_values(ctx, v, v->precision, v->val);
}

static void ellr_destroy(tess_context *ctx, void *storage)
{
    ellr_storage *s = storage;

    ellr_release_view(ctx, &s->view);
    tess_host_release(ctx, s, 1, sizeof *s);
}

/* ---- building ---- */

static tess_status check_options(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *o)
{
    tess_status status = padded_check_options(ctx, nrows, ncols, o);

    if (status != TESS_SUCCESS) { return status; }
    if (o->slices.window < 0 || o->slices.window > ELLR_LARGEST_WINDOW) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "1 keeps the order of the rows; 0 stands for the default",
                         "the sorting window (--sell-window) is %s, but it must be 1 to %d",
                         tess_count(o->slices.window, "row").text, (int)ELLR_LARGEST_WINDOW);
    }
    return TESS_SUCCESS;
}

/* Rows of a sorting window in whole slices; 0: none. */
static int64_t window_of(const tess_storage_options *o)
{
    const int64_t window = storage_window(o);

    if (o->format == TESS_FORMAT_ELLR || window == 1) { return 0; }
    return (window + ELLR_SLICE - 1) / ELLR_SLICE * ELLR_SLICE;
}

static tess_status check_padding(tess_context *ctx, const tess_storage_options *o, const ellr_view *v, int64_t entries)
{
    double most = storage_max_padding(o);
    double ratio = v->nnz > 0 ? (double)entries / (double)v->nnz : 0.0;
    bool ellr = o->format == TESS_FORMAT_ELLR;

    if (ratio <= most) { return TESS_SUCCESS; }
    return tess_fail_here(ctx,
                          ellr ? "choose sell or csr, or raise max_padding (--max-padding)"
                               : "choose csr, a wider window (--sell-window), or raise max_padding (--max-padding)",
                          "format %s would store %.4g entries per nonzero (%lld for %lld), but max_padding is %g",
                          tess_format_name(o->format), ratio, (long long)entries, (long long)v->nnz, most);
}

/* Slices of one width cost padding, and a kernel need not read their headers: used if the padding is below a hundredth.
 */
static bool uniform_pays(const ellr_view *v, const tess_storage_options *o, int32_t longest)
{
    const double ratio = v->nnz > 0 ? (double)longest * (double)v->nrows / (double)v->nnz : INFINITY;

    return ratio <= 1.01 && ratio <= storage_max_padding(o);
}

/* Lengths, order and places of the slices. */
static tess_status arrange(tess_context *ctx, const csr_view *csr, const tess_storage_options *o, ellr_view *v)
{
    const ellr_ops *backend = ellr_ops_of(ctx);
    ellr_arrangement made = {.window = window_of(o), .common_width = -1};
    int32_t longest = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(backend->longest_row(ctx, csr, &longest));
    if (o->format == TESS_FORMAT_ELLR) {
        made.common_width = longest;
        TESS_TRY(check_padding(ctx, o, v, (int64_t)longest * v->nrows)); /* less than 2^62 */
    }
    if (uniform_pays(v, o, longest)) {
        made.uniform = true;
        made.common_width = longest;
        made.window = 0;
    }
    v->length_bits = longest <= UINT8_MAX ? 8 : 32;
    TESS_TRY(tess_device_allocate(ctx, v->nslices, sizeof *v->slice, (void **)&v->slice));
    TESS_TRY(tess_device_allocate(ctx, positions_of(v), (size_t)v->length_bits / 8, &v->length));
    if (made.window > 0) { TESS_TRY(tess_device_allocate(ctx, positions_of(v), sizeof *v->order, (void **)&v->order)); }
    TESS_TRY(backend->arrange(ctx, csr, v, &made));
    if (made.permuted == 0) { release_order(ctx, v); }
    TESS_TRY(check_padding(ctx, o, v, made.entries));
    if (made.value_units > UINT32_MAX || made.column_units > UINT32_MAX) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "choose csr", "format %s would store %s, which is too many",
                         tess_format_name(o->format), tess_count(made.value_units * ELLR_SLICE, "entry").text);
    }
    v->value_units = made.value_units;
    v->column_units = made.column_units;
    v->uniform_width = made.uniform && made.column_units == made.value_units ? longest : 0;
cleanup:
    return status;
}

/* Space for the columns, and the columns. */
static tess_status make_columns(tess_context *ctx, const csr_view *rows, ellr_view *v)
{
    const int64_t words = v->column_units * ELLR_SLICE;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, words, sizeof(int16_t), &v->column));
    /* padding is never multiplied, but should be the same on every run */
    TESS_TRY(ctx->backend->zero(ctx, v->column, (size_t)words * sizeof(int16_t)));
    TESS_TRY(ellr_ops_of(ctx)->fill_columns(ctx, rows, v));
cleanup:
    return status;
}

tess_status ellr_fill_values(tess_context *ctx, const csr_view *rows, const ellr_view *v)
{
    return v->slice && rows->val ? ellr_ops_of(ctx)->fill_values(ctx, rows, v) : TESS_SUCCESS;
}

tess_status ellr_make_values(tess_context *ctx, const csr_view *rows, const ellr_view *slices, tess_precision precision,
                             bool scaled, void **val)
{
    const int64_t count = slices->value_units * ELLR_SLICE;
    ellr_view v = *slices;
    tess_status status = TESS_SUCCESS;

    v.precision = precision;
    v.exponent = scaled ? rows->exponent : NULL;
    v.val = NULL;
    if (v.slice) {
        TESS_TRY(tess_device_allocate(ctx, count, tess_precision_bytes(precision), &v.val));
        TESS_TRY(ctx->backend->zero(ctx, v.val, (size_t)count * tess_precision_bytes(precision)));
        TESS_TRY(ellr_fill_values(ctx, rows, &v));
    }
    *val = v.val;
cleanup:
    if (status != TESS_SUCCESS) { ellr_release_values(ctx, &v, precision, v.val); }
    return status;
}

tess_status ellr_build_view(tess_context *ctx, const csr_view *rows, const tess_storage_options *options,
                            ellr_view *out)
{
    ellr_view v = {.nrows = rows->nrows,
                   .ncols = rows->ncols,
                   .nnz = rows->nnz,
                   .length_bits = 8,
                   .precision = options->precision,
                   .arithmetic = options->arithmetic,
                   .row_of = rows->row_of,
                   .row_shift = rows->row_shift,
                   .exponent = rows->exponent};
    tess_status status = TESS_SUCCESS;

    if (rows->row_ptr) {
        v.nslices = (rows->nrows + ELLR_SLICE - 1) / ELLR_SLICE;
        TESS_TRY(arrange(ctx, rows, options, &v));
        TESS_TRY(make_columns(ctx, rows, &v));
        TESS_TRY(ellr_make_values(ctx, rows, &v, v.precision, v.exponent != NULL, &v.val));
    }
    *out = v;
cleanup:
    if (status != TESS_SUCCESS) { ellr_release_view(ctx, &v); }
    return status;
}

static tess_status ellr_build(const tess_matrix *assembled, const tess_storage_options *options,
                              const tess_assignment *assignment, void **out)
{
    (void)assignment; /* one precision */
    tess_context *ctx = assembled->ctx;
    ellr_storage *s = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *s, (void **)&s));
    memset(s, 0, sizeof *s);
    TESS_TRY(ellr_build_view(ctx, &csr_of(assembled)->view, options, &s->view));
    *out = s;
cleanup:
    if (status != TESS_SUCCESS && s) { ellr_destroy(ctx, s); }
    return status;
}

static tess_status ellr_refresh(const tess_matrix *assembled, void *storage)
{
    const ellr_storage *s = storage;

    return ellr_fill_values(assembled->ctx, &csr_of(assembled)->view, &s->view);
}

/* ---- products ---- */

static tess_status ellr_prepare(const tess_matrix *a)
{
    return ellr_ops_of(a->ctx)->prepare(a->ctx, view_of(a));
}

static tess_status ellr_spmv(const tess_matrix *a, const tess_spmv_args *args)
{
    const ellr_view *v = view_of(a);
    tess_status status = padded_check_product(a, v->arithmetic, args);

    if (status != TESS_SUCCESS) { return status; }
    if (args->operation == TESS_OP_TRANSPOSE) { return tess_spmv_of_original(a, args); }
    return ellr_ops_of(a->ctx)->spmv(a->ctx, v, args);
}

static bool ellr_takes_columns(const tess_matrix *a, bool steps)
{
    return steps ? ellr_ops_of(a->ctx)->columns_take_steps : view_of(a)->arithmetic == TESS_ARITHMETIC_FP64;
}

static tess_status ellr_multiply_columns(const tess_matrix *a, const tess_spmv_args *args)
{
    return ellr_ops_of(a->ctx)->multiply_columns(a->ctx, view_of(a), args);
}

/* ---- back to the host ---- */

static tess_status ellr_decode(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val)
{
    const csr_view *csr = &csr_of(a->original)->view;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(padded_decode_offsets(a, row_ptr));
    if (col_ind || val) { status = ellr_ops_of(a->ctx)->decode(a->ctx, csr, view_of(a), col_ind, val); }
cleanup:
    return status;
}

int64_t ellr_view_bytes(const ellr_view *v)
{
    int64_t per_position = v->length_bits / 8 + (v->order ? (int64_t)sizeof *v->order : 0);

    return v->nslices * (int64_t)sizeof *v->slice + positions_of(v) * per_position +
           v->column_units * ELLR_SLICE * (int64_t)sizeof(int16_t) +
           v->value_units * ELLR_SLICE * (int64_t)tess_precision_bytes(v->precision);
}

static int64_t ellr_bytes(const tess_matrix *a)
{
    return ellr_view_bytes(view_of(a));
}

const tess_format_ops ellr_format = {
    .can =
        {
            .description = "ELLPACK-R, all rows padded to the longest",
            .precisions = TESS_EVERY_PRECISION,
            .gpu_precisions = TESS_EVERY_PRECISION,
            .policies = TESS_WHOLE_POLICIES,
            .granularities = 1U << TESS_GRANULARITY_MATRIX,
            .granularity = TESS_GRANULARITY_MATRIX,
            .arithmetics = TESS_PLAIN_ARITHMETICS,
            .row_orders = 1U << TESS_ROW_ORDER_ORIGINAL,
            .as_base = 1U << TESS_GRANULARITY_ROW | 1U << TESS_GRANULARITY_ENTRY | 1U << TESS_GRANULARITY_BLOCK,
            .pads = 1,
        },
    .check_options = check_options,
    .build = ellr_build,
    .refresh = ellr_refresh,
    .destroy = ellr_destroy,
    .prepare = ellr_prepare,
    .spmv = ellr_spmv,
    .takes_columns = ellr_takes_columns,
    .multiply_columns = ellr_multiply_columns,
    .decode = ellr_decode,
    .bytes = ellr_bytes,
};

const tess_format_ops sell_format = {
    .can =
        {
            .description = "slices of 64 rows, each padded to its longest",
            .precisions = TESS_EVERY_PRECISION,
            .gpu_precisions = TESS_EVERY_PRECISION,
            .policies = TESS_WHOLE_POLICIES,
            .granularities = 1U << TESS_GRANULARITY_MATRIX,
            .granularity = TESS_GRANULARITY_MATRIX,
            .arithmetics = TESS_PLAIN_ARITHMETICS,
            .row_orders = 1U << TESS_ROW_ORDER_ORIGINAL,
            .as_base = 1U << TESS_GRANULARITY_ROW | 1U << TESS_GRANULARITY_ENTRY | 1U << TESS_GRANULARITY_BLOCK,
            .pads = 1,
            .sorts_rows = 1,
        },
    .role = TESS_ROLE_SLICES,
    .check_options = check_options,
    .build = ellr_build,
    .refresh = ellr_refresh,
    .destroy = ellr_destroy,
    .prepare = ellr_prepare,
    .spmv = ellr_spmv,
    .takes_columns = ellr_takes_columns,
    .multiply_columns = ellr_multiply_columns,
    .decode = ellr_decode,
    .bytes = ellr_bytes,
};
