/* SPDX-License-Identifier: Apache-2.0 */
/* A stored copy of rows, and its products. */
#ifndef TESS_PETSC_COPY_H
#define TESS_PETSC_COPY_H

#include "rows.h"

enum { TP_RUNS = 2 };

/* Rows one after the other. */
typedef struct tp_run {
    PetscInt row, count;
} tp_run;

/*
 * A copy in one of Tessera's formats. Where most rows are empty, as off the diagonal block, the copy has the others
 * alone: on a GPU if these are in few runs, which have few empty rows between. Values that FP16 would not hold are
 * stored over a power of two.
 */
typedef struct tp_copy {
    tess_matrix *assembled, *stored; /* NULL: there are no entries */
    PetscInt nrows, ncols, kept;
    PetscInt *row;        /* kept numbers: which row; NULL: every row */
    tp_run run[TP_RUNS];  /* the same in runs, on a GPU */
    int nruns;            /* 0 on a host */
    PetscInt *row_ptr;    /* of the kept rows; NULL: PETSc's */
    double *val;          /* scaled values; NULL: PETSc's */
    double scale;         /* stored = scale * A, a power of two */
    tess_vector *partial; /* products of the kept rows, in the precision of the first one */
    void *owned[3];       /* arrays that the copy may read, freed with it by PetscFree */
} tp_copy;

PetscErrorCode tp_copy_build(const tp_rows *rows, const tess_storage_options *options, tp_copy *copy);
/* factor * diag(left) A diag(right), in arrays of its own: those of A may change. */
PetscErrorCode tp_copy_build_scaled(const tp_rows *rows, double factor, const PetscScalar *left,
                                    const PetscScalar *right, const tess_storage_options *options, tp_copy *copy);
/* y := alpha A x, or y := y + alpha A x; both vectors in FP64, or both in FP32. */
PetscErrorCode tp_copy_product(tp_copy *copy, double alpha, const tess_vector *x, tess_vector *y, PetscBool add);
/* The main diagonal as products have it: min(nrows, ncols) numbers on the host, 0 where there is no entry. */
PetscErrorCode tp_copy_diagonal(const tp_copy *copy, PetscScalar *diagonal);
void tp_copy_free(tp_copy *copy);

#endif
