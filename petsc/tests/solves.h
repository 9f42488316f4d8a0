/* SPDX-License-Identifier: Apache-2.0 */
/* Small systems in PETSc's matrix types, and what a solve of them says. */
#ifndef TESS_PETSC_TESTS_SOLVES_H
#define TESS_PETSC_TESTS_SOLVES_H

#include "support.h"

PetscErrorCode assemble(Mat A);
/* Rows of some five entries with a larger diagonal; unsymmetric, or its sum with its transpose. */
PetscErrorCode small_matrix(PetscInt n, int seed, PetscBool symmetric, Mat *out);
/* Four blocks, each half of the rows of every process. `mixed`: of other types, one of them a nest. */
PetscErrorCode nest_of(Mat A, PetscBool mixed, Mat *out);
/* The same matrix in another type; a shell borrows it. */
PetscErrorCode convert(Mat A, const char *type, Mat *out);
/* Norms of b - A x and of b in long double; A is AIJ. */
PetscErrorCode true_norms(Mat A, Vec b, Vec x, long double norm[2]);
/* Whether -ksp_view has these words, on all processes. */
PetscErrorCode view_says(KSP ksp, const char *words, PetscBool *out);
PetscErrorCode need_words(KSP ksp, const char *words, const char *what);
PetscErrorCode make(const char *solver, double rtol, double atol, KSP *ksp);
PetscErrorCode reason_of(KSP ksp, Mat A, Vec b, Vec x, KSPConvergedReason *reason);

#endif
