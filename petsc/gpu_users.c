/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes of a machine share its GPUs. */
#include "gpu_users.h"

#include "context.h"
#include "versions.h"

PetscErrorCode tp_gpu_users(MPI_Comm comm, PetscMPIInt *users, PetscMPIInt *first)
{
    PetscMPIInt ranks, rank;
    PetscBool shares;
    tp_gpu_user *all, own = {.gpu = "", .rank = 0};
    tess_context *ctx;
    MPI_Comm node;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    PetscCall(tp_shares_gpu(&shares));
    PetscCallMPI(MPI_Comm_rank(comm, &own.rank));
    if (shares) { PetscCall(PetscStrncpy(own.gpu, tess_context_gpu_id(ctx), sizeof own.gpu)); }
    PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    PetscCallMPI(MPI_Comm_size(node, &ranks));
    PetscCallMPI(MPI_Comm_rank(node, &rank));
    PetscCall(PetscMalloc1(ranks, &all));
    PetscCallMPI(MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, node));
    *users = tp_count_users(all, ranks, rank);
    *first = all[tp_first_user(all, ranks, rank)].rank;
    PetscCall(PetscFree(all));
    PetscCallMPI(MPI_Comm_free(&node));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_has_own_gpu(MPI_Comm comm, PetscBool *out)
{
    PetscMPIInt users, first;
    int alone;

    PetscFunctionBegin;
    PetscCall(tp_gpu_users(comm, &users, &first));
    alone = users == 1;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &alone, 1, MPI_INT, MPI_MIN, comm));
    *out = alone ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
}
