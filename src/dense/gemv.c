/* SPDX-License-Identifier: Apache-2.0 */
/* Dense matrix-vector products: the checks before a backend gets one. */
#include "dense/gemv.h"

#include "dense/vector.h"

tess_dense_view tess_dense_view_of(tess_vector *v)
{
    return (tess_dense_view){.nrows = v->n, .ncols = 1, .ld = v->n, .precision = v->precision, .data = v->data};
}

/* Sizes and precision: what can be said of a view before its array is looked at. */
static tess_status check_shape(tess_context *ctx, const tess_dense_view *v, const char *role)
{
    const long long nrows = (long long)v->nrows, ncols = (long long)v->ncols, ld = (long long)v->ld;

    if (v->nrows < 0 || v->ncols < 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, NULL, "%s is %lld by %lld", role, nrows, ncols);
    }
    if (v->ld < v->nrows) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "ld is the distance of two columns, in values",
                         "%s has ld = %lld, less than its %lld rows", role, ld, nrows);
    }
    if (v->ncols > 0 && v->ld > INT64_MAX / 16 / v->ncols) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, NULL, "%s has %lld columns %lld values apart: too large", role,
                         ncols, ld);
    }
    if (tess_precision_bytes(v->precision) == 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, NULL, "%s has the unknown precision %d", role, (int)v->precision);
    }
    return TESS_SUCCESS;
}

static tess_status check_view(tess_context *ctx, const tess_dense_view *v, const char *role)
{
    tess_status status = TESS_SUCCESS;

    if (!v) { return tess_fail(ctx, TESS_INVALID_ARGUMENT, NULL, "%s is NULL", role); }
    status = check_shape(ctx, v, role);
    if (status != TESS_SUCCESS || v->nrows == 0 || v->ncols == 0) { return status; }
    if (!v->data) { return tess_fail(ctx, TESS_INVALID_ARGUMENT, NULL, "%s has no data (NULL)", role); }
    if ((uintptr_t)v->data % tess_precision_bytes(v->precision) != 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, NULL, "%s begins at an address that is no multiple of %zu bytes",
                         role, tess_precision_bytes(v->precision));
    }
    return TESS_SUCCESS;
}

/* A, X and Y against each other; each is a right view by itself. */
static tess_status check_together(tess_context *ctx, const tess_gemv_args *g)
{
    const bool transposed = g->operation == TESS_OP_TRANSPOSE;
    const int64_t in = transposed ? g->a.nrows : g->a.ncols, out = transposed ? g->a.ncols : g->a.nrows;

    if (g->x.nrows != in || g->y.nrows != out) {
        return tess_fail(ctx, TESS_DIMENSION_MISMATCH, NULL,
                         "op(A) is %lld by %lld, but X has %lld rows and Y has %lld", (long long)out, (long long)in,
                         (long long)g->x.nrows, (long long)g->y.nrows);
    }
    if (g->x.ncols != g->y.ncols) {
        return tess_fail(ctx, TESS_DIMENSION_MISMATCH, NULL, "X has %lld columns and Y has %lld", (long long)g->x.ncols,
                         (long long)g->y.ncols);
    }
    if (g->x.ncols > 2) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "call it for one or two columns at a time", "X and Y have %lld columns",
                         (long long)g->x.ncols);
    }
    if (g->y.column_scale) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "choose the scale first, and put it into alpha and beta",
                         "Y has column scales, which a result cannot have");
    }
    return TESS_SUCCESS;
}

tess_status tess_gemv(tess_context *ctx, tess_operation operation, double alpha, const tess_dense_view *a,
                      const tess_dense_view *x, double beta, const tess_dense_view *y, tess_arithmetic arithmetic)
{
    tess_gemv_args args = {.operation = operation, .arithmetic = arithmetic, .alpha = alpha, .beta = beta};
    tess_status status = TESS_SUCCESS;

    if (operation != TESS_OP_NONE && operation != TESS_OP_TRANSPOSE) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, NULL, "unknown operation %d", (int)operation);
    }
    if (arithmetic != TESS_ARITHMETIC_FP64 && arithmetic != TESS_ARITHMETIC_FP32) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, NULL, "unknown arithmetic %d", (int)arithmetic);
    }
    TESS_TRY(check_view(ctx, a, "A"));
    TESS_TRY(check_view(ctx, x, "X"));
    TESS_TRY(check_view(ctx, y, "Y"));
    args.a = *a;
    args.x = *x;
    args.y = *y;
    TESS_TRY(check_together(ctx, &args));
    if (y->nrows > 0 && y->ncols > 0) { status = gemv_ops_of(ctx)->gemv(ctx, &args); }
cleanup:
    return status;
}
