/* SPDX-License-Identifier: Apache-2.0 */
/* Page-locked memory by PETSc's allocator. */
#include "pinned.h"

#include "context.h"
#include "errors.h"

PetscErrorCode tp_pinned_allocate(PetscBool pinned, size_t bytes, void **out)
{
    PetscErrorCode code;

    PetscFunctionBegin;
    *out = NULL;
    if (bytes == 0) { PetscFunctionReturn(PETSC_SUCCESS); }
    (void)pinned;
#if TP_HAVE_CUDA
    if (pinned) { PetscCall(PetscMallocSetCUDAHost()); }
#endif
    code = PetscMalloc(bytes, out);
#if TP_HAVE_CUDA
    if (pinned) { PetscCall(PetscMallocResetCUDAHost()); }
#endif
    PetscCall(code);
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_pinned_free(PetscBool pinned, void **memory)
{
    PetscErrorCode code;
    tess_context *ctx;

    PetscFunctionBegin;
    if (!*memory) { PetscFunctionReturn(PETSC_SUCCESS); }
    if (pinned) {
        PetscCall(tp_context(&ctx));
        TessCall(tess_context_synchronize(ctx));
    }
#if TP_HAVE_CUDA
    if (pinned) { PetscCall(PetscMallocSetCUDAHost()); }
#endif
    code = PetscFree(*memory);
#if TP_HAVE_CUDA
    if (pinned) { PetscCall(PetscMallocResetCUDAHost()); }
#endif
    PetscCall(code);
    PetscFunctionReturn(PETSC_SUCCESS);
}
