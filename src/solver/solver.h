/* SPDX-License-Identifier: Apache-2.0 */
/* The solver object: set-up in solver.c, solves in guard.c; those of a transformed system in transform.c and refine.c.
 */
#ifndef TESS_SOLVER_SOLVER_H
#define TESS_SOLVER_SOLVER_H

#include "matrix/null_parts.h"
#include "solver/krylov.h"
#include "solver/solve_options.h"
#include "solver/verify.h"

typedef struct solver_transform solver_transform;
typedef struct solver_transposed solver_transposed;
struct tess_solver_driver;

struct tess_solver {
    tess_context *ctx;
    const tess_matrix *original; /* assembled or shell; held */
    tess_matrix *stored;         /* the matrix of the iterations, if it is another */
    tess_precond *own_precond;
    tess_precond *given; /* of the caller; held */
    const tess_precond *precond;
    tess_solve_options options;
    solve_papers papers;              /* the data that options.papers and those of its members point to */
    tess_papers_result papers_result; /* of the last solve */
    const tess_method *method;
    tess_engine engine;
    tess_recurrence recurrence;
    bool inner;                  /* the matrix is a transformed one, whose rows are not the caller's */
    bool asymmetric;             /* the method needs symmetry, which the matrix does not have */
    uint64_t probed_version;     /* of the values for which this was found */
    tess_reason setup_reason;    /* RUNNING, or the reason why no solve can work */
    tess_error asymmetric_error; /* details */
    tess_error setup_error;
    tess_krylov krylov;
    double *candidate;      /* x + d while it is judged, and after the solve the last one */
    null_parts null;        /* of the matrix with these values (least_residual.c) */
    const null_parts *lent; /* those that a driver has found; NULL: this solver looks for them */
    uint64_t null_version;
    bool null_known;
    bool iterated;     /* the last solve left a candidate */
    bool solving;      /* a solve runs: only its monitor can call, and other calls must not change the solver */
    bool abandoned;    /* the caller destroyed it from there: the end of the solve frees it */
    double *best;      /* the best x so far; NULL: x itself is, because a worse one never replaces it */
    double *kept;      /* d at a pause (guard_pause.c); NULL: there was none */
    double *mapped;    /* M^-1 r, where its norm decides; else NULL */
    double mapped_rhs; /* ||M^-1 b|| */
    int nvectors;
    double *history, *host_history;
    int64_t history_capacity;
    tess_phase_clock *clock;  /* on the device; NULL: phases are not measured */
    void *graph;              /* the recorded loop */
    const void *graph_values; /* the arrays that it was recorded for, */
    uint64_t graph_revision;  /* and the preconditioner */
    const double *loop_x;     /* x before the cycle whose loop runs; else NULL */
    int loop_exponent;        /* that cycle's d is to be multiplied by this power of two */
    double setup_seconds;
    solver_transform *transform; /* non-NULL: it does the work; of the other fields only options and host_history are
                                    used */
    void *own;                   /* data of a method with a set-up of its own */
    const struct tess_solver_driver *driver; /* non-NULL: it does the work instead (solver/driver.h) */
    void *driven;                            /* its state */
    solver_transposed *transposed;           /* for A^T x = b (transpose.c); NULL: none was asked for */
};

/* Copies the last iterate of the last solve to x, which stays as it is where there is none. */
tess_status solver_last_iterate(const tess_solver *s, tess_vector *x);

/* Errors: INVALID_ARGUMENT within a solve, from its monitor. */
tess_status solver_require_idle(const tess_solver *s);

/* For a method that needs symmetry: finds out whether the matrix is symmetric, once per version of its values. */
tess_status check_symmetry(tess_solver *s);

/* Frees what tess_solver_solve_transpose made. */
void solver_transposed_destroy(tess_solver *s);

/* Makes the matrix in the storage that the options name. */
tess_status solver_setup_storage(tess_solver *s);
/* Krylov vectors in this precision. Contents of vectors in another precision are lost. */
tess_status solver_change_vectors(tess_solver *s, tess_precision precision);
/* Makes the solver's own preconditioner, if any, in another precision. */
tess_status solver_change_precond(tess_solver *s, tess_role_precision role);
/* The matrix of the first iterations. */
const tess_matrix *solver_matrix(const tess_solver *s);

/* The lowest precision of its values. */
tess_precision solver_lowest_precision(const tess_solver *s);

/* Fills a result with the facts known before the solve. */
void describe_solver(const tess_solver *s, tess_solve_result *r);
/* Those of its matrix, which may be another after the solve. */
void describe_storage(const tess_solver *s, tess_solve_result *r);
/* Fills in the facts known after the solve, and decides `converged` and the reason. */
void finish_result(const tess_solver *s, const true_residual *now, tess_reason reason, double start,
                   tess_solve_result *r);

/* The clock of phases, if the options request it (phases.c). It starts with a solve; time between two loops belongs to
   no phase of the loops; at the end the result gets the times. solve_seconds is set by then. */
tess_status solver_start_clock(tess_solver *s);
tess_status solver_pause_clock(const tess_solver *s);
tess_status solver_stop_clock(const tess_solver *s, double refinement_seconds, tess_solve_result *r);

#endif
