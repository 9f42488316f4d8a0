/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/cycle/blocks.h"

#include "precond/multigrid/aggregation/aggregation.h"
#include "precond/multigrid/aggregation/aggregation_device.h"
#include "precond/multigrid/cycle/node_block.h"
#include "precond/multigrid/cycle/store.h"

/* On the host: nodes, the inverses of their blocks as invert_blocks leaves them, and S^-1. */
typedef struct node_blocks {
    const node_rows *rows;
    int most_height, stored; /* rows of a node; of the blocks by which the level is stored */
    const double *inverse, *scale;
} node_blocks;

bool amg_has_blocks(const amg_hierarchy *h)
{
    const aggregation_level *finest = NULL;

    if (h->options.smoother != TESS_AMG_BLOCK_JACOBI) { return false; }
    if (h->device) {
        return h->device->nodes && (h->device->nodes[0].most_height > 1 || h->device->nodes[0].vectors > 1);
    }
    finest = h->coarsening->nodes ? h->coarsening->nodes(h->state, 0) : NULL;
    return finest && (finest->most_height > 1 || finest->vectors > 1);
}

/* ---- a matrix of blocks ---- */

static void copy_row(const node_blocks *b, int64_t i, const host_csr *out)
{
    const int64_t first = b->rows->first[b->rows->node_of[i]], at = out->row_ptr[i];
    const int64_t height = out->row_ptr[i + 1] - at;
    const double *row = b->inverse + first * b->most_height + (i - first) * height;

    for (int64_t c = 0; c < height; c++) {
        out->col_ind[at + c] = (int32_t)(first + c);
        out->val[at + c] = row[c];
    }
}

static tess_status as_matrix(tess_context *ctx, const node_blocks *b, host_csr *out)
{
    const node_rows *rows = b->rows;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_allocate_rows(ctx, rows->nrows, rows->nrows, out));
    out->row_ptr[0] = 0;
    for (int64_t i = 0; i < rows->nrows; i++) {
        out->row_ptr[i + 1] = rows->first[rows->node_of[i] + 1] - rows->first[rows->node_of[i]];
    }
    host_csr_sum_lengths(out);
    TESS_TRY(host_csr_allocate_entries(ctx, out));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t i = 0; i < rows->nrows; i++) {
        copy_row(b, i, out);
    }
cleanup:
    return status;
}

/* In the precision of the vectors: the blocks have few of a level's entries. */
static tess_status store(const amg_cycle *c, const node_blocks *b, amg_cycle_level *out)
{
    host_csr inverse = {0};
    tess_status status = TESS_SUCCESS;

    tess_matrix_destroy(out->blocks); /* of the values before */
    out->blocks = NULL;
    TESS_TRY(as_matrix(c->ctx, b, &inverse));
    status = amg_store(c->ctx, &(amg_scaled){&inverse, b->scale, b->scale},
                       &(amg_layout){c->vectors, c->vectors, b->stored, b->stored}, false, &out->blocks);
cleanup:
    host_csr_release(c->ctx, &inverse);
    return status;
}

/* ---- on a host, and on a GPU ---- */

static tess_status invert_on_host(const amg_cycle *c, const amg_hierarchy *h, int l, const double *scale,
                                  amg_cycle_level *out)
{
    const aggregation_level *level = h->coarsening->nodes(h->state, l);
    const int64_t values = level->rows.nrows * level->most_height;
    double *inverse = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(c->ctx, values, sizeof *inverse, (void **)&inverse));
    invert_blocks(c->ctx, &h->level[l].a, level, inverse);
    status = store(c, &(node_blocks){&level->rows, level->most_height, amg_node_block(h, l), inverse, scale}, out);
cleanup:
    tess_host_release(c->ctx, inverse, values, sizeof *inverse);
    return status;
}

static tess_status download_nodes(tess_context *ctx, const amg_device_nodes *nodes, node_rows *out)
{
    const int64_t count = nodes->count + 1;
    int32_t *narrow = NULL;
    int64_t *first = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, count, sizeof *narrow, (void **)&narrow));
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *first, (void **)&first));
    TESS_TRY(ctx->backend->download(ctx, narrow, nodes->first, (size_t)count * sizeof *narrow));
    for (int64_t i = 0; i < count; i++) {
        first[i] = narrow[i];
    }
    status = node_rows_of_ranges(ctx, nodes->count, first, out);
cleanup:
    tess_host_release(ctx, narrow, count, sizeof *narrow);
    tess_host_release(ctx, first, count, sizeof *first);
    return status;
}

/* The device inverts; the inverses, a few numbers a row, go to the host to become a matrix. */
static tess_status invert_on_gpu(const amg_cycle *c, const amg_hierarchy *h, int l, const double *scale,
                                 amg_cycle_level *out)
{
    tess_context *ctx = c->ctx;
    const amg_device_node_level *level = &h->device->nodes[l];
    const int64_t n = level->rows.nrows, values = n * level->most_height;
    node_rows rows = {0};
    double *inverse = NULL, *copy = NULL, *scale_copy = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(download_nodes(ctx, &level->rows, &rows));
    TESS_TRY(tess_device_allocate(ctx, values, sizeof *inverse, (void **)&inverse));
    TESS_TRY(tess_host_allocate(ctx, values, sizeof *copy, (void **)&copy));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *scale_copy, (void **)&scale_copy));
    TESS_TRY(amg_nodes_ops_of(ctx)->invert_blocks(ctx, &h->device->level[l].a, level, inverse));
    TESS_TRY(ctx->backend->download(ctx, copy, inverse, (size_t)values * sizeof *copy));
    TESS_TRY(ctx->backend->download(ctx, scale_copy, scale, (size_t)n * sizeof *scale_copy));
    status = store(c, &(node_blocks){&rows, level->most_height, amg_node_block(h, l), copy, scale_copy}, out);
cleanup:
    node_rows_release(ctx, &rows);
    tess_device_release(ctx, inverse, values, sizeof *inverse);
    tess_host_release(ctx, copy, values, sizeof *copy);
    tess_host_release(ctx, scale_copy, n, sizeof *scale_copy);
    return status;
}

tess_status amg_make_blocks(const amg_cycle *c, const amg_hierarchy *h, int l, const double *inverse,
                            amg_cycle_level *out)
{
    const bool inverted = l + 1 == h->count && h->level[l].a.nrows <= AMG_MOST_DENSE_ROWS;

    if (!c->has_blocks || inverted) { return TESS_SUCCESS; }
    return h->device ? invert_on_gpu(c, h, l, inverse, out) : invert_on_host(c, h, l, inverse, out);
}
