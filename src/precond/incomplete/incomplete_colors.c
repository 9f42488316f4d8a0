/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matrix in an order by colors: rows of one color do not need each other, so that a triangle of factors without
 * fill has at most as many level sets as there are colors. Greedy: a row takes the first color that no neighbour before
 * it has, in the order of the rows; with at most as many colors as the longest row of A + A^T has entries. Within a
 * color rows keep their order. Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 12.4.
 */
#include <stdlib.h>
#include <string.h>

#include "base/stages.h"
#include "precond/incomplete/fill.h"
#include "precond/incomplete/incomplete.h"

/* An entry of a row in the new order. */
typedef struct placed_entry {
    int64_t source;
    int32_t column;
} placed_entry;

/* On the host. For a symmetric factorization only entries up to the diagonal count. */
typedef struct coloring {
    tess_context *ctx;
    int64_t n, nnz, kept;
    bool lower;
    int64_t *row_ptr, *turned_ptr; /* n + 1 each: of A, and of its transpose */
    int32_t *col_ind, *turned_ind; /* nnz each */
    int32_t *color, *order, *place;
    int64_t *stamp; /* n + 1: by color, one more than the last row that had a neighbour of it */
} coloring;

static tess_status open_coloring(const tess_matrix *a, bool lower, coloring *c)
{
    tess_context *ctx = a->ctx;
    tess_status status = TESS_SUCCESS;

    *c = (coloring){.ctx = ctx, .n = a->nrows, .nnz = a->nnz, .lower = lower};
    TESS_TRY(tess_host_allocate(ctx, c->n + 1, sizeof *c->row_ptr, (void **)&c->row_ptr));
    TESS_TRY(tess_host_allocate(ctx, c->n + 1, sizeof *c->turned_ptr, (void **)&c->turned_ptr));
    TESS_TRY(tess_host_allocate(ctx, c->nnz, sizeof *c->col_ind, (void **)&c->col_ind));
    TESS_TRY(tess_host_allocate(ctx, c->nnz, sizeof *c->turned_ind, (void **)&c->turned_ind));
    TESS_TRY(tess_host_allocate(ctx, c->n, sizeof *c->color, (void **)&c->color));
    TESS_TRY(tess_host_allocate(ctx, c->n, sizeof *c->order, (void **)&c->order));
    TESS_TRY(tess_host_allocate(ctx, c->n, sizeof *c->place, (void **)&c->place));
    TESS_TRY(tess_host_allocate(ctx, c->n + 1, sizeof *c->stamp, (void **)&c->stamp));
    TESS_TRY(a->ops->decode(a, c->row_ptr, c->col_ind, NULL));
    fill_transpose(&(fill_input){.n = c->n, .row_ptr = c->row_ptr, .col_ind = c->col_ind}, false, c->turned_ptr,
                   c->turned_ind, NULL);
cleanup:
    return status;
}

static void close_coloring(coloring *c)
{
    tess_host_release(c->ctx, c->row_ptr, c->n + 1, sizeof *c->row_ptr);
    tess_host_release(c->ctx, c->turned_ptr, c->n + 1, sizeof *c->turned_ptr);
    tess_host_release(c->ctx, c->col_ind, c->nnz, sizeof *c->col_ind);
    tess_host_release(c->ctx, c->turned_ind, c->nnz, sizeof *c->turned_ind);
    tess_host_release(c->ctx, c->color, c->n, sizeof *c->color);
    tess_host_release(c->ctx, c->order, c->n, sizeof *c->order);
    tess_host_release(c->ctx, c->place, c->n, sizeof *c->place);
    tess_host_release(c->ctx, c->stamp, c->n + 1, sizeof *c->stamp);
}

/* Marks the colors of the neighbours before row i, whose columns ascend. */
static void mark_neighbours(const coloring *c, const int64_t *row_ptr, const int32_t *col_ind, int64_t i)
{
    for (int64_t k = row_ptr[i]; k < row_ptr[i + 1] && col_ind[k] < i; k++) {
        c->stamp[c->color[col_ind[k]]] = i + 1;
    }
}

