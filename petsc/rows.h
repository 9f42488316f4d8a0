/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of AIJ on the host, and the library's matrix of them. */
#ifndef TESS_PETSC_ROWS_H
#define TESS_PETSC_ROWS_H

#include <petscmat.h>
#include <tessera/matrix.h>

/* As PETSc has them. */
typedef struct tp_rows {
    PetscInt nrows, ncols;
    const PetscInt *i, *j;
    const PetscScalar *a;
} tp_rows;

/* Of a matrix that derives from AIJ, on one process. */
PetscErrorCode tp_rows_get(Mat A, tp_rows *rows);
PetscErrorCode tp_rows_restore(Mat A, tp_rows *rows);
/* The same arrays for the library. */
tess_csr_arrays tp_rows_arrays(const tp_rows *rows);
/* A matrix of the library that owns its arrays. */
PetscErrorCode tp_matrix_create(const tp_rows *rows, tess_matrix **out);

#endif
