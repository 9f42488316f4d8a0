/* SPDX-License-Identifier: Apache-2.0 */
/* A solver that runs one method: set-up in method_setup.c, cycles in guard.c. For the files of its kind, the guard and
   the methods: other kinds of solvers ask it by method_questions.h. */
#ifndef TESS_SOLVER_METHOD_SOLVER_H
#define TESS_SOLVER_METHOD_SOLVER_H

#include "solver/solver.h"

struct method_solver {
    tess_solver *head;
    tess_context *ctx; /* this one, the matrix and the options are the head's */
    const tess_matrix *original;
    tess_solve_options *options;
    tess_matrix *stored; /* the matrix of the iterations, if it is another */
    tess_precond *own_precond;
    const tess_precond *precond;
    const tess_method *method;
    tess_engine engine;
    tess_recurrence recurrence;
    double precond_seconds;      /* of its last set-up or renewal */
    bool asymmetric;             /* the method needs symmetry, which the matrix does not have */
    uint64_t probed_version;     /* of the values for which this was found */
    tess_reason setup_reason;    /* RUNNING, or the reason why no solve can work */
    tess_error asymmetric_error; /* details */
    tess_error setup_error;
    uint64_t failed_version; /* of the values with which the preconditioner could not be set up */
    tess_krylov krylov;
    double *candidate;      /* x + d while it is judged, and after the solve the last one */
    null_parts null;        /* of the matrix with these values (least_residual.c) */
    const null_parts *lent; /* those that another solver has found; NULL: this one looks for them */
    tess_loop_watch *watch; /* of the caller, as long as the solver; NULL: none */
    uint64_t null_version;
    bool null_known;
    bool keeps_precond; /* new values leave the preconditioner as it is, until a cycle fails with it */
    double *best;       /* the best x so far; NULL: x itself is, because a worse one never replaces it */
    double *kept;       /* d at a pause (guard_pause.c); NULL: there was none */
    double *mapped;     /* M^-1 r, where its norm decides; else NULL */
    double mapped_rhs;  /* ||M^-1 b|| */
    int nvectors;
    double *history;          /* on the device; as long as the head's */
    tess_phase_clock *clock;  /* on the device; NULL: phases are not measured */
    void *graph;              /* the recorded loop */
    const void *graph_values; /* the arrays that it was recorded for, */
    uint64_t graph_builds;    /* the stored matrix, */
    uint64_t graph_revision;  /* and the preconditioner */
    const double *loop_x;     /* x before the cycle whose loop runs; else NULL */
    int loop_exponent;        /* that cycle's d is to be multiplied by this power of two */
    void *own;                /* data of a method with a set-up of its own */
};

/* The state of a solver of this kind. */
static inline method_solver *method_of(const tess_solver *s)
{
    return (method_solver *)s->state;
}

/* tess_solver_solve: cycles that are judged by the true residual (guard.c). */
tess_status guard_solve(method_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result);

/* For a method that needs symmetry: finds out whether the matrix is symmetric, once per version of its values. */
tess_status check_symmetry(method_solver *s);

/* All of the diagonal is positive, or all is negative: A or -A may be positive definite. */
tess_status solver_diagonal_has_one_sign(const tess_matrix *a, bool *has);
/* Makes the matrix in the storage that the options name. */
tess_status solver_setup_storage(method_solver *s);
/* Krylov vectors in this precision. Contents of vectors in another precision are lost. */
tess_status solver_change_vectors(method_solver *s, tess_precision precision);
/* Makes the solver's own preconditioner, if any, in another precision. */
tess_status solver_change_precond(method_solver *s, tess_role_precision role);
/* The matrix of the first iterations. */
const tess_matrix *solver_matrix(const method_solver *s);
/* The lowest precision of its values. */
tess_precision solver_lowest_precision(const method_solver *s);

/* The clock of phases, if the options request it (phases.c). It starts with a solve; time between two loops belongs to
   no phase of the loops; at the end the result gets the times. solve_seconds is set by then. */
tess_status solver_start_clock(method_solver *s);
tess_status solver_pause_clock(const method_solver *s);
tess_status solver_stop_clock(const method_solver *s, double refinement_seconds, tess_solve_result *r);

/* Takes note of what is no failure of a call, but ends each solve: setup_reason. False: it is something else. */
bool solver_note_precond_failure(method_solver *s, tess_status status);
/* Renews the solver's own preconditioner for the present values, unless it has failed for these. What it cannot be made
   of ends solves: setup_reason. */
tess_status guard_renew_precond(method_solver *s);
/* Whether it is of earlier values. */
bool guard_has_old_precond(const method_solver *s);

/* What the table asks (describe.c, method_questions.c). */
void describe_method(const method_solver *s, tess_solve_result *r);
tess_status method_last_iterate(const method_solver *s, tess_vector *x);
tess_status method_get_iterate(const method_solver *s, double *x);

#endif
