/* SPDX-License-Identifier: Apache-2.0 */
/* The vectors of block CG: products and preconditioning of all columns at once, or of one after another. */
#include <string.h>

#include "solver/block_cg/block_cg.h"

static int64_t rows_of(const block_cg *b)
{
    return b->m->s->original->nrows;
}

static bool matrix_takes_columns(const tess_matrix *a)
{
    return a->ops && a->ops->takes_columns && a->ops->takes_columns(a, false);
}

static bool precond_takes_columns(const tess_precond *m)
{
    return m->ops->takes_columns && m->ops->takes_columns(m);
}

static bool has_block(const block_cg *b, int which)
{
    return which != Z || krylov_precond_is_apart(b->k.precond);
}

static tess_status move(const block_cg *b, columns_place from, columns_place to)
{
    return columns_ops_of(b->ctx)->move(b->ctx, rows_of(b), 1, from, to);
}

/* ---- memory ---- */

static int64_t small_values(const block_cg *b)
{
    return (int64_t)SMALLS * b->width * b->width;
}

static tess_status allocate(block_cg *b)
{
    tess_context *ctx = b->ctx;
    const int64_t n = rows_of(b), capacity = b->m->s->head->history_capacity;
    const bool alone = !matrix_takes_columns(b->k.matrix) || (has_block(b, Z) && !precond_takes_columns(b->k.precond));
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < BLOCKS; i++) {
        if (!has_block(b, i)) { continue; }
        TESS_TRY(tess_device_allocate(ctx, b->k.n, sizeof(double), (void **)&b->block[i]));
        TESS_TRY(ctx->backend->zero(ctx, b->block[i], (size_t)b->k.n * sizeof(double)));
    }
    for (int i = 0; alone && i < 2; i++) {
        TESS_TRY(tess_device_allocate(ctx, n, sizeof(double), (void **)&b->alone[i]));
    }
    TESS_TRY(tess_device_allocate(ctx, small_values(b), sizeof(double), (void **)&b->small));
    b->history = b->m->history;
    if (ctx->device == TESS_DEVICE_CPU || capacity == 0) { return TESS_SUCCESS; }
    b->history = NULL;
    status = tess_host_allocate(ctx, capacity * b->m->count, sizeof(double), (void **)&b->history);
cleanup:
    return status;
}

void block_close(block_cg *b)
{
    tess_context *ctx = b->ctx;

    for (int i = 0; i < BLOCKS; i++) {
        tess_device_release(ctx, b->block[i], b->k.n, sizeof(double));
    }
    for (int i = 0; i < 2; i++) {
        tess_device_release(ctx, b->alone[i], rows_of(b), sizeof(double));
    }
    tess_device_release(ctx, b->small, small_values(b), sizeof(double));
    if (b->history != b->m->history) {
        tess_host_release(ctx, b->history, b->m->s->head->history_capacity * b->m->count, sizeof(double));
    }
}

tess_status block_open(block_cg *b)
{
    const many_columns *m = b->m;
    const method_solver *s = m->s;
    const int64_t n = rows_of(b), capacity = s->head->history_capacity;
    tess_status status = TESS_SUCCESS;

    for (int c = 0; c < m->count; c++) {
        if (m->column[c].cycles) { b->slot[b->count++] = c; }
    }
    for (b->width = 2; b->width < b->count;) {
        b->width *= 2;
    }
    b->k = (tess_krylov){.ctx = s->ctx,
                         .matrix = solver_matrix(s),
                         .precond = s->precond,
                         .n = n * b->width,
                         .columns = b->width,
                         .vectors = TESS_PRECISION_FP64};
    b->one = b->k;
    b->one.n = n;
    b->one.columns = 1;
    TESS_TRY(allocate(b));
    for (int place = 0; place < b->count; place++) {
        const int c = b->slot[place];

        b->state[place] = m->column[c].run.begin;
        b->state[place].history = b->history ? b->history + c * capacity : NULL;
        TESS_TRY(move(b, column_alone(m->r + c * n), column_of(b->block[Q], b->width, place)));
    }
cleanup:
    return status;
}

