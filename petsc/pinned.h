/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the host that a GPU may read in place. */
#ifndef TESS_PETSC_PINNED_H
#define TESS_PETSC_PINNED_H

#include <petscsys.h>

/* Pinned: page-locked, which a GPU that is shared with PETSc reads and writes in place. Freed once the GPU has done
   what was queued. */
PetscErrorCode tp_pinned_allocate(PetscBool pinned, size_t bytes, void **out);
PetscErrorCode tp_pinned_free(PetscBool pinned, void **memory);

#endif
