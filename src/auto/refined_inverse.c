/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/refined_inverse.h"

#include <math.h>
#include <string.h>

#include "base/blas_calls.h"

/* A refined solve goes on while the residual falls to this share of the last, and ends at the next share of the first;
   above the third share, it has failed. */
#define REFINED_SHARE 0.5
#define REFINED_ENOUGH 1e-10
#define MOST_LEFT 0.1
/* dlacn2 gives a lower bound, mostly within a factor of 3. */
#define ESTIMATOR_FACTOR 10.0
#define UNIT 0x1p-53
enum { MOST_REFINEMENTS = 12 };

tess_status refined_inverse_open(const tess_precond *m, refined_inverse *out)
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

void refined_inverse_close(refined_inverse *v)
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
    lapack_int kase = 0, isave[3] = {0}, info = 0;
    tess_status status = TESS_SUCCESS;

    *spread = 0.0;
    memset(estimator, 0, 2 * (size_t)n * sizeof *estimator);
    find_column_sizes(v->a, v->size, column_size);
    while (v->valid) {
        TESS_LAPACK(info, LAPACKE_dlacn2((lapack_int)n, estimator, vector, v->signs, spread, &kase, isave));
        if (info != 0) { v->valid = false; } /* NaN */
        if (kase == 0 || info != 0) { break; }
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
tess_status refined_inverse_bound(refined_inverse *v, const error_of_x *e, double *bound)
{
    tess_status status = bound_with(v, e, false, bound);

    return status != TESS_SUCCESS || v->valid ? status : bound_with(v, e, true, bound);
}
