/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of factors with fill in rounds, on the host. */
#include "precond/incomplete/fill_rounds.h"
#include "base/deadline.h"
#include "device/host/host.h"
#include "matrix/host_csr.h"

static csr_view view_of(const host_csr *a)
{
    return (csr_view){.nrows = a->nrows,
                      .ncols = a->ncols,
                      .nnz = host_csr_nnz(a),
                      .row_ptr = a->row_ptr,
                      .col_ind = a->col_ind,
                      .val = a->val,
                      .row_ptr_bits = 64,
                      .precision = TESS_PRECISION_FP64};
}

/* ---- memory ---- */

static tess_status open_task(tess_context *ctx, const csr_view *a, const fill_rule *rule, fill_task *t)
{
    const int64_t n = a->nrows;
    tess_status status = TESS_SUCCESS;

    *t = (fill_task){.rule = *rule, .n = n, .base = *a};
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *t->size, (void **)&t->size));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *t->tolerance, (void **)&t->tolerance));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *t->most, (void **)&t->most));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *t->limit, (void **)&t->limit));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *t->of_limit, (void **)&t->of_limit));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *t->inverse, (void **)&t->inverse));
    memset(t->size, 0, (size_t)n * sizeof *t->size);
cleanup:
    return status;
}

static void close_task(tess_context *ctx, fill_task *t)
{
    tess_host_release(ctx, t->size, t->n, sizeof *t->size);
    tess_host_release(ctx, t->tolerance, t->n, sizeof *t->tolerance);
    tess_host_release(ctx, t->most, t->n, sizeof *t->most);
    tess_host_release(ctx, t->limit, t->n, sizeof *t->limit);
    tess_host_release(ctx, t->of_limit, t->n, sizeof *t->of_limit);
    tess_host_release(ctx, t->inverse, t->n, sizeof *t->inverse);
}

/* ---- a round ---- */

static bool has_threads(const tess_context *ctx, const fill_task *t)
{
    return ctx->threads > 1 && t->base.nnz + t->product.nnz > HOST_SERIAL_WORK;
}

/* The largest magnitudes of rows of a symmetric matrix, from its lower triangle. */
static void measure_symmetric(const fill_task *t)
{
    for (int64_t i = 0; i < t->n; i++) {
        for (int64_t k = csr_offset(&t->base, i); k < fill_row_end(&t->base, i, true); k++) {
            const double magnitude = fabs(((const double *)t->base.val)[k]);
            const int32_t j = t->base.col_ind[k];

            t->size[i] = fmax(t->size[i], magnitude);
            t->size[j] = fmax(t->size[j], magnitude);
        }
    }
}

static void measure(const tess_context *ctx, const fill_task *t)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (has_threads(ctx, t))
    for (int64_t i = 0; i < t->n; i++) {
        fill_measure_row(t, i);
    }
    if (t->rule.symmetric) { measure_symmetric(t); }
}

/* The new w. */
static tess_status make_rows(tess_context *ctx, fill_task *t, host_csr *w)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_allocate_rows(ctx, t->n, t->n, w));
    w->row_ptr[t->n] = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 256) if (has_threads(ctx, t))
    for (int64_t i = 0; i < t->n; i++) {
        w->row_ptr[i + 1] = fill_count_row(t, i);
    }
    host_csr_sum_lengths(w);
    TESS_TRY(host_csr_allocate_entries(ctx, w));
    t->col_ind = w->col_ind;
    t->val = w->val;
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 256) if (has_threads(ctx, t))
    for (int64_t i = 0; i < t->n; i++) {
        fill_write_row(t, i, w->row_ptr[i]);
    }
cleanup:
    if (status != TESS_SUCCESS) { host_csr_release(ctx, w); }
    return status;
}

/* The entries of w on one side of the diagonal. */
static tess_status take_side(tess_context *ctx, const host_csr *w, bool upper, host_csr *side)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_allocate_rows(ctx, w->nrows, w->ncols, side));
    side->row_ptr[w->nrows] = 0;
    for (int64_t i = 0; i < w->nrows; i++) {
        const int64_t at = csr_column_from(w->col_ind, w->row_ptr[i], w->row_ptr[i + 1], i);

        side->row_ptr[i + 1] = upper ? w->row_ptr[i + 1] - at - 1 : at - w->row_ptr[i];
    }
    host_csr_sum_lengths(side);
    TESS_TRY(host_csr_allocate_entries(ctx, side));
    for (int64_t i = 0; i < w->nrows; i++) {
        const int64_t to = side->row_ptr[i], count = side->row_ptr[i + 1] - to;
        const int64_t from = upper ? w->row_ptr[i + 1] - count : w->row_ptr[i];

        memcpy(side->col_ind + to, w->col_ind + from, (size_t)count * sizeof *side->col_ind);
        memcpy(side->val + to, w->val + from, (size_t)count * sizeof *side->val);
    }
cleanup:
    if (status != TESS_SUCCESS) { host_csr_release(ctx, side); }
    return status;
}

/* The sums of a round from the last w. */
static tess_status multiply_triangles(tess_context *ctx, const fill_task *t, const host_csr *w, host_csr *product)
{
    host_csr left = {0}, right = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(take_side(ctx, w, false, &left));
    TESS_TRY(t->rule.symmetric ? host_csr_transpose(ctx, &left, &right) : take_side(ctx, w, true, &right));
    for (int64_t k = 0; k < host_csr_nnz(&left); k++) {
        left.val[k] = fill_left(t, left.val[k], left.col_ind[k]);
    }
    status = host_csr_multiply(ctx, &left, &right, true, product);
cleanup:
    host_csr_release(ctx, &left);
    host_csr_release(ctx, &right);
    return status;
}

/* w: by a last round, or the first. */
static tess_status run_round(tess_context *ctx, fill_task *t, host_csr *w)
{
    host_csr product = {0}, next = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_deadline_check(ctx, "a pattern with fill"));
    TESS_TRY(multiply_triangles(ctx, t, w, &product));
    t->product = view_of(&product);
    TESS_TRY(make_rows(ctx, t, &next));
    host_csr_release(ctx, w);
    *w = next;
cleanup:
    host_csr_release(ctx, &product);
    return status;
}

tess_status fill_rounds_on_host(const tess_matrix *assembled, const fill_rule *rule, tess_matrix **filled)
{
    tess_context *ctx = assembled->ctx;
    fill_task t = {0};
    host_csr w = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(open_task(ctx, &csr_of(assembled)->view, rule, &t));
    measure(ctx, &t);
    TESS_TRY(make_rows(ctx, &t, &w));
    for (int r = 0; r < rule->rounds; r++) {
        TESS_TRY(run_round(ctx, &t, &w));
    }
    status = tess_matrix_adopt_csr(ctx, t.n, t.n, host_csr_nnz(&w), w.row_ptr, 64, w.col_ind, w.val, filled);
    w = (host_csr){0}; /* taken */
cleanup:
    host_csr_release(ctx, &w);
    close_task(ctx, &t);
    return status;
}

/* ---- the values of A on a pattern with fill ---- */

tess_status fill_spread_on_host(tess_context *ctx, const csr_view *a, const csr_view *filled, double *val)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (ctx->threads > 1 && a->nnz > HOST_SERIAL_WORK)
    for (int64_t i = 0; i < a->nrows; i++) {
        fill_spread_row(a, filled, i, val);
    }
    return TESS_SUCCESS;
}
