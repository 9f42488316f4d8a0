/* SPDX-License-Identifier: Apache-2.0 */
/* KSPMatSolve: right-hand sides whose iterations the library may run together. */
#include "errors.h"
#include "ksp.h"

#include <tessera/columns.h>

/* Columns on the host, of one process whose solves the library takes and nobody watches. */
static PetscErrorCode takes_columns(KSP ksp, Mat B, Mat X, PetscBool *out)
{
    PetscBool one, b, x;
    PCFailedReason reason;

    PetscFunctionBegin;
    PetscCall(tp_is_one(ksp, &one));
    PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSEQDENSE, &b));
    PetscCall(PetscObjectTypeCompare((PetscObject)X, MATSEQDENSE, &x));
    PetscCall(PCGetFailedReason(ksp->pc, &reason));
    *out = one && b && x && reason == PC_NOERROR && !tp_is_watched(ksp) ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_together(KSP ksp, Mat B, Mat X)
{
    PetscInt n, m, columns, of_b, of_x;
    const PetscScalar *b;
    PetscScalar *x;
    PetscErrorCode code;

    PetscFunctionBegin;
    if (ksp->guess_zero) { PetscCall(MatZeroEntries(X)); }
    PetscCall(MatGetSize(B, &n, &columns));
    PetscCall(MatGetSize(X, &m, NULL));
    PetscCall(MatDenseGetLDA(B, &of_b));
    PetscCall(MatDenseGetLDA(X, &of_x));
    PetscCall(MatDenseGetArrayRead(B, &b));
    PetscCall(MatDenseGetArray(X, &x));
    const tess_columns right = {n, columns, 1, of_b, (double *)(uintptr_t)b, TESS_MEMORY_HOST};
    const tess_columns solution = {m, columns, 1, of_x, x, TESS_MEMORY_HOST};
    code = tp_solve_many(ksp, &right, &solution);
    PetscCall(MatDenseRestoreArray(X, &x));
    PetscCall(MatDenseRestoreArrayRead(B, &b));
    PetscCall(code);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* As KSPMatSolve does for methods without it; the reason is that of a column that has failed, if one has. */
static PetscErrorCode solve_one_by_one(KSP ksp, Mat B, Mat X)
{
    KSPConvergedReason worst = KSP_CONVERGED_ITERATING;
    PetscInt columns, most = 0;
    Vec b, x;

    PetscFunctionBegin;
    PetscCall(MatGetSize(B, NULL, &columns));
    for (PetscInt c = 0; c < columns; c++) {
        PetscCall(MatDenseGetColumnVecRead(B, c, &b));
        PetscCall(MatDenseGetColumnVec(X, c, &x));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(MatDenseRestoreColumnVec(X, c, &x));
        PetscCall(MatDenseRestoreColumnVecRead(B, c, &b));
        if (worst >= 0) { worst = ksp->reason; }
        most = PetscMax(most, ksp->its);
    }
    ksp->reason = worst;
    ksp->its = most;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_mat_solve(KSP ksp, Mat B, Mat X)
{
    PetscBool together = PETSC_FALSE;

    PetscFunctionBegin;
    PetscCall(tp_set_up_pc(ksp));
    PetscCall(takes_columns(ksp, B, X, &together));
    PetscCall((together ? solve_together : solve_one_by_one)(ksp, B, X));
    PetscFunctionReturn(PETSC_SUCCESS);
}
