/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of AIJ on the host, read in place. */
#include "rows.h"

#include "context.h"
#include "errors.h"

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

tess_csr_arrays tp_rows_arrays(const tp_rows *rows)
{
    const int bits = (int)(8 * sizeof(PetscInt));

    return (tess_csr_arrays){.size = sizeof(tess_csr_arrays),
                             .nrows = rows->nrows,
                             .ncols = rows->ncols,
                             .nnz = rows->i[rows->nrows],
                             .row_ptr = rows->i,
                             .col_ind = rows->j,
                             .val = rows->a,
                             .row_ptr_bits = bits,
                             .col_ind_bits = bits};
}

PetscErrorCode tp_matrix_create(const tp_rows *rows, tess_matrix **out)
{
    const tess_csr_arrays arrays = tp_rows_arrays(rows);
    tess_context *ctx;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    TessCall(tess_matrix_create_csr(ctx, &arrays, out));
    PetscFunctionReturn(PETSC_SUCCESS);
}
