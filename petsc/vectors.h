/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays and vectors of PETSc as vectors of the library, and the other way. */
#ifndef TESS_PETSC_VECTORS_H
#define TESS_PETSC_VECTORS_H

#include <petscvec.h>
#include <tessera/vector.h>

typedef enum tp_access { TP_READ, TP_WRITE, TP_UPDATE } tp_access;

/* A vector of the library around an array, which is not written through a const one. Where the context computes in
   another memory the vector has a copy, whose values tp_vector_end brings back. */
PetscErrorCode tp_vector_begin(PetscInt n, const PetscScalar *array, PetscMemType where, tp_access access,
                               tess_vector **out);
PetscErrorCode tp_vector_end(tess_vector **v, PetscScalar *array, tp_access access);

/* A Vec of PETSc as a vector of the library, the entries of this process. */
typedef struct tp_view {
    tess_vector *v;
    PetscScalar *array;
    PetscMemType where;
    tp_access access;
    PetscBool shared;
} tp_view;

PetscErrorCode tp_view_begin(Vec vec, tp_access access, tp_view *view);
PetscErrorCode tp_view_end(Vec vec, tp_view *view);

/* The other way: a Vec of this process around n values where the context computes. */
PetscErrorCode tp_vec_create(PetscInt n, Vec *out);
PetscErrorCode tp_vec_place(Vec vec, const double *array);
PetscErrorCode tp_vec_reset(Vec vec);

#endif
