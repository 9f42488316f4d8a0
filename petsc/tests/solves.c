/* SPDX-License-Identifier: Apache-2.0 */
#include "solves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- matrices ---- */

PetscErrorCode assemble(Mat A)
{
    PetscFunctionBegin;
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of some five entries with a larger diagonal; unsymmetric, or its sum with its transpose. */
PetscErrorCode small_matrix(PetscInt n, int seed, PetscBool symmetric, Mat *out)
{
    PetscInt first, last;
    const PetscScalar *v;
    Vec values;
    Mat T;

    PetscFunctionBegin;
    PetscCall(MatCreate(PETSC_COMM_WORLD, out));
    PetscCall(MatSetSizes(*out, PETSC_DECIDE, PETSC_DECIDE, n, n));
    PetscCall(MatSetBlockSize(*out, 2));
    PetscCall(MatSetType(*out, MATAIJ));
    PetscCall(MatSeqAIJSetPreallocation(*out, 6, NULL));
    PetscCall(MatMPIAIJSetPreallocation(*out, 6, NULL, 6, NULL));
    PetscCall(MatGetOwnershipRange(*out, &first, &last));
    PetscCall(MatCreateVecs(*out, NULL, &values));
    for (int e = 0; e < 5; e++) {
        PetscCall(fill(values, seed * 5 + e));
        PetscCall(VecGetArrayRead(values, &v));
        for (PetscInt i = first; i < last; i++) {
            const PetscInt column = (PetscInt)((0.5 + 0.499 * v[i - first]) * (double)n);
            PetscCall(MatSetValue(*out, i, column, 1.7 * v[i - first], ADD_VALUES));
        }
        PetscCall(VecRestoreArrayRead(values, &v));
    }
    for (PetscInt i = first; i < last; i++) {
        PetscCall(MatSetValue(*out, i, i, 6.3, ADD_VALUES));
    }
    PetscCall(assemble(*out));
    PetscCall(VecDestroy(&values));
    if (symmetric) {
        PetscCall(MatTranspose(*out, MAT_INITIAL_MATRIX, &T));
        PetscCall(MatAXPY(*out, 1, T, DIFFERENT_NONZERO_PATTERN));
        PetscCall(MatDestroy(&T));
        PetscCall(MatSetOption(*out, MAT_SYMMETRIC, PETSC_TRUE)); /* asked for by sbaij */
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Four blocks, each half of the rows of every process. `mixed`: of other types, one of them a nest. */
PetscErrorCode nest_of(Mat A, PetscBool mixed, Mat *out)
{
    static const MatType types[4] = {MATDENSE, MATNEST, MATAIJ, MATBAIJ};
    PetscInt first, last;
    Mat block[4], inner;
    IS half[2];

    PetscFunctionBegin;
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (int k = 0; k < 2; k++) {
        const PetscInt n = (last - first) / 2, start = first + k * n;
        PetscCall(ISCreateStride(PETSC_COMM_WORLD, k ? last - start : n, start, 1, &half[k]));
    }
    for (int k = 0; k < 4; k++) {
        PetscCall(MatCreateSubMatrix(A, half[k / 2], half[k % 2], MAT_INITIAL_MATRIX, &block[k]));
        if (mixed && k == 1) {
            PetscCall(MatCreateNest(PETSC_COMM_WORLD, 1, NULL, 1, NULL, &block[k], &inner));
            PetscCall(MatDestroy(&block[k]));
            block[k] = inner;
        } else if (mixed) {
            PetscCall(MatConvert(block[k], types[k], MAT_INPLACE_MATRIX, &block[k]));
        }
    }
    PetscCall(MatCreateNest(PETSC_COMM_WORLD, 2, half, 2, half, block, out));
    for (int k = 0; k < 4; k++) {
        PetscCall(MatDestroy(&block[k]));
    }
    DESTROY(&half[0], &half[1]);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode multiply(Mat A, Vec x, Vec y)
{
    Mat inner;

    PetscFunctionBegin;
    PetscCall(MatShellGetContext(A, &inner));
    PetscCall(MatMult(inner, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same matrix in another type; a shell borrows it. */
PetscErrorCode convert(Mat A, const char *type, Mat *out)
{
    PetscInt rows, columns;
    Mat T;

    PetscFunctionBegin;
    if (strcmp(type, "nest") == 0 || strcmp(type, "mixed nest") == 0) {
        PetscCall(nest_of(A, type[0] == 'm' ? PETSC_TRUE : PETSC_FALSE, out));
    } else if (strcmp(type, "transpose") == 0) {
        PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
        PetscCall(MatCreateTranspose(T, out));
        PetscCall(MatDestroy(&T));
    } else if (strcmp(type, "shell") == 0) {
        PetscCall(MatGetLocalSize(A, &rows, &columns));
        PetscCall(MatCreateShell(PETSC_COMM_WORLD, rows, columns, PETSC_DETERMINE, PETSC_DETERMINE, A, out));
        PetscCall(MatShellSetOperation(*out, MATOP_MULT, (void (*)(void))multiply));
    } else {
        PetscCall(MatConvert(A, type, MAT_INITIAL_MATRIX, out));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what is true, and what is said ---- */

/* Norms of b - A x and of b in long double; A is AIJ. */
PetscErrorCode true_norms(Mat A, Vec b, Vec x, long double norm[2])
{
    const PetscScalar *vb, *vx, *value;
    const PetscInt *column;
    PetscInt first, last, n;
    VecScatter scatter;
    Vec all;

    PetscFunctionBegin;
    PetscCall(VecScatterCreateToAll(x, &scatter, &all));
    PetscCall(VecScatterBegin(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecGetArrayRead(b, &vb));
    PetscCall(VecGetArrayRead(all, &vx));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    norm[0] = norm[1] = 0;
    for (PetscInt i = first; i < last; i++) {
        long double r = vb[i - first];
        PetscCall(MatGetRow(A, i, &n, &column, &value));
        for (PetscInt k = 0; k < n; k++) {
            r -= (long double)value[k] * vx[column[k]];
        }
        PetscCall(MatRestoreRow(A, i, &n, &column, &value));
        norm[0] += r * r;
        norm[1] += (long double)vb[i - first] * vb[i - first];
    }
    PetscCall(VecRestoreArrayRead(all, &vx));
    PetscCall(VecRestoreArrayRead(b, &vb));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, norm, 2, MPI_LONG_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
    norm[0] = sqrtl(norm[0]);
    norm[1] = sqrtl(norm[1]);
    DESTROY(&scatter, &all);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether -ksp_view has these words, on all processes. */
PetscErrorCode view_says(KSP ksp, const char *words, PetscBool *out)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const file = open_memstream(&text, &size);
    PetscViewer viewer;
    int found;

    PetscFunctionBegin;
    CHECK(file, "no memory for a view");
    PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, file, &viewer));
    PetscCall(KSPView(ksp, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    (void)fclose(file);
    found = strstr(text, words) != NULL;
    PetscCallMPI(MPI_Bcast(&found, 1, MPI_INT, 0, PETSC_COMM_WORLD)); /* the first process has the text */
    free(text);
    *out = found ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode need_words(KSP ksp, const char *words, const char *what)
{
    PetscBool said;

    PetscFunctionBegin;
    PetscCall(view_says(ksp, words, &said));
    CHECK(said, "%s: -ksp_view does not say \"%s\"", what, words);
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode make(const char *solver, double rtol, double atol, KSP *ksp)
{
    PetscFunctionBegin;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
    PetscCall(KSPSetOptionsPrefix(*ksp, "n_"));
    PetscCall(option("-n_pc_type", "none"));
    PetscCall(option("-n_ksp_tessera_solver", solver));
    PetscCall(KSPSetType(*ksp, KSPTESSERA));
    PetscCall(KSPSetTolerances(*ksp, rtol, atol, PETSC_DEFAULT, 300));
    PetscCall(KSPSetFromOptions(*ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode reason_of(KSP ksp, Mat A, Vec b, Vec x, KSPConvergedReason *reason)
{
    PetscFunctionBegin;
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, reason));
    PetscFunctionReturn(PETSC_SUCCESS);
}
