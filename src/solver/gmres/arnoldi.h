/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arnoldi's process, for the backends, with a basis that may be stored in a lower precision than it is computed in, and
 * the small least-squares problem of GMRES. Everything is in the memory of the backend's device, also the number of
 * vectors, so that an iteration is always the same sequence of operations.
 *
 * The basis is made orthogonal by two passes of classical Gram-Schmidt, in one of two ways.
 *
 * CGS2: w = A M^-1 v_j is projected, corrected, projected and corrected again. Basis vector k is scale[k] times its
 * stored column. The second pass stores a column, divided by an estimate of its norm that is known before (Pythagoras),
 * and in precisions of few exponent bits times a power of two. The same pass computes the norm, which goes into
 * scale[k].
 *
 * Delayed: the second pass of a vector is joined with the first pass of the next, so that an iteration has one
 * reduction and two passes over the basis (Bielich, Langou, Thomas, Swirydowicz, Yamazaki, Boman, Low-synch
 * Gram-Schmidt with delayed reorthogonalization for Krylov solvers, Parallel Computing 112 (2022)). The multiplied
 * vector u has had one pass. With the finished columns Q, s = Q^T u, alpha = ||u - Q s||, q = (u - Q s) / alpha and w =
 * A M^-1 u, the next u is (w - Q (Q^T w) - q (q^T w)) / nu. The column of H that belongs to q is known one iteration
 * later: see hessenberg.h. A cycle of m vectors has m + 1 iterations; the last closes column m and adds no vector.
 *
 * Compressed bases: Aliaga, Anzt, Gruetzmacher, Quintana-Orti, Tomas, Compressed basis GMRES on high-performance GPUs,
 * IJHPCA 37 (2023).
 */
#ifndef TESS_SOLVER_GMRES_ARNOLDI_H
#define TESS_SOLVER_GMRES_ARNOLDI_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/context.h>
#include <tessera/precision.h>
#include <tessera/status.h>

#include "base/loop_state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In the order of `norms`: of w as the product, after the first pass, after the second. */
enum { ARNOLDI_WHOLE, ARNOLDI_ONCE, ARNOLDI_TWICE, ARNOLDI_NORMS };

/* The values that the delayed method carries from one iteration to the next. */
enum { ARNOLDI_ALPHA, ARNOLDI_NU, ARNOLDI_WHOLE_BEFORE, ARNOLDI_CARRIED };

/* The small problem. `most` is the restart length m. */
typedef struct arnoldi_small {
    int most;
    int32_t *last;          /* number of closed columns of H; CGS2: vectors 0 .. *last exist */
    int32_t *stored;        /* delayed: number of vectors */
    double *first, *second; /* most + 1: coefficients of the two passes, of the stored columns times their scales */
    double *remove;         /* 2 most: the same for the columns as stored: second (or either), first */
    double *norms;          /* ARNOLDI_NORMS squares; delayed: ||u||^2, (u, w), ||w||^2 */
    double *scale;          /* most + 1 */
    double *unit;           /* most + 1: vector k is unit[k] times the contents of `vector` when k was the newest */
    double *r;              /* columns of the triangle, column j from j (j + 1) / 2 on */
    double *cosine, *sine;  /* most: rotations */
    double *g;              /* most + 1: the rotated right-hand side; |g[*last]| is the residual's norm */
    double *y;              /* most: the solution */
    /* delayed: */
    double *h;                            /* columns of H, column j from j (j + 3) / 2 on */
    double *first_before, *second_before; /* most + 1: of the previous iteration */
    double *carried;                      /* ARNOLDI_CARRIED */
} arnoldi_small;

typedef struct tess_arnoldi {
    int64_t n, ld; /* rows, and from one column to the next */
    bool delayed;
    tess_precision precision; /* of the basis */
    tess_precision vectors;   /* of vector and w, FP64 or FP32: everything except sums over rows is computed in it too
                               */
    void *basis;              /* ld by most + 1, column-major */
    void *vector; /* CGS2: the newest basis vector over its unit, unrounded; delayed: u. The next vector to multiply */
    void *w;      /* A M^-1 vector; CGS2: orthogonalised in place */
    const double *residual; /* START */
    void *sum;              /* COMBINE: destination of the combination */
    tess_precision sum_precision;
    arnoldi_small small;
    tess_loop_state *state;
} tess_arnoldi;

typedef enum tess_arnoldi_stage {
    TESS_ARNOLDI_CHECK, /* whether the device can handle a basis of that length; reads only n, small.most and delayed */
    TESS_ARNOLDI_START, /* from `residual`, of norm state->residual_norm */
    TESS_ARNOLDI_STEP,  /* computes the next vector from w, updates the residual estimate, and ends the iteration */
    TESS_ARNOLDI_COMBINE /* sum := V y with the y that minimises the residual over the vectors so far; runs in any phase
                          */
} tess_arnoldi_stage;

/* The functions of a device. */
typedef struct arnoldi_ops {
    tess_status (*run)(tess_context *ctx, const tess_arnoldi *a, tess_arnoldi_stage stage);
} arnoldi_ops;

extern const arnoldi_ops arnoldi_host_ops;
const arnoldi_ops *arnoldi_gpu_ops(void);
const arnoldi_ops *arnoldi_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
