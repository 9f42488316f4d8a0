/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices of levels on a GPU, stored as store.c does on a host. Formats arrange the pattern; one pass then scales and
 * rounds the values, puts them to their places, and finds their magnitudes.
 */
#include "precond/multigrid/cycle/store_device.h"

#include "base/stages.h"
#include "format/choose.h"
#include "matrix/assembled.h"

/* ---- a matrix ---- */

static csr_view view_of(const device_csr *a)
{
    return (csr_view){.nrows = a->nrows,
                      .ncols = a->ncols,
                      .nnz = a->nnz,
                      .row_ptr = a->row_ptr,
                      .row_ptr_bits = 32,
                      .col_ind = a->col_ind,
                      .precision = TESS_PRECISION_FP64};
}

/* Random splits leave no diagonals on coarse levels: there it is not worth a pass to look. */
static bool may_have_diagonals(const amg_device_scaled *s)
{
    return s->a.borrowed; /* of the user */
}

/* The scaled matrix in FP64, with the index arrays of s->a, which live longer. */
static tess_status scale_matrix(tess_context *ctx, const amg_device_scaled *s, tess_matrix **out)
{
    const device_csr *a = &s->a;
    csr_view view = view_of(a);
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

/* By way of the scaled matrix in FP64, for formats without kernels that scale. */
static tess_status store_scaled(tess_context *ctx, const amg_device_scaled *s, const amg_layout *layout,
                                tess_matrix **out)
{
    tess_matrix *scaled = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(scale_matrix(ctx, s, &scaled));
    status = amg_store_in_formats(scaled, layout, may_have_diagonals(s), out);
cleanup:
    tess_matrix_destroy(scaled);
    return status;
}

/* Space for values of rows. */
static tess_status make_values(tess_matrix *m, tess_precision precision)
{
    csr_storage *storage = m->storage;
    void *val = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(m->ctx, storage->view.nnz, tess_precision_bytes(precision), &val));
    storage->view.val = val;
    storage->view.precision = precision;
    storage->owns_values = true;
    m->precision = precision;
cleanup:
    return status;
}

/* The format and its places; values are not set. The index arrays of s->a live longer. */
static tess_status arrange(tess_context *ctx, const amg_device_scaled *s, const amg_layout *layout, tess_matrix **out)
{
    const csr_view view = view_of(&s->a);
    tess_matrix *pattern = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_matrix_from_view(ctx, &view, false, &pattern));
    if (s->a.nnz > 0) { TESS_TRY(amg_store_in_formats(pattern, layout, may_have_diagonals(s), out)); }
    if (*out) { goto cleanup; }
    if (s->a.nnz > 0) { TESS_TRY(make_values(pattern, layout->precision)); }
    pattern->precision = layout->precision;
    *out = pattern;
    pattern = NULL;
cleanup:
    tess_matrix_destroy(pattern);
    return status;
}

static tess_status store(tess_context *ctx, const amg_device_scaled *s, const amg_layout *layout,
                         amg_device_extremes *found, tess_matrix **out)
{
    const amg_device_ops *ops = amg_device_ops_of(ctx);
    bool taken = true;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(arrange(ctx, s, layout, out));
    if (s->a.nnz > 0) { TESS_TRY(ops->store_again(ctx, s, found, *out, &taken)); }
    if (!taken) {
        tess_matrix_destroy(*out);
        *out = NULL;
        TESS_TRY(store_scaled(ctx, s, layout, out));
        if (found) { TESS_TRY(ops->find_range(ctx, s, found)); }
    }
    status = (*out)->ops->prepare ? (*out)->ops->prepare(*out) : TESS_SUCCESS;
cleanup:
    if (status != TESS_SUCCESS) {
        tess_matrix_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* ---- a level ---- */

static amg_device_scaled scaled_a(const amg_device_source *from)
{
    return (amg_device_scaled){from->level->a, from->own->s, from->own->s};
}

static amg_device_scaled scaled_p(const amg_device_source *from)
{
    return (amg_device_scaled){from->level->p, from->own->inverse, from->next->s};
}

static amg_device_scaled scaled_r(const amg_device_source *from)
{
    return (amg_device_scaled){from->level->r, from->next->s, from->own->inverse};
}

void amg_device_drop_matrices(amg_cycle_level *l)
{
    tess_matrix_destroy(l->a);
    tess_matrix_destroy(l->p);
    tess_matrix_destroy(l->r);
    l->a = l->p = l->r = NULL;
}

tess_status amg_device_store_matrices(tess_context *ctx, const amg_device_source *from, tess_precision precision,
                                      amg_device_extremes *found, amg_cycle_level *out)
{
    const amg_device_scaled a = scaled_a(from), p = scaled_p(from), r = scaled_r(from);
    const tess_precision vectors = from->vectors;
    const int own = from->block, next = from->next_block;
    tess_status status = TESS_SUCCESS;

    out->n = from->level->a.nrows;
    out->nnz = from->level->a.nnz;
    out->precision = precision;
    TESS_TRY(store(ctx, &a, &(amg_layout){precision, vectors, own, own}, found, &out->a));
    if (from->level->p.row_ptr) {
        TESS_TRY(store(ctx, &p, &(amg_layout){precision, vectors, own, next}, found ? found + 1 : NULL, &out->p));
        TESS_TRY(store(ctx, &r, &(amg_layout){precision, vectors, next, own}, NULL, &out->r));
    }
    status = tess_stage_end(ctx, "storing the levels");
cleanup:
    return status;
}

static tess_status store_again(tess_context *ctx, const amg_device_scaled *s, amg_device_extremes *found,
                               tess_matrix *m, bool *taken)
{
    const amg_device_ops *ops = amg_device_ops_of(ctx);
    bool own = true;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ops->store_again(ctx, s, found, m, &own));
    if (!own && found) { TESS_TRY(ops->find_range(ctx, s, found)); }
    *taken = *taken && own;
cleanup:
    return status;
}

tess_status amg_device_store_matrices_again(tess_context *ctx, const amg_device_source *from,
                                            amg_device_extremes *found, const amg_cycle_level *out, bool *taken)
{
    const amg_device_scaled a = scaled_a(from), p = scaled_p(from), r = scaled_r(from);
    tess_status status = TESS_SUCCESS;

    *taken = true;
    TESS_TRY(store_again(ctx, &a, found, out->a, taken));
    if (out->p) {
        TESS_TRY(store_again(ctx, &p, found + 1, out->p, taken));
        TESS_TRY(store_again(ctx, &r, NULL, out->r, taken));
    }
    status = tess_stage_end(ctx, "storing the levels");
cleanup:
    return status;
}

tess_status amg_device_store_inverse(amg_cycle *c, const amg_device_source *from, amg_cycle_level *out)
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
