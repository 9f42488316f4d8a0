/* SPDX-License-Identifier: Apache-2.0 */
/* What others ask of a matrix of ours, of either type. */
#ifndef TESS_PETSC_MAT_H
#define TESS_PETSC_MAT_H

#include "storage.h"

#include <petscmat.h>

PetscBool tp_is_ours(Mat A);
/* The storage of a matrix of ours, of any number of processes; NULL for another type. */
const tp_storage *tp_storage_of(Mat A);
/* Stores a matrix of ours in another way from its next product on. */
PetscErrorCode tp_set_storage(Mat A, const tp_storage *storage);
/* Makes the stored copy now, and that of the transpose if asked for; else the first product does. Collective. */
PetscErrorCode tp_prepare(Mat A, PetscBool transposed);
/* Bytes of the stored copies that exist on this process, and of AIJ's values and indices of the same. */
PetscErrorCode tp_stored_bytes(Mat A, double bytes[2]);
/* The parts of a matrix of ours on this process; NULL: there is none, or it is not ours yet. */
PetscErrorCode tp_own_parts(Mat A, Mat part[2]);
/* PETSc drops what it made of the old values of a matrix that derives from AIJ. */
PetscErrorCode tp_values_changed(Mat A);
/* Values of a matrix with the same pattern. */
PetscErrorCode tp_copy_values(Mat from, Mat to);

#endif
