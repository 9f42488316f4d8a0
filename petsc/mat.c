/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of either type. */
#include "mat.h"

#include "errors.h"
#include "mat_types.h"
#include "storage.h"

#include <tessera_petsc.h>

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

static PetscErrorCode set_mpi_storage(Mat A, const tp_storage *storage)
{
    tp_mpi *const m = A->spptr;
    Mat part[2];

    PetscFunctionBegin;
    m->storage = *storage;
    m->widened = storage->halo;
    m->prepared[0] = m->prepared[1] = -1;
    PetscCall(tp_halo_forget(m));
    PetscCall(tp_own_parts(A, part));
    for (int k = 0; k < 2; k++) {
        if (part[k]) { PetscCall(tp_seq_set_storage(part[k], storage)); }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_set_storage(Mat A, const tp_storage *storage)
{
    PetscBool seq, mpi;

    PetscFunctionBegin;
    PetscCall(compare_types(A, &seq, &mpi));
    if (seq) { PetscCall(tp_seq_set_storage(A, storage)); }
    if (mpi) { PetscCall(set_mpi_storage(A, storage)); }
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
