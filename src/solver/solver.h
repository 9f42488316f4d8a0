/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The solver object: a head that all solvers have, a table of functions, and a state of the table's own, which only the
 * files of that table know. The tables: one method in cycles (method_solver.h), least squares (least_squares/), a
 * scaled or reordered system (transform.c, refine.c), attempts (src/auto/auto.c), and an accuracy
 * (src/auto/accuracy.c). solver.c and questions.c have the public functions, which ask the table.
 */
#ifndef TESS_SOLVER_SOLVER_H
#define TESS_SOLVER_SOLVER_H

#include <tessera/automatic.h>

#include "order/row_order.h"
#include "solver/method_questions.h"
#include "solver/solve_options.h"
#include "solver/verify.h"

typedef struct solver_transposed solver_transposed;
typedef struct column_history column_history;

/* A kind of solver. */
typedef struct tess_solver_ops {
    /* Whether it takes such a request; the options are complete. `given`: the caller's preconditioner, or NULL. */
    bool (*takes)(const tess_matrix *a, const tess_precond *given, const tess_solve_options *options);
    tess_status (*setup)(tess_solver *s); /* makes s->state; s->given is the caller's preconditioner */
    void (*destroy)(tess_solver *s);      /* of s->state; also after a setup that failed */
    /* The vectors are checked. The result is initialised. */
    tess_status (*solve)(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result);
    /* Of several columns in a loop of its own: how many of so many the next takes (1: none), and their solves, each
       result and its history of its own (many.c). NULL: none. */
    int (*columns_together)(const tess_solver *s, int64_t left);
    tess_status (*solve_columns)(tess_solver *s, int count, tess_vector *const *b, tess_vector *const *x,
                                 tess_solve_result *results);
    /* Fills a result, all but set-up time and history, with the facts known before the solve. */
    void (*describe)(const tess_solver *s, tess_solve_result *r);
    /* Copies the last iterate of the last solve to x, which stays as it is where there is none. NULL: always. */
    tess_status (*last_iterate)(const tess_solver *s, tess_vector *x);
    /* The preconditioner of the last solve or the next; NULL: none, also in place of the function. */
    const tess_precond *(*precond)(const tess_solver *s);
    /* The method whose iterations are those of s->original, as it is; NULL: there is none now, or never. */
    method_solver *(*running)(const tess_solver *s);
    /* The method of the system that this one becomes, scaled or reordered. NULL: `running`. */
    method_solver *(*innermost)(const tess_solver *s);
    /* The iterate of a running solve; NULL: it has none. */
    tess_status (*get_iterate)(const tess_solver *s, double *x);
    /* For the questions of automatic.h; NULL: it makes no attempts, and its options are those of the caller. *out has
       s->options at first. */
    int (*attempts)(const tess_solver *s, const tess_attempt **out);
    const char *(*why)(const tess_solver *s);
    tess_status (*chosen)(const tess_solver *s, tess_solve_options *out);
} tess_solver_ops;

struct tess_solver {
    const tess_solver_ops *ops;
    void *state; /* of ops */
    tess_context *ctx;
    const tess_matrix *original; /* assembled or shell; held */
    tess_precond *given;         /* of the caller; held */
    tess_solve_options options;
    solve_papers papers;              /* the data that options.papers and those of its members point to */
    tess_papers_result papers_result; /* of the last solve */
    bool inner;                       /* the matrix is a transformed one, whose rows are not the caller's */
    bool iterated;                    /* the last solve left a candidate */
    bool keeps_order;                 /* as the caller's options have it; those here forbid more of the solver's own */
    row_order order;                  /* that the solver chose itself (order_choice.c); perm NULL: none */
    double fetched[2]; /* with it: lines of x that a product fetches for an entry, before and after; else 0 after */
    bool solving;      /* a solve runs: only its monitor can call, and other calls must not change the solver */
    bool abandoned;    /* the caller destroyed it from there: the end of the solve frees it */
    double *host_history;
    int64_t history_capacity;
    double setup_seconds;
    solver_transposed *transposed;    /* for A^T x = b (transpose.c); NULL: none was asked for */
    column_history *column_histories; /* of the last solve of several columns (many_history.c) */
};

