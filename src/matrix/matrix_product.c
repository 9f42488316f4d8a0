/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices in any format, and of operators given by functions. */
#include "base/options.h"

#include <tessera/names.h>

#include "matrix/matrix.h"

static tess_status call_shell(const tess_matrix *a, tess_operation operation, const double *x, double *y)
{
    int code = a->shell.apply(a->shell.user, operation, x, y);

    if (code == 0) { return TESS_SUCCESS; }
    return tess_fail(a->ctx, TESS_CALLBACK, "see what the function reports",
                     "the operator's apply function returned the error %d", code);
}

tess_status tess_matrix_apply_shell(const tess_matrix *a, tess_operation operation, const double *x, double *y)
{
    return call_shell(a, operation, x, y);
}

tess_status tess_matrix_bound_shell(const tess_matrix *a, const double *x, double *bound)
{
    int code = a->shell.error_bound(a->shell.user, x, bound);

    if (code != 0) {
        return tess_fail(a->ctx, TESS_CALLBACK, "see what the function reports",
                         "the operator's error_bound function returned the error %d", code);
    }
    if (*bound >= 0.0) { return TESS_SUCCESS; }
    return tess_fail(a->ctx, TESS_CALLBACK, "give the norm of an error, 0 or more",
                     "the operator's error_bound function gave the bound %g", *bound);
}

tess_status tess_spmv_require_fp64_vectors(const tess_matrix *a, const tess_spmv_args *args)
{
    if (args->vectors == TESS_PRECISION_FP64) { return TESS_SUCCESS; }
    return tess_fail(a->ctx, TESS_UNSUPPORTED,
                     "copy the vectors to fp64, or store the matrix as csr, ellr, sell, dia or bsr",
                     "a matrix in format %s%s cannot multiply fp32 vectors", tess_format_name(a->format),
                     args->operation == TESS_OP_TRANSPOSE ? ", transposed," : "");
}

tess_status tess_spmv_of_original(const tess_matrix *a, const tess_spmv_args *args)
{
    tess_status status = tess_spmv_require_fp64_vectors(a, args);

    if (status != TESS_SUCCESS) { return status; }
    if (!tess_matrix_is_exact(a)) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "multiply with the FP64 matrix",
                         "a matrix stored in %s has no transposed product", tess_precision_name(a->precision));
    }
    return a->original->ops->spmv(a->original, args);
}

static tess_status spmv_shell(const tess_matrix *a, const tess_spmv_args *args, int64_t nout)
{
    tess_context *ctx = a->ctx;
    double *product = NULL;
    tess_fused op = {.op = args->beta == 0.0 ? TESS_FUSED_SCALE : TESS_FUSED_AXPBY,
                     .n = nout,
                     .y = {.data = args->y},
                     .result = args->y,
                     .a = args->alpha,
                     .b = args->beta};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_spmv_require_fp64_vectors(a, args));
    if (args->alpha == 1.0 && args->beta == 0.0) { return call_shell(a, args->operation, args->x, args->y); }
    TESS_TRY(tess_device_allocate(ctx, nout, sizeof *product, (void **)&product));
    TESS_TRY(call_shell(a, args->operation, args->x, product));
    op.x.data = product;
    TESS_TRY(ctx->backend->fused(ctx, &op));
cleanup:
    tess_device_release(ctx, product, nout, sizeof *product);
    return status;
}

/* Both FP64, or both FP32. */
static tess_status require_vectors(const tess_matrix *a, const tess_vector *x, int64_t nin, const tess_vector *y,
                                   int64_t nout, tess_precision *precision)
{
    bool fp32 = x && y && x->precision == TESS_PRECISION_FP32 && y->precision == TESS_PRECISION_FP32;
    tess_status status = TESS_SUCCESS;

    *precision = fp32 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
    TESS_TRY(tess_vector_require_in(a->ctx, x, nin, *precision, "x"));
    TESS_TRY(tess_vector_require_in(a->ctx, y, nout, *precision, "y"));
    if (nin > 0 && x->data == y->data) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "pass two vectors", "x and y of a product are the same array");
    }
cleanup:
    return status;
}

/* The product from the copy that args name, FP64 or FP32 by the vectors. */
static tess_status multiply(const tess_matrix *a, const tess_vector *x, tess_vector *y, tess_spmv_args args)
{
    bool transpose = args.operation == TESS_OP_TRANSPOSE;
    int64_t nin = transpose ? a->nrows : a->ncols, nout = transpose ? a->ncols : a->nrows;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(require_vectors(a, x, nin, y, nout, &args.vectors));
    if (args.vectors == TESS_PRECISION_FP32) {
        args.x_fp32 = x->data;
        args.y_fp32 = y->data;
    } else {
        args.x = x->data;
        args.x_shadow = x->shadow;
        args.y = y->data;
    }
    if (a->ops) {
        TESS_TRY(tess_matrix_refresh((tess_matrix *)(uintptr_t)a));
        TESS_TRY(a->ops->spmv(a, &args));
    } else {
        TESS_TRY(spmv_shell(a, &args, nout));
    }
    status = tess_vector_refresh_shadow(y);
cleanup:
    return status;
}

tess_status tess_matrix_spmv(const tess_matrix *a, tess_operation operation, double alpha, const tess_vector *x,
                             double beta, tess_vector *y)
{
    tess_status status = TESS_SUCCESS;

    TESS_REQUIRE(NULL, a);
    status = options_require_name(a->ctx, "tess_operation", "operation", (int)operation);
    if (status != TESS_SUCCESS) { return status; }
    busy_adapt(a->ctx);
    return multiply(a, x, y, (tess_spmv_args){.operation = operation, .alpha = alpha, .beta = beta});
}

tess_status tess_matrix_spmv_level(const tess_matrix *a, int level, double alpha, const tess_vector *x, double beta,
                                   tess_vector *y)
{
    TESS_REQUIRE(NULL, a);
    if (!a->ops || !a->ops->can.copies_levels) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use format composite, which stores all values at each level",
                         "a matrix in format %s has no product at one precision level", tess_format_name(a->format));
    }
    if (level < 0 || level >= TESS_MAX_LEVELS) {
        return tess_fail(a->ctx, TESS_OUT_OF_RANGE, "levels count from 0",
                         "precision level %d does not exist; a matrix has at most %s", level,
                         tess_count((int)TESS_MAX_LEVELS, "level").text);
    }
    return multiply(a, x, y, (tess_spmv_args){.alpha = alpha, .beta = beta, .copy = TESS_COPY_LEVEL + level});
}
