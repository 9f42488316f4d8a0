/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/condition.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "matrix/assembled.h"
#include "matrix/residual_rows.h"

/* A refined solve goes on while the residual falls to this share of the last, and ends at the next share of the first;
   above the third share, it has failed. */
#define REFINED_SHARE 0.5
#define REFINED_ENOUGH 1e-10
#define MOST_LEFT 0.1
/* dlacn2 gives a lower bound, mostly within a factor of 3. */
#define ESTIMATOR_FACTOR 10.0
#define UNIT 0x1p-53
enum { MOST_REFINEMENTS = 12 };

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

/* A^-1 by factors and iterative refinement, whose residuals have two words. */
typedef struct refined_inverse {
    const tess_precond *m;
    const csr_view *a;
    bool symmetric;
    bool valid;                     /* every solve so far left a small residual in each row */
    row_residual *rows;             /* n: of the last solve */
    double *size, *solution, *work; /* n each */
    double *uncertain;              /* f = (|A| |x| + |b|) max(u, max_i |r|_i / (|A| |x| + |b|)_i) >= |r|; n */
    lapack_int *signs;              /* n */
} refined_inverse;

static tess_status inverse_open(const tess_precond *m, refined_inverse *out)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(m->ctx, m->n, sizeof *out->rows, (void **)&out->rows));
    TESS_TRY(tess_host_allocate(m->ctx, m->n, sizeof *out->size, (void **)&out->size));
    TESS_TRY(tess_host_allocate(m->ctx, m->n, sizeof *out->solution, (void **)&out->solution));
    TESS_TRY(tess_host_allocate(m->ctx, m->n, sizeof *out->uncertain, (void **)&out->uncertain));
    TESS_TRY(tess_host_allocate(m->ctx, 2 * m->n, sizeof *out->work, (void **)&out->work));
    status = tess_host_allocate(m->ctx, m->n, sizeof *out->signs, (void **)&out->signs);
cleanup:
    return status;
}

static void inverse_close(refined_inverse *v)
{
    tess_context *ctx = v->m->ctx;
    const int64_t n = v->m->n;

    tess_host_release(ctx, v->rows, n, sizeof *v->rows);
    tess_host_release(ctx, v->size, n, sizeof *v->size);
    tess_host_release(ctx, v->solution, n, sizeof *v->solution);
    tess_host_release(ctx, v->uncertain, n, sizeof *v->uncertain);
    tess_host_release(ctx, v->work, 2 * n, sizeof *v->work);
    tess_host_release(ctx, v->signs, n, sizeof *v->signs);
}

static void rows_of_residual(const csr_view *a, bool transposed, const double *b, const double *x, row_residual *rows)
{
    const double *val = a->val;

    for (int64_t i = 0; i < a->nrows; i++) {
        rows[i] = row_residual_start(b[i]);
    }
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = csr_offset(a, i), end = csr_offset(a, i + 1); k < end; k++) {
            const int64_t j = a->col_ind[k];

            row_residual_add(&rows[transposed ? j : i], val[k], x[transposed ? i : j]);
        }
    }
}

/* The largest magnitude of each row of A, or of A^T. */
static void find_sizes(const csr_view *a, bool transposed, double *size)
{
    const double *val = a->val;

    memset(size, 0, (size_t)a->nrows * sizeof *size);
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = csr_offset(a, i), end = csr_offset(a, i + 1); k < end; k++) {
            double *of_row = &size[transposed ? a->col_ind[k] : i];

            *of_row = fmax(*of_row, fabs(val[k]));
        }
    }
}

/* max_i |v_i| / size_i; a row that is 0 counts only if v_i is not. */
static double largest_ratio(int64_t n, const double *v, const double *size)
{
    double largest = 0.0;

    for (int64_t i = 0; i < n; i++) {
        if (isnan(v[i])) { return INFINITY; }
        if (v[i] != 0.0) { largest = fmax(largest, fabs(v[i]) / size[i]); }
    }
    return largest;
}

/* v->solution = A^-1 rhs, or A^-T rhs, by refinement until the residual, relative to `size` in each row, stays. The
   solve counts as one only if little is left: factors that are singular leave the part that they do not see. */
