/* SPDX-License-Identifier: Apache-2.0 */
/* Distant nodes: a maximal independent set of distance 2. Each pass has one owner per node, so it parallelizes, on a
   GPU too, and gives the same set for any number of threads. */
#include <string.h>

#include "matrix/assemble.h"
#include "precond/multigrid/aggregation/aggregation.h"
#include "precond/multigrid/aggregation/rules.h"

/* A node's state: undecided nodes have a priority in between, distinct, smaller ones first. */
#define CHOSEN UINT64_C(0)
#define EXCLUDED UINT64_MAX

typedef struct search {
    const node_graph *g;
    int threads;
    uint64_t number_mask; /* the bits of a priority that hold the node's number + 1 */
    uint64_t *state;      /* of each node */
    uint64_t *least;      /* the least state among a node and its neighbours; EXCLUDED if one of them is chosen */
    int32_t *undecided;   /* worklists */
    int32_t *open;        /* nodes whose `least` may still change */
    int64_t nundecided, nopen;
} search;

static void draw_priorities(search *s, uint64_t round)
{
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (int64_t k = 0; k < s->nundecided; k++) {
        const int32_t i = s->undecided[k];

        s->state[i] = aggregation_priority(round, i, s->number_mask);
    }
}

static void find_least(search *s)
{
    const node_graph *g = s->g;

#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (int64_t k = 0; k < s->nopen; k++) {
        const int32_t i = s->open[k];
        uint64_t least = s->state[i];

        for (int64_t e = g->row_ptr[i]; e < g->row_ptr[i + 1]; e++) {
            const uint64_t other = s->state[g->col_ind[e]];

            least = other < least ? other : least;
        }
        s->least[i] = least == CHOSEN ? EXCLUDED : least;
    }
}

/* A node is chosen if it is the least around itself and around all neighbours; excluded with a chosen one near. */
static void decide(search *s)
{
    const node_graph *g = s->g;

#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (int64_t k = 0; k < s->nundecided; k++) {
        const int32_t i = s->undecided[k];
        bool excluded = s->least[i] == EXCLUDED, wins = s->least[i] == s->state[i];

        for (int64_t e = g->row_ptr[i]; e < g->row_ptr[i + 1] && !excluded; e++) {
            const uint64_t least = s->least[g->col_ind[e]];

            excluded = least == EXCLUDED;
            wins = wins && least == s->state[i];
        }
        if (excluded) {
            s->state[i] = EXCLUDED;
        } else if (wins) {
            s->state[i] = CHOSEN;
        }
    }
}

static void shorten(search *s)
{
    int64_t kept = 0;

    for (int64_t k = 0; k < s->nundecided; k++) {
        const uint64_t state = s->state[s->undecided[k]];

        if (state != CHOSEN && state != EXCLUDED) { s->undecided[kept++] = s->undecided[k]; }
    }
    s->nundecided = kept;
    kept = 0;
    for (int64_t k = 0; k < s->nopen; k++) {
        if (s->least[s->open[k]] != EXCLUDED) { s->open[kept++] = s->open[k]; }
    }
    s->nopen = kept;
}

static void start(search *s)
{
    for (int64_t i = 0; i < s->g->n; i++) {
        s->state[i] = EXCLUDED;
        if (s->g->row_ptr[i] == s->g->row_ptr[i + 1]) { continue; }
        s->undecided[s->nundecided++] = (int32_t)i;
        s->open[s->nopen++] = (int32_t)i;
    }
}

tess_status choose_distant_nodes(tess_context *ctx, const node_graph *g, bool *chosen)
{
    search s = {
        .g = g, .threads = tess_io_threads(ctx, g->row_ptr[g->n]), .number_mask = aggregation_number_mask(g->n)};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, g->n, sizeof *s.state, (void **)&s.state));
    TESS_TRY(tess_host_allocate(ctx, g->n, sizeof *s.least, (void **)&s.least));
    TESS_TRY(tess_host_allocate(ctx, g->n, sizeof *s.undecided, (void **)&s.undecided));
    TESS_TRY(tess_host_allocate(ctx, g->n, sizeof *s.open, (void **)&s.open));
    start(&s);
    for (uint64_t round = 0; s.nundecided > 0; round++) {
        draw_priorities(&s, round);
        find_least(&s);
        decide(&s);
        shorten(&s);
    }
    for (int64_t i = 0; i < g->n; i++) {
        chosen[i] = s.state[i] == CHOSEN;
    }
cleanup:
    tess_host_release(ctx, s.state, g->n, sizeof *s.state);
    tess_host_release(ctx, s.least, g->n, sizeof *s.least);
    tess_host_release(ctx, s.undecided, g->n, sizeof *s.undecided);
    tess_host_release(ctx, s.open, g->n, sizeof *s.open);
    return status;
}
