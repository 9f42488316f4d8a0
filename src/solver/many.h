/* SPDX-License-Identifier: Apache-2.0 */
/* Iterations of several right-hand sides in one loop (many_loop.c), for solves of several columns (many.c). */
#ifndef TESS_SOLVER_MANY_H
#define TESS_SOLVER_MANY_H

#include "dense/columns.h"
#include "solver/guard_run.h"

/* The solve of one column. Its first cycle is part of the common loop; later ones are its own. */
typedef struct column_solve {
    solve_run run;
    tess_solve_result result;
    tess_reason reason;
    bool cycles;         /* it needs the loop */
    bool judged;         /* the guard has judged its last cycle in the loop, */
    bool progress;       /* and found that it made progress */
    double *b, *x;       /* n values on the device */
    double *kept;        /* likewise its own of method_solver.kept; NULL: no pause has kept a d */
    tess_loop_state end; /* of the loop */
} column_solve;

/* Columns that are solved together. */
typedef struct many_columns {
    method_solver *s;
    const tess_method *method;
    int count; /* at most TESS_MAX_COLUMNS */
    column_solve *column;
    double *d;       /* corrections, one column after another; n values each */
    double *r;       /* likewise scaled residuals */
    double *history; /* on the device, capacity values each */
    void *numbers;   /* likewise the method's own scalars at the end of the loop; NULL: it has none */
    double start;
} many_columns;

/* Columns of a method that restarts: each has a basis of its own, and cycles of its own within the common loop. */
typedef struct many_cycles {
    bool (*takes)(const method_solver *s);
    int (*bases)(const tess_solve_options *o);                /* of each column */
    bool (*expects)(const tess_solve_options *o);             /* the same of options, before a solver is set up */
    int64_t (*bytes)(const tess_solve_options *o, int64_t n); /* of a column, beside its vectors */
    tess_status (*run)(many_columns *m);                      /* as many_run_loop */
} many_cycles;

/* Whether a solver can run columns together: the method, its vectors, preconditioner and matrix take them. */
bool many_takes(const method_solver *s);
/* How many columns one loop takes at most, and at the least to be worth it. */
int many_most(const method_solver *s);
int many_least(const method_solver *s);
/* The same of what a solver is made of. complete: with complete factors. */
int many_limit(const tess_method *method, bool complete, tess_device device);
int many_fewest(const tess_method *method, bool complete, const tess_matrix *matrix);
/* Whether the products of several columns save more than a preconditioner of one column moves. */
bool many_outweighs_moves(const tess_matrix *matrix);
/* The same where each column has so many bases. */
bool many_outweighs_bases(const tess_matrix *matrix, int bases);
bool many_takes_form(const tess_solve_options *o);
/* The width of vectors for so many columns: a power of two. */
int many_width(int columns);
tess_engine many_engine(const method_solver *s);

/* ---- many_refinement.c ---- */

/* Whether refinement with complete factors takes the place of the method's own iterations, and its table. */
bool many_refines(const tess_method *method, bool complete);
const tess_method *many_refinement(void);
/* The method of the common loop: the solver's, or refinement with complete factors. */
const tess_method *many_method(const method_solver *s);
bool many_is_refinement(const method_solver *s);
bool many_has_complete_factors(const method_solver *s);
/* What that method changes of the start of a column's cycle, after guard_aim. */
void many_begin(const many_columns *m, solve_run *run);

/* ---- many_loop.c ---- */

/* Runs the loop of the columns that need it, from `r`: fills `d`, `numbers` and `end`. */
tess_status many_run_loop(many_columns *m);
/* For a loop of so many columns, which then allocates nothing. */
tess_status many_prepare_precond(const tess_precond *m, int columns);
/* Exchanges what a pause has kept: before and after a function of guard_pause.c for column c. */
void many_swap_kept(const many_columns *m, int c);

/* Columns whose cycles restart: judges the cycle of column c, which ended at column[c].end with its d in m->d, and
   begins its next one, from m->r. *restarts: it has; else the guard goes on with the column alone. Only where a basis
   was full, and the cycle made progress, is nothing else to be done. */
tess_status many_restart(many_columns *m, int c, bool *restarts);

/* ---- many_memory.c ---- */

/* What a loop takes beside its solver: in vectors of n values. */
typedef struct many_need {
    int64_t n, history;         /* values of each column's history */
    int64_t own;                /* bytes of each column's basis */
    int alone, shared, precond; /* for each column; each of the width: of the method, of the preconditioner */
    bool shrinks;               /* the block moves to one of half the width */
} many_need;

/* The options are those of a solve, with its length of histories. */
many_need many_need_of(const tess_method *method, const tess_solve_options *o, tess_precond_kind precond,
                       const tess_matrix *a, int64_t capacity);
int64_t many_loop_bytes(const many_need *need, int columns);
/* As many of the columns as fit; 1: no loop does. */
int many_that_fit(const many_need *need, int columns, int64_t spare);
/* How many of the columns that are left the next loop takes, by its limits and by the memory that is left; 1: one
   column alone. The solver takes columns (many_takes). */
int many_next(const method_solver *s, int64_t left);
/* The same for a solver of least squares, whose matrix of the iterations is `a`. */
int many_next_of(const tess_solver *s, const tess_method *method, const tess_matrix *a, int64_t left);
/* The same for complete options, before a solver is set up, at the most; what a loop of as many takes. */
int many_expected(const tess_matrix *a, const tess_solve_options *o, int64_t columns, int64_t spare, many_need *need);

/* ---- many_history.c ---- */

/* Copies the history of a column, which then lasts until the solver's next solve of several columns. earlier: the solve
   that this one went on from, whose history it joins; NULL: there was none. Before their iterations are added. */
tess_status many_keep_history(tess_solver *s, const tess_solve_result *earlier, tess_solve_result *result);

#endif
