/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/interpolation.h"

#include <math.h>
#include <string.h>

#include <omp.h>

#include "matrix/row_table.h"
#include "precond/multigrid/split.h"
#include "precond/multigrid/truncate.h"

enum { SERIAL = 2048, ROWS_AT_A_TIME = 256 };

/* The place of the row itself in its table; places of its coarse neighbours are from 0. */
enum { OWN = 0x7fffffff };

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

/* Memory of all threads: table_size, most and match_size for each. */
typedef struct workspaces {
    row_entry *table;
    int32_t *column;
    double *weight;
    matched *match;
    int threads;
    int64_t table_size, most, match_size;
} workspaces;

static int64_t row_of(const amg_interpolation *to, int64_t r)
{
    return to->rows ? to->rows[r] : r;
}

/* At least the number of coarse neighbours at a distance of one or two, and the row itself. */
static int64_t bound_set(const amg_interpolation *to, int64_t i)
{
    const host_csr *a = to->a;
    int64_t bound = 1;

    if (to->split[i] == AMG_COARSE) { return bound; }
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const int32_t j = a->col_ind[k];

        if (!to->strong[k]) { continue; }
        bound += to->split[j] == AMG_COARSE ? 1 : a->row_ptr[j + 1] - a->row_ptr[j];
    }
    return bound;
}

static void free_workspaces(tess_context *ctx, workspaces *w)
{
    tess_host_release(ctx, w->table, w->threads * w->table_size, sizeof *w->table);
    tess_host_release(ctx, w->column, w->threads * w->most, sizeof *w->column);
    tess_host_release(ctx, w->weight, w->threads * w->most, sizeof *w->weight);
    tess_host_release(ctx, w->match, w->threads * w->match_size, sizeof *w->match);
}

static tess_status make_workspaces(tess_context *ctx, const amg_interpolation *to, workspaces *w)
{
    int64_t most = 1, longest = 1;
    tess_status status = TESS_SUCCESS;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : most, longest)
    for (int64_t i = 0; i < to->a->nrows; i++) {
        const int64_t bound = bound_set(to, i), length = to->a->row_ptr[i + 1] - to->a->row_ptr[i];

        most = bound > most ? bound : most;
        longest = length > longest ? length : longest;
    }
    *w = (workspaces){.threads = to->nrows > SERIAL ? ctx->threads : 1,
                      .table_size = INT64_C(1) << row_table_bits(most),
                      .most = most,
                      .match_size = longest};
    TESS_TRY(tess_host_allocate(ctx, w->threads * w->table_size, sizeof *w->table, (void **)&w->table));
    TESS_TRY(tess_host_allocate(ctx, w->threads * w->most, sizeof *w->column, (void **)&w->column));
    TESS_TRY(tess_host_allocate(ctx, w->threads * w->most, sizeof *w->weight, (void **)&w->weight));
    status = tess_host_allocate(ctx, w->threads * w->match_size, sizeof *w->match, (void **)&w->match);
cleanup:
    return status;
}

static workspace own_workspace(const workspaces *w)
{
    const int t = omp_get_thread_num();

    return (workspace){w->table + t * w->table_size, w->column + t * w->most, w->weight + t * w->most,
                       w->match + t * w->match_size};
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

/* C^_i: strong coarse neighbours of i and of its strong fine neighbours; eq. (4.9). Returns how many. */
static int64_t find_set(const amg_interpolation *to, const workspace *w, int bits, int64_t i)
{
    const host_csr *a = to->a;
    int64_t count = 0;

    row_table_clear(w->table, bits);
    *row_table_find(w->table, bits, (int32_t)i) = (row_entry){(int32_t)i, OWN};
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const int32_t j = a->col_ind[k];

        if (!to->strong[k]) { continue; }
        if (to->split[j] == AMG_COARSE) {
            add_to_set(w, bits, j, &count);
            continue;
        }
        for (int64_t m = a->row_ptr[j]; m < a->row_ptr[j + 1]; m++) {
            const bool taken = to->strong[m] && to->split[a->col_ind[m]] == AMG_COARSE && a->col_ind[m] != i;

            if (taken) { add_to_set(w, bits, a->col_ind[m], &count); }
        }
    }
    return count;
}

/* The coupling a_ik goes by way of k to the set and to i itself: the sums of eq. (4.10) and (4.11). Returns what a~_ii
   gains. */
