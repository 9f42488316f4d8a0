/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and their strong connections. */
#include <math.h>
#include <string.h>

#include "matrix/assemble.h"
#include "matrix/assembled.h"
#include "precond/multigrid/aggregation/aggregation.h"
#include "precond/multigrid/aggregation/rules.h"
#include "precond/multigrid/hierarchy.h"

/* ---- nodes ---- */

void node_rows_release(tess_context *ctx, node_rows *rows)
{
    tess_host_release(ctx, rows->first, rows->count + 1, sizeof *rows->first);
    tess_host_release(ctx, rows->node_of, rows->nrows, sizeof *rows->node_of);
    *rows = (node_rows){0};
}

static tess_status allocate_nodes(tess_context *ctx, int64_t count, int64_t nrows, node_rows *out)
{
    tess_status status = TESS_SUCCESS;

    *out = (node_rows){.count = count, .nrows = nrows};
    TESS_TRY(tess_host_allocate(ctx, count + 1, sizeof *out->first, (void **)&out->first));
    status = tess_host_allocate(ctx, nrows, sizeof *out->node_of, (void **)&out->node_of);
cleanup:
    if (status != TESS_SUCCESS) { node_rows_release(ctx, out); }
    return status;
}

static void number_rows(node_rows *rows)
{
    for (int64_t i = 0; i < rows->count; i++) {
        for (int64_t r = rows->first[i]; r < rows->first[i + 1]; r++) {
            rows->node_of[r] = (int32_t)i;
        }
    }
}

tess_status node_rows_of_block(tess_context *ctx, int64_t nrows, int block, node_rows *out)
{
    const tess_status status = allocate_nodes(ctx, nrows / block, nrows, out);

    if (status != TESS_SUCCESS) { return status; }
    for (int64_t i = 0; i <= out->count; i++) {
        out->first[i] = i * block;
    }
    number_rows(out);
    return TESS_SUCCESS;
}

tess_status node_rows_of_ranges(tess_context *ctx, int64_t count, const int64_t *first, node_rows *out)
{
    const tess_status status = allocate_nodes(ctx, count, first[count], out);

    if (status != TESS_SUCCESS) { return status; }
    memcpy(out->first, first, (size_t)(count + 1) * sizeof *first);
    number_rows(out);
    return TESS_SUCCESS;
}

/* ---- the blocks of a matrix ---- */

void node_graph_release(tess_context *ctx, node_graph *g)
{
    const int64_t edges = g->row_ptr ? g->row_ptr[g->n] : 0;

    tess_host_release(ctx, g->col_ind, edges, sizeof *g->col_ind);
    tess_host_release(ctx, g->weight, edges, sizeof *g->weight);
    tess_host_release(ctx, g->row_ptr, g->n + 1, sizeof *g->row_ptr);
    *g = (node_graph){0};
}

static tess_status allocate_offsets(tess_context *ctx, int64_t n, node_graph *g)
{
    tess_status status = TESS_SUCCESS;

    *g = (node_graph){.n = n};
    status = tess_host_allocate(ctx, n + 1, sizeof *g->row_ptr, (void **)&g->row_ptr);
    if (status == TESS_SUCCESS) { memset(g->row_ptr, 0, (size_t)(n + 1) * sizeof *g->row_ptr); }
    return status;
}

/* row_ptr[i + 1] holds the number of edges of node i: makes offsets of them, and room for the edges. */
static tess_status allocate_edges(tess_context *ctx, node_graph *g)
{
    tess_status status = TESS_SUCCESS;

    for (int64_t i = 0; i < g->n; i++) {
        g->row_ptr[i + 1] += g->row_ptr[i];
    }
    TESS_TRY(tess_host_allocate(ctx, g->row_ptr[g->n], sizeof *g->col_ind, (void **)&g->col_ind));
    status = tess_host_allocate(ctx, g->row_ptr[g->n], sizeof *g->weight, (void **)&g->weight);
cleanup:
    return status;
}

/* The place of each row of a node in its entries; columns ascend. */
typedef struct node_cursor {
    const host_csr *a;
    const node_rows *rows;
    double scale;
    int64_t height, next[AGGREGATION_MOST_VECTORS], end[AGGREGATION_MOST_VECTORS];
} node_cursor;

