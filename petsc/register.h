/* SPDX-License-Identifier: Apache-2.0 */
/* The registration of the types with PETSc. */
#ifndef TESS_PETSC_REGISTER_H
#define TESS_PETSC_REGISTER_H

#include <petscsys.h>

PETSC_EXTERN PetscErrorCode tessera_petsc_register(void);
PetscErrorCode tp_register_mat(void);
PetscErrorCode tp_register_pc(void);
PetscErrorCode tp_register_ksp(void);

#endif
