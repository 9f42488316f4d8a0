/* SPDX-License-Identifier: Apache-2.0 */
#include "entries.h"

#include "versions.h"

#include <petsc/private/petscimpl.h>

static PetscErrorCode is_aij(Mat A, PetscBool *out)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, out, MATSEQAIJ, MATMPIAIJ, ""));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix that a transpose is of; NULL: no transpose. */
static PetscErrorCode get_transposed(Mat A, Mat *out)
{
    PetscBool transpose;

    PetscFunctionBegin;
    *out = NULL;
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATTRANSPOSEVIRTUAL, &transpose));
    if (transpose) { PetscCall(MatTransposeGetMat(A, out)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of a nest, row by row, and how many; 0: no nest. */
static PetscErrorCode get_blocks(Mat A, Mat ***blocks, PetscInt size[2])
{
    PetscBool nest;

    PetscFunctionBegin;
    size[0] = size[1] = 0;
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATNEST, &nest));
    if (nest) { PetscCall(MatNestGetSubMats(A, &size[0], &size[1], blocks)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- whether, and whether again ---- */

/* Types whose conversion to AIJ copies each entry as it is. */
static PetscErrorCode can_be_read(Mat A, PetscBool *out)
{
    PetscInt size[2];
    Mat **blocks, of;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, out, MATSEQAIJ, MATMPIAIJ, MATSEQBAIJ, MATMPIBAIJ,
                                            MATSEQSBAIJ, MATMPISBAIJ, MATSEQDENSE, MATMPIDENSE, MATSEQSELL, MATMPISELL,
                                            ""));
    PetscCall(get_transposed(A, &of));
    if (of) { PetscCall(can_be_read(of, out)); }
    PetscCall(get_blocks(A, &blocks, size));
    if (size[0] > 0) { *out = PETSC_TRUE; }
    for (PetscInt k = 0; *out && k < size[0] * size[1]; k++) {
        const Mat block = blocks[k / size[1]][k % size[1]];
        if (block) { PetscCall(can_be_read(block, out)); }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static uint64_t mix(uint64_t state, uint64_t more)
{
    state = (state ^ more) * 0x9e3779b97f4a7c15u;
    return state ^ (state >> 29);
}

/* Of a matrix and all of its parts, whose changes the whole does not count. */
static PetscErrorCode add_state(Mat A, uint64_t *state)
{
    PetscObjectState own;
    PetscObjectId id;
    PetscInt size[2];
    Mat **blocks, of;

    PetscFunctionBegin;
    PetscCall(PetscObjectStateGet((PetscObject)A, &own));
    PetscCall(PetscObjectGetId((PetscObject)A, &id));
    *state = mix(mix(*state, (uint64_t)id), (uint64_t)own);
    PetscCall(get_transposed(A, &of));
    if (of) { PetscCall(add_state(of, state)); }
    PetscCall(get_blocks(A, &blocks, size));
    for (PetscInt k = 0; k < size[0] * size[1]; k++) {
        const Mat block = blocks[k / size[1]][k % size[1]];
        *state = mix(*state, (uint64_t)k);
        if (block) { PetscCall(add_state(block, state)); }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the copy ---- */

/* Of the rows that MPISBAIJ gives the upper triangle counts. */
static PetscErrorCode add_both_triangles(Mat A, Mat out)
{
    PetscInt first, last, n;
    const PetscInt *column;
    const PetscScalar *value;

    PetscFunctionBegin;
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    PetscCall(MatGetRowUpperTriangular(A));
    for (PetscInt i = first; i < last; i++) {
        PetscCall(MatGetRow(A, i, &n, &column, &value));
        for (PetscInt k = 0; k < n; k++) {
            if (column[k] >= i) { PetscCall(MatSetValue(out, i, column[k], value[k], INSERT_VALUES)); }
            if (column[k] > i) { PetscCall(MatSetValue(out, column[k], i, value[k], INSERT_VALUES)); }
        }
        PetscCall(MatRestoreRow(A, i, &n, &column, &value));
    }
    PetscCall(MatRestoreRowUpperTriangular(A));
    PetscCall(MatAssemblyBegin(out, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(out, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatConvert also takes what is below the diagonal within its blocks, which products leave out and nobody need set
   (3.18.5, several processes). */
static PetscErrorCode copy_mpisbaij(Mat A, Mat *out)
{
    const MatType types[] = {MATPREALLOCATOR, MATAIJ};
    PetscInt local, all, block;
    Mat made[2];

    PetscFunctionBegin;
    PetscCall(MatGetLocalSize(A, &local, NULL));
    PetscCall(MatGetSize(A, &all, NULL));
    PetscCall(MatGetBlockSize(A, &block));
    for (int k = 0; k < 2; k++) {
        PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &made[k]));
        PetscCall(MatSetSizes(made[k], local, local, all, all));
        PetscCall(MatSetBlockSize(made[k], block));
        PetscCall(MatSetType(made[k], types[k]));
        if (k == 1) { PetscCall(MatPreallocatorPreallocate(made[0], PETSC_FALSE, made[1])); }
        PetscCall(MatSetUp(made[k]));
        PetscCall(add_both_triangles(A, made[k]));
    }
    PetscCall(MatDestroy(&made[0]));
    *out = made[1];
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc converts a nest by the rows of its blocks, which not all types give: of copies. */
static PetscErrorCode copy_nest(Mat A, Mat **blocks, const PetscInt size[2], Mat *out)
{
    const PetscInt count = size[0] * size[1];
    IS *rows, *columns;
    Mat *copies, nest;

    PetscFunctionBegin;
    PetscCall(PetscCalloc3(count, &copies, size[0], &rows, size[1], &columns));
    for (PetscInt k = 0; k < count; k++) {
        const Mat block = blocks[k / size[1]][k % size[1]];
        if (block) { PetscCall(tp_entries_copy(block, &copies[k])); }
    }
    PetscCall(MatNestGetISs(A, rows, columns));
    PetscCall(MatCreateNest(PetscObjectComm((PetscObject)A), size[0], rows, size[1], columns, copies, &nest));
    PetscCall(MatConvert(nest, MATAIJ, MAT_INITIAL_MATRIX, out));
    PetscCall(MatDestroy(&nest));
    for (PetscInt k = 0; k < count; k++) {
        PetscCall(MatDestroy(&copies[k]));
    }
    PetscCall(PetscFree3(copies, rows, columns));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_entries_copy(Mat A, Mat *out)
{
    PetscInt size[2];
    Mat **blocks, of, entries;
    PetscBool halved;

    PetscFunctionBegin;
    PetscCall(get_blocks(A, &blocks, size));
    PetscCall(get_transposed(A, &of));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPISBAIJ, &halved));
    if (size[0] > 0) {
        PetscCall(copy_nest(A, blocks, size, out));
    } else if (of) {
        PetscCall(tp_entries_copy(of, &entries));
        PetscCall(MatTranspose(entries, MAT_INITIAL_MATRIX, out));
        PetscCall(MatDestroy(&entries));
    } else if (halved) {
        PetscCall(copy_mpisbaij(A, out));
    } else {
        PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, out));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_entries_reset(tp_entries *entries)
{
    PetscFunctionBegin;
    PetscCall(MatDestroy(&entries->copy));
    PetscCall(MatDestroy(&entries->of));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* All processes take part in a copy: if it is too old for one of them, all make another. */
static PetscErrorCode renew(tp_entries *entries, Mat A)
{
    uint64_t state = 0;
    int same;

    PetscFunctionBegin;
    PetscCall(add_state(A, &state));
    same = entries->copy && entries->of == A && entries->state == state;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
    if (same) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(tp_entries_reset(entries));
    PetscCall(tp_entries_copy(A, &entries->copy));
    PetscCall(PetscObjectReference((PetscObject)A));
    entries->of = A;
    entries->state = state;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A nested vector has the parts of each process one after the other. Whether the rows and columns of A are so too. */
static PetscErrorCode nest_is_in_order(Mat A, PetscBool *out)
{
    PetscInt size[2], first[2], last[2];
    int ordered = 1;
    Mat **blocks;
    IS *sets;

    PetscFunctionBegin;
    PetscCall(get_blocks(A, &blocks, size));
    PetscCall(PetscMalloc1((size_t)(size[0] + size[1] + 1), &sets));
    if (size[0] > 0) { PetscCall(MatNestGetISs(A, sets, sets + size[0])); }
    PetscCall(MatGetOwnershipRange(A, &first[0], &last[0]));
    PetscCall(MatGetOwnershipRangeColumn(A, &first[1], &last[1]));
    for (PetscInt k = 0; k < size[0] + size[1]; k++) {
        const int side = k < size[0] ? 0 : 1;
        PetscInt n, start;
        PetscBool contiguous;
        PetscCall(ISGetLocalSize(sets[k], &n));
        PetscCall(ISContiguousLocal(sets[k], first[side], last[side], &start, &contiguous));
        if (n > 0 && (!contiguous || start != 0)) { ordered = 0; }
        first[side] += n;
    }
    PetscCall(PetscFree(sets));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &ordered, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
    *out = ordered ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_entries_of(tp_entries *entries, Mat A, Vec x, Mat *out)
{
    PetscBool aij, read, nested;

    PetscFunctionBegin;
    *out = NULL;
    PetscCall(is_aij(A, &aij));
    PetscCall(can_be_read(A, &read));
    PetscCall(PetscObjectTypeCompare((PetscObject)x, VECNEST, &nested));
    if (nested && !aij && read) { PetscCall(nest_is_in_order(A, &read)); }
    if (aij) {
        *out = A;
    } else if (read) {
        PetscCall(renew(entries, A));
        *out = entries->copy;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}
