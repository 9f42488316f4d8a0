/* SPDX-License-Identifier: Apache-2.0 */
/* seqaijtessera: AIJ whose products run in one of Tessera's formats. All else is AIJ's. */
#include "mat_types.h"

#include "copy.h"
#include "mat.h"
#include "rows.h"
#include "storage.h"
#include "vectors.h"

#include <string.h>
#include <tessera/names.h>
#include <tessera/precision.h>
#include <tessera_petsc.h>

/* ---- the stored copy ---- */

/* Every function of PETSc that changes values or pattern changes the state. */
static PetscErrorCode renew_copy(Mat A, tp_seq *s)
{
    PetscObjectState state;
    tp_rows rows;

    PetscFunctionBegin;
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    if (state == s->state) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_rows_get(A, &rows));
    PetscCall(tp_copy_build(&rows, &s->storage.options, &s->copy));
    PetscCall(tp_rows_restore(A, &rows));
    s->state = state;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transpose by counting; its arrays live as long as the copy, which may read them in place. */
static PetscErrorCode transpose_rows(const tp_rows *rows, PetscInt **i, PetscInt **j, PetscScalar **a)
{
    const PetscInt nnz = rows->i[rows->nrows];
    PetscInt *next;

    PetscFunctionBegin;
    PetscCall(PetscMalloc1(nnz, a));
    PetscCall(PetscCalloc1(rows->ncols + 1, i));
    PetscCall(PetscMalloc1(nnz, j));
    PetscCall(PetscMalloc1(rows->ncols, &next));
    for (PetscInt k = 0; k < nnz; k++) {
        (*i)[rows->j[k] + 1]++;
    }
    for (PetscInt c = 0; c < rows->ncols; c++) {
        (*i)[c + 1] += (*i)[c];
        next[c] = (*i)[c];
    }
    for (PetscInt r = 0; r < rows->nrows; r++) {
        for (PetscInt k = rows->i[r]; k < rows->i[r + 1]; k++) {
            const PetscInt at = next[rows->j[k]]++;
            (*j)[at] = r;
            (*a)[at] = rows->a[k];
        }
    }
    PetscCall(PetscFree(next));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode renew_transposed(Mat A, tp_seq *s)
{
    PetscObjectState state;
    tp_rows rows, transposed;
    PetscInt *i, *j;
    PetscScalar *a;

    PetscFunctionBegin;
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    if (state == s->transposed_state) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_rows_get(A, &rows));
    PetscCall(transpose_rows(&rows, &i, &j, &a));
    transposed = (tp_rows){.nrows = rows.ncols, .ncols = rows.nrows, .i = i, .j = j, .a = a};
    PetscCall(tp_rows_restore(A, &rows));
    tp_copy_free(&s->transposed);
    PetscCall(tp_copy_build(&transposed, &s->storage.options, &s->transposed));
    s->transposed.owned[0] = i;
    s->transposed.owned[1] = j;
    s->transposed.owned[2] = a;
    s->transposed_state = state;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_seq_prepare(Mat A, PetscBool transposed)
{
    PetscFunctionBegin;
    PetscCall(renew_copy(A, A->spptr));
    if (transposed) { PetscCall(renew_transposed(A, A->spptr)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static void forget_copies(tp_seq *s)
{
    tp_copy_free(&s->copy);
    tp_copy_free(&s->transposed);
    s->state = s->transposed_state = -1;
}

/* ---- products ---- */

PetscErrorCode tp_seq_product(Mat A, const tess_vector *x, Vec y)
{
    tp_seq *const s = A->spptr;
    tp_view to;

    PetscFunctionBegin;
    PetscCall(renew_copy(A, s));
    PetscCall(tp_view_begin(y, TP_UPDATE, &to));
    PetscCall(tp_copy_product(&s->copy, 1, x, to.v, PETSC_TRUE));
    PetscCall(tp_view_end(y, &to));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* z := y + op(A) x; y may be z; without y z := op(A) x. */
static PetscErrorCode product(Mat A, PetscBool transposed, Vec x, Vec y, Vec z)
{
    tp_seq *const s = A->spptr;
    tp_view from, to;
    MatInfo info;

    PetscFunctionBegin;
    PetscCall(transposed ? renew_transposed(A, s) : renew_copy(A, s));
    if (y && y != z) { PetscCall(VecCopy(y, z)); }
    PetscCall(tp_view_begin(x, TP_READ, &from));
    PetscCall(tp_view_begin(z, y ? TP_UPDATE : TP_WRITE, &to));
    PetscCall(tp_copy_product(transposed ? &s->transposed : &s->copy, 1, from.v, to.v, y ? PETSC_TRUE : PETSC_FALSE));
    PetscCall(tp_view_end(z, &to));
    PetscCall(tp_view_end(x, &from));
    PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
    PetscCall(PetscLogFlops(2 * info.nz_used));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_SeqAIJTessera(Mat A, Vec x, Vec y)
{
    PetscFunctionBegin;
    PetscCall(product(A, PETSC_FALSE, x, NULL, y));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_SeqAIJTessera(Mat A, Vec x, Vec y, Vec z)
{
    PetscFunctionBegin;
    PetscCall(product(A, PETSC_FALSE, x, y, z));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_SeqAIJTessera(Mat A, Vec x, Vec y)
{
    PetscFunctionBegin;
    PetscCall(product(A, PETSC_TRUE, x, NULL, y));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_SeqAIJTessera(Mat A, Vec x, Vec y, Vec z)
{
    PetscFunctionBegin;
    PetscCall(product(A, PETSC_TRUE, x, y, z));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the diagonal ---- */

/* That of the operator which the products apply: AIJ's where these are exact, else the stored values. */
static PetscErrorCode MatGetDiagonal_SeqAIJTessera(Mat A, Vec v)
{
    tp_seq *const s = A->spptr;
    PetscScalar *to;
    PetscInt n;

    PetscFunctionBegin;
    if (tp_storage_is_exact(&s->storage)) {
        PetscCall((*s->base.getdiagonal)(A, v));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(VecGetLocalSize(v, &n));
    PetscCheck(n == A->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "a vector of %" PetscInt_FMT " for %s", n,
               tess_count(A->rmap->n, "row").text);
    PetscCall(renew_copy(A, s));
    PetscCall(VecGetArrayWrite(v, &to));
    PetscCall(PetscArrayzero(to, n));
    PetscCall(tp_copy_diagonal(&s->copy, to));
    PetscCall(VecRestoreArrayWrite(v, &to));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the rest of the type ---- */

PetscErrorCode tp_seq_set_storage(Mat A, const tp_storage *storage)
{
    tp_seq *const s = A->spptr;

    PetscFunctionBegin;
    if (memcmp(&s->storage, storage, sizeof *storage) != 0) { forget_copies(s); }
    s->storage = *storage;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_seq_bytes(Mat A, double bytes[2])
{
    const tp_seq *const s = A->spptr;
    const tp_copy *const copies[2] = {&s->copy, &s->transposed};

    PetscFunctionBegin;
    for (int k = 0; k < 2; k++) {
        const tess_matrix *const stored = copies[k]->stored;
        if (!stored) { continue; }
        bytes[0] += (double)tess_matrix_bytes(stored);
        bytes[1] += (double)tess_matrix_nnz(stored) * (sizeof(PetscScalar) + sizeof(PetscInt)) +
                    (double)(copies[k]->nrows + 1) * sizeof(PetscInt);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_SeqAIJTessera(Mat A, PetscViewer viewer)
{
    const tp_seq *const s = A->spptr;
    PetscViewerFormat format;
    PetscBool ascii;
    double bytes[2] = {0, 0};

    PetscFunctionBegin;
    PetscCall((*s->base.view)(A, viewer));
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    if (!ascii) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscViewerGetFormat(viewer, &format));
    if (format != PETSC_VIEWER_ASCII_INFO && format != PETSC_VIEWER_ASCII_INFO_DETAIL) {
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (!s->copy.stored) {
        PetscCall(PetscViewerASCIIPrintf(viewer, "Tessera: no product yet\n"));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(tp_seq_bytes(A, bytes));
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "Tessera: %s, %s, %s; %.3g MB, AIJ %.3g MB\n", tess_format_name(tess_matrix_format(s->copy.stored)),
        tess_precision_name(tess_matrix_precision(s->copy.stored)),
        tess_matrix_is_exact(s->copy.stored) ? "exact" : "rounded", 1e-6 * bytes[0], 1e-6 * bytes[1]));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static void set_functions(Mat A);

/* AIJ may set its own functions again at the end of an assembly. */
static PetscErrorCode MatAssemblyEnd_SeqAIJTessera(Mat A, MatAssemblyType mode)
{
    tp_seq *const s = A->spptr;

    PetscFunctionBegin;
    PetscCall((*s->base.assemblyend)(A, mode));
    if (mode == MAT_FLUSH_ASSEMBLY) { PetscFunctionReturn(PETSC_SUCCESS); }
    set_functions(A);
    forget_copies(s);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ makes a matrix of this type, which asks the options again. */
static PetscErrorCode MatDuplicate_SeqAIJTessera(Mat A, MatDuplicateOption option, Mat *out)
{
    const tp_seq *const s = A->spptr;

    PetscFunctionBegin;
    PetscCall((*s->base.duplicate)(A, option, out));
    PetscCall(tp_seq_set_storage(*out, &s->storage));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetFromOptions_SeqAIJTessera(Mat A, tp_option_items items)
{
    tp_seq *const s = A->spptr;

    PetscFunctionBegin;
    if (s->base.setfromoptions) { PetscCall((*s->base.setfromoptions)(A, items)); }
    PetscCall(tp_storage_read(items, &s->storage));
    forget_copies(s);
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode compose_functions(Mat A, PetscErrorCode (*to)(Mat, MatType, MatReuse, Mat *),
                                        PetscErrorCode (*from)(Mat, MatType, MatReuse, Mat *));

/* Gives the Mat back to AIJ. */
static PetscErrorCode leave(Mat A)
{
    tp_seq *const s = A->spptr;

    PetscFunctionBegin;
    forget_copies(s);
    tp_restore_functions(A, &s->base);
    PetscCall(compose_functions(A, NULL, NULL));
    PetscCall(PetscFree(A->spptr));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_SeqAIJTessera(Mat A)
{
    PetscFunctionBegin;
    PetscCall(leave(A));
    PetscCall((*A->ops->destroy)(A));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static void set_functions(Mat A)
{
    A->ops->mult = MatMult_SeqAIJTessera;
    A->ops->multadd = MatMultAdd_SeqAIJTessera;
    A->ops->multtranspose = MatMultTranspose_SeqAIJTessera;
    A->ops->multtransposeadd = MatMultTransposeAdd_SeqAIJTessera;
    A->ops->getdiagonal = MatGetDiagonal_SeqAIJTessera;
    A->ops->assemblyend = MatAssemblyEnd_SeqAIJTessera;
    A->ops->duplicate = MatDuplicate_SeqAIJTessera;
    A->ops->destroy = MatDestroy_SeqAIJTessera;
    A->ops->view = MatView_SeqAIJTessera;
    A->ops->setfromoptions = MatSetFromOptions_SeqAIJTessera;
}

static PetscErrorCode MatConvert_SeqAIJTessera_SeqAIJ(Mat A, MatType type, MatReuse reuse, Mat *out)
{
    Mat B = *out;

    PetscFunctionBegin;
    (void)type;
    if (reuse == MAT_INITIAL_MATRIX) { PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B)); }
    if (reuse == MAT_REUSE_MATRIX) {
        PetscCall(tp_copy_values(A, B));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(leave(B));
    PetscCall(MatSetVecType(B, VECSTANDARD));
    PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATSEQAIJ));
    *out = B;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_SeqAIJ_SeqAIJTessera(Mat A, MatType type, MatReuse reuse, Mat *out)
{
    Mat B = *out;
    tp_seq *s;
    PetscBool ours;

    PetscFunctionBegin;
    (void)type;
    if (reuse == MAT_REUSE_MATRIX) {
        PetscCall(tp_copy_values(A, B));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (reuse == MAT_INITIAL_MATRIX) { PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B)); }
    *out = B;
    PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSEQTESSERA, &ours));
    if (ours) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscNew(&s));
    s->state = s->transposed_state = -1;
    tp_storage_default(&s->storage);
    PetscCall(tp_storage_read_for((PetscObject)A, &s->storage));
    tp_save_functions(B, &s->base);
    B->spptr = s;
    set_functions(B);
    PetscCall(compose_functions(B, MatConvert_SeqAIJ_SeqAIJTessera, MatConvert_SeqAIJTessera_SeqAIJ));
    PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATSEQTESSERA));
    PetscCall(tp_set_vectors(B));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode compose_functions(Mat A, PetscErrorCode (*to)(Mat, MatType, MatReuse, Mat *),
                                        PetscErrorCode (*from)(Mat, MatType, MatReuse, Mat *))
{
    PetscObject object = (PetscObject)A;

    PetscFunctionBegin;
    PetscCall(PetscObjectComposeFunction(object, "MatConvert_seqaij_tessera_C", to));
    PetscCall(PetscObjectComposeFunction(object, "MatConvert_seqaij_seqtessera_C", to));
    PetscCall(PetscObjectComposeFunction(object, "MatConvert_seqaij_seqaijtessera_C", to));
    PetscCall(PetscObjectComposeFunction(object, "MatConvert_seqaijtessera_seqaij_C", from));
    PetscCall(PetscObjectComposeFunction(object, "MatProductSetFromOptions_seqaijtessera_seqmaij_C",
                                         from ? tp_product_with_maij : NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode MatCreate_SeqAIJTessera(Mat A)
{
    PetscFunctionBegin;
    PetscCall(MatSetType(A, MATSEQAIJ));
    PetscCall(MatConvert_SeqAIJ_SeqAIJTessera(A, MATSEQTESSERA, MAT_INPLACE_MATRIX, &A));
    PetscFunctionReturn(PETSC_SUCCESS);
}
