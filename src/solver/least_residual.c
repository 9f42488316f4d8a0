/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least residual of a system with parts over which A sums to 0 (matrix/null_parts.h): ||b - A x|| >= |1^T b| /
 * sqrt(n) there. A method that aims below it ends far from the x that has it. Cycles therefore work on the residual
 * without its means over these parts, of which there is a solution.
 */
#include "format/csr/csr.h"
#include "solver/guard_run.h"

/* By this factor at least the tolerance must be missed. */
#define CLEARLY 2.0
/* Beside the least residual, what is left of the rest at the end of a cycle, and where rounding prevents that. */
#define FLOOR_SHARE 0x1p-12
#define LARGEST_FLOOR_SHARE 0x1p-6
/* Of ||b||: what methods reach. */
#define ATTAINABLE 0x1p-46

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
        null_sum row = {0};

        for (int64_t k = 0; k < end; k++) {
            null_sum_add(&row, values[k]);
        }
        *null = null_sum_holds(&row);
    }
cleanup:
    return status;
}

/* All rows of a matrix on a device, by the residual of 0 = A 1: its largest row-wise backward error is that of the
   sums. */
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

/* Once for each version of the values. A matrix on a device is copied only if all of its rows sum to 0. */
static tess_status find_parts(tess_solver *s)
{
    const tess_matrix *a = s->original;
    tess_host_matrix host = {0};
    bool worth = true;
    tess_status status = TESS_SUCCESS;

    if (s->lent || (s->null_known && s->null_version == a->values_version)) { return TESS_SUCCESS; }
    null_parts_release(s->ctx, &s->null);
    if (s->ctx->device == TESS_DEVICE_GPU) { TESS_TRY(device_rows_are_null(a, &worth)); }
    if (worth) {
        tess_csr_view view;

        TESS_TRY(tess_matrix_on_host(a, &host));
        view = tess_matrix_csr_view(host.matrix);
        TESS_TRY(null_parts_find(s->ctx, &view, &s->null));
    }
    s->null_known = true;
    s->null_version = a->values_version;
cleanup:
    tess_host_matrix_release(&host);
    return status;
}

static const null_parts *parts_of(const tess_solver *s)
{
    return s->lent ? s->lent : &s->null;
}

/* Residuals in low precision are not the caller's, and a method that runs its own loops starts from x. */
static bool can_project(const solve_run *run)
{
    const tess_solver *s = run->s;

    return !s->asymmetric && s->original->ops && run->guard == TESS_GUARD_REPAIR && !run->low_residuals &&
           !s->method->run;
}

tess_status guard_find_floor(solve_run *run)
{
    tess_solver *s = run->s;
    const int64_t n = s->original->nrows;
    double *values = NULL;
    null_judgement found;
    tess_status status = TESS_SUCCESS;

    run->floor = 0.0;
    if (!can_project(run)) { return TESS_SUCCESS; }
    TESS_TRY(find_parts(s));
    if (parts_of(s)->count == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(s->ctx, n, sizeof *values, (void **)&values));
    TESS_TRY(s->ctx->backend->download(s->ctx, values, run->b, (size_t)n * sizeof *values));
    TESS_TRY(null_parts_judge(s->ctx, parts_of(s), values, &found));
    if (found.least > CLEARLY * run->result->tolerance) { run->floor = found.least; }
cleanup:
    tess_host_release(s->ctx, values, n, sizeof *values);
    return status;
}

double guard_floor_goal(const solve_run *run)
{
    return fmin(LARGEST_FLOOR_SHARE * run->floor, fmax(FLOOR_SHARE * run->floor, ATTAINABLE * run->result->rhs_norm));
}

tess_status guard_project(solve_run *run)
{
    tess_solver *s = run->s;
    const int64_t n = s->original->nrows;
    const size_t bytes = (size_t)n * sizeof(double);
    double *r = NULL, norm = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(s->ctx, n, sizeof *r, (void **)&r));
    TESS_TRY(s->ctx->backend->download(s->ctx, r, s->krylov.r, bytes));
    TESS_TRY(null_parts_project(s->ctx, parts_of(s), r));
    for (int64_t i = 0; i < n; i++) {
        norm = hypot(norm, r[i]);
    }
    if (!is_finite(norm)) { goto cleanup; }
    run->norm = norm;
    status = s->ctx->backend->upload(s->ctx, s->krylov.r, r, bytes);
cleanup:
    tess_host_release(s->ctx, r, n, sizeof *r);
    return status;
}
