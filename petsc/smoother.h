/* SPDX-License-Identifier: Apache-2.0 */
/* Smoothers of PETSc as recurrences that run without it. */
#ifndef TESS_PETSC_SMOOTHER_H
#define TESS_PETSC_SMOOTHER_H

#include <petscksp.h>

enum { TP_MOST_STEPS = 8 };

/*
 * A smoother of n steps on the level's matrix scaled to a unit diagonal, from the residual r:
 * d := first r; then d := kept d + fresh r for each further step; each adds d to x and takes A d from r.
 */
typedef struct tp_smoother {
    PetscInt steps;
    double first, kept[TP_MOST_STEPS], fresh[TP_MOST_STEPS];
} tp_smoother;

/* Finds out what a smoother of PETSc does, by applying it: *out.steps is 0 if it is not of that form (smoother.c). */
PetscErrorCode tp_smoother_read(KSP ksp, Mat A, tp_smoother *out);

#endif
