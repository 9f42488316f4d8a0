/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a level: FP32 vectors, values and messages in FP32 or FP16. */
#include "level.h"

#include "mat.h"

PetscErrorCode tp_scaled_copy(Mat A, Vec left, Vec right, Mat *out)
{
    PetscFunctionBegin;
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, out));
    PetscCall(MatDiagonalScale(*out, left, right));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values are near 1, for the level is scaled: what falls below FP16's range is far below the rounding of others. */
static void storage_of_level(tess_precision precision, tess_storage_options *options)
{
    tess_storage_options_init(options);
    options->format = TESS_FORMAT_CSR;
    options->precision = precision;
}

PetscErrorCode tp_level_matrix_create(Mat scaled, tess_precision precision, tess_precision halo, tp_level_matrix *out)
{
    tess_storage_options options;
    Mat block[2] = {scaled, NULL};
    tess_context *ctx;
    PetscBool mpi;

    PetscFunctionBegin;
    out->scaled = scaled;
    storage_of_level(precision, &options);
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)scaled, MATMPIAIJ, &mpi));
    if (mpi) {
        PetscCall(tp_context(&ctx));
        PetscCall(MatMPIAIJGetSeqAIJ(scaled, &block[0], &block[1], NULL));
        PetscCall(tp_halo_create(scaled, halo, &out->halo));
        TessCall(tess_vector_create(ctx, out->halo->nghosts, TESS_PRECISION_FP32, &out->ghosts));
    }
    for (int k = 0; k < 2 && block[k]; k++) {
        tp_rows rows;
        PetscCall(tp_rows_get(block[k], &rows));
        PetscCall(tp_copy_build(&rows, &options, &out->block[k]));
        PetscCall(tp_rows_restore(block[k], &rows));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_level_product(tp_level_matrix *m, double alpha, const tess_vector *x, tess_vector *y, PetscBool add)
{
    PetscFunctionBegin;
    if (m->halo) { PetscCall(tp_halo_begin_vector(m->halo, x)); }
    PetscCall(tp_copy_product(&m->block[0], alpha, x, y, add));
    if (m->halo) {
        PetscCall(tp_halo_end_vector(m->halo, m->ghosts));
        PetscCall(tp_copy_product(&m->block[1], alpha, m->ghosts, y, PETSC_TRUE));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_level_matrix_destroy(tp_level_matrix *m)
{
    PetscFunctionBegin;
    tp_copy_free(&m->block[0]);
    tp_copy_free(&m->block[1]);
    tess_vector_destroy(m->ghosts);
    m->ghosts = NULL;
    PetscCall(tp_halo_destroy(&m->halo));
    PetscCall(MatDestroy(&m->scaled));
    PetscFunctionReturn(PETSC_SUCCESS);
}
