/* SPDX-License-Identifier: Apache-2.0 */
/* How a triangle is cut into leaves and squares. */
#include <stdlib.h>
#include <string.h>

#include "triangular/pieces.h"

/* Halves begin at multiples of this many rows, so that blocks of tiles and aligned loads of x do too. */
enum { ALIGNMENT = 64 };
/* A triangle with no more level sets than this is a leaf, however long it is: its level sets have enough rows for all
   threads. */
enum { FEW_LEVEL_SETS = 16 };

/* ---- memory ---- */

static void release_leaf(tess_context *ctx, triangle_leaf *l)
{
    tess_device_release(ctx, l->row, l->n, sizeof *l->row);
    tess_device_release(ctx, l->row_ptr, l->n + 1, (size_t)l->row_ptr_bits / 8);
    tess_device_release(ctx, l->col_ind, l->nnz, sizeof *l->col_ind);
    tess_device_release(ctx, l->val, l->nnz, tess_precision_bytes(l->precision));
    tess_device_release(ctx, l->source, l->nnz, sizeof *l->source);
    tess_device_release(ctx, l->workspace, l->workspace_bytes, 1);
    tess_device_release(ctx, l->columns_workspace, l->columns_bytes, 1);
    tess_host_release(ctx, l->runs, l->nruns, sizeof *l->runs);
}

static void release_square(tess_context *ctx, triangle_square *s)
{
    if (s->assembled) { tess_device_release(ctx, s->source, s->assembled->nnz, sizeof *s->source); }
    tess_matrix_destroy(s->stored);
    tess_matrix_destroy(s->assembled);
}

void triangle_release_pieces(sparse_triangle *t)
{
    for (int64_t i = 0; i < t->npieces; i++) {
        release_leaf(t->ctx, &t->pieces[i].leaf);
        release_square(t->ctx, &t->pieces[i].square);
    }
    t->npieces = 0;
    tess_device_release(t->ctx, t->order, t->n, sizeof *t->order);
    tess_device_release(t->ctx, t->work, triangle_work_vectors(t) * t->n, sizeof *t->work);
    tess_device_release(t->ctx, t->columns_work, triangle_work_vectors(t) * t->n * t->columns, sizeof *t->columns_work);
    t->order = NULL;
    t->work = t->columns_work = NULL;
    t->columns = 0;
}

/* Adds an empty piece at the end. */
static tess_status add_piece(sparse_triangle *t, triangle_piece **out)
{
    const int64_t capacity = t->capacity > 0 ? 2 * t->capacity : 1;
    triangle_piece *pieces = NULL;
    tess_status status = TESS_SUCCESS;

    if (t->npieces == t->capacity) {
        status = tess_host_allocate(t->ctx, capacity, sizeof *pieces, (void **)&pieces);
        if (status != TESS_SUCCESS) { return status; }
        if (t->npieces > 0) { memcpy(pieces, t->pieces, (size_t)t->npieces * sizeof *pieces); }
        tess_host_release(t->ctx, t->pieces, t->capacity, sizeof *pieces);
        t->pieces = pieces;
        t->capacity = capacity;
    }
    *out = &t->pieces[t->npieces++];
    memset(*out, 0, sizeof **out);
    return TESS_SUCCESS;
}

/* ---- rows of a part ---- */

/* Columns begin .. end - 1 of some rows, on the host: row i of them is row[i], or first_row + i. */
typedef struct part_rows {
    const int32_t *row; /* NULL: consecutive */
    int64_t first_row, n, begin, end, nnz;
    int64_t *row_ptr;
    int32_t *col_ind;
    int64_t *source;
} part_rows;

static int64_t part_row(const part_rows *r, int64_t i)
{
    return r->row ? r->row[i] : r->first_row + i;
}

static void release_part(tess_context *ctx, part_rows *r)
{
    tess_host_release(ctx, r->row_ptr, r->n + 1, sizeof *r->row_ptr);
    tess_host_release(ctx, r->col_ind, r->nnz, sizeof *r->col_ind);
    tess_host_release(ctx, r->source, r->nnz, sizeof *r->source);
}

