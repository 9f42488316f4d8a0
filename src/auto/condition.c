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
    out->condition = out->row_condition = out->forward_error = NAN;
}

/* ---- complete factors ---- */

/* The largest magnitude of each row. */
static void find_row_sizes(const csr_view *a, double *size)
{
    const double *val = a->val;

    for (int64_t i = 0; i < a->nrows; i++) {
        size[i] = 0.0;
        for (int64_t k = csr_offset(a, i), end = csr_offset(a, i + 1); k < end; k++) {
            size[i] = fmax(size[i], fabs(val[k]));
        }
    }
}

/* ||D^-1 A||_1 = max_j sum_i |a_ij| / d_i; sums: n values. */
static double matrix_norm1(const csr_view *v, const double *row_size, double *sums)
{
    const double *val = v->val;
    double norm = 0.0;

    memset(sums, 0, (size_t)v->ncols * sizeof *sums);
    for (int64_t i = 0; i < v->nrows; i++) {
        for (int64_t k = csr_offset(v, i), end = csr_offset(v, i + 1); k < end; k++) {
            sums[v->col_ind[k]] += fabs(val[k]) / row_size[i];
        }
    }
    for (int64_t j = 0; j < v->ncols; j++) {
        norm = fmax(norm, sums[j]);
    }
    return norm;
}

/* ||M^-1 D||_1 by LAPACK's dlacn2 (Higham, ACM Trans. Math. Softw. 14 (1988)): a lower bound, mostly within a factor of
   3. work: 2 n values. */
static tess_status inverse_norm1(const tess_precond *m, const double *row_size, double *work, lapack_int *signs,
                                 double *norm)
{
    const lapack_int n = (lapack_int)m->n;
    double *vector = work + m->n;
    lapack_int kase = 0, isave[3] = {0};
    tess_status status = TESS_SUCCESS;

    *norm = 0.0;
    memset(vector, 0, (size_t)m->n * sizeof *vector); /* LAPACKE looks for NaN in what it does not read */
    for (;;) {
        (void)LAPACKE_dlacn2(n, work, vector, signs, norm, &kase, isave);
        if (kase == 0) { break; }
        for (int64_t i = 0; i < m->n && kase == 1; i++) {
            vector[i] *= row_size[i];
        }
        TESS_TRY(m->ops->solve_on_host(m, kase == 2, vector, vector));
        for (int64_t i = 0; i < m->n && kase == 2; i++) {
            vector[i] *= row_size[i];
        }
    }
cleanup:
    return status;
}

/* The condition number of D^-1 A, where D has powers of two near each row's largest magnitude if rows are scaled, else
   ones. */
static tess_status condition_of(const tess_precond *m, const csr_view *a, bool scaled, double *row_size, double *work,
                                lapack_int *signs, double *condition)
{
    double inverse = 0.0;
    tess_status status = TESS_SUCCESS;

    find_row_sizes(a, row_size);
    for (int64_t i = 0; i < a->nrows; i++) {
        row_size[i] = scaled && row_size[i] > 0.0 && isfinite(row_size[i]) ? ldexp(1.0, ilogb(row_size[i])) : 1.0;
    }
    TESS_TRY(inverse_norm1(m, row_size, work, signs, &inverse));
    *condition = matrix_norm1(a, row_size, work) * inverse;
cleanup:
    return status;
}

/* A^-1 by factors and iterative refinement, whose residuals have two words. */
typedef struct refined_inverse {
    const tess_precond *m;
    const csr_view *a;
    bool valid;                     /* every solve so far left a small residual in each row */
    tess_row_sum *rows;             /* n: of the last solve */
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

static void rows_of_residual(const csr_view *a, bool transposed, const double *b, const double *x, tess_row_sum *rows)
{
    const double *val = a->val;

    for (int64_t i = 0; i < a->nrows; i++) {
        rows[i] = tess_row_sum_start(b[i]);
    }
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = csr_offset(a, i), end = csr_offset(a, i + 1); k < end; k++) {
            const int64_t j = a->col_ind[k];

            tess_row_sum_add(&rows[transposed ? j : i], val[k], x[transposed ? i : j]);
        }
    }
}

