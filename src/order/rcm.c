/* SPDX-License-Identifier: Apache-2.0 */
/* Reverse Cuthill-McKee. */
#include <stdlib.h>
#include <string.h>

#include "base/offsets.h"
#include "order/order.h"

/* An undirected graph as rows of neighbours. A node may be its own neighbour; no step below minds. */
typedef struct graph {
    int64_t n;
    const int64_t *first;
    const int32_t *neighbour;
} graph;

/* ---- symmetric pattern ---- */

typedef struct pattern {
    int64_t *first, *transposed_first; /* n + 1 */
    int32_t *transposed;               /* nnz */
    int32_t *joined;                   /* joined_count; NULL if A's own pattern is used */
    int64_t joined_count;
} pattern;

/* Rows of A^T, ascending because rows are visited in order. */
static void transpose_pattern(const tess_csr_view *a, pattern *p)
{
    int64_t n = a->nrows, *first = p->transposed_first;

    memset(first, 0, (size_t)(n + 1) * sizeof *first);
    for (int64_t k = 0; k < a->nnz; k++) {
        first[a->col_ind[k] + 1]++;
    }
    for (int64_t i = 0; i < n; i++) {
        first[i + 1] += first[i];
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = p->first[i]; k < p->first[i + 1]; k++) {
            p->transposed[first[a->col_ind[k]]++] = (int32_t)i;
        }
    }
    memmove(first + 1, first, (size_t)n * sizeof *first);
    first[0] = 0;
}

/* Union of row i of A and of A^T; written to `out` unless NULL. Returns its length. */
static int64_t join_row(const tess_csr_view *a, const pattern *p, int64_t i, int32_t *out)
{
    int64_t k = p->first[i], l = p->transposed_first[i], end_k = p->first[i + 1], end_l = p->transposed_first[i + 1];
    int64_t length = 0;

    while (k < end_k || l < end_l) {
        bool from_a = l == end_l || (k < end_k && a->col_ind[k] <= p->transposed[l]);
        int32_t j = from_a ? a->col_ind[k] : p->transposed[l];

        k += k < end_k && a->col_ind[k] == j;
        l += l < end_l && p->transposed[l] == j;
        if (out) { out[length] = j; }
        length++;
    }
    return length;
}

static tess_status join_patterns(tess_context *ctx, const tess_csr_view *a, pattern *p, int64_t *joined_first)
{
    tess_status status = TESS_SUCCESS;

    joined_first[0] = 0;
    for (int64_t i = 0; i < a->nrows; i++) {
        joined_first[i + 1] = joined_first[i] + join_row(a, p, i, NULL);
    }
    p->joined_count = joined_first[a->nrows];
    status = tess_host_allocate(ctx, p->joined_count, sizeof *p->joined, (void **)&p->joined);
    for (int64_t i = 0; status == TESS_SUCCESS && i < a->nrows; i++) {
        join_row(a, p, i, p->joined + joined_first[i]);
    }
    return status;
}

static bool pattern_is_symmetric(const tess_csr_view *a, const pattern *p)
{
    return memcmp(p->first, p->transposed_first, (size_t)(a->nrows + 1) * sizeof *p->first) == 0 &&
           memcmp(a->col_ind, p->transposed, (size_t)a->nnz * sizeof *p->transposed) == 0;
}

/* The graph of A + A^T; it borrows from `a` and from `p`, which the caller releases, also after a failure. */
static tess_status symmetrize(tess_context *ctx, const tess_csr_view *a, pattern *p, graph *g)
{
    int64_t n = a->nrows, *joined_first = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, n + 1, sizeof *p->first, (void **)&p->first));
    TESS_TRY(tess_host_allocate(ctx, n + 1, sizeof *p->first, (void **)&p->transposed_first));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *p->transposed, (void **)&p->transposed));
    for (int64_t i = 0; i <= n; i++) {
        p->first[i] = tess_row_offset(a->row_ptr, a->row_ptr_bits, i);
    }
    transpose_pattern(a, p);
    if (!pattern_is_symmetric(a, p)) {
        TESS_TRY(tess_host_allocate(ctx, n + 1, sizeof *joined_first, (void **)&joined_first));
        TESS_TRY(join_patterns(ctx, a, p, joined_first));
        memcpy(p->first, joined_first, (size_t)(n + 1) * sizeof *p->first);
    }
    *g = (graph){n, p->first, p->joined ? p->joined : a->col_ind};
cleanup:
    tess_host_release(ctx, joined_first, n + 1, sizeof *joined_first);
    return status;
}

static void release_pattern(tess_context *ctx, const tess_csr_view *a, pattern *p)
{
    tess_host_release(ctx, p->first, a->nrows + 1, sizeof *p->first);
    tess_host_release(ctx, p->transposed_first, a->nrows + 1, sizeof *p->transposed_first);
    tess_host_release(ctx, p->transposed, a->nnz, sizeof *p->transposed);
    tess_host_release(ctx, p->joined, p->joined_count, sizeof *p->joined);
}

/* ---- breadth-first search ---- */

static int64_t degree(const graph *g, int32_t v)
{
    return g->first[v + 1] - g->first[v];
}

typedef struct levels {
    int64_t count;      /* nodes reached */
    int64_t depth;      /* levels */
    int64_t last_level; /* where the last one begins in the queue */
} levels;

