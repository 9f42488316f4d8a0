/* SPDX-License-Identifier: Apache-2.0 */
/* Dense triangular solves: the checks before a backend computes them. */
#include "dense/trsv.h"

#include <tessera/names.h>

#include "dense/vector.h"

static tess_status check_view(tess_context *ctx, const tess_dense_view *v, const char *role)
{
    const size_t bytes = v ? tess_precision_bytes(v->precision) : 0;

    if (!v) { return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass a view", "the view %s is NULL", role); }
    if (bytes == 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use a value of tess_precision", "%s has the unknown precision %d",
                         role, (int)v->precision);
    }
    if (v->nrows < 0 || v->ncols < 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "sizes must be 0 or more", "%s has the size %lld by %lld", role,
                         (long long)v->nrows, (long long)v->ncols);
    }
    if (v->ld < v->nrows || (v->ncols > 0 && v->ld > INT64_MAX / 16 / v->ncols)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT,
                         "ld is the distance from one column to the next, in values, and at least the number of rows",
                         "%s has ld = %lld, which does not fit its %s and %s", role, (long long)v->ld,
                         tess_count(v->nrows, "row").text, tess_count(v->ncols, "column").text);
    }
    if (v->nrows == 0 || v->ncols == 0) { return TESS_SUCCESS; }
    if (!v->data || (uintptr_t)v->data % bytes != 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "point data to an array that is aligned to the size of its values",
                         "%s has its data at %p, which cannot be an array of %zu-byte values", role, v->data, bytes);
    }
    return TESS_SUCCESS;
}

static tess_status check_options(tess_context *ctx, const tess_trsv_options *options)
{
    if (!options) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "a struct that is all zero means lower, not transposed, FP64",
                         "the options of a triangular solve are NULL");
    }
    /* Each of them has the values 0 and 1. */
    if (((unsigned)options->triangle | (unsigned)options->operation | (unsigned)options->diagonal |
         (unsigned)options->arithmetic | (unsigned)options->inversion) > 1U) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use values of the enums in dense.h",
                         "an option is unknown: triangle %d, operation %d, diagonal %d, arithmetic %d, inversion %d",
                         (int)options->triangle, (int)options->operation, (int)options->diagonal,
                         (int)options->arithmetic, (int)options->inversion);
    }
    return TESS_SUCCESS;
}

static tess_status check_together(tess_context *ctx, const tess_dense_view *a, const tess_dense_view *x)
{
    if (a->nrows != a->ncols) {
        return tess_fail(ctx, TESS_DIMENSION_MISMATCH, "pass a square view",
                         "the triangle T has the size %lld by %lld, but it must be square", (long long)a->nrows,
                         (long long)a->ncols);
    }
    if (x->nrows != a->nrows || x->ncols != 1) {
        return tess_fail(ctx, TESS_DIMENSION_MISMATCH, "pass x with as many rows as T and one column",
                         "T has %s, but x is %lld by %lld", tess_count(a->nrows, "row").text, (long long)x->nrows,
                         (long long)x->ncols);
    }
    if (x->column_scale) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "multiply x by its scale first",
                         "x has column scales, but a result cannot have them");
    }
    return TESS_SUCCESS;
}

tess_status tess_trsv(tess_context *ctx, const tess_trsv_options *options, const tess_dense_view *a,
                      const tess_dense_view *x)
{
    TESS_REQUIRE(NULL, ctx);
    tess_trsv_args args;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_options(ctx, options));
    TESS_TRY(check_view(ctx, a, "A"));
    TESS_TRY(check_view(ctx, x, "x"));
    TESS_TRY(check_together(ctx, a, x));
    args.options = *options;
    args.a = *a;
    args.x = *x;
    if (a->nrows > 0) { status = trsv_ops_of(ctx)->trsv(ctx, &args); }
cleanup:
    return status;
}
