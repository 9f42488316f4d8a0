/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that carry a residual. */
#include <math.h>

#include <tessera/verify.h>

#include "matrix/assembled.h"
#include "matrix/residual_rows.h"

typedef struct row_search {
    const csr_view *a;
    const double *b, *x;
    int64_t capacity, found;
    tess_verify_row *rows;
} row_search;

/* NaN counts as more than any number. */
static bool is_larger(const tess_verify_row *row, const tess_verify_row *other)
{
    if (isnan(other->backward_error)) { return false; }
    return isnan(row->backward_error) || row->backward_error > other->backward_error;
}

/* Into the list, which is sorted. */
static void insert(row_search *s, const tess_verify_row *row)
{
    int64_t at = s->found;

    if (s->found == s->capacity && !is_larger(row, &s->rows[s->found - 1])) { return; }
    if (s->found < s->capacity) { s->found += 1; }
    at = s->found - 1;
    for (; at > 0 && is_larger(row, &s->rows[at - 1]); at--) {
        s->rows[at] = s->rows[at - 1];
    }
    s->rows[at] = *row;
}

/* The residual over the row's largest magnitude. */
static double scaled_value(const row_terms *t)
{
    return fabs(t->value) / (t->largest > 0.0 ? t->largest : 1.0);
}

/* Lists the rows, with their scaled residuals in place of shares; returns the largest of all. */
static double collect(row_search *s)
{
    double most = 0.0;

    for (int64_t i = 0; i < s->a->nrows; i++) {
        const row_terms t = row_terms_of(s->a, s->b, s->x, i);
        const double scaled = scaled_value(&t);
        const tess_verify_row row = {.row = i,
                                     .residual = t.value,
                                     .backward_error = isfinite(t.value) ? fabs(t.value) / t.magnitude : NAN,
                                     .share = scaled};

        if (t.value == 0.0) { continue; }
        if (!(scaled <= most) && !isnan(most)) { most = scaled; } /* NaN stays */
        insert(s, &row);
    }
    return most;
}

static void fill_shares(row_search *s, double most)
{
    double sum = 0.0;

    for (int64_t i = 0; i < s->a->nrows; i++) {
        const row_terms t = row_terms_of(s->a, s->b, s->x, i);
        const double part = scaled_value(&t) / most;

        sum += part * part;
    }
    for (int64_t k = 0; k < s->found; k++) {
        const double part = s->rows[k].share / most;

        s->rows[k].share = isfinite(sum) ? part * part / sum : NAN;
    }
}

static tess_status search(const tess_matrix *a, const tess_vector *b, const tess_vector *x, row_search *s)
{
    tess_context *ctx = a->ctx;
    const int64_t length = a->nrows + a->ncols;
    tess_host_matrix host = {0};
    double *values = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_matrix_on_host(a, &host));
    TESS_TRY(tess_host_allocate(ctx, length, sizeof *values, (void **)&values));
    TESS_TRY(ctx->backend->download(ctx, values, b->data, (size_t)a->nrows * sizeof *values));
    TESS_TRY(ctx->backend->download(ctx, values + a->nrows, x->data, (size_t)a->ncols * sizeof *values));
    s->a = &csr_of(host.matrix)->view;
    s->b = values;
    s->x = values + a->nrows;
    fill_shares(s, collect(s));
cleanup:
    tess_host_release(ctx, values, length, sizeof *values);
    tess_host_matrix_release(&host);
    return status;
}

tess_status tess_verify_rows(const tess_matrix *a, const tess_vector *b, const tess_vector *x, int64_t count,
                             tess_verify_row *rows, int64_t *found)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, rows);
    TESS_REQUIRE(a->ctx, found);
    const tess_matrix *original = a->original ? a->original : a;
    row_search s = {.capacity = count, .rows = rows};
    tess_status status = TESS_SUCCESS;

    *found = 0;
    TESS_TRY(tess_vector_require(a->ctx, b, a->nrows, "b"));
    TESS_TRY(tess_vector_require(a->ctx, x, a->ncols, "x"));
    if (count < 0) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "pass the length of the array", "%lld rows are wanted",
                         (long long)count);
    }
    TESS_TRY(tess_matrix_require_assembled(original, "tess_verify_rows"));
    if (count == 0) { return TESS_SUCCESS; }
    TESS_TRY(search(original, b, x, &s));
    *found = s.found;
cleanup:
    return status;
}