tess_status block_keep_histories(const block_cg *b)
{
    const int64_t capacity = b->m->s->head->history_capacity;
    tess_status status = TESS_SUCCESS;

    if (b->history == b->m->history) { return TESS_SUCCESS; }
    for (int place = 0; place < b->count; place++) {
        const int64_t first = b->m->column[b->slot[place]].run.begin.iteration + 1,
                      end = b->state[place].iteration + 1 < capacity ? b->state[place].iteration + 1 : capacity,
                      at = b->slot[place] * capacity + first;

        if (end <= first) { continue; }
        TESS_TRY(b->ctx->backend->upload(b->ctx, b->m->history + at, b->history + at,
                                         (size_t)(end - first) * sizeof(double)));
    }
cleanup:
    return status;
}

tess_status block_keep_correction(const block_cg *b, int place)
{
    return move(b, column_of(b->block[D], b->width, place), column_alone(b->m->d + b->slot[place] * rows_of(b)));
}

/* ---- operators ---- */

tess_status block_multiply(const block_cg *b)
{
    const tess_reduction none = {0};
    tess_status status = TESS_SUCCESS;

    if (matrix_takes_columns(b->k.matrix)) { return krylov_spmv(&b->k, b->block[P], b->block[PRODUCT], none); }
    for (int j = 0; j < b->rank; j++) {
        TESS_TRY(move(b, column_of(b->block[P], b->width, j), column_alone(b->alone[0])));
        TESS_TRY(krylov_spmv(&b->one, b->alone[0], b->alone[1], none));
        TESS_TRY(move(b, column_alone(b->alone[1]), column_of(b->block[PRODUCT], b->width, j)));
    }
cleanup:
    return status;
}

tess_status block_precondition(const block_cg *b)
{
    const tess_reduction none = {0};
    tess_status status = TESS_SUCCESS;

    if (!has_block(b, Z)) { return TESS_SUCCESS; }
    if (precond_takes_columns(b->k.precond)) { return krylov_precondition(&b->k, b->block[Q], b->block[Z], none); }
    for (int j = 0; j < b->rank; j++) {
        TESS_TRY(move(b, column_of(b->block[Q], b->width, j), column_alone(b->alone[0])));
        TESS_TRY(krylov_precondition(&b->one, b->alone[0], b->alone[1], none));
        TESS_TRY(move(b, column_alone(b->alone[1]), column_of(b->block[Z], b->width, j)));
    }
cleanup:
    return status;
}

/* ---- passes ---- */

double *block_factor(const block_cg *b, int which)
{
    return b->small + which * b->width * b->width;
}

tess_status block_upload(const block_cg *b, int which, small_matrix from)
{
    double packed[SMALL_MOST * SMALL_MOST];
    const int width = b->width;

    for (int i = 0; i < width; i++) {
        memcpy(packed + i * width, from[i], (size_t)width * sizeof *packed);
    }
    return b->ctx->backend->upload(b->ctx, block_factor(b, which), packed, (size_t)(width * width) * sizeof *packed);
}

tess_status block_run(const block_cg *b, block_pass *pass, small_matrix *first, small_matrix *second)
{
    double packed[BLOCK_PRODUCTS * SMALL_MOST * SMALL_MOST];
    small_matrix *const out[BLOCK_PRODUCTS] = {first, second};
    const int width = b->width, values = width * width;
    tess_status status = TESS_SUCCESS;

    pass->n = rows_of(b);
    pass->width = width;
    pass->sums = block_factor(b, FACTORS);
    TESS_TRY(block_ops_of(b->ctx)->run(b->ctx, pass));
    if (pass->products == 0) { return TESS_SUCCESS; }
    TESS_TRY(b->ctx->backend->download(b->ctx, packed, pass->sums, (size_t)(pass->products * values) * sizeof *packed));
    for (int p = 0; p < pass->products; p++) {
        for (int i = 0; i < width; i++) {
            memcpy((*out[p])[i], packed + p * values + i * width, (size_t)width * sizeof *packed);
        }
    }
cleanup:
    return status;
}
