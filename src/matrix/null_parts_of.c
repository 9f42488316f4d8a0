/* SPDX-License-Identifier: Apache-2.0 */
/* Null parts of a matrix where it lies: candidates that the device has found, or those that the host finds. */
#include <stdlib.h>
#include <string.h>

#include "matrix/null_parts.h"

static int by_first(const void *left, const void *right)
{
    const null_part *a = left, *b = right;

    return (a->first > b->first) - (a->first < b->first);
}

/* Parts that hold, in the order of their first rows. */
static void keep_parts(null_candidates *c)
{
    int64_t kept = 0;

    qsort(c->part, (size_t)c->count, sizeof *c->part, by_first);
    for (int64_t k = 0; k < c->count; k++) {
        if (c->part[k].rows > 0) { c->part[kept++] = c->part[k]; }
    }
    c->count = kept;
}

/* tree[i] becomes the part of row i, or -1. The first row of a tree comes before its others. */
static void name_parts(null_candidates *c)
{
    int64_t next = 0;

    for (int64_t i = 0; i < c->n; i++) {
        const int32_t root = c->tree[i];

        if (root != i + 1) {
            c->tree[i] = root == 0 ? -1 : c->tree[root - 1];
        } else {
            c->tree[i] = next < c->count && c->part[next].first == i ? (int32_t)next++ : -1;
        }
    }
}

static void candidates_release(tess_context *ctx, null_candidates *c, int64_t allocated)
{
    tess_host_release(ctx, c->tree, c->n, sizeof *c->tree);
    tess_host_release(ctx, c->part, allocated, sizeof *c->part);
    *c = (null_candidates){0};
}

tess_status null_parts_take(tess_context *ctx, null_candidates *c, null_parts *out)
{
    tess_status status = TESS_SUCCESS;

    if (c->count > 0) { keep_parts(c); }
    if (c->count == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, c->count, sizeof *out->part, (void **)&out->part));
    name_parts(c);
    memcpy(out->part, c->part, (size_t)c->count * sizeof *out->part);
    out->n = c->n;
    out->count = c->count;
    out->of_row = c->tree;
    c->tree = NULL;
cleanup:
    return status;
}

static tess_status find_on_host(const tess_matrix *a, null_parts *out)
{
    tess_host_matrix host = {0};
    tess_csr_view view;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_matrix_on_host(a, &host));
    view = tess_matrix_csr_view(host.matrix);
    status = null_parts_find(a->ctx, &view, out);
cleanup:
    tess_host_matrix_release(&host);
    return status;
}

tess_status null_parts_of(const tess_matrix *a, null_parts *out)
{
    const null_parts_ops *ops = null_parts_ops_of(a->ctx);
    null_candidates found = {0};
    int64_t allocated = 0;
    tess_status status = TESS_SUCCESS;

    *out = (null_parts){0};
    if (a->nrows != a->ncols || a->nrows == 0) { return TESS_SUCCESS; }
    if (ops) { TESS_TRY(ops->candidates(a, &found)); }
    allocated = found.count;
    status = found.known ? null_parts_take(a->ctx, &found, out) : find_on_host(a, out);
cleanup:
    candidates_release(a->ctx, &found, allocated > 0 ? allocated : found.count);
    return status;
}
