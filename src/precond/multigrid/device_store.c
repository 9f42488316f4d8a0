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

static tess_status allocate_scale(tess_context *ctx, int64_t n, amg_device_scale *out)
{
    tess_status status = TESS_SUCCESS;

    *out = (amg_device_scale){.n = n, .bad_row = -1};
    TESS_TRY(tess_device_allocate(ctx, n, sizeof *out->s, (void **)&out->s));
    status = tess_device_allocate(ctx, n, sizeof *out->inverse, (void **)&out->inverse);
cleanup:
    return status;
}

static tess_status make_scale(const amg_cycle *c, const device_csr *a, amg_device_scale *out)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(allocate_scale(c->ctx, a->nrows, out));
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

static bool must_be_fp32(const device_source *from, tess_amg_precision wanted)
{
    return amg_entries_decide(wanted) && from->finest && !amg_is_even(from->own->least, from->own->most);
}

/* By the rule of the host. */
static tess_status choose_precision(tess_context *ctx, const device_source *from, tess_amg_precision wanted,
                                    tess_precision *precision)
{
    const amg_device_scaled a = scaled_a(from), p = scaled_p(from);
    amg_range range = {0}, own = {0};
    tess_status status = TESS_SUCCESS;

    *precision = TESS_PRECISION_FP32;
    if (must_be_fp32(from, wanted)) { return TESS_SUCCESS; }
    if (amg_entries_decide(wanted)) {
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
    tess_matrix_destroy(out->inverse); /* of the values before */
    out->inverse = NULL;
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

/* ---- new values ---- */

/* What a renewal has found of each level, in device memory and on the host: of the scales, A and P. */
typedef struct renewal {
    amg_cycle *c;
    const amg_device_level *level;
    int count;
    amg_device_scale scale[TESS_MAX_AMG_LEVELS];
    amg_device_extremes *on_device;
    amg_extremes found[AMG_MOST_EXTREMES];
    bool taken[TESS_MAX_AMG_LEVELS]; /* the formats have kernels for new values */
} renewal;

static device_source source_of(const renewal *n, int l)
{
    return (device_source){&n->level[l], &n->scale[l], &n->scale[l + 1 < n->count ? l + 1 : l], l == 0};
}

static tess_status scale_again(renewal *n)
{
    amg_cycle *c = n->c;
    tess_status status = TESS_SUCCESS;

    for (int l = 0; l < n->count; l++) {
        amg_device_scale *own = &n->scale[l];

        TESS_TRY(allocate_scale(c->ctx, n->level[l].a.nrows, own));
        TESS_TRY(amg_device_ops_of(c->ctx)->scale_again(c->ctx, &n->level[l].a, c->options.smoother != TESS_AMG_JACOBI,
                                                        own, n->on_device + (ptrdiff_t)3 * l));
    }
    status = c->ctx->backend->copy(c->ctx, c->scale, n->scale[0].s, (size_t)c->n * sizeof *c->scale);
cleanup:
    return status;
}

/* In the precision of before, which may turn out to be another one. */
static tess_status store_level_again(renewal *n, int l)
{
    const amg_device_ops *ops = amg_device_ops_of(n->c->ctx);
    const device_source from = source_of(n, l);
    const amg_device_scaled a = scaled_a(&from), p = scaled_p(&from), r = scaled_r(&from);
    amg_cycle_level *out = &n->c->level[l];
    amg_device_extremes *found = n->on_device + (ptrdiff_t)3 * l;
    bool taken[3] = {true, true, true};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ops->store_again(n->c->ctx, &a, found + 1, out->a, &taken[0]));
    if (out->p) {
        TESS_TRY(ops->store_again(n->c->ctx, &p, found + 2, out->p, &taken[1]));
        TESS_TRY(ops->store_again(n->c->ctx, &r, NULL, out->r, &taken[2]));
    }
    n->taken[l] = taken[0] && taken[1] && taken[2];
    status = tess_stage_end(n->c->ctx, "storing the levels");
cleanup:
    return status;
}

/* The precision by what was found. */
static tess_precision settle_precision(renewal *n, int l, tess_amg_precision wanted)
{
    const amg_extremes *found = &n->found[3 * l];
    const device_source from = source_of(n, l);
    amg_range range = {found[1].most, found[1].least};

    n->scale[l].least = found[0].least;
    n->scale[l].most = found[0].most;
    if (must_be_fp32(&from, wanted)) { return TESS_PRECISION_FP32; }
    if (n->level[l].p.row_ptr) { range = amg_join_ranges(range, (amg_range){found[2].most, found[2].least}); }
    return amg_choose_precision(wanted, &range);
}

static void drop_matrices(amg_cycle_level *l)
{
    tess_matrix_destroy(l->a);
    tess_matrix_destroy(l->p);
    tess_matrix_destroy(l->r);
    l->a = l->p = l->r = NULL;
}

/* The precision, the smoother and the inverse of a level; matrices anew only if the precision is another one. */
static tess_status settle_level(renewal *n, int l, tess_amg_precision wanted)
{
    amg_cycle_level *out = &n->c->level[l];
    const device_source from = source_of(n, l);
    tess_status status = TESS_SUCCESS;

    if (settle_precision(n, l, wanted) != out->precision || !n->taken[l]) {
        drop_matrices(out);
        TESS_TRY(store_matrices(n->c, &from, wanted, out));
    }
    TESS_TRY(amg_cycle_renew_level(n->c, l));
    if (!n->level[l].p.row_ptr) { status = store_inverse(n->c, &from, out); }
cleanup:
    return status;
}

tess_status amg_device_renew_cycle(amg_cycle *c, const amg_hierarchy *h, tess_amg_precision wanted)
{
    const double start = tess_wall_seconds();
    const amg_device_ops *ops = amg_device_ops_of(c->ctx);
    renewal n = {.c = c, .level = h->device->level, .count = h->count};
    tess_status status = TESS_SUCCESS;

    c->rank = h->level[h->count - 1].a.nrows;
    TESS_TRY(ops->open_extremes(c->ctx, 3 * n.count, &n.on_device));
    TESS_TRY(scale_again(&n));
    for (int l = 0; l < n.count; l++) {
        TESS_TRY(store_level_again(&n, l));
    }
    TESS_TRY(ops->read_extremes(c->ctx, 3 * n.count, n.on_device, n.found));
    if (n.found[0].bad_row >= 0) {
        status = amg_fail_not_finite(c->ctx, n.found[0].bad_row);
        goto cleanup;
    }
    for (int l = 0; l < n.count; l++) {
        TESS_TRY(settle_level(&n, l, amg_wanted_precision(c, l, wanted)));
    }
    status = c->ctx->backend->synchronize(c->ctx);
    c->storing_seconds = tess_wall_seconds() - start;
cleanup:
    for (int l = 0; l < n.count; l++) {
        free_scale(c->ctx, &n.scale[l]);
    }
    tess_device_release(c->ctx, n.on_device, 3 * n.count, sizeof *n.on_device);
    return status;
}
