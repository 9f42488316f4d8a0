/* SPDX-License-Identifier: Apache-2.0 */
/* Orders by clusters for callers: as a permutation, as a system for a solver, and by what they save. */
#include "order/row_order.h"
#include "order/clusters.h"
#include "order/order.h"

/* ---- where the matrix lies ---- */

void row_order_release(row_order *o)
{
    if (!o->perm && !o->place) { return; }
    tess_device_release(o->ctx, o->perm, o->n, sizeof *o->perm);
    tess_device_release(o->ctx, o->place, o->n, sizeof *o->place);
    o->perm = o->place = NULL;
}

/* For the host's numbers or those of the device. */
static tess_status invert(tess_context *ctx, int64_t n, const int32_t *perm, int32_t *place)
{
    const order_device_ops *ops = order_device_ops_of(ctx);

    return ops ? ops->invert(ctx, n, perm, place) : order_invert(ctx, n, perm, place);
}

tess_status row_order_find(const tess_matrix *a, row_order *o)
{
    tess_status status = TESS_SUCCESS;

    *o = (row_order){.ctx = a->ctx, .n = a->nrows};
    TESS_TRY(tess_device_allocate(a->ctx, o->n, sizeof *o->perm, (void **)&o->perm));
    TESS_TRY(tess_device_allocate(a->ctx, o->n, sizeof *o->place, (void **)&o->place));
    TESS_TRY(order_find_clusters(a, o->perm));
    status = invert(a->ctx, o->n, o->perm, o->place);
cleanup:
    if (status != TESS_SUCCESS) { row_order_release(o); }
    return status;
}

tess_status row_order_apply(const tess_matrix *a, const row_order *o, tess_matrix **b, tess_matrix **to_rows,
                            tess_matrix **from_columns)
{
    const order_device_ops *ops = order_device_ops_of(a->ctx);
    tess_status status = TESS_SUCCESS;

    if (ops) {
        TESS_TRY(ops->permute(a, o->perm, o->place, b));
        TESS_TRY(ops->map(a->ctx, o->n, o->perm, to_rows));
        status = ops->map(a->ctx, o->n, o->place, from_columns);
    } else {
        TESS_TRY(tess_matrix_reorder_symmetric(a, o->perm, b));
        TESS_TRY(order_make_map(a->ctx, o->n, o->perm, NULL, to_rows));
        status = order_make_map(a->ctx, o->n, o->place, NULL, from_columns);
    }
cleanup:
    return status;
}

bool row_order_applies(const tess_matrix *a)
{
    return a->ctx->device != TESS_DEVICE_GPU || a->nnz <= INT32_MAX;
}

/* ---- as a permutation ---- */

tess_status tess_order_clusters(const tess_matrix *a, int32_t *perm)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, perm);
    static const char *const purpose = "an order by clusters";
    tess_context *ctx = a->ctx;
    int32_t *on_device = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(require_square(a, purpose));
    TESS_TRY(tess_matrix_require_assembled(a, purpose));
    TESS_TRY(tess_device_allocate(ctx, a->nrows, sizeof *on_device, (void **)&on_device));
    TESS_TRY(order_find_clusters(a, on_device));
    status = ctx->backend->download(ctx, perm, on_device, (size_t)a->nrows * sizeof *perm);
cleanup:
    tess_device_release(ctx, on_device, a->nrows, sizeof *on_device);
    return status;
}

/* ---- what a product fetches ---- */

tess_status order_measure_fetch(const tess_matrix *a, const int32_t *perm, const int32_t *place, double *lines)
{
    const csr_view *v = &csr_of(a)->view;
    const int64_t slices = (v->nrows + FETCH_ROWS - 1) / FETCH_ROWS;
    const int64_t step = (slices + FETCH_SLICES - 1) / FETCH_SLICES;
    fetch_sums sums = {0, 0};
    tess_status status = TESS_SUCCESS;

    if (a->nnz > 0) { status = clusters_ops_of(a->ctx)->fetch(a->ctx, v, perm, place, step, &sums); }
    *lines = sums.entries > 0 ? (double)sums.lines / (double)sums.entries : 0.0;
    return status;
}

/* A permutation of the host, and its inverse. */
static tess_status upload_order(const int32_t *perm, row_order *o)
{
    tess_context *ctx = o->ctx;
    const size_t bytes = (size_t)o->n * sizeof *perm;
    int32_t *place = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, o->n, sizeof *place, (void **)&place));
    TESS_TRY(order_invert(ctx, o->n, perm, place));
    TESS_TRY(tess_device_allocate(ctx, o->n, sizeof *o->perm, (void **)&o->perm));
    TESS_TRY(tess_device_allocate(ctx, o->n, sizeof *o->place, (void **)&o->place));
    TESS_TRY(ctx->backend->upload(ctx, o->perm, perm, bytes));
    status = ctx->backend->upload(ctx, o->place, place, bytes);
cleanup:
    tess_host_release(ctx, place, o->n, sizeof *place);
    return status;
}

tess_status tess_order_fetch(const tess_matrix *a, const int32_t *perm, double *lines)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, lines);
    static const char *const purpose = "what a product fetches";
    row_order o = {.ctx = a->ctx, .n = a->nrows};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_matrix_require_assembled(a, purpose));
    if (perm) {
        TESS_TRY(require_square(a, purpose));
        TESS_TRY(upload_order(perm, &o));
    }
    status = order_measure_fetch(a, o.perm, o.place, lines);
cleanup:
    row_order_release(&o);
    return status;
}
