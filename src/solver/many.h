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

/* Whether a solver can run columns together: the method, its vectors, preconditioner and matrix take them. */
bool many_takes(const method_solver *s);
/* How many columns one loop takes at most, and at the least to be worth it. */
int many_most(const method_solver *s);
int many_least(const method_solver *s);
tess_engine many_engine(const method_solver *s);

/* ---- many_refinement.c ---- */

/* The method of the common loop: the solver's, or refinement with complete factors. */
const tess_method *many_method(const method_solver *s);
bool many_is_refinement(const method_solver *s);
bool many_has_complete_factors(const method_solver *s);
/* What that method changes of the start of a column's cycle, after guard_aim. */
void many_begin(const many_columns *m, solve_run *run);

/* ---- many_loop.c ---- */

/* Runs the loop of the columns that need it, from `r`: fills `d`, `numbers` and `end`. */
tess_status many_run_loop(many_columns *m);
/* Exchanges what a pause has kept: before and after a function of guard_pause.c for column c. */
void many_swap_kept(const many_columns *m, int c);

/* ---- many_history.c ---- */

/* Copies the history of a column, which then lasts until the solver's next solve of several columns. earlier: the solve
   that this one went on from, whose history it joins; NULL: there was none. Before their iterations are added. */
tess_status many_keep_history(tess_solver *s, const tess_solve_result *earlier, tess_solve_result *result);

#endif
