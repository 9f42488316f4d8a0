/* SPDX-License-Identifier: Apache-2.0 */
/* The true residual: the number that decides whether a solve converged. */
#include <math.h>

#include <tessera/residual.h>

#include "matrix/assembled.h"
#include "matrix/complex_form.h"
#include "matrix/matrix.h"
#include "solver/guard_limits.h"
#include "solver/verify.h"

/* Rows that are NaN have none. */
static void forget_backward_error(row_residual_norms *rows)
{
    rows->backward = rows->backward_bound = NAN;
    rows->backward_row = -1;
}

/* ---- an assembled matrix, by tessera/residual.h ---- */

typedef struct residual_request {
    const tess_matrix *a;
    const double *b, *x;
    double *residual;
} residual_request;

static int residual_pass(void *user, int exponent, tess_residual_sums *sums)
{
    const residual_request *q = user;

    return (int)assembled_ops_of(q->a->ctx)->true_residual(q->a, q->b, q->x, q->residual, exponent, sums);
}

void verify_take_norms(const tess_matrix *a, const tess_residual_norms *found, true_residual *out)
{
    out->norm = found->norm;
    out->bound = found->bound;
    out->bounded = true;
    out->of_vector = found->of_vector;
    out->rounding = found->rounding;
    out->rhs_norm = found->rhs_norm;
    out->rhs_least = found->rhs_least;
    out->preconditioned = NAN;
    out->rows = (row_residual_norms){.known = true,
                                     .norm = found->rows_norm,
                                     .bound = found->rows_bound,
                                     .rhs_norm = found->rows_rhs_norm,
                                     .rhs_least = found->rows_rhs_least,
                                     .backward = found->backward,
                                     .backward_bound = found->backward_most - found->backward,
                                     .backward_row = tess_complex_row(a, found->backward_row)};
}

static tess_status residual_of_assembled(const tess_matrix *a, const double *b, const double *x, double *residual,
                                         true_residual *out)
{
    residual_request request = {a, b, x, residual};
    tess_residual_norms found;
    const tess_status status = (tess_status)tess_residual_norms_by(residual_pass, &request, &found);

    if (status == TESS_SUCCESS) { verify_take_norms(a, &found, out); }
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

    r->stop_norm = verify_stop_norm(o);
    r->rhs_norm = of_b->rhs_norm;
    r->tolerance = tess_given_tolerance(o->rtol, o->atol, of_b->rhs_least);
    r->rows.rhs_norm = rows->rhs_norm;
    r->rows.tolerance = tess_rows_tolerance(o->rtol, o->atol, of_b->rhs_norm, rows->rhs_least);
    if (!rows->known) { r->rows.tolerance = NAN; }
}

/* The bound decides, also if the computed norm is 0. A user's operator without a bound is trusted, and the result says
   that it is not verified. */
bool meets_given(const tess_solve_result *r, const true_residual *now)
{
    return isfinite(r->rhs_norm) && tess_residual_proves(now->norm, now->bounded ? now->bound : 0.0, r->tolerance);
}

/* Nobody knows the rows of a shell. */
bool meets_rows(const tess_solve_result *r, const true_residual *now, double slack)
{
    if (!now->rows.known) { return true; }
    return isfinite(r->rows.rhs_norm) &&
           tess_residual_meets_rows(now->rows.norm, now->rows.bound, r->rows.tolerance, slack);
}

bool meets_tolerance(const tess_solve_result *r, const true_residual *now)
{
    switch (r->stop_norm) {
    case TESS_STOP_NORM_ROWS: return now->rows.known ? meets_rows(r, now, 1.0) : meets_given(r, now);
    case TESS_STOP_NORM_BOTH: return meets_given(r, now) && meets_rows(r, now, 1.0);
    case TESS_STOP_NORM_PRECONDITIONED: return tess_residual_proves(now->preconditioned, 0.0, r->tolerance);
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
