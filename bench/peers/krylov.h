/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CG and BiCGSTAB made of cuSPARSE and cuBLAS calls: the baseline of solver benchmarks. Scalars stay on the device. The
 * product and the way to update vectors are the fastest of several, by measurement. FP64, x0 = 0, no true residual at
 * the end. BiCGSTAB is preconditioned from the right.
 */
#ifndef TESS_BENCH_PEERS_KRYLOV_H
#define TESS_BENCH_PEERS_KRYLOV_H

#include "harness/harness.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bench_krylov_variant {
    BENCH_PLAIN_CALLS = 0, /* no graph; the residual is read at each iteration */
    BENCH_CUDA_GRAPH = 1,  /* ten iterations recorded as one CUDA graph; it is read after each graph */
    BENCH_SHORT_GRAPH = 2, /* one iteration, and read at each: for short solves */
    BENCH_KRYLOV_VARIANTS = 3
} bench_krylov_variant;

/* Iterations in the long graph. */
enum { BENCH_KRYLOV_STRIDE = 10 };

/* Enqueues z := M^-1 r on the context's stream; r and z, apart, are n doubles on the device. `apply` NULL: no
 * preconditioner. */
typedef struct bench_krylov_precond {
    void (*apply)(void *user, const double *r, double *z);
    void *user;
} bench_krylov_precond;

typedef struct bench_krylov bench_krylov;
typedef struct bench_krylov_handles bench_krylov_handles;

/*
 * What counts as nobody's set-up: library handles, cuBLAS's work space, and for this matrix the chosen product (with
 * its arrays, work space and preprocessing) and updates. Memory of solvers comes from CUDA's pool, as ours comes from
 * the context's. Ends the program where cuSPARSE has no product for the matrix.
 */
bench_krylov_handles *bench_krylov_open(const tess_matrix *a, const bench_csr *host);
/* The same for a matrix whose values change: its product reads them where they are. */
bench_krylov_handles *bench_krylov_open_renewed(const tess_matrix *a, const bench_csr *host);
void bench_krylov_close(bench_krylov_handles *handles);
/* A bench_krylov_precond: Jacobi, as cuBLAS's product with a diagonal matrix; `inverse` lies on the device. */
typedef struct bench_krylov_jacobi {
    bench_krylov_handles *handles;
    const double *inverse;
} bench_krylov_jacobi;
void bench_krylov_apply_jacobi(void *user, const double *r, double *z);
/* Their cusparseHandle_t, for preconditioners. */
void *bench_krylov_sparse(bench_krylov_handles *handles);
/* Memory on the device, from the pool. */
void *bench_krylov_allocate(bench_krylov_handles *handles, size_t bytes);
void bench_krylov_release(bench_krylov_handles *handles, void *memory);
/* What was chosen, of CG or BiCGSTAB, and how long choosing took. */
void bench_krylov_describe(const bench_krylov_handles *handles, tess_solver_kind solver, json_t *row);

/* Set-up for the handles' matrix: vectors, and the recorded graph. */
bench_krylov *bench_krylov_create(bench_krylov_handles *handles, tess_solver_kind solver, bench_krylov_variant variant,
                                  bench_krylov_precond precond);
void bench_krylov_destroy(bench_krylov *s);

/*
 * Solves A x = b until the recurrence's residual is at most `tolerance` (0: never looked at) or the limit is reached;
 * b and x lie on the device. Returns the iterations done; blocks until they are.
 */
int64_t bench_krylov_solve(bench_krylov *s, const double *b, double *x, double tolerance, int64_t max_iterations);

#ifdef __cplusplus
}
#endif

#endif
