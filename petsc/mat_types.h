/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix types: seqaijtessera holds stored copies, mpiaijtessera has two of these as its blocks. */
#ifndef TESS_PETSC_MAT_TYPES_H
#define TESS_PETSC_MAT_TYPES_H

#include "copy.h"
#include "halo.h"
#include "scatter.h"
#include "storage.h"

#include <petsc/private/matimpl.h>

/* AIJ's functions that a type of ours replaces, to be called from ours and to be put back. */
typedef struct tp_replaced {
    PetscErrorCode (*mult)(Mat, Vec, Vec);
    PetscErrorCode (*multadd)(Mat, Vec, Vec, Vec);
    PetscErrorCode (*multtranspose)(Mat, Vec, Vec);
    PetscErrorCode (*multtransposeadd)(Mat, Vec, Vec, Vec);
    PetscErrorCode (*getdiagonal)(Mat, Vec);
    PetscErrorCode (*assemblyend)(Mat, MatAssemblyType);
    PetscErrorCode (*duplicate)(Mat, MatDuplicateOption, Mat *);
    PetscErrorCode (*destroy)(Mat);
    PetscErrorCode (*view)(Mat, PetscViewer);
    PetscErrorCode (*setfromoptions)(Mat, tp_option_items);
} tp_replaced;

void tp_save_functions(Mat A, tp_replaced *saved);
void tp_restore_functions(Mat A, const tp_replaced *saved);

/* Mat->spptr of seqaijtessera. */
typedef struct tp_seq {
    tp_replaced base;
    tp_storage storage;
    tp_copy copy, transposed; /* of the matrix and of its transpose, each made at the first product with it */
    PetscObjectState state, transposed_state; /* of the Mat, when the copy was made; -1: there is none */
} tp_seq;

/* Mat->spptr of mpiaijtessera. */
typedef struct tp_mpi {
    tp_replaced base;
    tp_storage storage;
    tp_scatter scatter;           /* on GPUs */
    tp_halo *halo;                /* in a precision below FP64, else NULL */
    tess_vector *ghosts;          /* what it brought */
    PetscObjectState pattern;     /* nonzerostate of the Mat, when the halo was made */
    tess_precision widened;       /* the halo's, while a solve needs more than storage.halo */
    PetscObjectState prepared[2]; /* of the Mat, when all processes had copies of it, and of its transpose; -1: never */
    PetscBool way_known, all_gpus, some_gpus; /* of the processes: they share a GPU with PETSc */
    PetscObjectState way_pattern;             /* nonzerostate of the Mat, when that was asked */
} tp_mpi;

/* y := y + A x with a block of this process; y may be a vector of all of them. */
PetscErrorCode tp_seq_product(Mat A, const tess_vector *x, Vec y);
PetscErrorCode tp_seq_set_storage(Mat A, const tp_storage *storage);
PetscErrorCode tp_seq_bytes(Mat A, double bytes[2]);
PetscErrorCode tp_seq_prepare(Mat A, PetscBool transposed);

/* The halo of mpiaijtessera (mat_halo.c). z := y + A x, or A x without y, with values of x in messages of ours. */
PetscErrorCode tp_halo_product(Mat A, Vec x, Vec y, Vec z);
PetscErrorCode tp_halo_forget(tp_mpi *m);

/* Products with interpolations of a DM (maij), which PETSc knows for AIJ's own types alone. */
PetscErrorCode tp_product_with_maij(Mat product);
/* Vectors that fit the matrix are then on the GPU, if PETSc and the library share one. */
PetscErrorCode tp_set_vectors(Mat A);

PETSC_EXTERN PetscErrorCode MatCreate_SeqAIJTessera(Mat A);
PETSC_EXTERN PetscErrorCode MatCreate_MPIAIJTessera(Mat A);

#endif
