/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/classical/restriction.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "matrix/host_csr_rows.h"
#include "precond/multigrid/classical/split.h"

enum { MOST = 48, SERIAL = 1024 };
/* A coupling counts from this times the largest of its row. */
static const double counts_from = 0.05;
/* Smaller weights are left out: recirc2d:300:1:0.0005 has 6.05 times the entries of A with 0.02, 9.9 times without. */
static const double least_weight = 0.02;

/* Memory of one thread: a system of up to MOST unknowns, by rows. */
typedef struct local_system {
    double matrix[MOST * MOST], right[MOST];
    int32_t unknown[MOST];
    int count;
} local_system;

typedef struct all_rows {
    const amg_interpolation *to;
    const int32_t *list;
    const double *largest; /* magnitude of each row, off the diagonal */
    local_system *system;  /* per thread */
} all_rows;

/* ---- a system ---- */

/* Gaussian elimination with the largest pivots; the solution replaces `right`. false: it is singular. */
static bool solve_system(local_system *s)
{
    const int n = s->count;
    double *const m = s->matrix, *const b = s->right;

    for (int c = 0; c < n; c++) {
        int pivot = c;

        for (int i = c + 1; i < n; i++) {
            if (fabs(m[i * n + c]) > fabs(m[pivot * n + c])) { pivot = i; }
        }
        if (!(fabs(m[pivot * n + c]) > 0.0)) { return false; }
        for (int j = c; j < n && pivot != c; j++) {
            const double keep = m[c * n + j];

            m[c * n + j] = m[pivot * n + j];
            m[pivot * n + j] = keep;
        }
        if (pivot != c) {
            const double keep = b[c];

            b[c] = b[pivot];
            b[pivot] = keep;
        }
        for (int i = c + 1; i < n; i++) {
            const double factor = m[i * n + c] / m[c * n + c];

            if (factor == 0.0) { continue; }
            for (int j = c + 1; j < n; j++) {
                m[i * n + j] -= factor * m[c * n + j];
            }
            b[i] -= factor * b[c];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) {
            b[i] -= m[i * n + j] * b[j];
        }
        b[i] /= m[i * n + i];
        if (!isfinite(b[i])) { return false; }
    }
    return true;
}

static int place_of(const local_system *s, int32_t j)
{
    for (int k = 0; k < s->count; k++) {
        if (s->unknown[k] == j) { return k; }
    }
    return -1;
}

/* A_NN^T and -A_iN^T for the unknowns of the system. */
static void fill_system(const host_csr *a, int64_t i, local_system *s)
{
    const int n = s->count;

    memset(s->matrix, 0, (size_t)(n * n) * sizeof *s->matrix);
    memset(s->right, 0, (size_t)n * sizeof *s->right);
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const int at = place_of(s, a->col_ind[k]);

        if (at >= 0) { s->right[at] = -a->val[k]; }
    }
    for (int q = 0; q < n; q++) {
        const int64_t j = s->unknown[q];

        for (int64_t k = a->row_ptr[j]; k < a->row_ptr[j + 1]; k++) {
            const int at = place_of(s, a->col_ind[k]);

            if (at >= 0) { s->matrix[at * n + q] = a->val[k]; }
        }
    }
}

/* Fine unknowns that row j is coupled with. */
static void add_neighbours(const all_rows *all, int64_t j, local_system *s)
{
    const host_csr *a = all->to->a;

    for (int64_t k = a->row_ptr[j]; k < a->row_ptr[j + 1] && s->count < MOST; k++) {
        const int32_t c = a->col_ind[k];
        const bool fine = c != j && all->to->split[c] == AMG_FINE;

        if (fine && fabs(a->val[k]) >= counts_from * all->largest[j] && a->val[k] != 0.0 && place_of(s, c) < 0) {
            s->unknown[s->count++] = c;
        }
    }
}

/* ---- rows ---- */

/* In ascending order, so that new values on a pattern give the same bits. */
static void add_sorted(local_system *s, int32_t unknown)
{
    int at = s->count++;

    for (; at > 0 && s->unknown[at - 1] > unknown; at--) {
        s->unknown[at] = s->unknown[at - 1];
    }
    s->unknown[at] = unknown;
}

/* Unknowns with small weights leave the system, which is solved again without them. */
static void leave_out_small(const host_csr *a, int64_t i, local_system *s)
{
    const int count = s->count;
    int32_t before[MOST];

    fill_system(a, i, s);
    if (count == 0 || !solve_system(s)) {
        s->count = 0;
        return;
    }
    memcpy(before, s->unknown, (size_t)count * sizeof *before);
    s->count = 0;
    for (int q = 0; q < count; q++) {
        if (fabs(s->right[q]) >= least_weight) { add_sorted(s, before[q]); }
    }
}

