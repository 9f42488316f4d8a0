/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problems whose exact answer is known, for the study accuracy: dot products, dense products, triangular solves with LU
 * factors, products with a sparse matrix. Exact means long double on the very values: 11 bits more than FP64.
 */
#ifndef TESS_BENCH_PAPERS_ACCURACY_H
#define TESS_BENCH_PAPERS_ACCURACY_H

#include "harness/record.h"
#include "peers/cublas_dense.h"

typedef enum accuracy_operation {
    ACCURACY_DOT,
    ACCURACY_GEMV,
    ACCURACY_TRSV_LOWER, /* the unit lower factor */
    ACCURACY_TRSV_UPPER,
    ACCURACY_SPMV
} accuracy_operation;

typedef enum accuracy_distribution { ACCURACY_UNIFORM, ACCURACY_NORMAL } accuracy_distribution;

/* The values before they are rounded to any storage. */
typedef struct accuracy_problem {
    accuracy_operation operation;
    int64_t n, na, nx, ny;     /* size; values in A, in x (or b), in the result */
    double *a, *x;             /* DOT: the two vectors; dense A column-major */
    const tess_matrix *matrix; /* SPMV: as assembled, borrowed */
    const bench_csr *csr;      /* SPMV: its pattern, borrowed; a is a copy of its values */
} accuracy_problem;

/* What they are stored and computed in, and by whom. */
typedef struct accuracy_kind {
    tess_precision storage;
    tess_arithmetic arithmetic;
    tess_arithmetic inversion; /* of TRSV's diagonal blocks; elsewhere only kinds that have both alike are computed */
    bool cublas;
} accuracy_kind;

/* False, with a reason, where this build cannot make such problems (LU factors without LAPACKE). */
bool accuracy_possible(accuracy_operation operation, const char **reason);
void accuracy_make(accuracy_problem *p, accuracy_operation operation, accuracy_distribution distribution, int64_t n,
                   uint64_t seed);
/* The same with a matrix: only x is random. */
void accuracy_make_spmv(accuracy_problem *p, const tess_matrix *matrix, const bench_csr *csr,
                        accuracy_distribution distribution, uint64_t seed);
void accuracy_free(accuracy_problem *p);

/* y := the exact result for these values of A and x. */
void accuracy_exact(const accuracy_problem *p, const double *a, const double *x, long double *y);

/*
 * Stores A and x as `kind` says, computes y on the run's device, and hands back the values that were stored. x and y
 * are stored like A, with three exceptions: results of storage below FP32 are FP32; so are both vectors of triangular
 * solves and sparse products; results of DOT are not rounded. UNSUPPORTED where cuBLAS has no such operation.
 */
tess_status accuracy_compute(const bench_run *run, bench_cublas *cublas, const accuracy_problem *p,
                             const accuracy_kind *kind, double *stored_a, double *stored_x, double *y);

#endif
