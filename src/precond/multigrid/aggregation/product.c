/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Galerkin product P^T A P by nodes. All rows of a node of P have the columns of the same aggregates, so that a
 * list of aggregates for each node says where blocks of values belong, and a block is added as dense rows.
 */
#include <string.h>

#include "matrix/assemble.h"
#include "precond/multigrid/aggregation/lists.h"

/* P, A P and P^T A P. Rows of a node of A P have the blocks of its list, one after another. */
typedef struct galerkin {
    const host_csr *a, *p;
    const node_rows *rows;
    node_rows coarse_rows;
    node_lists p_lists, ap_lists, pt_lists, coarse_lists;
    int64_t *ap_row; /* of each row, and the end: where its values begin */
    double *ap;
    int64_t *place; /* for each thread, of each aggregate: its column in the present row */
    int threads;
    host_csr *coarse;
} galerkin;

static int64_t width_of(const galerkin *g, int32_t aggregate)
{
    return g->coarse_rows.first[aggregate + 1] - g->coarse_rows.first[aggregate];
}

/* Where the blocks of a list begin in a row; returns the row's length. */
static int64_t place_list(const galerkin *g, const node_lists *l, int64_t i, int64_t *place)
{
    int64_t length = 0;

    for (int64_t k = l->first[i]; k < l->first[i + 1]; k++) {
        if (place) { place[l->number[k]] = length; }
        length += width_of(g, l->number[k]);
    }
    return length;
}

/* y += sum of v[m] x[m], in the order of m; `width` values, a constant where the caller has one. Sums stay in registers
   while `count` runs of x are added. */
TESS_INLINE void add_runs(int64_t width, int64_t count, const double *v, const double *const *x, int64_t at,
                          double *restrict y)
{
    double sum[AGGREGATION_MOST_VECTORS];

    for (int64_t s = 0; s < width; s++) {
        sum[s] = y[s];
    }
    for (int64_t m = 0; m < count; m++) {
        for (int64_t s = 0; s < width; s++) {
            sum[s] += v[m] * x[m][at + s];
        }
    }
    for (int64_t s = 0; s < width; s++) {
        y[s] = sum[s];
    }
}

/* ---- A P ---- */

/* Entries of a row of A in the columns of one node, from k on, and the rows of P that they are multiplied with. */
TESS_INLINE int64_t take_entries(const galerkin *g, int64_t k, int64_t end, int32_t node, const double **x)
{
    int64_t count = 0;

    while (k + count < end && count < AGGREGATION_MOST_VECTORS && g->rows->node_of[g->a->col_ind[k + count]] == node) {
        x[count] = g->p->val + g->p->row_ptr[g->a->col_ind[k + count]];
        count++;
    }
    return count;
}

/* y += row r of A P, by the blocks of each node. */
TESS_INLINE void multiply_row(const galerkin *g, int64_t r, const int64_t *place, double *y, int64_t width)
{
    const host_csr *a = g->a;
    const double *x[AGGREGATION_MOST_VECTORS];

    for (int64_t k = a->row_ptr[r], count = 0; k < a->row_ptr[r + 1]; k += count) {
        const int32_t node = g->rows->node_of[a->col_ind[k]];
        int64_t at = 0;

        count = take_entries(g, k, a->row_ptr[r + 1], node, x);
        for (int64_t l = g->p_lists.first[node]; l < g->p_lists.first[node + 1]; l++) {
            const int64_t w = width > 0 ? width : width_of(g, g->p_lists.number[l]);

            add_runs(w, count, a->val + k, x, at, y + place[g->p_lists.number[l]]);
            at += w;
        }
    }
}

/* The rows of A P of a node; width: of all blocks, or 0 if they differ. */
TESS_INLINE void multiply_node(const galerkin *g, int64_t node, int64_t *place, int64_t width)
{
    place_list(g, &g->ap_lists, node, place);
    for (int64_t r = g->rows->first[node]; r < g->rows->first[node + 1]; r++) {
        double *y = g->ap + g->ap_row[r];

        memset(y, 0, (size_t)(g->ap_row[r + 1] - g->ap_row[r]) * sizeof *y);
        multiply_row(g, r, place, y, width);
    }
}

/* ---- P^T (A P) ---- */

