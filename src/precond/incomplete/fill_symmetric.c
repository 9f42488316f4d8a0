/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pattern of ICT. Rows of U = D L^T are computed one after another; row i needs the rows k with an entry u_ki,
 * which wait in a list for column i. Source: Jones, Plassmann, ACM TOMS 21 (1995), the lists; Saad 1994, dropping.
 */
#include <math.h>
#include <string.h>

#include "base/deadline.h"
#include "precond/incomplete/fill.h"

/* Rows that wait: next[k] is the row after k in its list, at[k] the place of its entry in that column. */
typedef struct fill_lists {
    int32_t *first, *next; /* n each; -1: none */
    int64_t *at;           /* n */
    double *norm;          /* n: of the rows of A */
} fill_lists;

static tess_status open_lists(tess_context *ctx, int64_t n, fill_lists *lists)
{
    tess_status status = TESS_SUCCESS;

    *lists = (fill_lists){NULL, NULL, NULL, NULL};
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *lists->first, (void **)&lists->first));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *lists->next, (void **)&lists->next));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *lists->at, (void **)&lists->at));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *lists->norm, (void **)&lists->norm));
    for (int64_t i = 0; i < n; i++) {
        lists->first[i] = -1;
        lists->norm[i] = 0.0;
    }
cleanup:
    return status;
}

static void close_lists(tess_context *ctx, int64_t n, fill_lists *lists)
{
    tess_host_release(ctx, lists->first, n, sizeof *lists->first);
    tess_host_release(ctx, lists->next, n, sizeof *lists->next);
    tess_host_release(ctx, lists->at, n, sizeof *lists->at);
    tess_host_release(ctx, lists->norm, n, sizeof *lists->norm);
}

/* Row k waits for the column of its entry at that place, if it has one. */
static void wait_for_column(const fill_rows *rows, fill_lists *lists, int32_t k, int64_t at)
{
    if (at == rows->row_ptr[k + 1]) { return; }
    lists->at[k] = at;
    lists->next[k] = lists->first[rows->col_ind[at]];
    lists->first[rows->col_ind[at]] = k;
}

/* u_ij -= u_ki u_kj / u_kk for the rows that wait for column i. */
static void subtract_rows(const fill_rows *rows, fill_lists *lists, int32_t i, fill_work *work)
{
    for (int32_t k = lists->first[i], next = -1; k >= 0; k = next) {
        const int64_t at = lists->at[k];
        const double multiplier = rows->val[at] / rows->val[rows->diagonal[k]];

        next = lists->next[k];
        for (int64_t e = at; e < rows->row_ptr[k + 1]; e++) {
            *fill_touch(work, rows->col_ind[e], 0.0) -= multiplier * rows->val[e];
        }
        wait_for_column(rows, lists, k, at + 1);
    }
}

/* Row i of U. An entry is compared with the norms of both of its rows, as A is symmetric. */
static tess_status make_row(const fill_input *u, const fill_limits *o, int64_t i, fill_rows *rows, fill_lists *lists,
                            fill_work *work)
{
    const int64_t own = u->row_ptr[i + 1] - u->row_ptr[i];
    double size = 0.0;
    tess_status status = TESS_SUCCESS;

    fill_begin_row(work, i);
    (void)fill_touch(work, (int32_t)i, 0.0);
    for (int64_t k = u->row_ptr[i]; k < u->row_ptr[i + 1]; k++) {
        *fill_touch(work, u->col_ind[k], 0.0) = u->val[k];
    }
    size = fabs(work->value[i]) > 0.0 ? fabs(work->value[i]) : lists->norm[i];
    subtract_rows(rows, lists, (int32_t)i, work);
    for (int64_t k = 0; k < work->count; k++) {
        const int32_t j = work->column[k];
        const double value = work->value[j], tolerance = o->drop * sqrt(lists->norm[i]) * sqrt(lists->norm[j]);

        if (j != i && value != 0.0 && !(fabs(value) < tolerance)) { fill_choose(work, j, value); }
    }
    /* a pivot that is not positive leaves a pattern of no use: the diagonal entry of A takes its place */
    TESS_TRY(fill_end_row(work, rows, fill_pivot(work->value[i] > 0.0 ? work->value[i] : 0.0, size),
                          fill_most(o->fill, own, u->n)));
    wait_for_column(rows, lists, (int32_t)i, rows->diagonal[i] + 1);
cleanup:
    return status;
}

/* The largest magnitude of each row, by the lower triangle, and the number of its entries. */
static int64_t measure(const fill_input *a, double *norm)
{
    int64_t count = 0;

    for (int64_t i = 0; i < a->n; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1] && a->col_ind[k] <= i; k++) {
            norm[i] = fmax(norm[i], fabs(a->val[k]));
            norm[a->col_ind[k]] = fmax(norm[a->col_ind[k]], fabs(a->val[k]));
            count += 1;
        }
    }
    return count;
}

/* Whether each row of an upper triangle begins with a negative diagonal entry: the pattern is that of -A. */
static bool is_negative(const fill_input *upper)
{
    for (int64_t i = 0; i < upper->n; i++) {
        const int64_t k = upper->row_ptr[i];

        if (k == upper->row_ptr[i + 1] || upper->col_ind[k] != i || !(upper->val[k] < 0.0)) { return false; }
    }
    return true;
}

tess_status fill_symmetric(const fill_input *a, const fill_limits *o, fill_rows *rows, fill_work *work)
{
    tess_context *ctx = rows->ctx;
    fill_lists lists;
    int64_t count = 0, *row_ptr = NULL, *source = NULL;
    int32_t *col_ind = NULL;
    double *val = NULL;
    fill_input upper;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(open_lists(ctx, a->n, &lists));
    count = measure(a, lists.norm);
    TESS_TRY(tess_host_allocate(ctx, a->n + 1, sizeof *row_ptr, (void **)&row_ptr));
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *col_ind, (void **)&col_ind));
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *source, (void **)&source));
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *val, (void **)&val));
    fill_transpose(a, true, row_ptr, col_ind, source);
    for (int64_t k = 0; k < count; k++) {
        val[k] = a->val[source[k]];
    }
    upper = (fill_input){a->n, row_ptr, col_ind, val};
    if (is_negative(&upper)) {
        for (int64_t k = 0; k < count; k++) {
            val[k] = -val[k];
        }
    }
    for (int64_t i = 0; i < a->n; i++) {
        TESS_TRY(tess_deadline_check(ctx, "ict"));
        TESS_TRY(make_row(&upper, o, i, rows, &lists, work));
    }
cleanup:
    close_lists(ctx, a->n, &lists);
    tess_host_release(ctx, row_ptr, a->n + 1, sizeof *row_ptr);
    tess_host_release(ctx, col_ind, count, sizeof *col_ind);
    tess_host_release(ctx, source, count, sizeof *source);
    tess_host_release(ctx, val, count, sizeof *val);
    return status;
}