static tess_status solve_refined(refined_inverse *v, bool transposed, const double *rhs, const double *size)
{
    const int64_t n = v->m->n;
    const double start = largest_ratio(n, rhs, size);
    double *correction = v->work, left = INFINITY;
    tess_status status = TESS_SUCCESS;

    memset(v->solution, 0, (size_t)n * sizeof *v->solution);
    memcpy(correction, rhs, (size_t)n * sizeof *correction);
    for (int step = 0; step < MOST_REFINEMENTS; step++) {
        const double before = left;

        TESS_TRY(v->m->ops->solve_on_host(v->m, transposed && !v->symmetric, correction, correction));
        for (int64_t i = 0; i < n; i++) {
            v->solution[i] += correction[i];
        }
        rows_of_residual(v->a, transposed, rhs, v->solution, v->rows);
        for (int64_t i = 0; i < n; i++) {
            correction[i] = two_word_value(v->rows[i].sum);
        }
        left = largest_ratio(n, correction, size);
        if (!(left <= REFINED_SHARE * before) || left <= REFINED_ENOUGH * start) { break; }
    }
    if (!(left <= MOST_LEFT * start)) { v->valid = false; }
cleanup:
    return status;
}

/* || |A^-1| f ||_inf = ||diag(f) A^-T||_1 by LAPACK's dlacn2, as its gerfs does (Arioli, Demmel, Duff, SIAM J. Matrix
   Anal. Appl. 10 (1989)). */
static tess_status spread_of(refined_inverse *v, double *column_size, double *estimator, double *spread)
{
    const int64_t n = v->m->n;
    double *vector = estimator + n;
    lapack_int kase = 0, isave[3] = {0};
    tess_status status = TESS_SUCCESS;

    *spread = 0.0;
    memset(estimator, 0, 2 * (size_t)n * sizeof *estimator);
    find_sizes(v->a, true, column_size);
    while (v->valid) {
        (void)LAPACKE_dlacn2((lapack_int)n, estimator, vector, v->signs, spread, &kase, isave);
        if (kase == 0) { break; }
        for (int64_t i = 0; i < n && kase == 2; i++) {
            vector[i] *= v->uncertain[i];
        }
        TESS_TRY(solve_refined(v, kase == 1, vector, kase == 1 ? column_size : v->uncertain));
        for (int64_t i = 0; i < n; i++) {
            vector[i] = v->solution[i] * (kase == 1 ? v->uncertain[i] : 1.0);
        }
    }
cleanup:
    return status;
}

/* f. A row without any entry of x and b counts as if x had its largest entry there. */
static void find_uncertain(const refined_inverse *v, const error_of_x *e)
{
    const double share = fmax(UNIT, rowwise_backward_error(v->m->n, e->residual, e->magnitude));
    double largest = 0.0;

    for (int64_t i = 0; i < v->m->n; i++) {
        largest = fmax(largest, fabs(e->x[i]));
    }
    find_sizes(v->a, false, v->size);
    for (int64_t i = 0; i < v->m->n; i++) {
        v->uncertain[i] = share * (e->magnitude[i] > 0.0 ? e->magnitude[i] : v->size[i] * largest);
    }
}

/*
 * The error e of x solves A e = r. With a refined d, |e - d| <= |A^-1| |r - A d|, and the last is at most t f in each
 * row, so that ||e||_2 <= ||d||_2 + sqrt(n) t || |A^-1| f ||_inf. No row scaling changes it.
 */
static tess_status bound_error(refined_inverse *v, const error_of_x *e, double *bound)
{
    tess_context *ctx = v->m->ctx;
    const int64_t n = v->m->n;
    double *estimator = NULL, spread = 0.0, share = 0.0, length = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 2 * n, sizeof *estimator, (void **)&estimator));
    find_uncertain(v, e);
    TESS_TRY(spread_of(v, v->size, estimator, &spread));
    TESS_TRY(solve_refined(v, false, e->residual, v->uncertain));
    length = vector_norm2(n, v->solution);
    for (int64_t i = 0; i < n; i++) {
        const double left = fabs(two_word_value(v->rows[i].sum)) + UNIT * fabs(e->residual[i]) +
                            (double)n * UNIT * UNIT * (v->rows[i].magnitude + e->magnitude[i]);

        if (left > 0.0) { share = fmax(share, left / v->uncertain[i]); }
    }
    *bound = (length + sqrt((double)n) * ESTIMATOR_FACTOR * share * spread) / e->x_norm;
