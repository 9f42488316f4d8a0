/* SPDX-License-Identifier: Apache-2.0 */
/* A small coarsest level as the inverse of its matrix, which is then applied where all else is. */
#include "inverse.h"

#include "copy.h"
#include "errors.h"
#include "level.h"
#include "rows.h"

#include <tessera/precision.h>

/* The inverse has as many numbers as a level of some thousand rows. */
enum { MOST_ROWS = 256 };

/* sign * diag(d) A diag(d), full, with 1 on the diagonal of rows of zeros, or of roundings of them. */
static PetscErrorCode scale(Mat local, int sign, Vec d, Mat *scaled)
{
    tp_rows rows;
    const PetscScalar *by;
    PetscScalar *a;
    PetscReal zero;

    PetscFunctionBegin;
    PetscCall(tp_rows_get(local, &rows));
    zero = (PetscReal)rows.nrows * (PETSC_MACHINE_EPSILON / 2); /* of an entry beside a diagonal of ones */
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, rows.nrows, rows.nrows, NULL, scaled));
    PetscCall(VecGetArrayRead(d, &by));
    PetscCall(MatDenseGetArrayWrite(*scaled, &a));
    PetscCall(PetscArrayzero(a, (size_t)rows.nrows * (size_t)rows.nrows));
    for (PetscInt r = 0; r < rows.nrows; r++) {
        PetscBool zeros = PETSC_TRUE;
        for (PetscInt k = rows.i[r]; k < rows.i[r + 1]; k++) {
            const PetscScalar value = sign * by[r] * rows.a[k] * by[rows.j[k]];
            a[r + rows.j[k] * rows.nrows] = value;
            if (PetscAbsScalar(value) > zero) { zeros = PETSC_FALSE; }
        }
        if (zeros) { a[r + r * rows.nrows] = 1; }
    }
    PetscCall(MatDenseRestoreArrayWrite(*scaled, &a));
    PetscCall(MatAssemblyBegin(*scaled, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*scaled, MAT_FINAL_ASSEMBLY));
    PetscCall(VecRestoreArrayRead(d, &by));
    PetscCall(tp_rows_restore(local, &rows));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode invert(Mat factor, PetscInt n, Mat *inverse)
{
    Mat unit;

    PetscFunctionBegin;
    PetscCall(MatLUFactor(factor, NULL, NULL, NULL));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, n, NULL, &unit));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, n, NULL, inverse));
    PetscCall(MatShift(unit, 1));
    PetscCall(MatAssemblyBegin(*inverse, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*inverse, MAT_FINAL_ASSEMBLY));
    PetscCall(MatMatSolve(factor, unit, *inverse));
    PetscCall(MatDestroy(&unit));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Full rows, which belong to the copy. */
static PetscErrorCode store_inverse(Mat inverse, PetscInt n, tp_copy *out)
{
    PetscInt *i, *j;
    PetscScalar *a;
    const PetscScalar *column;
    tess_storage_options options;
    tp_rows rows;

    PetscFunctionBegin;
    PetscCall(PetscMalloc1(n + 1, &i));
    PetscCall(PetscMalloc1((size_t)n * (size_t)n, &j));
    PetscCall(PetscMalloc1((size_t)n * (size_t)n, &a));
    PetscCall(MatDenseGetArrayRead(inverse, &column));
    for (PetscInt r = 0; r <= n; r++) {
        i[r] = r * n;
    }
    for (PetscInt k = 0; k < n * n; k++) {
        j[k] = k % n;
        a[k] = column[k / n + k % n * n];
    }
    PetscCall(MatDenseRestoreArrayRead(inverse, &column));
    rows = (tp_rows){.nrows = n, .ncols = n, .i = i, .j = j, .a = a};
    tess_storage_options_init(&options);
    options.precision = TESS_PRECISION_FP32;
    PetscCall(tp_copy_build(&rows, &options, out));
    out->owned[0] = i;
    out->owned[1] = j;
    out->owned[2] = a;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the process that has all rows. */
static PetscErrorCode make_inverse(Mat A, int sign, Vec d, PetscInt n, tp_level_matrix *out)
{
    Mat local = A, full, inverse;
    PetscBool mpi;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
    if (mpi) { PetscCall(MatMPIAIJGetSeqAIJ(A, &local, NULL, NULL)); }
    PetscCall(scale(local, sign, d, &full));
    PetscCall(invert(full, n, &inverse));
    PetscCall(MatDestroy(&full));
    PetscCall(store_inverse(inverse, n, &out->block[0]));
    PetscCall(MatDestroy(&inverse));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_dense_inverse(Mat A, int sign, Vec d, tp_level_matrix *out, PetscBool *done)
{
    PetscErrorCode code = PETSC_SUCCESS;
    PetscInt all, own;
    int here;

    PetscFunctionBegin;
    PetscCall(MatGetSize(A, &all, NULL));
    PetscCall(MatGetLocalSize(A, &own, NULL));
    here = all <= MOST_ROWS && (own == all || own == 0);
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &here, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
    *done = here ? PETSC_TRUE : PETSC_FALSE;
    if (*done && own > 0) { code = make_inverse(A, sign, d, own, out); }
    PetscCall(tp_agree(PetscObjectComm((PetscObject)A), code));
    PetscFunctionReturn(PETSC_SUCCESS);
}
