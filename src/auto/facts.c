/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/facts.h"

#include <math.h>

#include "matrix/assemble.h"
#include "solver/symmetry.h"

bool may_be_positive_definite(const matrix_facts *f)
{
    return f->symmetric && f->positive == f->n && f->improper_minors == 0;
}

/* Rows whose sizes differ by more than a norm in FP64 resolves of their squares. Below, cycles that meet the tolerance
   as given go on until the small rows meet theirs (solver/guard_cycle.c). */
#define ROWS_APART 0x1p26

bool rows_are_apart(const matrix_facts *f)
{
    return f->least_row > 0.0 && f->greatest_row / f->least_row > ROWS_APART;
}

/* ---- one pass over the rows ---- */

static void note_row_size(double least, double greatest, matrix_facts *f)
{
    if (greatest == 0.0) { return; }
    if (f->least_row == 0.0 || least < f->least_row) { f->least_row = least; }
    if (greatest > f->greatest_row) { f->greatest_row = greatest; }
}

static double diagonal_of(const csr_view *v, int64_t i)
{
    const double *val = v->val;

    for (int64_t k = csr_offset(v, i); k < csr_offset(v, i + 1); k++) {
        if (v->col_ind[k] == i) { return val[k]; }
    }
    return 0.0;
}

static void count_diagonal(double d, matrix_facts *f)
{
    f->positive += d > 0.0;
    f->negative += d < 0.0;
    f->zero += d == 0.0;
}

/* A sum of so many roundoffs of its terms, for each of them, is 0 up to rounding. */
#define NULL_ROUNDOFFS (4.0 * 0x1p-53)

bool is_null_sum(double sum, double magnitude, int64_t terms)
{
    return fabs(sum) <= NULL_ROUNDOFFS * (double)terms * magnitude;
}

/* Row i: its size and dominance, and the minors of its pairs with j > i. The quotients cannot overflow as products of
   entries can. */
static void look_at_row(const csr_view *v, const double *diagonal, int64_t i, matrix_facts *f)
{
    const double *val = v->val, d = fabs(diagonal[i]);
    const int64_t begin = csr_offset(v, i), end = csr_offset(v, i + 1);
    double others = 0.0, sum = 0.0, largest = d;

    for (int64_t k = begin; k < end; k++) {
        const int64_t j = v->col_ind[k];
        const double a = fabs(val[k]);

        f->finite = f->finite && isfinite(val[k]);
        sum += val[k];
        largest = fmax(largest, a);
        if (j == i) { continue; }
        others += a;
        f->improper_minors += j > i && a > 0.0 && a / d * (a / fabs(diagonal[j])) >= 1.0;
    }
    note_row_size(largest, largest, f);
    const bool null = is_null_sum(sum, others + d, end - begin);
    f->null_sums = f->null_sums && null;
    f->null_rows += null;
    f->empty_rows += d + others == 0.0; /* not where an entry is NaN */
    f->dominant_rows += d > 0.0 && d >= others;
}

/* Level sets of the lower triangle. level: n values of work space. */
static int64_t count_levels(const csr_view *v, int32_t *level)
{
    int32_t most = 0;

    for (int64_t i = 0; i < v->nrows; i++) {
        level[i] = 1;
        for (int64_t k = csr_offset(v, i); k < csr_offset(v, i + 1) && v->col_ind[k] < i; k++) {
            if (level[v->col_ind[k]] >= level[i]) { level[i] = level[v->col_ind[k]] + 1; }
        }
        if (level[i] > most) { most = level[i]; }
    }
    return most;
}

/* ---- one way ---- */

/* Rows that are looked at, evenly spread. */
enum { SAMPLED_ROWS = 4096 };

static double entry_at(const csr_view *v, int64_t i, int64_t j)
{
    const double *val = v->val;
    int64_t low = csr_offset(v, i), high = csr_offset(v, i + 1);

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (v->col_ind[middle] < j) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < csr_offset(v, i + 1) && v->col_ind[low] == j ? val[low] : 0.0;
}

