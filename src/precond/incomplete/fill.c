/* SPDX-License-Identifier: Apache-2.0 */
/* Rows under construction, ILU(k) and ILUT. */
#include "precond/incomplete/fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadline.h"
#include "precond/incomplete/incomplete_rows.h"

/* ---- memory ---- */

tess_status fill_open(tess_context *ctx, int64_t n, int64_t capacity, fill_rows *rows, fill_work *work)
{
    tess_status status = TESS_SUCCESS;

    *rows = (fill_rows){.ctx = ctx, .n = n, .capacity = capacity};
    *work = (fill_work){.ctx = ctx, .n = n};
    TESS_TRY(tess_host_allocate(ctx, n + 1, sizeof *rows->row_ptr, (void **)&rows->row_ptr));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *rows->diagonal, (void **)&rows->diagonal));
    TESS_TRY(tess_host_allocate(ctx, capacity, sizeof *rows->col_ind, (void **)&rows->col_ind));
    TESS_TRY(tess_host_allocate(ctx, capacity, sizeof *rows->val, (void **)&rows->val));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *work->value, (void **)&work->value));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *work->stamp, (void **)&work->stamp));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *work->column, (void **)&work->column));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *work->heap, (void **)&work->heap));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *work->choice, (void **)&work->choice));
    memset(work->stamp, 0, (size_t)n * sizeof *work->stamp);
    rows->row_ptr[0] = 0;
cleanup:
    return status;
}

static void release_entries(fill_rows *rows)
{
    tess_host_release(rows->ctx, rows->col_ind, rows->capacity, sizeof *rows->col_ind);
    tess_host_release(rows->ctx, rows->val, rows->capacity, sizeof *rows->val);
}

void fill_close(fill_rows *rows, fill_work *work)
{
    tess_host_release(rows->ctx, rows->row_ptr, rows->n + 1, sizeof *rows->row_ptr);
    tess_host_release(rows->ctx, rows->diagonal, rows->n, sizeof *rows->diagonal);
    release_entries(rows);
    tess_host_release(work->ctx, work->value, work->n, sizeof *work->value);
    tess_host_release(work->ctx, work->stamp, work->n, sizeof *work->stamp);
    tess_host_release(work->ctx, work->column, work->n, sizeof *work->column);
    tess_host_release(work->ctx, work->heap, work->n, sizeof *work->heap);
    tess_host_release(work->ctx, work->choice, work->n, sizeof *work->choice);
}

/* Makes space for `more` entries after the present ones. */
static tess_status reserve(fill_rows *rows, int64_t more)
{
    fill_rows larger = *rows;
    tess_status status = TESS_SUCCESS;

    if (rows->nnz + more <= rows->capacity) { return TESS_SUCCESS; }
    larger.capacity = 2 * rows->capacity + more;
    larger.col_ind = NULL;
    larger.val = NULL;
    TESS_TRY(tess_host_allocate(rows->ctx, larger.capacity, sizeof *larger.col_ind, (void **)&larger.col_ind));
    TESS_TRY(tess_host_allocate(rows->ctx, larger.capacity, sizeof *larger.val, (void **)&larger.val));
    memcpy(larger.col_ind, rows->col_ind, (size_t)rows->nnz * sizeof *larger.col_ind);
    memcpy(larger.val, rows->val, (size_t)rows->nnz * sizeof *larger.val);
    release_entries(rows);
    *rows = larger;
    return TESS_SUCCESS;
cleanup:
    release_entries(&larger);
    return status;
}

/* ---- the row under construction ---- */

void fill_begin_row(fill_work *work, int64_t row)
{
    work->row = row;
    work->count = work->heaped = work->chosen = 0;
}

