/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse of a small matrix. */
#ifndef TESS_PETSC_INVERSE_H
#define TESS_PETSC_INVERSE_H

#include "level.h"

/* The inverse of a small matrix sign * diag(d) A diag(d) with all rows on one process; *done is false for another. Rows
   of zeros have 1 on the diagonal. Collective. */
PetscErrorCode tp_dense_inverse(Mat A, int sign, Vec d, tp_level_matrix *out, PetscBool *done);

#endif
