/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/classical/interpolation.h"

#include <math.h>
#include <string.h>

#include <omp.h>

#include "precond/multigrid/classical/interpolation_rows.h"
#include "precond/multigrid/classical/split.h"
#include "precond/multigrid/classical/truncate.h"

enum { SERIAL = 2048, ROWS_AT_A_TIME = 256 };

/* ---- coarse neighbours ---- */

static bool is_negative(const host_csr *a, int64_t i)
{
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        if (a->col_ind[k] == i) { return a->val[k] < 0.0; }
    }
    return false;
}

/* Writes a row's coarse neighbours to `out`, or counts them if that is NULL. */
static int64_t list_row(const amg_all_rows *all, int64_t i, bool negative, amg_neighbour *out)
{
    const amg_interpolation *to = all->to;
    const host_csr *a = to->a;
    int64_t count = 0;

    if (to->split[i] == AMG_COARSE) { return 0; }
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const int32_t j = a->col_ind[k];
        const bool has_own_sign = (a->val[k] < 0.0) == negative;

        if (to->split[j] != AMG_COARSE || (has_own_sign && !all->known)) { continue; }
        if (out) { out[count] = (amg_neighbour){has_own_sign ? 0.0 : a->val[k], j, to->strong[k]}; }
        count++;
    }
    return count;
}

static void free_neighbours(tess_context *ctx, amg_neighbours *b)
{
    if (b->of) { tess_host_release(ctx, b->of, b->first[b->nrows], sizeof *b->of); }
    tess_host_release(ctx, b->first, b->nrows + 1, sizeof *b->first);
    tess_host_release(ctx, b->negative, b->nrows, sizeof *b->negative);
}

static tess_status list_neighbours(tess_context *ctx, amg_all_rows *all)
{
    const amg_interpolation *to = all->to;
    amg_neighbours *b = &all->b;
    tess_status status = TESS_SUCCESS;

    b->nrows = to->a->nrows;
    TESS_TRY(tess_host_allocate(ctx, b->nrows + 1, sizeof *b->first, (void **)&b->first));
    TESS_TRY(tess_host_allocate(ctx, b->nrows, sizeof *b->negative, (void **)&b->negative));
    b->first[0] = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (b->nrows > SERIAL)
    for (int64_t i = 0; i < b->nrows; i++) {
        b->negative[i] = is_negative(to->a, i);
        b->first[i + 1] = list_row(all, i, b->negative[i], NULL);
    }
    for (int64_t i = 0; i < b->nrows; i++) {
        b->first[i + 1] += b->first[i];
    }
    TESS_TRY(tess_host_allocate(ctx, b->first[b->nrows], sizeof *b->of, (void **)&b->of));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (b->nrows > SERIAL)
    for (int64_t i = 0; i < b->nrows; i++) {
        list_row(all, i, b->negative[i], b->of + b->first[i]);
    }
cleanup:
    return status;
}

/* ---- memory ---- */

static void free_workspaces(tess_context *ctx, amg_workspaces *w)
{
    tess_host_release(ctx, w->place, w->threads * w->rows, sizeof *w->place);
    tess_host_release(ctx, w->column, w->threads * w->most, sizeof *w->column);
    tess_host_release(ctx, w->weight, w->threads * w->most, sizeof *w->weight);
    tess_host_release(ctx, w->match, w->threads * w->longest, sizeof *w->match);
}

/* longest_of_a: entries of a row of A. A set has the lists of a row and of its neighbours. */
static tess_status make_workspaces(tess_context *ctx, const amg_interpolation *to, const amg_neighbours *b,
                                   int64_t longest_of_a, amg_workspaces *w)
{
    const int threads = row_sum_threads(ctx, host_csr_nnz(to->a), b->nrows);
    int64_t longest = 1;
    tess_status status = TESS_SUCCESS;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : longest) if (b->nrows > SERIAL)
    for (int64_t i = 0; i < b->nrows; i++) {
        longest = b->first[i + 1] - b->first[i] > longest ? b->first[i + 1] - b->first[i] : longest;
    }
    *w = (amg_workspaces){.threads = to->nrows > SERIAL ? threads : 1, .rows = b->nrows, .longest = longest};
    w->most = (longest_of_a + 1) * longest < to->a->nrows ? (longest_of_a + 1) * longest : to->a->nrows;
    TESS_TRY(row_sum_places(ctx, w->threads, w->rows, &w->place));
    TESS_TRY(tess_host_allocate(ctx, w->threads * w->most, sizeof *w->column, (void **)&w->column));
    TESS_TRY(tess_host_allocate(ctx, w->threads * w->most, sizeof *w->weight, (void **)&w->weight));
    status = tess_host_allocate(ctx, w->threads * w->longest, sizeof *w->match, (void **)&w->match);
cleanup:
    return status;
}

/* ---- a row ---- */

TESS_INLINE void add_strong(const amg_target *t, int64_t row, row_sum *set)
{
    const amg_neighbour *end = t->b->of + t->b->first[row + 1];

    for (const amg_neighbour *l = t->b->of + t->b->first[row]; l < end; l++) {
        if (l->strong && row_sum_find(set, l->column) < 0) { row_sum_append(set, l->column, 0.0); }
    }
}

void amg_find_set(const amg_target *t)
{
    const host_csr *a = t->to->a;
    const uint8_t *strong = t->to->strong;
    row_sum set = t->w->set;

    set.count = 0;
    add_strong(t, t->i, &set);
    for (int64_t k = a->row_ptr[t->i]; k < a->row_ptr[t->i + 1]; k++) {
        if (strong[k]) { add_strong(t, a->col_ind[k], &set); } /* coarse rows have no list */
    }
    t->w->set.count = set.count;
}

