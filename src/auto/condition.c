/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/condition.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "matrix/assembled.h"

/* Up to this share of 1 / condition, the roundoff of factors leaves the error that they give its first digit. */
#define TRUSTED_SHARE 0.1

double vector_norm2(int64_t n, const double *v)
{
    double largest = 0.0, sum = 0.0;

    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(v[i]));
    }
    for (int64_t i = 0; i < n && largest > 0.0; i++) {
        sum += v[i] / largest * (v[i] / largest);
    }
    return largest * sqrt(sum);
}

static double norm1(int64_t n, const double *v)
{
    double sum = 0.0;

    for (int64_t i = 0; i < n; i++) {
        sum += fabs(v[i]);
    }
    return sum;
}

static void forget_error(tess_accuracy_result *out)
{
    out->source = TESS_CONDITION_UNKNOWN;
    out->condition = out->forward_error = NAN;
}

/* ---- complete factors ---- */

/* ||A||_1 = max_j sum_i |a_ij|; sums: n values. */
static tess_status matrix_norm1(const tess_matrix *a, double *sums, double *norm)
{
    tess_host_matrix host = {0};
    tess_status status = TESS_SUCCESS;

    *norm = 0.0;
    TESS_TRY(tess_matrix_on_host(a, &host));
    {
        const csr_view *v = &csr_of(host.matrix)->view;
        const double *val = v->val;

        memset(sums, 0, (size_t)v->ncols * sizeof *sums);
        for (int64_t k = 0; k < v->nnz; k++) {
            sums[v->col_ind[k]] += fabs(val[k]);
        }
        for (int64_t j = 0; j < v->ncols; j++) {
            *norm = fmax(*norm, sums[j]);
        }
    }
cleanup:
    tess_host_matrix_release(&host);
    return status;
}

/* ||M^-1||_1 by LAPACK's dlacn2 (Higham, ACM Trans. Math. Softw. 14 (1988)): a lower bound, mostly within a factor of
   3. work: 2 n values. */
static tess_status inverse_norm1(const tess_precond *m, bool symmetric, double *work, lapack_int *signs, double *norm)
{
    const lapack_int n = (lapack_int)m->n;
    lapack_int kase = 0, isave[3] = {0};
    tess_status status = TESS_SUCCESS;

    *norm = 0.0;
    memset(work + m->n, 0, (size_t)m->n * sizeof *work); /* LAPACKE looks for NaN in what it does not read */
    for (;;) {
        (void)LAPACKE_dlacn2(n, work, work + m->n, signs, norm, &kase, isave);
        if (kase == 0) { break; }
        TESS_TRY(m->ops->solve_on_host(m, kase == 2 && !symmetric, work + m->n, work + m->n));
    }
cleanup:
    return status;
}

/*
 * The error of x is A^-1 r, and the factors give it. Where their roundoff is too large beside the condition, it is
 * bounded instead, if they are in FP64: ||A^-1 r||_1 <= ||A^-1||_1 ||r||_1. FP32 factors then say nothing.
 */
static tess_status by_factors(const tess_precond *m, const error_of_x *e, tess_accuracy_result *out)
{
    tess_context *ctx = m->ctx;
    const int64_t n = m->n;
    lapack_int *signs = NULL;
    double *work = NULL, norm = 0.0, inverse = 0.0, bound = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 2 * n, sizeof *work, (void **)&work));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *signs, (void **)&signs));
    TESS_TRY(matrix_norm1(e->a, work, &norm));
    TESS_TRY(inverse_norm1(m, e->symmetric, work, signs, &inverse));
    TESS_TRY(m->ops->solve_on_host(m, false, e->residual, work));
    out->source = TESS_CONDITION_FACTORS;
    out->condition = norm * inverse;
    out->forward_error = vector_norm2(n, work) / e->x_norm;
    bound = inverse * norm1(n, e->residual) / norm1(n, e->x);
    if (!(out->condition * tess_precision_unit_roundoff(m->role.storage) <= TRUSTED_SHARE)) {
        out->forward_error = fmax(out->forward_error, bound);
        if (m->role.storage != TESS_PRECISION_FP64) { forget_error(out); }
    }
cleanup:
    tess_host_release(ctx, work, 2 * n, sizeof *work);
    tess_host_release(ctx, signs, n, sizeof *signs);
    return status;
}

/* ---- Lanczos ---- */

tess_status lanczos_allocate(tess_context *ctx, int64_t capacity, lanczos_record *out)
{
    tess_status status = TESS_SUCCESS;

    *out = (lanczos_record){.capacity = capacity};
    TESS_TRY(tess_host_allocate(ctx, capacity, sizeof(double), (void **)&out->diagonal));
    status = tess_host_allocate(ctx, capacity, sizeof(double), (void **)&out->beside);
cleanup:
    return status;
}

void lanczos_release(tess_context *ctx, lanczos_record *record)
{
    tess_host_release(ctx, record->diagonal, record->capacity, sizeof(double));
    tess_host_release(ctx, record->beside, record->capacity, sizeof(double));
}

