/* SPDX-License-Identifier: Apache-2.0 */
/* One damped Jacobi step on the tentative prolongator: P = (I - omega D^-1 A) T, D the block diagonal. */
#include <math.h>
#include <string.h>

#include "matrix/assemble.h"
#include "precond/multigrid/aggregation/aggregation.h"
#include "precond/multigrid/aggregation/rules.h"

enum { NONE = -1 };

/* ---- the pattern ---- */

/* Adds an aggregate to the ascending list of a node. seen[g]: the last node whose list has g. */
static int64_t add_aggregate(int32_t found, int64_t node, int32_t *seen, int32_t *list, int64_t count)
{
    int64_t place = count;

    if (found < 0 || seen[found] == node) { return count; }
    seen[found] = (int32_t)node;
    for (; place > 0 && list[place - 1] > found; place--) {
        list[place] = list[place - 1];
    }
    list[place] = found;
    return count + 1;
}

/* The aggregates of a node and of the nodes that its rows have entries of. */
static int64_t list_aggregates(const host_csr *a, const aggregation_level *level, int64_t node, int32_t *seen,
                               int32_t *list)
{
    const node_rows *rows = &level->rows;
    const int32_t *of = level->aggregates.of;
    int64_t count = add_aggregate(of[node], node, seen, list, 0);

    for (int64_t k = a->row_ptr[rows->first[node]]; k < a->row_ptr[rows->first[node + 1]]; k++) {
        count = add_aggregate(of[rows->node_of[a->col_ind[k]]], node, seen, list, count);
    }
    return count;
}

/* The lengths of the rows, or their columns where the offsets are there. */
static void visit_rows(const host_csr *a, const aggregation_level *level, int thread, int threads, int32_t *seen,
                       int32_t *list, host_csr *p)
{
    const int64_t *first = level->coarse_first, nodes = level->rows.count, end = nodes * (thread + 1) / threads;

    for (int64_t i = nodes * thread / threads; i < end; i++) {
        const int64_t count = list_aggregates(a, level, i, seen, list);
        int64_t length = 0;

        for (int64_t m = 0; m < count; m++) {
            length += first[list[m] + 1] - first[list[m]];
        }
        for (int64_t r = level->rows.first[i]; r < level->rows.first[i + 1]; r++) {
            int64_t place = p->col_ind ? p->row_ptr[r] : 0;

            if (!p->col_ind) { p->row_ptr[r + 1] = length; }
            for (int64_t m = 0; p->col_ind && m < count; m++) {
                for (int64_t c = first[list[m]]; c < first[list[m] + 1]; c++) {
                    p->col_ind[place++] = (int32_t)c;
                }
            }
        }
    }
}

static void visit_all(const host_csr *a, const aggregation_level *level, int threads, int32_t *seen, int32_t *list,
                      host_csr *p)
{
    const int64_t count = level->aggregates.count;

    for (int64_t g = 0; g < threads * count; g++) {
        seen[g] = NONE;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int thread = 0; thread < threads; thread++) {
        visit_rows(a, level, thread, threads, seen + thread * count, list + thread * count, p);
    }
}

tess_status smoothed_pattern(tess_context *ctx, const host_csr *a, const aggregation_level *level, host_csr *p)
{
    const int threads = tess_io_threads(ctx, host_csr_nnz(a));
    const int64_t count = level->aggregates.count;
    int32_t *seen = NULL, *list = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, threads * count, sizeof *seen, (void **)&seen));
    TESS_TRY(tess_host_allocate(ctx, threads * count, sizeof *list, (void **)&list));
    TESS_TRY(host_csr_allocate_rows(ctx, a->nrows, level->coarse_first[count], p));
    p->row_ptr[0] = 0;
    visit_all(a, level, threads, seen, list, p);
    host_csr_sum_lengths(p);
    TESS_TRY(host_csr_allocate_entries(ctx, p));
    visit_all(a, level, threads, seen, list, p);
cleanup:
    tess_host_release(ctx, seen, threads * count, sizeof *seen);
    tess_host_release(ctx, list, threads * count, sizeof *list);
    return status;
}

/* ---- the values ---- */

typedef struct smoothing {
    const host_csr *a;
    const aggregation_level *level;
    const double *inverse; /* of D */
    double omega;
    host_csr *p;
} smoothing;

