/* SPDX-License-Identifier: Apache-2.0 */
/* -mat_tessera_*: how a matrix is stored. */
#ifndef TESS_PETSC_STORAGE_H
#define TESS_PETSC_STORAGE_H

#include "versions.h"

#include <tessera/matrix.h>

/* How a matrix is stored, and how values of x travel between processes. */
typedef struct tp_storage {
    tess_storage_options options;
    tess_precision halo;
} tp_storage;

/* Storage in the lowest precision that holds each value exactly; the halo in FP64. */
void tp_storage_default(tp_storage *storage);
/* -mat_tessera_*, within PetscOptionsBegin. */
PetscErrorCode tp_storage_read(tp_option_items PetscOptionsObject, tp_storage *storage);
/* The same at a place that has no PetscOptionsBegin. */
PetscErrorCode tp_storage_read_for(PetscObject object, tp_storage *storage);

/* Whether the stored copy has AIJ's own values. */
PetscBool tp_storage_is_exact(const tp_storage *storage);

#endif