static tess_precond_kind kind_of(const tess_precond *m)
{
    return m ? m->kind : TESS_PRECOND_NONE;
}

/* Whether M is the identity or a diagonal in FP64. */
static bool has_diagonal(const tess_solver *s)
{
    return s && s->method && s->method->kind == TESS_SOLVER_CG && s->ctx->device == TESS_DEVICE_CPU &&
           (!s->precond || tess_precond_scale(s->precond));
}

void lanczos_note(lanczos_record *t, const tess_solver *running)
{
    const tess_loop_state *now = has_diagonal(running) ? running->krylov.state : NULL;
    const bool first = !now || t->count == 0 || running->krylov.cycles != t->cycle;

    if (!now || kind_of(running->precond) != t->precond) { t->count = 0; }
    if (!now || t->count == t->capacity || !(now->alpha > 0.0)) { return; }
    t->precond = kind_of(running->precond);
    /* t_kk = 1 / alpha_k + beta_(k-1) / alpha_(k-1), t_(k,k-1) = sqrt(beta_(k-1)) / alpha_(k-1) */
    t->diagonal[t->count] = 1.0 / now->alpha + (first ? 0.0 : t->beta / t->alpha);
    if (t->count > 0) { t->beside[t->count - 1] = first ? 0.0 : sqrt(t->beta) / t->alpha; }
    t->alpha = now->alpha;
    t->beta = now->beta;
    t->cycle = running->krylov.cycles;
    t->count += 1;
}

/* The eigenvalue of T with this number, from 1 in ascending order; NaN: LAPACK found none. `found` has room for all. */
static double eigenvalue(const lanczos_record *t, int64_t number, double *found, lapack_int *places)
{
    const lapack_int n = (lapack_int)t->count, k = (lapack_int)number;
    lapack_int count = 0, splits = 0;

    if (LAPACKE_dstebz('I', 'E', n, 0.0, 0.0, k, k, 0.0, t->diagonal, t->beside, &count, &splits, found, places,
                       places + n) != 0 ||
        count < 1) {
        return NAN;
    }
    return found[0];
}

/*
 * S = D^-1/2 A D^-1/2 with its extreme eigenvalues by T. ||e||_2 <= ||D^-1/2||_2 ||D^1/2 e||_2, and D^1/2 e =
 * S^-1 D^-1/2 r, so that the last norm is at most ||D^-1/2 r||_2 / lambda_min.
 */
static void bound_by_lanczos(const double *inverse_diagonal, const error_of_x *e, double least,
                             tess_accuracy_result *out)
{
    double largest = 1.0, sum = 0.0;

    out->forward_error = e->residual_norm / least / e->x_norm;
    if (!inverse_diagonal || e->residual_norm == 0.0) { return; }
    largest = 0.0;
    for (int64_t i = 0; i < e->a->nrows; i++) {
        const double r = e->residual[i] / e->residual_norm;

        largest = fmax(largest, inverse_diagonal[i]);
        sum += r * r * inverse_diagonal[i];
    }
    out->forward_error *= sqrt(largest) * sqrt(sum);
}

static tess_status by_lanczos(const tess_solver *s, const lanczos_record *t, const error_of_x *e,
                              tess_accuracy_result *out)
{
    double *found = NULL, least = NAN, most = NAN;
    lapack_int *places = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(s->ctx, t->count, sizeof *found, (void **)&found));
    TESS_TRY(tess_host_allocate(s->ctx, 2 * t->count, sizeof *places, (void **)&places));
    least = eigenvalue(t, 1, found, places);
    most = eigenvalue(t, t->count, found, places);
    if (least > 0.0 && most > 0.0) {
        out->source = TESS_CONDITION_LANCZOS;
        out->condition = most / least;
        bound_by_lanczos(tess_precond_scale(s->precond), e, least, out);
    }
cleanup:
    tess_host_release(s->ctx, found, t->count, sizeof *found);
    tess_host_release(s->ctx, places, 2 * t->count, sizeof *places);
    return status;
}

/* ---- either ---- */

tess_status estimate_error(const tess_solver *s, const tess_precond *m, const lanczos_record *record,
                           const error_of_x *e, tess_accuracy_result *out)
{
    forget_error(out);
    if (e->residual_norm == 0.0 && e->x_norm == 0.0) { /* b = 0 */
        out->forward_error = 0.0;
        return TESS_SUCCESS;
    }
    if (!(e->x_norm > 0.0) || !isfinite(e->residual_norm)) { return TESS_SUCCESS; }
    if (m && m->ops->solve_on_host && (!s || m != s->precond || s->setup_reason == TESS_REASON_RUNNING)) {
        return by_factors(m, e, out);
    }
    if (record->count > 0 && has_diagonal(s)) { return by_lanczos(s, record, e, out); }
    return TESS_SUCCESS;
}
