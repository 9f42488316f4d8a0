/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adaptive patterns of fsai: a row of G begins with its diagonal entry and grows by the entries that reduce Kaporin's
 * condition number most (Janna, Ferronato, SIAM J. Sci. Comput. 33 (2011); Janna, Ferronato, Sartoretto, Gambolati, ACM
 * Trans. Math. Softw. 41 (2015)). Row i, with 1 on the diagonal and g in its columns P, minimises
 *
 *     psi = a_ii + 2 g^T A(P, i) + g^T A(P, P) g,    psi_min = a_ii - |y|^2,    L L^T = A(P, P),  L y = -A(P, i),
 *
 * of A with a diagonal of ones. With G scaled by psi^-1/2 the number is the n-th root of the product of psi_i over det
 * A (Kaporin, Numer. Linear Algebra Appl. 1 (1994)). The derivative by an entry in column j < i is 2 (A (g, 1))_j. Each
 * step takes the columns of its largest magnitudes, and L grows by a row for each.
 */
#include <math.h>
#include <string.h>

#include "base/deadline.h"
#include "device/host/host.h"
#include "matrix/assembled.h"
#include "matrix/host_csr_rows.h"
#include "precond/inverse/inverse.h"

enum { MOST = INVERSE_MOST_ENTRIES };

/* No row has seen the column. */
#define UNSEEN INT32_MIN

/* What a thread has of each column. owner: i where row i may take it, ~i where it did. */
typedef struct workspace {
    double *derivative;
    int32_t *owner, *candidate;
} workspace;

typedef struct growth {
    const inverse_request *q;
    const host_csr *a;
    const double *scale;
    workspace *work; /* per thread */
} growth;

/* A row while it grows. */
typedef struct growing_row {
    int32_t i;
    int m;
    int32_t column[MOST]; /* in the order in which they came */
    double l[MOST][MOST], y[MOST], g[MOST];
    double psi;
    int64_t candidates;
} growing_row;

static double value_of(const growth *t, int64_t row, int64_t k)
{
    const double value = t->a->val[k] * (t->scale[row] * t->scale[t->a->col_ind[k]]);

    return t->q->negative ? -value : value;
}

/* The entry of A in row `row` and column j; 0: there is none. */
static double find_value(const growth *t, int64_t row, int32_t j)
{
    const host_csr *a = t->a;
    const int64_t end = a->row_ptr[row + 1], k = csr_column_from(a->col_ind, a->row_ptr[row], end, j);

    return k < end && a->col_ind[k] == j ? value_of(t, row, k) : 0.0;
}

/* ---- derivatives ---- */

static void add_row(const growth *t, workspace *w, growing_row *r, int64_t row, double factor)
{
    const host_csr *a = t->a;

    for (int64_t k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
        const int32_t j = a->col_ind[k];

        if (j >= r->i) { return; }
        if (w->owner[j] != r->i && w->owner[j] != ~r->i) {
            w->owner[j] = r->i;
            w->derivative[j] = 0.0;
            w->candidate[r->candidates++] = j;
        }
        w->derivative[j] += factor * value_of(t, row, k);
    }
}

/* Half the derivatives of psi, of the columns that the rows (P, i) reach. */
static void find_derivatives(const growth *t, workspace *w, growing_row *r)
{
    for (int64_t c = 0; c < r->candidates; c++) {
        w->derivative[w->candidate[c]] = 0.0;
    }
    add_row(t, w, r, r->i, 1.0);
    for (int k = 0; k < r->m; k++) {
        const int64_t row = r->column[k];

        if (t->a->row_ptr[row + 1] - t->a->row_ptr[row] <= INVERSE_LONG_ROW) { add_row(t, w, r, row, r->g[k]); }
    }
}

/* The candidate of the largest derivative, of equal ones the nearest to the diagonal; -1: none has any. */
static int32_t best_candidate(const workspace *w, const growing_row *r)
{
    double largest = 0.0;
    int32_t best = -1;

    for (int64_t c = 0; c < r->candidates; c++) {
        const int32_t j = w->candidate[c];
        const double size = fabs(w->derivative[j]);

        if (w->owner[j] != r->i || !(size > 0.0)) { continue; }
        if (size > largest || (size == largest && j > best)) {
            largest = size;
            best = j;
        }
    }
    return best;
}

/* ---- growth ---- */

/* Takes column j, unless it depends on the others. */
static void append(const growth *t, growing_row *r, int32_t j)
{
    const int m = r->m;
    const double own = find_value(t, j, j);
    double *l = r->l[m], pivot = own, right = -find_value(t, r->i, j);

    for (int k = 0; k < m; k++) {
        l[k] = find_value(t, j, r->column[k]);
    }
    for (int k = 0; k < m; k++) {
        for (int s = 0; s < k; s++) {
            l[k] -= r->l[k][s] * l[s];
        }
        l[k] /= r->l[k][k];
        pivot -= l[k] * l[k];
        right -= l[k] * r->y[k];
    }
    if (!(pivot > INVERSE_LEAST_PIVOT * own)) { return; }
    l[m] = sqrt(pivot);
    r->y[m] = right / l[m];
    r->column[m] = j;
    r->m = m + 1;
}

