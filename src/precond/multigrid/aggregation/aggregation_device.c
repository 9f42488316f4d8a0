/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregation on a GPU: the steps of aggregation.c with all arrays on the device. */
#include "precond/multigrid/aggregation/aggregation_device.h"

#include <string.h>

#include <tessera/names.h>

#include "precond/multigrid/aggregation/rules.h"

/* ---- memory ---- */

static void release_lists(tess_context *ctx, amg_device_lists *l)
{
    tess_device_release(ctx, l->offset, l->of.nnz, sizeof *l->offset);
    device_csr_release(ctx, &l->of);
    *l = (amg_device_lists){0};
}

static void release_near(tess_context *ctx, amg_device_node_level *l)
{
    tess_device_release(ctx, l->near, l->rows.nrows * l->vectors, sizeof *l->near);
    l->near = NULL;
}

static void release_level(tess_context *ctx, amg_device_node_level *l)
{
    release_near(ctx, l);
    device_csr_release(ctx, &l->blocks);
    tess_device_release(ctx, l->tentative, l->rows.nrows * l->vectors, sizeof *l->tentative);
    tess_device_release(ctx, l->aggregate, l->rows.count, sizeof *l->aggregate);
    tess_device_release(ctx, l->transposed, l->p.of.nnz, sizeof *l->transposed);
    tess_device_release(ctx, l->ap_row, l->rows.nrows + 1, sizeof *l->ap_row);
    release_lists(ctx, &l->p);
    release_lists(ctx, &l->pt);
    release_lists(ctx, &l->ap);
    tess_device_release(ctx, l->rows.first, l->rows.count + 1, sizeof *l->rows.first);
    tess_device_release(ctx, l->rows.node_of, l->rows.nrows, sizeof *l->rows.node_of);
}

void amg_device_nodes_close(amg_hierarchy *h)
{
    amg_device *own = h->device;

    for (int l = 0; own->nodes && l < own->max_levels; l++) {
        release_level(h->ctx, &own->nodes[l]);
    }
    tess_host_release(h->ctx, own->nodes, own->max_levels, sizeof *own->nodes);
    own->nodes = NULL;
}

static int64_t list_bytes(const amg_device_lists *l)
{
    return device_csr_bytes(&l->of) + (l->offset ? l->of.nnz * (int64_t)sizeof *l->offset : 0);
}

int64_t amg_device_nodes_bytes(const amg_hierarchy *h)
{
    int64_t bytes = 0;

    for (int l = 0; h->device && h->device->nodes && l < h->count; l++) {
        const amg_device_node_level *own = &h->device->nodes[l];

        bytes += (own->rows.count + 1 + own->rows.nrows) * (int64_t)sizeof *own->rows.first;
        bytes += list_bytes(&own->p) + list_bytes(&own->pt) + list_bytes(&own->ap);
        bytes += own->near ? own->rows.nrows * own->vectors * (int64_t)sizeof *own->near : 0;
        bytes += own->tentative ? own->rows.nrows * own->vectors * (int64_t)sizeof *own->tentative : 0;
        bytes += own->ap_row ? (own->rows.nrows + 1 + own->p.of.nnz) * (int64_t)sizeof *own->ap_row : 0;
    }
    return bytes;
}

/* ---- the finest level ---- */

/* The user's vectors go to the device for a moment. */
static tess_status fill_near(const amg_hierarchy *h, amg_device_node_level *finest)
{
    tess_context *ctx = h->ctx;
    const int64_t values = finest->rows.nrows * finest->vectors;
    double *columns = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, values, sizeof *finest->near, (void **)&finest->near));
    if (h->options.near_nullspace) {
        TESS_TRY(tess_device_upload(ctx, h->options.near_nullspace, values, sizeof *columns, (void **)&columns));
    }
    status = amg_nodes_ops_of(ctx)->fill_near(ctx, columns, finest);
cleanup:
    tess_device_release(ctx, columns, values, sizeof *columns);
    return status;
}

tess_status amg_device_nodes_begin(amg_hierarchy *h, int block)
{
    tess_context *ctx = h->ctx;
    amg_device *own = h->device;
    const int64_t n = own->level[0].a.nrows;
    amg_device_node_level *finest = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, own->max_levels, sizeof *own->nodes, (void **)&own->nodes));
    memset(own->nodes, 0, (size_t)own->max_levels * sizeof *own->nodes);
    finest = &own->nodes[0];
    finest->rows.count = n / block;
    finest->rows.nrows = n;
    finest->most_height = block;
    finest->vectors = h->options.near_nullspace ? h->options.near_nullspace_columns : block;
    TESS_TRY(
        tess_device_allocate(ctx, finest->rows.count + 1, sizeof *finest->rows.first, (void **)&finest->rows.first));
    TESS_TRY(tess_device_allocate(ctx, n, sizeof *finest->rows.node_of, (void **)&finest->rows.node_of));
    TESS_TRY(amg_nodes_ops_of(ctx)->fill_nodes(ctx, block, &finest->rows));
    status = fill_near(h, finest);
