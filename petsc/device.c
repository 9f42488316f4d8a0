/* SPDX-License-Identifier: Apache-2.0 */
/* On which device the context computes: where PETSc has its vectors. */
#include "device.h"

#include "gpu_users.h"
#include "versions.h"

#include <string.h>
#include <tessera/status.h>

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
