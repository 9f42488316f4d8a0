/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse triangular solves: values, the choice between merged level sets and level sets, the order of the solution. */
#include "triangular/triangular.h"

#include <math.h>
#include <string.h>

#include "format/choose.h"
#include "format/csr/csr.h"
#include "triangular/pieces.h"
#include "triangular/swept.h"

/* Limit on the time that the plans of a triangle's leaves are measured. */
#define MEASURING_SECONDS 0.05
/* Merged level sets are not measured where there are at most one in so many of them. */
enum { WELL_MERGED = 4, TIMED_SOLVES = 3 };
/* Level sets replace them if they take at most this part of the time. */
#define FASTER 0.8

void triangle_destroy(sparse_triangle *t)
{
    if (!t) { return; }
    triangle_release_pieces(t);
    tess_host_release(t->ctx, t->pieces, t->capacity, sizeof *t->pieces);
    merged_destroy(t->merged);
    tess_host_release(t->ctx, t, 1, sizeof *t);
}

/* Without what it is made of. */
static tess_status open_triangle(tess_context *ctx, int64_t n, const triangle_options *options, sparse_triangle **out)
{
    sparse_triangle *t = NULL;
    const tess_status status = tess_host_allocate(ctx, 1, sizeof *t, (void **)&t);

    *out = t;
    if (status != TESS_SUCCESS) { return status; }
    *t = (sparse_triangle){.ctx = ctx,
                           .n = n,
                           .blocks = options->blocks,
                           .sweeps = options->sweeps,
                           .leaf = options->leaf,
                           .precision = options->precision,
                           .weighs = options->weighs};
    storage_request_set(&t->squares, options->squares);
    return TESS_SUCCESS;
}

tess_status triangle_create_swept(tess_context *ctx, device_csr *pattern, int64_t **source,
                                  const triangle_options *options, sparse_triangle **out)
{
    sparse_triangle *t = NULL;
    const int64_t nnz = pattern->nnz;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(open_triangle(ctx, pattern->nrows, options, &t));
    TESS_TRY(triangle_take_square(t, pattern, source));
    *out = t;
cleanup:
    tess_device_release(ctx, *source, nnz, sizeof **source);
    *source = NULL;
    device_csr_release(ctx, pattern);
    if (status != TESS_SUCCESS) { triangle_destroy(t); }
    return status;
}

tess_status triangle_create_leveled(tess_context *ctx, device_csr *pattern, int64_t **source, leveled_rows *rows,
                                    const triangle_options *options, sparse_triangle **out)
{
    device_csr ordered = {0};
    int64_t *places = NULL;
    const int64_t nnz = pattern->nnz;
    sparse_triangle *t = NULL;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(open_triangle(ctx, pattern->nrows, options, &t));
    TESS_TRY(triangle_ops_of(ctx)->take_rows(ctx, pattern, *source, rows->order, &ordered, &places));
    TESS_TRY(triangle_take_leaf(t, &ordered, &places, rows));
    *out = t;
cleanup:
    tess_device_release(ctx, places, nnz, sizeof *places);
    device_csr_release(ctx, &ordered);
    tess_device_release(ctx, *source, nnz, sizeof **source);
    *source = NULL;
    device_csr_release(ctx, pattern);
    leveled_release(ctx, rows);
    if (status != TESS_SUCCESS) { triangle_destroy(t); }
    return status;
}