cleanup:
    tess_host_release(ctx, estimator, 2 * n, sizeof *estimator);
    return status;
}

/* Factors whose solves cannot be refined tell nothing of the error; in FP64 they still tell the condition number. */
static tess_status by_factors(const tess_precond *m, const error_of_x *e, tess_accuracy_result *out)
{
    refined_inverse v = {.m = m, .symmetric = e->symmetric, .valid = true};
    tess_host_matrix host = {0};
    double norm = 0.0, inverse = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(inverse_open(m, &v));
    TESS_TRY(tess_matrix_on_host(e->a, &host));
    v.a = &csr_of(host.matrix)->view;
    TESS_TRY(matrix_norm1(e->a, v.work, &norm));
    TESS_TRY(inverse_norm1(m, e->symmetric, v.work, v.signs, &inverse));
    TESS_TRY(bound_error(&v, e, &out->forward_error));
    out->source = TESS_CONDITION_FACTORS;
    out->condition = norm * inverse;
    if (!v.valid || !isfinite(out->forward_error)) {
        out->forward_error = NAN;
        if (m->role.storage != TESS_PRECISION_FP64) { forget_error(out); }
    }
cleanup:
    tess_host_matrix_release(&host);
    inverse_close(&v);
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

static tess_status lanczos_ends(const tess_solver *s, const lanczos_record *t, double *least, double *most)
{
    double *found = NULL;
    lapack_int *places = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(s->ctx, t->count, sizeof *found, (void **)&found));
    TESS_TRY(tess_host_allocate(s->ctx, 2 * t->count, sizeof *places, (void **)&places));
    *least = eigenvalue(t, 1, found, places);
    *most = eigenvalue(t, t->count, found, places);
cleanup:
    tess_host_release(s->ctx, found, t->count, sizeof *found);
    tess_host_release(s->ctx, places, 2 * t->count, sizeof *places);
    return status;
}

/* The record of the solve, and that of a random right-hand side, which has a part of every eigenvector. Without the
   second one the values are estimates, which may have missed the least eigenvalue. */
static tess_status by_lanczos(const tess_solver *s, const lanczos_record *t, const error_of_x *e,
                              tess_accuracy_result *out)
{
    double least = NAN, most = NAN, random_least = NAN, random_most = NAN;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(lanczos_ends(s, t, &least, &most));
    if (e->random && e->random->count > 0) {
        TESS_TRY(lanczos_ends(s, e->random, &random_least, &random_most));
        least = fmin(least, random_least);
        most = fmax(most, random_most);
    }
    if (!(least > 0.0 && most > 0.0)) { return TESS_SUCCESS; }
    out->source = TESS_CONDITION_LANCZOS;
    out->condition = most / least;
    bound_by_lanczos(tess_precond_scale(s->precond), e, least, out);
cleanup:
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

double rowwise_backward_error(int64_t n, const double *residual, const double *magnitude)
{
    return largest_ratio(n, residual, magnitude);
}

tess_status find_rows(const tess_matrix *a, const double *b, const double *x, double *residual, double *magnitude)
{
    const int64_t n = a->nrows;
    row_residual *rows = NULL;
    tess_host_matrix host = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(a->ctx, n, sizeof *rows, (void **)&rows));
    TESS_TRY(tess_matrix_on_host(a, &host));
    rows_of_residual(&csr_of(host.matrix)->view, false, b, x, rows);
    for (int64_t i = 0; i < n; i++) {
        residual[i] = two_word_value(rows[i].sum);
        magnitude[i] = rows[i].magnitude;
    }
cleanup:
    tess_host_matrix_release(&host);
    tess_host_release(a->ctx, rows, n, sizeof *rows);
    return status;
}
