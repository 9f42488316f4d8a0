/* SPDX-License-Identifier: Apache-2.0 */
/* The solver type: Tessera's whole solve on one process, PETSc's KSP within refinement on several. */
#ifndef TESS_PETSC_KSP_H
#define TESS_PETSC_KSP_H

#include "entries.h"
#include "halo.h"
#include "plugin.h"
#include "residual.h"

#include <petsc/private/kspimpl.h>

/* The true residual of matrices whose entries can be read, summed in two words (verify.c). */
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

/* What is said of the last solve (told.c). */
typedef struct tp_told {
    PetscBool measured; /* `norms` are those of x */
    PetscBool verified; /* both norms are proved to meet their tolerances */
    tp_norms norms;
    tp_tolerances tolerances;
} tp_told;

/* KSP->data. */
typedef struct tp_ksp {
    tp_words words;   /* -ksp_tessera_* */
    PetscBool verify; /* -ksp_tessera_verify */
    tp_verifier verifier;
    Mat transpose;  /* of the matrix, for KSPSolveTranspose */
    Mat transposed; /* the matrix; held */
    PetscObjectState transposed_state;
    /* one process (ksp_solve.c) */
    PetscObjectId system; /* what the solver was made for: the matrix or `transpose`; 0: nothing */
    tess_matrix *matrix;
    tess_solver *tessera;
    tess_precond *shell;             /* PETSc's PC as the library sees it */
    PetscBool left_out;              /* the preconditioner, which divides by one number */
    const tess_precond *precond;     /* what the solver was made with; not owned */
    PetscObjectState state, pattern; /* of the matrix, and of the PC, when the solver was made */
    Vec in, out;                     /* headers around the library's arrays, for the PC */
    KSPConvergedReason stopped;      /* by the caller's own test */
    /* several processes (ksp_refine.c) */
    KSP inner;
    PetscBool configured; /* the inner KSP has its type and options */
    PetscInt before;      /* iterations of earlier inner solves */
    double scale;         /* the inner solve has the residual over this power of two */
    tp_told told;
} tp_ksp;

/* The matrix to solve with: the operator, or its transpose for KSPSolveTranspose. */
PetscErrorCode tp_system(KSP ksp, Mat *out);
PetscErrorCode tp_solve_one(KSP ksp);
PetscErrorCode tp_solve_refined(KSP ksp);
PetscErrorCode tp_refine_options(KSP ksp);
PetscErrorCode tp_one_reset(tp_ksp *k);
/* Whether CG may take a PC. */
PetscErrorCode tp_pc_may_be_symmetric(PC pc, PetscBool *out);

/* KSPTESSERACG (ksp_cg.c). */
PetscErrorCode tp_ksp_create_cg(KSP ksp);

PetscErrorCode tp_told_view(KSP ksp, PetscViewer viewer);

/* A convergence that the true residual does not bear out: says so, and gives the reason. */
PetscErrorCode tp_refute(KSP ksp, double estimate, double tolerance);

#endif
