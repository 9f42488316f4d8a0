/* SPDX-License-Identifier: Apache-2.0 */
/* The cycle for several columns: the same levels with vectors of its own. */
#ifndef TESS_PRECOND_MULTIGRID_CYCLE_COLUMNS_H
#define TESS_PRECOND_MULTIGRID_CYCLE_COLUMNS_H

#include "precond/multigrid/cycle/cycle.h"

/* Vectors for up to `columns` columns of the levels of a cycle. All zero at first. */
typedef struct amg_columns {
    tess_context *ctx;
    int count, columns;
    size_t value_bytes;
    amg_cycle_level *level; /* of these: n and the vectors; the rest is the cycle's */
    double *factor_work[2]; /* of the finest level, for factors beside FP32 vectors; else NULL */
} amg_columns;

/* Whether the cycle can: V and W, smoothers that are products or factors, and levels in formats that multiply columns.
 */
bool amg_columns_fit(const amg_cycle *c);
/* Makes vectors for so many columns, unless there are enough. */
tess_status amg_columns_prepare(amg_columns *m, const amg_cycle *c, int columns);
/* z := M^-1 r for FP64 vectors by rows. Prepares itself if nobody has. */
tess_status amg_columns_apply(amg_columns *m, const amg_cycle *c, int columns, const double *r, double *z);
void amg_columns_release(amg_columns *m);

#endif
