/* SPDX-License-Identifier: Apache-2.0 */
/* Diagonals of a hierarchy, and their sign. */
#ifndef TESS_PETSC_DIAGONAL_H
#define TESS_PETSC_DIAGONAL_H

#include <petscmat.h>

/* The diagonal and its sign, 0 for entries of both. Zeros and their roundings become the sign, as PETSc's Jacobi takes
   1 for 0: an aggregate of one node has fewer unknowns than rigid-body modes, and leaves rows of zeros. Collective. */
PetscErrorCode tp_signed_diagonal(Mat A, Vec d, int *sign);

#endif