/* The kind for a request (registry/solvers.c). */
const tess_solver_ops *tess_find_solver(const tess_matrix *a, const tess_precond *given,
                                        const tess_solve_options *options);
/* One method, which takes all requests. */
extern const tess_solver_ops solver_of_method;
/* Methods for systems of any shape. */
extern const tess_solver_ops solver_least_squares;
/* A scaled or reordered system. */
extern const tess_solver_ops solver_transformed;

/* For a set-up: room for the history on the host. */
tess_status solver_allocate_history(tess_solver *s);

/* Frees what tess_solver_solve_many left. */
void solver_forget_histories(tess_solver *s);

/* Frees what tess_solver_solve_transpose made. */
void solver_transposed_destroy(tess_solver *s);

/* The error of a solve without an iterate to copy. */
tess_status solver_refuse_iterate(const tess_solver *s);

/* tess_solver_last_iterate, for a vector that is checked. */
tess_status solver_last_iterate(const tess_solver *s, tess_vector *x);

/* Where it is left to the solver and pays: finds an order, and asks for it in s->options (order_choice.c). Errors:
   those of the device. */
tess_status solver_choose_order(tess_solver *s);

/* As tess_solver_create_with_precond, for solvers that make others: what the options ask for goes together. */
tess_status solver_make(const tess_matrix *a, const tess_precond *m, const tess_solve_options *options,
                        tess_solver **out);

/* See `running`; s may be NULL. */
method_solver *solver_running(const tess_solver *s);
method_solver *solver_innermost(const tess_solver *s);

/* Errors: INVALID_ARGUMENT within a solve, from its monitor. */
tess_status solver_require_idle(const tess_solver *s);

/* FP64 vectors of the matrix's size, not the same array. */
tess_status solver_require_vectors(const tess_solver *s, const tess_vector *b, const tess_vector *x);
/* Around a solve of one column or several: the solver is idle, then busy; at the end it is freed if its monitor
   destroyed it. */
tess_status solver_begin(tess_solver *s);
void solver_end(tess_solver *s);
/* tess_solver_solve between the two. */
tess_status solver_solve(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result);
/* x := the last iterate with its residual, where options.return_last asks for it. */
tess_status solver_return_last(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *r);

/* What tess_solver_create refuses before any set-up. Options of the caller (NULL: none) that have no effect, or exclude
   one another; a preconditioner of the caller stands for those of the options. */
tess_status solver_require_fit(const tess_matrix *a, const tess_precond *m, const tess_solve_options *options);
/* The complete options, with the method of a matrix that is not square; those that the matrix or the device refuses. */
tess_status solver_take_request(const tess_matrix *a, const tess_precond *m, const tess_solve_options *options,
                                tess_solve_options *out, solve_papers *papers);

/* Errors: UNSUPPORTED for a --recurrence that the method does not have. */
tess_status solver_require_recurrence(const tess_solver *s, tess_solver_kind kind);

/* Errors: UNSUPPORTED for a --stop-norm that is not that of b - A x. */
tess_status solver_require_given_norm(const tess_solver *s, const char *what);

/* For a matrix in the storage that the options name: refuses what no solve takes, and prepares A, which later
   iterations may use (method_storage.c). */
tess_status solver_check_storage(const tess_matrix *a, const tess_storage_options *o);
/* Makes it; NULL: it is that of A. */
tess_status solver_store_matrix(const tess_matrix *a, const tess_storage_options *o, tess_matrix **stored);
/* The lowest precision of a matrix's values; FP64 if all values are stored exactly. */
tess_precision matrix_lowest_precision(const tess_matrix *m);

/* Facts of m, the matrix of iterations for A. */
void describe_storage(const tess_matrix *a, const tess_matrix *m, tess_solve_result *r);
/* Fills a result with the facts known before the solve. */
void describe_solver(const tess_solver *s, tess_solve_result *r);
/* Fills in the facts known after the solve, and decides `converged` and the reason. */
void finish_result(const tess_solver *s, const true_residual *now, tess_reason reason, double start,
                   tess_solve_result *r);

#endif