/* Copies the entries; columns are counted from `base`. */
static void copy_entries(const triangle_pattern *p, int64_t base, part_rows *r)
{
    int64_t taken = 0;

    for (int64_t i = 0; i < r->n; i++) {
        const int64_t row = part_row(r, i);

        r->row_ptr[i] = taken;
        for (int64_t k = p->row_ptr[row]; k < p->row_ptr[row + 1]; k++) {
            if (p->col_ind[k] < r->begin || p->col_ind[k] >= r->end) { continue; }
            r->col_ind[taken] = (int32_t)(p->col_ind[k] - base);
            r->source[taken++] = p->source[k];
        }
    }
    r->row_ptr[r->n] = taken;
}

static tess_status take_part(tess_context *ctx, const triangle_pattern *p, int64_t base, part_rows *r)
{
    tess_status status = TESS_SUCCESS;

    for (int64_t i = 0; i < r->n; i++) {
        const int64_t row = part_row(r, i);

        for (int64_t k = p->row_ptr[row]; k < p->row_ptr[row + 1]; k++) {
            r->nnz += p->col_ind[k] >= r->begin && p->col_ind[k] < r->end;
        }
    }
    TESS_TRY(tess_host_allocate(ctx, r->n + 1, sizeof *r->row_ptr, (void **)&r->row_ptr));
    TESS_TRY(tess_host_allocate(ctx, r->nnz, sizeof *r->col_ind, (void **)&r->col_ind));
    TESS_TRY(tess_host_allocate(ctx, r->nnz, sizeof *r->source, (void **)&r->source));
    copy_entries(p, base, r);
cleanup:
    return status;
}

/* ---- leaves and squares ---- */

/* Narrows the offsets in place to half their width. */
static void narrow_offsets(int64_t *row_ptr, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const int32_t offset = (int32_t)row_ptr[i];

        memcpy((char *)row_ptr + (size_t)i * sizeof offset, &offset, sizeof offset);
    }
}

/* Takes the schedule's runs. */
static tess_status add_leaf(sparse_triangle *t, const triangle_pattern *p, int64_t first, level_schedule *s)
{
    tess_context *ctx = t->ctx;
    part_rows part = {.row = s->order, .n = s->n, .begin = first, .end = first + s->n};
    triangle_piece *piece = NULL;
    triangle_leaf *l = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(take_part(ctx, p, 0, &part));
    TESS_TRY(add_piece(t, &piece));
    l = &piece->leaf;
    l->first = first;
    l->n = s->n;
    l->nnz = part.nnz;
    l->level_sets = s->level_sets;
    l->precision = t->precision;
    l->row_ptr_bits = part.nnz < INT32_MAX ? 32 : 64;
    l->runs = s->runs;
    l->nruns = s->nruns;
    s->runs = NULL;
    s->nruns = 0;
    if (l->row_ptr_bits == 32) { narrow_offsets(part.row_ptr, s->n + 1); }
    TESS_TRY(tess_device_upload(ctx, s->order, s->n, sizeof *s->order, (void **)&l->row));
    TESS_TRY(tess_device_upload(ctx, part.row_ptr, s->n + 1, (size_t)l->row_ptr_bits / 8, &l->row_ptr));
    TESS_TRY(tess_device_upload(ctx, part.col_ind, part.nnz, sizeof *part.col_ind, (void **)&l->col_ind));
    TESS_TRY(tess_device_upload(ctx, part.source, part.nnz, sizeof *part.source, (void **)&l->source));
    TESS_TRY(tess_device_allocate(ctx, part.nnz, tess_precision_bytes(l->precision), &l->val));
    status = triangle_ops_of(ctx)->prepare(ctx, l);
cleanup:
    release_part(ctx, &part);
    return status;
}

tess_status triangle_take_leaf(sparse_triangle *t, device_csr *pattern, int64_t **source, leveled_rows *rows)
{
    triangle_piece *piece = NULL;
    triangle_leaf *l = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(add_piece(t, &piece));
    l = &piece->leaf;
    *l = (triangle_leaf){.n = t->n,
                         .nnz = pattern->nnz,
                         .level_sets = rows->level_sets,
                         .row = rows->order,
                         .row_ptr = pattern->row_ptr,
                         .row_ptr_bits = 32,
                         .col_ind = pattern->col_ind,
                         .source = *source,
                         .runs = rows->runs,
                         .nruns = rows->level_sets,
                         .precision = t->precision};
    *pattern = (device_csr){0};
    *source = NULL;
    *rows = (leveled_rows){0};
    TESS_TRY(tess_device_allocate(t->ctx, l->nnz, tess_precision_bytes(l->precision), &l->val));
    status = triangle_ops_of(t->ctx)->prepare(t->ctx, l);
cleanup:
    return status;
}

