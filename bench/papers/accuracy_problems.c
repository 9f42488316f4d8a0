/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef BENCH_LAPACKE
#include <lapacke.h>
#endif

#include "base/random.h"
#include "papers/accuracy.h"

enum { ROWS_AT_ONCE = 256 };

/* ---- problems ---- */

static bool is_trsv(accuracy_operation operation)
{
    return operation == ACCURACY_TRSV_LOWER || operation == ACCURACY_TRSV_UPPER;
}

bool accuracy_possible(accuracy_operation operation, const char **reason)
{
#ifndef BENCH_LAPACKE
    *reason = "LU factors need LAPACKE, which this build has not";
    return !is_trsv(operation);
#else
    (void)operation;
    *reason = "";
    return true;
#endif
}

/* Normal values by Box and Muller's method. */
static void draw(accuracy_distribution distribution, uint64_t seed, int64_t n, double *to)
{
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        const uint64_t at = (uint64_t)i;

        if (distribution == ACCURACY_UNIFORM) {
            to[i] = tess_random_in(seed, at, -1.0, 1.0);
        } else {
            to[i] = sqrt(-2.0 * log(tess_random_uniform(seed, 2 * at))) *
                    cos(2.0 * acos(-1.0) * tess_random_uniform(seed, 2 * at + 1));
        }
    }
}

static void factorize(int64_t n, double *a)
{
#ifdef BENCH_LAPACKE
    lapack_int order = (lapack_int)n, *pivots = bench_allocate((size_t)n, sizeof *pivots);
    const lapack_int info = LAPACKE_dgetrf(LAPACK_COL_MAJOR, order, order, a, order, pivots);

    if (info != 0) { bench_die("dgetrf of a random matrix of order %lld: %d", (long long)n, (int)info); }
    free(pivots);
#else
    bench_die("LU factors of order %lld at %p: built without LAPACKE", (long long)n, (void *)a);
#endif
}

static void allocate(accuracy_problem *p)
{
    p->a = bench_allocate((size_t)p->na, sizeof *p->a);
    p->x = bench_allocate((size_t)p->nx, sizeof *p->x);
}

void accuracy_make(accuracy_problem *p, accuracy_operation operation, accuracy_distribution distribution, int64_t n,
                   uint64_t seed)
{
    *p = (accuracy_problem){.operation = operation, .n = n, .na = n * n, .nx = n, .ny = n};
    if (operation == ACCURACY_DOT) {
        p->na = n;
        p->ny = 1;
    }
    allocate(p);
    draw(distribution, 2 * seed, p->na, p->a);
    draw(distribution, 2 * seed + 1, p->nx, p->x);
    if (is_trsv(operation)) { factorize(n, p->a); }
}

void accuracy_make_spmv(accuracy_problem *p, const tess_matrix *matrix, const bench_csr *csr,
                        accuracy_distribution distribution, uint64_t seed)
{
    *p = (accuracy_problem){.operation = ACCURACY_SPMV, .matrix = matrix, .csr = csr};
    p->n = p->ny = csr->nrows;
    p->nx = csr->ncols;
    p->na = csr->nnz;
    allocate(p);
    memcpy(p->a, csr->val, (size_t)p->na * sizeof *p->a);
    draw(distribution, 2 * seed + 1, p->nx, p->x);
}

void accuracy_free(accuracy_problem *p)
{
    free(p->a);
    free(p->x);
    p->a = p->x = NULL;
}

/* ---- exact results ---- */

static void exact_gemv(int64_t n, const double *a, const double *x, long double *y)
{
#pragma omp parallel for
    for (int64_t first = 0; first < n; first += ROWS_AT_ONCE) {
        const int64_t end = first + ROWS_AT_ONCE < n ? first + ROWS_AT_ONCE : n;

        for (int64_t i = first; i < end; i++) {
            y[i] = 0.0L;
        }
        for (int64_t j = 0; j < n; j++) {
            for (int64_t i = first; i < end; i++) {
                y[i] += (long double)a[i + j * n] * x[j];
            }
        }
    }
}

