/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least residual of a symmetric system whose rows all sum to 0 up to rounding: 1^T (b - A x) = 1^T b for any x, so
 * that ||b - A x|| >= |1^T b| / sqrt(n). A method that aims below it ends far from the x that has it.
 */
#include "format/csr/csr.h"
#include "solver/guard_run.h"

/* A sum that is this many unit roundoffs of its terms' magnitudes, times their number, is 0 up to rounding. */
#define NULL_ROUNDOFFS (4.0 * 0x1p-53)
/* By this factor at least the tolerance must be missed. */
#define CLEARLY 2.0

static bool is_null(double sum, double magnitude, int64_t terms)
{
    return fabs(sum) <= NULL_ROUNDOFFS * (double)terms * magnitude;
}

/* On a host: ends at the first row that does not sum to 0; of most matrices that is one of the first. */
static bool rows_are_null(const csr_view *v, int64_t count)
{
    const double *val = v->val;

    for (int64_t i = 0; i < count; i++) {
        double sum = 0.0, magnitude = 0.0;

        for (int64_t k = csr_offset(v, i); k < csr_offset(v, i + 1); k++) {
            sum += val[k];
            magnitude += fabs(val[k]);
        }
        if (!is_null(sum, magnitude, csr_offset(v, i + 1) - csr_offset(v, i))) { return false; }
    }
    return count > 0;
}

/* The first row of a matrix on a device sums to 0; a long one is taken to. */
static tess_status first_row_is_null(const tess_matrix *a, bool *null)
{
    enum { MOST_ENTRIES = 256 };
    const csr_view *v = &csr_of(a)->view;
    const tess_backend *backend = a->ctx->backend;
    const bool wide = v->row_ptr_bits == 64;
    double values[MOST_ENTRIES];
    int32_t narrow_end = 0;
    int64_t end = 0;
    tess_status status = TESS_SUCCESS;

    *null = a->nrows > 0;
    if (a->nrows == 0) { return TESS_SUCCESS; }
    TESS_TRY(wide ? backend->download(a->ctx, &end, (const int64_t *)v->row_ptr + 1, sizeof end)
                  : backend->download(a->ctx, &narrow_end, (const int32_t *)v->row_ptr + 1, sizeof narrow_end));
    if (!wide) { end = narrow_end; }
    if (end > MOST_ENTRIES) { return TESS_SUCCESS; }
    if (end > 0) { TESS_TRY(backend->download(a->ctx, values, v->val, (size_t)end * sizeof *values)); }
    {
        const int64_t offsets[] = {0, end};
        const csr_view row = {.nrows = 1, .nnz = end, .row_ptr = offsets, .row_ptr_bits = 64, .val = values};

        *null = rows_are_null(&row, 1);
    }
cleanup:
    return status;
}

/* All rows, by the residual of 0 = A 1: its largest row-wise backward error is that of the sums. */
static tess_status device_rows_are_null(const tess_matrix *a, bool *null)
{
    tess_vector *zeros = NULL, *ones = NULL, *residual = NULL;
    true_residual found;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(first_row_is_null(a, null));
    if (!*null) { return TESS_SUCCESS; }
    TESS_TRY(tess_vector_create(a->ctx, a->nrows, TESS_PRECISION_FP64, &zeros));
    TESS_TRY(tess_vector_create(a->ctx, a->nrows, TESS_PRECISION_FP64, &ones));
    TESS_TRY(tess_vector_create(a->ctx, a->nrows, TESS_PRECISION_FP64, &residual));
    TESS_TRY(tess_vector_fill(zeros, 0.0));
    TESS_TRY(tess_vector_fill(ones, 1.0));
    TESS_TRY(verify_residual(a, zeros->data, ones->data, residual->data, &found));
    *null = found.rows.backward <= NULL_ROUNDOFFS * ((double)a->nnz / (double)a->nrows);
cleanup:
    tess_vector_destroy(zeros);
    tess_vector_destroy(ones);
    tess_vector_destroy(residual);
    return status;
}

/* Once for each version of the values. */
static tess_status look_for_null_sums(tess_solver *s)
{
    const tess_matrix *a = s->original;
    tess_status status = TESS_SUCCESS;

    if (s->null_sums_known && s->null_sums_version == a->values_version) { return TESS_SUCCESS; }
    if (s->ctx->device == TESS_DEVICE_GPU) {
        TESS_TRY(device_rows_are_null(a, &s->null_sums));
    } else {
        s->null_sums = rows_are_null(&csr_of(a)->view, a->nrows);
    }
    s->null_sums_known = true;
    s->null_sums_version = a->values_version;
cleanup:
    return status;
}

/* |1^T b| / sqrt(n); 0 where b sums to 0 up to rounding. */
static double share_of_ones(int64_t n, const double *b)
{
    double largest = 0.0, sum = 0.0, magnitude = 0.0;

    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(b[i]));
    }
    for (int64_t i = 0; i < n && largest > 0.0; i++) {
        sum += b[i] / largest;
        magnitude += fabs(b[i] / largest);
    }
    return !is_finite(sum) || is_null(sum, magnitude, n) ? 0.0 : largest * (fabs(sum) / sqrt((double)n));
}

tess_status guard_find_floor(solve_run *run)
{
    tess_solver *s = run->s;
    const int64_t n = s->original->nrows;
    double *values = NULL;
    tess_status status = TESS_SUCCESS;

    run->floor = 0.0;
    if (!s->method->needs_symmetry || s->asymmetric || !s->original->ops || run->guard != TESS_GUARD_REPAIR) {
        return TESS_SUCCESS;
    }
    TESS_TRY(look_for_null_sums(s));
    if (!s->null_sums) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(s->ctx, n, sizeof *values, (void **)&values));
    TESS_TRY(s->ctx->backend->download(s->ctx, values, run->b, (size_t)n * sizeof *values));
    run->floor = share_of_ones(n, values);
    if (!(run->floor > CLEARLY * run->result->tolerance)) { run->floor = 0.0; }
cleanup:
    tess_host_release(s->ctx, values, n, sizeof *values);
    return status;
}

tess_status guard_project(solve_run *run)
{
    tess_solver *s = run->s;
    const int64_t n = s->original->nrows;
    const size_t bytes = (size_t)n * sizeof(double);
    double *r = NULL, mean = 0.0, norm = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(s->ctx, n, sizeof *r, (void **)&r));
    TESS_TRY(s->ctx->backend->download(s->ctx, r, s->krylov.r, bytes));
    for (int64_t i = 0; i < n; i++) {
        mean += r[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        r[i] -= mean;
        norm = hypot(norm, r[i]);
    }
    if (!is_finite(norm)) { goto cleanup; }
    run->norm = norm;
    status = s->ctx->backend->upload(s->ctx, s->krylov.r, r, bytes);
cleanup:
    tess_host_release(s->ctx, r, n, sizeof *r);
    return status;
}