static node_cursor at_node(const host_csr *a, const node_rows *rows, double scale, int64_t node)
{
    node_cursor at = {.a = a, .rows = rows, .scale = scale, .height = rows->first[node + 1] - rows->first[node]};

    for (int64_t r = 0; r < at.height; r++) {
        at.next[r] = a->row_ptr[rows->first[node] + r];
        at.end[r] = a->row_ptr[rows->first[node] + r + 1];
    }
    return at;
}

/* The next node that the rows have a block with, and the block's squared norm; -1: there is none. */
static int32_t next_block(node_cursor *at, double *norm)
{
    const int32_t *node_of = at->rows->node_of;
    int32_t node = INT32_MAX;
    int64_t end = 0;

    for (int64_t r = 0; r < at->height; r++) {
        if (at->next[r] == at->end[r]) { continue; }
        if (node_of[at->a->col_ind[at->next[r]]] < node) { node = node_of[at->a->col_ind[at->next[r]]]; }
    }
    if (node == INT32_MAX) { return -1; }
    end = at->rows->first[node + 1];
    *norm = 0.0;
    for (int64_t r = 0; r < at->height; r++) {
        for (; at->next[r] < at->end[r] && at->a->col_ind[at->next[r]] < end; at->next[r]++) {
            const double value = at->scale * at->a->val[at->next[r]];

            *norm += value * value;
        }
    }
    return node;
}

static double find_largest(tess_context *ctx, const host_csr *a)
{
    const int64_t nnz = host_csr_nnz(a);
    const int threads = tess_io_threads(ctx, nnz);
    double largest = 0.0;

#pragma omp parallel for num_threads(threads) reduction(max : largest)
    for (int64_t k = 0; k < nnz; k++) {
        largest = fabs(a->val[k]) > largest ? fabs(a->val[k]) : largest;
    }
    return largest;
}

/* The squared norm of each node's strongest block off the diagonal. */
static void find_strongest(tess_context *ctx, const host_csr *a, const node_rows *rows, double scale, double *strongest)
{
    const int threads = tess_io_threads(ctx, host_csr_nnz(a));

#pragma omp parallel for num_threads(threads) schedule(dynamic, 512)
    for (int64_t i = 0; i < rows->count; i++) {
        node_cursor at = at_node(a, rows, scale, i);
        double norm = 0.0;

        strongest[i] = 0.0;
        for (int32_t j = next_block(&at, &norm); j >= 0; j = next_block(&at, &norm)) {
            if (j != i && norm > strongest[i]) { strongest[i] = norm; }
        }
    }
}

/* ---- strong connections ---- */

/* Edges of one direction. Counts them, or writes them where row_ptr says. A block of zeros is none. */
static void visit_edges(tess_context *ctx, const host_csr *a, const node_rows *rows, double scale, double theta,
                        const double *strongest, node_graph *g)
{
    const int threads = tess_io_threads(ctx, host_csr_nnz(a));
    const bool writes = g->col_ind != NULL;
    const double threshold = aggregation_threshold(theta);

#pragma omp parallel for num_threads(threads) schedule(dynamic, 512)
    for (int64_t i = 0; i < rows->count; i++) {
        node_cursor at = at_node(a, rows, scale, i);
        int64_t place = writes ? g->row_ptr[i] : 0;
        double norm = 0.0;

        for (int32_t j = next_block(&at, &norm); j >= 0; j = next_block(&at, &norm)) {
            if (j == i || !(norm > 0.0 && norm >= threshold * fmin(strongest[i], strongest[j]))) { continue; }
            if (writes) {
                g->col_ind[place] = j;
                g->weight[place] = norm;
            }
            place += 1;
        }
        if (!writes) { g->row_ptr[i + 1] = place; }
    }
}

static int64_t find_edge(const node_graph *g, int64_t i, int64_t j)
{
    const int64_t end = g->row_ptr[i + 1], k = csr_column_from(g->col_ind, g->row_ptr[i], end, j);

    return k < end && g->col_ind[k] == j ? k : -1;
}

