/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the levels of a GPU for the cycle, as cycle_setup.c and store.c do for levels of the host. */
#include <string.h>

#include "base/stages.h"
#include "format/choose.h"
#include "matrix/assembled.h"
#include "precond/multigrid/device.h"
#include "precond/multigrid/level_precision.h"

/* ---- scales ---- */

static void free_scale(tess_context *ctx, amg_device_scale *scale)
{
    tess_device_release(ctx, scale->s, scale->n, sizeof *scale->s);
    tess_device_release(ctx, scale->inverse, scale->n, sizeof *scale->inverse);
    *scale = (amg_device_scale){0};
}

static tess_status make_scale(const amg_cycle *c, const device_csr *a, amg_device_scale *out)
{
    tess_status status = TESS_SUCCESS;

    *out = (amg_device_scale){.n = a->nrows};
    TESS_TRY(tess_device_allocate(c->ctx, out->n, sizeof *out->s, (void **)&out->s));
    TESS_TRY(tess_device_allocate(c->ctx, out->n, sizeof *out->inverse, (void **)&out->inverse));
    status = amg_device_ops_of(c->ctx)->scale(c->ctx, a, c->options.smoother != TESS_AMG_JACOBI, out);
cleanup:
    return status;
}

/* ---- a matrix ---- */

/* The scaled matrix in FP64, with the index arrays of s->a, which live longer. */
static tess_status scale_matrix(tess_context *ctx, const amg_device_scaled *s, tess_matrix **out)
{
    const device_csr *a = &s->a;
    csr_view view = {.nrows = a->nrows,
                     .ncols = a->ncols,
                     .nnz = a->nnz,
                     .row_ptr = a->row_ptr,
                     .row_ptr_bits = 32,
                     .col_ind = a->col_ind,
                     .precision = TESS_PRECISION_FP64};
    double *val = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, a->nnz, sizeof *val, (void **)&val));
    TESS_TRY(amg_device_ops_of(ctx)->scaled_values(ctx, s, val));
    view.val = val;
    TESS_TRY(tess_matrix_from_view(ctx, &view, false, out));
    ((csr_storage *)(*out)->storage)->owns_values = true;
    val = NULL;
cleanup:
    tess_device_release(ctx, val, a->nnz, sizeof *val);
    return status;
}

/* Rounds the values of such a matrix. */
static tess_status round_values(tess_matrix *m, tess_precision precision)
{
    tess_context *ctx = m->ctx;
    csr_storage *storage = m->storage;
    csr_view *v = &storage->view;
    void *val = NULL;
    tess_status status = TESS_SUCCESS;

    if (precision == TESS_PRECISION_FP64) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(ctx, v->nnz, tess_precision_bytes(precision), &val));
    status = ctx->backend->convert(ctx, v->nnz, TESS_PRECISION_FP64, v->val, precision, val);
    if (status != TESS_SUCCESS) {
        tess_device_release(ctx, val, v->nnz, tess_precision_bytes(precision));
        return status;
    }
    tess_device_release(ctx, v->val, v->nnz, sizeof(double));
    v->val = val;
    v->precision = precision;
    m->precision = precision;
cleanup:
    return status;
}

