/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a level: FP32 vectors, values and messages in FP32 or FP16. */
#include "level.h"

#include "context.h"
#include "copy.h"
#include "errors.h"
#include "halo.h"
#include "rows.h"

#include <petscsf.h>
#include <tessera/precision.h>

/* Values are near 1, for the level is scaled: what falls below FP16's range is far below the rounding of others. */
static void storage_of_level(tess_precision precision, tess_storage_options *options)
{
    tess_storage_options_init(options);
    options->format = TESS_FORMAT_CSR;
    options->precision = precision;
}

/* Values of x that belong to the columns of the off-diagonal block. */
static PetscErrorCode fetch_ghosts(Mat A, const PetscScalar *x, PetscScalar **ghosts)
{
    const PetscInt *column;
    PetscLayout columns;
    PetscSF sf;
    PetscInt n;
    Mat off;

    PetscFunctionBegin;
    PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &off, &column));
    PetscCall(MatGetSize(off, NULL, &n));
    PetscCall(MatGetLayouts(A, NULL, &columns));
    PetscCall(PetscMalloc1(n, ghosts));
    PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &sf));
    PetscCall(PetscSFSetGraphLayout(sf, columns, n, NULL, PETSC_OWN_POINTER, column));
    PetscCall(PetscSFBcastBegin(sf, MPIU_SCALAR, x, *ghosts, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(sf, MPIU_SCALAR, x, *ghosts, MPI_REPLACE));
    PetscCall(PetscSFDestroy(&sf));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode build(Mat block, double factor, const PetscScalar *left, const PetscScalar *right,
                            const tess_storage_options *options, tp_copy *copy)
{
    tp_rows rows;

    PetscFunctionBegin;
    PetscCall(tp_rows_get(block, &rows));
    PetscCall(tp_copy_build_scaled(&rows, factor, left, right, options, copy));
    PetscCall(tp_rows_restore(block, &rows));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of this process alone. */
static PetscErrorCode build_blocks(const tp_scaled *scaled, const PetscScalar *ghosts, tess_precision precision,
                                   tp_level_matrix *out)
{
    tess_storage_options options;
    const PetscScalar *left, *right;
    Mat block[2] = {scaled->A, NULL};
    tess_context *ctx;

    PetscFunctionBegin;
    storage_of_level(precision, &options);
    PetscCall(VecGetArrayRead(scaled->left, &left));
    PetscCall(VecGetArrayRead(scaled->right, &right));
    if (out->halo) {
        PetscCall(tp_context(&ctx));
        PetscCall(MatMPIAIJGetSeqAIJ(scaled->A, &block[0], &block[1], NULL));
        TessCall(tess_vector_create(ctx, out->halo->nghosts, TESS_PRECISION_FP32, &out->ghosts));
        PetscCall(build(block[1], scaled->factor, left, ghosts, &options, &out->block[1]));
    }
    PetscCall(build(block[0], scaled->factor, left, right, &options, &out->block[0]));
    PetscCall(VecRestoreArrayRead(scaled->right, &right));
    PetscCall(VecRestoreArrayRead(scaled->left, &left));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_level_matrix_create(const tp_scaled *scaled, tess_precision precision, tess_precision halo,
                                      tp_level_matrix *out)
{
    const PetscScalar *right;
    PetscScalar *ghosts = NULL;
    PetscErrorCode code;
    PetscBool mpi;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)scaled->A, MATMPIAIJ, &mpi));
    if (mpi) {
        PetscCall(VecGetArrayRead(scaled->right, &right));
        PetscCall(fetch_ghosts(scaled->A, right, &ghosts));
        PetscCall(VecRestoreArrayRead(scaled->right, &right));
        PetscCall(tp_halo_create(scaled->A, halo, &out->halo));
    }
    code = build_blocks(scaled, ghosts, precision, out);
    PetscCall(PetscFree(ghosts));
    PetscCall(tp_agree(PetscObjectComm((PetscObject)scaled->A), code));
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
    PetscFunctionReturn(PETSC_SUCCESS);
}
