/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/interpolation.h"

#include <math.h>
#include <string.h>

#include <omp.h>

#include "matrix/row_sum.h"
#include "precond/multigrid/split.h"
#include "precond/multigrid/truncate.h"

enum { SERIAL = 2048, ROWS_AT_A_TIME = 256 };

/* A coarse neighbour of a fine row whose coupling has not the sign of the row's diagonal: a-_kl of eq. (4.10). */
typedef struct coarse_neighbour {
    double value;
    int32_t column;
    int32_t strong;
} coarse_neighbour;

/* Those of all fine rows, one row after another. */
typedef struct neighbours {
    int64_t *first; /* per row, and the end */
    coarse_neighbour *of;
    bool *negative; /* per row: its diagonal is */
    int64_t nrows;
} neighbours;

/* A coarse neighbour of a neighbour, and the coupling. */
typedef struct matched {
    int32_t place;
    double value;
} matched;

/* Memory of one thread. The set of a row: its coarse neighbours at a distance of one or two, in A's numbers. */
typedef struct workspace {
    row_sum set;
    matched *match;
} workspace;

/* Memory of all threads: a place for each row, most and longest for each. */
typedef struct workspaces {
    int32_t *place, *column;
    double *weight;
    matched *match;
    int threads;
    int64_t rows, most, longest;
} workspaces;

static int64_t row_of(const amg_interpolation *to, int64_t r)
{
    return to->rows ? to->rows[r] : r;
}

/* ---- coarse neighbours ---- */

static bool is_negative(const host_csr *a, int64_t i)
{
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        if (a->col_ind[k] == i) { return a->val[k] < 0.0; }
    }
    return false;
}

/* Writes a row's coarse neighbours to `out`, or counts them if that is NULL. */
static int64_t list_row(const amg_interpolation *to, int64_t i, bool negative, coarse_neighbour *out)
{
    const host_csr *a = to->a;
    int64_t count = 0;

    if (to->split[i] == AMG_COARSE) { return 0; }
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const int32_t j = a->col_ind[k];

        if (to->split[j] != AMG_COARSE || (a->val[k] < 0.0) == negative) { continue; }
        if (out) { out[count] = (coarse_neighbour){a->val[k], j, to->strong[k]}; }
        count++;
    }
    return count;
}

static void free_neighbours(tess_context *ctx, neighbours *b)
{
    if (b->of) { tess_host_release(ctx, b->of, b->first[b->nrows], sizeof *b->of); }
    tess_host_release(ctx, b->first, b->nrows + 1, sizeof *b->first);
    tess_host_release(ctx, b->negative, b->nrows, sizeof *b->negative);
}

static tess_status list_neighbours(tess_context *ctx, const amg_interpolation *to, neighbours *b)
{
    tess_status status = TESS_SUCCESS;

    b->nrows = to->a->nrows;
    TESS_TRY(tess_host_allocate(ctx, b->nrows + 1, sizeof *b->first, (void **)&b->first));
    TESS_TRY(tess_host_allocate(ctx, b->nrows, sizeof *b->negative, (void **)&b->negative));
    b->first[0] = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (b->nrows > SERIAL)
    for (int64_t i = 0; i < b->nrows; i++) {
        b->negative[i] = is_negative(to->a, i);
        b->first[i + 1] = list_row(to, i, b->negative[i], NULL);
    }
    for (int64_t i = 0; i < b->nrows; i++) {
        b->first[i + 1] += b->first[i];
    }
    TESS_TRY(tess_host_allocate(ctx, b->first[b->nrows], sizeof *b->of, (void **)&b->of));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (b->nrows > SERIAL)
    for (int64_t i = 0; i < b->nrows; i++) {
        list_row(to, i, b->negative[i], b->of + b->first[i]);
    }
cleanup:
    return status;
}

/* ---- memory ---- */

/* At least the number of coarse neighbours at a distance of one or two. */
static int64_t bound_set(const amg_interpolation *to, const neighbours *b, int64_t i)
{
    const host_csr *a = to->a;
    int64_t bound = b->first[i + 1] - b->first[i];

    if (to->split[i] == AMG_COARSE) { return 1; }
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        if (to->strong[k]) { bound += b->first[a->col_ind[k] + 1] - b->first[a->col_ind[k]]; }
    }
    return bound;
}

static void free_workspaces(tess_context *ctx, workspaces *w)
{
    tess_host_release(ctx, w->place, w->threads * w->rows, sizeof *w->place);
    tess_host_release(ctx, w->column, w->threads * w->most, sizeof *w->column);
    tess_host_release(ctx, w->weight, w->threads * w->most, sizeof *w->weight);
    tess_host_release(ctx, w->match, w->threads * w->longest, sizeof *w->match);
}

