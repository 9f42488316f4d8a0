/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restarted GMRES made of cuSPARSE and cuBLAS calls: the baseline of bench_gmres. Two passes of classical Gram-Schmidt
 * by four GEMV, or one reduction where the second pass is delayed. The product is cuSPARSE's fastest for the matrix.
 * Memory is allocated anew for each solver, as ours is: neither has a pool (the context is trimmed). x0 = 0; a
 * polynomial on the right or no preconditioner; the true residual decides at each restart. A failure is told, it does
 * not end the program.
 */
#ifndef TESS_BENCH_PAPERS_GMRES_PEER_H
#define TESS_BENCH_PAPERS_GMRES_PEER_H

#include "harness/harness.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bench_gmres_kind {
    BENCH_GMRES_FP64 = 0,
    BENCH_GMRES_IR = 1,  /* cycles in FP32 with an FP32 copy of the values; x and residuals in FP64 */
    BENCH_GMRES_FP32 = 2 /* all in FP32 */
} bench_gmres_kind;

/* Where the time of a profiled solve goes. */
typedef enum bench_gmres_part {
    BENCH_GMRES_PRODUCT,
    BENCH_GMRES_PROJECT,  /* GEMV, transposed */
    BENCH_GMRES_SUBTRACT, /* GEMV, not transposed */
    BENCH_GMRES_NORM,
    BENCH_GMRES_PRECOND,    /* ours alone */
    BENCH_GMRES_REFINEMENT, /* ours alone: between cycles */
    BENCH_GMRES_PARTS
} bench_gmres_part;

enum { BENCH_GMRES_REASON = 200 };

typedef struct bench_gmres_limits {
    double rtol;
    int64_t max_iterations;
    bool profile; /* events around each part: a little slower */
} bench_gmres_limits;

typedef struct bench_gmres_result {
    int64_t iterations, cycles;
    bool claimed;
    double part_seconds[BENCH_GMRES_PARTS]; /* within cycles, of a profiled solve */
    const double *history;                  /* estimates at iteration 0, 1, ..; until the next solve */
    int64_t history_length;
    char reason[BENCH_GMRES_REASON];
} bench_gmres_result;

struct tess_polynomial;
typedef struct bench_gmres bench_gmres;
typedef struct bench_gmres_handles bench_gmres_handles;

/* Library handles and cuBLAS's work space, made once for a matrix, which is borrowed; NULL on failure. */
bench_gmres_handles *bench_gmres_open(const tess_matrix *a, const bench_csr *host, char *reason, size_t reason_size);
void bench_gmres_close(bench_gmres_handles *handles);

/* Solvers made from now on are preconditioned by this polynomial, of the precision of their cycles, which is borrowed;
 * NULL: by none. */
void bench_gmres_precondition(bench_gmres_handles *handles, const struct tess_polynomial *polynomial);

/* The products that solvers of this kind want, once for all of them: nobody's set-up. False: there is none. */
bool bench_gmres_choose(bench_gmres_handles *handles, bench_gmres_kind kind, char *reason, size_t reason_size);
/* Set-up, after bench_gmres_choose; NULL with a reason on failure. */
bench_gmres *bench_gmres_create(bench_gmres_handles *handles, bench_gmres_kind kind, bool delayed, int restart,
                                char *reason, size_t reason_size);
void bench_gmres_destroy(bench_gmres *s);

/* Solves A x = b from x = 0; b and x lie on the device. Blocks. False with out->reason on a failure. */
bool bench_gmres_solve(bench_gmres *s, const double *b, double *x, const bench_gmres_limits *limits,
                       bench_gmres_result *out);
/* What it allocated on the device. */
int64_t bench_gmres_bytes(const bench_gmres *s);
/* Of its products, vectors left out. */
int64_t bench_gmres_matrix_bytes(const bench_gmres *s);

/* cuSPARSE's kind of product in cycles. */
const char *bench_gmres_product_name(const bench_gmres *s);
/* A bench_call: user is the bench_gmres; one product of a cycle's matrix with the basis' first column. */
tess_status bench_gmres_product(void *user, int k);

#ifdef __cplusplus
}
#endif

#endif
