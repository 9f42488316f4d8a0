/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/cycle/coarse.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include <tessera/names.h>

#include "base/blas_calls.h"

/* A matrix whose values differ from its mirror's by less than this times the largest counts as symmetric. */
static const double rounding = 1e-10;

/* Relative to the largest: pivots, eigenvalues and singular values below count as zero. */
static double smallest_pivot(int64_t n)
{
    return 100.0 * (double)n * DBL_EPSILON;
}

/* n by n, column by column. */
typedef struct dense {
    tess_context *ctx;
    lapack_int n;
    double *a, *work, *vectors; /* n n each */
    double *values;             /* n */
    lapack_int *pivots;
} dense;

static int64_t size_of(const dense *d)
{
    return (int64_t)d->n * d->n;
}

static tess_status check_info(const dense *d, lapack_int info)
{
    if (info != LAPACK_WORK_MEMORY_ERROR && info != LAPACK_TRANSPOSE_MEMORY_ERROR) { return TESS_SUCCESS; }
    return tess_fail(d->ctx, TESS_OUT_OF_MEMORY, "free memory", "LAPACK had no memory for a matrix of %s",
                     tess_count(d->n, "row").text);
}

static void fill(const amg_scaled *s, dense *d)
{
    memset(d->a, 0, (size_t)size_of(d) * sizeof *d->a);
    for (int64_t i = 0; i < d->n; i++) {
        for (int64_t k = s->a->row_ptr[i]; k < s->a->row_ptr[i + 1]; k++) {
            const int64_t j = s->a->col_ind[k];

            d->a[i + j * d->n] = s->a->val[k] * s->left[i] * s->right[j]; /* left times right may be out of range */
        }
    }
}

static double largest_entry(const dense *d)
{
    double largest = 0.0;

    for (int64_t k = 0; k < size_of(d); k++) {
        if (!isfinite(d->a[k])) { return INFINITY; }
        largest = fmax(largest, fabs(d->a[k]));
    }
    return largest;
}

/* LAPACK's iterations for singular values need values in range, and some do not end without. */
static void multiply(const dense *d, double *a, int exponent)
{
    for (int64_t k = 0; exponent != 0 && k < size_of(d); k++) {
        a[k] = ldexp(a[k], exponent);
    }
}

static tess_status fail_not_finite(const dense *d)
{
    return tess_fail(d->ctx, TESS_SINGULAR, "choose another preconditioner",
                     "amg: the coarsest level has no pseudo-inverse: its values are not finite");
}

/* Symmetric but for rounding: then it is made exactly so. */
static bool make_symmetric(dense *d)
{
    const double most = rounding * largest_entry(d);

    for (int64_t j = 0; j < d->n; j++) {
        for (int64_t i = 0; i < j; i++) {
            if (!(fabs(d->a[i + j * d->n] - d->a[j + i * d->n]) <= most)) { return false; }
        }
    }
    for (int64_t j = 0; j < d->n; j++) {
        for (int64_t i = 0; i < j; i++) {
            const double mean = 0.5 * (d->a[i + j * d->n] + d->a[j + i * d->n]);

            d->a[i + j * d->n] = d->a[j + i * d->n] = mean;
        }
    }
    return true;
}

/* ---- regular matrices ---- */

static bool pivots_are_large(const dense *d, const double *factor)
{
    double smallest = DBL_MAX, largest = 0.0;

    for (int64_t i = 0; i < d->n; i++) {
        const double pivot = fabs(factor[i + i * d->n]);

        smallest = fmin(smallest, pivot);
        largest = fmax(largest, pivot);
    }
    return smallest > smallest_pivot(d->n) * largest;
}

