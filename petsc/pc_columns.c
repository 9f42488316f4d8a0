/* SPDX-License-Identifier: Apache-2.0 */
/* PCMatApply: z := M^-1 r for the columns of dense matrices, which the library reads the preconditioner once for. */
#include "errors.h"
#include "pc.h"

#include <string.h>
#include <tessera/precond.h>

/* The rows of this process of all columns: dense matrices keep them together. */
static PetscErrorCode apply_columns(const tp_pc *p, Mat R, Mat Z)
{
    PetscInt rows, columns, of_r, of_z;
    const PetscScalar *r;
    PetscScalar *z;
    tess_status status;

    PetscFunctionBegin;
    PetscCall(MatGetLocalSize(R, &rows, NULL));
    PetscCall(MatGetSize(R, NULL, &columns));
    PetscCall(MatDenseGetLDA(R, &of_r));
    PetscCall(MatDenseGetLDA(Z, &of_z));
    PetscCall(MatDenseGetArrayRead(R, &r));
    PetscCall(MatDenseGetArrayWrite(Z, &z));
    const tess_columns from = {rows, columns, 1, of_r, (double *)(uintptr_t)r, TESS_MEMORY_HOST};
    const tess_columns to = {rows, columns, 1, of_z, z, TESS_MEMORY_HOST};
    status = tess_precond_apply_columns(p->precond, &from, &to);
    PetscCall(MatDenseRestoreArrayWrite(Z, &z));
    PetscCall(MatDenseRestoreArrayRead(R, &r));
    TessCall(status);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode apply_one_by_one(PC pc, Mat R, Mat Z)
{
    PetscInt columns;
    Vec r, z;

    PetscFunctionBegin;
    PetscCall(MatGetSize(R, NULL, &columns));
    for (PetscInt c = 0; c < columns; c++) {
        PetscCall(MatDenseGetColumnVecRead(R, c, &r));
        PetscCall(MatDenseGetColumnVecWrite(Z, c, &z));
        PetscCall((*pc->ops->apply)(pc, r, z));
        PetscCall(MatDenseRestoreColumnVecWrite(Z, c, &z));
        PetscCall(MatDenseRestoreColumnVecRead(R, c, &r));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A failure, gamg, and arrays of a GPU go column by column, as PETSc's own PCMatApply does. */
PetscErrorCode tp_pc_mat_apply(PC pc, Mat R, Mat Z)
{
    tp_pc *const p = pc->data;
    PetscErrorCode code = PETSC_SUCCESS;
    PetscBool of_r, of_z;
    PetscMPIInt ranks;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &ranks));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)R, &of_r, MATSEQDENSE, MATMPIDENSE, ""));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)Z, &of_z, MATSEQDENSE, MATMPIDENSE, ""));
    if (strcmp(p->kind, "gamg") == 0 || pc->failedreason || !p->precond || !of_r || !of_z) {
        PetscCall(apply_one_by_one(pc, R, Z));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    code = apply_columns(p, R, Z);
    if (ranks == 1) { PetscCall(code); }
    if (code) {
        pc->failedreason = PC_SUBPC_ERROR;
        PetscCall(apply_one_by_one(pc, R, Z)); /* which marks them */
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}