static tess_status make_workspaces(tess_context *ctx, const amg_interpolation *to, const neighbours *b, int64_t most,
                                   workspaces *w)
{
    const int threads = row_sum_threads(ctx, host_csr_nnz(to->a), b->nrows);
    int64_t longest = 1;
    tess_status status = TESS_SUCCESS;

    for (int64_t i = 0; i < b->nrows; i++) {
        longest = b->first[i + 1] - b->first[i] > longest ? b->first[i + 1] - b->first[i] : longest;
    }
    *w = (workspaces){.threads = to->nrows > SERIAL ? threads : 1, .rows = b->nrows, .most = most, .longest = longest};
    TESS_TRY(row_sum_places(ctx, w->threads, w->rows, &w->place));
    TESS_TRY(tess_host_allocate(ctx, w->threads * w->most, sizeof *w->column, (void **)&w->column));
    TESS_TRY(tess_host_allocate(ctx, w->threads * w->most, sizeof *w->weight, (void **)&w->weight));
    status = tess_host_allocate(ctx, w->threads * w->longest, sizeof *w->match, (void **)&w->match);
cleanup:
    return status;
}

static workspace own_workspace(const workspaces *w)
{
    const int t = omp_get_thread_num();

    return (workspace){
        {.place = w->place + t * w->rows, .column = w->column + t * w->most, .val = w->weight + t * w->most},
        w->match + t * w->longest};
}

/* ---- a row ---- */

/* The row, and what its set is found from. */
typedef struct target {
    const amg_interpolation *to;
    const neighbours *b;
    workspace *w;
    int64_t i;
} target;

static void add_strong(const target *t, int64_t row)
{
    row_sum *set = &t->w->set;

    for (int64_t m = t->b->first[row]; m < t->b->first[row + 1]; m++) {
        const coarse_neighbour *l = &t->b->of[m];

        if (l->strong && row_sum_find(set, l->column) < 0) { row_sum_append(set, l->column, 0.0); }
    }
}

/* C^_i: strong coarse neighbours of i and of its strong fine neighbours; eq. (4.9). */
static void find_set(const target *t)
{
    const host_csr *a = t->to->a;

    t->w->set.count = 0;
    add_strong(t, t->i);
    for (int64_t k = a->row_ptr[t->i]; k < a->row_ptr[t->i + 1]; k++) {
        if (t->to->strong[k]) { add_strong(t, a->col_ind[k]); } /* coarse rows have no list */
    }
}

/* a_ki, or 0 */
static double find_entry(const host_csr *a, int64_t k, int64_t i)
{
    int64_t low = a->row_ptr[k], high = a->row_ptr[k + 1];

    while (high - low > 8) {
        const int64_t middle = low + (high - low) / 2;

        if (a->col_ind[middle] <= i) {
            low = middle;
        } else {
            high = middle;
        }
    }
    for (; low < high; low++) {
        if (a->col_ind[low] == i) { return a->val[low]; }
    }
    return 0.0;
}

/* The coupling a_ik goes by way of k to the set and to i itself: the sums of eq. (4.10) and (4.11). Returns what a~_ii
   gains. */
static double distribute(const target *t, int32_t k, double coupling)
{
    const row_sum *set = &t->w->set;
    matched *match = t->w->match;
    double own = find_entry(t->to->a, k, t->i), sum = 0.0;
    int64_t count = 0;

    if ((own < 0.0) == t->b->negative[k]) { own = 0.0; } /* a-_ki is 0 where its sign is the diagonal's */
    sum = own;
    for (int64_t m = t->b->first[k]; m < t->b->first[k + 1]; m++) {
        const int32_t place = row_sum_find(set, t->b->of[m].column);

        if (place < 0) { continue; }
        match[count++] = (matched){place, t->b->of[m].value};
        sum += t->b->of[m].value;
    }
    if (sum == 0.0) { return coupling; }
    for (int64_t m = 0; m < count; m++) {
        set->val[match[m].place] += coupling * match[m].value / sum;
    }
    return coupling * own / sum;
}

/* Weights of row i to its set; eq. (4.10). */
static void find_weights(const target *t)
{
    const amg_interpolation *to = t->to;
    const host_csr *a = to->a;
    row_sum *set = &t->w->set;
    double diagonal = 0.0;

    for (int64_t k = a->row_ptr[t->i]; k < a->row_ptr[t->i + 1]; k++) {
        const int32_t j = a->col_ind[k];
        const bool coarse = to->split[j] == AMG_COARSE;
        const int32_t place = coarse ? row_sum_find(set, j) : -1;

        if (place >= 0) {
            set->val[place] += a->val[k];
        } else if (!coarse && to->strong[k]) {
            diagonal += distribute(t, j, a->val[k]);
        } else { /* the diagonal and weak couplings; eq. (4.11) */
            diagonal += a->val[k];
        }
    }
    for (int64_t s = 0; s < set->count; s++) {
        set->val[s] = diagonal != 0.0 ? -set->val[s] / diagonal : 0.0;
    }
}

