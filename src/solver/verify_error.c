/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error of an x that is given: A e = b - A x, solved with complete factors in FP64, whatever made x. Factors of a
 * matrix that is singular up to rounding give some e too. So they count only if they solve a random system to one
 * digit, by residual and by the next correction, and if the next correction of e is as small.
 */
#include <math.h>

#include <tessera/precond.h>

#include "base/random.h"
#include "matrix/assembled.h"
#include "matrix/residual_rows.h"
#include "precond/precond.h"
#include "solver/verify_error.h"

/* A share that leaves one digit. */
#define TRUSTED_SHARE 0.1

double norm2_of(int64_t n, const double *v)
{
    double largest = 0.0, sum = 0.0, scale = 1.0;
    int exponent = 0;

    for (int64_t i = 0; i < n; i++) {
        if (!(fabs(v[i]) <= largest) && !isnan(largest)) { largest = fabs(v[i]); } /* NaN stays */
    }
    if (!(largest > 0.0) || isinf(largest)) { return largest; }
    exponent = ilogb(largest);
    scale = ldexp(1.0, -exponent); /* infinite for the smallest: they are scaled one by one */
    for (int64_t i = 0; i < n; i++) {
        const double part = isfinite(scale) ? v[i] * scale : ldexp(v[i], -exponent);

        sum += part * part;
    }
    return ldexp(sqrt(sum), exponent);
}

typedef struct error_work {
    const csr_view *a;
    tess_precond *m;
    int64_t n;
    double *rhs, *solution, *residual, *correction; /* n each */
} error_work;

/* solution := M^-1 rhs, residual := rhs - A solution, correction := M^-1 residual. */
static tess_status solve_twice(const error_work *w)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(w->m->ops->solve_on_host(w->m, false, w->rhs, w->solution));
    for (int64_t i = 0; i < w->n; i++) {
        w->residual[i] = row_terms_of(w->a, w->rhs, w->solution, i).value;
    }
    status = w->m->ops->solve_on_host(w->m, false, w->residual, w->correction);
cleanup:
    return status;
}

/* Values of either sign, from a half to 1 times each row's largest magnitude: rows weigh alike. A row of zeros has some
   too, which no solution reaches. */
static void fill_random(const error_work *w)
{
    const double *val = (const double *)w->a->val;

    for (int64_t i = 0; i < w->n; i++) {
        const double factor = tess_random_in(1, (uint64_t)i, -0.5, 0.5);
        double largest = 0.0;

        for (int64_t k = csr_offset(w->a, i); k < csr_offset(w->a, i + 1); k++) {
            largest = fmax(largest, fabs(val[k]));
        }
        w->rhs[i] = (largest > 0.0 ? largest : 1.0) * (factor + copysign(0.5, factor));
    }
}

/* ||correction|| <= share ||solution||; false for NaN. */
static bool has_digit(const error_work *w)
{
    return norm2_of(w->n, w->correction) <= TRUSTED_SHARE * norm2_of(w->n, w->solution);
}

static tess_status solves_random(const error_work *w, bool *solves)
{
    tess_status status = TESS_SUCCESS;

    *solves = false;
    fill_random(w);
    TESS_TRY(solve_twice(w));
    *solves = has_digit(w);
    for (int64_t i = 0; i < w->n && *solves; i++) {
        *solves = fabs(w->residual[i]) <= TRUSTED_SHARE * fabs(w->rhs[i]);
    }
cleanup:
    return status;
}

static tess_status error_of(const error_work *w, const double *b, const double *x, double *error)
{
    const double of_x = norm2_of(w->n, x);
    bool solves = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(solves_random(w, &solves));
    if (!solves || !(of_x > 0.0)) { return TESS_SUCCESS; }
    for (int64_t i = 0; i < w->n; i++) {
        w->rhs[i] = row_terms_of(w->a, b, x, i).value;
    }
    TESS_TRY(solve_twice(w));
    if (!has_digit(w)) { return TESS_SUCCESS; }
    *error = (norm2_of(w->n, w->solution) + norm2_of(w->n, w->correction)) / of_x;
    if (!isfinite(*error)) { *error = NAN; }
cleanup:
    return status;
}

static tess_status measure(const tess_vector *b, const tess_vector *x, const tess_host_matrix *host, tess_precond *m,
                           double *error)
{
    tess_context *ctx = x->ctx;
    const int64_t n = x->n;
    const size_t bytes = (size_t)n * sizeof(double);
    double *all = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 6 * n, sizeof *all, (void **)&all));
    {
        const error_work w = {&csr_of(host->matrix)->view, m, n, all, all + n, all + 2 * n, all + 3 * n};

        TESS_TRY(ctx->backend->download(ctx, all + 4 * n, b->data, bytes));
        TESS_TRY(ctx->backend->download(ctx, all + 5 * n, x->data, bytes));
        status = error_of(&w, all + 4 * n, all + 5 * n, error);
    }
cleanup:
    tess_host_release(ctx, all, 6 * n, sizeof *all);
    return status;
}

/* What leaves a matrix without factors, and is no error of the verification. */
static bool has_no_factors(tess_status status)
{
    return status == TESS_UNSUPPORTED || status == TESS_SINGULAR || status == TESS_OUT_OF_RANGE ||
           status == TESS_TIMED_OUT;
}

/* *m NULL: there are none. */
static tess_status make_factors(const tess_matrix *a, tess_precond **m)
{
    const tess_error before = a->ctx->error;
    tess_precond_options o;
    tess_status status = TESS_SUCCESS;

    tess_precond_options_init(&o);
    o.kind = TESS_PRECOND_LU;
    o.role = (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64};
    status = tess_precond_create(a, &o, m);
    if (status == TESS_SUCCESS && (*m)->ops->solve_on_host) { return TESS_SUCCESS; }
    tess_precond_destroy(*m);
    *m = NULL;
    if (status != TESS_SUCCESS && !has_no_factors(status)) { return status; }
    a->ctx->error = before;
    return TESS_SUCCESS;
}

tess_status verify_forward_error(const tess_matrix *a, const tess_vector *b, const tess_vector *x, double *error)
{
    tess_host_matrix host = {0};
    tess_precond *m = NULL;
    tess_status status = TESS_SUCCESS;

    *error = NAN;
    if (a->nrows != a->ncols || a->nrows == 0) { return TESS_SUCCESS; }
    TESS_TRY(make_factors(a, &m));
    if (!m) { return TESS_SUCCESS; }
    TESS_TRY(tess_matrix_on_host(a, &host));
    status = measure(b, x, &host, m, error);
cleanup:
    tess_host_matrix_release(&host);
    tess_precond_destroy(m);
    return status;
}
