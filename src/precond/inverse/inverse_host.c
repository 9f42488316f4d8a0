/* SPDX-License-Identifier: Apache-2.0 */
/* Approximate inverses on the host: a thread computes a row by a small dense factorization. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/deadline.h"
#include "device/host/host.h"
#include "matrix/assembled.h"
#include "matrix/host_csr_rows.h"
#include "precond/inverse/inverse.h"

/* Rows of a chunk; entries of a row for each that is looked for, from which on it is searched. */
enum { MOST = INVERSE_MOST_ENTRIES, CHUNK = 64, SEARCHED = 32 };

/* The small system of a row: the matrix of its columns, column-major, and the row itself. */
typedef struct small_system {
    int m, own; /* own: the place of the diagonal entry */
    const int32_t *column;
    double a[MOST * MOST], given[MOST]; /* given: the diagonal; of M the largest magnitude of each column */
    double *x;
} small_system;

/* ---- the matrix of a row's columns ---- */

/* As gather_row, for a row of many more entries than are looked for. */
static void search_row(const csr_view *v, const small_system *s, int q, int last, int64_t stride, double *to)
{
    for (int p = 0; p <= last; p++) {
        const int64_t k = csr_find(v, s->column[q], s->column[p]);

        if (k >= 0) { to[stride * p] = ((const double *)v->val)[k]; }
    }
}

/* The entries of row column[q] of A in the row's columns, up to place `last`: entry p goes to to[stride p]. Both lists
   ascend. */
static void gather_row(const csr_view *v, const small_system *s, int q, int last, int64_t stride, double *to)
{
    const double *val = v->val;
    const int64_t first = csr_row_from(v, s->column[q], s->column[0]), end = csr_offset(v, s->column[q] + 1);
    int p = 0;

    if (end - first > SEARCHED * (last + 1)) {
        search_row(v, s, q, last, stride, to);
        return;
    }
    for (int64_t k = first; k < end; k++) {
        const int32_t j = v->col_ind[k];

        while (p <= last && s->column[p] < j) {
            p++;
        }
        if (p > last) { return; }
        if (s->column[p] == j) { to[stride * p] = val[k]; }
    }
}

static void clear(small_system *s)
{
    memset(s->a, 0, (size_t)s->m * (size_t)s->m * sizeof *s->a);
}

/* The lower triangle of A, or of -A, with the diagonal times 1 + shift. */
static void gather_symmetric(const inverse_request *q, small_system *s, double shift)
{
    const csr_view *v = &csr_of(q->a)->view;
    const int m = s->m;

    clear(s);
    for (int r = 0; r < m; r++) {
        gather_row(v, s, r, r, m, s->a + r);
    }
    for (int k = 0; q->negative && k < m * m; k++) {
        s->a[k] = -s->a[k];
    }
    for (int r = 0; r < m; r++) {
        s->given[r] = s->a[r + m * r];
        s->a[r + m * r] += shift * s->given[r];
    }
}

/* A^T. */
static void gather_general(const inverse_request *q, small_system *s)
{
    const csr_view *v = &csr_of(q->a)->view;
    const int m = s->m;

    clear(s);
    for (int c = 0; c < m; c++) {
        gather_row(v, s, c, m - 1, 1, s->a + m * c);
        s->given[c] = 0.0;
        for (int r = 0; r < m; r++) {
            s->given[c] = fmax(s->given[c], fabs(s->a[r + m * c]));
        }
    }
}

/* ---- factorizations ---- */

/* y -= f x */
static inline void subtract(int count, double f, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < count; i++) {
        y[i] -= f * x[i];
    }
}

/* A = L L^T in place. False: a pivot is not usable. */
HOST_CLONES static bool factor_symmetric(small_system *s)
{
    const int m = s->m;
    double *a = s->a;

    for (int j = 0; j < m; j++) {
        double *own = a + m * j;

        for (int k = 0; k < j; k++) {
            subtract(m - j, a[j + m * k], a + j + m * k, own + j);
        }
        if (!(own[j] > INVERSE_LEAST_PIVOT * s->given[j])) { return false; }
        own[j] = sqrt(own[j]);
        for (int i = j + 1; i < m; i++) {
            own[i] /= own[j];
        }
    }
    return true;
}

/* L^T x = e_m. */
static void solve_symmetric(const small_system *s)
{
    const int m = s->m;

    for (int i = m - 1; i >= 0; i--) {
        double sum = i == m - 1 ? 1.0 : 0.0;

        for (int k = m - 1; k > i; k--) {
            sum -= s->a[k + m * i] * s->x[k];
        }
        s->x[i] = sum / s->a[i + m * i];
    }
}