/* Rows and columns of a triangle, each from the first up to, but not, the end. */
typedef struct square_place {
    int64_t row, row_end, column, column_end;
} square_place;

/* Adds that square as a piece; none if it would be empty. */
static tess_status add_square(sparse_triangle *t, const triangle_pattern *p, square_place at)
{
    tess_context *ctx = t->ctx;
    part_rows part = {.first_row = at.row, .n = at.row_end - at.row, .begin = at.column, .end = at.column_end};
    triangle_piece *piece = NULL;
    double *zeros = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(take_part(ctx, p, at.column, &part));
    if (part.nnz == 0) { goto cleanup; }
    TESS_TRY(add_piece(t, &piece));
    piece->square = (triangle_square){.row = at.row, .column = at.column};
    TESS_TRY(tess_host_allocate(ctx, part.nnz, sizeof *zeros, (void **)&zeros));
    memset(zeros, 0, (size_t)part.nnz * sizeof *zeros);
    status = tess_matrix_adopt_csr(ctx, part.n, at.column_end - at.column, part.nnz, part.row_ptr, 64, part.col_ind,
                                   zeros, &piece->square.assembled);
    part.row_ptr = NULL; /* taken */
    part.col_ind = NULL;
    zeros = NULL;
    if (status != TESS_SUCCESS) { goto cleanup; }
    status = tess_device_upload(ctx, part.source, part.nnz, sizeof *part.source, (void **)&piece->square.source);
cleanup:
    tess_host_release(ctx, zeros, part.nnz, sizeof *zeros);
    release_part(ctx, &part);
    return status;
}

/* Lu et al. 2020, the recursive block algorithm: the triangle that the others need, the square beside it, the other
   triangle. */
static tess_status cut(sparse_triangle *t, const triangle_pattern *p, int64_t first, int64_t end)
{
    const int64_t half = ((end - first) / 2 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, middle = first + half;
    level_schedule schedule = {0};
    bool is_leaf = !t->blocks || end - first <= t->leaf || middle >= end;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(level_sets_find(t->ctx, p, first, end, &schedule));
    is_leaf = is_leaf || schedule.level_sets <= FEW_LEVEL_SETS;
    if (is_leaf) { status = add_leaf(t, p, first, &schedule); }
cleanup:
    level_sets_release(t->ctx, &schedule);
    if (status != TESS_SUCCESS || is_leaf) { return status; }
    status = p->upper ? cut(t, p, middle, end) : cut(t, p, first, middle);
    if (status != TESS_SUCCESS) { return status; }
    status = add_square(
        t, p, p->upper ? (square_place){first, middle, middle, end} : (square_place){middle, end, first, middle});
    if (status != TESS_SUCCESS) { return status; }
    return p->upper ? cut(t, p, first, middle) : cut(t, p, middle, end);
}

/* ---- order by level sets ---- */

typedef struct placed_entry {
    int32_t column;
    int64_t source;
} placed_entry;

static int compare_columns(const void *a, const void *b)
{
    const int32_t x = ((const placed_entry *)a)->column, y = ((const placed_entry *)b)->column;

    return (x > y) - (x < y);
}

/* Row `row` of p as the next row of `out`, its columns as places. */
static void place_row(const triangle_pattern *p, int64_t row, const int32_t *place, placed_entry *entries,
                      triangle_pattern *out, int64_t position)
{
    const int64_t begin = p->row_ptr[row], count = p->row_ptr[row + 1] - begin, to = out->row_ptr[position];

    for (int64_t k = 0; k < count; k++) {
        entries[k] = (placed_entry){place[p->col_ind[begin + k]], p->source[begin + k]};
    }
    qsort(entries, (size_t)count, sizeof *entries, compare_columns);
    for (int64_t k = 0; k < count; k++) {
        out->col_ind[to + k] = entries[k].column;
        out->source[to + k] = entries[k].source;
    }
    out->row_ptr[position + 1] = to + count;
}

static void release_pattern(tess_context *ctx, triangle_pattern *p, int64_t nnz)
{
    tess_host_release(ctx, p->row_ptr, p->n + 1, sizeof *p->row_ptr);
    tess_host_release(ctx, p->col_ind, nnz, sizeof *p->col_ind);
    tess_host_release(ctx, p->source, nnz, sizeof *p->source);
}

/* The triangle with its rows in this order, a lower one. */
static tess_status reorder(tess_context *ctx, const triangle_pattern *p, const int32_t *row, triangle_pattern *out)
{
    const int64_t n = p->n, nnz = p->row_ptr[n];
    int64_t longest = 0;
    int32_t *place = NULL;
    placed_entry *entries = NULL;
    tess_status status = TESS_SUCCESS;

    *out = (triangle_pattern){.n = n};
    for (int64_t i = 0; i < n; i++) {
        const int64_t length = p->row_ptr[i + 1] - p->row_ptr[i];

        longest = length > longest ? length : longest;
    }
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *place, (void **)&place));
    TESS_TRY(tess_host_allocate(ctx, longest, sizeof *entries, (void **)&entries));
    TESS_TRY(tess_host_allocate(ctx, n + 1, sizeof *out->row_ptr, (void **)&out->row_ptr));
    TESS_TRY(tess_host_allocate(ctx, nnz, sizeof *out->col_ind, (void **)&out->col_ind));
    TESS_TRY(tess_host_allocate(ctx, nnz, sizeof *out->source, (void **)&out->source));
    for (int64_t i = 0; i < n; i++) {
        place[row[i]] = (int32_t)i;
    }
    out->row_ptr[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        place_row(p, row[i], place, entries, out, i);
    }
