/* SPDX-License-Identifier: Apache-2.0 */
/* What solvers ask of the halo of a matrix of ours. */
#ifndef TESS_PETSC_MAT_HALO_H
#define TESS_PETSC_MAT_HALO_H

#include <petscmat.h>
#include <tessera/precision.h>

/* Whether what rounding takes from its halo can be carried on to later products: a matrix of ours over several
   processes with a halo below FP64. */
PetscBool tp_carries(Mat A);
/* Nothing is carried yet. These calls do nothing to matrices of other kinds. Collective. */
PetscErrorCode tp_carry_reset(Mat A);
/* A x, with what is carried (halo.h). */
PetscErrorCode tp_carried_product(Mat A, Vec x, Vec y);
/* The product was taken `length` times. */
PetscErrorCode tp_carry_step(Mat A, double length);
/* The product was with the first x. */
PetscErrorCode tp_carry_guess(Mat A);
/* That of the next product's halo. */
tess_precision tp_halo_precision(Mat A);
/* The halo in the next higher precision, until tp_reset_halo; *done is false where there is none. */
PetscErrorCode tp_widen_halo(Mat A, PetscBool *done);
PetscErrorCode tp_reset_halo(Mat A);

#endif
