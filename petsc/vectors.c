/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of PETSc as vectors of the library: in place where both have them in one memory, else by a copy. */
#include "vectors.h"

#include "context.h"
#include "errors.h"

#include <tessera/precision.h>

/* Whether the context reads an array of that memory in place. */
static PetscErrorCode in_place(PetscMemType where, PetscBool *out)
{
    tess_context *ctx;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    *out = (tess_context_device(ctx) == TESS_DEVICE_CPU) == PetscMemTypeHost(where) ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_vector_begin(PetscInt n, const PetscScalar *array, PetscMemType where, tp_access access,
                               tess_vector **out)
{
    tess_context *ctx;
    PetscBool same = PETSC_FALSE;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    PetscCall(in_place(where, &same));
    if (same) {
        TessCall(tess_vector_wrap(ctx, n, TESS_PRECISION_FP64, (void *)(uintptr_t)array, out));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCheck(PetscMemTypeHost(where), PETSC_COMM_SELF, PETSC_ERR_SUP, "an array of a GPU, and a context on the host");
    TessCall(tess_vector_create(ctx, n, TESS_PRECISION_FP64, out));
    if (access != TP_WRITE) { TessCall(tess_vector_set(*out, array, TESS_PRECISION_FP64, TESS_MEMORY_HOST)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_vector_end(tess_vector **v, PetscScalar *array, tp_access access)
{
    tess_status status = TESS_SUCCESS;

    PetscFunctionBegin;
    if (access != TP_READ && tess_vector_data_const(*v) != array) {
        status = tess_vector_get(*v, array, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
    }
    tess_vector_destroy(*v);
    *v = NULL;
    TessCall(status);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the GPU the array is where PETSc has it last; a context on the host takes it to the host. */
static PetscErrorCode take_array(Vec vec, tp_view *view)
{
    const PetscScalar *read = NULL;

    PetscFunctionBegin;
    view->where = PETSC_MEMTYPE_HOST;
    if (view->access == TP_READ && view->shared) {
        PetscCall(VecGetArrayReadAndMemType(vec, &read, &view->where));
    } else if (view->access == TP_READ) {
        PetscCall(VecGetArrayRead(vec, &read));
    } else if (view->access == TP_WRITE && view->shared) {
        PetscCall(VecGetArrayWriteAndMemType(vec, &view->array, &view->where));
    } else if (view->access == TP_WRITE) {
        PetscCall(VecGetArrayWrite(vec, &view->array));
    } else if (view->shared) {
        PetscCall(VecGetArrayAndMemType(vec, &view->array, &view->where));
    } else {
        PetscCall(VecGetArray(vec, &view->array));
    }
    if (read) { view->array = (PetscScalar *)(uintptr_t)read; }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode give_array(Vec vec, tp_view *view)
{
    const PetscScalar *read = view->array;

    PetscFunctionBegin;
    if (view->access == TP_READ && view->shared) {
        PetscCall(VecRestoreArrayReadAndMemType(vec, &read));
    } else if (view->access == TP_READ) {
        PetscCall(VecRestoreArrayRead(vec, &read));
    } else if (view->access == TP_WRITE && view->shared) {
        PetscCall(VecRestoreArrayWriteAndMemType(vec, &view->array));
    } else if (view->access == TP_WRITE) {
        PetscCall(VecRestoreArrayWrite(vec, &view->array));
    } else if (view->shared) {
        PetscCall(VecRestoreArrayAndMemType(vec, &view->array));
    } else {
        PetscCall(VecRestoreArray(vec, &view->array));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_view_begin(Vec vec, tp_access access, tp_view *view)
{
    PetscInt n;

    PetscFunctionBegin;
    *view = (tp_view){.access = access};
    PetscCall(tp_shares_gpu(&view->shared));
    PetscCall(VecGetLocalSize(vec, &n));
    PetscCall(take_array(vec, view));
    PetscCall(tp_vector_begin(n, view->array, view->where, access, &view->v));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_view_end(Vec vec, tp_view *view)
{
    PetscFunctionBegin;
    PetscCall(tp_vector_end(&view->v, view->array, view->access));
    PetscCall(give_array(vec, view));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_vec_create(PetscInt n, Vec *out)
{
    PetscBool gpu;

    PetscFunctionBegin;
    PetscCall(tp_shares_gpu(&gpu));
#if TP_HAVE_CUDA
    if (gpu) {
        PetscCall(VecCreateSeqCUDAWithArray(PETSC_COMM_SELF, 1, n, NULL, out));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
#endif
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, NULL, out));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_vec_place(Vec vec, const double *array)
{
    PetscBool gpu;

    PetscFunctionBegin;
    PetscCall(tp_shares_gpu(&gpu));
#if TP_HAVE_CUDA
    if (gpu) {
        PetscCall(VecCUDAPlaceArray(vec, array));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
#endif
    PetscCall(VecPlaceArray(vec, array));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_vec_reset(Vec vec)
{
    PetscBool gpu;

    PetscFunctionBegin;
    PetscCall(tp_shares_gpu(&gpu));
#if TP_HAVE_CUDA
    if (gpu) {
        PetscCall(VecCUDAResetArray(vec));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
#endif
    PetscCall(VecResetArray(vec));
    PetscFunctionReturn(PETSC_SUCCESS);
}
