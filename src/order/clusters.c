/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in cells of neighbours. Seeds are drawn by a hash of the row's number, and cells grow from them by one row in
 * each pass over the pattern, all at once. The graph of cells is small: the host orders it by reverse Cuthill-McKee. In
 * a cell, rows go by the pass that reached them. Every step but that of the cell graph runs where the matrix lies.
 */
#include "order/clusters.h"

#include <string.h>

#include "order/order.h"

typedef struct cluster_search {
    tess_context *ctx;
    const cluster_ops *ops;
    csr_view v;
    int32_t *label, *next; /* n */
    uint8_t *reached;      /* n: by which pass */
    int32_t *slot;         /* CLUSTER_SLOTS of each cell */
    int32_t *cell_place;   /* of each cell in the order of cells */
    int64_t cells;
    int passes; /* the most of a generation */
} cluster_search;

/* ---- growth ---- */

static tess_status grow_round(cluster_search *s, int round)
{
    tess_status status = TESS_SUCCESS;

    for (int p = 1; p <= CLUSTER_PASSES; p++) {
        int32_t *const from = s->label;

        TESS_TRY(s->ops->grow(s->ctx, &s->v, round * CLUSTER_PASSES + p, from, s->next, s->reached));
        s->label = s->next;
        s->next = from;
    }
    if ((round + 1) * CLUSTER_PASSES > s->passes) { s->passes = (round + 1) * CLUSTER_PASSES; }
cleanup:
    return status;
}

/* Later rounds and generations are for rows that no earlier one reached. */
static tess_status grow_cells(cluster_search *s)
{
    const int64_t n = s->v.nrows;
    int64_t left = n;
    tess_status status = TESS_SUCCESS;

    for (int g = 0; g < CLUSTER_GENERATIONS && left > 0; g++) {
        int64_t before = left + 1;

        TESS_TRY(s->ops->seed(s->ctx, n, g, s->label));
        for (int round = 0; round < CLUSTER_ROUNDS && left > 0 && left < before; round++) {
            TESS_TRY(grow_round(s, round));
            before = left;
            TESS_TRY(s->ops->count(s->ctx, n, s->label, &left));
        }
    }
cleanup:
    return status;
}

/* ---- the order of cells ---- */

/* The slots of each cell as rows: ascending, each neighbour once. Returns how many entries there are. */
static int64_t pack_slots(int64_t cells, int32_t *slot, int64_t *first)
{
    int64_t count = 0;

    for (int64_t c = 0; c < cells; c++) {
        const int64_t begin = count;

        first[c] = begin;
        for (int64_t k = c * CLUSTER_SLOTS; k < (c + 1) * CLUSTER_SLOTS; k++) {
            const int32_t other = slot[k] - 1;
            int64_t at = count;

            if (other < 0) { continue; }
            for (; at > begin && slot[at - 1] > other; at--) {
                slot[at] = slot[at - 1];
            }
            slot[at] = other;
            count++;
        }
    }
    first[cells] = count;
    return count;
}

/* place[c] := where cell c goes; slot: on the host, used up. */
static tess_status order_cells(tess_context *ctx, int64_t cells, int32_t *slot, int32_t *place)
{
    tess_csr_view g = {.nrows = cells, .ncols = cells, .row_ptr_bits = 64, .col_ind = slot};
    int64_t *first = NULL;
    int32_t *order = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, cells + 1, sizeof *first, (void **)&first));
    TESS_TRY(tess_host_allocate(ctx, cells, sizeof *order, (void **)&order));
    g.nnz = pack_slots(cells, slot, first);
    g.row_ptr = first;
    TESS_TRY(order_rcm_of_pattern(ctx, &g, order));
    for (int64_t c = 0; c < cells; c++) {
        place[order[c]] = (int32_t)c;
    }
cleanup:
    tess_host_release(ctx, order, cells, sizeof *order);
    tess_host_release(ctx, first, cells + 1, sizeof *first);
    return status;
}

/* s->cell_place for the cells that labels now are. */
static tess_status place_cells(cluster_search *s)
{
    tess_context *ctx = s->ctx;
    const int64_t slots = s->cells * CLUSTER_SLOTS;
    int32_t *slot = NULL, *place = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, slots, sizeof *s->slot, (void **)&s->slot));
    TESS_TRY(tess_device_allocate(ctx, s->cells, sizeof *s->cell_place, (void **)&s->cell_place));
    TESS_TRY(tess_host_allocate(ctx, slots, sizeof *slot, (void **)&slot));
    TESS_TRY(tess_host_allocate(ctx, s->cells, sizeof *place, (void **)&place));
    TESS_TRY(ctx->backend->zero(ctx, s->slot, (size_t)slots * sizeof *s->slot));
    TESS_TRY(s->ops->neighbours(ctx, &s->v, s->cells, s->label, s->slot));
    TESS_TRY(ctx->backend->download(ctx, slot, s->slot, (size_t)slots * sizeof *slot));
    TESS_TRY(order_cells(ctx, s->cells, slot, place));
    status = ctx->backend->upload(ctx, s->cell_place, place, (size_t)s->cells * sizeof *place);
cleanup:
    tess_host_release(ctx, place, s->cells, sizeof *place);
    tess_host_release(ctx, slot, slots, sizeof *slot);
    return status;
}

/* ---- all ---- */

static void release_search(cluster_search *s)
{
    const int64_t n = s->v.nrows;

    tess_device_release(s->ctx, s->label, n, sizeof *s->label);
    tess_device_release(s->ctx, s->next, n, sizeof *s->next);
    tess_device_release(s->ctx, s->reached, n, sizeof *s->reached);
    tess_device_release(s->ctx, s->slot, s->cells * CLUSTER_SLOTS, sizeof *s->slot);
    tess_device_release(s->ctx, s->cell_place, s->cells, sizeof *s->cell_place);
}

/* Keys of 32 bits: with very many cells, passes do not count. */
static int depth_of(const cluster_search *s)
{
    const int64_t bins = s->cells + s->v.nrows / CLUSTER_REST + 1;

    return bins * (s->passes + 1) < INT32_MAX ? s->passes + 1 : 1;
}

tess_status order_find_clusters(const tess_matrix *a, int32_t *perm)
{
    tess_context *ctx = a->ctx;
    const int64_t n = a->nrows;
    cluster_search s = {.ctx = ctx, .ops = clusters_ops_of(ctx), .v = csr_of(a)->view};
    tess_status status = TESS_SUCCESS;

    if (n == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(ctx, n, sizeof *s.label, (void **)&s.label));
    TESS_TRY(tess_device_allocate(ctx, n, sizeof *s.next, (void **)&s.next));
    TESS_TRY(tess_device_allocate(ctx, n, sizeof *s.reached, (void **)&s.reached));
    TESS_TRY(ctx->backend->zero(ctx, s.reached, (size_t)n * sizeof *s.reached));
    TESS_TRY(grow_cells(&s));
    TESS_TRY(s.ops->number(ctx, n, s.label, &s.cells));
    TESS_TRY(place_cells(&s));
    status = s.ops->sort(ctx, n, s.cells, depth_of(&s), s.label, s.cell_place, s.reached, perm);
cleanup:
    release_search(&s);
    return status;
}
