/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that carry a residual. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/names.h>
#include <tessera/verify.h>

#include "matrix/assembled.h"
#include "matrix/complex_form.h"
#include "matrix/residual_rows.h"

typedef struct row_search {
    const csr_view *a;
    const double *b, *x;
    int64_t wanted, capacity, count;
    tess_verify_row *rows; /* the largest so far, and others */
} row_search;

/* Larger ones first, and NaN before all numbers; of equal ones the first. */
static int compare(const void *one, const void *other)
{
    const tess_verify_row *a = one, *b = other;
    const bool none_of_a = isnan(a->backward_error), none_of_b = isnan(b->backward_error);

    if (none_of_a != none_of_b) { return none_of_a ? -1 : 1; }
    if (a->backward_error > b->backward_error) { return -1; }
    if (a->backward_error < b->backward_error) { return 1; }
    return a->row < b->row ? -1 : a->row > b->row;
}

static void keep_largest(row_search *s)
{
    qsort(s->rows, (size_t)s->count, sizeof *s->rows, compare);
    if (s->count > s->wanted) { s->count = s->wanted; }
}

static void take(row_search *s, const tess_verify_row *row)
{
    if (s->count == s->capacity) { keep_largest(s); }
    s->rows[s->count++] = *row;
}

/* The residual over the row's largest magnitude. */
static double scaled_value(const tess_row_terms *t)
{
    return fabs(t->value) / (t->largest > 0.0 ? t->largest : 1.0);
}

/* Lists the rows, with their scaled residuals in place of shares; returns the largest of all. */
static double collect(row_search *s)
{
    double most = 0.0;

    for (int64_t i = 0; i < s->a->nrows; i++) {
        const tess_row_terms t = row_terms_of(s->a, s->b, s->x, i);
        const double scaled = scaled_value(&t);
        const tess_verify_row row = {.row = i,
                                     .residual = t.value,
                                     .backward_error = isfinite(t.value) ? tess_row_backward_error(&t) : NAN,
                                     .share = scaled};

        if (t.value == 0.0) { continue; }
        if (!(scaled <= most) && !isnan(most)) { most = scaled; } /* NaN stays */
        take(s, &row);
    }
    return most;
}

static void fill_shares(row_search *s, double most)
{
    double sum = 0.0;

    for (int64_t i = 0; i < s->a->nrows; i++) {
        const tess_row_terms t = row_terms_of(s->a, s->b, s->x, i);
        const double part = scaled_value(&t) / most;

        sum += part * part;
    }
    for (int64_t k = 0; k < s->count; k++) {
        const double part = s->rows[k].share / most;

        s->rows[k].share = isfinite(sum) ? part * part / sum : NAN;
    }
}

static tess_status search(const tess_matrix *a, const tess_vector *b, const tess_vector *x, row_search *s)
{
    tess_context *ctx = a->ctx;
    const int64_t length = a->nrows + a->ncols;
    tess_host_matrix host = {0};
    double *values = NULL, most = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_matrix_on_host(a, &host));
    TESS_TRY(tess_host_allocate(ctx, length, sizeof *values, (void **)&values));
    TESS_TRY(ctx->backend->download(ctx, values, b->data, (size_t)a->nrows * sizeof *values));
    TESS_TRY(ctx->backend->download(ctx, values + a->nrows, x->data, (size_t)a->ncols * sizeof *values));
    TESS_TRY(tess_host_allocate(ctx, s->capacity, sizeof *s->rows, (void **)&s->rows));
    s->a = &csr_of(host.matrix)->view;
    s->b = values;
    s->x = values + a->nrows;
    most = collect(s);
    keep_largest(s);
    fill_shares(s, most);
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
    row_search s = {.rows = NULL};
    tess_status status = TESS_SUCCESS;

    *found = 0;
    TESS_TRY(tess_vector_require(a->ctx, b, a->nrows, "b"));
    TESS_TRY(tess_vector_require(a->ctx, x, a->ncols, "x"));
    if (count < 0) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "pass the length of the array", "%s wanted",
                         tess_count(count, "row is|rows are").text);
    }
    TESS_TRY(tess_matrix_require_assembled(original, "tess_verify_rows"));
    if (count == 0 || a->nrows == 0) { return TESS_SUCCESS; }
    s.wanted = count < a->nrows ? count : a->nrows;
    s.capacity = 2 * s.wanted;
    TESS_TRY(search(original, b, x, &s));
    for (int64_t k = 0; k < s.count; k++) {
        rows[k] = s.rows[k];
        rows[k].row = tess_complex_row(a, rows[k].row);
    }
    *found = s.count;
cleanup:
    tess_host_release(a->ctx, s.rows, s.capacity, sizeof *s.rows);
    return status;
}
