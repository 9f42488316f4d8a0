/* SPDX-License-Identifier: Apache-2.0 */
/* What both types take from AIJ: its functions and its rows. */
#include "mat.h"

void tp_save_functions(Mat A, tp_replaced *saved)
{
    saved->mult = A->ops->mult;
    saved->multadd = A->ops->multadd;
    saved->multtranspose = A->ops->multtranspose;
    saved->multtransposeadd = A->ops->multtransposeadd;
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
    A->ops->assemblyend = saved->assemblyend;
    A->ops->duplicate = saved->duplicate;
    A->ops->destroy = saved->destroy;
    A->ops->view = saved->view;
    A->ops->setfromoptions = saved->setfromoptions;
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
