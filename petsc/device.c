/* SPDX-License-Identifier: Apache-2.0 */
/* On which device the context computes: where PETSc has its vectors. */
#include "device.h"
#include "plugin.h"

#include <string.h>

#if TP_HAVE_CUDA
#include <petscdevice.h>
/* cudaStreamLegacy: the default stream by a handle, for NULL would mean a stream of the library's own. */
static const uintptr_t LEGACY_STREAM = 1;

/* PETSc's GPU of this process and the stream on which it works there; without one nothing is set. PETSc takes the
   number of the process modulo the GPUs that it sees, or -device_select_cuda. */
static PetscErrorCode take_gpu_of_petsc(tess_context_options *options)
{
    PetscDeviceContext work;
    PetscDeviceType type;
    PetscDevice device;
    PetscErrorCode code;
    PetscInt index;
    void *handle;

    PetscFunctionBegin;
    if (PETSC_DEVICE_DEFAULT() != PETSC_DEVICE_CUDA) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    code = PetscDeviceInitialize(PETSC_DEVICE_CUDA);
    PetscCall(PetscPopErrorHandler());
    if (code) { PetscFunctionReturn(PETSC_SUCCESS); } /* the machine has none */
    PetscCall(PetscDeviceContextGetCurrentContext(&work));
    PetscCall(PetscDeviceContextGetDeviceType(work, &type));
    if (type != PETSC_DEVICE_CUDA) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscDeviceContextGetDevice(work, &device));
    PetscCall(PetscDeviceGetDeviceId(device, &index));
    PetscCall(PetscDeviceContextGetStreamHandle(work, &handle));
    options->device_index = (int)index;
    options->stream = *(void **)handle ? *(void **)handle : (void *)LEGACY_STREAM;
    PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode tp_choose_device(int process, tess_context_options *options)
{
    char name[32];
    PetscBool set;

    PetscFunctionBegin;
    options->device = TP_HAVE_CUDA ? TESS_DEVICE_AUTO : TESS_DEVICE_CPU;
    PetscCall(PetscOptionsGetString(NULL, NULL, "-tessera_device", name, sizeof name, &set));
    PetscCheck(!set || tess_device_parse(name, &options->device) == TESS_SUCCESS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_UNKNOWN_TYPE, "-tessera_device %s: give auto, cpu or gpu", name);
#if TP_HAVE_CUDA
    if (options->device != TESS_DEVICE_CPU && strcmp(tess_gpu_backend(), "cuda") == 0) {
        PetscCall(take_gpu_of_petsc(options));
    }
#endif
    if (options->device == TESS_DEVICE_AUTO && !options->stream) { options->device = TESS_DEVICE_CPU; }
    if (options->device == TESS_DEVICE_GPU && !options->stream) {
        options->device_index = tp_gpu_of(process, tess_gpu_count()); /* PETSc has none */
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- who else has it ---- */

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