/* a_ki, or 0. What is left of a row is read whole: a processor cannot foresee where a search ends. */
static inline double find_entry(const host_csr *a, int64_t k, int64_t i)
{
    int64_t low = a->row_ptr[k], high = a->row_ptr[k + 1];
    double found = 0.0;

    while (high - low > 16) {
        const int64_t middle = low + (high - low) / 2;

        if (a->col_ind[middle] <= i) {
            low = middle;
        } else {
            high = middle;
        }
    }
    for (; low < high; low++) {
        found = a->col_ind[low] == (int32_t)i ? a->val[low] : found;
    }
    return found;
}

/* The coupling a_ik goes by way of k to the set and to i itself: the sums of eq. (4.10) and (4.11). Returns what a~_ii
   gains. */
TESS_INLINE double distribute(const amg_target *t, const row_sum *set, int32_t k, double coupling)
{
    const amg_neighbour *first = t->b->of + t->b->first[k];
    const int64_t length = t->b->first[k + 1] - t->b->first[k];
    amg_matched *match = t->w->match;
    double own = find_entry(t->to->a, k, t->i), sum = 0.0, factor = 0.0;
    int64_t count = 0;

    if ((own < 0.0) == t->b->negative[k]) { own = 0.0; } /* a-_ki is 0 where its sign is the diagonal's */
    sum = own;
    for (int64_t m = 0; m < length; m++) {
        const int32_t place = row_sum_find(set, first[m].column);

        if (place < 0) { continue; }
        match[count++] = (amg_matched){place, first[m].value};
        sum += first[m].value;
    }
    if (sum == 0.0) { return coupling; }
    factor = coupling / sum;
    for (int64_t m = 0; m < count; m++) {
        set->val[match[m].place] += factor * match[m].value;
    }
    return factor * own;
}

void amg_find_weights(const amg_target *t)
{
    const amg_interpolation *to = t->to;
    const host_csr *a = to->a;
    const row_sum set = t->w->set;
    double diagonal = 0.0, factor = 0.0;

    for (int64_t k = a->row_ptr[t->i]; k < a->row_ptr[t->i + 1]; k++) {
        const int32_t j = a->col_ind[k];
        const bool coarse = to->split[j] == AMG_COARSE;
        const int32_t place = coarse ? row_sum_find(&set, j) : -1;

        if (place >= 0) {
            set.val[place] += a->val[k];
        } else if (!coarse && to->strong[k]) {
            diagonal += distribute(t, &set, j, a->val[k]);
        } else { /* the diagonal and weak couplings; eq. (4.11) */
            diagonal += a->val[k];
        }
    }
    factor = diagonal != 0.0 ? -1.0 / diagonal : 0.0;
    for (int64_t s = 0; s < set.count; s++) {
        set.val[s] *= factor;
    }
}

/* Row r of p; returns its length. */
static int64_t interpolate_row(const void *user, int thread, int64_t r, int32_t *column, double *val)
{
    const amg_all_rows *all = user;
    const amg_interpolation *to = all->to;
    amg_workspace w = amg_own_workspace(&all->w, thread);
    const amg_target t = {.to = to, .b = &all->b, .w = &w, .i = amg_row_of(to, r)};
    int64_t count = 0;

    if (to->split[t.i] == AMG_COARSE) {
        column[0] = to->number[t.i];
        val[0] = 1.0;
        return 1;
    }
    amg_find_set(&t);
    amg_find_weights(&t);
    for (int64_t s = 0; s < w.set.count; s++) {
        w.set.column[s] = to->number[w.set.column[s]];
    }
    count = amg_truncate_row(to->truncation, w.set.count, w.set.column, w.set.val);
    memcpy(column, w.set.column, (size_t)count * sizeof *column);
    memcpy(val, w.set.val, (size_t)count * sizeof *val);
    return count;
}

/* ---- all rows ---- */

static int64_t longest_row(const tess_context *ctx, const host_csr *a)
{
    int64_t longest = 1;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : longest) if (a->nrows > SERIAL)
    for (int64_t i = 0; i < a->nrows; i++) {
        longest = a->row_ptr[i + 1] - a->row_ptr[i] > longest ? a->row_ptr[i + 1] - a->row_ptr[i] : longest;
    }
    return longest;
}

void amg_close_rows(tess_context *ctx, amg_all_rows *all)
{
    free_workspaces(ctx, &all->w);
    free_neighbours(ctx, &all->b);
}

tess_status amg_open_rows(tess_context *ctx, amg_all_rows *all)
{
    const int64_t longest = longest_row(ctx, all->to->a);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(list_neighbours(ctx, all));
    status = make_workspaces(ctx, all->to, &all->b, longest, &all->w);
cleanup:
    return status;
}

tess_status amg_interpolate(tess_context *ctx, const amg_interpolation *to, host_csr *p)
{
    amg_all_rows all = {.to = to};
    const int64_t limit = to->truncation > 0 ? to->truncation : INT64_MAX;
    tess_status status = TESS_SUCCESS;

    *p = (host_csr){0};
    TESS_TRY(amg_open_rows(ctx, &all));
    status = host_csr_from_rows(ctx,
                                &(row_source){.nrows = to->nrows,
                                              .ncols = to->ncoarse,
                                              .threads = all.w.threads,
                                              .most = all.w.most < limit ? all.w.most : limit,
                                              .row = interpolate_row,
                                              .user = &all},
                                p);
cleanup:
    amg_close_rows(ctx, &all);
    return status;
}
