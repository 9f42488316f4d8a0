/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tentative prolongator: on each aggregate B = Q R, by Gram-Schmidt twice. Q goes to T, R to the next level's
 * near-nullspace. A column that depends on those before it on this aggregate (rotations of a node, or of nodes in a
 * line) gives no coarse unknown: R says how they represent it.
 */
#include <math.h>
#include <string.h>

#include "matrix/assemble.h"
#include "precond/multigrid/aggregation/aggregation.h"
#include "precond/multigrid/aggregation/rules.h"

/* The nodes of aggregate g are node[first[g]] .. node[first[g + 1] - 1]. */
typedef struct members {
    int64_t *first;
    int32_t *node;
    int64_t most_rows; /* of an aggregate */
} members;

static void members_release(tess_context *ctx, const aggregates *a, members *m)
{
    tess_host_release(ctx, m->first, a->count + 1, sizeof *m->first);
    tess_host_release(ctx, m->node, a->nodes, sizeof *m->node);
}

static tess_status list_members(tess_context *ctx, const aggregation_level *level, members *m)
{
    const aggregates *a = &level->aggregates;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, a->count + 1, sizeof *m->first, (void **)&m->first));
    TESS_TRY(tess_host_allocate(ctx, a->nodes, sizeof *m->node, (void **)&m->node));
    memset(m->first, 0, (size_t)(a->count + 1) * sizeof *m->first);
    for (int64_t i = 0; i < a->nodes; i++) {
        if (a->of[i] >= 0) { m->first[a->of[i] + 1] += 1; }
    }
    for (int64_t g = 0; g < a->count; g++) {
        m->first[g + 1] += m->first[g];
    }
    /* first[g] moves to the end of g, which is the first of g + 1 */
    for (int64_t i = 0; i < a->nodes; i++) {
        if (a->of[i] >= 0) { m->node[m->first[a->of[i]]++] = (int32_t)i; }
    }
    memmove(m->first + 1, m->first, (size_t)a->count * sizeof *m->first);
    m->first[0] = 0;
    for (int64_t g = 0; g < a->count; g++) {
        int64_t rows = 0;

        for (int64_t k = m->first[g]; k < m->first[g + 1]; k++) {
            rows += level->rows.first[m->node[k] + 1] - level->rows.first[m->node[k]];
        }
        m->most_rows = rows > m->most_rows ? rows : m->most_rows;
    }
cleanup:
    return status;
}

/* One aggregate's rows, by columns. */
typedef struct panel {
    int64_t rows;
    int vectors, rank;
    double *column; /* rows x vectors, column-major: B, then Q in the first `rank` columns */
    double r[AGGREGATION_MOST_VECTORS * AGGREGATION_MOST_VECTORS]; /* rank x vectors, row-major */
} panel;

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0.0;

    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* Takes the parts along the columns before it out of x, and adds them to column c of R. */
static void orthogonalize(panel *p, int c, double *x)
{
    for (int q = 0; q < p->rank; q++) {
        const double *column = p->column + q * p->rows;
        const double along = dot(column, x, p->rows);

        p->r[q * p->vectors + c] += along;
        for (int64_t i = 0; i < p->rows; i++) {
            x[i] -= along * column[i];
        }
    }
}

static void factor_panel(panel *p)
{
    memset(p->r, 0, sizeof p->r);
    p->rank = 0;
    for (int c = 0; c < p->vectors; c++) {
        double *x = p->column + c * p->rows, *q = p->column + p->rank * p->rows;
        const double before = sqrt(dot(x, x, p->rows));
        double after = 0.0;

        orthogonalize(p, c, x);
        orthogonalize(p, c, x);
        after = sqrt(dot(x, x, p->rows));
        if (!(after > AGGREGATION_DEPENDENT * before)) { continue; }
        p->r[p->rank * p->vectors + c] = after;
        for (int64_t i = 0; i < p->rows; i++) {
            q[i] = x[i] / after;
        }
        p->rank += 1;
    }
}

/* Copies the rows of the members of an aggregate into the panel, or Q back from it. */
static void gather_panel(const aggregation_level *level, const members *m, int64_t g, panel *p)
{
    p->rows = 0;
    for (int64_t k = m->first[g]; k < m->first[g + 1]; k++) {
        p->rows += level->rows.first[m->node[k] + 1] - level->rows.first[m->node[k]];
    }
    for (int64_t k = m->first[g], row = 0; k < m->first[g + 1]; k++) {
        for (int64_t r = level->rows.first[m->node[k]]; r < level->rows.first[m->node[k] + 1]; r++, row++) {
            for (int c = 0; c < p->vectors; c++) {
                p->column[c * p->rows + row] = level->near[r * p->vectors + c];
            }
        }
    }
}

