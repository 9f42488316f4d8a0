/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least residual of a symmetric system whose rows all sum to 0 up to rounding: 1^T (b - A x) = 1^T b for any x, so
 * that ||b - A x|| >= |1^T b| / sqrt(n). A method that aims below it ends far from the x that has it.
 */
#include "base/null_sum.h"
#include "format/csr/csr.h"
#include "solver/guard_run.h"
#include "solver/null_sums.h"

/* By this factor at least the tolerance must be missed. */
#define CLEARLY 2.0

bool null_sums_on_host(const csr_view *v, int64_t count)
{
    const double *val = v->val;

    for (int64_t i = 0; i < count; i++) {
        double sum = 0.0, magnitude = 0.0;

        for (int64_t k = csr_offset(v, i); k < csr_offset(v, i + 1); k++) {
            sum += val[k];
            magnitude += fabs(val[k]);
        }
        if (!is_null_sum(sum, magnitude, csr_offset(v, i + 1) - csr_offset(v, i))) { return false; }
    }
    return count > 0;
}

/* Once for each version of the values. */
static tess_status look_for_null_sums(tess_solver *s)
{
    const tess_matrix *a = s->original;
    tess_status status = TESS_SUCCESS;

    if (s->null_sums_known && s->null_sums_version == a->values_version) { return TESS_SUCCESS; }
    if (s->ctx->device == TESS_DEVICE_GPU) {
        TESS_TRY(null_sums_on_device(a, &s->null_sums));
    } else {
        s->null_sums = null_sums_on_host(&csr_of(a)->view, a->nrows);
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
    return !is_finite(sum) || is_null_sum(sum, magnitude, n) ? 0.0 : largest * (fabs(sum) / sqrt((double)n));
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