/* Where the columns of each aggregate begin in the rows of a node. */
static void place_aggregates(const smoothing *s, int64_t row, const int32_t *aggregate_of, int64_t *place)
{
    const int64_t begin = s->p->row_ptr[row];

    for (int64_t k = begin; k < s->p->row_ptr[row + 1]; k++) {
        const int32_t g = aggregate_of[s->p->col_ind[k]];

        if (s->level->coarse_first[g] == s->p->col_ind[k]) { place[g] = k - begin; }
    }
}

/* p += value T, for the row of T of an unknown. */
static inline void add_tentative(const smoothing *s, int64_t row, double value, const int64_t *place, double *p)
{
    const aggregation_level *level = s->level;
    const int32_t g = level->aggregates.of[level->rows.node_of[row]];
    const double *t = level->tentative + row * level->vectors;

    if (g < 0) { return; }
    for (int64_t c = 0, width = level->coarse_first[g + 1] - level->coarse_first[g]; c < width; c++) {
        p[place[g] + c] += value * t[c];
    }
}

/* A row of A T. */
static void multiply_row(const smoothing *s, int64_t row, const int64_t *place, double *p)
{
    const host_csr *a = s->a;

    for (int64_t k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
        add_tentative(s, a->col_ind[k], a->val[k], place, p);
    }
}

/* The rows of a node hold A T: makes T - omega D^-1 A T of them, column by column. */
static void scale_rows(const smoothing *s, int64_t node, const int64_t *place)
{
    const int64_t first = s->level->rows.first[node], height = s->level->rows.first[node + 1] - first;
    const int64_t width = s->p->row_ptr[first + 1] - s->p->row_ptr[first];
    const double *inverse = s->inverse + first * s->level->most_height;
    double *p = s->p->val + s->p->row_ptr[first], column[AGGREGATION_MOST_VECTORS];

    for (int64_t c = 0; c < width; c++) {
        for (int64_t r = 0; r < height; r++) {
            column[r] = p[r * width + c];
        }
        for (int64_t r = 0; r < height; r++) {
            double sum = 0.0;

            for (int64_t q = 0; q < height; q++) {
                sum += inverse[r * height + q] * column[q];
            }
            p[r * width + c] = -s->omega * sum;
        }
    }
    for (int64_t r = 0; r < height; r++) {
        add_tentative(s, first + r, 1.0, place, p + r * width);
    }
}

static void smooth_node(const smoothing *s, int64_t node, const int32_t *aggregate_of, int64_t *place)
{
    const int64_t first = s->level->rows.first[node], end = s->level->rows.first[node + 1];

    if (first == end) { return; }
    place_aggregates(s, first, aggregate_of, place);
    memset(s->p->val + s->p->row_ptr[first], 0,
           (size_t)(s->p->row_ptr[end] - s->p->row_ptr[first]) * sizeof *s->p->val);
    for (int64_t r = first; r < end; r++) {
        multiply_row(s, r, place, s->p->val + s->p->row_ptr[r]);
    }
    scale_rows(s, node, place);
}

static void smooth_rows(const smoothing *s, int threads, const int32_t *aggregate_of, int64_t *place)
{
    const int64_t nodes = s->level->rows.count;

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int thread = 0; thread < threads; thread++) {
        int64_t *own = place + thread * s->level->aggregates.count;

        for (int64_t i = nodes * thread / threads; i < nodes * (thread + 1) / threads; i++) {
            smooth_node(s, i, aggregate_of, own);
        }
    }
}

tess_status smoothed_values(tess_context *ctx, const host_csr *a, const aggregation_level *level, host_csr *p)
{
    const int threads = tess_io_threads(ctx, host_csr_nnz(a));
    const int64_t places = threads * level->aggregates.count, blocks = a->nrows * level->most_height;
    smoothing s = {.a = a, .level = level, .p = p};
    node_rows coarse = {0};
    double *inverse = NULL, lambda = 0.0;
    int64_t *place = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, blocks, sizeof *inverse, (void **)&inverse));
    TESS_TRY(tess_host_allocate(ctx, places, sizeof *place, (void **)&place));
    TESS_TRY(node_rows_of_ranges(ctx, level->aggregates.count, level->coarse_first, &coarse));
    invert_blocks(ctx, a, level, inverse);
    TESS_TRY(estimate_lambda_max(ctx, a, level, inverse, &lambda));
    s.inverse = inverse;
    s.omega = lambda > 0.0 ? AGGREGATION_DAMPING / lambda : 0.0;
    smooth_rows(&s, threads, coarse.node_of, place);
cleanup:
    tess_host_release(ctx, inverse, blocks, sizeof *inverse);
    tess_host_release(ctx, place, places, sizeof *place);
    node_rows_release(ctx, &coarse);
    return status;
}
