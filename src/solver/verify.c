/* SPDX-License-Identifier: Apache-2.0 */
/* The true residual: the number that decides whether a solve converged. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/two_word.h"
#include "matrix/assembled.h"
#include "matrix/matrix.h"
#include "solver/verify.h"

/* The exponent of a scale that brings a sum of squares into range: squares overflow from 2^512 on and vanish below
   2^-537, and residuals range from 2^-1074 to 2^1024. 0: no scale is needed (or NaN). */
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

/* *at := the sums at that exponent: those of the pass without a scale, those there already, or another pass. */
static tess_status pass_at(const tess_matrix *a, const double *b, const double *x, double *residual, int exponent,
                           const tess_residual_norm *plain, tess_residual_norm *at)
{
    if (exponent == 0) { *at = *plain; }
    return exponent == at->exponent ? TESS_SUCCESS : residual_pass(a, b, x, residual, exponent, at);
}

/* The last product with a power of two rounds by at most 2^-1075 below the normal numbers. That is no number: 2^-1074.
 */
static double subnormal_error(double norm)
{
    return norm > 0.0 && norm < DBL_MIN ? 0x1p-1074 : 0.0;
}

/* sqrt of a sum in two words: half an ulp from the sum's rounding, one from the root's. */
#define ROOT_ERROR (4.0 * TESS_U64)

/* Each from a pass for which its squares are in range, as below; the quotients' rounding is in their bounds.
   `exists`: the residual is not exactly 0. Then a row-scaled norm of 0 has vanished: it is below 2^-1074. */
static tess_status norms_of_rows(const tess_matrix *a, const double *b, const double *x, double *residual,
                                 const tess_residual_norm *plain, bool exists, row_residual_norms *out)
{
    tess_residual_norm scaled = *plain;
    tess_status status = TESS_SUCCESS;

    out->known = true;
    out->backward = plain->backward;
    out->backward_bound = plain->backward_most - plain->backward;
    out->backward_row = plain->backward_row;
    TESS_TRY(pass_at(a, b, x, residual, fitting_exponent(plain->rows_high), plain, &scaled));
    out->norm = ldexp(sqrt(scaled.rows_high + scaled.rows_low), scaled.exponent);
    TESS_TRY(pass_at(a, b, x, residual, fitting_exponent(plain->rows_bound), plain, &scaled));
    out->bound = ldexp(sqrt(scaled.rows_bound) * (1.0 + 0x1p-40), scaled.exponent) + ROOT_ERROR * out->norm +
                 (exists && out->norm == 0.0 ? 0x1p-1074 : subnormal_error(out->norm));
    TESS_TRY(pass_at(a, b, x, residual, fitting_exponent(plain->rows_rhs), plain, &scaled));
    out->rhs_norm = ldexp(sqrt(scaled.rows_rhs), scaled.exponent);
    out->rhs_least = out->rhs_norm * (1.0 - 2.0 * ROOT_ERROR);
cleanup:
    return status;
}

/* Rows that are NaN have none. */
static void forget_backward_error(row_residual_norms *rows)
{
    rows->backward = rows->backward_bound = NAN;
    rows->backward_row = -1;
}

/*
 * Norm, bound and ||b||, each from a pass with a scale for which its squares are in range: after cancellation the bound
 * may be far larger than the norm. The bound covers the rows' errors, the rounding of each row's square (in two words:
 * far below u), of the square root and of the sum of norm and bound.
 */
static tess_status residual_of_assembled(const tess_matrix *a, const double *b, const double *x, double *residual,
                                         true_residual *out)
{
    tess_residual_norm plain, scaled;
    int for_norm = 0, for_bound = 0, for_rhs = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(residual_pass(a, b, x, residual, 0, &plain));
    for_norm = fitting_exponent(plain.high);
    for_bound = fitting_exponent(plain.bound);
    for_rhs = fitting_exponent(plain.rhs);
    scaled = plain;
    if (for_norm != 0) { TESS_TRY(residual_pass(a, b, x, residual, for_norm, &scaled)); }
    out->norm = ldexp(sqrt(scaled.high + scaled.low), scaled.exponent);
    TESS_TRY(pass_at(a, b, x, residual, fitting_exponent(plain.magnitude), &plain, &scaled));
    out->rounding = TESS_U64 * ldexp(sqrt(scaled.magnitude), scaled.exponent);
    TESS_TRY(pass_at(a, b, x, residual, for_bound, &plain, &scaled));
    out->of_vector = ldexp(sqrt(scaled.bound) * (1.0 + 0x1p-40), scaled.exponent);
    out->bound = out->of_vector + ROOT_ERROR * out->norm + subnormal_error(out->norm);
    out->bounded = true;
    TESS_TRY(pass_at(a, b, x, residual, for_rhs, &plain, &scaled));
    out->rhs_norm = ldexp(sqrt(scaled.rhs), scaled.exponent);
    out->rhs_least = out->rhs_norm * (1.0 - ROOT_ERROR);
    TESS_TRY(norms_of_rows(a, b, x, residual, &plain, out->norm + out->bound > 0.0, &out->rows));
    if (!isfinite(out->norm)) { forget_backward_error(&out->rows); }
cleanup:
    return status;
}

