/* SPDX-License-Identifier: Apache-2.0 */
/* The V-cycle of a hierarchy of PETSc with vectors in FP32. */
#ifndef TESS_PETSC_CYCLE_H
#define TESS_PETSC_CYCLE_H

#include "gather.h"
#include "level.h"
#include "smoother.h"

#include <petscksp.h>

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

#endif
