/* SPDX-License-Identifier: Apache-2.0 */
/* The V-cycle of a hierarchy of PETSc with vectors in FP32. */
#ifndef TESS_PETSC_CYCLE_H
#define TESS_PETSC_CYCLE_H

#include "gather.h"
#include "level.h"

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

typedef struct tp_cycle_level {
    Vec root, inverse; /* of the diagonal: its square root, and one over that */
    tp_level_matrix A, down, up;
    tp_smoother smoother;
    tess_vector *r, *x, *d;
} tp_cycle_level;

/* From PETSc's vectors of a level to those of the leaders. */
typedef struct tp_passage {
    Vec vec;
    VecScatter scatter;
} tp_passage;

typedef struct tp_cycle {
    PetscInt nlevels;
    tp_cycle_level *level; /* 0: the coarsest */
    tp_gather *gather;     /* of processes that share a GPU; NULL: each has its own rows */
    tp_passage fine, low;  /* with it, of the finest level and the coarsest one */
    KSP coarse;            /* of PETSc's hierarchy; not owned */
    Vec b, x;              /* for it */
    PetscBool inverted;    /* level 0 has its inverse in place of its matrix */
    tess_matrix *unscale;  /* on a GPU: diag(inverse) of the finest level */
    tess_vector *wide;     /* and a vector in FP64 for it */
    int sign;              /* of all diagonals: the levels are those of sign * A */
    int exponent;          /* of the largest entry of that diagonal */
} tp_cycle;

typedef struct tp_cycle_options {
    tess_precision precision, halo; /* of levels and transfers; of what processes send each other */
    PetscMPIInt groups;             /* tp_gather_create */
} tp_cycle_options;

/* From a PCMG that is set up; *why is NULL, or says what the cycle does not do: then there is none. Collective. */
PetscErrorCode tp_cycle_create(PC mg, const tp_cycle_options *options, tp_cycle **out, const char **why);
PetscErrorCode tp_cycle_apply(tp_cycle *cycle, Vec r, Vec z);
PetscErrorCode tp_cycle_destroy(tp_cycle **cycle);

/* The inverse of a small matrix sign * diag(d) A diag(d) with all rows on one process; *done is false for another. Rows
   of zeros have 1 on the diagonal. Collective. */
PetscErrorCode tp_dense_inverse(Mat A, int sign, Vec d, tp_level_matrix *out, PetscBool *done);

/* The diagonal and its sign, 0 for entries of both. Zeros and their roundings become the sign, as PETSc's Jacobi takes
   1 for 0: an aggregate of one node has fewer unknowns than rigid-body modes, and leaves rows of zeros. Collective. */
PetscErrorCode tp_signed_diagonal(Mat A, Vec d, int *sign);

#endif