/* missing[i]: edges (j, i) whose opposite (i, j) is not there. Returns their sum. */
static int64_t count_missing(const node_graph *g, int64_t *missing)
{
    int64_t sum = 0;

    memset(missing, 0, (size_t)g->n * sizeof *missing);
    for (int64_t i = 0; i < g->n; i++) {
        for (int64_t k = g->row_ptr[i]; k < g->row_ptr[i + 1]; k++) {
            if (find_edge(g, g->col_ind[k], i) >= 0) { continue; }
            missing[g->col_ind[k]] += 1;
            sum += 1;
        }
    }
    return sum;
}

/* Moves the last edge of a node, which was appended, to its place. */
static void settle_last(node_graph *g, int64_t first, int64_t last)
{
    const int32_t column = g->col_ind[last];
    const double weight = g->weight[last];

    for (; last > first && g->col_ind[last - 1] > column; last--) {
        g->col_ind[last] = g->col_ind[last - 1];
        g->weight[last] = g->weight[last - 1];
    }
    g->col_ind[last] = column;
    g->weight[last] = weight;
}

/* Adds the opposite of each edge of `g` that has none, with the same weight, to the edges that `both` has room for. */
static void add_opposites(const node_graph *g, node_graph *both, int64_t *used)
{
    for (int64_t i = 0; i < g->n; i++) {
        const int64_t count = g->row_ptr[i + 1] - g->row_ptr[i];

        memcpy(both->col_ind + both->row_ptr[i], g->col_ind + g->row_ptr[i], (size_t)count * sizeof *g->col_ind);
        memcpy(both->weight + both->row_ptr[i], g->weight + g->row_ptr[i], (size_t)count * sizeof *g->weight);
        used[i] = count;
    }
    for (int64_t i = 0; i < g->n; i++) {
        for (int64_t k = g->row_ptr[i]; k < g->row_ptr[i + 1]; k++) {
            const int32_t j = g->col_ind[k];

            if (find_edge(g, j, i) >= 0) { continue; }
            both->col_ind[both->row_ptr[j] + used[j]] = (int32_t)i;
            both->weight[both->row_ptr[j] + used[j]] = g->weight[k];
            settle_last(both, both->row_ptr[j], both->row_ptr[j] + used[j]);
            used[j] += 1;
        }
    }
}

static tess_status make_symmetric(tess_context *ctx, node_graph *g)
{
    node_graph both = {0};
    int64_t *missing = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, g->n, sizeof *missing, (void **)&missing));
    if (count_missing(g, missing) == 0) { goto cleanup; }
    TESS_TRY(allocate_offsets(ctx, g->n, &both));
    for (int64_t i = 0; i < g->n; i++) {
        both.row_ptr[i + 1] = g->row_ptr[i + 1] - g->row_ptr[i] + missing[i];
    }
    TESS_TRY(allocate_edges(ctx, &both));
    add_opposites(g, &both, missing);
    node_graph_release(ctx, g);
    *g = both;
    both = (node_graph){0};
cleanup:
    tess_host_release(ctx, missing, g->n, sizeof *missing);
    node_graph_release(ctx, &both);
    return status;
}

tess_status node_graph_of_matrix(tess_context *ctx, const host_csr *a, const node_rows *rows, double theta,
                                 node_graph *out)
{
    const double scale = amg_square_scale(find_largest(ctx, a));
    double *strongest = NULL;
    tess_status status = TESS_SUCCESS;

    *out = (node_graph){0};
    TESS_TRY(tess_host_allocate(ctx, rows->count, sizeof *strongest, (void **)&strongest));
    find_strongest(ctx, a, rows, scale, strongest);
    TESS_TRY(allocate_offsets(ctx, rows->count, out));
    visit_edges(ctx, a, rows, scale, theta, strongest, out);
    TESS_TRY(allocate_edges(ctx, out));
    visit_edges(ctx, a, rows, scale, theta, strongest, out);
    status = make_symmetric(ctx, out);
cleanup:
    tess_host_release(ctx, strongest, rows->count, sizeof *strongest);
    if (status != TESS_SUCCESS) { node_graph_release(ctx, out); }
    return status;
}