cleanup:
    return status;
}

/* ---- P ---- */

static bool is_plain(const amg_hierarchy *h)
{
    return h->coarsening->kind == TESS_AMG_PLAIN;
}

/* T of a level that has aggregates, and the nodes of the next one. */
static tess_status make_tentative(tess_context *ctx, amg_device_node_level *own, int64_t count,
                                  amg_device_node_level *next)
{
    const amg_nodes_ops *ops = amg_nodes_ops_of(ctx);
    device_csr each = {0}, members = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ops->list_aggregates(ctx, &own->blocks, own->aggregate, count, true, &each));
    TESS_TRY(device_csr_ops_of(ctx)->transpose(ctx, &each, &members, NULL));
    TESS_TRY(ops->make_tentative(ctx, &members, own, next));
    release_near(ctx, own);
cleanup:
    device_csr_release(ctx, &members);
    device_csr_release(ctx, &each);
    return status;
}

/* Offsets of lists, and the rows that follow from them. */
static tess_status lay_out(tess_context *ctx, const amg_device_nodes *rows, const amg_device_nodes *columns,
                           amg_device_lists *lists, device_csr *out)
{
    const amg_nodes_ops *ops = amg_nodes_ops_of(ctx);
    int64_t nnz = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, lists->of.nnz, sizeof *lists->offset, (void **)&lists->offset));
    TESS_TRY(device_csr_allocate_rows(ctx, rows->nrows, columns->nrows, out));
    TESS_TRY(ops->lay_out(ctx, rows, columns, lists, out->row_ptr, &nnz));
    TESS_TRY(device_csr_allocate_entries(ctx, nnz, true, out));
    status = ops->write_columns(ctx, rows, columns, lists, out);
cleanup:
    return status;
}

/* P = T, or P = (I - omega D^-1 A) T. */
static tess_status fill_prolongator(const amg_hierarchy *h, int level)
{
    tess_context *ctx = h->ctx;
    const amg_nodes_ops *ops = amg_nodes_ops_of(ctx);
    amg_device_level *own = &h->device->level[level];
    const amg_device_node_level *nodes = &h->device->nodes[level];
    const int64_t blocks = own->a.nrows * nodes->most_height;
    amg_device_smoothing s = {.a = &own->a, .fine = nodes, .coarse = &nodes[1].rows};
    double *inverse = NULL, lambda = 0.0;
    tess_status status = TESS_SUCCESS;

    if (is_plain(h)) { return ops->smooth(ctx, &s, &own->p); }
    TESS_TRY(tess_device_allocate(ctx, blocks, sizeof *inverse, (void **)&inverse));
    TESS_TRY(ops->invert_blocks(ctx, &own->a, nodes, inverse));
    TESS_TRY(ops->estimate_lambda_max(ctx, &own->a, nodes, inverse, &lambda));
    s.inverse = inverse;
    s.omega = lambda > 0.0 ? AGGREGATION_DAMPING / lambda : 0.0;
    status = ops->smooth(ctx, &s, &own->p);
cleanup:
    tess_device_release(ctx, inverse, blocks, sizeof *inverse);
    return status;
}

static tess_status make_prolongator(const amg_hierarchy *h, int level, int64_t count)
{
    tess_context *ctx = h->ctx;
    amg_device_node_level *own = &h->device->nodes[level], *next = own + 1;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_tentative(ctx, own, count, next));
    if (next->rows.nrows == 0) { goto cleanup; }
    TESS_TRY(amg_nodes_ops_of(ctx)->list_aggregates(ctx, &own->blocks, own->aggregate, count, is_plain(h), &own->p.of));
    TESS_TRY(lay_out(ctx, &own->rows, &next->rows, &own->p, &h->device->level[level].p));
    status = fill_prolongator(h, level);
cleanup:
    return status;
}

static tess_status connect(const amg_hierarchy *h, int level, device_csr *graph)
{
    tess_context *ctx = h->ctx;
    amg_device_node_level *own = &h->device->nodes[level];
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_nodes_ops_of(ctx)->list_blocks(ctx, &h->device->level[level].a, &own->rows, &own->blocks));
    TESS_TRY(amg_nodes_ops_of(ctx)->connect(ctx, &own->blocks,
                                            amg_aggregation_strength(&h->options, is_plain(h), level), graph));
    device_csr_release_values(ctx, &own->blocks);
cleanup:
    return status;
}