static void exact_trsv(bool lower, int64_t n, const double *a, const double *b, long double *y)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = b[i];
    }
    for (int64_t step = 0; step < n; step++) {
        const int64_t j = lower ? step : n - 1 - step;
        const int64_t first = lower ? j + 1 : 0, end = lower ? n : j;

        if (!lower) { y[j] /= a[j + j * n]; }
        for (int64_t i = first; i < end; i++) {
            y[i] -= a[i + j * n] * y[j];
        }
    }
}

static void exact_spmv(const bench_csr *csr, const double *a, const double *x, long double *y)
{
#pragma omp parallel for
    for (int64_t i = 0; i < csr->nrows; i++) {
        y[i] = 0.0L;
        for (int64_t k = csr->row_ptr[i]; k < csr->row_ptr[i + 1]; k++) {
            y[i] += (long double)a[k] * x[csr->col_ind[k]];
        }
    }
}

void accuracy_exact(const accuracy_problem *p, const double *a, const double *x, long double *y)
{
    switch (p->operation) {
    case ACCURACY_DOT: *y = bench_exact_dot(p->n, a, x, NULL); break;
    case ACCURACY_GEMV: exact_gemv(p->n, a, x, y); break;
    case ACCURACY_TRSV_LOWER: exact_trsv(true, p->n, a, x, y); break;
    case ACCURACY_TRSV_UPPER: exact_trsv(false, p->n, a, x, y); break;
    case ACCURACY_SPMV: exact_spmv(p->csr, a, x, y); break;
    }
}

/* ---- results in the precisions of a kind ---- */

static tess_precision at_least_fp32(tess_precision precision)
{
    return tess_precision_bytes(precision) < 4 ? TESS_PRECISION_FP32 : precision;
}

