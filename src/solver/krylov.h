/* SPDX-License-Identifier: Apache-2.0 */
/* What Krylov methods are written in: vectors by name, products and preconditioning with their reductions. */
#ifndef TESS_SOLVER_KRYLOV_H
#define TESS_SOLVER_KRYLOV_H

#include "matrix/matrix.h"
#include "precond/precond.h"

enum { TESS_MAX_KRYLOV_VECTORS = 6 };

struct single_kernel;
struct tess_solver_extension;

/* One Krylov process for A d = r: it updates the correction d and the residual r. */
typedef struct tess_krylov {
    tess_context *ctx;
    const tess_matrix *matrix;
    const tess_precond *precond; /* NULL: none */
    int64_t n;
    double *d, *r;
    void *v[TESS_MAX_KRYLOV_VECTORS]; /* the method's own */
    tess_precision vectors;           /* what they are in */
    tess_loop_state *state;
    int attempt;                  /* counts cycles that made no progress: a method may start differently */
    void *own;                    /* what the method keeps besides */
    int64_t iterated;             /* iterations that were enqueued in this cycle, for methods that count them */
    struct single_kernel *single; /* NULL: the engine is another */
    /* What takes part in the solve beside the method, and what that keeps (solver/extension.h); NULL: nothing. */
    const struct tess_solver_extension *extension;
    void *extended;
} tess_krylov;

/*
 * A method: how many vectors it needs, how a cycle starts, what an iteration does (all by enqueueing operations). A
 * method that has `run` does all that itself, and what is after it too.
 */
typedef struct tess_method tess_method;
struct tess_method {
    tess_solver_kind kind;
    bool needs_symmetry;
    bool has_recurrence;        /* results say which it is */
    bool counts_iterations;     /* of a cycle, as it enqueues them: no recording can repeat them */
    tess_recurrence recurrence; /* AUTO: the one that the method has where none is asked for */
    bool restarts_judge;        /* with the guard on `report` no estimate ends a cycle: true residuals alone decide */
    int (*vectors)(const tess_precond *m);
    tess_status (*complete_options)(tess_solver *s); /* first of all: what options leave open; NULL: nothing */
    tess_status (*start)(tess_krylov *k);
    tess_status (*iterate)(void *krylov);
    tess_status (*finish)(tess_krylov *k); /* d, where iterations do not keep it; NULL: they do */
    /* A cycle: d from r, with the state that the loop's result holds at first and at the end, and the host's history.
     */
    tess_status (*run)(tess_solver *s, tess_loop *loop);
    tess_status (*setup)(tess_solver *s); /* in place of solver_setup_storage */
    void (*destroy)(tess_solver *s);
    tess_status (*renew)(tess_solver *s); /* before each solve */
    /* More of what results say: before the solve, after it. */
    void (*describe)(const tess_solver *s, tess_solve_result *r);
    void (*report)(const tess_solver *s, tess_solve_result *r);
    tess_precision (*working_precision)(const tess_solver *s); /* in place of the matrix's */
    bool (*is_fixed)(const tess_solver *s);                    /* so many iterations and no more: nothing is repaired */
    tess_status (*escalate)(tess_solver *s);                   /* cycles go on in FP64; NULL: the matrix is all */
    /* Before that: some of what is low goes up, if *widened; NULL: nothing does. */
    tess_status (*widen)(tess_solver *s, bool *widened);
    int64_t (*bytes)(const tess_solver *s); /* of what is its own on the device; NULL: none */
    /* A method whose first cycles are in low precision throughout: x is rounded, and krylov.r := b - A x, of that norm,
       computed in it. NULL: cycles start from the true residual. */
    tess_status (*low_residual)(tess_solver *s, const double *b, double *x, double *norm);
};

/* In registry/solvers.c: the method of that kind; the one of that kind with another recurrence. NULL: there is none. */
const tess_method *tess_find_method(tess_solver_kind kind);
const tess_method *tess_find_recurrence(tess_solver_kind kind, tess_recurrence recurrence);

/* y = A x, then dots with y, if any, and the scalar update. */
tess_status krylov_spmv(const tess_krylov *k, const double *x, double *y, tess_reduction reduction);
/* The same for product 0 or 1 of an iteration, which the solve's extension may change. */
tess_status krylov_iteration_spmv(const tess_krylov *k, int product, const double *x, double *y,
                                  tess_reduction reduction);
/* A fused operation with the loop's state filled in. */
tess_status krylov_fused(const tess_krylov *k, tess_fused op);
/* z = M^-1 r by the preconditioner's own pass. */
tess_status krylov_precondition(const tess_krylov *k, const double *r, double *z, tess_reduction reduction);
/* True where the preconditioner needs that pass: it is neither absent nor a diagonal. */
bool krylov_precond_is_apart(const tess_precond *m);

#endif
