/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least residual of a system with parts over which A sums to 0 (matrix/null_parts.h): ||b - A x|| >= |1^T b| /
 * sqrt(n) there, up to rounding. A method that aims below it ends far from the x that has it. Cycles therefore work on
 * the residual without its means over these parts, of which there is a solution.
 */
#include "solver/guard_run.h"
#include "solver/null_reach.h"
#include "solver/null_sums.h"

/* Beside the least residual, what is left of the rest at the end of a cycle, and where rounding prevents that. */
#define FLOOR_SHARE 0x1p-12
#define LARGEST_FLOOR_SHARE 0x1p-6
/* Of ||b||: what methods reach. */
#define ATTAINABLE 0x1p-46

/* Once for each version of the values. On a device, only where all rows sum to 0. */
static tess_status find_parts(method_solver *s)
{
    const tess_matrix *a = s->original;
    bool worth = true;
    tess_status status = TESS_SUCCESS;

    if (s->lent || (s->null_known && s->null_version == a->values_version)) { return TESS_SUCCESS; }
    null_parts_release(s->ctx, &s->null);
    if (s->ctx->device == TESS_DEVICE_GPU) { TESS_TRY(null_sums_on_device(a, &worth)); }
    if (worth) { TESS_TRY(null_parts_of(a, &s->null)); }
    s->null_known = true;
    s->null_version = a->values_version;
cleanup:
    return status;
}

static const null_parts *parts_of(const method_solver *s)
{
    return s->lent ? s->lent : &s->null;
}

/* Residuals in low precision are not the caller's, and a method that runs its own loops starts from x. */
static bool can_project(const solve_run *run)
{
    const method_solver *s = run->s;

    return !s->asymmetric && s->original->ops && run->guard == TESS_GUARD_REPAIR && !run->low_residuals &&
           !s->method->run;
}

tess_status guard_find_floor(solve_run *run)
{
    method_solver *s = run->s;
    null_reach found;
    tess_status status = TESS_SUCCESS;

    run->floor = 0.0;
    if (!can_project(run)) { return TESS_SUCCESS; }
    TESS_TRY(find_parts(s));
    if (parts_of(s)->count == 0) { return TESS_SUCCESS; }
    TESS_TRY(null_reach_find(s->original, parts_of(s), run->b, 0.0, run->result->tolerance, &found));
    run->floor = found.least;
cleanup:
    return status;
}

double guard_floor_goal(const solve_run *run)
{
    return fmin(LARGEST_FLOOR_SHARE * run->floor, fmax(FLOOR_SHARE * run->floor, ATTAINABLE * run->result->rhs_norm));
}

tess_status guard_project(solve_run *run)
{
    method_solver *s = run->s;
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