/* Adds the part of one fine node to the rows of an aggregate, whose columns in P's rows begin at `offset`. */
TESS_INLINE void add_node(const galerkin *g, int64_t node, int32_t aggregate, int64_t offset, const int64_t *place,
                          int64_t width)
{
    const node_lists *l = &g->ap_lists;
    const int64_t height = width > 0 ? width : width_of(g, aggregate);
    double *y = g->coarse->val + g->coarse->row_ptr[g->coarse_rows.first[aggregate]];
    const int64_t length = height > 0 ? g->coarse->row_ptr[g->coarse_rows.first[aggregate] + 1] -
                                            g->coarse->row_ptr[g->coarse_rows.first[aggregate]]
                                      : 0;
    const int64_t first = g->rows->first[node], count = g->rows->first[node + 1] - first;
    const double *x[AGGREGATION_MOST_VECTORS];
    double v[AGGREGATION_MOST_VECTORS][AGGREGATION_MOST_VECTORS]; /* P^T: for each row of the aggregate */

    for (int64_t r = 0; r < count; r++) {
        x[r] = g->ap + g->ap_row[first + r];
        for (int64_t t = 0; t < height; t++) {
            v[t][r] = g->p->val[g->p->row_ptr[first + r] + offset + t];
        }
    }
    for (int64_t k = l->first[node], at = 0; k < l->first[node + 1]; k++) {
        const int64_t w = width > 0 ? width : width_of(g, l->number[k]);

        for (int64_t t = 0; t < height; t++) {
            add_runs(w, count, v[t], x, at, y + t * length + place[l->number[k]]);
        }
        at += w;
    }
}

/* Where the columns of an aggregate begin in the rows of P of a node that has them. */
static int64_t find_offset(const galerkin *g, int64_t node, int32_t aggregate)
{
    int64_t offset = 0;

    for (int64_t k = g->p_lists.first[node]; g->p_lists.number[k] != aggregate; k++) {
        offset += width_of(g, g->p_lists.number[k]);
    }
    return offset;
}

TESS_INLINE void gather_aggregate(const galerkin *g, int32_t aggregate, int64_t *place, int64_t width)
{
    const int64_t first = g->coarse->row_ptr[g->coarse_rows.first[aggregate]];
    const int64_t end = g->coarse->row_ptr[g->coarse_rows.first[aggregate + 1]];

    place_list(g, &g->coarse_lists, aggregate, place);
    memset(g->coarse->val + first, 0, (size_t)(end - first) * sizeof *g->coarse->val);
    for (int64_t k = g->pt_lists.first[aggregate]; k < g->pt_lists.first[aggregate + 1]; k++) {
        const int32_t node = g->pt_lists.number[k];

        add_node(g, node, aggregate, find_offset(g, node, aggregate), place, width);
    }
}

/* ---- both ---- */

/* One thread's share of A P, or of the coarse rows. */
TESS_INLINE void compute_share(const galerkin *g, int thread, bool coarse, int64_t width)
{
    const int64_t count = coarse ? g->coarse_rows.count : g->rows->count;
    int64_t *place = g->place + thread * g->coarse_rows.count;

    for (int64_t i = count * thread / g->threads; i < count * (thread + 1) / g->threads; i++) {
        if (coarse) {
            gather_aggregate(g, (int32_t)i, place, width);
        } else {
            multiply_node(g, i, place, width);
        }
    }
}

/* The width that all blocks have, or 0. */
static int64_t common_width(const galerkin *g)
{
    const int64_t width = g->coarse_rows.count > 0 ? width_of(g, 0) : 0;

    for (int64_t i = 0; i < g->coarse_rows.count; i++) {
        if (width_of(g, (int32_t)i) != width) { return 0; }
    }
    return width;
}

/* The usual widths are constants to the compiler. */
static void compute_values(const galerkin *g, bool coarse)
{
    const int64_t width = common_width(g);

#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int thread = 0; thread < g->threads; thread++) {
        switch (width) {
        case 1: compute_share(g, thread, coarse, 1); break;
        case 2: compute_share(g, thread, coarse, 2); break;
        case 3: compute_share(g, thread, coarse, 3); break;
        case 6: compute_share(g, thread, coarse, 6); break;
        default: compute_share(g, thread, coarse, 0); break;
        }
    }
}

/* ---- patterns ---- */

