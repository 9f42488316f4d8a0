/* SPDX-License-Identifier: Apache-2.0 */
/* Products over several processes with the ghosts on a GPU. */
#ifndef TESS_PETSC_SCATTER_H
#define TESS_PETSC_SCATTER_H

#include <petscmat.h>

typedef struct tp_scatter {
    VecScatter scatter;
    Vec ghosts;
    PetscObjectState pattern; /* nonzerostate of the Mat, when these were made */
} tp_scatter;

/* z := y + A x, or A x without y; y may be z. */
PetscErrorCode tp_scatter_product(Mat A, tp_scatter *s, Vec x, Vec y, Vec z);
PetscErrorCode tp_scatter_transposed(Mat A, tp_scatter *s, Vec x, Vec y, Vec z);
PetscErrorCode tp_scatter_reset(tp_scatter *s);

#endif