static void scatter_panel(aggregation_level *level, const members *m, int64_t g, const panel *p)
{
    for (int64_t k = m->first[g], row = 0; k < m->first[g + 1]; k++) {
        for (int64_t r = level->rows.first[m->node[k]]; r < level->rows.first[m->node[k] + 1]; r++, row++) {
            for (int c = 0; c < p->rank; c++) {
                level->tentative[r * p->vectors + c] = p->column[c * p->rows + row];
            }
        }
    }
}

/* Q and R of all aggregates: R of each with room for all columns, its rank in coarse_first[g + 1]. */
static void factor_all(aggregation_level *level, const members *m, int threads, double *work, double *r)
{
    const int k = level->vectors;

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int thread = 0; thread < threads; thread++) {
        panel p = {.vectors = k, .column = work + thread * m->most_rows * k};
        const int64_t end = level->aggregates.count * (thread + 1) / threads;

        for (int64_t g = level->aggregates.count * thread / threads; g < end; g++) {
            gather_panel(level, m, g, &p);
            factor_panel(&p);
            scatter_panel(level, m, g, &p);
            level->coarse_first[g + 1] = p.rank;
            memcpy(r + g * k * k, p.r, (size_t)(k * k) * sizeof *r);
        }
    }
}

/* Joins the rows of R, of which each aggregate has as many as its rank. */
static tess_status join_factors(tess_context *ctx, aggregation_level *level, const double *r, double **coarse_near)
{
    const int k = level->vectors;
    int64_t *first = level->coarse_first;
    tess_status status = TESS_SUCCESS;

    first[0] = 0;
    for (int64_t g = 0; g < level->aggregates.count; g++) {
        first[g + 1] += first[g];
    }
    status = tess_host_allocate(ctx, first[level->aggregates.count] * k, sizeof **coarse_near, (void **)coarse_near);
    if (status != TESS_SUCCESS) { return status; }
    for (int64_t g = 0; g < level->aggregates.count; g++) {
        memcpy(*coarse_near + first[g] * k, r + g * k * k, (size_t)((first[g + 1] - first[g]) * k) * sizeof *r);
    }
    return TESS_SUCCESS;
}

tess_status make_tentative(tess_context *ctx, aggregation_level *level, double **coarse_near)
{
    const int k = level->vectors, threads = tess_io_threads(ctx, level->rows.nrows * k);
    const aggregates *a = &level->aggregates;
    members m = {0};
    double *work = NULL, *r = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(list_members(ctx, level, &m));
    TESS_TRY(tess_host_allocate(ctx, threads * m.most_rows * k, sizeof *work, (void **)&work));
    TESS_TRY(tess_host_allocate(ctx, a->count * k * k, sizeof *r, (void **)&r));
    TESS_TRY(tess_host_allocate(ctx, a->count + 1, sizeof *level->coarse_first, (void **)&level->coarse_first));
    TESS_TRY(tess_host_allocate(ctx, level->rows.nrows * k, sizeof *level->tentative, (void **)&level->tentative));
    memset(level->tentative, 0, (size_t)(level->rows.nrows * k) * sizeof *level->tentative);
    factor_all(level, &m, threads, work, r);
    status = join_factors(ctx, level, r, coarse_near);
cleanup:
    tess_host_release(ctx, work, threads * m.most_rows * k, sizeof *work);
    tess_host_release(ctx, r, a->count * k * k, sizeof *r);
    members_release(ctx, a, &m);
    return status;
}

tess_status tentative_as_matrix(tess_context *ctx, const aggregation_level *level, host_csr *p)
{
    const node_rows *rows = &level->rows;
    const int64_t *first = level->coarse_first;
    const int32_t *of = level->aggregates.of;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_allocate_rows(ctx, rows->nrows, first[level->aggregates.count], p));
    for (int64_t r = 0; r < rows->nrows; r++) {
        const int32_t g = of[rows->node_of[r]];

        p->row_ptr[r + 1] = g >= 0 ? first[g + 1] - first[g] : 0;
    }
    host_csr_sum_lengths(p);
    TESS_TRY(host_csr_allocate_entries(ctx, p));
    for (int64_t r = 0; r < rows->nrows; r++) {
        const int32_t g = of[rows->node_of[r]];

        for (int64_t k = p->row_ptr[r], c = 0; k < p->row_ptr[r + 1]; k++, c++) {
            p->col_ind[k] = (int32_t)(first[g] + c);
            p->val[k] = level->tentative[r * level->vectors + c];
        }
    }
cleanup:
    return status;
}
