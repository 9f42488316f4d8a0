/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guess of a step: the combination x0 = V y of the last solutions. After CG, V^T A V y = V^T b, which minimises the
 * error's energy norm (Fischer 1998, method 1); else (A V)^T A V y = (A V)^T b, which minimises ||b - A V y||. It is
 * taken only if its residual is smaller than those of zero and of the given x.
 */
#include <math.h>
#include <string.h>

#include <tessera/columns.h>
#include <tessera/dense.h>

#include "solver/sequence/guess.h"

/* Columns whose part that is independent of the others is smaller than this, squared, are left out: the products of two
   columns have errors of gamma(600), for up to 16 columns. */
#define LEAST_PIVOT 0x1p-40

void guess_forget(sequence_guess *g)
{
    g->count = 0;
    g->oldest = 1;
    g->products_of = 0;
    g->pending = -1;
}

void guess_open(sequence_guess *g, const tess_matrix *a, int most)
{
    *g = (sequence_guess){.ctx = a->ctx, .nrows = a->nrows, .ncols = a->ncols, .most = most};
    guess_forget(g);
}

void guess_close(sequence_guess *g)
{
    tess_context *ctx = g->ctx;

    if (!ctx) { return; }
    tess_device_release(ctx, g->v, g->ncols * g->most, sizeof(double));
    tess_device_release(ctx, g->w, g->nrows * g->most, sizeof(double));
    tess_device_release(ctx, g->small, (int64_t)g->most * (g->most + 1), sizeof(double));
    tess_host_release(ctx, g->gram, (int64_t)g->most * (g->most + 1), sizeof(double));
    tess_vector_destroy(g->trial);
    tess_vector_destroy(g->residual);
    memset(g, 0, sizeof *g);
}

/* Room for a first solution, and for the guess that follows. After a lack of memory some may exist. */
static tess_status allocate(sequence_guess *g)
{
    tess_context *ctx = g->ctx;
    const int64_t entries = (int64_t)g->most * (g->most + 1);
    tess_status status = TESS_SUCCESS;

    if (!g->v) { TESS_TRY(tess_device_allocate(ctx, g->ncols * g->most, sizeof(double), (void **)&g->v)); }
    if (!g->w) { TESS_TRY(tess_device_allocate(ctx, g->nrows * g->most, sizeof(double), (void **)&g->w)); }
    if (!g->small) { TESS_TRY(tess_device_allocate(ctx, entries, sizeof(double), (void **)&g->small)); }
    if (!g->gram) { TESS_TRY(tess_host_allocate(ctx, entries, sizeof(double), (void **)&g->gram)); }
    if (!g->trial) { TESS_TRY(tess_vector_create(ctx, g->ncols, TESS_PRECISION_FP64, &g->trial)); }
    if (!g->residual) { status = tess_vector_create(ctx, g->nrows, TESS_PRECISION_FP64, &g->residual); }
cleanup:
    return status;
}

/* ---- columns ---- */

static tess_vector column(const sequence_guess *g, double *array, int64_t n, int j)
{
    return (tess_vector){.ctx = g->ctx, .n = n, .precision = TESS_PRECISION_FP64, .data = array + n * j};
}

static tess_dense_view columns(double *array, int64_t n, int64_t ld, int first, int count)
{
    return (tess_dense_view){
        .nrows = n, .ncols = count, .ld = ld, .precision = TESS_PRECISION_FP64, .data = array + ld * first};
}

tess_status guess_remember(sequence_guess *g, const tess_vector *x)
{
    tess_vector last, difference;
    int slot = 0;
    tess_status status = TESS_SUCCESS;

    if (g->most == 0 || !g->v) { return TESS_SUCCESS; }
    last = column(g, g->v, g->ncols, 0);
    if (g->count > 0 && g->most > 1) {
        slot = g->count < g->most ? g->count : g->oldest;
        difference = column(g, g->v, g->ncols, slot);
        TESS_TRY(tess_vector_copy(&last, &difference));
        TESS_TRY(tess_vector_axpby(1.0, x, -1.0, &difference, TESS_ARITHMETIC_FP64));
        if (g->count == g->most) { g->oldest = slot + 1 < g->most ? slot + 1 : 1; }
    }
    TESS_TRY(tess_vector_copy(x, &last));
    if (g->pending >= 0) { g->products_of = 0; } /* no guess has asked for the last products */
    g->pending = slot;
    if (g->count <= slot) { g->count = slot + 1; }
cleanup:
    if (status != TESS_SUCCESS) { guess_forget(g); }
    return status;
}

/* ---- W = A V ---- */

/* All of W, in as few passes over A as its format allows. */
static tess_status multiply_all(sequence_guess *g, const tess_matrix *a)
{
    const tess_memory where = g->ctx->device == TESS_DEVICE_GPU ? TESS_MEMORY_DEVICE : TESS_MEMORY_HOST;
    const tess_columns v = tess_columns_by_column(g->ncols, g->count, g->v, where),
                       w = tess_columns_by_column(g->nrows, g->count, g->w, where);
    tess_status status = TESS_SUCCESS;

    if (a->ops) { return tess_matrix_spmm(a, 1.0, &v, 0.0, &w); }
    for (int j = 0; j < g->count && status == TESS_SUCCESS; j++) {
        const tess_vector from = column(g, g->v, g->ncols, j);
        tess_vector to = column(g, g->w, g->nrows, j);

        status = tess_matrix_spmv(a, TESS_OP_NONE, 1.0, &from, 0.0, &to);
    }
    return status;
}