static tess_status make_lists(tess_context *ctx, galerkin *g)
{
    const first_factor a = {.a = g->a, .rows = g->rows, .count = g->rows->count};
    const first_factor pt = {.lists = &g->pt_lists, .count = g->coarse_rows.count};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(list_columns(ctx, g->p, g->rows, &g->coarse_rows, &g->p_lists));
    TESS_TRY(transpose_lists(ctx, &g->p_lists, g->coarse_rows.count, &g->pt_lists));
    TESS_TRY(multiply_lists(ctx, &a, &g->p_lists, g->coarse_rows.count, &g->ap_lists));
    status = multiply_lists(ctx, &pt, &g->ap_lists, g->coarse_rows.count, &g->coarse_lists);
cleanup:
    return status;
}

static tess_status make_room_for_ap(tess_context *ctx, galerkin *g)
{
    int64_t place = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, g->rows->nrows + 1, sizeof *g->ap_row, (void **)&g->ap_row));
    for (int64_t i = 0; i < g->rows->count; i++) {
        const int64_t length = place_list(g, &g->ap_lists, i, NULL);

        for (int64_t r = g->rows->first[i]; r < g->rows->first[i + 1]; r++) {
            g->ap_row[r] = place;
            place += length;
        }
    }
    g->ap_row[g->rows->nrows] = place;
    status = tess_host_allocate(ctx, place, sizeof *g->ap, (void **)&g->ap);
cleanup:
    return status;
}

/* The columns of a coarse row: those of the aggregates of its list. */
static void write_row(const galerkin *g, int64_t aggregate, int32_t *columns)
{
    const node_lists *l = &g->coarse_lists;

    for (int64_t k = l->first[aggregate]; k < l->first[aggregate + 1]; k++) {
        for (int64_t c = g->coarse_rows.first[l->number[k]]; c < g->coarse_rows.first[l->number[k] + 1]; c++) {
            *columns++ = (int32_t)c;
        }
    }
}

static tess_status make_coarse(tess_context *ctx, galerkin *g)
{
    const node_rows *coarse = &g->coarse_rows;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_allocate_rows(ctx, coarse->nrows, coarse->nrows, g->coarse));
    g->coarse->row_ptr[0] = 0;
    for (int64_t r = 0; r < coarse->nrows; r++) {
        g->coarse->row_ptr[r + 1] = place_list(g, &g->coarse_lists, coarse->node_of[r], NULL);
    }
    host_csr_sum_lengths(g->coarse);
    TESS_TRY(host_csr_allocate_entries(ctx, g->coarse));
    for (int64_t r = 0; r < coarse->nrows; r++) {
        write_row(g, coarse->node_of[r], g->coarse->col_ind + g->coarse->row_ptr[r]);
    }
cleanup:
    return status;
}

tess_status aggregation_product(tess_context *ctx, const aggregation_level *level, const host_csr *a, const host_csr *p,
                                host_csr *coarse)
{
    const int64_t count = level->aggregates.count;
    galerkin g = {
        .a = a, .p = p, .rows = &level->rows, .coarse = coarse, .threads = tess_io_threads(ctx, 16 * a->nrows)};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(node_rows_of_ranges(ctx, count, level->coarse_first, &g.coarse_rows));
    TESS_TRY(make_lists(ctx, &g));
    TESS_TRY(make_room_for_ap(ctx, &g));
    TESS_TRY(tess_host_allocate(ctx, g.threads * count, sizeof *g.place, (void **)&g.place));
    if (!coarse->row_ptr) { TESS_TRY(make_coarse(ctx, &g)); }
    compute_values(&g, false);
    compute_values(&g, true);
cleanup:
    tess_host_release(ctx, g.place, g.threads * count, sizeof *g.place);
    tess_host_release(ctx, g.ap, g.ap_row ? g.ap_row[level->rows.nrows] : 0, sizeof *g.ap);
    tess_host_release(ctx, g.ap_row, level->rows.nrows + 1, sizeof *g.ap_row);
    node_lists_release(ctx, &g.coarse_lists);
    node_lists_release(ctx, &g.pt_lists);
    node_lists_release(ctx, &g.ap_lists);
    node_lists_release(ctx, &g.p_lists);
    node_rows_release(ctx, &g.coarse_rows);
    return status;
}
