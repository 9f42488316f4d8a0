/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse triangular solves: the cut into blocks, values, the order of the solution. Merged level sets are in files of
   their own. */
#include "triangular/triangular.h"

#include <string.h>

#include "format/csr/csr.h"
#include "matrix/storage_options.h"
#include "triangular/merged_triangle.h"

/* Halves begin at multiples of this many rows, so that blocks of tiles and aligned loads of x do too. */
enum { ALIGNMENT = 64 };
/* A triangle with no more level sets than this is a leaf, however long it is: its level sets have enough rows for all
   threads. */
enum { FEW_LEVEL_SETS = 16 };

/* Rows first .. of x minus the square times x from column `column` on. */
typedef struct triangle_square {
    int64_t row, column;
    tess_matrix *assembled, *stored; /* stored: NULL before the first values, and if assembled is used */
    int64_t *source;                 /* on the device */
} triangle_square;

/* One of the two. assembled is NULL for a leaf. */
typedef struct triangle_piece {
    triangle_leaf leaf;
    triangle_square square;
} triangle_piece;

struct sparse_triangle {
    tess_context *ctx;
    int64_t n;
    bool blocks;
    int64_t leaf;
    tess_precision precision;
    storage_request squares;
    triangle_piece *pieces; /* in the order of the solution */
    int64_t npieces, capacity;
    merged_triangle *merged; /* NULL: the pieces are used */
    uint64_t moves;          /* number of moves before it became pieces */
};

/* ---- memory ---- */

static void release_leaf(tess_context *ctx, triangle_leaf *l)
{
    tess_device_release(ctx, l->row, l->n, sizeof *l->row);
    tess_device_release(ctx, l->row_ptr, l->n + 1, (size_t)l->row_ptr_bits / 8);
    tess_device_release(ctx, l->col_ind, l->nnz, sizeof *l->col_ind);
    tess_device_release(ctx, l->val, l->nnz, tess_precision_bytes(l->precision));
    tess_device_release(ctx, l->source, l->nnz, sizeof *l->source);
    tess_device_release(ctx, l->workspace, l->workspace_bytes, 1);
    tess_host_release(ctx, l->runs, l->nruns, sizeof *l->runs);
}

static void release_square(tess_context *ctx, triangle_square *s)
{
    if (s->assembled) { tess_device_release(ctx, s->source, s->assembled->nnz, sizeof *s->source); }
    tess_matrix_destroy(s->stored);
    tess_matrix_destroy(s->assembled);
}

static void release_pieces(sparse_triangle *t)
{
    for (int64_t i = 0; i < t->npieces; i++) {
        release_leaf(t->ctx, &t->pieces[i].leaf);
        release_square(t->ctx, &t->pieces[i].square);
    }
    t->npieces = 0;
}

void triangle_destroy(sparse_triangle *t)
{
    if (!t) { return; }
    release_pieces(t);
    tess_host_release(t->ctx, t->pieces, t->capacity, sizeof *t->pieces);
    merged_destroy(t->merged);
    tess_host_release(t->ctx, t, 1, sizeof *t);
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

/* Rows row .. row_end - 1 by columns column .. column_end - 1; none if it would be empty. */
static tess_status add_square(sparse_triangle *t, const triangle_pattern *p, int64_t row, int64_t row_end,
                              int64_t column, int64_t column_end)
{
    tess_context *ctx = t->ctx;
    part_rows part = {.first_row = row, .n = row_end - row, .begin = column, .end = column_end};
    triangle_piece *piece = NULL;
    double *zeros = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(take_part(ctx, p, column, &part));
    if (part.nnz == 0) { goto cleanup; }
    TESS_TRY(add_piece(t, &piece));
    piece->square = (triangle_square){.row = row, .column = column};
    TESS_TRY(tess_host_allocate(ctx, part.nnz, sizeof *zeros, (void **)&zeros));
    memset(zeros, 0, (size_t)part.nnz * sizeof *zeros);
    status = tess_matrix_adopt_csr(ctx, part.n, column_end - column, part.nnz, part.row_ptr, 64, part.col_ind, zeros,
                                   &piece->square.assembled);
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
    status = p->upper ? add_square(t, p, first, middle, middle, end) : add_square(t, p, middle, end, first, middle);
    if (status != TESS_SUCCESS) { return status; }
    return p->upper ? cut(t, p, first, middle) : cut(t, p, middle, end);
}

tess_status triangle_create(tess_context *ctx, triangle_pattern *p, const triangle_options *options,
                            sparse_triangle **out)
{
    sparse_triangle *t = NULL;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *t, (void **)&t));
    *t = (sparse_triangle){
        .ctx = ctx, .n = p->n, .blocks = options->blocks, .leaf = options->leaf, .precision = options->precision};
    storage_request_set(&t->squares, options->squares);
    if (p->n > 0 && options->merged) {
        TESS_TRY(merged_create(ctx, p, options->level_sets, options->precision, &t->merged));
    }
    if (t->n > 0 && !t->merged) { TESS_TRY(cut(t, p, 0, t->n)); }
    *out = t;
