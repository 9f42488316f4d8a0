/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESS_SOLVER_JACOBI_JACOBI_H
#define TESS_SOLVER_JACOBI_JACOBI_H

#include "solver/method_solver.h"
#include "sweep/sweep.h"

/* Additional data of a Jacobi solver. */
typedef struct tess_jacobi {
    tess_sweep *main;
    tess_sweep *fp64;             /* NULL until a repair needs it and main has no copy in FP64 */
    bool diverged;                /* how the last cycle ended */
    tess_precision_schedule done; /* of the present solve, with the iterations of each entry */
} tess_jacobi;

/* A cycle. */
typedef struct jacobi_run {
    method_solver *s;
    tess_jacobi *j;
    tess_sweep *w;
    tess_loop *loop;
    tess_loop_state *state; /* loop->result: in: iterations, tolerance and limits; out: the outcome */
    const tess_precision_schedule *schedule;
    double unit;  /* norms here are this times the norms of the sweep's scaled right-hand side */
    double first; /* the cycle's first residual norm */
} jacobi_run;

/* Run the cycle's schedule from d = 0 and store reason and estimate in the state: either the shares of a fixed run,
   without measuring the residual, or entries that end by the course of the residual. */
tess_status jacobi_run_fixed(jacobi_run *run);
tess_status jacobi_run_to_tolerance(jacobi_run *run);
void jacobi_end(jacobi_run *run, tess_reason reason);

#endif
