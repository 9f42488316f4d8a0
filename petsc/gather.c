/* SPDX-License-Identifier: Apache-2.0 */
#include "gather.h"

#include "errors.h"
#include "gpu_users.h"
#include "rows.h"

#include <stdlib.h>
#include <string.h>

/* ---- who leads ---- */

/* Groups of a machine's processes, which go into them in turn. */
static PetscErrorCode leader_of_group(MPI_Comm comm, PetscMPIInt groups, PetscMPIInt *leader)
{
    PetscMPIInt own, rank, ranks, *all;
    MPI_Comm node;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_rank(comm, &own));
    PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    PetscCallMPI(MPI_Comm_size(node, &ranks));
    PetscCallMPI(MPI_Comm_rank(node, &rank));
    PetscCall(PetscMalloc1(ranks, &all));
    PetscCallMPI(MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, node));
    *leader = all[rank % groups];
    PetscCall(PetscFree(all));
    PetscCallMPI(MPI_Comm_free(&node));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode find_leader(MPI_Comm comm, PetscMPIInt groups, PetscMPIInt *leader)
{
    PetscMPIInt users;

    PetscFunctionBegin;
    if (groups == TP_GATHER_NONE) {
        PetscCallMPI(MPI_Comm_rank(comm, leader));
    } else if (groups == TP_GATHER_AUTO) {
        PetscCall(tp_gpu_users(comm, &users, leader));
    } else {
        PetscCall(leader_of_group(comm, groups, leader));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool tp_gather_parse(const char *word, PetscMPIInt *groups)
{
    char *end = NULL;
    long count;

    *groups = strcmp(word, "none") == 0 ? TP_GATHER_NONE : TP_GATHER_AUTO;
    if (!word[0] || strcmp(word, "auto") == 0 || strcmp(word, "none") == 0) { return PETSC_TRUE; }
    count = strtol(word, &end, 10);
    if (*end || count < 1 || count > PETSC_MPI_INT_MAX) { return PETSC_FALSE; }
    *groups = (PetscMPIInt)count;
    return PETSC_TRUE;
}

PetscErrorCode tp_gather_create(MPI_Comm comm, PetscMPIInt groups, tp_gather **out)
{
    PetscMPIInt leader = 0;
    tp_gather *g;

    PetscFunctionBegin;
    *out = NULL;
    PetscCall(find_leader(comm, groups, &leader));
    PetscCall(PetscNew(&g));
    PetscCall(PetscCommDuplicate(comm, &g->comm, &g->tag));
    PetscCallMPI(MPI_Comm_rank(g->comm, &g->rank));
    PetscCallMPI(MPI_Comm_size(g->comm, &g->ranks));
    PetscCall(PetscMalloc1(g->ranks, &g->leader));
    PetscCallMPI(MPI_Allgather(&leader, 1, MPI_INT, g->leader, 1, MPI_INT, g->comm));
    for (PetscMPIInt r = 0; r < g->ranks; r++) {
        g->leaders += g->leader[r] == r;
    }
    if (g->leaders == g->ranks) { PetscCall(tp_gather_destroy(&g)); }
    *out = g;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_gather_destroy(tp_gather **gather)
{
    tp_gather *const g = *gather;

    PetscFunctionBegin;
    if (!g) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscFree(g->leader));
    PetscCall(PetscCommDestroy(&g->comm));
    PetscCall(PetscFree(*gather));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool tp_gather_leads(const tp_gather *g)
{
    return !g || g->leader[g->rank] == g->rank ? PETSC_TRUE : PETSC_FALSE;
}

/* ---- numbering ---- */

/* start[r]: the new number of the first row of process r, for rows go to the leaders in the order of the processes.
 *own: how many this one has then. */
static PetscErrorCode renumber(const tp_gather *g, PetscLayout map, PetscInt *start, PetscInt *own)
{
    const PetscInt *range;
    PetscInt next = 0;

    PetscFunctionBegin;
    PetscCall(PetscLayoutGetRanges(map, &range));
    *own = 0;
    for (PetscMPIInt leader = 0; leader < g->ranks; leader++) {
        for (PetscMPIInt r = leader; g->leader[leader] == leader && r < g->ranks; r++) {
            if (g->leader[r] != leader) { continue; }
            start[r] = next;
            next += range[r + 1] - range[r];
            if (leader == g->rank) { *own += range[r + 1] - range[r]; }
        }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns of this process' rows by their new numbers, in ascending order. */
static PetscErrorCode renumber_columns(const tp_gather *g, Mat A, const tp_rows *rows, PetscInt *own, PetscInt *j,
                                       PetscScalar *a)
{
    const PetscInt *range;
    PetscLayout columns;
    PetscInt *start;

    PetscFunctionBegin;
    PetscCall(MatGetLayouts(A, NULL, &columns));
    PetscCall(PetscLayoutGetRanges(columns, &range));
    PetscCall(PetscMalloc1(g->ranks, &start));
    PetscCall(renumber(g, columns, start, own));
    for (PetscInt r = 0; r < rows->nrows; r++) {
        const PetscInt first = rows->i[r], count = rows->i[r + 1] - first;
        for (PetscInt k = first; k < first + count; k++) {
            PetscMPIInt owner;
            PetscCall(PetscLayoutFindOwner(columns, rows->j[k], &owner));
            j[k] = start[owner] + rows->j[k] - range[owner];
            a[k] = rows->a[k];
        }
        PetscCall(PetscSortIntWithScalarArray(count, j + first, a + first));
    }
    PetscCall(PetscFree(start));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- matrices ---- */

typedef struct owned_rows {
    PetscInt n, nnz, *i, *j;
    PetscScalar *a;
} owned_rows;

static PetscErrorCode allocate(PetscInt n, PetscInt nnz, owned_rows *out)
{
    PetscFunctionBegin;
    out->n = n;
    out->nnz = nnz;
    PetscCall(PetscMalloc3(n + 1, &out->i, nnz, &out->j, nnz, &out->a));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode own_rows(const tp_gather *g, Mat A, PetscInt *columns, owned_rows *out)
{
    Mat local;
    tp_rows rows;

    PetscFunctionBegin;
    PetscCall(MatMPIAIJGetLocalMat(A, MAT_INITIAL_MATRIX, &local));
    PetscCall(tp_rows_get(local, &rows));
    PetscCall(allocate(rows.nrows, rows.nrows > 0 ? rows.i[rows.nrows] : 0, out));
    out->i[0] = 0;
    for (PetscInt r = 0; r < rows.nrows; r++) {
        out->i[r + 1] = rows.i[r + 1];
    }
    PetscCall(renumber_columns(g, A, &rows, columns, out->j, out->a));
    PetscCall(tp_rows_restore(local, &rows));
    PetscCall(MatDestroy(&local));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode give(const tp_gather *g, const owned_rows *rows)
{
    const PetscMPIInt to = g->leader[g->rank];
    PetscMPIInt n, nnz;

    PetscFunctionBegin;
    PetscCall(PetscMPIIntCast(rows->n, &n));
    PetscCall(PetscMPIIntCast(rows->nnz, &nnz));
    PetscCallMPI(MPI_Send(rows->i + 1, n, MPIU_INT, to, g->tag, g->comm));
    PetscCallMPI(MPI_Send(rows->j, nnz, MPIU_INT, to, g->tag, g->comm));
    PetscCallMPI(MPI_Send(rows->a, nnz, MPIU_SCALAR, to, g->tag, g->comm));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of process r behind `at` and `entry` of those in `all`, which the two then count too. */
static PetscErrorCode append(const tp_gather *g, PetscMPIInt r, const PetscInt size[2], const owned_rows *own,
                             PetscInt *at, PetscInt *entry, owned_rows *all)
{
    PetscInt *const i = all->i + *at + 1, *const j = all->j + *entry;
    PetscScalar *const a = all->a + *entry;

    PetscFunctionBegin;
    if (r == g->rank) {
        PetscCall(PetscArraycpy(i, own->i + 1, own->n));
        PetscCall(PetscArraycpy(j, own->j, own->nnz));
        PetscCall(PetscArraycpy(a, own->a, own->nnz));
    } else {
        PetscMPIInt n, nnz;
        PetscCall(PetscMPIIntCast(size[0], &n));
        PetscCall(PetscMPIIntCast(size[1], &nnz));
        PetscCallMPI(MPI_Recv(i, n, MPIU_INT, r, g->tag, g->comm, MPI_STATUS_IGNORE));
        PetscCallMPI(MPI_Recv(j, nnz, MPIU_INT, r, g->tag, g->comm, MPI_STATUS_IGNORE));
        PetscCallMPI(MPI_Recv(a, nnz, MPIU_SCALAR, r, g->tag, g->comm, MPI_STATUS_IGNORE));
    }
    for (PetscInt k = 0; k < size[0]; k++) {
        i[k] += *entry;
    }
    *at += size[0];
    *entry += size[1];
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and entries of each process, the same on all of them, which find together what is too many. */
static PetscErrorCode share_sizes(const tp_gather *g, const owned_rows *own, PetscInt (*size)[2])
{
    const PetscInt here[2] = {own->n, own->nnz};
    int64_t *entries, most = 0;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Allgather(here, 2, MPIU_INT, size, 2, MPIU_INT, g->comm));
    PetscCall(PetscCalloc1(g->ranks, &entries));
    for (PetscMPIInt r = 0; r < g->ranks; r++) {
        entries[g->leader[r]] += size[r][1];
        most = PetscMax(most, entries[g->leader[r]]);
    }
    PetscCall(PetscFree(entries));
    PetscCheck(most <= PETSC_MPI_INT_MAX, g->comm, PETSC_ERR_ARG_OUTOFRANGE,
               "the processes of a GPU have more entries than MPI counts: give -pc_tessera_gather none");
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for the rows that this process leads. */
static PetscErrorCode make_room(const tp_gather *g, PetscInt (*const size)[2], owned_rows *all)
{
    PetscInt n = 0, nnz = 0;

    PetscFunctionBegin;
    for (PetscMPIInt r = 0; r < g->ranks; r++) {
        if (g->leader[r] != g->rank) { continue; }
        n += size[r][0];
        nnz += size[r][1];
    }
    PetscCall(allocate(n, nnz, all));
    all->i[0] = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode take(const tp_gather *g, PetscInt (*const size)[2], const owned_rows *own, owned_rows *all)
{
    PetscInt at = 0, entry = 0;

    PetscFunctionBegin;
    for (PetscMPIInt r = 0; r < g->ranks; r++) {
        if (g->leader[r] == g->rank) { PetscCall(append(g, r, size[r], own, &at, &entry, all)); }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_gather_matrix(const tp_gather *g, Mat A, Mat *out)
{
    owned_rows own = {0}, all = {0};
    PetscInt columns = 0, M, N, (*size)[2];

    PetscFunctionBegin;
    PetscCall(tp_agree(g->comm, own_rows(g, A, &columns, &own)));
    PetscCall(PetscMalloc1(g->ranks, &size));
    PetscCall(share_sizes(g, &own, size));
    PetscCall(tp_agree(g->comm, make_room(g, size, &all)));
    if (tp_gather_leads(g)) {
        PetscCall(take(g, size, &own, &all));
    } else {
        PetscCall(give(g, &own));
    }
    PetscCall(PetscFree(size));
    PetscCall(MatGetSize(A, &M, &N));
    PetscCall(
        MatCreateMPIAIJWithArrays(PetscObjectComm((PetscObject)A), all.n, columns, M, N, all.i, all.j, all.a, out));
    PetscCall(PetscFree3(all.i, all.j, all.a));
    PetscCall(PetscFree3(own.i, own.j, own.a));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- vectors ---- */

/* The old numbers of what this process has. */
static PetscErrorCode old_numbers(const tp_gather *g, PetscLayout map, PetscInt n, IS *out)
{
    const PetscInt *range;
    PetscInt *number, at = 0;

    PetscFunctionBegin;
    PetscCall(PetscLayoutGetRanges(map, &range));
    PetscCall(PetscMalloc1(n, &number));
    for (PetscMPIInt r = 0; r < g->ranks; r++) {
        for (PetscInt k = range[r]; g->leader[r] == g->rank && k < range[r + 1]; k++) {
            number[at++] = k;
        }
    }
    PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, number, PETSC_OWN_POINTER, out));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_gather_vector(const tp_gather *g, Vec own, Vec *out, VecScatter *scatter)
{
    PetscLayout map;
    PetscInt *start, n = 0;
    VecType type;
    IS from;

    PetscFunctionBegin;
    PetscCall(VecGetLayout(own, &map));
    PetscCall(PetscMalloc1(g->ranks, &start));
    PetscCall(renumber(g, map, start, &n));
    PetscCall(PetscFree(start));
    PetscCall(VecCreate(PetscObjectComm((PetscObject)own), out));
    PetscCall(VecSetSizes(*out, n, PETSC_DECIDE));
    PetscCall(VecGetType(own, &type));
    PetscCall(VecSetType(*out, type));
    PetscCall(old_numbers(g, map, n, &from));
    PetscCall(VecScatterCreate(own, from, *out, NULL, scatter));
    PetscCall(ISDestroy(&from));
    PetscFunctionReturn(PETSC_SUCCESS);
}
