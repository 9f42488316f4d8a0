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
    bool asymmetric;             /* the method needs symmetry, and the matrix has none */
    uint64_t probed_version;     /* of the values that this was found for */
    tess_reason setup_reason;    /* RUNNING, or why no solve can work */
    tess_error asymmetric_error; /* details */
    tess_error setup_error;
    tess_krylov krylov;
    double *candidate; /* x + d under examination */
    int nvectors;
    double *history, *host_history;
    int64_t history_capacity;
    void *graph;              /* the recorded loop */
    const void *graph_values; /* what it was recorded for */
    double setup_seconds;
    void *own; /* the method's own, where it has set-up of its own */
};

/* For a method that needs symmetry: finds out whether the matrix has it, once per version of its values. */
tess_status check_symmetry(tess_solver *s);

/* The matrix that the solver iterates with at first. */
const tess_matrix *solver_matrix(const tess_solver *s);

#endif