static double distribute(const amg_interpolation *to, const workspace *w, int bits, int32_t k, double coupling)
{
    const host_csr *a = to->a;
    double diagonal = 0.0, sum = 0.0, own = 0.0;
    int64_t count = 0;

    for (int64_t m = a->row_ptr[k]; m < a->row_ptr[k + 1]; m++) {
        if (a->col_ind[m] == k) { diagonal = a->val[m]; }
    }
    for (int64_t m = a->row_ptr[k]; m < a->row_ptr[k + 1]; m++) { /* a-_kl is 0 where its sign is the diagonal's */
        const row_entry *e = NULL;

        if ((a->val[m] < 0.0) == (diagonal < 0.0)) { continue; }
        e = row_table_find(w->table, bits, a->col_ind[m]);
        if (e->column < 0) { continue; }
        sum += a->val[m];
        w->match[count++] = (matched){e->place, a->val[m]};
    }
    if (sum == 0.0) { return coupling; }
    for (int64_t m = 0; m < count; m++) {
        const double part = coupling * w->match[m].value / sum;

        if (w->match[m].place == OWN) {
            own += part;
        } else {
            w->weight[w->match[m].place] += part;
        }
    }
    return own;
}

/* Weights of row i to its set; eq. (4.10). */
static void find_weights(const amg_interpolation *to, const workspace *w, int bits, int64_t i, int64_t count)
{
    const host_csr *a = to->a;
    double diagonal = 0.0;

    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const int32_t j = a->col_ind[k];
        const row_entry *e = row_table_find(w->table, bits, j);

        if (e->column >= 0 && e->place != OWN) {
            w->weight[e->place] += a->val[k];
        } else if (j != i && to->strong[k]) {
            diagonal += distribute(to, w, bits, j, a->val[k]);
        } else { /* the diagonal and weak couplings; eq. (4.11) */
            diagonal += a->val[k];
        }
    }
    for (int64_t s = 0; s < count; s++) {
        w->weight[s] = diagonal != 0.0 ? -w->weight[s] / diagonal : 0.0;
        w->column[s] = to->number[w->column[s]];
    }
}

/* Writes row r of p to its place; returns its length. */
static int64_t interpolate_row(const amg_interpolation *to, const workspace *w, int64_t r, host_csr *p)
{
    const int64_t i = row_of(to, r), first = p->row_ptr[r];
    const int bits = row_table_bits(bound_set(to, i));
    int64_t count = 0;

    if (to->split[i] == AMG_COARSE) {
        p->col_ind[first] = to->number[i];
        p->val[first] = 1.0;
        return 1;
    }
    count = find_set(to, w, bits, i);
    find_weights(to, w, bits, i, count);
    count = amg_truncate_row(to->truncation, count, w->column, w->weight);
    memcpy(p->col_ind + first, w->column, (size_t)count * sizeof *p->col_ind);
    memcpy(p->val + first, w->weight, (size_t)count * sizeof *p->val);
    return count;
}

/* ---- all rows ---- */

/* Room for each row: row_ptr. */
static void reserve_rows(const tess_context *ctx, const amg_interpolation *to, host_csr *p)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (to->nrows > SERIAL)
    for (int64_t r = 0; r < to->nrows; r++) {
        const int64_t bound = bound_set(to, row_of(to, r));

        p->row_ptr[r + 1] = to->truncation > 0 && bound > to->truncation ? to->truncation : bound;
    }
    host_csr_sum_lengths(p);
}

tess_status amg_interpolate(tess_context *ctx, const amg_interpolation *to, host_csr *p)
{
    workspaces w = {0};
    host_csr room = {0};
    int64_t *length = NULL;
    tess_status status = TESS_SUCCESS;

    *p = (host_csr){0};
    TESS_TRY(make_workspaces(ctx, to, &w));
    TESS_TRY(tess_host_allocate(ctx, to->nrows, sizeof *length, (void **)&length));
    TESS_TRY(host_csr_allocate_rows(ctx, to->nrows, to->ncoarse, &room));
    reserve_rows(ctx, to, &room);
    TESS_TRY(host_csr_allocate_entries(ctx, &room));
#pragma omp parallel for num_threads(w.threads) schedule(dynamic, ROWS_AT_A_TIME)
    for (int64_t r = 0; r < to->nrows; r++) {
        const workspace own = own_workspace(&w);

        length[r] = interpolate_row(to, &own, r, &room);
    }
    status = amg_compact(ctx, &room, length, p);
cleanup:
    host_csr_release(ctx, &room);
    tess_host_release(ctx, length, to->nrows, sizeof *length);
    free_workspaces(ctx, &w);
    return status;
}