static int find_pivot(const double *column, int s, int m)
{
    int pivot = s;

    for (int i = s + 1; i < m; i++) {
        if (fabs(column[i]) > fabs(column[pivot])) { pivot = i; }
    }
    return pivot;
}

static void swap_rows(small_system *s, int p, int q)
{
    const double x = s->x[p];

    s->x[p] = s->x[q];
    s->x[q] = x;
    for (int j = 0; j < s->m; j++) {
        const double t = s->a[p + s->m * j];

        s->a[p + s->m * j] = s->a[q + s->m * j];
        s->a[q + s->m * j] = t;
    }
}

/* x := A^-1 x by elimination with partial pivoting. False: a pivot is not usable. */
HOST_CLONES static bool solve_general(small_system *s)
{
    const int m = s->m;
    double *a = s->a;

    for (int k = 0; k < m; k++) {
        double *own = a + m * k;
        const int pivot = find_pivot(own, k, m);

        if (!(fabs(own[pivot]) > INVERSE_LEAST_PIVOT * s->given[k])) { return false; }
        if (pivot != k) { swap_rows(s, k, pivot); }
        for (int i = k + 1; i < m; i++) {
            own[i] /= own[k];
        }
        for (int j = k + 1; j < m; j++) {
            subtract(m - k - 1, a[k + m * j], own + k + 1, a + k + 1 + m * j);
        }
        subtract(m - k - 1, s->x[k], own + k + 1, s->x + k + 1);
    }
    for (int k = m - 1; k >= 0; k--) {
        s->x[k] /= a[k + m * k];
        subtract(k, s->x[k], a + m * k, s->x);
    }
    return true;
}

/* ---- rows ---- */

static bool is_finite(int count, const double *x)
{
    for (int i = 0; i < count; i++) {
        if (!isfinite(x[i])) { return false; }
    }
    return true;
}

/* A row of G. *shift: what its system needed. False: no shift is enough. */
static bool compute_symmetric(const inverse_request *q, small_system *s, double *shift)
{
    bool done = false;

    for (int tried = 0; tried <= INVERSE_SHIFTS && !done; tried++) {
        *shift = tried == 0 ? 0.0 : ldexp(INVERSE_FIRST_SHIFT, tried - 1);
        gather_symmetric(q, s, *shift);
        done = factor_symmetric(s);
    }
    if (done) { solve_symmetric(s); }
    return done && is_finite(s->m, s->x);
}

/* A row of M. *mended: it has the diagonal alone. False: it has none either. */
static bool compute_general(const inverse_request *q, small_system *s, bool *mended)
{
    const double inverse = 1.0 / q->diagonal[s->column[s->own]];

    gather_general(q, s);
    if (!is_finite(s->m * s->m, s->a)) { return false; }
    memset(s->x, 0, (size_t)s->m * sizeof *s->x);
    s->x[s->own] = 1.0;
    *mended = !(solve_general(s) && is_finite(s->m, s->x));
    if (!*mended) { return true; }
    memset(s->x, 0, (size_t)s->m * sizeof *s->x);
    s->x[s->own] = inverse;
    return isfinite(inverse);
}

static void compute_row(const inverse_request *q, host_csr *rows, int64_t i, inverse_outcome *own)
{
    const int64_t first = rows->row_ptr[i];
    small_system s; /* not cleared, for it is long */
    double shift = 0.0, largest = 0.0;
    bool mended = false, done = false;

    s.m = (int)(rows->row_ptr[i + 1] - first);
    s.column = rows->col_ind + first;
    s.x = rows->val + first;
    s.own = (int)(csr_column_from(rows->col_ind, first, first + s.m, i) - first);
    done = q->symmetric ? compute_symmetric(q, &s, &shift) : compute_general(q, &s, &mended);
    if (!done) {
        own->bad_row = own->bad_row < 0 || i < own->bad_row ? i : own->bad_row;
        return;
    }
    for (int k = 0; k < s.m; k++) {
        largest = fmax(largest, fabs(s.x[k]));
    }
    own->mended += mended || shift > 0.0;
    own->shift = fmax(own->shift, shift);
    own->largest = fmax(own->largest, largest);
    own->smallest = fmin(own->smallest, q->symmetric ? s.x[s.own] : largest);
}