/* L^T g = y */
static void solve(growing_row *r)
{
    memcpy(r->g, r->y, (size_t)r->m * sizeof *r->g);
    for (int k = r->m - 1; k >= 0; k--) {
        r->g[k] /= r->l[k][k];
        for (int s = 0; s < k; s++) {
            r->g[s] -= r->l[k][s] * r->g[k];
        }
    }
}

/* A step. False: the row is done. */
static bool grow(const growth *t, workspace *w, growing_row *r, int most)
{
    const inverse_choice *o = &t->q->entries;
    const int before = r->m;
    double gain = 0.0;

    find_derivatives(t, w, r);
    for (int taken = 0; taken < o->step_size && r->m < most; taken++) {
        const int32_t j = best_candidate(w, r);

        if (j < 0) { break; }
        w->owner[j] = ~r->i;
        append(t, r, j);
    }
    for (int k = before; k < r->m; k++) {
        gain += r->y[k] * r->y[k];
    }
    if (!(gain > o->tolerance * r->psi)) {
        r->m = before;
        return false;
    }
    r->psi -= gain;
    solve(r);
    return r->psi > INVERSE_LEAST_PIVOT && r->m < most;
}

static int64_t adapt_row(const void *user, int thread, int64_t i, int32_t *column, double *val)
{
    const growth *t = user;
    const inverse_choice *o = &t->q->entries;
    growing_row r; /* not cleared, for it is long */
    bool more = o->row > 1 && !tess_deadline_passed(t->q->a->ctx);

    r.i = (int32_t)i;
    r.m = 0;
    r.candidates = 0;
    r.psi = 1.0;
    for (int step = 0; step < o->steps && more; step++) {
        more = grow(t, &t->work[thread], &r, o->row - 1);
    }
    memcpy(column, r.column, (size_t)r.m * sizeof *column);
    memset(val, 0, (size_t)(r.m + 1) * sizeof *val);
    column[r.m] = (int32_t)i;
    host_csr_sort_row(r.m + 1, column, val);
    return r.m + 1;
}

/* ---- all ---- */

static void release_work(tess_context *ctx, int64_t n, int threads, workspace *work)
{
    for (int k = 0; work && k < threads; k++) {
        tess_host_release(ctx, work[k].derivative, n, sizeof *work[k].derivative);
        tess_host_release(ctx, work[k].owner, n, sizeof *work[k].owner);
        tess_host_release(ctx, work[k].candidate, n, sizeof *work[k].candidate);
    }
    tess_host_release(ctx, work, threads, sizeof *work);
}

static tess_status allocate_work(tess_context *ctx, int64_t n, int threads, workspace **out)
{
    workspace *work = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, threads, sizeof *work, (void **)&work));
    memset(work, 0, (size_t)threads * sizeof *work);
    *out = work;
    for (int k = 0; k < threads; k++) {
        TESS_TRY(tess_host_allocate(ctx, n, sizeof *work[k].derivative, (void **)&work[k].derivative));
        TESS_TRY(tess_host_allocate(ctx, n, sizeof *work[k].owner, (void **)&work[k].owner));
        TESS_TRY(tess_host_allocate(ctx, n, sizeof *work[k].candidate, (void **)&work[k].candidate));
        for (int64_t i = 0; i < n; i++) {
            work[k].owner[i] = UNSEEN;
        }
    }
cleanup:
    return status;
}

static int64_t longest_row(const inverse_choice *o)
{
    const int64_t grown = 1 + (int64_t)o->steps * o->step_size;

    return grown < o->row ? grown : o->row;
}

tess_status inverse_adapt_on_host(const inverse_request *q, const host_csr *a, const double *scale, host_csr *out)
{
    tess_context *ctx = q->a->ctx;
    const int threads = host_threads_for(ctx, host_csr_nnz(a));
    growth t = {q, a, scale, NULL};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_deadline_check(ctx, "the pattern of an approximate inverse"));
    TESS_TRY(allocate_work(ctx, a->nrows, threads, &t.work));
    status = host_csr_from_rows(ctx,
                                &(row_source){.nrows = a->nrows,
                                              .ncols = a->nrows,
                                              .threads = threads,
                                              .most = longest_row(&q->entries),
                                              .row = adapt_row,
                                              .user = &t},
                                out);
    if (status == TESS_SUCCESS) { status = tess_deadline_check(ctx, "the pattern of an approximate inverse"); }
cleanup:
    release_work(ctx, a->nrows, threads, t.work);
    return status;
}