tess_status amg_device_nodes_coarsen(amg_hierarchy *h, int level, double *since)
{
    tess_context *ctx = h->ctx;
    amg_device_node_level *own = &h->device->nodes[level];
    device_csr graph = {0};
    int64_t count = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(connect(h, level, &graph));
    TESS_TRY(amg_device_end_stage(h, AMG_STAGE_STRENGTH, "strong connections", since));
    TESS_TRY(tess_device_allocate(ctx, own->rows.count, sizeof *own->aggregate, (void **)&own->aggregate));
    TESS_TRY(amg_nodes_ops_of(ctx)->aggregate(ctx, &graph, own->aggregate, &count));
    TESS_TRY(amg_device_end_stage(h, AMG_STAGE_SPLIT, "aggregates", since));
    if (count > 0) { TESS_TRY(make_prolongator(h, level, count)); }
    status = amg_device_end_stage(h, AMG_STAGE_INTERPOLATION, "interpolation", since);
cleanup:
    device_csr_release(ctx, &graph);
    return status;
}

/* ---- products ---- */

/* Where the rows of A P begin. */
static tess_status lay_out_ap(tess_context *ctx, amg_device_node_level *own, const amg_device_nodes *coarse)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(device_csr_ops_of(ctx)->multiply(ctx, &own->blocks, &own->p.of, &own->ap.of));
    TESS_TRY(tess_device_allocate(ctx, own->ap.of.nnz, sizeof *own->ap.offset, (void **)&own->ap.offset));
    TESS_TRY(tess_device_allocate(ctx, own->rows.nrows + 1, sizeof *own->ap_row, (void **)&own->ap_row));
    TESS_TRY(amg_nodes_ops_of(ctx)->lay_out(ctx, &own->rows, coarse, &own->ap, own->ap_row, &own->ap_values));
    if (own->ap_values > INT32_MAX) {
        status = tess_fail(ctx, TESS_OUT_OF_RANGE, "build the levels in a CPU context",
                           "amg: a product of the set-up has %s; a GPU computes products of up to %d",
                           tess_count(own->ap_values, "nonzero").text, INT32_MAX);
    }
cleanup:
    return status;
}

/* The patterns of P^T and of P^T A P. */
static tess_status make_patterns(amg_hierarchy *h, int level)
{
    tess_context *ctx = h->ctx;
    amg_device_level *fine = &h->device->level[level];
    amg_device_node_level *own = &h->device->nodes[level];
    const amg_device_nodes *coarse = &own[1].rows;
    amg_device_lists lists = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(device_csr_ops_of(ctx)->transpose(ctx, &own->p.of, &own->pt.of, &own->transposed));
    TESS_TRY(lay_out(ctx, coarse, &own->rows, &own->pt, &fine->r));
    TESS_TRY(lay_out_ap(ctx, own, coarse));
    TESS_TRY(device_csr_ops_of(ctx)->multiply(ctx, &own->pt.of, &own->ap.of, &lists.of));
    status = lay_out(ctx, coarse, coarse, &lists, &fine[1].a);
cleanup:
    release_lists(ctx, &lists);
    device_csr_release(ctx, &own->blocks);
    return status;
}

/* Values of P^T and P^T A P. */
static tess_status fill_products(amg_hierarchy *h, int level)
{
    tess_context *ctx = h->ctx;
    amg_device_level *fine = &h->device->level[level];
    const amg_device_node_level *own = &h->device->nodes[level];
    amg_device_galerkin g = {.a = &fine->a, .p = &fine->p, .fine = own, .coarse = &own[1].rows};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_nodes_ops_of(ctx)->restrict_values(ctx, &g, &fine->r));
    TESS_TRY(tess_device_allocate(ctx, own->ap_values, sizeof *g.ap, (void **)&g.ap));
    status = amg_nodes_ops_of(ctx)->multiply(ctx, &g, &fine[1].a);
cleanup:
    tess_device_release(ctx, g.ap, own->ap_values, sizeof *g.ap);
    return status;
}

tess_status amg_device_nodes_multiply(amg_hierarchy *h, int level, double *since)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_patterns(h, level));
    TESS_TRY(amg_device_end_stage(h, AMG_STAGE_PRODUCT, "patterns of products", since));
    TESS_TRY(fill_products(h, level));
    status = amg_device_end_stage(h, AMG_STAGE_PRODUCT, "Galerkin products", since);
cleanup:
    return status;
}

/* ---- new values ---- */

/* Nodes, aggregates and T stay. */
tess_status amg_device_nodes_renew(amg_hierarchy *h, int level, double *since)
{
    tess_status status = TESS_SUCCESS;

    if (!is_plain(h)) { TESS_TRY(fill_prolongator(h, level)); }
    TESS_TRY(amg_device_end_stage(h, AMG_STAGE_INTERPOLATION, "interpolation", since));
    TESS_TRY(fill_products(h, level));
    status = amg_device_end_stage(h, AMG_STAGE_PRODUCT, "Galerkin products", since);
cleanup:
    return status;
}