/* Of each column, with the rows of A scaled to one size. */
static void find_column_sizes(const csr_view *a, const double *row_size, double *size)
{
    const double *val = a->val;

    memset(size, 0, (size_t)a->nrows * sizeof *size);
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = csr_offset(a, i), end = csr_offset(a, i + 1); k < end && row_size[i] > 0.0; k++) {
            double *of_column = &size[a->col_ind[k]];

            *of_column = fmax(*of_column, fabs(val[k]) / row_size[i]);
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

        TESS_TRY(v->m->ops->solve_on_host(v->m, transposed, correction, correction));
        for (int64_t i = 0; i < n; i++) {
            v->solution[i] += correction[i];
        }
        rows_of_residual(v->a, transposed, rhs, v->solution, v->rows);
        for (int64_t i = 0; i < n; i++) {
            correction[i] = tess_two_word_value(v->rows[i].sum);
        }
        left = largest_ratio(n, correction, size);
        if (!(left <= REFINED_SHARE * before) || left <= REFINED_ENOUGH * start) { break; }
    }
    if (!(left <= MOST_LEFT * start)) { v->valid = false; }
cleanup:
    return status;
}

/* || |A^-1| f ||_inf = ||diag(f) A^-T||_1 by LAPACK's dlacn2, as its gerfs does (Arioli, Demmel, Duff, SIAM J. Matrix
   Anal. Appl. 10 (1989)). estimator: 3 n values of work space. */
static tess_status spread_of(refined_inverse *v, double *estimator, double *spread)
{
    const int64_t n = v->m->n;
    double *vector = estimator + n, *column_size = vector + n;
    lapack_int kase = 0, isave[3] = {0};
    tess_status status = TESS_SUCCESS;

    *spread = 0.0;
    memset(estimator, 0, 2 * (size_t)n * sizeof *estimator);
    find_column_sizes(v->a, v->size, column_size);
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

/* f. A row without any entry of x and b counts as if x had its largest entry there; by rows, each row counts so. */
static void find_uncertain(const refined_inverse *v, const error_of_x *e, bool by_rows)
{
    const double share = fmax(UNIT, rowwise_backward_error(v->m->n, e->residual, e->magnitude));
    double largest = 0.0;

    for (int64_t i = 0; i < v->m->n; i++) {
        largest = fmax(largest, fabs(e->x[i]));
    }
    find_row_sizes(v->a, v->size);
    for (int64_t i = 0; i < v->m->n; i++) {
        const double of_row = v->size[i] * largest, own = e->magnitude[i];

        v->uncertain[i] = share * (by_rows ? fmax(own, of_row) : own > 0.0 ? own : of_row);
    }
}

/*
 * The error e of x solves A e = r. With a refined d, |e - d| <= |A^-1| |r - A d|, and the last is at most t f in each
 * row, so that ||e||_2 <= ||d||_2 + sqrt(n) t || |A^-1| f ||_inf. No row scaling changes it.
 */
static tess_status bound_with(refined_inverse *v, const error_of_x *e, bool by_rows, double *bound)
{
    tess_context *ctx = v->m->ctx;
    const int64_t n = v->m->n;
    double *estimator = NULL, spread = 0.0, share = 0.0, length = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 3 * n, sizeof *estimator, (void **)&estimator));
    v->valid = true;
    find_uncertain(v, e, by_rows);
    TESS_TRY(spread_of(v, estimator, &spread));
    TESS_TRY(solve_refined(v, false, e->residual, v->uncertain));
    length = vector_norm2(n, v->solution);
    for (int64_t i = 0; i < n; i++) {
        const double left = fabs(tess_two_word_value(v->rows[i].sum)) + UNIT * fabs(e->residual[i]) +
                            (double)n * UNIT * UNIT * (v->rows[i].magnitude + e->magnitude[i]);

        if (left > 0.0) { share = fmax(share, left / v->uncertain[i]); }
    }
    *bound = (length + sqrt((double)n) * ESTIMATOR_FACTOR * share * spread) / e->x_norm;
cleanup:
    tess_host_release(ctx, estimator, 3 * n, sizeof *estimator);
    return status;
}

/* Where x has no right value in many rows, the smallest |A| |x| + |b| are no measure of a solve: then by rows. */
static tess_status bound_error(refined_inverse *v, const error_of_x *e, double *bound)
{
    tess_status status = bound_with(v, e, false, bound);

    return status != TESS_SUCCESS || v->valid ? status : bound_with(v, e, true, bound);
}

