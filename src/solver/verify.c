/* SPDX-License-Identifier: Apache-2.0 */
/* The true residual: the number that decides whether a solve converged. */
#include <math.h>
#include <string.h>

#include "base/two_word.h"
#include "matrix/assembled.h"
#include "matrix/matrix.h"
#include "solver/verify.h"

/* The exponent of a scale that brings a sum of squares into range: squares overflow from 2^512 on and vanish below
   2^-537, residuals reach from 2^-1074 to 2^1024. 0: it is in range as it is (or NaN). */
static int fitting_exponent(double squares)
{
    return tess_squares_are_whole(squares) || isnan(squares) ? 0 : squares > 1.0 ? 600 : -800;
}

static tess_status residual_pass(const tess_matrix *a, const double *b, const double *x, double *residual, int exponent,
                                 tess_residual_norm *sums)
{
    memset(sums, 0, sizeof *sums);
    sums->exponent = exponent;
    return assembled_ops_of(a->ctx)->true_residual(a, b, x, residual, sums);
}

/*
 * Norm and bound, each from a pass at a scale where its squares are in range: after cancellation the bound may be far
 * larger than the norm. The bound covers the rows' errors, the rounding of each row's square (in two words: far below
 * u) and of the square root.
 */
static tess_status residual_of_assembled(const tess_matrix *a, const double *b, const double *x, double *residual,
                                         true_residual *out)
{
    tess_residual_norm plain, scaled;
    int for_norm = 0, for_bound = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(residual_pass(a, b, x, residual, 0, &plain));
    out->rhs_norm = tess_squares_are_whole(plain.rhs) ? sqrt(plain.rhs) : NAN;
    for_norm = fitting_exponent(plain.high);
    for_bound = fitting_exponent(plain.bound);
    scaled = plain;
    if (for_norm != 0) { TESS_TRY(residual_pass(a, b, x, residual, for_norm, &scaled)); }
    out->norm = ldexp(sqrt(scaled.high + scaled.low), scaled.exponent);
    if (!tess_squares_are_whole(plain.magnitude)) { plain.magnitude = 0.0; }
    if (!tess_squares_are_whole(scaled.magnitude)) { scaled.magnitude = 0.0; }
    out->rounding =
        TESS_U64 * (plain.magnitude > 0.0 ? sqrt(plain.magnitude) : ldexp(sqrt(scaled.magnitude), scaled.exponent));
    if (for_bound == 0) {
        scaled = plain;
    } else if (for_bound != for_norm) {
        TESS_TRY(residual_pass(a, b, x, residual, for_bound, &scaled));
    }
    out->bound = ldexp(sqrt(scaled.bound) * (1.0 + 0x1p-40), scaled.exponent) + 4.0 * TESS_U64 * out->norm;
cleanup:
    return status;
}

static tess_status residual_of_shell(const tess_matrix *a, const double *b, const double *x, double *residual,
                                     double *norm)
{
    tess_fused subtract = {.op = TESS_FUSED_AXPBY,
                           .n = a->nrows,
                           .x = {.data = b},
                           .y = {.data = residual},
                           .result = residual,
                           .a = 1.0,
                           .b = -1.0};
    tess_vector view = {.ctx = a->ctx, .n = a->nrows, .precision = TESS_PRECISION_FP64, .data = residual};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_matrix_apply_shell(a, TESS_OP_NONE, x, residual));
    TESS_TRY(a->ctx->backend->fused(a->ctx, &subtract));
    status = tess_vector_norm2(&view, TESS_ARITHMETIC_FP64, norm);
cleanup:
    return status;
}

tess_status verify_residual(const tess_matrix *a, const double *b, const double *x, double *residual,
                            true_residual *out)
{
    if (a->ops) { return residual_of_assembled(a, b, x, residual, out); }
    out->bound = NAN;
    out->rounding = 0.0;
    out->rhs_norm = NAN;
    return residual_of_shell(a, b, x, residual, &out->norm);
}

tess_status tess_verify_residual(const tess_matrix *a, const tess_vector *b, const tess_vector *x,
                                 tess_vector *residual, double *norm, double *bound)
{
    const tess_matrix *original = a->original ? a->original : a;
    tess_vector *scratch = NULL;
    true_residual found;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_require(a->ctx, b, a->nrows, "b"));
    TESS_TRY(tess_vector_require(a->ctx, x, a->ncols, "x"));
    if (residual) {
        TESS_TRY(tess_vector_require(a->ctx, residual, a->nrows, "residual"));
        if (a->nrows > 0 && (residual->data == b->data || residual->data == x->data)) {
            return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, NULL, "the residual is written to the array of b or x");
        }
    } else {
        TESS_TRY(tess_vector_create(a->ctx, a->nrows, TESS_PRECISION_FP64, &scratch));
        residual = scratch;
    }
    TESS_TRY(verify_residual(original, b->data, x->data, residual->data, &found));
    *norm = found.norm;
    *bound = found.bound;
    status = tess_vector_refresh_shadow(residual);
cleanup:
    tess_vector_destroy(scratch);
    return status;
}