cleanup:
    tess_host_release(ctx, place, n, sizeof *place);
    tess_host_release(ctx, entries, longest, sizeof *entries);
    return status;
}

/* Halves of rows in the order of their level sets have half the level sets each. In any other order both halves may
   have almost all of them, one after another: 64 leaves of a grid with 64 planes have 43 times as many as the grid. */
static tess_status cut_reordered(sparse_triangle *t, const triangle_pattern *p, const level_schedule *s)
{
    tess_context *ctx = t->ctx;
    triangle_pattern ordered = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(reorder(ctx, p, s->order, &ordered));
    TESS_TRY(tess_device_upload(ctx, s->order, t->n, sizeof *s->order, (void **)&t->order));
    TESS_TRY(tess_device_allocate(ctx, t->n, sizeof *t->work, (void **)&t->work));
    status = cut(t, &ordered, 0, t->n);
cleanup:
    release_pattern(ctx, &ordered, p->row_ptr[p->n]);
    return status;
}

/* Of sweeps. */
static tess_status allocate_work(sparse_triangle *t)
{
    return tess_device_allocate(t->ctx, triangle_work_vectors(t) * t->n, sizeof *t->work, (void **)&t->work);
}

/* All of the triangle as one square, and space for two vectors. */
static tess_status take_whole(sparse_triangle *t, const triangle_pattern *p)
{
    const tess_status status = add_square(t, p, (square_place){0, t->n, 0, t->n});

    return status == TESS_SUCCESS ? allocate_work(t) : status;
}

tess_status triangle_take_square(sparse_triangle *t, device_csr *pattern, int64_t **source)
{
    triangle_piece *piece = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(allocate_work(t));
    if (pattern->nnz == 0) { return TESS_SUCCESS; }
    TESS_TRY(add_piece(t, &piece));
    TESS_TRY(device_csr_to_matrix(t->ctx, pattern, &piece->square.assembled));
    piece->square.source = *source;
    *source = NULL;
cleanup:
    return status;
}

tess_status triangle_cut(sparse_triangle *t, const triangle_pattern *p)
{
    level_schedule schedule = {0};
    tess_status status = TESS_SUCCESS;

    if (t->sweeps > 0) { return take_whole(t, p); }
    if (!t->blocks || t->n <= t->leaf) { return cut(t, p, 0, t->n); }
    TESS_TRY(level_sets_find_each(t->ctx, p, &schedule));
    status = schedule.level_sets <= FEW_LEVEL_SETS ? cut(t, p, 0, t->n) : cut_reordered(t, p, &schedule);
cleanup:
    level_sets_release(t->ctx, &schedule);
    return status;
}
