/* SPDX-License-Identifier: Apache-2.0 */
/* The registration of the types with PETSc. */
#include "register.h"

#include "context.h"
#include "versions.h"

static PetscBool registered;

static PetscErrorCode forget_types(void)
{
    PetscFunctionBegin;
    registered = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Called by loader.c. */
PetscErrorCode tessera_petsc_register(void)
{
    PetscFunctionBegin;
    if (registered) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_find_place());
    PetscCall(tp_register_mat());
    PetscCall(tp_register_pc());
    PetscCall(tp_register_ksp());
    PetscCall(PetscRegisterFinalize(forget_types));
    registered = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
}
