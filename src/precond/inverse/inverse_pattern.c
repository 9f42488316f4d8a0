/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of approximate inverses: of A without the small entries of its rows, of its powers, of their lower triangle.
 * Entries count by their magnitude in D^-1/2 |A| D^-1/2 and its powers, where D is the diagonal of A; rows that would
 * be too long keep the largest.
 */
#include <math.h>

#include "base/deadline.h"
#include "matrix/host_csr_rows.h"
#include "precond/inverse/inverse.h"

enum { SERIAL = 4096 };

/* Which entries of a row of A are taken. */
typedef struct choice {
    const host_csr *from;
    const double *scale;
    double threshold; /* times the largest weight of the row, off the diagonal */
    int64_t most;
    bool lower;
} choice;

/* ---- the largest entries of a row ---- */

/* Whether a comes before b in row i: the diagonal, then larger weights, then nearer columns. */
static bool comes_first(int64_t i, int32_t a, double weight_a, int32_t b, double weight_b)
{
    const int64_t far_a = a > i ? a - i : i - a, far_b = b > i ? b - i : i - b;

    if (far_a == 0 || far_b == 0) { return far_a < far_b; }
    if (weight_a != weight_b) { return weight_a > weight_b; }
    return far_a != far_b ? far_a < far_b : a < b;
}

/* Moves the `most` first entries of row i to the front (Hoare's selection). */
static void select_first(int64_t i, int64_t most, int64_t count, int32_t *column, double *weight)
{
    int64_t low = 0, high = count - 1;

    while (low < high) {
        const int32_t middle = column[low + (high - low) / 2];
        const double middle_weight = weight[low + (high - low) / 2];
        int64_t s = low, t = high;

        while (s <= t) {
            while (comes_first(i, column[s], weight[s], middle, middle_weight)) {
                s++;
            }
            while (comes_first(i, middle, middle_weight, column[t], weight[t])) {
                t--;
            }
            if (s <= t) { host_csr_swap(column, weight, s++, t--); }
        }
        if (most - 1 <= t) {
            high = t;
        } else if (most - 1 >= s) {
            low = s;
        } else {
            return;
        }
    }
}

static double weight_of(const choice *c, int64_t i, int64_t k)
{
    const host_csr *a = c->from;

    return fabs(a->val[k]) * (c->scale[i] * c->scale[a->col_ind[k]]);
}

static double least_weight(const choice *c, int64_t i)
{
    double largest = 0.0;

    for (int64_t k = c->from->row_ptr[i]; c->threshold > 0.0 && k < c->from->row_ptr[i + 1]; k++) {
        if (c->from->col_ind[k] != i) { largest = fmax(largest, weight_of(c, i, k)); }
    }
    return c->threshold * largest;
}

/* The `most` first entries of row i, sorted. */
static int64_t cut_row(int64_t i, int64_t most, int64_t count, int32_t *column, double *weight)
{
    const int64_t left = count < most ? count : most;

    if (left < count) { select_first(i, left, count, column, weight); }
    host_csr_sort_row(left, column, weight);
    return left;
}

static int64_t choose_row(const void *user, int thread, int64_t i, int32_t *column, double *val)
{
    const choice *c = user;
    const host_csr *a = c->from;
    const double least = least_weight(c, i);
    int64_t count = 0;

    (void)thread;
    column[count] = (int32_t)i;
    val[count++] = 1.0;
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const int32_t j = a->col_ind[k];
        const double weight = weight_of(c, i, k);

        if (j == i || (c->lower && j > i) || !(weight >= least)) { continue; }
        column[count] = j;
        val[count++] = weight;
    }
    return cut_row(i, c->most, count, column, val);
}

static tess_status choose(tess_context *ctx, const choice *c, host_csr *out)
{
    const int64_t nrows = c->from->nrows;
    int64_t *bound = NULL;
    tess_status status = tess_host_allocate(ctx, nrows, sizeof *bound, (void **)&bound);

    if (status != TESS_SUCCESS) { return status; }
    for (int64_t i = 0; i < nrows; i++) {
        bound[i] = c->from->row_ptr[i + 1] - c->from->row_ptr[i] + 1;
    }
    status = host_csr_from_rows(ctx,
                                &(row_source){.nrows = nrows,
                                              .ncols = nrows,
                                              .threads = nrows > SERIAL ? ctx->threads : 1,
                                              .bound = bound,
                                              .row = choose_row,
                                              .user = c},
                                out);
    tess_host_release(ctx, bound, nrows, sizeof *bound);
    return status;
}

