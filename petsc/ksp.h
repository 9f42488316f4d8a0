/* SPDX-License-Identifier: Apache-2.0 */
/* The solver type: Tessera's whole solve on one process, PETSc's KSP within refinement on several. */
#ifndef TESS_PETSC_KSP_H
#define TESS_PETSC_KSP_H

#include "options.h"
#include "told.h"
#include "verify.h"

#include <petsc/private/kspimpl.h>
#include <tessera/columns.h>
#include <tessera/solver.h>

/* KSP->data. */
typedef struct tp_ksp {
    tp_words words;   /* -ksp_tessera_* */
    PetscBool verify; /* -ksp_tessera_verify */
    PetscInt restart; /* -ksp_gmres_restart or KSPGMRESSetRestart; 0: neither was given */
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

/* ksp_system.c: the matrix to solve with, which is the operator, or its transpose for KSPSolveTranspose. */
PetscErrorCode tp_system(KSP ksp, Mat *out);
PetscErrorCode tp_solve_one(KSP ksp);
/* As tp_solve_one for several columns; its result is that of the worst. */
PetscErrorCode tp_solve_many(KSP ksp, const tess_columns *b, const tess_columns *x);
/* Whether anyone looks at the iterations. */
PetscBool tp_is_watched(KSP ksp);
/* Whether the library takes the whole solve: of one process, unless PETSc must project out a null space. */
PetscErrorCode tp_is_one(KSP ksp, PetscBool *out);
PetscErrorCode tp_set_up_pc(KSP ksp);
PetscErrorCode tp_mat_solve(KSP ksp, Mat B, Mat X);
PetscErrorCode tp_solve_refined(KSP ksp);
PetscErrorCode tp_refine_options(KSP ksp);
PetscErrorCode tp_one_reset(tp_ksp *k);
/* PETSc's restart in the options of a method that has one, unless -ksp_tessera_restart is given. */
void tp_take_restart(const tp_ksp *k, tess_solve_options *options);
/* Whether CG may take a PC. */
PetscErrorCode tp_pc_may_be_symmetric(PC pc, PetscBool *out);

/* KSPTESSERACG (ksp_cg.c). */
PetscErrorCode tp_ksp_create_cg(KSP ksp);

#endif