/* ---- a user's operator ---- */

/* Relative error of a norm of n squares, added in any order. */
static double norm_error(int64_t n)
{
    return ((double)n + 8.0) * TESS_U64;
}

/* b - y is rounded once for each element, and its norm computed in FP64; the user bounds the error of y. */
static tess_status bound_shell(const tess_matrix *a, const double *x, true_residual *out)
{
    double of_product = NAN;
    tess_status status = TESS_SUCCESS;

    out->bound = out->of_vector = NAN;
    out->bounded = a->shell.error_bound != NULL;
    if (!out->bounded) { return TESS_SUCCESS; }
    TESS_TRY(tess_matrix_bound_shell(a, x, &of_product));
    out->bound = of_product + (TESS_U64 + norm_error(a->nrows)) * (1.0 + 0x1p-40) * out->norm;
cleanup:
    return status;
}

static tess_status residual_of_shell(const tess_matrix *a, const double *b, const double *x, double *residual,
                                     true_residual *out)
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

    out->rounding = 0.0;
    out->rows = (row_residual_norms){.norm = NAN, .bound = NAN, .rhs_norm = NAN, .rhs_least = NAN};
    forget_backward_error(&out->rows);
    TESS_TRY(a->ctx->backend->copy(a->ctx, residual, b, (size_t)a->nrows * sizeof *b));
    TESS_TRY(tess_vector_norm2(&view, TESS_ARITHMETIC_FP64, &out->rhs_norm));
    out->rhs_least = out->rhs_norm * fmax(1.0 - norm_error(a->nrows), 0.0);
    TESS_TRY(tess_matrix_apply_shell(a, TESS_OP_NONE, x, residual));
    TESS_TRY(a->ctx->backend->fused(a->ctx, &subtract));
    TESS_TRY(tess_vector_norm2(&view, TESS_ARITHMETIC_FP64, &out->norm));
    status = bound_shell(a, x, out);
cleanup:
    return status;
}

tess_status verify_residual(const tess_matrix *a, const double *b, const double *x, double *residual,
                            true_residual *out)
{
    out->preconditioned = NAN;
    return a->ops ? residual_of_assembled(a, b, x, residual, out) : residual_of_shell(a, b, x, residual, out);
}

/* ---- tolerances ---- */

tess_stop_norm verify_stop_norm(const tess_solve_options *o)
{
    if (o->stop_norm != TESS_STOP_NORM_AUTO) { return o->stop_norm; }
    return o->solver == TESS_SOLVER_AUTO ? TESS_STOP_NORM_BOTH : TESS_STOP_NORM_GIVEN;
}

void verify_set_tolerances(const tess_solve_options *o, const true_residual *of_b, tess_solve_result *r)
{
    const row_residual_norms *rows = &of_b->rows;
    const double of_atol = of_b->rhs_norm > 0.0 ? nextafter(o->atol / of_b->rhs_norm, 0.0) : 0.0;

    r->stop_norm = verify_stop_norm(o);
    r->rhs_norm = of_b->rhs_norm;
    r->tolerance = fmax(nextafter(o->rtol * of_b->rhs_least, 0.0), o->atol);
    r->rows.rhs_norm = rows->rhs_norm;
    r->rows.tolerance = of_b->rhs_norm > 0.0 ? nextafter(fmax(o->rtol, of_atol) * rows->rhs_least, 0.0) : r->tolerance;
    if (!rows->known) { r->rows.tolerance = NAN; }
}

/* Whether a norm and its bound prove that the exact norm is at most `most`. */
static bool proves(double norm, double bound, double most)
{
    return isfinite(norm + bound) && norm + bound <= most;
}

/* The bound decides, also if the computed norm is 0. A user's operator without a bound is trusted, and the result says
   that it is not verified. */
bool meets_given(const tess_solve_result *r, const true_residual *now)
{
    return isfinite(r->rhs_norm) && proves(now->norm, now->bounded ? now->bound : 0.0, r->tolerance);
}

