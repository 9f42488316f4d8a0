/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of classical interpolation are computed from: for the first time, and for new values. */
#ifndef TESS_PRECOND_MULTIGRID_CLASSICAL_INTERPOLATION_ROWS_H
#define TESS_PRECOND_MULTIGRID_CLASSICAL_INTERPOLATION_ROWS_H

#include "matrix/host_csr_rows.h"
#include "matrix/row_sum.h"
#include "precond/multigrid/classical/interpolation.h"

/* A coarse neighbour of a fine row whose coupling has not the sign of the row's diagonal: a-_kl of eq. (4.10). On a
   known pattern also the others, with 0, so that sets do not depend on the signs of new values. */
typedef struct amg_neighbour {
    double value;
    int32_t column;
    int32_t strong;
} amg_neighbour;

/* Those of all fine rows, one row after another. */
typedef struct amg_neighbours {
    int64_t *first; /* per row, and the end */
    amg_neighbour *of;
    bool *negative; /* per row: its diagonal is */
    int64_t nrows;
} amg_neighbours;

/* A coarse neighbour of a neighbour, and the coupling. */
typedef struct amg_matched {
    int32_t place;
    double value;
} amg_matched;

/* Memory of one thread. The set of a row: its coarse neighbours at a distance of one or two, in A's numbers. */
typedef struct amg_workspace {
    row_sum set;
    amg_matched *match;
} amg_workspace;

/* Memory of all threads: a place for each row, most and longest for each. */
typedef struct amg_workspaces {
    int32_t *place, *column;
    double *weight;
    amg_matched *match;
    int threads;
    int64_t rows, most, longest;
} amg_workspaces;

static inline int64_t amg_row_of(const amg_interpolation *to, int64_t r)
{
    return to->rows ? to->rows[r] : r;
}

/* The row, and what its set is found from. */
typedef struct amg_target {
    const amg_interpolation *to;
    const amg_neighbours *b;
    amg_workspace *w;
    int64_t i;
} amg_target;

/* What all rows are computed from. */
typedef struct amg_all_rows {
    const amg_interpolation *to;
    bool known; /* P has its pattern */
    amg_neighbours b;
    amg_workspaces w;
} amg_all_rows;

static inline amg_workspace amg_own_workspace(const amg_workspaces *w, int t)
{
    return (amg_workspace){
        {.place = w->place + t * w->rows, .column = w->column + t * w->most, .val = w->weight + t * w->most},
        w->match + t * w->longest};
}

tess_status amg_open_rows(tess_context *ctx, amg_all_rows *all);
void amg_close_rows(tess_context *ctx, amg_all_rows *all);
/* C^_i: strong coarse neighbours of i and of its strong fine neighbours; eq. (4.9). */
void amg_find_set(const amg_target *t);
/* Weights of row i to its set; eq. (4.10). */
void amg_find_weights(const amg_target *t);

#endif
