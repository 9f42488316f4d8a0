/* SPDX-License-Identifier: Apache-2.0 */
/* The residual of the rows of this process, whose columns are in two blocks. */
#ifndef TESSERA_PETSC_RESIDUAL_H
#define TESSERA_PETSC_RESIDUAL_H

#include "plugin.h"

typedef struct tp_residual {
    const tp_rows *rows[2];  /* of the columns of this process, and of the others; NULL: one process */
    const PetscScalar *x[2]; /* own values, and the others' */
    const PetscScalar *b;
    PetscScalar *r;
} tp_residual;

/* r := b - A x in two words, by all threads; its norm, and a bound on the error of the norm. The same bits for any
   number of threads. */
PetscErrorCode tp_residual_of_rows(const tp_residual *of, double norm_bound[2]);

/* [A_d A_o] as one matrix of the library; without `off` A_d alone. *joined, if it is not NULL, has this pattern and
   takes the new values. */
PetscErrorCode tp_join_rows(const tp_rows *diagonal, const tp_rows *off, tess_matrix **joined);

#endif