/* The sum of | |a_ij| - |a_ji| | over that of |a_ij| + |a_ji|, beside the diagonal: 0 for a symmetric matrix, 1 where
   no row has an entry of a column that has one of it. */
static double find_one_way(const csr_view *v)
{
    const int64_t step = v->nrows > SAMPLED_ROWS ? v->nrows / SAMPLED_ROWS : 1;
    const double *val = v->val;
    double differences = 0.0, sum = 0.0;

    for (int64_t i = 0; i < v->nrows; i += step) {
        for (int64_t k = csr_offset(v, i); k < csr_offset(v, i + 1); k++) {
            const double a = fabs(val[k]), b = v->col_ind[k] == i ? a : fabs(entry_at(v, v->col_ind[k], i));

            if (v->col_ind[k] == i || !isfinite(a + b)) { continue; }
            differences += fabs(a - b);
            sum += a + b;
        }
    }
    return sum > 0.0 ? differences / sum : 0.0;
}

/* ---- all ---- */

static void add_rows(const matrix_facts *rows, matrix_facts *f)
{
    f->finite = f->finite && rows->finite;
    f->null_sums = f->null_sums && rows->null_sums;
    f->null_rows += rows->null_rows;
    f->positive += rows->positive;
    f->negative += rows->negative;
    f->zero += rows->zero;
    f->empty_rows += rows->empty_rows;
    f->dominant_rows += rows->dominant_rows;
    f->improper_minors += rows->improper_minors;
    note_row_size(rows->least_row, rows->greatest_row, f);
}

enum { ROWS_AT_ONCE = 1024 };

/* Level sets take one thread, which the others do not wait for. level: NULL where they are not wanted. */
static void share_rows(const csr_view *v, int threads, double *diagonal, int32_t *level, matrix_facts *f)
{
#pragma omp parallel num_threads(threads)
    {
        matrix_facts rows = {.finite = true, .null_sums = true};

#pragma omp for schedule(static)
        for (int64_t i = 0; i < v->nrows; i++) {
            diagonal[i] = diagonal_of(v, i);
            count_diagonal(diagonal[i], &rows);
        }
#pragma omp single nowait
        f->levels = level ? count_levels(v, level) : 0;
#pragma omp for schedule(dynamic, ROWS_AT_ONCE) nowait
        for (int64_t i = 0; i < v->nrows; i++) {
            look_at_row(v, diagonal, i, &rows);
        }
#pragma omp critical(tess_facts)
        add_rows(&rows, f);
    }
}

static tess_status look_at_rows(tess_context *ctx, const csr_view *v, matrix_facts *f)
{
    const bool wants_levels = ctx->device == TESS_DEVICE_GPU; /* on a host they have no cost of their own */
    double *diagonal = NULL;
    int32_t *level = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, v->nrows, sizeof *diagonal, (void **)&diagonal));
    if (wants_levels) { TESS_TRY(tess_host_allocate(ctx, v->nrows, sizeof *level, (void **)&level)); }
    if (!f->symmetric) { f->one_way = find_one_way(v); }
    share_rows(v, tess_io_threads(ctx, f->nnz), diagonal, level, f);
cleanup:
    tess_host_release(ctx, level, v->nrows, sizeof *level);
    tess_host_release(ctx, diagonal, v->nrows, sizeof *diagonal);
    return status;
}

tess_status find_facts(const tess_matrix *a, matrix_facts *facts)
{
    tess_host_matrix host = {0};
    tess_status status = TESS_SUCCESS;

    *facts = (matrix_facts){.n = a->nrows, .nnz = a->nnz, .finite = true, .null_sums = a->nrows > 0};
    TESS_TRY(probe_symmetry(a, &facts->symmetric));
    TESS_TRY(tess_matrix_on_host(a, &host));
    status = look_at_rows(a->ctx, &csr_of(host.matrix)->view, facts);
cleanup:
    tess_host_matrix_release(&host);
    return status;
}
