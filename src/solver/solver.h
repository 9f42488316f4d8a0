/* SPDX-License-Identifier: Apache-2.0 */
/* The solver object: set-up in solver.c, solves in guard.c. */
#ifndef TESS_SOLVER_SOLVER_H
#define TESS_SOLVER_SOLVER_H

#include "solver/krylov.h"

struct tess_solver {
    tess_context *ctx;
    const tess_matrix *original; /* assembled or shell; borrowed */
    tess_matrix *stored;         /* the matrix that is iterated with, where it is another */
    tess_precond *own_precond;
    const tess_precond *precond;
    tess_solve_options options;
    const tess_method *method;
    tess_engine engine;
    tess_reason setup_reason; /* RUNNING, or why no solve can work */
    tess_error setup_error;   /* detail of that reason */
    tess_krylov krylov;
    double *candidate;        /* x + d under examination */
    int nvectors;
    double *history, *host_history;
    int64_t history_capacity;
    void *graph;              /* the recorded loop */
    const tess_matrix *graph_matrix;
    const void *graph_values; /* what it was recorded for */
    double setup_seconds;
};

/* The matrix that the solver iterates with at first. */
const tess_matrix *solver_matrix(const tess_solver *s);

#endif