tess_status triangle_create(tess_context *ctx, triangle_pattern *p, const triangle_options *options,
                            sparse_triangle **out)
{
    sparse_triangle *t = NULL;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(open_triangle(ctx, p->n, options, &t));
    if (p->n > 0 && options->merged) {
        TESS_TRY(merged_create(ctx, p, options->level_sets, options->precision, &t->merged));
    }
    if (t->n > 0 && !t->merged) { TESS_TRY(triangle_cut(t, p)); }
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

/* On a GPU all of a swept triangle by diagonals or in slices where these pay and the caller names no format. */
static tess_status store_swept(const sparse_triangle *t, const tess_matrix *a, tess_matrix **out)
{
    const tess_storage_options *o = &t->squares.options;
    const bool open = o->format == TESS_FORMAT_CSR && o->policy.policy == TESS_POLICY_NONE;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    if (open && t->ctx->device == TESS_DEVICE_GPU) { TESS_TRY(tess_matrix_try_padded(a, o, true, out)); }
    if (!*out && !is_plain(o)) { status = store_square(a, *o, out); }
cleanup:
    return status;
}

/* A policy sees the first values; later values are stored as it chose then. */
static tess_status fill_square(const sparse_triangle *t, triangle_square *s, const double *values)
{
    tess_context *ctx = t->ctx;
    tess_matrix *a = s->assembled;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(csr_ops_of(ctx)->gather(ctx, a->nnz, values, s->source, csr_own_values(a->storage)));
    a->values_version += 1;
    if (s->stored) { return tess_matrix_refresh(s->stored); }
    if (t->sweeps > 0) {
        TESS_TRY(store_swept(t, a, &s->stored));
    } else if (!is_plain(&t->squares.options)) {
        TESS_TRY(store_square(a, t->squares.options, &s->stored));
    }
    if (!s->stored) { return a->ops->prepare(a); }
    tess_matrix_keep_levels(s->stored);
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
    status = triangle_cut(t, merged_pattern(t->merged));
    if (status != TESS_SUCCESS) {
        triangle_release_pieces(t); /* a later set-up starts again */
        goto cleanup;
    }
    t->moves = merged_moves(t->merged) + 1;
    merged_destroy(t->merged);
    t->merged = NULL;
cleanup:
    return status;
}

/* Measures a leaf's plans with its first values. */
static tess_status choose_plan(tess_context *ctx, triangle_leaf *leaf, double end)
{
    const double now = tess_wall_seconds();

    if (leaf->has_chosen || !triangle_ops_of(ctx)->has_clock) { return TESS_SUCCESS; }
    leaf->has_chosen = true;
    return now < end ? triangle_ops_of(ctx)->choose_plan(ctx, leaf, end - now) : TESS_SUCCESS;
}

static tess_status fill_pieces(sparse_triangle *t, triangle_values *values)
{
    const double end = tess_wall_seconds() + MEASURING_SECONDS;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(triangle_values_upload(t->ctx, values));
    for (int64_t i = 0; i < t->npieces; i++) {
        triangle_piece *piece = &t->pieces[i];

        if (piece->square.assembled) {
            TESS_TRY(fill_square(t, &piece->square, values->device));
            continue;
        }
        TESS_TRY(fill_leaf(t->ctx, &piece->leaf, values->device));
        TESS_TRY(choose_plan(t->ctx, &piece->leaf, end));
    }
cleanup:
    return status;
}

/* ---- merged level sets or level sets ---- */

/* Seconds of a solve for a right side of zeros, by merged level sets or by the pieces. */
static tess_status time_solve(const sparse_triangle *t, bool merged, double *x, double *seconds)
{
    tess_context *ctx = t->ctx;
    const triangle_args args = {.b = x, .x = x};
    double start = 0.0;
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i <= TIMED_SOLVES; i++) {
        if (i == 1) { /* the first is not timed */
            TESS_TRY(ctx->backend->synchronize(ctx));
            start = tess_wall_seconds();
        }
        TESS_TRY(merged ? merged_ops_of(ctx)->solve(ctx, merged_view_of(t->merged), &args)
                        : triangle_ops_of(ctx)->solve(ctx, &t->pieces[0].leaf, &args));
    }
    TESS_TRY(ctx->backend->synchronize(ctx));
    *seconds = (tess_wall_seconds() - start) / TIMED_SOLVES;
cleanup:
    return status;
}

static tess_status is_slower_merged(const sparse_triangle *t, bool *slower)
{
    double *x = NULL, merged = 0.0, apart = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(t->ctx, t->n, sizeof *x, (void **)&x));
    TESS_TRY(t->ctx->backend->zero(t->ctx, x, (size_t)t->n * sizeof *x));
    TESS_TRY(time_solve(t, true, x, &merged));
    TESS_TRY(time_solve(t, false, x, &apart));
    *slower = apart < FASTER * merged && triangle_ops_of(t->ctx)->has_clock;
    if (*slower) {
        tess_log(t->ctx, TESS_LOG_INFO, "a triangle by level sets takes %.0f us, merged %.0f us", 1e6 * apart,
                 1e6 * merged);
    }
cleanup:
    tess_device_release(t->ctx, x, t->n, sizeof *x);
    return status;
}

/* Where merging saved few steps, both ways are timed with the first values, and the triangle stays merged unless level
   sets are clearly faster. Their results differ by rounding: so the margin is wide, and other matrices are not timed.
 */
static tess_status weigh(sparse_triangle *t, triangle_values *values)
{
    bool slower = false;
    tess_status status = TESS_SUCCESS;

    t->weighs = false;
    if (merged_view_of(t->merged)->groups * WELL_MERGED <= merged_level_sets(t->merged)) { return TESS_SUCCESS; }
    TESS_TRY(triangle_cut(t, merged_pattern(t->merged)));
    TESS_TRY(fill_pieces(t, values));
    TESS_TRY(is_slower_merged(t, &slower));
    if (!slower) { goto cleanup; }
    t->moves = merged_moves(t->merged) + 1;
    merged_destroy(t->merged);
    t->merged = NULL;
cleanup:
    if (t->merged) { triangle_release_pieces(t); }
    return status;
}