/* work := a^-1 through Cholesky factors, if a is definite. */
static tess_status invert_definite(dense *d, bool *done)
{
    lapack_int info = 0;

    memcpy(d->work, d->a, (size_t)size_of(d) * sizeof *d->a);
    TESS_LAPACK(info, LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', d->n, d->work, d->n));
    if (info == 0) { /* pivots are roots */
        for (int64_t i = 0; i < d->n; i++) {
            const double root = d->work[i + i * d->n];

            if (!(root * root > smallest_pivot(d->n))) { info = 1; }
        }
    }
    if (info == 0) { TESS_LAPACK(info, LAPACKE_dpotri(LAPACK_COL_MAJOR, 'L', d->n, d->work, d->n)); }
    *done = info == 0;
    for (int64_t j = 0; *done && j < d->n; j++) {
        for (int64_t i = j + 1; i < d->n; i++) {
            d->work[j + i * d->n] = d->work[i + j * d->n];
        }
    }
    return check_info(d, info);
}

static tess_status invert_general(dense *d, bool *done)
{
    lapack_int info = 0;

    memcpy(d->work, d->a, (size_t)size_of(d) * sizeof *d->a);
    TESS_LAPACK(info, LAPACKE_dgetrf(LAPACK_COL_MAJOR, d->n, d->n, d->work, d->n, d->pivots));
    if (info == 0 && !pivots_are_large(d, d->work)) { info = 1; }
    if (info == 0) { TESS_LAPACK(info, LAPACKE_dgetri(LAPACK_COL_MAJOR, d->n, d->work, d->n, d->pivots)); }
    *done = info == 0;
    return check_info(d, info);
}

/* ---- singular matrices ---- */

/* work := sum over the large values of u_k v_k^T / value_k; u column by column, v row by row with stride. */
static void add_up(dense *d, const double *u, const double *v, int64_t v_row, int64_t v_step, int64_t *rank)
{
    double largest = 0.0;

    for (int64_t k = 0; k < d->n; k++) {
        largest = fmax(largest, fabs(d->values[k]));
    }
    memset(d->work, 0, (size_t)size_of(d) * sizeof *d->work);
    *rank = 0;
    for (int64_t k = 0; k < d->n; k++) {
        if (!(fabs(d->values[k]) > smallest_pivot(d->n) * largest)) { continue; }
        *rank += 1;
        for (int64_t j = 0; j < d->n; j++) {
            const double factor = u[j + k * d->n] / d->values[k];

            for (int64_t i = 0; i < d->n; i++) {
                d->work[i + j * d->n] += factor * v[k * v_row + i * v_step];
            }
        }
    }
}

static tess_status invert_singular(dense *d, bool symmetric, int64_t *rank)
{
    lapack_int info = 0;
    tess_status status = TESS_SUCCESS;

    if (symmetric) { /* A = Q diag(values) Q^T */
        TESS_LAPACK(info, LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', d->n, d->a, d->n, d->values));
        TESS_TRY(check_info(d, info));
        if (info == 0) { add_up(d, d->a, d->a, d->n, 1, rank); }
    } else { /* A = U diag(values) V^T, and the inverse is V diag(1 / values) U^T */
        double *u = d->work, *vt = d->vectors;

        TESS_LAPACK(info, LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'A', d->n, d->n, d->a, d->n, d->values, u, d->n, vt, d->n));
        TESS_TRY(check_info(d, info));
        memcpy(d->a, u, (size_t)size_of(d) * sizeof *u);
        if (info == 0) { add_up(d, d->a, vt, 1, d->n, rank); }
    }
    if (info != 0) { status = fail_not_finite(d); }
cleanup:
    return status;
}

/* ---- all ---- */

static tess_status to_csr(const dense *d, host_csr *out)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_allocate_rows(d->ctx, d->n, d->n, out));
    for (int64_t i = 0; i <= d->n; i++) {
        out->row_ptr[i] = i * d->n;
    }
    TESS_TRY(host_csr_allocate_entries(d->ctx, out));
    for (int64_t i = 0; i < d->n; i++) {
        for (int64_t j = 0; j < d->n; j++) {
            out->col_ind[i * d->n + j] = (int32_t)j;
            out->val[i * d->n + j] = d->work[i + j * d->n];
        }
    }
cleanup:
    if (status != TESS_SUCCESS) { host_csr_release(d->ctx, out); }
    return status;
}

static tess_status allocate(dense *d)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(d->ctx, size_of(d), sizeof *d->a, (void **)&d->a));
    TESS_TRY(tess_host_allocate(d->ctx, size_of(d), sizeof *d->work, (void **)&d->work));
    TESS_TRY(tess_host_allocate(d->ctx, size_of(d), sizeof *d->vectors, (void **)&d->vectors));
    TESS_TRY(tess_host_allocate(d->ctx, d->n, sizeof *d->values, (void **)&d->values));
    status = tess_host_allocate(d->ctx, d->n, sizeof *d->pivots, (void **)&d->pivots);
cleanup:
    return status;
}

static void release(dense *d)
{
    tess_host_release(d->ctx, d->a, size_of(d), sizeof *d->a);
    tess_host_release(d->ctx, d->work, size_of(d), sizeof *d->work);
    tess_host_release(d->ctx, d->vectors, size_of(d), sizeof *d->vectors);
    tess_host_release(d->ctx, d->values, d->n, sizeof *d->values);
    tess_host_release(d->ctx, d->pivots, d->n, sizeof *d->pivots);
}

tess_status amg_invert(tess_context *ctx, const amg_scaled *s, host_csr *inverse, int64_t *rank)
{
    dense d = {.ctx = ctx, .n = (lapack_int)s->a->nrows};
    bool symmetric = false, done = false;
    double largest = 0.0;
    int exponent = 0;
    tess_status status = TESS_SUCCESS;

    *inverse = (host_csr){0};
    TESS_TRY(allocate(&d));
    fill(s, &d);
    largest = largest_entry(&d);
    if (isinf(largest)) {
        status = fail_not_finite(&d);
        goto cleanup;
    }
    (void)frexp(largest, &exponent);
    multiply(&d, d.a, -exponent);
    symmetric = make_symmetric(&d);
    *rank = d.n;
    if (symmetric) { TESS_TRY(invert_definite(&d, &done)); }
    if (!done && !symmetric) { TESS_TRY(invert_general(&d, &done)); }
    if (!done) { TESS_TRY(invert_singular(&d, symmetric, rank)); }
    multiply(&d, d.work, -exponent);
    status = to_csr(&d, inverse);
cleanup:
    release(&d);
    return status;
}
