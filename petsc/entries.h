/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of a matrix as AIJ, by which its residual is verified. */
#ifndef TESS_PETSC_ENTRIES_H
#define TESS_PETSC_ENTRIES_H

#include <petscmat.h>

/* A copy, until the matrix or a part of it changes. */
typedef struct tp_entries {
    Mat copy, of; /* `of` is held */
    uint64_t state;
} tp_entries;

/*
 * *out := the matrix itself if it is AIJ, a copy with the same entries of baij, sbaij, dense, sell, nest and transposes
 * of these, or NULL where nobody tells the entries of the matrix, or how they act on an x of this type. Borrowed.
 * Collective.
 */
PetscErrorCode tp_entries_of(tp_entries *entries, Mat A, Vec x, Mat *out);
/* All entries as AIJ. Of a type that is not named above, and of its blocks, by PETSc's conversion. Collective. */
PetscErrorCode tp_entries_copy(Mat A, Mat *out);
PetscErrorCode tp_entries_reset(tp_entries *entries);

#endif
