/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rows of a saddle point are constraints. Without an index of the caller: rows without a diagonal entry, or where
 * all have one those whose is tiny in its row (a regularisation); and of the others those whose diagonal has the rarer
 * sign.
 */
#include <math.h>
#include <string.h>

#include <tessera/names.h>

#include "precond/saddle/blocks.h"

/* A diagonal entry below this share of its row's largest magnitude is a regularisation. */
#define TINY 0x1p-20

void saddle_split_release(tess_context *ctx, saddle_split *s)
{
    tess_host_release(ctx, s->rows, s->n, sizeof *s->rows);
    tess_host_release(ctx, s->place, s->n, sizeof *s->place);
    *s = (saddle_split){0};
}

bool saddle_split_is_same(const saddle_split *s, const saddle_split *other)
{
    return s->n == other->n && s->constraints == other->constraints &&
           memcmp(s->rows, other->rows, (size_t)s->n * sizeof *s->rows) == 0;
}

/* ---- by the diagonal ---- */

static double diagonal_of(const host_csr *k, int64_t i, double *largest)
{
    double d = 0.0;

    *largest = 0.0;
    for (int64_t e = k->row_ptr[i]; e < k->row_ptr[i + 1]; e++) {
        if (k->col_ind[e] == i) {
            d = k->val[e];
        } else if (fabs(k->val[e]) > *largest) {
            *largest = fabs(k->val[e]);
        }
    }
    return d;
}

static bool has_missing_diagonal(const host_csr *k)
{
    for (int64_t i = 0; i < k->nrows; i++) {
        double largest = 0.0;

        if (diagonal_of(k, i, &largest) == 0.0) { return true; }
    }
    return false;
}

/* place[i]: 0 of an unknown, 1 of a constraint; and how many of those there are. */
static void mark_by_diagonal(const host_csr *k, saddle_split *s)
{
    const double tiny = has_missing_diagonal(k) ? 0.0 : TINY; /* unknowns of another scale may be small, too */
    int32_t *const mark = s->place;
    int64_t positive = 0, negative = 0;
    int32_t rarer = 0;

    for (int64_t i = 0; i < k->nrows; i++) {
        double largest = 0.0;
        const double d = diagonal_of(k, i, &largest);

        mark[i] = fabs(d) <= tiny * largest ? 0 : d > 0.0 ? 1 : d < 0.0 ? -1 : 0;
        s->zero += d == 0.0;
        s->small += mark[i] == 0 && d != 0.0;
        positive += mark[i] > 0;
        negative += mark[i] < 0;
    }
    rarer = positive >= negative ? -1 : 1;
    s->opposite = positive >= negative ? negative : positive;
    s->constraints = s->zero + s->small + s->opposite;
    for (int64_t i = 0; i < k->nrows; i++) {
        mark[i] = mark[i] == 0 || mark[i] == rarer;
    }
}

static tess_status require_block(tess_context *ctx, int64_t n, int64_t constraints)
{
    if (constraints > 0 && constraints < n) { return TESS_SUCCESS; }
    return tess_fail(
        ctx, TESS_UNSUPPORTED, "name the rows of the second block (--saddle-index), or choose another preconditioner",
        constraints == 0 ? "saddle: the matrix has no zero block: every row has a diagonal entry, and all "
                           "have one sign"
                         : "saddle: no row has a diagonal entry of its row's size, so that all would be constraints");
}

/* ---- by the caller's index ---- */

static tess_status mark_by_index(tess_context *ctx, const int64_t *index, int64_t count, int64_t n, int32_t *mark)
{
    const char *hint = "give each row of the second block once";

    memset(mark, 0, (size_t)n * sizeof *mark);
    if (count < 0 || count >= n || !index) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, hint, "saddle: an index of %s does not fit a matrix of %s",
                         tess_count(count, "row").text, tess_count(n, "row").text);
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = index[i];

        if (row < 0 || row >= n) {
            return tess_fail(ctx, TESS_INVALID_ARGUMENT, hint,
                             "saddle: entry %lld of the index is row %lld, but the matrix has %s", tess_number(ctx, i),
                             tess_number(ctx, row), tess_count(n, "row").text);
        }
        if (mark[row]) {
            return tess_fail(ctx, TESS_INVALID_ARGUMENT, hint, "saddle: the index has row %lld twice",
                             tess_number(ctx, row));
        }
        mark[row] = 1;
    }
    return TESS_SUCCESS;
}

/* ---- both ---- */

/* place holds the marks. */
static void number_rows(saddle_split *s)
{
    int64_t unknown = 0, constraint = 0;

    for (int64_t i = 0; i < s->n; i++) {
        if (s->place[i]) {
            s->rows[s->unknowns + constraint] = (int32_t)i;
            s->place[i] = ~(int32_t)constraint++;
        } else {
            s->rows[unknown] = (int32_t)i;
            s->place[i] = (int32_t)unknown++;
        }
    }
}

tess_status saddle_split_find(tess_context *ctx, const host_csr *k, const int64_t *index, int64_t count,
                              saddle_split *out)
{
    tess_status status = TESS_SUCCESS;

    *out = (saddle_split){.n = k->nrows};
    TESS_TRY(tess_host_allocate(ctx, out->n, sizeof *out->rows, (void **)&out->rows));
    TESS_TRY(tess_host_allocate(ctx, out->n, sizeof *out->place, (void **)&out->place));
    if (count != 0) {
        TESS_TRY(mark_by_index(ctx, index, count, out->n, out->place));
        out->constraints = count;
    } else {
        mark_by_diagonal(k, out);
        TESS_TRY(require_block(ctx, out->n, out->constraints));
    }
    out->unknowns = out->n - out->constraints;
    number_rows(out);
cleanup:
    if (status != TESS_SUCCESS) { saddle_split_release(ctx, out); }
    return status;
}
