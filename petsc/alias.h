/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix around the arrays of another one. */
#ifndef TESS_PETSC_ALIAS_H
#define TESS_PETSC_ALIAS_H

#include "rows.h"

typedef struct tp_alias {
    Mat mat;
    PetscInt *columns;        /* global, of the off-diagonal block */
    tp_rows rows[2];          /* the arrays of the blocks */
    PetscObjectId id;         /* of the other one: a caller may give another matrix around the same arrays */
    PetscObjectState pattern; /* its nonzerostate */
} tp_alias;

/* Makes it for a matrix that derives from AIJ, in the type AIJ or one to which PETSc converts that in place; or tells
   it that the values are others, if the arrays are the same ones. Collective. */
PetscErrorCode tp_alias_renew(Mat A, MatType type, tp_alias *alias);
PetscErrorCode tp_alias_destroy(tp_alias *alias);

#endif
