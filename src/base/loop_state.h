/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scalars of a Krylov loop. They live on the backend's device for the whole loop: vector operations read them
 * there, reductions write them there, and scalar updates (scalar_update.def) compute one from the other, so that
 * nothing crosses to the host within an iteration.
 */
#ifndef TESS_BASE_LOOP_STATE_H
#define TESS_BASE_LOOP_STATE_H

#include <stdint.h>

/* RUNNING: all operations run. FINISHING: the iteration that ended the loop completes its finishing operations (CG's
   update of x). STOPPED: all operations return at once. */
enum { TESS_LOOP_RUNNING = 0, TESS_LOOP_FINISHING = 1, TESS_LOOP_STOPPED = 2 };

enum { TESS_MAX_DOTS = 5 };

typedef struct tess_loop_state {
    double alpha, beta, omega, rho; /* names as in the method's papers */
    int32_t phase;                  /* with alpha, beta and omega in one cache line: every kernel reads the four */
    int32_t reason;                 /* tess_reason of the estimate */
    double dots[TESS_MAX_DOTS];     /* results of the last reduction */
    double curvature;               /* CG: (p, A p) */
    double shadow_norm;             /* BiCGSTAB: ||r~|| */
    double residual_norm;           /* estimate of ||b - A x|| */
    double tolerance;               /* stop at residual_norm <= tolerance */
    double divergence_limit;        /* give up above this */
    int64_t iteration;              /* counts over all cycles of one solve */
    int64_t max_iterations;
    int32_t cancel;  /* set by the engine when the user cancels */
    uint32_t watch;  /* not 0: the loop ends when the residual norm stalls (loop_stalls) */
    double *history; /* residual norms by iteration; may be NULL */
    int64_t history_capacity;
    void *numbers; /* on the device, for methods with more scalars than these; NULL: none */
    double scale;  /* a power of two: the cycle works on 1/scale times its residual; histories and monitors get scale
                      times residual_norm and tolerance */
} tess_loop_state;

#endif