/* Nobody knows the rows of a shell. */
bool meets_rows(const tess_solve_result *r, const true_residual *now, double slack)
{
    if (!now->rows.known) { return true; }
    return isfinite(r->rows.rhs_norm) && proves(now->rows.norm, now->rows.bound, slack * r->rows.tolerance);
}

bool meets_tolerance(const tess_solve_result *r, const true_residual *now)
{
    switch (r->stop_norm) {
    case TESS_STOP_NORM_ROWS: return now->rows.known ? meets_rows(r, now, 1.0) : meets_given(r, now);
    case TESS_STOP_NORM_BOTH: return meets_given(r, now) && meets_rows(r, now, 1.0);
    case TESS_STOP_NORM_PRECONDITIONED: return proves(now->preconditioned, 0.0, r->tolerance);
    default: return meets_given(r, now);
    }
}

/* Units of row-scaled norms in those of norms as given. */
static double share_of_rows(const tess_solve_result *r)
{
    return r->rows.tolerance > 0.0 ? r->tolerance / r->rows.tolerance : r->rhs_norm / r->rows.rhs_norm;
}

double deciding_norm(const tess_solve_result *r, const true_residual *now)
{
    const double rows = now->rows.norm * share_of_rows(r);

    if (r->stop_norm == TESS_STOP_NORM_PRECONDITIONED) { return now->preconditioned; }
    if (r->stop_norm == TESS_STOP_NORM_GIVEN || !now->rows.known || !isfinite(rows)) { return now->norm; }
    return r->stop_norm == TESS_STOP_NORM_ROWS ? rows : fmax(now->norm, rows);
}

double deciding_bound(const tess_solve_result *r, const true_residual *now)
{
    const double given = now->bounded && isfinite(now->bound) ? now->bound : 0.0;
    const double rows = now->rows.bound * share_of_rows(r);

    if (r->stop_norm == TESS_STOP_NORM_PRECONDITIONED) { return 0.0; }
    if (r->stop_norm == TESS_STOP_NORM_GIVEN || !now->rows.known || !isfinite(rows)) { return given; }
    return r->stop_norm == TESS_STOP_NORM_ROWS ? rows : fmax(given, rows);
}

/* By their rows, as far as the bounds tell. */
static bool has_smaller_rows(const true_residual *next, const true_residual *now)
{
    const row_residual_norms *a = &next->rows, *b = &now->rows;

    return a->known && b->known && a->norm + a->bound < b->norm - b->bound;
}

/* Within this factor of the rounding error of x itself. */
#define ROUNDING_FACTOR 64.0

bool is_rounding(const true_residual *now)
{
    return now->norm <= ROUNDING_FACTOR * now->rounding;
}

bool is_no_worse(const tess_solve_result *r, const true_residual *next, const true_residual *now)
{
    const double after = deciding_norm(r, next), before = deciding_norm(r, now);
    const double bounds = deciding_bound(r, next) + deciding_bound(r, now);

    return after + bounds <= before ||
           (after <= before + bounds && (meets_given(r, next) || is_rounding(next)) && has_smaller_rows(next, now));
}

bool may_replace(const tess_solve_result *r, const true_residual *next, const true_residual *now,
                 const true_residual *first)
{
    return (deciding_norm(r, next) <= deciding_norm(r, now) || is_no_worse(r, next, now)) &&
           is_no_worse(r, next, first);
}

void verify_report_rows(const true_residual *now, tess_solve_result *r)
{
    const row_residual_norms *rows = &now->rows;
    tess_row_residual *out = &r->rows;

    out->norm = rows->norm;
    out->relative = rows->norm / (out->rhs_norm > 0.0 ? out->rhs_norm : 1.0);
    out->bound = rows->bound;
    out->backward_error = rows->backward;
    out->backward_bound = rows->backward_bound;
    out->backward_row = rows->backward_row;
    out->met = rows->known && meets_rows(r, now, 1.0);
}

tess_status tess_verify_residual(const tess_matrix *a, const tess_vector *b, const tess_vector *x,
                                 tess_vector *residual, double *norm, double *bound)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, norm);
    TESS_REQUIRE(a->ctx, bound);
    const tess_matrix *original = a->original ? a->original : a;
    tess_vector *scratch = NULL;
    true_residual found;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_require(a->ctx, b, a->nrows, "b"));
    TESS_TRY(tess_vector_require(a->ctx, x, a->ncols, "x"));
    if (residual) {
        TESS_TRY(tess_vector_require(a->ctx, residual, a->nrows, "residual"));
        if (a->nrows > 0 && (residual->data == b->data || residual->data == x->data)) {
            return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "pass another vector for the residual",
                             "the residual would overwrite b or x");
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
