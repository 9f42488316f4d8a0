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

/* Ends at the first row that does not sum to 0: of most matrices that is one of the first. */
static bool rows_are_null(const csr_view *v)
{
    const double *val = v->val;

    for (int64_t i = 0; i < v->nrows; i++) {
        double sum = 0.0, magnitude = 0.0;

        for (int64_t k = csr_offset(v, i); k < csr_offset(v, i + 1); k++) {
            sum += val[k];
            magnitude += fabs(val[k]);
        }
        if (!is_null(sum, magnitude, csr_offset(v, i + 1) - csr_offset(v, i))) { return false; }
    }
    return v->nrows > 0;
}

/* Once for each version of the values. */
static tess_status look_for_null_sums(tess_solver *s)
{
    tess_host_matrix host = {0};
    tess_status status = TESS_SUCCESS;

    if (s->null_sums_known && s->null_sums_version == s->original->values_version) { return TESS_SUCCESS; }
    TESS_TRY(tess_matrix_on_host(s->original, &host));
    s->null_sums = rows_are_null(&csr_of(host.matrix)->view);
    s->null_sums_known = true;
    s->null_sums_version = s->original->values_version;
cleanup:
    tess_host_matrix_release(&host);
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
