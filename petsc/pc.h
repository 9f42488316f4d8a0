/* SPDX-License-Identifier: Apache-2.0 */
/* The preconditioner type: one of Tessera's on the rows of each process, or PCGAMG's hierarchy in low precisions. */
#ifndef TESS_PETSC_PC_H
#define TESS_PETSC_PC_H

#include "alias.h"
#include "cycle.h"
#include "options.h"

#include <petsc/private/pcimpl.h>
#include <tessera/precond.h>

/* The level operators and transfers of PCGAMG (pc_gamg.c). */
typedef struct tp_gamg {
    PC inner;                 /* PETSc's, which builds and runs the hierarchy */
    tp_alias alias;           /* of the finest matrix, for our cycle */
    Mat fine;                 /* or a copy of it in our type, where PETSc runs the cycle */
    PetscBool copied;         /* the hierarchy is that of the copy */
    PetscObjectId id;         /* of the matrix of which the copy was made */
    PetscObjectState pattern; /* its nonzerostate then */
    tess_precision precision, halo;
    tp_cycle *cycle;     /* ours, with FP32 vectors; NULL: PETSc runs the cycle */
    const char *why;     /* it does */
    const char *refused; /* why our cycle did not take a hierarchy that was built for it */
} tp_gamg;

/* PC->data. */
typedef struct tp_pc {
    char kind[64];       /* -pc_tessera_type: a word of --precond, or gamg */
    char precision[32];  /* -pc_tessera_precision; empty: the kind's default */
    char halo[32];       /* -pc_tessera_halo, gamg */
    char vectors[32];    /* -pc_tessera_vectors, gamg: fp32 or fp64 */
    char setup[8];       /* -pc_tessera_setup, gamg: auto, cpu or gpu */
    char gather[16];     /* -pc_tessera_gather, gamg: auto, none or a number of groups */
    tp_words words;      /* all others of -pc_tessera_*; the kind is none */
    double *coordinates; /* of the nodes of this process, axis after axis, for amg; NULL: none */
    PetscInt nodes, dimensions;
    tess_matrix *matrix;
    tess_precond *precond;
    tess_matrix *transpose;   /* of this process' rows, made when a solve with the transpose asks */
    tess_precond *transposed; /* made from it */
    tp_gamg gamg;
} tp_pc;

/* The library's preconditioner of a PC of ours on one process, or one of the same kind for the transposed matrix; NULL:
   another type, or gamg. */
PetscErrorCode tp_pc_precond(PC pc, PetscBool transposed, tess_precond **out);

PetscErrorCode tp_pc_set_from_options(PC pc, tp_option_items items);
/* The library's options for a kind that is not gamg. */
PetscErrorCode tp_pc_complete_options(const tp_pc *p, tess_precond_options *options);

/* PCMatApply, in pc_columns.c. */
PetscErrorCode tp_pc_mat_apply(PC pc, Mat R, Mat Z);

/* Whether it is of our type, and the kind jacobi. */
PetscErrorCode tp_pc_is_jacobi(PC pc, PetscBool *out);

PetscErrorCode tp_gamg_create(PC pc);
PetscErrorCode tp_gamg_options(PC pc);
PetscErrorCode tp_gamg_setup(PC pc);
PetscErrorCode tp_gamg_apply(PC pc, Vec r, Vec z);
PetscErrorCode tp_gamg_view(PC pc, PetscViewer viewer);
PetscErrorCode tp_gamg_reset(tp_gamg *gamg);

#endif