/* ---- all ---- */

/* 1 / sqrt |a_ii|; 1 where that is no number. */
static void find_scale(const host_csr *a, double *scale)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        scale[i] = 1.0;
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            const double root = 1.0 / sqrt(fabs(a->val[k]));

            if (a->col_ind[k] == i && isfinite(root) && root > 0.0) { scale[i] = root; }
        }
    }
}

/* A product of powers, whose rows are cut to twice what the inverse may have; the last becomes its pattern. */
typedef struct raised {
    int64_t row;
    bool last, lower;
} raised;

/* Both factors have all diagonal entries, and so has their product. NaN goes. */
static int64_t take_weights(bool lower, int64_t i, int64_t count, int32_t *column, double *weight)
{
    int64_t left = 0;

    for (int64_t k = 0; k < count; k++) {
        const int32_t j = column[k];

        if (j != i && ((lower && j > i) || !(weight[k] >= 0.0))) { continue; }
        column[left] = j;
        weight[left++] = j == i ? 1.0 : weight[k];
    }
    return left;
}

static int64_t finish_row(const void *user, int64_t i, int64_t count, int32_t *column, double *weight)
{
    const raised *r = user;

    count = cut_row(i, 2 * r->row, take_weights(false, i, count, column, weight), column, weight);
    return r->last ? cut_row(i, r->row, take_weights(r->lower, i, count, column, weight), column, weight) : count;
}

static tess_status find_power(tess_context *ctx, const inverse_request *q, const host_csr *a, const double *scale,
                              host_csr *out)
{
    const inverse_choice *o = &q->entries;
    raised r = {.row = o->row, .lower = q->symmetric};
    const row_finish finish = {finish_row, &r};
    host_csr base = {0}, power = {0}, next = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(choose(ctx, &(choice){.from = a, .scale = scale, .threshold = o->threshold, .most = 2 * (int64_t)o->row},
                    &base));
    for (int k = 1; k < o->power; k++) {
        TESS_TRY(tess_deadline_check(ctx, "the pattern of an approximate inverse"));
        r.last = k + 1 == o->power;
        TESS_TRY(host_csr_multiply_finished(ctx, k == 1 ? &base : &power, &base, &finish, &next));
        host_csr_release(ctx, &power);
        power = next;
        next = (host_csr){0};
    }
    *out = power;
    power = (host_csr){0};
cleanup:
    host_csr_release(ctx, &base);
    host_csr_release(ctx, &power);
    return status;
}

tess_status inverse_pattern_on_host(const inverse_request *q, host_csr *out)
{
    tess_context *ctx = q->a->ctx;
    const inverse_choice *o = &q->entries;
    host_csr a = {0};
    double *scale = NULL;
    tess_status status = TESS_SUCCESS;

    *out = (host_csr){0};
    TESS_TRY(host_csr_from_matrix(q->a, &a));
    TESS_TRY(tess_host_allocate(ctx, a.nrows, sizeof *scale, (void **)&scale));
    find_scale(&a, scale);
    if (o->adaptive) {
        status = inverse_adapt_on_host(q, &a, scale, out);
    } else if (o->power > 1) {
        status = find_power(ctx, q, &a, scale, out);
    } else {
        status = choose(
            ctx,
            &(choice){.from = &a, .scale = scale, .threshold = o->threshold, .most = o->row, .lower = q->symmetric},
            out);
    }
cleanup:
    tess_host_release(ctx, scale, q->a->nrows, sizeof *scale);
    host_csr_release(ctx, &a);
    return status;
}

tess_status inverse_find_pattern(const inverse_request *q, inverse_rows *rows)
{
    tess_context *ctx = q->a->ctx;
    const inverse_ops *ops = inverse_ops_of(ctx);
    host_csr pattern = {0};
    bool found = false;
    tess_status status = TESS_SUCCESS;

    if (ops->find_pattern) { TESS_TRY(ops->find_pattern(q, rows, &found)); }
    if (found) { return TESS_SUCCESS; }
    TESS_TRY(inverse_pattern_on_host(q, &pattern));
    status = ops->take_pattern(ctx, &pattern, rows);
cleanup:
    host_csr_release(ctx, &pattern);
    return status;
}
