/* SPDX-License-Identifier: Apache-2.0 */
/* The one context that all objects of a process share. */
#ifndef TESS_PETSC_CONTEXT_H
#define TESS_PETSC_CONTEXT_H

#include <petscsys.h>
#include <tessera/context.h>

/* Processes of one machine share its processors: before the first use. Collective. */
PetscErrorCode tp_find_place(void);
/* Created at the first use, destroyed by PetscFinalize. */
PetscErrorCode tp_context(tess_context **out);
/* Whether PETSc's vectors may be on the context's GPU. Work of both is then in the order of one stream. */
PetscErrorCode tp_shares_gpu(PetscBool *out);
/* What went wrong last in the context; NULL: there is no context yet. */
const tess_error *tp_last_error(void);

#endif
