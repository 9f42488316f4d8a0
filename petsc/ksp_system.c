/* SPDX-License-Identifier: Apache-2.0 */
/* What a KSP solves with: its matrix or the transpose, its preconditioner, and whether the library takes the whole. */
#include "ksp.h"

#include "errors.h"

/* Made anew when the matrix has changed. The true residual needs its rows; a type without rows gets a view. */
static PetscErrorCode renew_transpose(tp_ksp *k, Mat A)
{
    PetscObjectState state;
    PetscBool aij;

    PetscFunctionBegin;
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    if (k->transpose && k->transposed == A && k->transposed_state == state) { PetscFunctionReturn(PETSC_SUCCESS); }
    k->system = 0;
    PetscCall(MatDestroy(&k->transpose));
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
    if (aij) {
        PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &k->transpose));
        PetscCall(MatConvert(k->transpose, MATAIJ, MAT_INPLACE_MATRIX, &k->transpose));
    } else {
        PetscCall(MatCreateTranspose(A, &k->transpose));
    }
    PetscCall(PetscObjectReference((PetscObject)A));
    PetscCall(MatDestroy(&k->transposed));
    k->transposed = A;
    k->transposed_state = state;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_system(KSP ksp, Mat *out)
{
    tp_ksp *const k = ksp->data;

    PetscFunctionBegin;
    PetscCall(KSPGetOperators(ksp, out, NULL));
    if (!ksp->transpose_solve) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(renew_transpose(k, *out));
    *out = k->transpose;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* These are not, whatever the matrix is, unless their options make them so. */
PetscErrorCode tp_pc_may_be_symmetric(PC pc, PetscBool *out)
{
    PetscBool other;

    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompareAny((PetscObject)pc, &other, PCFIELDSPLIT, PCASM, PCGASM, PCKSP, PCCOMPOSITE,
                                        PCSHELL, ""));
    *out = other ? PETSC_FALSE : PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A preconditioner of PETSc may have blocks of single processes, which fail alone: before PETSc sets it up, and after
   it has new values, this does, and agrees on errors. */
PetscErrorCode tp_set_up_pc(KSP ksp)
{
    const MPI_Comm comm = PetscObjectComm((PetscObject)ksp);

    PetscFunctionBegin;
    PetscCall(PCSetErrorIfFailure(ksp->pc, ksp->errorifnotconverged));
    PetscCall(tp_agree(comm, PCSetUp(ksp->pc)));
    PetscCall(tp_agree(comm, PCSetUpOnBlocks(ksp->pc)));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_is_one(KSP ksp, PetscBool *out)
{
    Mat A;
    MatNullSpace space;
    PetscMPIInt ranks;
    PetscBool aij;

    PetscFunctionBegin;
    PetscCall(KSPGetOperators(ksp, &A, NULL));
    PetscCall((ksp->transpose_solve ? MatGetTransposeNullSpace : MatGetNullSpace)(A, &space));
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &ranks));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &aij));
    *out = ranks == 1 && aij && !space ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
}
