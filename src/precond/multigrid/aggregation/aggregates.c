/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aggregates from distant nodes: each takes its neighbours, and the rest joins a neighbouring aggregate (Bell, Dalton,
 * Olson, SIAM J. Sci. Comput. 34 (2012)). No node is next to two distant ones.
 */
#include <string.h>

#include "matrix/assemble.h"
#include "precond/multigrid/aggregation/aggregation.h"
#include "precond/multigrid/aggregation/rules.h"

enum { ALONE = -1, FREE = -2 };

void aggregates_release(tess_context *ctx, aggregates *a)
{
    tess_host_release(ctx, a->of, a->nodes, sizeof *a->of);
    *a = (aggregates){0};
}

/* Roots and their neighbours get the root's number for now. */
static void gather_around(const node_graph *g, const bool *root, int32_t *of)
{
    for (int64_t i = 0; i < g->n; i++) {
        of[i] = g->row_ptr[i + 1] > g->row_ptr[i] ? FREE : ALONE;
    }
    for (int64_t i = 0; i < g->n; i++) {
        if (!root[i]) { continue; }
        of[i] = (int32_t)i;
        for (int64_t k = g->row_ptr[i]; k < g->row_ptr[i + 1]; k++) {
            of[g->col_ind[k]] = (int32_t)i;
        }
    }
}

/* The aggregate of a free node's neighbours with the largest sum of weights; the first one of equals. Aggregates of
   the neighbours are read from `before`, so that the order of the nodes does not matter. */
static int32_t strongest_neighbour(const node_graph *g, const int32_t *before, int64_t i)
{
    int32_t best = FREE;
    double best_weight = -1.0;

    for (int64_t k = g->row_ptr[i]; k < g->row_ptr[i + 1]; k++) {
        const int32_t candidate = before[g->col_ind[k]];
        double weight = 0.0;

        if (candidate < 0 || candidate == best) { continue; }
        for (int64_t m = g->row_ptr[i]; m < g->row_ptr[i + 1]; m++) {
            if (before[g->col_ind[m]] == candidate) { weight += g->weight[m]; }
        }
        weight = aggregation_rounded_weight(weight);
        if (weight > best_weight || (weight == best_weight && candidate < best)) {
            best = candidate;
            best_weight = weight;
        }
    }
    return best;
}

static void join_rest(tess_context *ctx, const node_graph *g, const int32_t *before, int32_t *of)
{
    const int threads = tess_io_threads(ctx, g->row_ptr[g->n]);

#pragma omp parallel for num_threads(threads) schedule(dynamic, 1024)
    for (int64_t i = 0; i < g->n; i++) {
        if (before[i] == FREE) { of[i] = strongest_neighbour(g, before, i); }
    }
}

/* Numbers the aggregates in the order of their roots. number[i]: of root i. */
static int64_t number_aggregates(int64_t n, int32_t *number, int32_t *of)
{
    int64_t count = 0;

    for (int64_t i = 0; i < n; i++) {
        if (of[i] == i) { number[i] = (int32_t)count++; }
    }
    for (int64_t i = 0; i < n; i++) {
        of[i] = of[i] >= 0 ? number[of[i]] : ALONE;
    }
    return count;
}

tess_status aggregate_nodes(tess_context *ctx, const node_graph *g, aggregates *out)
{
    bool *root = NULL;
    int32_t *before = NULL;
    tess_status status = TESS_SUCCESS;

    *out = (aggregates){.nodes = g->n};
    TESS_TRY(tess_host_allocate(ctx, g->n, sizeof *out->of, (void **)&out->of));
    TESS_TRY(tess_host_allocate(ctx, g->n, sizeof *root, (void **)&root));
    TESS_TRY(tess_host_allocate(ctx, g->n, sizeof *before, (void **)&before));
    TESS_TRY(choose_distant_nodes(ctx, g, root));
    gather_around(g, root, out->of);
    memcpy(before, out->of, (size_t)g->n * sizeof *before);
    join_rest(ctx, g, before, out->of);
    out->count = number_aggregates(g->n, before, out->of);
cleanup:
    tess_host_release(ctx, root, g->n, sizeof *root);
    tess_host_release(ctx, before, g->n, sizeof *before);
    if (status != TESS_SUCCESS) { aggregates_release(ctx, out); }
    return status;
}
