/* SPDX-License-Identifier: Apache-2.0 */
/* Diagonals of a hierarchy, and their sign. */
#include "diagonal.h"

#include "versions.h"

/* 0 where processes differ, as they may after a reduction of NaNs. */
static PetscErrorCode agree_on_sign(MPI_Comm comm, int *sign)
{
    int least[2] = {*sign, -*sign};

    PetscFunctionBegin;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, least, 2, MPI_INT, MPI_MIN, comm));
    if (least[0] != -least[1]) { *sign = 0; }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_signed_diagonal(Mat A, Vec d, int *sign)
{
    PetscReal least, most, zero;
    PetscScalar *value;
    PetscInt n, all;

    PetscFunctionBegin;
    PetscCall(MatGetDiagonal(A, d));
    PetscCall(VecMin(d, NULL, &least));
    PetscCall(VecMax(d, NULL, &most));
    PetscCall(VecGetSize(d, &all));
    zero = (PetscReal)all * (PETSC_MACHINE_EPSILON / 2) * PetscMax(most, -least); /* what roundings make of zero */
    *sign = least >= -zero ? 1 : most <= zero ? -1 : 0;
    PetscCall(agree_on_sign(PetscObjectComm((PetscObject)A), sign));
    if (least > 0 || most < 0 || *sign == 0) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(VecGetLocalSize(d, &n));
    PetscCall(VecGetArray(d, &value));
    for (PetscInt k = 0; k < n; k++) {
        if (*sign * value[k] <= 0) { value[k] = *sign; }
    }
    PetscCall(VecRestoreArray(d, &value));
    PetscFunctionReturn(PETSC_SUCCESS);
}