/* What the last solution adds: A times a difference is the difference of the products. */
static tess_status multiply_last(sequence_guess *g, const tess_matrix *a)
{
    const tess_vector last = column(g, g->v, g->ncols, 0);
    tess_vector product = column(g, g->w, g->nrows, 0), added = column(g, g->w, g->nrows, g->pending);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_matrix_spmv(a, TESS_OP_NONE, 1.0, &last, 0.0, &added));
    if (g->pending == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_vector_axpby(-1.0, &product, 1.0, &added, TESS_ARITHMETIC_FP64));
    status = tess_vector_axpby(1.0, &added, 1.0, &product, TESS_ARITHMETIC_FP64);
cleanup:
    return status;
}

/* The function of a shell may have changed: its products are made anew. */
static tess_status renew_products(sequence_guess *g, const tess_matrix *a, int64_t *products)
{
    const bool all = !a->ops || g->products_of != a->values_version;
    tess_status status = TESS_SUCCESS;

    if (!all && g->pending < 0) { return TESS_SUCCESS; }
    g->products_of = 0;
    TESS_TRY(all ? multiply_all(g, a) : multiply_last(g, a));
    *products += all ? g->count : 1;
    g->products_of = a->values_version;
    g->pending = -1;
cleanup:
    return status;
}

/* ---- the projection ---- */

/* Cholesky factors of the scaled matrix, whose diagonal is 1, with the largest pivot first. */
typedef struct small_system {
    int m, taken;
    int order[GUESS_MOST];
    double scale[GUESS_MOST];
    double a[GUESS_MOST][GUESS_MOST];
} small_system;

/* Columns with a positive diagonal. A negative definite matrix is -A. */
static void scale_small(int m, int ld, const double *gram, double sign, small_system *s)
{
    s->m = 0;
    for (int i = 0; i < m; i++) {
        const double diagonal = sign * gram[i + ld * i];

        s->scale[i] = diagonal > 0.0 && isfinite(diagonal) ? 1.0 / sqrt(diagonal) : 0.0;
        if (s->scale[i] > 0.0 && isfinite(s->scale[i])) { s->order[s->m++] = i; }
    }
    for (int p = 0; p < s->m; p++) {
        for (int q = 0; q < s->m; q++) {
            const int i = s->order[p], j = s->order[q];
            const double mean = 0.5 * gram[i + ld * j] + 0.5 * gram[j + ld * i];

            s->a[p][q] = p == q ? 1.0 : sign * s->scale[i] * mean * s->scale[j];
        }
    }
}

static void swap_rows(small_system *s, int p, int q)
{
    const int order = s->order[p];

    s->order[p] = s->order[q];
    s->order[q] = order;
    for (int k = 0; k < s->m; k++) {
        const double value = s->a[p][k];

        s->a[p][k] = s->a[q][k];
        s->a[q][k] = value;
    }
    for (int k = 0; k < s->m; k++) {
        const double value = s->a[k][p];

        s->a[k][p] = s->a[k][q];
        s->a[k][q] = value;
    }
}

static void factor_small(small_system *s)
{
    for (s->taken = 0; s->taken < s->m; s->taken++) {
        const int p = s->taken;
        int best = p;

        for (int q = p + 1; q < s->m; q++) {
            if (s->a[q][q] > s->a[best][best]) { best = q; }
        }
        if (!(s->a[best][best] > LEAST_PIVOT)) { return; }
        swap_rows(s, p, best);
        s->a[p][p] = sqrt(s->a[p][p]);
        for (int q = p + 1; q < s->m; q++) {
            s->a[q][p] /= s->a[p][p];
        }
        for (int q = p + 1; q < s->m; q++) {
            for (int k = p + 1; k <= q; k++) {
                s->a[q][k] -= s->a[q][p] * s->a[k][p];
                s->a[k][q] = s->a[q][k];
            }
        }
    }
}

int guess_solve_small(int m, int ld, const double *gram, double *y)
{
    const double sign = gram[0] < 0.0 ? -1.0 : 1.0;
    double z[GUESS_MOST];
    small_system s;

    memset(y, 0, (size_t)m * sizeof *y);
    scale_small(m, ld, gram, sign, &s);
    factor_small(&s);
    for (int p = 0; p < s.taken; p++) { /* L z = g */
        z[p] = sign * s.scale[s.order[p]] * gram[s.order[p] + ld * m];
        for (int k = 0; k < p; k++) {
            z[p] -= s.a[p][k] * z[k];
        }
        z[p] /= s.a[p][p];
    }
    for (int p = s.taken - 1; p >= 0; p--) { /* L^T y = z */
        for (int k = p + 1; k < s.taken; k++) {
            z[p] -= s.a[k][p] * z[k];
        }
        z[p] /= s.a[p][p];
        if (!isfinite(z[p])) { return 0; }
    }
    for (int p = 0; p < s.taken; p++) {
        y[s.order[p]] = z[p] * s.scale[s.order[p]];
    }
    return s.taken;
}

