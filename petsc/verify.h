/* SPDX-License-Identifier: Apache-2.0 */
/* The true residual of matrices whose entries can be read, and what it says of a solve. */
#ifndef TESS_PETSC_VERIFY_H
#define TESS_PETSC_VERIFY_H

#include "entries.h"
#include "halo.h"
#include "residual.h"

#include <petscksp.h>

/* What the residual needs of a matrix, kept from one call to the next. */
typedef struct tp_verifier {
    tp_entries entries;
    tp_halo *halo; /* NULL: one process */
    PetscScalar *ghosts;
    Mat matrix; /* for which these were made; held, for another one at its address would go unnoticed on some process */
    PetscObjectState pattern;
    /* on a GPU */
    tess_matrix *joined;       /* [A_d A_o], the rows of this process in FP64 */
    tess_vector *x;            /* and the vector that it multiplies: x, then the ghosts */
    PetscObjectState state[3]; /* of the matrix and its blocks when the values were taken */
} tp_verifier;

/*
 * r := b - A x and its norms, of all processes. Of a matrix whose entries cannot be read r is an ordinary residual, and
 * all but its norm and that of b is NaN. Collective.
 */
PetscErrorCode tp_true_residual(tp_verifier *verifier, Mat A, Vec b, Vec x, Vec r, tp_norms *out);
/* What was made of a pattern; and all, with the entries. */
PetscErrorCode tp_verifier_reset(tp_verifier *verifier);
PetscErrorCode tp_verifier_destroy(tp_verifier *verifier);
/* ||v||, where squares may be out of range. Collective. */
PetscErrorCode tp_norm(Vec v, double *out);

/* max(rtol ||b||, atol), at most; and the same of b with scaled rows. */
typedef struct tp_tolerances {
    double given, rows;
} tp_tolerances;

PetscErrorCode tp_set_tolerances(KSP ksp, const tp_norms *of, tp_tolerances *out);
/* Of a residual that meets its tolerance and is at most `most`. */
KSPConvergedReason tp_converged_reason(KSP ksp, double most);
/* At least the exact ||b - A x||, where there is a bound; else the norm and what b - y rounds at least. */
double tp_most(const tp_norms *of);

#endif