/* Level structure from `root`. `visit[v]` becomes `stamp`; nodes with visit[v] < 0 are excluded. */
static levels search_levels(const graph *g, int32_t root, int32_t stamp, int32_t *visit, int32_t *queue)
{
    levels l = {1, 0, 0};
    int64_t begin = 0;

    queue[0] = root;
    visit[root] = stamp;
    while (begin < l.count) {
        int64_t end = l.count;

        l.last_level = begin;
        l.depth++;
        for (; begin < end; begin++) {
            for (int64_t k = g->first[queue[begin]]; k < g->first[queue[begin] + 1]; k++) {
                int32_t v = g->neighbour[k];

                if (visit[v] >= 0 && visit[v] != stamp) {
                    visit[v] = stamp;
                    queue[l.count++] = v;
                }
            }
        }
    }
    return l;
}

/* George and Liu: start again from the last level's node of least degree, as long as the number of levels grows. */
static int32_t find_pseudo_peripheral(const graph *g, int32_t start, int32_t *visit, int32_t *queue)
{
    int32_t root = start, stamp = 0;
    int64_t depth = 0;

    for (;;) {
        levels l = search_levels(g, root, ++stamp, visit, queue);
        int32_t best = queue[l.last_level];

        if (l.depth <= depth) { return root; }
        depth = l.depth;
        for (int64_t k = l.last_level + 1; k < l.count; k++) {
            if (degree(g, queue[k]) < degree(g, best) || (degree(g, queue[k]) == degree(g, best) && queue[k] < best)) {
                best = queue[k];
            }
        }
        if (l.depth == 1) { return best; }
        root = best;
    }
}

/* ---- Cuthill-McKee ---- */

typedef struct ranked_node {
    int64_t degree;
    int32_t node;
} ranked_node;

static int compare_ranked(const void *left, const void *right)
{
    const ranked_node *a = left, *b = right;

    if (a->degree != b->degree) { return a->degree < b->degree ? -1 : 1; }
    return (a->node > b->node) - (a->node < b->node);
}

static void sort_ranked(ranked_node *list, int64_t count)
{
    enum { SHORT = 32 };

    if (count > SHORT) {
        qsort(list, (size_t)count, sizeof *list, compare_ranked);
        return;
    }
    for (int64_t i = 1; i < count; i++) {
        ranked_node moved = list[i];
        int64_t j = i;

        for (; j > 0 && compare_ranked(&list[j - 1], &moved) > 0; j--) {
            list[j] = list[j - 1];
        }
        list[j] = moved;
    }
}

/* Numbers the component of `root` into order[0 ..); numbered nodes get visit = -1. Returns how many. */
static int64_t number_component(const graph *g, int32_t root, int32_t *visit, int32_t *order, ranked_node *ranked)
{
    int64_t count = 1;

    order[0] = root;
    visit[root] = -1;
    for (int64_t done = 0; done < count; done++) {
        int64_t found = 0;

        for (int64_t k = g->first[order[done]]; k < g->first[order[done] + 1]; k++) {
            int32_t v = g->neighbour[k];

            if (visit[v] >= 0) {
                visit[v] = -1;
                ranked[found++] = (ranked_node){degree(g, v), v};
            }
        }
        sort_ranked(ranked, found);
        for (int64_t k = 0; k < found; k++) {
            order[count++] = ranked[k].node;
        }
    }
    return count;
}

static void number_graph(const graph *g, int32_t *visit, ranked_node *ranked, int32_t *perm)
{
    int64_t numbered = 0;

    memset(visit, 0, (size_t)g->n * sizeof *visit);
    for (int64_t v = 0; v < g->n; v++) {
        if (visit[v] < 0) { continue; }
        /* The places still free in perm serve as the queue: a component never has more nodes. */
        int32_t root = find_pseudo_peripheral(g, (int32_t)v, visit, perm + numbered);
        numbered += number_component(g, root, visit, perm + numbered, ranked);
    }
    for (int64_t i = 0; i < g->n / 2; i++) {
        int32_t kept = perm[i];

        perm[i] = perm[g->n - 1 - i];
        perm[g->n - 1 - i] = kept;
    }
}

static int64_t longest_row(const graph *g)
{
    int64_t longest = 0;

    for (int64_t v = 0; v < g->n; v++) {
        if (g->first[v + 1] - g->first[v] > longest) { longest = g->first[v + 1] - g->first[v]; }
    }
    return longest;
}

tess_status order_rcm_of_pattern(tess_context *ctx, const tess_csr_view *a, int32_t *perm)
{
    pattern p = {.joined_count = 0};
    graph g = {.n = 0};
    int32_t *visit = NULL;
    ranked_node *ranked = NULL;
    int64_t longest = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(symmetrize(ctx, a, &p, &g));
    longest = longest_row(&g);
    TESS_TRY(tess_host_allocate(ctx, g.n, sizeof *visit, (void **)&visit));
    TESS_TRY(tess_host_allocate(ctx, longest, sizeof *ranked, (void **)&ranked));
    number_graph(&g, visit, ranked, perm);
cleanup:
    tess_host_release(ctx, visit, a->nrows, sizeof *visit);
    tess_host_release(ctx, ranked, longest, sizeof *ranked);
    release_pattern(ctx, a, &p);
    return status;
}

tess_status tess_order_rcm(const tess_matrix *a, int32_t *perm)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, perm);
    static const char *const purpose = "reverse Cuthill-McKee";
    order_input in = {.ctx = NULL};
    tess_status status = require_square(a, purpose);

    if (status != TESS_SUCCESS) { return status; }
    status = open_order_input(a, purpose, &in);
    if (status == TESS_SUCCESS) { status = order_rcm_of_pattern(a->ctx, &in.view, perm); }
    close_order_input(&in);
    return status;
}