/* Factors whose solves cannot be refined tell nothing of the error; in FP64 they still tell the condition number. */
static tess_status by_factors(const tess_precond *m, const error_of_x *e, tess_accuracy_result *out)
{
    refined_inverse v = {.m = m};
    tess_host_matrix host = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(inverse_open(m, &v));
    TESS_TRY(tess_matrix_on_host(e->a, &host));
    v.a = &csr_of(host.matrix)->view;
    TESS_TRY(condition_of(m, v.a, false, v.size, v.work, v.signs, &out->condition));
    TESS_TRY(condition_of(m, v.a, true, v.size, v.work, v.signs, &out->row_condition));
    TESS_TRY(bound_error(&v, e, &out->forward_error));
    out->source = TESS_CONDITION_FACTORS;
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
static bool has_diagonal(const method_facts *f)
{
    return f->kind == TESS_SOLVER_CG && f->loop && (!f->precond || tess_precond_scale(f->precond));
}

void lanczos_note(lanczos_record *t, const method_solver *running)
{
    const method_facts f = running ? method_look(running) : (method_facts){0};
    const tess_loop_state *now = running && has_diagonal(&f) ? f.loop : NULL;
    const bool first = !now || t->count == 0 || f.cycles != t->cycle;

    if (!now || kind_of(f.precond) != t->precond) { t->count = 0; }
    if (!now || t->count == t->capacity || !(now->alpha > 0.0)) { return; }
    t->precond = kind_of(f.precond);
    /* t_kk = 1 / alpha_k + beta_(k-1) / alpha_(k-1), t_(k,k-1) = sqrt(beta_(k-1)) / alpha_(k-1) */
    t->diagonal[t->count] = 1.0 / now->alpha + (first ? 0.0 : t->beta / t->alpha);
    if (t->count > 0) { t->beside[t->count - 1] = first ? 0.0 : sqrt(t->beta) / t->alpha; }
    t->alpha = now->alpha;
    t->beta = now->beta;
    t->cycle = f.cycles;
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

static tess_status lanczos_ends(tess_context *ctx, const lanczos_record *t, double *least, double *most)
{
    double *found = NULL;
    lapack_int *places = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, t->count, sizeof *found, (void **)&found));
    TESS_TRY(tess_host_allocate(ctx, 2 * t->count, sizeof *places, (void **)&places));
    *least = eigenvalue(t, 1, found, places);
    *most = eigenvalue(t, t->count, found, places);
cleanup:
    tess_host_release(ctx, found, t->count, sizeof *found);
    tess_host_release(ctx, places, 2 * t->count, sizeof *places);
    return status;
}

/* The record of the solve, and that of a random right-hand side, which has a part of every eigenvector. Without the
   second one the values are estimates, which may have missed the least eigenvalue. */
static tess_status by_lanczos(const tess_precond *m, const lanczos_record *t, const error_of_x *e,
                              tess_accuracy_result *out)
{
    double least = NAN, most = NAN, random_least = NAN, random_most = NAN;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(lanczos_ends(e->a->ctx, t, &least, &most));
    if (e->random && e->random->count > 0) {
        TESS_TRY(lanczos_ends(e->a->ctx, e->random, &random_least, &random_most));
        least = fmin(least, random_least);
        most = fmax(most, random_most);
    }
    if (!(least > 0.0 && most > 0.0)) { return TESS_SUCCESS; }
    out->source = TESS_CONDITION_LANCZOS;
    out->condition = most / least;
    bound_by_lanczos(tess_precond_scale(m), e, least, out);
cleanup:
    return status;
}

/* ---- either ---- */

tess_status estimate_error(const method_solver *s, const tess_precond *m, const lanczos_record *record,
                           const error_of_x *e, tess_accuracy_result *out)
{
    const method_facts f = s ? method_look(s) : (method_facts){0};

    forget_error(out);
    if (e->residual_norm == 0.0 && e->x_norm == 0.0) { /* b = 0 */
        out->forward_error = 0.0;
        return TESS_SUCCESS;
    }
    if (!(e->x_norm > 0.0) || !isfinite(e->residual_norm)) { return TESS_SUCCESS; }
    if (m && m->ops->solve_on_host && (!s || m != f.precond || f.setup_reason == TESS_REASON_RUNNING)) {
        return by_factors(m, e, out);
    }
    if (record->count > 0 && s && has_diagonal(&f)) { return by_lanczos(f.precond, record, e, out); }
    return TESS_SUCCESS;
}

double rowwise_backward_error(int64_t n, const double *residual, const double *magnitude)
{
    return largest_ratio(n, residual, magnitude);
}

tess_status find_rows(const tess_matrix *a, const double *b, const double *x, double *residual, double *magnitude)
{
    const int64_t n = a->nrows;
    tess_row_sum *rows = NULL;
    tess_host_matrix host = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(a->ctx, n, sizeof *rows, (void **)&rows));
    TESS_TRY(tess_matrix_on_host(a, &host));
    rows_of_residual(&csr_of(host.matrix)->view, false, b, x, rows);
    for (int64_t i = 0; i < n; i++) {
        residual[i] = tess_two_word_value(rows[i].sum);
        magnitude[i] = rows[i].magnitude;
    }
cleanup:
    tess_host_matrix_release(&host);
    tess_host_release(a->ctx, rows, n, sizeof *rows);
    return status;
}