tess_status triangle_fill(sparse_triangle *t, triangle_values *values)
{
    tess_status status = TESS_SUCCESS;

    if (t->merged) { TESS_TRY(fill_merged(t, values)); }
    if (t->merged && t->weighs) {
        status = weigh(t, values);
    } else if (t->npieces > 0) {
        status = fill_pieces(t, values);
    }
    if (t->sweeps > 0) { t->moves += 1; }
cleanup:
    return status;
}

/* ---- solution ---- */

static tess_status copy_vector(const sparse_triangle *t, const triangle_args *args)
{
    const tess_fused copy = {.op = TESS_FUSED_SCALE,
                             .n = t->n * columns_of(args),
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
    const tess_matrix *m = triangle_square_matrix(s);
    const int columns = columns_of(args);
    const tess_spmv_args product = {.operation = TESS_OP_NONE,
                                    .x = args->x + s->column * columns,
                                    .y = args->x + s->row * columns,
                                    .alpha = -1.0,
                                    .beta = 1.0,
                                    .reduction = {.state = args->state},
                                    .columns = columns};

    return columns > 1 ? m->ops->multiply_columns(m, &product) : m->ops->spmv(m, &product);
}

static tess_status solve_pieces(const sparse_triangle *t, triangle_args args)
{
    tess_status status = TESS_SUCCESS;

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

static tess_status solve_swept(const sparse_triangle *t, double *work, const triangle_args *args)
{
    const swept_triangle swept = {.ctx = t->ctx,
                                  .n = t->n,
                                  .sweeps = t->sweeps,
                                  .beside = t->npieces > 0 ? triangle_square_matrix(&t->pieces[0].square) : NULL,
                                  .work = work};

    return swept_solve(&swept, args);
}

tess_status triangle_solve(const sparse_triangle *t, triangle_args args)
{
    const triangle_ops *ops = triangle_ops_of(t->ctx);
    double *const work = args.columns > 1 ? t->columns_work : t->work;
    triangle_args inside = {.b = work, .x = work, .state = args.state, .columns = args.columns};
    tess_status status = TESS_SUCCESS;

    if (t->merged) { return merged_ops_of(t->ctx)->solve(t->ctx, merged_view_of(t->merged), &args); }
    if (t->sweeps > 0) { return solve_swept(t, work, &args); }
    if (!t->order) { return solve_pieces(t, args); }
    TESS_TRY(ops->take(t->ctx, t->n, t->order, &args, work));
    TESS_TRY(solve_pieces(t, inside));
    status = ops->give(t->ctx, t->n, t->order, work, &args);
cleanup:
    return status;
}

/* ---- several columns ---- */

bool triangle_takes_columns(const sparse_triangle *t)
{
    bool takes = true;

    for (int64_t i = 0; i < t->npieces && takes; i++) {
        const triangle_square *s = &t->pieces[i].square;

        if (s->assembled) {
            const tess_matrix *m = triangle_square_matrix(s);

            takes = m->ops->takes_columns && m->ops->takes_columns(m, false);
        }
    }
    return takes;
}

tess_status triangle_prepare_columns(sparse_triangle *t, int columns)
{
    tess_context *ctx = t->ctx;
    const int64_t values = triangle_work_vectors(t) * t->n;
    double *work = NULL;
    tess_status status = TESS_SUCCESS;

    for (int64_t i = 0; i < t->npieces; i++) {
        triangle_piece *piece = &t->pieces[i];

        if (piece->square.assembled) { continue; }
        TESS_TRY(triangle_ops_of(ctx)->prepare_columns(ctx, &piece->leaf, columns));
    }
    if ((!t->order && t->sweeps == 0) || columns <= t->columns) { goto cleanup; }
    TESS_TRY(tess_device_allocate(ctx, values * columns, sizeof *work, (void **)&work));
    tess_device_release(ctx, t->columns_work, values * t->columns, sizeof *work);
    t->columns_work = work;
    t->columns = columns;
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

/* Of sweeps: no level sets, and each sweep is a step. */
static triangle_facts describe_swept(const sparse_triangle *t)
{
    const int64_t nnz = t->npieces > 0 ? t->pieces[0].square.assembled->nnz : 0;

    return (triangle_facts){
        .groups = t->sweeps, .leaves = 1, .nonzeros = nnz, .entries = t->sweeps * nnz, .moves = t->moves};
}

triangle_facts triangle_describe(const sparse_triangle *t)
{
    triangle_facts facts = {.moves = t->moves};

    if (t->merged) { return describe_merged(t->merged); }
    if (t->sweeps > 0) { return describe_swept(t); }
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
           l->workspace_bytes + l->columns_bytes;
}

int64_t triangle_bytes(const sparse_triangle *t)
{
    int64_t bytes = t->merged ? merged_bytes(t->merged) : 0;

    if (t->order) { bytes += t->n * (int64_t)sizeof *t->order; }
    if (t->work) { bytes += triangle_work_vectors(t) * t->n * (1 + t->columns) * (int64_t)sizeof *t->work; }
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
