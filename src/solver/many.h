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
    double start;
} many_columns;

/* Whether a solver can run columns together: the method, its vectors, preconditioner and matrix take them. */
bool many_takes(const method_solver *s);
/* How many columns one loop takes at most, and at the least to be worth it. */
int many_most(const method_solver *s);
int many_least(const method_solver *s);
/* The method of the common loop: the solver's, or refinement with complete factors. */
const tess_method *many_method(const method_solver *s);
bool many_is_refinement(const method_solver *s);
/* What that method changes of the start of a column's cycle, after guard_aim. */
void many_begin(const many_columns *m, solve_run *run);

/* Runs the loop of the columns that need it, from `r`: fills `d` and `end`. */
tess_status many_run_loop(many_columns *m);

/* ---- many_history.c ---- */

/* Copies the history of a column, which then lasts until the solver's next solve of several columns. */
tess_status many_keep_history(tess_solver *s, tess_solve_result *result);

#endif
