/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of the last solve. */
#ifndef TESS_PETSC_TOLD_H
#define TESS_PETSC_TOLD_H

#include "verify.h"

typedef struct tp_told {
    PetscBool measured; /* `norms` are those of x */
    PetscBool verified; /* both norms are proved to meet their tolerances */
    tp_norms norms;
    tp_tolerances tolerances;
} tp_told;

PetscErrorCode tp_told_view(KSP ksp, PetscViewer viewer);

/* A convergence that the true residual does not bear out: says so, and gives the reason. */
PetscErrorCode tp_refute(KSP ksp, double estimate, double tolerance);

#endif
