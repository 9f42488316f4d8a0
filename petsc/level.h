/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of multigrid's levels with vectors in FP32, over any number of processes. */
#ifndef TESS_PETSC_LEVEL_H
#define TESS_PETSC_LEVEL_H

#include "copy.h"
#include "halo.h"

typedef struct tp_level_matrix {
    tp_copy block[2]; /* of the columns of this process, and of the others */
    tp_halo *halo;    /* NULL: one process */
    tess_vector *ghosts;
} tp_level_matrix;

/* factor * diag(left) A diag(right), of a type that derives from AIJ. */
typedef struct tp_scaled {
    double factor;
    Mat A;
    Vec left, right;
} tp_scaled;

/* Nothing of the matrix or the vectors is kept. Collective. */
PetscErrorCode tp_level_matrix_create(const tp_scaled *scaled, tess_precision precision, tess_precision halo,
                                      tp_level_matrix *out);
/* y := alpha A x, or y := y + alpha A x; both in FP32. */
PetscErrorCode tp_level_product(tp_level_matrix *m, double alpha, const tess_vector *x, tess_vector *y, PetscBool add);
PetscErrorCode tp_level_matrix_destroy(tp_level_matrix *m);

#endif