/* Writes row r of p to its place; returns its length. */
static int64_t interpolate_row(target *t, int64_t r, host_csr *p)
{
    const int64_t first = p->row_ptr[r];
    row_sum *set = &t->w->set;
    int64_t count = 0;

    t->i = row_of(t->to, r);
    if (t->to->split[t->i] == AMG_COARSE) {
        p->col_ind[first] = t->to->number[t->i];
        p->val[first] = 1.0;
        return 1;
    }
    find_set(t);
    find_weights(t);
    for (int64_t s = 0; s < set->count; s++) {
        set->column[s] = t->to->number[set->column[s]];
    }
    count = amg_truncate_row(t->to->truncation, set->count, set->column, set->val);
    memcpy(p->col_ind + first, set->column, (size_t)count * sizeof *p->col_ind);
    memcpy(p->val + first, set->val, (size_t)count * sizeof *p->val);
    return count;
}

/* The same on the pattern of row r; list: the rows of A that the columns are. */
static void interpolate_row_again(target *t, int64_t r, const int32_t *list, host_csr *p)
{
    const int64_t first = p->row_ptr[r], count = p->row_ptr[r + 1] - first;
    const row_sum *set = &t->w->set;

    t->i = row_of(t->to, r);
    if (t->to->split[t->i] == AMG_COARSE) { return; } /* 1, as it was */
    find_set(t);
    find_weights(t);
    for (int64_t k = first; k < first + count; k++) {
        const int32_t place = row_sum_find(set, list[p->col_ind[k]]);

        p->val[k] = place >= 0 ? set->val[place] : 0.0;
    }
    amg_scale_row(set->count, set->val, count, p->val + first);
}

/* ---- all rows ---- */

/* Offsets for rows of as many entries as their sets, or as the truncation leaves. Returns the bound of all sets. */
static int64_t reserve_rows(const tess_context *ctx, const amg_interpolation *to, const neighbours *b, host_csr *room)
{
    const int64_t limit = to->truncation > 0 ? to->truncation : INT64_MAX;
    int64_t most = 1;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : most) if (to->nrows > SERIAL)
    for (int64_t r = 0; r < to->nrows; r++) {
        const int64_t bound = bound_set(to, b, row_of(to, r));

        most = bound > most ? bound : most;
        room->row_ptr[r + 1] = bound < limit ? bound : limit;
    }
    host_csr_sum_lengths(room);
    return most;
}

static int64_t largest_set(const tess_context *ctx, const amg_interpolation *to, const neighbours *b)
{
    int64_t most = 1;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : most) if (to->nrows > SERIAL)
    for (int64_t r = 0; r < to->nrows; r++) {
        const int64_t bound = bound_set(to, b, row_of(to, r));

        most = bound > most ? bound : most;
    }
    return most;
}

tess_status amg_interpolate(tess_context *ctx, const amg_interpolation *to, host_csr *p)
{
    workspaces w = {0};
    neighbours b = {0};
    host_csr room = {0};
    int64_t *length = NULL, most = 0;
    tess_status status = TESS_SUCCESS;

    *p = (host_csr){0};
    TESS_TRY(list_neighbours(ctx, to, &b));
    TESS_TRY(tess_host_allocate(ctx, to->nrows, sizeof *length, (void **)&length));
    TESS_TRY(host_csr_allocate_rows(ctx, to->nrows, to->ncoarse, &room));
    most = reserve_rows(ctx, to, &b, &room);
    TESS_TRY(make_workspaces(ctx, to, &b, most, &w));
    TESS_TRY(host_csr_allocate_entries(ctx, &room));
#pragma omp parallel num_threads(w.threads)
    {
        workspace own = own_workspace(&w);
        target t = {.to = to, .b = &b, .w = &own};

#pragma omp for schedule(dynamic, ROWS_AT_A_TIME)
        for (int64_t r = 0; r < to->nrows; r++) {
            length[r] = interpolate_row(&t, r, &room);
        }
    }
    status = amg_compact(ctx, &room, length, p);
cleanup:
    host_csr_release(ctx, &room);
    tess_host_release(ctx, length, to->nrows, sizeof *length);
    free_workspaces(ctx, &w);
    free_neighbours(ctx, &b);
    return status;
}

tess_status amg_interpolate_again(tess_context *ctx, const amg_interpolation *to, const int32_t *list, host_csr *p)
{
    workspaces w = {0};
    neighbours b = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(list_neighbours(ctx, to, &b));
    TESS_TRY(make_workspaces(ctx, to, &b, largest_set(ctx, to, &b), &w));
#pragma omp parallel num_threads(w.threads)
    {
        workspace own = own_workspace(&w);
        target t = {.to = to, .b = &b, .w = &own};

#pragma omp for schedule(dynamic, ROWS_AT_A_TIME)
        for (int64_t r = 0; r < to->nrows; r++) {
            interpolate_row_again(&t, r, list, p);
        }
    }
cleanup:
    free_workspaces(ctx, &w);
    free_neighbours(ctx, &b);
    return status;
}
