/* SPDX-License-Identifier: Apache-2.0 */
/* Dense matrix-vector products: the checks before a backend computes them. */
#include "dense/gemv.h"

#include <tessera/names.h>

#include "dense/vector.h"

tess_dense_view tess_dense_view_of(tess_vector *v)
{
    if (!v) { return (tess_dense_view){0}; }
    return (tess_dense_view){.nrows = v->n, .ncols = 1, .ld = v->n, .precision = v->precision, .data = v->data};
}

/* Sizes and precision: everything that can be checked without looking at the array. */
static tess_status check_shape(tess_context *ctx, const tess_dense_view *v, const char *role)
{
    const long long nrows = (long long)v->nrows, ncols = (long long)v->ncols, ld = (long long)v->ld;

    if (v->nrows < 0 || v->ncols < 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "sizes must be 0 or more", "%s has the size %lld by %lld", role,
                         nrows, ncols);
    }
    if (v->ld < v->nrows) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "ld is the distance from one column to the next, in values",
                         "%s has ld = %lld, which is less than its %s", role, ld, tess_count(nrows, "row").text);
    }
    if (v->ncols > 0 && v->ld > INT64_MAX / 16 / v->ncols) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "split it into smaller views",
                         "%s is too large: %s with ld = %lld", role, tess_count(ncols, "column").text, ld);
    }
    if (tess_precision_bytes(v->precision) == 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use a value of tess_precision", "%s has the unknown precision %d",
                         role, (int)v->precision);
    }
    return TESS_SUCCESS;
}

static tess_status check_view(tess_context *ctx, const tess_dense_view *v, const char *role)
{
    tess_status status = TESS_SUCCESS;

    if (!v) { return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass a view", "the view %s is NULL", role); }
    status = check_shape(ctx, v, role);
    if (status != TESS_SUCCESS || v->nrows == 0 || v->ncols == 0) { return status; }
    if (!v->data) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "point its data to an array",
                         "the view %s has no array: data is NULL", role);
    }
    if ((uintptr_t)v->data % tess_precision_bytes(v->precision) != 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "align the array to the size of its values",
                         "the array of %s begins at an address that is not a multiple of %zu bytes", role,
                         tess_precision_bytes(v->precision));
    }
    return TESS_SUCCESS;
}

/* Checks A, X and Y against one another; each one is already checked by itself. */
static tess_status check_together(tess_context *ctx, const tess_gemv_args *g)
{
    const bool transposed = g->operation == TESS_OP_TRANSPOSE;
    const int64_t in = transposed ? g->a.nrows : g->a.ncols, out = transposed ? g->a.ncols : g->a.nrows;

    if (g->x.nrows != in || g->y.nrows != out) {
        return tess_fail(ctx, TESS_DIMENSION_MISMATCH,
                         "X needs as many rows as op(A) has columns, Y as many as op(A) has rows",
                         "op(A) is %lld by %lld, but X has %s and Y has %lld", (long long)out, (long long)in,
                         tess_count(g->x.nrows, "row").text, (long long)g->y.nrows);
    }
    if (g->x.ncols != g->y.ncols) {
        return tess_fail(ctx, TESS_DIMENSION_MISMATCH, "pass views with the same number of columns",
                         "X has %s, but Y has %lld", tess_count(g->x.ncols, "column").text, (long long)g->y.ncols);
    }
    if (g->x.ncols > 2) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "call tess_gemv for one or two columns at a time",
                         "X and Y have %s, but a product takes one or two", tess_count(g->x.ncols, "column").text);
    }
    if (g->y.column_scale) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "put the scale into alpha and beta",
                         "Y has column scales, but a result cannot have them");
    }
    return TESS_SUCCESS;
}

tess_status tess_gemv(tess_context *ctx, tess_operation operation, double alpha, const tess_dense_view *a,
                      const tess_dense_view *x, double beta, const tess_dense_view *y, tess_arithmetic arithmetic)
{
    TESS_REQUIRE(NULL, ctx);
    tess_gemv_args args = {.operation = operation, .arithmetic = arithmetic, .alpha = alpha, .beta = beta};
    tess_status status = TESS_SUCCESS;

    if (operation != TESS_OP_NONE && operation != TESS_OP_TRANSPOSE) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use a value of tess_operation", "unknown operation %d",
                         (int)operation);
    }
    if (arithmetic != TESS_ARITHMETIC_FP64 && arithmetic != TESS_ARITHMETIC_FP32) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use a value of tess_arithmetic", "unknown arithmetic %d",
                         (int)arithmetic);
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
