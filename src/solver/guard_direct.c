/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Complete factors before the first cycle: x + M^-1 (b - A x), where M is A but for rounding. A step is kept if it
 * shrinks the true residual well. Mostly the first one, or the second with factors in FP32, ends the solve, and the
 * method has nothing to do. Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. (2002), Chapter 12.
 */
#include "precond/precond.h"
#include "solver/guard_run.h"

/* Steps at most; the least that one must gain to be kept. */
enum { MOST_STEPS = 4 };
#define LEAST_GAIN 0.1

static bool has_complete_factors(const method_solver *s)
{
    const tess_precond_ops *const ops = s->precond ? s->precond->ops : NULL;

    return ops && (ops->kind == TESS_PRECOND_LU || ops->kind == TESS_PRECOND_CHOLESKY);
}

static bool takes_steps(const solve_run *run)
{
    const method_solver *s = run->s;

    return has_complete_factors(s) && !guard_has_old_precond(s) && run->guard == TESS_GUARD_REPAIR &&
           !s->method->is_fixed && !s->method->rectangular && !s->krylov.extension &&
           s->setup_reason == TESS_REASON_RUNNING && run->result->stop_norm != TESS_STOP_NORM_PRECONDITIONED;
}

static bool is_stopped(const solve_run *run)
{
    const method_solver *s = run->s;
    const tess_solve_result *r = run->result;
    const tess_progress progress = {r->iterations, run->now.norm, r->tolerance, tess_wall_seconds() - run->start};

    return s->options->monitor && s->options->monitor(s->options->monitor_user, &progress) != 0;
}

static tess_status note_step(solve_run *run)
{
    method_solver *s = run->s;
    tess_solve_result *r = run->result;
    tess_solver *head = s->head;

    r->iterations++;
    r->estimated_residual_norm = run->norm = run->now.norm;
    if (r->iterations >= head->history_capacity) { return TESS_SUCCESS; }
    head->host_history[r->iterations] = run->now.norm;
    r->history_length = r->iterations + 1;
    return s->ctx->backend->upload(s->ctx, s->history + r->iterations, head->host_history + r->iterations,
                                   sizeof(double));
}

/* krylov.d := x + M^-1 r, and krylov.r its residual; *kept: it took the place of x. */
static tess_status take_step(solve_run *run, bool *kept)
{
    method_solver *s = run->s;
    double *const next = s->krylov.d;
    const int64_t n = s->original->nrows;
    const tess_fused add = {
        .op = TESS_FUSED_AXPBY, .n = n, .x = {.data = run->x}, .y = {.data = next}, .result = next, .a = 1.0, .b = 1.0};
    const tess_reduction none = {0};
    true_residual found;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_precond_apply_fused(s->precond, TESS_PRECISION_FP64, s->krylov.r, next, &none));
    TESS_TRY(s->ctx->backend->fused(s->ctx, &add));
    TESS_TRY(guard_verify(run, next, &found));
    *kept = meets_tolerance(run->result, &found) ||
            deciding_norm(run->result, &found) <= LEAST_GAIN * deciding_norm(run->result, &run->now);
    if (!*kept) { return guard_verify(run, run->x, &run->now); }
    run->now = found;
    TESS_TRY(s->ctx->backend->copy(s->ctx, run->x, next, (size_t)n * sizeof *next));
    status = note_step(run);
cleanup:
    return status;
}

tess_status guard_apply_factors(solve_run *run, tess_reason *reason, bool *cycles)
{
    const int64_t limit = run->s->options->max_iterations;
    bool kept = true;
    tess_status status = TESS_SUCCESS;

    if (!takes_steps(run)) { return TESS_SUCCESS; }
    for (int k = 0; k < MOST_STEPS && kept && *cycles && run->result->iterations < limit; k++) {
        TESS_TRY(take_step(run, &kept));
        if (kept && is_stopped(run)) {
            *reason = TESS_REASON_CANCELLED;
            *cycles = false;
        } else if (meets_tolerance(run->result, &run->now)) {
            *reason = TESS_REASON_RTOL;
            *cycles = false;
        }
    }
cleanup:
    return status;
}