static tess_status store(tess_context *ctx, const amg_device_scaled *s, tess_precision precision, tess_matrix **out)
{
    tess_matrix *scaled = NULL;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(scale_matrix(ctx, s, &scaled));
    if (s->a.nnz > 0) { TESS_TRY(amg_store_in_formats(scaled, precision, out)); }
    if (!*out) {
        TESS_TRY(round_values(scaled, precision));
        *out = scaled;
        scaled = NULL;
    }
    status = (*out)->ops->prepare ? (*out)->ops->prepare(*out) : TESS_SUCCESS;
cleanup:
    tess_matrix_destroy(scaled);
    if (status != TESS_SUCCESS) {
        tess_matrix_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* ---- a level ---- */

/* What a level is stored from. next: of the coarser level; unused on the coarsest. */
typedef struct device_source {
    const amg_device_level *level;
    const amg_device_scale *own, *next;
    bool finest;
} device_source;

static amg_device_scaled scaled_a(const device_source *from)
{
    return (amg_device_scaled){from->level->a, from->own->s, from->own->s};
}

static amg_device_scaled scaled_p(const device_source *from)
{
    return (amg_device_scaled){from->level->p, from->own->inverse, from->next->s};
}

static amg_device_scaled scaled_r(const device_source *from)
{
    return (amg_device_scaled){from->level->r, from->next->s, from->own->inverse};
}

/* By the rule of the host. */
static tess_status choose_precision(tess_context *ctx, const device_source *from, tess_amg_precision wanted,
                                    tess_precision *precision)
{
    const amg_device_scaled a = scaled_a(from), p = scaled_p(from);
    amg_range range = {0}, own = {0};
    tess_status status = TESS_SUCCESS;

    *precision = TESS_PRECISION_FP32;
    if (amg_entries_decide(wanted)) {
        if (from->finest && !amg_is_even(from->own->least, from->own->most)) { return TESS_SUCCESS; }
        TESS_TRY(amg_device_ops_of(ctx)->find_range(ctx, &a, &range));
        if (from->level->p.row_ptr) {
            TESS_TRY(amg_device_ops_of(ctx)->find_range(ctx, &p, &own));
            range = amg_join_ranges(range, own);
        }
    }
    *precision = amg_choose_precision(wanted, &range);
cleanup:
    return status;
}

static tess_status store_matrices(amg_cycle *c, const device_source *from, tess_amg_precision wanted,
                                  amg_cycle_level *out)
{
    const amg_device_scaled a = scaled_a(from), p = scaled_p(from), r = scaled_r(from);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(choose_precision(c->ctx, from, wanted, &out->precision));
    out->n = from->level->a.nrows;
    out->nnz = from->level->a.nnz;
    TESS_TRY(store(c->ctx, &a, out->precision, &out->a));
    if (from->level->p.row_ptr) {
        TESS_TRY(store(c->ctx, &p, out->precision, &out->p));
        TESS_TRY(store(c->ctx, &r, out->precision, &out->r));
    }
    status = tess_stage_end(c->ctx, "storing the levels");
cleanup:
    return status;
}

/* The coarsest level is small: the host inverts it. */
static tess_status store_inverse(amg_cycle *c, const device_source *from, amg_cycle_level *out)
{
    const int64_t n = from->level->a.nrows;
    host_csr a = {0};
    double *s = NULL;
    tess_status status = TESS_SUCCESS;

    if (n > AMG_MOST_DENSE_ROWS) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(c->ctx, n, sizeof *s, (void **)&s));
    TESS_TRY(c->ctx->backend->download(c->ctx, s, from->own->s, (size_t)n * sizeof *s));
    TESS_TRY(device_csr_download(c->ctx, &from->level->a, &a));
    status = amg_cycle_store_inverse(c, &(amg_scaled){&a, s, s}, out);
cleanup:
    host_csr_release(c->ctx, &a);
    tess_host_release(c->ctx, s, n, sizeof *s);
    return status;
}

static tess_status store_level(amg_cycle *c, const device_source *from, int l, tess_amg_precision wanted)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(store_matrices(c, from, wanted, &c->level[l]));
    TESS_TRY(amg_cycle_finish_level(c, l));
    if (!from->level->p.row_ptr) { status = store_inverse(c, from, &c->level[l]); }
cleanup:
    return status;
}

/* S of the finest level, for the cycle. */
static tess_status keep_scale(amg_cycle *c, const amg_device_scale *finest)
{
    const size_t bytes = (size_t)finest->n * sizeof *finest->s;
    tess_status status = TESS_SUCCESS;

    if (finest->bad_row >= 0) { return amg_fail_not_finite(c->ctx, finest->bad_row); }
    TESS_TRY(tess_device_allocate(c->ctx, finest->n, sizeof *c->scale, (void **)&c->scale));
    status = c->ctx->backend->copy(c->ctx, c->scale, finest->s, bytes);
cleanup:
    return status;
}

tess_status amg_device_store_levels(amg_cycle *c, const amg_hierarchy *h, tess_amg_precision wanted)
{
    const amg_device_level *level = h->device->level;
    amg_device_scale own = {0}, next = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_scale(c, &level[0].a, &own));
    TESS_TRY(keep_scale(c, &own));
    for (int l = 0; l < h->count; l++) {
        const device_source from = {&level[l], &own, &next, l == 0};

        if (l + 1 < h->count) { TESS_TRY(make_scale(c, &level[l + 1].a, &next)); }
        TESS_TRY(store_level(c, &from, l, amg_wanted_precision(c, l, wanted)));
        free_scale(c->ctx, &own);
        own = next;
        next = (amg_device_scale){0};
    }
    status = c->ctx->backend->synchronize(c->ctx);
cleanup:
    free_scale(c->ctx, &own);
    free_scale(c->ctx, &next);
    return status;
}
