/* SPDX-License-Identifier: Apache-2.0 */
/* mpiaijtessera: MPIAIJ whose two blocks are seqaijtessera. AIJ's product already overlaps its scatter with the product
   of the diagonal block; a halo in a lower precision takes messages of our own, and so does one of GPUs over the host.
 */
#include "mat_types.h"

#include "context.h"
#include "errors.h"
#include "halo.h"
#include "mat.h"
#include "register.h"
#include "scatter.h"
#include "storage.h"

#include <tessera/policy.h>
#include <tessera/precision.h>
#include <tessera_petsc.h>

static PetscErrorCode own_blocks(Mat A)
{
    const tp_mpi *const m = A->spptr;
    Mat block[2];

    PetscFunctionBegin;
    PetscCall(MatMPIAIJGetSeqAIJ(A, &block[0], &block[1], NULL));
    for (int k = 0; k < 2; k++) {
        PetscBool ours;
        if (!block[k]) { continue; }
        PetscCall(PetscObjectTypeCompare((PetscObject)block[k], MATSEQTESSERA, &ours));
        if (ours) { continue; }
        PetscCall(MatConvert(block[k], MATSEQTESSERA, MAT_INPLACE_MATRIX, &block[k]));
        PetscCall(tp_seq_set_storage(block[k], &m->storage));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether messages of PETSc begin and end on the GPU. */
static PetscBool mpi_takes_gpu_memory(void)
{
#if TP_HAVE_CUDA
    return use_gpu_aware_mpi;
#else
    return PETSC_FALSE;
#endif
}

/* All processes take one way, also where only some share a GPU with PETSc. Collective after a change of the pattern. */
static PetscErrorCode choose_way(Mat A, tp_mpi *m)
{
    PetscObjectState pattern;
    PetscBool gpu;
    int least, most;

    PetscFunctionBegin;
    PetscCall(MatGetNonzeroState(A, &pattern));
    if (m->way_known && pattern == m->way_pattern) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_agree(PetscObjectComm((PetscObject)A), tp_shares_gpu(&gpu)));
    least = most = gpu ? 1 : 0;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
    m->all_gpus = least ? PETSC_TRUE : PETSC_FALSE;
    m->some_gpus = most ? PETSC_TRUE : PETSC_FALSE;
    m->way_known = PETSC_TRUE;
    m->way_pattern = pattern;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The copies are made by all processes before any of them waits for values of another one, which may fail in that. */
static PetscErrorCode prepare(Mat A, tp_mpi *m, PetscBool transposed)
{
    PetscObjectState *const prepared = &m->prepared[transposed ? 1 : 0];
    PetscObjectState state;

    PetscFunctionBegin;
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    if (state == *prepared) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_prepare(A, transposed));
    *prepared = state;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* z := y + A x, or A x without y. Over the host PETSc's scatter waits for its copies back to the GPU, and ours do not.
 */
static PetscErrorCode product(Mat A, Vec x, Vec y, Vec z)
{
    tp_mpi *const m = A->spptr;
    PetscBool ours;

    PetscFunctionBegin;
    PetscCall(prepare(A, m, PETSC_FALSE));
    PetscCall(choose_way(A, m));
    ours = m->some_gpus && !(m->all_gpus && mpi_takes_gpu_memory()) ? PETSC_TRUE : PETSC_FALSE;
    if (ours || m->widened != TESS_PRECISION_FP64) {
        PetscCall(tp_halo_product(A, x, y, z));
    } else if (m->all_gpus) {
        PetscCall(tp_scatter_product(A, &m->scatter, x, y, z));
    } else if (y) {
        PetscCall((*m->base.multadd)(A, x, y, z));
    } else {
        PetscCall((*m->base.mult)(A, x, z));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a host AIJ's, which calls the transposed products of the blocks. */
static PetscErrorCode product_transposed(Mat A, Vec x, Vec y, Vec z)
{
    tp_mpi *const m = A->spptr;

    PetscFunctionBegin;
    PetscCall(prepare(A, m, PETSC_TRUE));
    PetscCall(choose_way(A, m));
    if (m->all_gpus) {
        PetscCall(tp_scatter_transposed(A, &m->scatter, x, y, z));
    } else if (y) {
        PetscCall((*m->base.multtransposeadd)(A, x, y, z));
    } else {
        PetscCall((*m->base.multtranspose)(A, x, z));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_MPIAIJTessera(Mat A, Vec x, Vec y)
{
    PetscFunctionBegin;
    PetscCall(product(A, x, NULL, y));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_MPIAIJTessera(Mat A, Vec x, Vec y)
{
    PetscFunctionBegin;
    PetscCall(product_transposed(A, x, NULL, y));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ asks the diagonal block alone, whose copy may fail on one process. */
static PetscErrorCode MatGetDiagonal_MPIAIJTessera(Mat A, Vec v)
{
    tp_mpi *const m = A->spptr;

    PetscFunctionBegin;
    if (!tp_storage_is_exact(&m->storage)) { PetscCall(prepare(A, m, PETSC_FALSE)); }
    PetscCall((*m->base.getdiagonal)(A, v));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the rest of the type ---- */

static PetscErrorCode view_halo(const tp_halo *halo, PetscViewer viewer)
{
    double sums[2] = {halo->bytes, halo->exchanges}, largest;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 1, MPI_DOUBLE, MPI_SUM, halo->comm));
    PetscCallMPI(MPI_Allreduce(&halo->largest_error, &largest, 1, MPI_DOUBLE, MPI_MAX, halo->comm));
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "Tessera: halo in %s, %g bytes a product, largest error %.2e of a message's largest value\n",
        tess_precision_name(halo->precision), sums[1] > 0 ? sums[0] / sums[1] : 0.0, largest));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_MPIAIJTessera(Mat A, PetscViewer viewer)
{
    const tp_mpi *const m = A->spptr;
    PetscViewerFormat format;
    PetscBool ascii;
    double bytes[2] = {0, 0};

    PetscFunctionBegin;
    PetscCall((*m->base.view)(A, viewer));
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    if (!ascii) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscViewerGetFormat(viewer, &format));
    if (format != PETSC_VIEWER_ASCII_INFO && format != PETSC_VIEWER_ASCII_INFO_DETAIL) {
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(tp_stored_bytes(A, bytes));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, bytes, 2, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)A)));
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "Tessera: %s, policy %s; %.3g MB, AIJ %.3g MB\n", tess_format_name(m->storage.options.format),
        tess_policy_name(m->storage.options.policy.policy), 1e-6 * bytes[0], 1e-6 * bytes[1]));
    if (m->halo && m->storage.halo != TESS_PRECISION_FP64) { PetscCall(view_halo(m->halo, viewer)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static void set_functions(Mat A);

/* The off-diagonal block may be another object after an assembly. */
static PetscErrorCode MatAssemblyEnd_MPIAIJTessera(Mat A, MatAssemblyType mode)
{
    const tp_mpi *const m = A->spptr;

    PetscFunctionBegin;
    PetscCall((*m->base.assemblyend)(A, mode));
    if (mode == MAT_FLUSH_ASSEMBLY) { PetscFunctionReturn(PETSC_SUCCESS); }
    set_functions(A);
    PetscCall(tp_agree(PetscObjectComm((PetscObject)A), own_blocks(A)));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_MPIAIJTessera(Mat A, MatDuplicateOption option, Mat *out)
{
    const tp_mpi *const m = A->spptr;

    PetscFunctionBegin;
    PetscCall((*m->base.duplicate)(A, option, out));
    PetscCall(tp_set_storage(*out, &m->storage));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetFromOptions_MPIAIJTessera(Mat A, tp_option_items items)
{
    tp_mpi *const m = A->spptr;
    tp_storage storage = m->storage;

    PetscFunctionBegin;
    if (m->base.setfromoptions) { PetscCall((*m->base.setfromoptions)(A, items)); }
    PetscCall(tp_storage_read(items, &storage));
    PetscCall(tp_set_storage(A, &storage));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode compose_functions(Mat A, PetscErrorCode (*to)(Mat, MatType, MatReuse, Mat *),
                                        PetscErrorCode (*from)(Mat, MatType, MatReuse, Mat *))
{
    PetscObject object = (PetscObject)A;

    PetscFunctionBegin;
    PetscCall(PetscObjectComposeFunction(object, "MatConvert_mpiaij_tessera_C", to));
    PetscCall(PetscObjectComposeFunction(object, "MatConvert_mpiaij_mpitessera_C", to));
    PetscCall(PetscObjectComposeFunction(object, "MatConvert_mpiaij_mpiaijtessera_C", to));
    PetscCall(PetscObjectComposeFunction(object, "MatConvert_mpiaijtessera_mpiaij_C", from));
    PetscCall(PetscObjectComposeFunction(object, "MatProductSetFromOptions_mpiaijtessera_mpimaij_C",
                                         from ? tp_product_with_maij : NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode leave(Mat A)
{
    tp_mpi *const m = A->spptr;

    PetscFunctionBegin;
    PetscCall(tp_scatter_reset(&m->scatter));
    PetscCall(tp_halo_forget(m));
    tp_restore_functions(A, &m->base);
    PetscCall(compose_functions(A, NULL, NULL));
    PetscCall(PetscFree(A->spptr));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_MPIAIJTessera(Mat A)
{
    PetscFunctionBegin;
    PetscCall(leave(A));
    PetscCall((*A->ops->destroy)(A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static void set_functions(Mat A)
{
    A->ops->mult = MatMult_MPIAIJTessera;
    A->ops->multadd = product;
    A->ops->multtranspose = MatMultTranspose_MPIAIJTessera;
    A->ops->multtransposeadd = product_transposed;
    A->ops->getdiagonal = MatGetDiagonal_MPIAIJTessera;
    A->ops->assemblyend = MatAssemblyEnd_MPIAIJTessera;
    A->ops->duplicate = MatDuplicate_MPIAIJTessera;
    A->ops->destroy = MatDestroy_MPIAIJTessera;
    A->ops->view = MatView_MPIAIJTessera;
    A->ops->setfromoptions = MatSetFromOptions_MPIAIJTessera;
}

static PetscErrorCode MatConvert_MPIAIJTessera_MPIAIJ(Mat A, MatType type, MatReuse reuse, Mat *out)
{
    Mat B = *out, block[2];

    PetscFunctionBegin;
    (void)type;
    if (reuse == MAT_REUSE_MATRIX) {
        PetscCall(tp_copy_values(A, B));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (reuse == MAT_INITIAL_MATRIX) { PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B)); }
    PetscCall(MatMPIAIJGetSeqAIJ(B, &block[0], &block[1], NULL));
    for (int k = 0; k < 2; k++) {
        PetscCall(MatConvert(block[k], MATSEQAIJ, MAT_INPLACE_MATRIX, &block[k]));
    }
    PetscCall(leave(B));
    PetscCall(MatSetVecType(B, VECSTANDARD));
    PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATMPIAIJ));
    *out = B;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_MPIAIJ_MPIAIJTessera(Mat A, MatType type, MatReuse reuse, Mat *out)
{
    Mat B = *out;
    tp_mpi *m;
    PetscBool ours;

    PetscFunctionBegin;
    (void)type;
    if (reuse == MAT_REUSE_MATRIX) {
        PetscCall(tp_copy_values(A, B));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (reuse == MAT_INITIAL_MATRIX) { PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B)); }
    *out = B;
    PetscCall(PetscObjectTypeCompare((PetscObject)B, MATMPITESSERA, &ours));
    if (ours) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscNew(&m));
    tp_storage_default(&m->storage);
    PetscCall(tp_agree(PetscObjectComm((PetscObject)A), tp_storage_read_for((PetscObject)A, &m->storage)));
    m->widened = m->storage.halo;
    m->prepared[0] = m->prepared[1] = -1;
    tp_save_functions(B, &m->base);
    B->spptr = m;
    set_functions(B);
    PetscCall(compose_functions(B, MatConvert_MPIAIJ_MPIAIJTessera, MatConvert_MPIAIJTessera_MPIAIJ));
    PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATMPITESSERA));
    PetscCall(tp_agree(PetscObjectComm((PetscObject)A), tp_set_vectors(B)));
    if (B->assembled) { PetscCall(tp_agree(PetscObjectComm((PetscObject)A), own_blocks(B))); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode MatCreate_MPIAIJTessera(Mat A)
{
    PetscFunctionBegin;
    PetscCall(MatSetType(A, MATMPIAIJ));
    PetscCall(MatConvert_MPIAIJ_MPIAIJTessera(A, MATMPITESSERA, MAT_INPLACE_MATRIX, &A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_register_mat(void)
{
    PetscFunctionBegin;
    PetscCall(MatRegister(MATSEQTESSERA, MatCreate_SeqAIJTessera));
    PetscCall(MatRegister(MATMPITESSERA, MatCreate_MPIAIJTessera));
    PetscCall(MatRegisterRootName(MATTESSERA, MATSEQTESSERA, MATMPITESSERA));
    PetscCall(MatRegisterRootName("aijtessera", MATSEQTESSERA, MATMPITESSERA));
    PetscCall(MatRegisterRootName("seqtessera", MATSEQTESSERA, MATSEQTESSERA));
    PetscCall(MatRegisterRootName("mpitessera", MATMPITESSERA, MATMPITESSERA));
    PetscFunctionReturn(PETSC_SUCCESS);
}
