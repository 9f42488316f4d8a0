/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/direct/ordering.h"

/* The pattern of A + A^T without its diagonal, of nodes of s->node rows each. */
typedef struct graph {
    tess_context *ctx;
    int64_t n, ends;
    int node;
    int32_t *start, *neighbour; /* n + 1; ends */
} graph;

static void release_graph(graph *g)
{
    tess_host_release(g->ctx, g->start, g->n + 1, sizeof *g->start);
    tess_host_release(g->ctx, g->neighbour, g->ends, sizeof *g->neighbour);
}

/* start[i + 1] := neighbours of rows up to i; rows of `s` count from 1 */
static void count_neighbours(const direct_system *s, graph *g)
{
    for (int64_t i = 0; i <= g->n; i++) {
        g->start[i] = 0;
    }
    for (int64_t k = 0; k < s->count; k++) {
        const int32_t i = (s->row[k] - 1) / g->node, j = (s->column[k] - 1) / g->node;

        if (i == j) { continue; }
        g->start[i + 1] += 1;
        g->start[j + 1] += 1;
    }
    for (int64_t i = 0; i < g->n; i++) {
        g->start[i + 1] += g->start[i];
    }
}

/* start[i + 1] runs from the first neighbour of row i to behind the last. */
static void fill_neighbours(const direct_system *s, graph *g)
{
    for (int64_t i = g->n; i > 0; i--) {
        g->start[i] = g->start[i - 1];
    }
    for (int64_t k = 0; k < s->count; k++) {
        const int32_t i = (s->row[k] - 1) / g->node, j = (s->column[k] - 1) / g->node;

        if (i == j) { continue; }
        g->neighbour[g->start[i + 1]++] = j;
        g->neighbour[g->start[j + 1]++] = i;
    }
}

/* Each pair of neighbours once: of an unsymmetric matrix some came twice. `seen`: n values. */
static void remove_doubles(graph *g, int32_t *seen)
{
    int32_t count = 0, begin = 0;

    for (int64_t i = 0; i < g->n; i++) {
        seen[i] = -1;
    }
    for (int64_t i = 0; i < g->n; i++) {
        const int32_t end = g->start[i + 1];

        for (int32_t k = begin; k < end; k++) {
            const int32_t j = g->neighbour[k];

            if (seen[j] == i) { continue; }
            seen[j] = (int32_t)i;
            g->neighbour[count++] = j;
        }
        begin = end;
        g->start[i + 1] = count;
    }
}

static tess_status make_graph(const direct_system *s, int32_t *seen, graph *g)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(s->ctx, g->n + 1, sizeof *g->start, (void **)&g->start));
    count_neighbours(s, g);
    g->ends = g->start[g->n];
    TESS_TRY(tess_host_allocate(s->ctx, g->ends, sizeof *g->neighbour, (void **)&g->neighbour));
    fill_neighbours(s, g);
    remove_doubles(g, seen);
cleanup:
    return status;
}

tess_status direct_nested_dissection(const direct_system *s, int32_t *position, bool *found)
{
    graph g = {.ctx = s->ctx, .n = s->n / s->node, .node = s->node};
    int32_t *order = NULL;
    tess_status status = TESS_SUCCESS;

    *found = false;
    if (s->n >= INT32_MAX || s->count > INT32_MAX / 2) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(s->ctx, s->n, sizeof *order, (void **)&order));
    TESS_TRY(make_graph(s, order, &g));
    *found = mumps_dissect((int32_t)g.n, g.start, g.neighbour, order, position);
    for (int64_t i = s->n - 1; *found && i >= 0; i--) {
        position[i] = s->node * position[i / s->node] + (int32_t)(i % s->node) + 1;
    }
cleanup:
    release_graph(&g);
    tess_host_release(s->ctx, order, s->n, sizeof *order);
    return status;
}