/* Colors from 0; the rows in their new order, and where each went. */
static void color_rows(const coloring *c)
{
    memset(c->stamp, 0, (size_t)(c->n + 1) * sizeof *c->stamp);
    for (int64_t i = 0; i < c->n; i++) {
        int32_t color = 0;

        mark_neighbours(c, c->row_ptr, c->col_ind, i);
        if (!c->lower) { mark_neighbours(c, c->turned_ptr, c->turned_ind, i); }
        while (c->stamp[color] == i + 1) {
            color++;
        }
        c->color[i] = color;
    }
    memset(c->stamp, 0, (size_t)(c->n + 1) * sizeof *c->stamp);
    for (int64_t i = 0; i < c->n; i++) {
        c->stamp[c->color[i] + 1] += 1;
    }
    for (int64_t k = 0; k < c->n; k++) {
        c->stamp[k + 1] += c->stamp[k];
    }
    for (int64_t i = 0; i < c->n; i++) {
        c->place[i] = (int32_t)c->stamp[c->color[i]]++;
        c->order[c->place[i]] = (int32_t)i;
    }
}

/* The row and column of entry k of row i in the new order: below the diagonal, if only that is factored. */
static void place_entry(const coloring *c, int64_t i, int64_t k, int32_t *row, int32_t *column)
{
    const int32_t p = c->place[i], q = c->place[c->col_ind[k]];
    const bool swap = c->lower && q > p;

    *row = swap ? q : p;
    *column = swap ? p : q;
}

static bool is_read(const coloring *c, int64_t i, int64_t k)
{
    return !c->lower || c->col_ind[k] <= i;
}

static int compare_columns(const void *a, const void *b)
{
    const int32_t x = ((const placed_entry *)a)->column, y = ((const placed_entry *)b)->column;

    return (x > y) - (x < y);
}

/* Row offsets of the new order. Returns the number of entries. */
static int64_t count_entries(const coloring *c, int64_t *row_ptr)
{
    int32_t row = 0, column = 0;

    memset(row_ptr, 0, (size_t)(c->n + 1) * sizeof *row_ptr);
    for (int64_t i = 0; i < c->n; i++) {
        for (int64_t k = c->row_ptr[i]; k < c->row_ptr[i + 1]; k++) {
            if (!is_read(c, i, k)) { continue; }
            place_entry(c, i, k, &row, &column);
            row_ptr[row + 1] += 1;
        }
    }
    for (int64_t i = 0; i < c->n; i++) {
        row_ptr[i + 1] += row_ptr[i];
    }
    return row_ptr[c->n];
}

/* The entries, row by row, with ascending columns. `next`: n places. */
static void place_entries(const coloring *c, const int64_t *row_ptr, int64_t *next, placed_entry *entries)
{
    int32_t row = 0, column = 0;

    memcpy(next, row_ptr, (size_t)c->n * sizeof *next);
    for (int64_t i = 0; i < c->n; i++) {
        for (int64_t k = c->row_ptr[i]; k < c->row_ptr[i + 1]; k++) {
            if (!is_read(c, i, k)) { continue; }
            place_entry(c, i, k, &row, &column);
            entries[next[row]++] = (placed_entry){k, column};
        }
    }
    for (int64_t i = 0; i < c->n; i++) {
        qsort(entries + row_ptr[i], (size_t)(row_ptr[i + 1] - row_ptr[i]), sizeof *entries, compare_columns);
    }
}