/* g->gram := T^T [A V, b], with T = V or A V. */
static tess_status project(sequence_guess *g, const tess_vector *b, bool definite)
{
    const int m = g->count;
    const tess_dense_view t = columns(definite ? g->v : g->w, g->nrows, g->nrows, 0, m),
                          right = columns(b->data, b->n, b->n, 0, 1), last = columns(g->small, m, g->most, m, 1);
    tess_status status = TESS_SUCCESS;

    for (int j = 0; j < m; j += 2) {
        const int count = j + 1 < m ? 2 : 1;
        const tess_dense_view from = columns(g->w, g->nrows, g->nrows, j, count),
                              to = columns(g->small, m, g->most, j, count);

        TESS_TRY(tess_gemv(g->ctx, TESS_OP_TRANSPOSE, 1.0, &t, &from, 0.0, &to, TESS_ARITHMETIC_FP64));
    }
    TESS_TRY(tess_gemv(g->ctx, TESS_OP_TRANSPOSE, 1.0, &t, &right, 0.0, &last, TESS_ARITHMETIC_FP64));
    status = g->ctx->backend->download(g->ctx, g->gram, g->small, (size_t)(g->most * (m + 1)) * sizeof(double));
cleanup:
    return status;
}

/* g->trial := V y. *solutions: how many columns take part. */
static tess_status combine(sequence_guess *g, int *solutions)
{
    const int m = g->count;
    double y[GUESS_MOST];
    const tess_dense_view v = columns(g->v, g->ncols, g->ncols, 0, m), to = tess_dense_view_of(g->trial);
    const tess_dense_view coefficients = columns(g->small, m, m, 0, 1);
    tess_status status = TESS_SUCCESS;

    *solutions = guess_solve_small(m, g->most, g->gram, y);
    if (*solutions == 0) { return TESS_SUCCESS; }
    TESS_TRY(g->ctx->backend->upload(g->ctx, g->small, y, (size_t)m * sizeof *y));
    status = tess_gemv(g->ctx, TESS_OP_NONE, 1.0, &v, &coefficients, 0.0, &to, TESS_ARITHMETIC_FP64);
cleanup:
    return status;
}

/* *norm := ||b - A x||, by one product. */
static tess_status measure(sequence_guess *g, const tess_matrix *a, const tess_vector *b, const tess_vector *x,
                           guess_found *out, double *norm)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_copy(b, g->residual));
    TESS_TRY(tess_matrix_spmv(a, TESS_OP_NONE, -1.0, x, 1.0, g->residual));
    out->products += 1;
    status = tess_vector_norm2(g->residual, TESS_ARITHMETIC_FP64, norm);
cleanup:
    return status;
}

/* The better of zero and the given x, which changes if it is worse. */
static tess_status choose_given(sequence_guess *g, const tess_matrix *a, const tess_vector *b, tess_vector *x,
                                guess_found *out)
{
    double norm = 0.0, right = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_norm2(b, TESS_ARITHMETIC_FP64, &right));
    TESS_TRY(tess_vector_norm2(x, TESS_ARITHMETIC_FP64, &norm));
    out->residual = out->given_residual = right;
    if (norm == 0.0) { return TESS_SUCCESS; }
    TESS_TRY(measure(g, a, b, x, out, &out->given_residual));
    if (out->given_residual <= right) {
        out->given = true;
        out->residual = out->given_residual;
    } else {
        status = tess_vector_fill(x, 0.0);
    }
cleanup:
    return status;
}

tess_status guess_find(sequence_guess *g, const tess_matrix *a, const tess_vector *b, tess_vector *x, bool definite,
                       guess_found *out)
{
    const double start = tess_wall_seconds();
    double norm = NAN;
    tess_status status = TESS_SUCCESS;

    *out = (guess_found){.given = true, .residual = NAN, .given_residual = NAN};
    if (g->ncols == 0 || g->nrows == 0) { return TESS_SUCCESS; }
    out->given = false;
    TESS_TRY(allocate(g));
    TESS_TRY(choose_given(g, a, b, x, out));
    if (g->count > 0 && out->residual > 0.0) { /* false for NaN too */
        TESS_TRY(renew_products(g, a, &out->products));
        TESS_TRY(project(g, b, definite && g->nrows == g->ncols));
        TESS_TRY(combine(g, &out->solutions));
        if (out->solutions > 0) { TESS_TRY(measure(g, a, b, g->trial, out, &norm)); }
        if (norm < out->residual) {
            out->projected = true;
            out->residual = norm;
            TESS_TRY(tess_vector_copy(g->trial, x));
        }
    }
    out->seconds = tess_wall_seconds() - start;
cleanup:
    return status;
}
