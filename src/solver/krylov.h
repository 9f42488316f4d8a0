/* SPDX-License-Identifier: Apache-2.0 */
/* The building blocks of Krylov methods: vectors by name, products and preconditioning with their reductions. */
#ifndef TESS_SOLVER_KRYLOV_H
#define TESS_SOLVER_KRYLOV_H

#include <tessera/solver.h>

#include "matrix/matrix.h"
#include "precond/precond.h"

enum { TESS_MAX_KRYLOV_VECTORS = 6 };

typedef struct method_solver method_solver; /* solver/method_solver.h */
struct single_kernel;
struct tess_solver_extension;
struct many_columns; /* solver/many.h */
struct many_cycles;

/* One Krylov process for A d = r: it updates the correction d and the residual r. */
typedef struct tess_krylov {
    tess_context *ctx;
    const tess_matrix *matrix;
    const tess_precond *precond; /* NULL: none */
    int64_t n;                   /* values of a vector: rows times columns */
    int columns;      /* 0 or 1: one; else the matrix, the vectors and states are those of several (many.c) */
    double *apart[2]; /* for a preconditioner that takes one column: its r and z, one column after another; else NULL */
    double *d, *r;
    void *v[TESS_MAX_KRYLOV_VECTORS]; /* data of the method */
    tess_precision vectors;           /* precision of the vectors */
    tess_loop_state *state;
    void *numbers;                /* on the device: the method's own scalars */
    size_t numbers_stride;        /* of several columns: bytes from those of one to the next */
    int64_t cycles;               /* that were started */
    int attempt;                  /* counts cycles without progress: a method may then start differently */
    void *own;                    /* state that the method keeps between cycles */
    int64_t iterated;             /* iterations that were enqueued in this cycle, for methods that count them */
    struct single_kernel *single; /* NULL: another engine runs */
    /* An extension that takes part in the solve, and its state (solver/extension.h); NULL: none. */
    const struct tess_solver_extension *extension;
    void *extended;
} tess_krylov;

/*
 * A method: how many vectors it needs, how a cycle starts, and what an iteration does (all by enqueueing operations). A
 * method with `run` does all this itself, and needs none of the functions after it.
 */
typedef struct tess_method tess_method;
struct tess_method {
    tess_solver_kind kind;
    bool needs_symmetry;
    bool has_recurrence;        /* results report the variant */
    bool counts_iterations;     /* its operations depend on the iteration's number, so that no recording repeats them */
    tess_recurrence recurrence; /* AUTO: the method's default variant */
    bool restarts_judge;        /* with the guard on `report` no estimate ends a cycle: only true residuals decide */
    bool takes_columns;         /* its operations are those that several columns have */
    bool pauses;                /* its loop ends with RUNNING to be judged, and goes on from there (guard_pause.c) */
    size_t numbers;             /* bytes of scalars beside the loop's state */
    int (*vectors)(const tess_precond *m);
    /* Another table of this kind for such options and such a matrix, or *other stays NULL; before the options are
       complete. It has seen to the symmetry. NULL: there is one table. */
    tess_status (*choose)(const method_solver *s, const tess_method **other);
    /* Makes what the iterations take as their preconditioner, in place of the caller's or the one of the options.
       NULL: they take those. */
    tess_status (*make_precond)(const method_solver *s, const tess_precond *given, tess_precond **out);
    tess_status (*complete_options)(method_solver *s); /* called first: settles the options left open; NULL: nothing to
                                                        settle */
    tess_status (*start)(tess_krylov *k);
    tess_status (*iterate)(void *krylov);
    tess_status (*finish)(tess_krylov *k); /* computes d at the end, if iterations do not keep it; NULL: they do */
    /* Runs a cycle: d from r. The loop's result holds the state at first and at the end; the history is the host's. */
    tess_status (*run)(method_solver *s, tess_loop *loop);
    /* Runs the loop of several columns in its own way, with any matrix and preconditioner (many.h); NULL: see
       takes_columns. */
    tess_status (*run_columns)(struct many_columns *m);
    const struct many_cycles *many;         /* several columns whose cycles restart (many.h); NULL: see takes_columns */
    tess_status (*setup)(method_solver *s); /* replaces solver_setup_storage */
    void (*destroy)(method_solver *s);
    tess_status (*renew)(method_solver *s); /* called before each solve */
    /* Fills more of the result: before the solve, after it. */
    void (*describe)(const method_solver *s, tess_solve_result *r);
    void (*report)(const method_solver *s, tess_solve_result *r);
    tess_precision (*working_precision)(const method_solver *s); /* the lowest precision, instead of the matrix's */
    bool (*is_fixed)(const method_solver *s);                    /* whether the run has a fixed number of iterations:
                                                                  nothing is repaired */
    tess_status (*escalate)(method_solver *s);                   /* lets cycles continue in FP64; NULL: changing the
                                                                  matrix is enough */
    /* Before that: raises some of the low precisions and sets *widened; NULL: there are none. */
    tess_status (*widen)(method_solver *s, bool *widened);
    int64_t (*bytes)(const method_solver *s); /* of the method's own memory on the device; NULL: none */
    /* For a method whose first cycles are in low precision throughout: rounds x, and computes krylov.r := b - A x in
       that precision, and its norm. NULL: cycles start from the true residual. */
    tess_status (*low_residual)(method_solver *s, const double *b, double *x, double *norm);
    bool rectangular; /* for systems of any shape: solver/least_squares runs it, and has no use for the rest */
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
/* Ends the cycle within an iteration, for methods whose scalars are the host's. */
tess_status krylov_stop(const tess_krylov *k, tess_reason reason);
/* True if the preconditioner needs that pass: it is neither absent nor a diagonal. */
bool krylov_precond_is_apart(const tess_precond *m);

/* True if that pass takes several columns one after another. */
bool krylov_precond_takes_one(const tess_precond *m);

#endif
