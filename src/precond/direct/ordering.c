/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/direct/ordering.h"

#ifdef TESS_METIS

#include <metis.h>
#include <pthread.h>

#if IDXTYPEWIDTH == 32
#define LARGEST_INDEX INT32_MAX
#else
#define LARGEST_INDEX INT64_MAX
#endif

enum { SEED = 1 };
/* METIS takes its random numbers from rand(): one order at a time repeats, unless the program calls rand() too. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* The pattern of A + A^T without its diagonal, as METIS takes it. */
typedef struct graph {
    tess_context *ctx;
    int64_t n, ends;
    idx_t *start, *neighbour; /* n + 1; ends */
} graph;

static void release_graph(graph *g)
{
    tess_host_release(g->ctx, g->start, g->n + 1, sizeof *g->start);
    tess_host_release(g->ctx, g->neighbour, g->ends, sizeof *g->neighbour);
}

/* start[i + 1] := neighbours of rows up to i; rows count from 1 */
static void count_neighbours(const direct_system *s, graph *g)
{
    for (int64_t i = 0; i <= g->n; i++) {
        g->start[i] = 0;
    }
    for (int64_t k = 0; k < s->count; k++) {
        if (s->row[k] == s->column[k]) { continue; }
        g->start[s->row[k]] += 1;
        g->start[s->column[k]] += 1;
    }
    for (int64_t i = 0; i < g->n; i++) {
        g->start[i + 1] += g->start[i];
    }
}

/* Fills each row from its end, so that `start` ends as it is meant. */
static void fill_neighbours(const direct_system *s, graph *g)
{
    for (int64_t i = g->n; i > 0; i--) {
        g->start[i] = g->start[i - 1];
    }
    for (int64_t k = 0; k < s->count; k++) {
        const int32_t i = s->row[k], j = s->column[k];

        if (i == j) { continue; }
        g->neighbour[g->start[i]++] = j - 1;
        g->neighbour[g->start[j]++] = i - 1;
    }
}

/* Each pair of neighbours once: of an unsymmetric matrix some came twice. `seen`: n values. */
static void remove_doubles(graph *g, idx_t *seen)
{
    idx_t count = 0, begin = 0;

    for (int64_t i = 0; i < g->n; i++) {
        seen[i] = -1;
    }
    for (int64_t i = 0; i < g->n; i++) {
        const idx_t end = g->start[i + 1];

        for (idx_t k = begin; k < end; k++) {
            const idx_t j = g->neighbour[k];

            if (seen[j] == i) { continue; }
            seen[j] = (idx_t)i;
            g->neighbour[count++] = j;
        }
        begin = end;
        g->start[i + 1] = count;
    }
}

static tess_status make_graph(const direct_system *s, idx_t *seen, graph *g)
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

/* `order` is work space. */
static bool order_by_metis(const graph *g, idx_t *order, idx_t *place)
{
    idx_t options[METIS_NOPTIONS], n = (idx_t)g->n;
    int result = METIS_ERROR;

    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = SEED;
    options[METIS_OPTION_NUMBERING] = 0;
    pthread_mutex_lock(&one_at_a_time);
    result = METIS_NodeND(&n, g->start, g->neighbour, NULL, options, order, place);
    pthread_mutex_unlock(&one_at_a_time);
    return result == METIS_OK;
}

tess_status direct_nested_dissection(const direct_system *s, int32_t *position, bool *found)
{
    graph g = {.ctx = s->ctx, .n = s->n};
    idx_t *order = NULL, *place = NULL;
    tess_status status = TESS_SUCCESS;

    *found = false;
    if (s->n >= INT32_MAX || s->count > LARGEST_INDEX / 2) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(s->ctx, s->n, sizeof *order, (void **)&order));
    TESS_TRY(tess_host_allocate(s->ctx, s->n, sizeof *place, (void **)&place));
    TESS_TRY(make_graph(s, order, &g));
    *found = order_by_metis(&g, order, place);
    for (int64_t i = 0; *found && i < s->n; i++) {
        position[i] = (int32_t)place[i] + 1;
    }
cleanup:
    release_graph(&g);
    tess_host_release(s->ctx, order, s->n, sizeof *order);
    tess_host_release(s->ctx, place, s->n, sizeof *place);
    return status;
}

#else

tess_status direct_nested_dissection(const direct_system *s, int32_t *position, bool *found)
{
    (void)s;
    (void)position;
    *found = false;
    return TESS_SUCCESS;
}

#endif
