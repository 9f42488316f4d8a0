/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix types: seqaijtessera holds stored copies, mpiaijtessera has two of these as its blocks. */
#ifndef TESS_PETSC_MAT_H
#define TESS_PETSC_MAT_H

#include "halo.h"
#include "plugin.h"

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

/* Ghosts on a GPU (scatter.c). */
typedef struct tp_scatter {
    VecScatter scatter;
    Vec ghosts;
    PetscObjectState pattern; /* nonzerostate of the Mat, when these were made */
} tp_scatter;

/* z := y + A x, or A x without y; y may be z. */
PetscErrorCode tp_scatter_product(Mat A, tp_scatter *s, Vec x, Vec y, Vec z);
PetscErrorCode tp_scatter_transposed(Mat A, tp_scatter *s, Vec x, Vec y, Vec z);
PetscErrorCode tp_scatter_reset(tp_scatter *s);

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

PetscBool tp_is_ours(Mat A);

/* Whether what rounding takes from its halo can be carried on to later products: a matrix of ours over several
   processes with a halo below FP64. */
PetscBool tp_carries(Mat A);
/* Nothing is carried yet. These calls do nothing to matrices of other kinds. Collective. */
PetscErrorCode tp_carry_reset(Mat A);
/* A x, with what is carried (halo.h). */
PetscErrorCode tp_carried_product(Mat A, Vec x, Vec y);
/* The product was taken `length` times. */
PetscErrorCode tp_carry_step(Mat A, double length);
/* The product was with the first x. */
PetscErrorCode tp_carry_guess(Mat A);
/* That of the next product's halo. */
tess_precision tp_halo_precision(Mat A);
/* The halo in the next higher precision, until tp_reset_halo; *done is false where there is none. */
PetscErrorCode tp_widen_halo(Mat A, PetscBool *done);
PetscErrorCode tp_reset_halo(Mat A);
/* The storage of a matrix of ours, of any number of processes; NULL for another type. */
const tp_storage *tp_storage_of(Mat A);
/* Whether the stored copy has AIJ's own values. */
PetscBool tp_storage_is_exact(const tp_storage *storage);
/* Stores a matrix of ours in another way from its next product on. */
PetscErrorCode tp_set_storage(Mat A, const tp_storage *storage);
/* Makes the stored copy now, and that of the transpose if asked for; else the first product does. Collective. */
PetscErrorCode tp_prepare(Mat A, PetscBool transposed);
/* Bytes of the stored copies that exist on this process, and of AIJ's values and indices of the same. */
PetscErrorCode tp_stored_bytes(Mat A, double bytes[2]);

/* y := y + A x with a block of this process; y may be a vector of all of them. */
PetscErrorCode tp_seq_product(Mat A, const tess_vector *x, Vec y);
PetscErrorCode tp_seq_set_storage(Mat A, const tp_storage *storage);
PetscErrorCode tp_mpi_set_storage(Mat A, const tp_storage *storage);
PetscErrorCode tp_seq_bytes(Mat A, double bytes[2]);
PetscErrorCode tp_seq_prepare(Mat A, PetscBool transposed);

/* Products with interpolations of a DM (maij), which PETSc knows for AIJ's own types alone. */
PetscErrorCode tp_product_with_maij(Mat product);
/* The parts of a matrix of ours on this process; NULL: there is none, or it is not ours yet. */
PetscErrorCode tp_own_parts(Mat A, Mat part[2]);
/* Vectors that fit the matrix are then on the GPU, if PETSc and the library share one. */
PetscErrorCode tp_set_vectors(Mat A);
PetscErrorCode tp_rows_get(Mat A, tp_rows *rows);
PetscErrorCode tp_rows_restore(Mat A, tp_rows *rows);
/* PETSc drops what it made of the old values of a matrix that derives from AIJ. */
PetscErrorCode tp_values_changed(Mat A);
/* Values of a matrix with the same pattern. */
PetscErrorCode tp_copy_values(Mat from, Mat to);

/* A matrix around the arrays of another one (alias.c). */
typedef struct tp_alias {
    Mat mat;
    PetscInt *columns;        /* global, of the off-diagonal block */
    tp_rows rows[2];          /* the arrays of the blocks */
    PetscObjectId id;         /* of the other one: a caller may give another matrix around the same arrays */
    PetscObjectState pattern; /* its nonzerostate */
} tp_alias;

/* Makes it for a matrix that derives from AIJ, in the type AIJ or one to which PETSc converts that in place; or tells
   it that the values are others, if the arrays are the same ones. Collective. */
PetscErrorCode tp_alias_renew(Mat A, MatType type, tp_alias *alias);
PetscErrorCode tp_alias_destroy(tp_alias *alias);

PETSC_EXTERN PetscErrorCode MatCreate_SeqAIJTessera(Mat A);
PETSC_EXTERN PetscErrorCode MatCreate_MPIAIJTessera(Mat A);

#endif