static int64_t write_row(const all_rows *all, int64_t i, local_system *s, int32_t *column, double *val)
{
    int64_t count = 1;

    column[0] = (int32_t)i;
    val[0] = 1.0;
    fill_system(all->to->a, i, s);
    if (s->count > 0 && solve_system(s)) {
        for (int q = 0; q < s->count; q++) {
            column[count] = s->unknown[q];
            val[count++] = s->right[q];
        }
        host_csr_sort_row(count, column, val);
    }
    return count;
}

static int64_t restrict_row(const void *user, int thread, int64_t r, int32_t *column, double *val)
{
    const all_rows *all = user;
    local_system *s = &all->system[thread];
    const int64_t i = all->list[r];
    int near = 0;

    s->count = 0;
    add_neighbours(all, i, s);
    near = s->count;
    for (int q = 0; q < near; q++) {
        add_neighbours(all, s->unknown[q], s);
    }
    leave_out_small(all->to->a, i, s);
    return write_row(all, i, s, column, val);
}

static void find_largest(const tess_context *ctx, const host_csr *a, double *largest)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (a->nrows > SERIAL)
    for (int64_t i = 0; i < a->nrows; i++) {
        largest[i] = 0.0;
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            if (a->col_ind[k] != i) { largest[i] = fmax(largest[i], fabs(a->val[k])); }
        }
    }
}

tess_status amg_restrict_locally(tess_context *ctx, const amg_interpolation *to, const int32_t *list, host_csr *r)
{
    const int threads = to->ncoarse > SERIAL ? ctx->threads : 1;
    const int64_t n = to->a->nrows;
    all_rows all = {.to = to, .list = list};
    double *largest = NULL;
    tess_status status = TESS_SUCCESS;

    *r = (host_csr){0};
    TESS_TRY(tess_host_allocate(ctx, threads, sizeof *all.system, (void **)&all.system));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *largest, (void **)&largest));
    find_largest(ctx, to->a, largest);
    all.largest = largest;
    status = host_csr_from_rows(
        ctx,
        &(row_source){
            .nrows = to->ncoarse, .ncols = n, .threads = threads, .most = MOST + 1, .row = restrict_row, .user = &all},
        r);
cleanup:
    tess_host_release(ctx, largest, n, sizeof *largest);
    tess_host_release(ctx, all.system, threads, sizeof *all.system);
    return status;
}

/* The system has the unknowns of the row's pattern. One that is singular now leaves zeros. */
static void restrict_row_again(const host_csr *a, int64_t i, local_system *s, int64_t count, const int32_t *column,
                               double *val)
{
    s->count = 0;
    for (int64_t k = 0; k < count; k++) {
        if (column[k] != i) { s->unknown[s->count++] = column[k]; }
    }
    fill_system(a, i, s);
    if (!solve_system(s)) { memset(s->right, 0, sizeof s->right); }
    for (int64_t k = 0, q = 0; k < count; k++) {
        val[k] = column[k] == i ? 1.0 : s->right[q++];
    }
}

tess_status amg_restrict_again(tess_context *ctx, const amg_interpolation *to, const int32_t *list, host_csr *r)
{
    const int threads = r->nrows > SERIAL ? ctx->threads : 1;
    local_system *system = NULL; /* of each thread: memory of a context is for one at a time */
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, threads, sizeof *system, (void **)&system));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < r->nrows; row++) {
        const int64_t first = r->row_ptr[row], count = r->row_ptr[row + 1] - first;

        restrict_row_again(to->a, list[row], &system[omp_get_thread_num()], count, r->col_ind + first, r->val + first);
    }
cleanup:
    tess_host_release(ctx, system, threads, sizeof *system);
    return status;
}

/* ---- interpolation ---- */

static int64_t interpolate_row(const void *user, int thread, int64_t i, int32_t *column, double *val)
{
    const amg_interpolation *to = user;
    const host_csr *a = to->a;
    double most = 0.0;
    int64_t found = -1;

    (void)thread;
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1] && to->split[i] == AMG_FINE; k++) {
        if (to->strong[k] && to->split[a->col_ind[k]] == AMG_COARSE && fabs(a->val[k]) > most) {
            most = fabs(a->val[k]);
            found = a->col_ind[k];
        }
    }
    if (to->split[i] == AMG_COARSE) { found = i; }
    if (found < 0) { return 0; }
    column[0] = to->number[found];
    val[0] = 1.0;
    return 1;
}

tess_status amg_interpolate_from_one(tess_context *ctx, const amg_interpolation *to, host_csr *p)
{
    *p = (host_csr){0};
    return host_csr_from_rows(ctx,
                              &(row_source){.nrows = to->nrows,
                                            .ncols = to->ncoarse,
                                            .threads = to->nrows > SERIAL ? ctx->threads : 1,
                                            .most = 1,
                                            .row = interpolate_row,
                                            .user = to},
                              p);
}
