/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laplacian plus identity of a preferential-attachment graph (Barabasi and Albert, Science 286, 1999), drawn as
 * Batagelj and Brandes do (Phys. Rev. E 71, 2005): the end of a new edge is an end of a random earlier one. Nodes are
 * numbered in order of attachment, so the hubs come first. No loops, no parallel edges: nnz = N + 2 EDGES.
 */
#include "gallery/problem.h"

typedef struct attachment {
    int64_t n, edges;
    uint64_t stream;
    int64_t *first;     /* n + 1: edges first[v] .. first[v + 1) start at node v and end at older nodes */
    int32_t *target;    /* edges: where each ends, ascending within a node */
    int32_t *source;    /* edges: where each starts */
    int64_t *in_first;  /* n + 1 */
    int32_t *in_source; /* edges: the younger neighbours of each node, ascending */
} attachment;

/* Node v brings its share of the edges, at most one to each older node; the rest goes to the next node. */
static void share_edges(attachment *g)
{
    int64_t base = g->n > 1 ? g->edges / (g->n - 1) : 0, rest = g->n > 1 ? g->edges % (g->n - 1) : 0, owed = 0;

    g->first[0] = 0;
    for (int64_t v = 0; v < g->n; v++) {
        int64_t brought;

        owed += v == 0 ? 0 : base + (v <= rest);
        brought = owed < v ? owed : v;
        owed -= brought;
        g->first[v + 1] = g->first[v] + brought;
    }
    g->edges = g->first[g->n];
}

/*
 * A random end of the edges before number `before`, or any older node while there are none. Three of four draws take
 * the end at the older node: degrees then decay with an exponent of 1 + 4/3, as in webs and social graphs.
 */
static int32_t draw_end(const attachment *g, uint64_t draw, int64_t before, int64_t v)
{
    uint64_t bits = tess_random_bits(g->stream, draw);
    int64_t end = before ? gallery_below(bits, before) : gallery_below(bits, v);

    if (before == 0) { return (int32_t)end; }
    return bits & 3 ? g->target[end] : g->source[end];
}

static void sort_ascending(int32_t *list, int64_t length)
{
    for (int64_t i = 1; i < length; i++) {
        int32_t value = list[i];
        int64_t j = i;

        for (; j > 0 && list[j - 1] > value; j--) {
            list[j] = list[j - 1];
        }
        list[j] = value;
    }
}

/* Ends of the edges that node v brings: distinct. A taken end is drawn again; after many draws the next free node is
   used. */
static void attach_node(attachment *g, int64_t v, uint64_t *draw, int32_t *taken_by)
{
    enum { TRIES = 64 };
    int64_t before = g->first[v];

    for (int64_t e = g->first[v]; e < g->first[v + 1]; e++) {
        int32_t end = 0;
        int tries = 0;

        do {
            end = draw_end(g, (*draw)++, before, v);
        } while (taken_by[end] == v && ++tries < TRIES);
        while (taken_by[end] == v) {
            end = (int32_t)((end + 1) % v);
        }
        taken_by[end] = (int32_t)v;
        g->target[e] = end;
        g->source[e] = (int32_t)v;
    }
}

static void attach_all(attachment *g, int32_t *taken_by)
{
    uint64_t draw = 0;

    for (int64_t v = 0; v < g->n; v++) {
        taken_by[v] = -1;
    }
    for (int64_t v = 1; v < g->n; v++) {
        attach_node(g, v, &draw, taken_by);
    }
}

/* Younger neighbours: the edges sorted by where they end; a counting sort keeps the order of where they start. */
static void collect_sources(attachment *g)
{
    for (int64_t v = 0; v <= g->n; v++) {
        g->in_first[v] = 0;
    }
    for (int64_t e = 0; e < g->edges; e++) {
        g->in_first[g->target[e] + 1]++;
    }
    for (int64_t v = 0; v < g->n; v++) {
        g->in_first[v + 1] += g->in_first[v];
    }
    for (int64_t e = 0; e < g->edges; e++) {
        g->in_source[g->in_first[g->target[e]]++] = g->source[e];
    }
    for (int64_t v = g->n; v > 0; v--) {
        g->in_first[v] = g->in_first[v - 1];
    }
    g->in_first[0] = 0;
}

