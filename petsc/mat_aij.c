/* SPDX-License-Identifier: Apache-2.0 */
/* What both types take from AIJ: its functions and its rows. */
#include "mat_types.h"

#include "context.h"
#include "mat.h"

void tp_save_functions(Mat A, tp_replaced *saved)
{
    saved->mult = A->ops->mult;
    saved->multadd = A->ops->multadd;
    saved->multtranspose = A->ops->multtranspose;
    saved->multtransposeadd = A->ops->multtransposeadd;
    saved->getdiagonal = A->ops->getdiagonal;
    saved->assemblyend = A->ops->assemblyend;
    saved->duplicate = A->ops->duplicate;
    saved->destroy = A->ops->destroy;
    saved->view = A->ops->view;
    saved->setfromoptions = A->ops->setfromoptions;
}

void tp_restore_functions(Mat A, const tp_replaced *saved)
{
    A->ops->mult = saved->mult;
    A->ops->multadd = saved->multadd;
    A->ops->multtranspose = saved->multtranspose;
    A->ops->multtransposeadd = saved->multtransposeadd;
    A->ops->getdiagonal = saved->getdiagonal;
    A->ops->assemblyend = saved->assemblyend;
    A->ops->duplicate = saved->duplicate;
    A->ops->destroy = saved->destroy;
    A->ops->view = saved->view;
    A->ops->setfromoptions = saved->setfromoptions;
}

PetscErrorCode tp_set_vectors(Mat A)
{
    PetscFunctionBegin;
#if TP_HAVE_CUDA
    PetscBool gpu;
    PetscCall(tp_shares_gpu(&gpu));
    if (gpu) { PetscCall(MatSetVecType(A, VECCUDA)); }
#else
    (void)A;
#endif
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Asking for the arrays to write tells it, here and on a GPU. */
PetscErrorCode tp_values_changed(Mat A)
{
    Mat block[2] = {A, NULL};
    PetscBool mpi;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
    if (mpi) { PetscCall(MatMPIAIJGetSeqAIJ(A, &block[0], &block[1], NULL)); }
    for (int k = 0; k < 2 && block[k]; k++) {
        PetscScalar *a;
        PetscCall(MatSeqAIJGetArray(block[k], &a));
        PetscCall(MatSeqAIJRestoreArray(block[k], &a));
    }
    PetscCall(PetscObjectStateIncrease((PetscObject)A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc 3.18 copies values and keeps the inverse of the old diagonal, with which SOR goes on. */
PetscErrorCode tp_copy_values(Mat from, Mat to)
{
    PetscFunctionBegin;
    PetscCall(MatCopy(from, to, SAME_NONZERO_PATTERN));
    PetscCall(tp_values_changed(to));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_product_with_maij(Mat product)
{
    static const char *const names[] = {"MatProductSetFromOptions_seqaij_seqmaij_C",
                                        "MatProductSetFromOptions_mpiaij_mpimaij_C"};
    PetscErrorCode (*set)(Mat) = NULL;

    PetscFunctionBegin;
    for (int k = 0; k < 2 && !set; k++) {
        PetscCall(PetscObjectQueryFunction((PetscObject)product->product->B, names[k], &set));
    }
    if (set) { PetscCall((*set)(product)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}
