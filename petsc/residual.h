/* SPDX-License-Identifier: Apache-2.0 */
/* The residual of the rows of this process, whose columns are in two blocks. */
#ifndef TESS_PETSC_RESIDUAL_H
#define TESS_PETSC_RESIDUAL_H

#include "rows.h"

#include <tessera/residual.h>

typedef struct tp_residual {
    const tp_rows *rows[2];  /* of the columns of this process, and of the others; NULL: one process */
    const PetscScalar *x[2]; /* own values, and the others' */
    const PetscScalar *b;
    PetscScalar *r;
} tp_residual;

/* Norms of r = b - A x, a bound on the error of each, and norms of b. ROWS: with row i of r and of b divided by its
   largest |a_ij|, and a row of zeros by 1. */
enum { TP_NORM, TP_BOUND, TP_RHS, TP_ROWS, TP_ROWS_BOUND, TP_ROWS_RHS, TP_NORMS };

typedef struct tp_norms {
    double norm[TP_NORMS]; /* BOUND is NaN where the entries are unknown, and so are then all of ROWS */
    double backward;       /* the largest |r_i| / (|A| |x| + |b|)_i; NaN: unknown */
    double backward_most;  /* an upper bound of the exact one */
    PetscInt row;          /* the first row that has it; -1: r is 0, or nothing is known */
} tp_norms;

/* r := b - A x in two words, by all threads; its norms, and `row` from 0 on this process. The same bits for any number
   of threads. */
PetscErrorCode tp_residual_of_rows(tp_residual *of, tp_norms *out);

/* [A_d A_o] as one matrix of the library; without `off` A_d alone. *joined, if it is not NULL, has this pattern and
   takes the new values. */
PetscErrorCode tp_join_rows(const tp_rows *diagonal, const tp_rows *off, tess_matrix **joined);

#endif