/* A vector of the values rounded to `precision`, and what it holds. */
static tess_status store(tess_context *ctx, int64_t n, const double *values, tess_precision precision, double *stored,
                         tess_vector **out)
{
    tess_status status = tess_vector_create(ctx, n, precision, out);

    if (status == TESS_SUCCESS) { status = tess_vector_set(*out, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    if (status == TESS_SUCCESS) { status = tess_vector_get(*out, stored, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    return status;
}

static tess_dense_view square_view(tess_vector *a, int64_t n)
{
    tess_dense_view view = tess_dense_view_of(a);

    view.nrows = view.ncols = view.ld = n;
    return view;
}

static tess_status compute_dot(bench_cublas *cublas, const accuracy_kind *kind, int64_t n, tess_vector *a,
                               tess_vector *x, double *y)
{
    tess_status status = TESS_SUCCESS;

    if (!kind->cublas) { return tess_vector_dot(a, x, kind->arithmetic, y); }
    status = cublas->dot(cublas, kind->storage, n, tess_vector_data(a), tess_vector_data(x));
    if (status == TESS_SUCCESS) { *y = cublas->result(cublas); }
    return status;
}

static tess_status compute_gemv(bench_cublas *cublas, const accuracy_kind *kind, int64_t n, tess_vector *a,
                                tess_vector *x, tess_vector *y)
{
    const tess_dense_view views[] = {square_view(a, n), tess_dense_view_of(x), tess_dense_view_of(y)};

    if (kind->cublas) {
        return cublas->gemv(cublas, kind->storage, TESS_OP_NONE, n, n, 1.0, views[0].data, n, views[1].data, 0.0,
                            views[2].data);
    }
    return tess_gemv(tess_vector_context(a), TESS_OP_NONE, 1.0, &views[0], &views[1], 0.0, &views[2], kind->arithmetic);
}

static tess_status compute_trsv(bench_cublas *cublas, const accuracy_kind *kind, bool lower, int64_t n, tess_vector *a,
                                tess_vector *x)
{
    const tess_trsv_options options = {.triangle = lower ? TESS_LOWER : TESS_UPPER,
                                       .diagonal = lower ? TESS_UNIT : TESS_NON_UNIT,
                                       .arithmetic = kind->arithmetic,
                                       .inversion = kind->inversion};
    const tess_dense_view views[] = {square_view(a, n), tess_dense_view_of(x)};

    if (kind->cublas) {
        return cublas->trsv(cublas, kind->storage, options.triangle, options.operation, options.diagonal, n,
                            views[0].data, n, views[1].data);
    }
    return tess_trsv(tess_vector_context(a), &options, &views[0], &views[1]);
}

static tess_status compute_dense(const bench_run *run, bench_cublas *cublas, const accuracy_problem *p,
                                 const accuracy_kind *kind, double *stored_a, double *stored_x, double *y)
{
    const bool solve = is_trsv(p->operation);
    const tess_precision wide = at_least_fp32(kind->storage);
    tess_vector *a = NULL, *x = NULL, *result = NULL;
    tess_status status = store(run->ctx, p->na, p->a, kind->storage, stored_a, &a);

    if (status == TESS_SUCCESS) { status = store(run->ctx, p->nx, p->x, solve ? wide : kind->storage, stored_x, &x); }
    if (status == TESS_SUCCESS) { status = tess_vector_create(run->ctx, p->ny, wide, &result); }
    if (status == TESS_SUCCESS) {
        switch (p->operation) {
        case ACCURACY_DOT: status = compute_dot(cublas, kind, p->n, a, x, y); break;
        case ACCURACY_GEMV: status = compute_gemv(cublas, kind, p->n, a, x, result); break;
        default: status = compute_trsv(cublas, kind, p->operation == ACCURACY_TRSV_LOWER, p->n, a, x); break;
        }
    }
    if (status == TESS_SUCCESS && p->operation != ACCURACY_DOT) {
        status = tess_vector_get(solve ? x : result, y, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
    }
    tess_vector_destroy(a);
    tess_vector_destroy(x);
    tess_vector_destroy(result);
    return status;
}

static tess_status compute_spmv(const bench_run *run, const accuracy_problem *p, const accuracy_kind *kind,
                                double *stored_a, double *stored_x, double *y)
{
    tess_storage_options options;
    tess_matrix *matrix = NULL;
    tess_vector *x = NULL, *result = NULL;
    bench_csr csr = {0};
    tess_status status = TESS_SUCCESS;

    if (kind->cublas) { return TESS_UNSUPPORTED; }
    tess_storage_options_init(&options);
    options.format = TESS_FORMAT_SELL;
    options.slices.max_padding = 1e6; /* errors do not depend on padding */
    options.precision = kind->storage;
    options.arithmetic = kind->arithmetic;
    status = tess_matrix_convert(p->matrix, &options, &matrix);
    if (status == TESS_SUCCESS) { status = bench_csr_get(matrix, &csr); }
    if (status == TESS_SUCCESS) { memcpy(stored_a, csr.val, (size_t)p->na * sizeof *stored_a); }
    if (status == TESS_SUCCESS) { status = store(run->ctx, p->nx, p->x, at_least_fp32(kind->storage), stored_x, &x); }
    if (status == TESS_SUCCESS) { status = tess_vector_create(run->ctx, p->ny, at_least_fp32(kind->storage), &result); }
    if (status == TESS_SUCCESS) { status = tess_matrix_spmv(matrix, TESS_OP_NONE, 1.0, x, 0.0, result); }
    if (status == TESS_SUCCESS) { status = tess_vector_get(result, y, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    bench_csr_free(&csr);
    tess_vector_destroy(x);
    tess_vector_destroy(result);
    tess_matrix_destroy(matrix);
    return status;
}

tess_status accuracy_compute(const bench_run *run, bench_cublas *cublas, const accuracy_problem *p,
                             const accuracy_kind *kind, double *stored_a, double *stored_x, double *y)
{
    if (kind->cublas && !cublas) { return TESS_UNSUPPORTED; }
    if (kind->inversion != kind->arithmetic && !is_trsv(p->operation)) { return TESS_UNSUPPORTED; }
    if (p->operation == ACCURACY_SPMV) { return compute_spmv(run, p, kind, stored_a, stored_x, y); }
    return compute_dense(run, cublas, p, kind, stored_a, stored_x, y);
}