cleanup:
    if (status != TESS_SUCCESS) { triangle_destroy(t); }
    return status;
}

/* ---- values ---- */

tess_status triangle_values_upload(tess_context *ctx, triangle_values *v)
{
    tess_status status = TESS_SUCCESS;

    if (v->device) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_upload(ctx, v->host, v->count, sizeof *v->copy, (void **)&v->copy));
    v->device = v->copy;
cleanup:
    return status;
}

void triangle_values_release(tess_context *ctx, triangle_values *v)
{
    tess_device_release(ctx, v->copy, v->count, sizeof *v->copy);
    *v = (triangle_values){0};
}

static tess_status fill_leaf(tess_context *ctx, const triangle_leaf *l, const double *values)
{
    const csr_ops *csr = csr_ops_of(ctx);
    double *wide = NULL;
    tess_status status = TESS_SUCCESS;

    if (l->precision == TESS_PRECISION_FP64) { return csr->gather(ctx, l->nnz, values, l->source, l->val); }
    TESS_TRY(tess_device_allocate(ctx, l->nnz, sizeof *wide, (void **)&wide));
    TESS_TRY(csr->gather(ctx, l->nnz, values, l->source, wide));
    status = ctx->backend->convert(ctx, l->nnz, TESS_PRECISION_FP64, wide, l->precision, l->val);
cleanup:
    tess_device_release(ctx, wide, l->nnz, sizeof *wide);
    return status;
}

static bool is_plain(const tess_storage_options *o)
{
    return o->format == TESS_FORMAT_CSR && o->precision == TESS_PRECISION_FP64;
}

/* In the format of the options, or in csr if that would pad too much: squares may be almost empty. */
static tess_status store_square(const tess_matrix *a, tess_storage_options options, tess_matrix **out)
{
    const bool pads = tess_format_can(options.format)->pads != 0;
    tess_status status = tess_matrix_convert(a, &options, out);

    if (status != TESS_UNSUPPORTED || !pads) { return status; }
    options.format = TESS_FORMAT_CSR;
    return tess_matrix_convert(a, &options, out);
}

/* A policy sees the first values; later values are stored in the precisions that it chose then. */
static tess_status fill_square(const sparse_triangle *t, triangle_square *s, const double *values)
{
    tess_context *ctx = t->ctx;
    tess_matrix *a = s->assembled;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(csr_ops_of(ctx)->gather(ctx, a->nnz, values, s->source, csr_own_values(a->storage)));
    a->values_version += 1;
    if (is_plain(&t->squares.options)) { return a->ops->prepare(a); }
    if (s->stored) { return tess_matrix_refresh(s->stored); }
    TESS_TRY(store_square(a, t->squares.options, &s->stored));
    status = s->stored->ops->prepare(s->stored);
cleanup:
    return status;
}

/* If the rewritten rows do not fit, the triangle is one leaf from then on. */
static tess_status fill_merged(sparse_triangle *t, const triangle_values *values)
{
    bool fits = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(merged_fill(t->merged, values, &fits));
    if (fits) { goto cleanup; }
    status = cut(t, merged_pattern(t->merged), 0, t->n);
    if (status != TESS_SUCCESS) {
        release_pieces(t); /* a later set-up starts again */
        goto cleanup;
    }
    t->moves = merged_moves(t->merged) + 1;
    merged_destroy(t->merged);
    t->merged = NULL;
cleanup:
    return status;
}

