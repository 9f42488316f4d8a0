/* SPDX-License-Identifier: Apache-2.0 */
/* Products of mpiaijtessera on GPUs: as AIJ's, whose vector of ghosts is on the host, with one on the GPU. */
#include "scatter.h"

#include "versions.h"

#include <petsc/private/matimpl.h>

/* Ghosts in the type of the off-diagonal block's vectors, and what brings their values. */
static PetscErrorCode renew(Mat A, tp_scatter *s)
{
    PetscObjectState pattern;
    const PetscInt *ghost;
    PetscInt n;
    Mat off;
    Vec x;
    IS columns;

    PetscFunctionBegin;
    PetscCall(MatGetNonzeroState(A, &pattern));
    if (s->scatter && pattern == s->pattern) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_scatter_reset(s));
    PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &off, &ghost));
    PetscCall(MatCreateVecs(off, &s->ghosts, NULL));
    PetscCall(VecGetLocalSize(s->ghosts, &n));
    PetscCall(MatCreateVecs(A, &x, NULL));
    PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, ghost, PETSC_COPY_VALUES, &columns));
    PetscCall(VecScatterCreate(x, columns, s->ghosts, NULL, &s->scatter));
    PetscCall(ISDestroy(&columns));
    PetscCall(VecDestroy(&x));
    s->pattern = pattern;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_scatter_product(Mat A, tp_scatter *s, Vec x, Vec y, Vec z)
{
    Mat diagonal, off;

    PetscFunctionBegin;
    PetscCall(renew(A, s));
    PetscCall(MatMPIAIJGetSeqAIJ(A, &diagonal, &off, NULL));
    PetscCall(VecScatterBegin(s->scatter, x, s->ghosts, INSERT_VALUES, SCATTER_FORWARD));
    if (y) {
        PetscCall((*diagonal->ops->multadd)(diagonal, x, y, z));
    } else {
        PetscCall((*diagonal->ops->mult)(diagonal, x, z));
    }
    PetscCall(VecScatterEnd(s->scatter, x, s->ghosts, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall((*off->ops->multadd)(off, s->ghosts, z, z));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_scatter_transposed(Mat A, tp_scatter *s, Vec x, Vec y, Vec z)
{
    Mat diagonal, off;

    PetscFunctionBegin;
    PetscCall(renew(A, s));
    PetscCall(MatMPIAIJGetSeqAIJ(A, &diagonal, &off, NULL));
    PetscCall((*off->ops->multtranspose)(off, x, s->ghosts));
    if (y) {
        PetscCall((*diagonal->ops->multtransposeadd)(diagonal, x, y, z));
    } else {
        PetscCall((*diagonal->ops->multtranspose)(diagonal, x, z));
    }
    PetscCall(VecScatterBegin(s->scatter, s->ghosts, z, ADD_VALUES, SCATTER_REVERSE));
    PetscCall(VecScatterEnd(s->scatter, s->ghosts, z, ADD_VALUES, SCATTER_REVERSE));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_scatter_reset(tp_scatter *s)
{
    PetscFunctionBegin;
    PetscCall(VecDestroy(&s->ghosts));
    PetscCall(VecScatterDestroy(&s->scatter));
    PetscFunctionReturn(PETSC_SUCCESS);
}