static tess_status compute(const inverse_request *q, inverse_rows *rows, inverse_outcome *out)
{
    tess_context *ctx = q->a->ctx;
    host_csr *own = &rows->host;
    int64_t bad_row = INT64_MAX, mended = 0;
    double shift = 0.0, largest = 0.0, smallest = DBL_MAX;
    tess_status status = TESS_SUCCESS;

    if (!own->val) { TESS_TRY(host_csr_allocate_values(ctx, own)); }
#pragma omp parallel for num_threads(host_threads_for(ctx, host_csr_nnz(own))) schedule(dynamic, CHUNK) \
    reduction(min : bad_row, smallest) reduction(max : shift, largest) reduction(+ : mended)
    for (int64_t i = 0; i < own->nrows; i++) {
        inverse_outcome row = {.bad_row = -1, .smallest = DBL_MAX};

        if (tess_deadline_passed(ctx)) { continue; }
        compute_row(q, own, i, &row);
        if (row.bad_row >= 0 && i < bad_row) { bad_row = i; }
        mended += row.mended;
        shift = fmax(shift, row.shift);
        largest = fmax(largest, row.largest);
        smallest = fmin(smallest, row.smallest);
    }
    *out = (inverse_outcome){bad_row < INT64_MAX ? bad_row : -1, mended, shift, largest, smallest};
    status = tess_deadline_check(ctx, "an approximate inverse");
cleanup:
    return status;
}

/* ---- patterns ---- */

static tess_status take_pattern(tess_context *ctx, host_csr *pattern, inverse_rows *rows)
{
    (void)ctx;
    rows->host = *pattern;
    *pattern = (host_csr){0};
    return TESS_SUCCESS;
}

typedef struct filter_task {
    const inverse_request *q;
    const host_csr *rows;
} filter_task;

/* |g_ij| sqrt a_jj >= filter g_ii sqrt a_ii */
static int64_t filter_row(const void *user, int thread, int64_t i, int32_t *column, double *val)
{
    const filter_task *t = user;
    const double *diagonal = t->q->diagonal, filter = t->q->entries.filter;
    const int64_t first = t->rows->row_ptr[i], end = t->rows->row_ptr[i + 1];
    const double own = fabs(t->rows->val[csr_column_from(t->rows->col_ind, first, end, i)]);
    const double least = filter * own * sqrt(fabs(diagonal[i]));
    int64_t count = 0;

    (void)thread;
    for (int64_t k = first; k < end; k++) {
        const int32_t j = t->rows->col_ind[k];

        if (j != i && !(fabs(t->rows->val[k]) * sqrt(fabs(diagonal[j])) >= least)) { continue; }
        column[count] = j;
        val[count++] = t->rows->val[k];
    }
    return count;
}

static tess_status drop_small(const inverse_request *q, inverse_rows *rows)
{
    tess_context *ctx = q->a->ctx;
    const filter_task t = {q, &rows->host};
    const int64_t n = rows->host.nrows;
    host_csr kept = {0};
    int64_t *length = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, n, sizeof *length, (void **)&length));
    for (int64_t i = 0; i < n; i++) {
        length[i] = rows->host.row_ptr[i + 1] - rows->host.row_ptr[i];
    }
    TESS_TRY(host_csr_from_rows(ctx,
                                &(row_source){.nrows = n,
                                              .ncols = rows->host.ncols,
                                              .threads = host_threads_for(ctx, n),
                                              .bound = length,
                                              .row = filter_row,
                                              .user = &t},
                                &kept));
    host_csr_release(ctx, &rows->host);
    rows->host = kept;
cleanup:
    tess_host_release(ctx, length, n, sizeof *length);
    return status;
}

/* ---- matrices ---- */

static tess_status to_matrices(tess_context *ctx, inverse_rows *rows, double factor, tess_matrix **m,
                               tess_matrix **transpose)
{
    host_csr *own = &rows->host;
    const int64_t nnz = host_csr_nnz(own);
    host_csr turned = {0};
    tess_status status = TESS_SUCCESS;

    for (int64_t k = 0; factor != 1.0 && k < nnz; k++) {
        own->val[k] *= factor;
    }
    TESS_TRY(host_csr_to_matrix(ctx, own, m));
    if (transpose) {
        TESS_TRY(host_csr_transpose(ctx, own, &turned));
        TESS_TRY(host_csr_to_matrix(ctx, &turned, transpose));
    }
    host_csr_release_values(ctx, own);
cleanup:
    host_csr_release(ctx, &turned);
    return status;
}

static int64_t entries(const inverse_rows *rows)
{
    return host_csr_nnz(&rows->host);
}

static int64_t bytes(const inverse_rows *rows)
{
    const host_csr *own = &rows->host;

    return (own->nrows + 1) * (int64_t)sizeof *own->row_ptr + host_csr_nnz(own) * (int64_t)sizeof *own->col_ind;
}

static void release(tess_context *ctx, inverse_rows *rows)
{
    host_csr_release(ctx, &rows->host);
}

const inverse_ops inverse_host_ops = {NULL, take_pattern, compute, drop_small, to_matrices, entries, bytes, release};
