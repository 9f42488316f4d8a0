/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structural rank: the largest number of entries no two of which share a row or a column. Depth-first search for
 * augmenting paths with a look-ahead for free columns (I. S. Duff, ACM Trans. Math. Softw. 7 (1981), MC21).
 */
#include <string.h>

#include "order/order.h"

/* The search may look at so many entries for each entry of the matrix. */
enum { STEPS_PER_ENTRY = 200 };

typedef struct rank_search {
    const tess_csr_view *a;
    int64_t *ahead;   /* by row: its next entry to look at for a free column */
    int64_t *next;    /* by row on the path: its next entry to follow */
    int32_t *row_of;  /* by column: the row matched to it; -1: none */
    int32_t *visited; /* by column: the last row from which a search came by; -1: none */
    int32_t *path;    /* rows */
    int32_t *came_by; /* the column by which the row after it on the path was reached */
    int64_t steps_left;
} rank_search;

static int64_t end_of(const rank_search *s, int32_t row)
{
    return tess_row_offset(s->a->row_ptr, s->a->row_ptr_bits, row + 1);
}

/* An unmatched column of the row; -1: none. Entries that are 0 do not count. */
static int32_t free_column(rank_search *s, int32_t row)
{
    while (s->ahead[row] < end_of(s, row)) {
        const int64_t k = s->ahead[row]++;

        s->steps_left -= 1;
        if (s->a->val[k] != 0.0 && s->row_of[s->a->col_ind[k]] < 0) { return s->a->col_ind[k]; }
    }
    return -1;
}

/* A matched column of the row that this search has not visited; -1: none. */
static int32_t next_column(rank_search *s, int32_t row, int32_t root)
{
    while (s->next[row] < end_of(s, row)) {
        const int64_t k = s->next[row]++;
        const int32_t column = s->a->col_ind[k];

        s->steps_left -= 1;
        if (s->a->val[k] != 0.0 && s->visited[column] != root) { return column; }
    }
    return -1;
}

/* Each row of the path gets the column by which it was left; the last one gets `column`. */
static void augment(rank_search *s, int64_t depth, int32_t column)
{
    for (int64_t d = depth; d >= 0; d--) {
        const int32_t before = d > 0 ? s->came_by[d - 1] : -1;

        s->row_of[column] = s->path[d];
        column = before;
    }
}

/* Whether an augmenting path from the row was found. */
static bool match_row(rank_search *s, int32_t root)
{
    int64_t depth = 0;

    s->path[0] = root;
    s->next[root] = tess_row_offset(s->a->row_ptr, s->a->row_ptr_bits, root);
    while (depth >= 0 && s->steps_left > 0) {
        const int32_t row = s->path[depth];
        int32_t column = free_column(s, row);

        if (column >= 0) {
            augment(s, depth, column);
            return true;
        }
        column = next_column(s, row, root);
        if (column < 0) {
            depth -= 1;
            continue;
        }
        s->visited[column] = root;
        s->came_by[depth] = column;
        depth += 1;
        s->path[depth] = s->row_of[column];
        s->next[s->path[depth]] = tess_row_offset(s->a->row_ptr, s->a->row_ptr_bits, s->path[depth]);
    }
    return false;
}

static void match_all(rank_search *s, tess_findings *f)
{
    static const tess_finding none = {.count = 0, .row = -1, .column = -1};

    f->structural_rank = 0;
    f->unmatched_rows = f->unmatched_columns = none;
    for (int64_t i = 0; i < s->a->nrows && s->steps_left > 0; i++) {
        if (match_row(s, (int32_t)i)) {
            f->structural_rank += 1;
        } else if (f->unmatched_rows.count++ == 0) {
            f->unmatched_rows.row = i;
        }
    }
    if (s->steps_left <= 0) {
        f->structural_rank = -1;
        f->unmatched_rows = none;
        return;
    }
    for (int64_t j = 0; j < s->a->ncols; j++) {
        if (s->row_of[j] < 0 && f->unmatched_columns.count++ == 0) { f->unmatched_columns.column = j; }
    }
}

tess_status order_structural_rank(tess_context *ctx, const tess_csr_view *a, tess_findings *f)
{
    const int64_t m = a->nrows, n = a->ncols;
    rank_search s = {.a = a, .steps_left = STEPS_PER_ENTRY * a->nnz + m + 1};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, m, sizeof *s.ahead, (void **)&s.ahead));
    TESS_TRY(tess_host_allocate(ctx, m, sizeof *s.next, (void **)&s.next));
    TESS_TRY(tess_host_allocate(ctx, m, sizeof *s.path, (void **)&s.path));
    TESS_TRY(tess_host_allocate(ctx, m, sizeof *s.came_by, (void **)&s.came_by));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *s.row_of, (void **)&s.row_of));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *s.visited, (void **)&s.visited));
    for (int64_t i = 0; i < m; i++) {
        s.ahead[i] = tess_row_offset(a->row_ptr, a->row_ptr_bits, i);
    }
    for (int64_t j = 0; j < n; j++) {
        s.row_of[j] = s.visited[j] = -1;
    }
    match_all(&s, f);
cleanup:
    tess_host_release(ctx, s.ahead, m, sizeof *s.ahead);
    tess_host_release(ctx, s.next, m, sizeof *s.next);
    tess_host_release(ctx, s.path, m, sizeof *s.path);
    tess_host_release(ctx, s.came_by, m, sizeof *s.came_by);
    tess_host_release(ctx, s.row_of, n, sizeof *s.row_of);
    tess_host_release(ctx, s.visited, n, sizeof *s.visited);
    return status;
}
