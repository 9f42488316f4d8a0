/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix of PETSc's plain type AIJ around the arrays of one that derives from it: values are not copied. */
#include "alias.h"

#include "mat.h"
#include "rows.h"
#include "versions.h"

static PetscErrorCode blocks_of(Mat A, Mat block[2])
{
    PetscBool mpi;

    PetscFunctionBegin;
    block[0] = A;
    block[1] = NULL;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
    if (mpi) { PetscCall(MatMPIAIJGetSeqAIJ(A, &block[0], &block[1], NULL)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the same arrays ---- */

/* PETSc's functions take arrays that they may write. It writes none of these, but the columns of the off-diagonal
   block: those are a copy. */
static void *writable(const void *array)
{
    return (void *)(uintptr_t)array;
}

static PetscErrorCode read_arrays(Mat A, tp_rows rows[2])
{
    Mat block[2];

    PetscFunctionBegin;
    PetscCall(blocks_of(A, block));
    for (int k = 0; k < 2 && block[k]; k++) {
        tp_rows now;
        PetscCall(tp_rows_get(block[k], &now));
        rows[k] = now;
        PetscCall(tp_rows_restore(block[k], &now));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc wants global numbers, and makes local ones of them in place. */
static PetscErrorCode copy_columns(Mat A, const tp_rows *off, PetscInt **columns)
{
    const PetscInt nnz = off->nrows > 0 ? off->i[off->nrows] : 0;
    const PetscInt *global;

    PetscFunctionBegin;
    PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, NULL, &global));
    PetscCall(PetscMalloc1(nnz, columns));
    for (PetscInt k = 0; k < nnz; k++) {
        (*columns)[k] = global[off->j[k]];
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode wrap(Mat A, tp_alias *alias)
{
    const tp_rows *const own = &alias->rows[0], *const off = &alias->rows[1];
    const MPI_Comm comm = PetscObjectComm((PetscObject)A);
    PetscInt all[2], local;
    Mat block[2];

    PetscFunctionBegin;
    PetscCall(blocks_of(A, block));
    if (!block[1]) {
        PetscCall(MatCreateSeqAIJWithArrays(comm, own->nrows, own->ncols, writable(own->i), writable(own->j),
                                            writable(own->a), &alias->mat));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(MatGetSize(A, &all[0], &all[1]));
    PetscCall(MatGetLocalSize(A, NULL, &local));
    PetscCall(copy_columns(A, off, &alias->columns));
    PetscCall(MatCreateMPIAIJWithSplitArrays(comm, own->nrows, local, all[0], all[1], writable(own->i),
                                             writable(own->j), writable(own->a), writable(off->i), alias->columns,
                                             writable(off->a), &alias->mat));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Block sizes and what is known of symmetry. */
static PetscErrorCode carry_properties(Mat A, Mat to)
{
    Mat from[3] = {A}, into[3] = {to};

    PetscFunctionBegin;
    PetscCall(blocks_of(A, &from[1]));
    PetscCall(blocks_of(to, &into[1]));
    for (int k = 0; k < 3 && from[k]; k++) {
        PetscInt rows, columns;
        PetscCall(MatGetBlockSizes(from[k], &rows, &columns));
        PetscCall(MatSetBlockSizes(into[k], rows, columns));
    }
    PetscCall(MatPropagateSymmetryOptions(A, to));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- their values have changed ---- */

static PetscErrorCode is_around(Mat A, const tp_alias *alias, const tp_rows rows[2], PetscBool *out)
{
    PetscObjectId id;
    PetscObjectState pattern;
    int same = alias->mat != NULL;

    PetscFunctionBegin;
    PetscCall(PetscObjectGetId((PetscObject)A, &id));
    PetscCall(MatGetNonzeroState(A, &pattern));
    same = same && id == alias->id && pattern == alias->pattern;
    for (int k = 0; k < 2; k++) {
        const tp_rows *const was = &alias->rows[k];
        same = same && rows[k].i == was->i && rows[k].j == was->j && rows[k].a == was->a;
    }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
    *out = same ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_alias_renew(Mat A, MatType type, tp_alias *alias)
{
    tp_rows rows[2] = {{0}, {0}};
    PetscBool same = PETSC_FALSE;

    PetscFunctionBegin;
    PetscCall(read_arrays(A, rows));
    PetscCall(is_around(A, alias, rows, &same));
    if (same) {
        PetscCall(tp_values_changed(alias->mat));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(tp_alias_destroy(alias));
    alias->rows[0] = rows[0];
    alias->rows[1] = rows[1];
    PetscCall(PetscObjectGetId((PetscObject)A, &alias->id));
    PetscCall(MatGetNonzeroState(A, &alias->pattern));
    PetscCall(wrap(A, alias));
    PetscCall(carry_properties(A, alias->mat));
    PetscCall(MatConvert(alias->mat, type, MAT_INPLACE_MATRIX, &alias->mat));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_alias_destroy(tp_alias *alias)
{
    PetscFunctionBegin;
    PetscCall(MatDestroy(&alias->mat));
    PetscCall(PetscFree(alias->columns));
    PetscFunctionReturn(PETSC_SUCCESS);
}
