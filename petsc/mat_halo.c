/* SPDX-License-Identifier: Apache-2.0 */
/* The halo of mpiaijtessera: products with messages of ours, and what these carry from one to the next. */
#include "mat_halo.h"

#include "context.h"
#include "errors.h"
#include "halo.h"
#include "mat_types.h"
#include "vectors.h"

#include <tessera_petsc.h>

PetscErrorCode tp_halo_forget(tp_mpi *m)
{
    PetscFunctionBegin;
    PetscCall(tp_halo_destroy(&m->halo));
    tess_vector_destroy(m->ghosts);
    m->ghosts = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_ghosts(tp_mpi *m)
{
    tess_context *ctx;

    PetscFunctionBegin;
    PetscCall(tp_context(&ctx));
    TessCall(tess_vector_create(ctx, m->halo->nghosts, TESS_PRECISION_FP64, &m->ghosts));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode renew_halo(Mat A, tp_mpi *m)
{
    PetscObjectState pattern;

    PetscFunctionBegin;
    PetscCall(MatGetNonzeroState(A, &pattern));
    if (m->halo && pattern == m->pattern) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_halo_forget(m));
    PetscCall(tp_halo_create(A, m->widened, &m->halo));
    PetscCall(tp_agree(PetscObjectComm((PetscObject)A), make_ghosts(m)));
    m->pattern = pattern;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_halo_product(Mat A, Vec x, Vec y, Vec z)
{
    tp_mpi *const m = A->spptr;
    tp_view local;
    Mat diagonal, off;

    PetscFunctionBegin;
    PetscCall(renew_halo(A, m));
    PetscCall(MatMPIAIJGetSeqAIJ(A, &diagonal, &off, NULL));
    PetscCall(tp_view_begin(x, TP_READ, &local));
    PetscCall(tp_halo_begin_vector(m->halo, local.v));
    PetscCall(tp_view_end(x, &local));
    if (y) {
        PetscCall((*diagonal->ops->multadd)(diagonal, x, y, z));
    } else {
        PetscCall((*diagonal->ops->mult)(diagonal, x, z));
    }
    PetscCall(tp_halo_end_vector(m->halo, m->ghosts));
    PetscCall(tp_seq_product(off, m->ghosts, z));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what is carried ---- */

PetscBool tp_carries(Mat A)
{
    PetscBool mpi = PETSC_FALSE;

    PetscCallAbort(PETSC_COMM_SELF, PetscObjectTypeCompare((PetscObject)A, MATMPITESSERA, &mpi));
    return mpi && ((const tp_mpi *)A->spptr)->storage.halo != TESS_PRECISION_FP64 ? PETSC_TRUE : PETSC_FALSE;
}

/* NULL: nothing is carried, for nothing is rounded. */
static tp_mpi *carrier(Mat A)
{
    tp_mpi *const m = tp_carries(A) ? A->spptr : NULL;

    return m && m->widened != TESS_PRECISION_FP64 ? m : NULL;
}

PetscErrorCode tp_carry_reset(Mat A)
{
    tp_mpi *const m = carrier(A);

    PetscFunctionBegin;
    if (!m) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(renew_halo(A, m));
    PetscCall(tp_halo_carry_reset(m->halo));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_carried_product(Mat A, Vec x, Vec y)
{
    tp_mpi *const m = carrier(A);
    PetscErrorCode code;

    PetscFunctionBegin;
    if (m) { m->halo->carries = PETSC_TRUE; }
    code = MatMult(A, x, y);
    if (m) { m->halo->carries = PETSC_FALSE; }
    PetscCall(code);
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_carry_step(Mat A, double length)
{
    tp_mpi *const m = carrier(A);

    PetscFunctionBegin;
    if (m) { tp_halo_carry_step(m->halo, length); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_carry_guess(Mat A)
{
    tp_mpi *const m = carrier(A);

    PetscFunctionBegin;
    if (m) { tp_halo_carry_guess(m->halo); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

tess_precision tp_halo_precision(Mat A)
{
    return tp_carries(A) ? ((const tp_mpi *)A->spptr)->widened : TESS_PRECISION_FP64;
}

PetscErrorCode tp_widen_halo(Mat A, PetscBool *done)
{
    tp_mpi *const m = tp_carries(A) ? A->spptr : NULL;

    PetscFunctionBegin;
    *done = m && m->widened != TESS_PRECISION_FP64 ? PETSC_TRUE : PETSC_FALSE;
    if (!*done) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_halo_forget(m));
    m->widened = m->widened == TESS_PRECISION_FP16 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
    PetscCall(PetscInfo(A, "the halo is in %s from here on\n", tess_precision_name(m->widened)));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_reset_halo(Mat A)
{
    tp_mpi *const m = tp_carries(A) ? A->spptr : NULL;

    PetscFunctionBegin;
    if (!m || m->widened == m->storage.halo) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_halo_forget(m));
    m->widened = m->storage.halo;
    PetscFunctionReturn(PETSC_SUCCESS);
}