static void push(fill_work *work, int32_t column)
{
    int64_t at = work->heaped++;

    while (at > 0 && work->heap[(at - 1) / 2] > column) {
        work->heap[at] = work->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    work->heap[at] = column;
}

double *fill_touch(fill_work *work, int32_t column, double initial)
{
    if (work->stamp[column] != (int32_t)work->row + 1) {
        work->stamp[column] = (int32_t)work->row + 1;
        work->value[column] = initial;
        work->column[work->count++] = column;
        if (column < work->row) { push(work, column); }
    }
    return work->value + column;
}

int32_t fill_next(fill_work *work)
{
    int32_t *heap = work->heap;
    int64_t at = 0, child = 1;
    int32_t first = -1, last = 0;

    if (work->heaped == 0) { return -1; }
    first = heap[0];
    last = heap[--work->heaped];
    while (child < work->heaped) {
        if (child + 1 < work->heaped && heap[child + 1] < heap[child]) { child += 1; }
        if (last <= heap[child]) { break; }
        heap[at] = heap[child];
        at = child;
        child = 2 * at + 1;
    }
    heap[at] = last;
    return first;
}

/* Larger magnitudes first, of equal ones the left. */
static int compare_sizes(const void *left, const void *right)
{
    const fill_entry *a = left, *b = right;
    const double x = fabs(a->value), y = fabs(b->value);

    return x > y ? -1 : x < y ? 1 : a->column < b->column ? -1 : a->column > b->column;
}

static int compare_columns(const void *left, const void *right)
{
    const fill_entry *a = left, *b = right;

    return a->column < b->column ? -1 : a->column > b->column;
}

tess_status fill_end_row(fill_work *work, fill_rows *rows, double diagonal, int64_t most)
{
    int64_t at = rows->nnz;
    const tess_status status = reserve(rows, work->chosen + 1);

    if (status != TESS_SUCCESS) { return status; }
    if (work->chosen > most) {
        qsort(work->choice, (size_t)work->chosen, sizeof *work->choice, compare_sizes);
        work->chosen = most;
    }
    fill_choose(work, (int32_t)work->row, diagonal); /* there is space, as no other entry has that column */
    qsort(work->choice, (size_t)work->chosen, sizeof *work->choice, compare_columns);
    for (int64_t k = 0; k < work->chosen; k++, at++) {
        rows->col_ind[at] = work->choice[k].column;
        rows->val[at] = work->choice[k].value;
        if (work->choice[k].column == work->row) { rows->diagonal[work->row] = at; }
    }
    rows->nnz = at;
    rows->row_ptr[work->row + 1] = at;
    return TESS_SUCCESS;
}

double fill_pivot(double pivot, double size)
{
    if (fabs(pivot) > INCOMPLETE_PIVOT * size) { return pivot; }
    return size > 0.0 ? size : 1.0;
}

/* ---- ILU(k) ---- */

/* Saad 2003, Algorithm 10.5: lev_ij = min(lev_ij, lev_ik + lev_kj + 1), and entries above `level` are dropped. */
static void find_levels(const fill_rows *rows, int level, fill_work *work)
{
    for (int32_t k = fill_next(work); k >= 0; k = fill_next(work)) {
        const double own = work->value[k] + 1.0;

        for (int64_t e = rows->diagonal[k] + 1; e < rows->row_ptr[k + 1]; e++) {
            if (own + rows->val[e] > level) { continue; }
            double *other = fill_touch(work, rows->col_ind[e], own + rows->val[e]);

            if (own + rows->val[e] < *other) { *other = own + rows->val[e]; }
        }
    }
}

tess_status fill_by_levels(const fill_input *a, int level, fill_rows *rows, fill_work *work)
{
    tess_status status = TESS_SUCCESS;

    for (int64_t i = 0; i < a->n; i++) {
        TESS_TRY(tess_deadline_check(rows->ctx, "iluk"));
        fill_begin_row(work, i);
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            (void)fill_touch(work, a->col_ind[k], 0.0);
        }
        find_levels(rows, level, work);
        for (int64_t k = 0; k < work->count; k++) {
            if (work->column[k] != i) { fill_choose(work, work->column[k], work->value[work->column[k]]); }
        }
        TESS_TRY(fill_end_row(work, rows, 0.0, work->chosen));
    }
cleanup:
    return status;
}

/* ---- ILUT ---- */

/* Saad 2003, Algorithm 10.6, lines 3 to 10: w_k is l_ik u_kk, so that a scale of row k does not matter. */
static void eliminate(const fill_rows *rows, double tolerance, fill_work *work)
{
    for (int32_t k = fill_next(work); k >= 0; k = fill_next(work)) {
        const double multiplier = work->value[k] / rows->val[rows->diagonal[k]];

        if (fabs(work->value[k]) < tolerance || multiplier == 0.0) { continue; }
        for (int64_t e = rows->diagonal[k] + 1; e < rows->row_ptr[k + 1]; e++) {
            *fill_touch(work, rows->col_ind[e], 0.0) -= multiplier * rows->val[e];
        }
    }
}

tess_status fill_by_threshold(const fill_input *a, const fill_limits *o, fill_rows *rows, fill_work *work)
{
    tess_status status = TESS_SUCCESS;

    for (int64_t i = 0; i < a->n; i++) {
        const int64_t own = a->row_ptr[i + 1] - a->row_ptr[i];
        double sum = 0.0, squares = 0.0, tolerance = 0.0;

        TESS_TRY(tess_deadline_check(rows->ctx, "ilut"));
        fill_begin_row(work, i);
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            *fill_touch(work, a->col_ind[k], 0.0) = a->val[k];
            sum += fabs(a->val[k]);
        }
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1] && sum > 0.0; k++) {
            squares += (a->val[k] / sum) * (a->val[k] / sum); /* in range for any values */
        }
        tolerance = o->drop * sum * sqrt(squares);
        (void)fill_touch(work, (int32_t)i, 0.0);
        eliminate(rows, tolerance, work);
        for (int64_t k = 0; k < work->count; k++) {
            const int32_t j = work->column[k];
            const double value = work->value[j];

            if (j != i && value != 0.0 && !(fabs(value) < tolerance)) { fill_choose(work, j, value); }
        }
        TESS_TRY(fill_end_row(work, rows, fill_pivot(work->value[i], sum), fill_most(o->fill, own, a->n)));
    }
cleanup:
    return status;
}
