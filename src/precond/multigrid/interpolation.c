/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/interpolation.h"

#include <math.h>
#include <string.h>

#include <omp.h>

#include "matrix/row_table.h"
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
    int64_t nrows;
} neighbours;

/* A coarse neighbour of a neighbour, and the coupling. */
typedef struct matched {
    int32_t place;
    double value;
} matched;

/* Memory of one thread. */
typedef struct workspace {
    row_entry *table;
    int32_t *column; /* of a row's coarse neighbours, in A's numbers */
    double *weight;
    matched *match;
} workspace;

/* Memory of all threads: table_size, most and longest for each. */
typedef struct workspaces {
    row_entry *table;
    int32_t *column;
    double *weight;
    matched *match;
    int threads;
    int64_t table_size, most, longest;
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
static int64_t list_row(const amg_interpolation *to, int64_t i, coarse_neighbour *out)
{
    const host_csr *a = to->a;
    const bool negative = is_negative(a, i);
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
}

static tess_status list_neighbours(tess_context *ctx, const amg_interpolation *to, neighbours *b)
{
    tess_status status = TESS_SUCCESS;

    b->nrows = to->a->nrows;
    TESS_TRY(tess_host_allocate(ctx, b->nrows + 1, sizeof *b->first, (void **)&b->first));
    b->first[0] = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (b->nrows > SERIAL)
    for (int64_t i = 0; i < b->nrows; i++) {
        b->first[i + 1] = list_row(to, i, NULL);
    }
    for (int64_t i = 0; i < b->nrows; i++) {
        b->first[i + 1] += b->first[i];
    }
    TESS_TRY(tess_host_allocate(ctx, b->first[b->nrows], sizeof *b->of, (void **)&b->of));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (b->nrows > SERIAL)
    for (int64_t i = 0; i < b->nrows; i++) {
        list_row(to, i, b->of + b->first[i]);
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
    tess_host_release(ctx, w->table, w->threads * w->table_size, sizeof *w->table);
    tess_host_release(ctx, w->column, w->threads * w->most, sizeof *w->column);
    tess_host_release(ctx, w->weight, w->threads * w->most, sizeof *w->weight);
    tess_host_release(ctx, w->match, w->threads * w->longest, sizeof *w->match);
}

static tess_status make_workspaces(tess_context *ctx, const neighbours *b, int threads, int64_t most, workspaces *w)
{
    int64_t longest = 1;
    tess_status status = TESS_SUCCESS;

    for (int64_t i = 0; i < b->nrows; i++) {
        longest = b->first[i + 1] - b->first[i] > longest ? b->first[i + 1] - b->first[i] : longest;
    }
    *w = (workspaces){
        .threads = threads, .table_size = INT64_C(1) << row_table_bits(most), .most = most, .longest = longest};
    TESS_TRY(tess_host_allocate(ctx, w->threads * w->table_size, sizeof *w->table, (void **)&w->table));
    TESS_TRY(tess_host_allocate(ctx, w->threads * w->most, sizeof *w->column, (void **)&w->column));
    TESS_TRY(tess_host_allocate(ctx, w->threads * w->most, sizeof *w->weight, (void **)&w->weight));
    status = tess_host_allocate(ctx, w->threads * w->longest, sizeof *w->match, (void **)&w->match);
cleanup:
    return status;
}

static workspace own_workspace(const workspaces *w)
{
    const int t = omp_get_thread_num();

    return (workspace){w->table + t * w->table_size, w->column + t * w->most, w->weight + t * w->most,
                       w->match + t * w->longest};
}

/* ---- a row ---- */

static void add_to_set(const workspace *w, int bits, int32_t j, int64_t *count)
{
    row_entry *e = row_table_find(w->table, bits, j);

    if (e->column >= 0) { return; }
    *e = (row_entry){j, (int32_t)*count};
    w->column[*count] = j;
    w->weight[(*count)++] = 0.0;
}

/* The row, and what its set is found from. */
typedef struct target {
    const amg_interpolation *to;
    const neighbours *b;
    const workspace *w;
    int64_t i;
    int bits;
} target;

static void add_strong(const target *t, int64_t row, int64_t *count)
{
    for (int64_t m = t->b->first[row]; m < t->b->first[row + 1]; m++) {
        if (t->b->of[m].strong) { add_to_set(t->w, t->bits, t->b->of[m].column, count); }
    }
}

/* C^_i: strong coarse neighbours of i and of its strong fine neighbours; eq. (4.9). Returns how many. */
static int64_t find_set(const target *t)
{
    const host_csr *a = t->to->a;
    int64_t count = 0;

    row_table_clear(t->w->table, t->bits);
    add_strong(t, t->i, &count);
    for (int64_t k = a->row_ptr[t->i]; k < a->row_ptr[t->i + 1]; k++) {
        if (t->to->strong[k]) { add_strong(t, a->col_ind[k], &count); } /* coarse rows have no list */
    }
    return count;
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
    const workspace *w = t->w;
    double own = find_entry(t->to->a, k, t->i), sum = 0.0;
    int64_t count = 0;

    if ((own < 0.0) == is_negative(t->to->a, k)) { own = 0.0; } /* a-_ki is 0 where its sign is the diagonal's */
    sum = own;
    for (int64_t m = t->b->first[k]; m < t->b->first[k + 1]; m++) {
        const row_entry *e = row_table_find(w->table, t->bits, t->b->of[m].column);

        w->match[count] = (matched){e->place, t->b->of[m].value};
        sum += e->column >= 0 ? t->b->of[m].value : 0.0;
        count += e->column >= 0;
    }
    if (sum == 0.0) { return coupling; }
    for (int64_t m = 0; m < count; m++) {
        w->weight[w->match[m].place] += coupling * w->match[m].value / sum;
    }
    return coupling * own / sum;
}

/* Weights of row i to its set; eq. (4.10). */
static void find_weights(const target *t, int64_t count)
{
    const amg_interpolation *to = t->to;
    const host_csr *a = to->a;
    double diagonal = 0.0;

    for (int64_t k = a->row_ptr[t->i]; k < a->row_ptr[t->i + 1]; k++) {
        const int32_t j = a->col_ind[k];
        const bool coarse = to->split[j] == AMG_COARSE;
        const row_entry *e = coarse ? row_table_find(t->w->table, t->bits, j) : NULL;

        if (e && e->column >= 0) {
            t->w->weight[e->place] += a->val[k];
        } else if (!coarse && to->strong[k]) {
            diagonal += distribute(t, j, a->val[k]);
        } else { /* the diagonal and weak couplings; eq. (4.11) */
            diagonal += a->val[k];
        }
    }
    for (int64_t s = 0; s < count; s++) {
        t->w->weight[s] = diagonal != 0.0 ? -t->w->weight[s] / diagonal : 0.0;
        t->w->column[s] = to->number[t->w->column[s]];
    }
}

/* Writes row r of p to its place; returns its length. */
static int64_t interpolate_row(target *t, int64_t r, int64_t bound, host_csr *p)
{
    const int64_t first = p->row_ptr[r];
    const workspace *w = t->w;
    int64_t count = 0;

    t->i = row_of(t->to, r);
    t->bits = row_table_bits(bound);
    if (t->to->split[t->i] == AMG_COARSE) {
        p->col_ind[first] = t->to->number[t->i];
        p->val[first] = 1.0;
        return 1;
    }
    count = find_set(t);
    find_weights(t, count);
    count = amg_truncate_row(t->to->truncation, count, w->column, w->weight);
    memcpy(p->col_ind + first, w->column, (size_t)count * sizeof *p->col_ind);
    memcpy(p->val + first, w->weight, (size_t)count * sizeof *p->val);
    return count;
}

/* ---- all rows ---- */

/* bound: of each row's set, then its length; room gets offsets for rows of that many entries, or the truncation's. */
static int64_t reserve_rows(const tess_context *ctx, const amg_interpolation *to, const neighbours *b, int64_t *bound,
                            host_csr *room)
{
    const int64_t limit = to->truncation > 0 ? to->truncation : INT64_MAX;
    int64_t most = 1;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : most) if (to->nrows > SERIAL)
    for (int64_t r = 0; r < to->nrows; r++) {
        bound[r] = bound_set(to, b, row_of(to, r));
        most = bound[r] > most ? bound[r] : most;
        room->row_ptr[r + 1] = bound[r] < limit ? bound[r] : limit;
    }
    host_csr_sum_lengths(room);
    return most;
}

tess_status amg_interpolate(tess_context *ctx, const amg_interpolation *to, host_csr *p)
{
    const int threads = to->nrows > SERIAL ? ctx->threads : 1;
    workspaces w = {0};
    neighbours b = {0};
    host_csr room = {0};
    int64_t *length = NULL, most = 0;
    tess_status status = TESS_SUCCESS;

    *p = (host_csr){0};
    TESS_TRY(list_neighbours(ctx, to, &b));
    TESS_TRY(tess_host_allocate(ctx, to->nrows, sizeof *length, (void **)&length));
    TESS_TRY(host_csr_allocate_rows(ctx, to->nrows, to->ncoarse, &room));
    most = reserve_rows(ctx, to, &b, length, &room);
    TESS_TRY(make_workspaces(ctx, &b, threads, most, &w));
    TESS_TRY(host_csr_allocate_entries(ctx, &room));
#pragma omp parallel for num_threads(threads) schedule(dynamic, ROWS_AT_A_TIME)
    for (int64_t r = 0; r < to->nrows; r++) {
        const workspace own = own_workspace(&w);
        target t = {.to = to, .b = &b, .w = &own};

        length[r] = interpolate_row(&t, r, length[r], &room);
    }
    status = amg_compact(ctx, &room, length, p);
cleanup:
    host_csr_release(ctx, &room);
    tess_host_release(ctx, length, to->nrows, sizeof *length);
    free_workspaces(ctx, &w);
    free_neighbours(ctx, &b);
    return status;
}
