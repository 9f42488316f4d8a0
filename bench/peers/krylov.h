/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CG and BiCGSTAB made of cuSPARSE and cuBLAS calls, as NVIDIA's samples do it: the baseline of solver benchmarks.
 * FP64, x0 = 0, no true residual at the end. BiCGSTAB is preconditioned from the right.
 */
#ifndef TESS_BENCH_PEERS_KRYLOV_H
#define TESS_BENCH_PEERS_KRYLOV_H

#include "harness/harness.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bench_krylov_variant {
    BENCH_HOST_SCALARS = 0,   /* cublasDdot to the host, which computes alpha and beta */
    BENCH_DEVICE_SCALARS = 1, /* scalars stay on the device; the residual is read every ten iterations */
    BENCH_CUDA_GRAPH = 2,     /* the same, ten iterations recorded as one CUDA graph */
    BENCH_KRYLOV_VARIANTS = 3
} bench_krylov_variant;

/* Iterations of the variants without host scalars come in multiples of this. */
enum { BENCH_KRYLOV_STRIDE = 10 };

/* Enqueues z := M^-1 r on the context's stream; r and z, apart, are n doubles on the device. `apply` NULL: no
 * preconditioner. */
typedef struct bench_krylov_precond {
    void (*apply)(void *user, const double *r, double *z);
    void *user;
} bench_krylov_precond;

typedef struct bench_krylov bench_krylov;
typedef struct bench_krylov_handles bench_krylov_handles;

/* Library handles and cuBLAS's work space, made once: like our context they belong to no one matrix. */
bench_krylov_handles *bench_krylov_open(tess_context *ctx);
void bench_krylov_close(bench_krylov_handles *handles);
/* Their cusparseHandle_t, for preconditioners. */
void *bench_krylov_sparse(bench_krylov_handles *handles);

/* Set-up for one matrix: descriptors, SpMV work space and preprocessing, vectors, and the recorded graph. */
bench_krylov *bench_krylov_create(bench_krylov_handles *handles, const tess_matrix *a, tess_solver_kind solver,
                                  bench_krylov_variant variant, bench_krylov_precond precond);
void bench_krylov_destroy(bench_krylov *s);

/*
 * Solves A x = b until the recurrence's residual is at most `tolerance` (0: never looked at) or the limit is reached;
 * b and x lie on the device. Returns the iterations done; blocks until they are.
 */
int64_t bench_krylov_solve(bench_krylov *s, const double *b, double *x, double tolerance, int64_t max_iterations);

/* What an iteration without preconditioner consists of. */
typedef enum bench_krylov_part {
    BENCH_KRYLOV_SPMV = 0,
    BENCH_KRYLOV_DOT = 1,
    BENCH_KRYLOV_AXPY = 2, /* scalings too */
    BENCH_KRYLOV_PARTS = 3
} bench_krylov_part;

/*
 * Seconds that the calls of each kind take in one iteration, as their kernels run one after another in a CUDA graph of
 * calls of that kind alone: nothing waits for the host. `b` lies on the device.
 */
void bench_krylov_time_parts(bench_krylov_handles *handles, const tess_matrix *a, tess_solver_kind solver,
                             const double *b, double seconds[BENCH_KRYLOV_PARTS]);

#ifdef __cplusplus
}
#endif

#endif
