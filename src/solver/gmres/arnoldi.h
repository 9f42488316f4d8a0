/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arnoldi's process with a basis that may be stored in a lower precision than it is computed in, and the small least-squares
 * problem that goes with it, as a backend sees them. Everything lies in the memory of the backend's device: how many vectors there
 * are is read there, so that an iteration is the same sequence of operations whatever their number.
 *
 * Basis vector k is scale[k] times its stored column. Columns are stored as they come out of the second pass of classical
 * Gram-Schmidt, over an estimate of their norm that is known before it (Pythagoras), and for precisions of few exponent bits
 * times a power of two; the norm itself comes out of the same pass and goes into scale[k]. Compressed bases: Aliaga, Anzt,
 * Gruetzmacher, Quintana-Orti, Tomas, Compressed basis GMRES on high-performance GPUs, IJHPCA 37 (2023).
 */
#ifndef TESS_SOLVER_GMRES_ARNOLDI_H
#define TESS_SOLVER_GMRES_ARNOLDI_H

#include <stdint.h>

#include <tessera/precision.h>
#include <tessera/status.h>

#include "solver/loop_state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In the order of `norms`: of w as the product gave it, after the first pass, after the second. */
enum { ARNOLDI_WHOLE, ARNOLDI_ONCE, ARNOLDI_TWICE, ARNOLDI_NORMS };

/* The small problem. `most` is the restart length m. */
typedef struct arnoldi_small {
    int most;
    int32_t *last;          /* number of the newest basis vector: vectors 0 .. *last are there */
    double *first, *second; /* most: coefficients of the two passes, of the stored columns times their scales */
    double *norms;          /* ARNOLDI_NORMS squares */
    double *scale;          /* most + 1 */
    double *unit;           /* most + 1: vector k is unit[k] times what `vector` held when k was the newest */
    double *r;              /* columns of the triangle, column j from j (j + 1) / 2 on */
    double *cosine, *sine;  /* most: rotations */
    double *g;              /* most + 1: the rotated right-hand side; |g[*last]| is the residual's norm */
    double *y;              /* most: the solution */
} arnoldi_small;

typedef struct tess_arnoldi {
    int64_t n, ld; /* rows, and from one column to the next */
    tess_precision precision;
    void *basis;    /* ld by most + 1, column-major */
    double *vector; /* the newest basis vector over its unit, unrounded: what is multiplied next */
    double *w;      /* A M^-1 vector; orthogonalised in place */
    double *sum;    /* COMBINE: where the combination goes */
    arnoldi_small small;
    tess_loop_state *state;
} tess_arnoldi;

typedef enum tess_arnoldi_stage {
    TESS_ARNOLDI_START, /* vector 0 is w over state->residual_norm */
    TESS_ARNOLDI_STEP, /* w becomes the next vector, the residual's estimate is brought up to date, the iteration ends */
    TESS_ARNOLDI_COMBINE /* sum := V y with the y that minimises the residual over the vectors so far; runs in any phase */
} tess_arnoldi_stage;

#ifdef __cplusplus
}
#endif

#endif
