/* SPDX-License-Identifier: Apache-2.0 */
/* What both types take from AIJ: its functions and its rows. */
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

/* MatSeqAIJGetArrayRead leaves the state of the Mat as it is. */
PetscErrorCode tp_rows_get(Mat A, tp_rows *rows)
{
    PetscBool done;

    PetscFunctionBegin;
    PetscCall(MatGetSize(A, NULL, &rows->ncols));
    PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows->nrows, &rows->i, &rows->j, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "the rows of this matrix cannot be read");
    PetscCall(MatSeqAIJGetArrayRead(A, &rows->a));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_rows_restore(Mat A, tp_rows *rows)
{
    PetscBool done;

    PetscFunctionBegin;
    PetscCall(MatSeqAIJRestoreArrayRead(A, &rows->a));
    PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows->nrows, &rows->i, &rows->j, &done));
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

/* ---- matrices of either type ---- */

static PetscErrorCode compare_types(Mat A, PetscBool *seq, PetscBool *mpi)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQTESSERA, seq));
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPITESSERA, mpi));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool tp_is_ours(Mat A)
{
    PetscBool seq = PETSC_FALSE, mpi = PETSC_FALSE;

    if (compare_types(A, &seq, &mpi)) { return PETSC_FALSE; }
    return seq || mpi ? PETSC_TRUE : PETSC_FALSE;
}

const tp_storage *tp_storage_of(Mat A)
{
    PetscBool seq = PETSC_FALSE, mpi = PETSC_FALSE;

    if (compare_types(A, &seq, &mpi) || !(seq || mpi)) { return NULL; }
    return seq ? &((const tp_seq *)A->spptr)->storage : &((const tp_mpi *)A->spptr)->storage;
}

PetscErrorCode tp_set_storage(Mat A, const tp_storage *storage)
{
    PetscBool seq, mpi;

    PetscFunctionBegin;
    PetscCall(compare_types(A, &seq, &mpi));
    if (seq) { PetscCall(tp_seq_set_storage(A, storage)); }
    if (mpi) { PetscCall(tp_mpi_set_storage(A, storage)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_own_parts(Mat A, Mat part[2])
{
    PetscBool seq, mpi;

    PetscFunctionBegin;
    part[0] = part[1] = NULL;
    PetscCall(compare_types(A, &seq, &mpi));
    if (seq) { part[0] = A; }
    if (mpi && A->preallocated) { PetscCall(MatMPIAIJGetSeqAIJ(A, &part[0], &part[1], NULL)); }
    for (int k = 0; k < 2; k++) {
        if (part[k]) { PetscCall(PetscObjectTypeCompare((PetscObject)part[k], MATSEQTESSERA, &seq)); }
        if (!seq) { part[k] = NULL; }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_stored_bytes(Mat A, double bytes[2])
{
    Mat part[2];

    PetscFunctionBegin;
    PetscCall(tp_own_parts(A, part));
    for (int k = 0; k < 2; k++) {
        if (part[k]) { PetscCall(tp_seq_bytes(part[k], bytes)); }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode prepare_parts(Mat A, PetscBool transposed)
{
    Mat part[2];

    PetscFunctionBegin;
    PetscCall(tp_own_parts(A, part));
    for (int k = 0; k < 2; k++) {
        if (part[k]) { PetscCall(tp_seq_prepare(part[k], transposed)); }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_prepare(Mat A, PetscBool transposed)
{
    PetscFunctionBegin;
    PetscCall(tp_agree(PetscObjectComm((PetscObject)A), prepare_parts(A, transposed)));
    PetscFunctionReturn(PETSC_SUCCESS);
}