static int64_t powerlaw_length(const void *problem, int64_t row)
{
    const attachment *g = problem;

    return 1 + g->first[row + 1] - g->first[row] + g->in_first[row + 1] - g->in_first[row];
}

static void powerlaw_fill(const void *problem, int64_t row, int32_t *col, double *val)
{
    const attachment *g = problem;
    int64_t older = g->first[row + 1] - g->first[row], length = powerlaw_length(problem, row);

    for (int64_t k = 0; k < length; k++) {
        val[k] = -1.0;
    }
    for (int64_t k = 0; k < older; k++) {
        col[k] = g->target[g->first[row] + k];
    }
    sort_ascending(col, older);
    col[older] = (int32_t)row;
    val[older] = (double)length; /* degree + 1 */
    for (int64_t k = older + 1; k < length; k++) {
        col[k] = g->in_source[g->in_first[row] + k - older - 1];
    }
}

static void release_attachment(tess_context *ctx, attachment *g, int64_t edges)
{
    tess_host_release(ctx, g->first, g->n + 1, sizeof *g->first);
    tess_host_release(ctx, g->target, edges, sizeof *g->target);
    tess_host_release(ctx, g->source, edges, sizeof *g->source);
    tess_host_release(ctx, g->in_first, g->n + 1, sizeof *g->in_first);
    tess_host_release(ctx, g->in_source, edges, sizeof *g->in_source);
}

/* N, EDGES and SEED. */
static tess_status read_attachment(const gallery_request *request, attachment *g)
{
    int64_t seed = 1, most;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gallery_integer(request, 0, "N", 1, TESS_MAX_ROWS, &g->n));
    most = g->n < 65536 ? g->n * (g->n - 1) / 2 : INT32_MAX;
    g->edges = 19 * g->n / 2 < most ? 19 * g->n / 2 : most;
    TESS_TRY(gallery_integer(request, 1, "EDGES", 0, most, &g->edges));
    TESS_TRY(gallery_integer(request, 2, "SEED", 0, GALLERY_SEED_MAX, &seed));
    g->stream = gallery_stream(seed, 0);
cleanup:
    return status;
}

tess_status gallery_powerlaw(const gallery_request *request, tess_matrix **out)
{
    tess_context *ctx = request->ctx;
    attachment g = {.n = 0};
    int64_t edges = 0;
    int32_t *taken_by = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(read_attachment(request, &g));
    edges = g.edges;
    TESS_TRY(tess_host_allocate(ctx, g.n + 1, sizeof *g.first, (void **)&g.first));
    TESS_TRY(tess_host_allocate(ctx, edges, sizeof *g.target, (void **)&g.target));
    TESS_TRY(tess_host_allocate(ctx, edges, sizeof *g.source, (void **)&g.source));
    TESS_TRY(tess_host_allocate(ctx, g.n + 1, sizeof *g.in_first, (void **)&g.in_first));
    TESS_TRY(tess_host_allocate(ctx, edges, sizeof *g.in_source, (void **)&g.in_source));
    TESS_TRY(tess_host_allocate(ctx, g.n, sizeof *taken_by, (void **)&taken_by));
    share_edges(&g);
    attach_all(&g, taken_by);
    collect_sources(&g);
    status = gallery_build(ctx, &(gallery_rows){g.n, g.n, powerlaw_length, powerlaw_fill, &g}, out);
cleanup:
    tess_host_release(ctx, taken_by, g.n, sizeof *taken_by);
    release_attachment(ctx, &g, edges);
    return status;
}