tess_status triangle_fill(sparse_triangle *t, triangle_values *values)
{
    tess_status status = TESS_SUCCESS;

    if (t->merged) { TESS_TRY(fill_merged(t, values)); }
    if (t->npieces > 0) { TESS_TRY(triangle_values_upload(t->ctx, values)); }
    for (int64_t i = 0; i < t->npieces; i++) {
        triangle_piece *piece = &t->pieces[i];

        TESS_TRY(piece->square.assembled ? fill_square(t, &piece->square, values->device)
                                         : fill_leaf(t->ctx, &piece->leaf, values->device));
    }
cleanup:
    return status;
}

/* ---- solution ---- */

static tess_status copy_vector(const sparse_triangle *t, const triangle_args *args)
{
    const tess_fused copy = {.op = TESS_FUSED_SCALE,
                             .n = t->n,
                             .x = {.data = args->b},
                             .y = {.data = args->x},
                             .result = args->x,
                             .a = 1.0,
                             .state = args->state};

    return t->ctx->backend->fused(t->ctx, &copy);
}

/* x := x - S x on the rows of the square */
static tess_status subtract_square(const triangle_square *s, const triangle_args *args)
{
    const tess_matrix *m = s->stored ? s->stored : s->assembled;
    const tess_spmv_args product = {.operation = TESS_OP_NONE,
                                    .x = args->x + s->column,
                                    .y = args->x + s->row,
                                    .alpha = -1.0,
                                    .beta = 1.0,
                                    .reduction = {.state = args->state}};

    return m->ops->spmv(m, &product);
}

tess_status triangle_solve(const sparse_triangle *t, triangle_args args)
{
    tess_status status = TESS_SUCCESS;

    if (t->merged) { return merged_ops_of(t->ctx)->solve(t->ctx, merged_view_of(t->merged), &args); }
    if (t->npieces > 1 && args.b != args.x) {
        TESS_TRY(copy_vector(t, &args));
        args.b = args.x;
    }
    for (int64_t i = 0; i < t->npieces; i++) {
        const triangle_piece *piece = &t->pieces[i];

        TESS_TRY(piece->square.assembled ? subtract_square(&piece->square, &args)
                                         : triangle_ops_of(t->ctx)->solve(t->ctx, &piece->leaf, &args));
    }
cleanup:
    return status;
}

/* ---- questions ---- */

static triangle_facts describe_merged(const merged_triangle *m)
{
    const triangle_pattern *p = merged_pattern(m);
    const merged_view *v = merged_view_of(m);

    return (triangle_facts){.level_sets = merged_level_sets(m),
                            .groups = v ? v->groups : merged_level_sets(m),
                            .leaves = 1,
                            .nonzeros = p->row_ptr[p->n],
                            .entries = merged_entries(m),
                            .moves = merged_moves(m)};
}

triangle_facts triangle_describe(const sparse_triangle *t)
{
    triangle_facts facts = {.moves = t->moves};

    if (t->merged) { return describe_merged(t->merged); }
    for (int64_t i = 0; i < t->npieces; i++) {
        const triangle_piece *piece = &t->pieces[i];

        if (piece->square.assembled) {
            facts.squares += 1;
            facts.square_nonzeros += piece->square.assembled->nnz;
            facts.nonzeros += piece->square.assembled->nnz;
        } else {
            facts.leaves += 1;
            facts.level_sets += piece->leaf.level_sets;
            facts.nonzeros += piece->leaf.nnz;
        }
    }
    facts.groups = facts.level_sets;
    facts.entries = facts.nonzeros;
    return facts;
}

static int64_t leaf_bytes(const triangle_leaf *l)
{
    return l->n * (int64_t)sizeof *l->row + (l->n + 1) * l->row_ptr_bits / 8 +
           l->nnz * (int64_t)(sizeof *l->col_ind + tess_precision_bytes(l->precision) + sizeof *l->source) +
           l->workspace_bytes;
}

int64_t triangle_bytes(const sparse_triangle *t)
{
    int64_t bytes = t->merged ? merged_bytes(t->merged) : 0;

    for (int64_t i = 0; i < t->npieces; i++) {
        const triangle_square *s = &t->pieces[i].square;

        if (!s->assembled) {
            bytes += leaf_bytes(&t->pieces[i].leaf);
            continue;
        }
        bytes += tess_matrix_bytes(s->assembled) + s->assembled->nnz * (int64_t)sizeof *s->source +
                 (s->stored ? tess_matrix_bytes(s->stored) : 0);
    }
    return bytes;
}