/* The matrix in the new order, with zeros, and on the device the source of each value. */
static tess_status make_matrix(const coloring *c, incomplete_colors *out)
{
    tess_context *ctx = c->ctx;
    int64_t *row_ptr = NULL, *source = NULL, nnz = 0;
    int32_t *col_ind = NULL;
    double *val = NULL;
    placed_entry *entries = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, c->n + 1, sizeof *row_ptr, (void **)&row_ptr));
    nnz = count_entries(c, row_ptr);
    TESS_TRY(tess_host_allocate(ctx, nnz, sizeof *entries, (void **)&entries));
    TESS_TRY(tess_host_allocate(ctx, nnz, sizeof *source, (void **)&source));
    TESS_TRY(tess_host_allocate(ctx, nnz, sizeof *col_ind, (void **)&col_ind));
    TESS_TRY(tess_host_allocate(ctx, nnz, sizeof *val, (void **)&val));
    place_entries(c, row_ptr, c->stamp, entries);
    for (int64_t k = 0; k < nnz; k++) {
        source[k] = entries[k].source;
        col_ind[k] = entries[k].column;
        val[k] = 0.0;
    }
    TESS_TRY(tess_device_upload(ctx, source, nnz, sizeof *source, (void **)&out->source));
    status = tess_matrix_adopt_csr(ctx, c->n, c->n, nnz, row_ptr, 64, col_ind, val, &out->matrix);
    row_ptr = NULL; /* taken */
    col_ind = NULL;
    val = NULL;
cleanup:
    if (status != TESS_SUCCESS) {
        tess_device_release(ctx, out->source, nnz, sizeof *out->source);
        out->source = NULL;
    }
    tess_host_release(ctx, row_ptr, c->n + 1, sizeof *row_ptr);
    tess_host_release(ctx, entries, nnz, sizeof *entries);
    tess_host_release(ctx, source, nnz, sizeof *source);
    tess_host_release(ctx, col_ind, nnz, sizeof *col_ind);
    tess_host_release(ctx, val, nnz, sizeof *val);
    return status;
}

tess_status incomplete_colors_open(const tess_matrix *a, bool lower, incomplete_colors *out)
{
    tess_context *ctx = a->ctx;
    coloring c;
    tess_status status = TESS_SUCCESS;

    *out = (incomplete_colors){.n = a->nrows};
    TESS_TRY(open_coloring(a, lower, &c));
    color_rows(&c);
    TESS_TRY(make_matrix(&c, out));
    TESS_TRY(tess_device_upload(ctx, c.order, c.n, sizeof *c.order, (void **)&out->order));
    TESS_TRY(tess_device_allocate(ctx, out->n, sizeof *out->work, (void **)&out->work));
    out->row = c.order;
    c.order = NULL;
    for (int64_t i = 0; i < c.n; i++) {
        out->count = c.color[i] >= out->count ? c.color[i] + 1 : out->count;
    }
    status = tess_stage_end(ctx, "order by colors");
cleanup:
    close_coloring(&c);
    if (status != TESS_SUCCESS) { incomplete_colors_close(ctx, out); }
    return status;
}

void incomplete_colors_close(tess_context *ctx, incomplete_colors *c)
{
    if (c->matrix) { tess_device_release(ctx, c->source, c->matrix->nnz, sizeof *c->source); }
    tess_matrix_destroy(c->matrix);
    tess_device_release(ctx, c->order, c->n, sizeof *c->order);
    tess_device_release(ctx, c->work, c->n, sizeof *c->work);
    tess_host_release(ctx, c->row, c->n, sizeof *c->row);
    *c = (incomplete_colors){0};
}

tess_status incomplete_colors_renew(const tess_matrix *a, incomplete_colors *c)
{
    tess_matrix *own = c->matrix;

    own->values_version += 1;
    return csr_ops_of(a->ctx)->gather(a->ctx, own->nnz, csr_of(a)->view.val, c->source, csr_own_values(own->storage));
}

int64_t incomplete_colors_bytes(const incomplete_colors *c)
{
    if (!c->matrix) { return 0; }
    return tess_matrix_bytes(c->matrix) + c->matrix->nnz * (int64_t)sizeof *c->source +
           c->n * (int64_t)(sizeof *c->order + sizeof *c->work);
}
