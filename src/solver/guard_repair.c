/* SPDX-License-Identifier: Apache-2.0 */
/* Between cycles: a restart, a repaired preconditioner, a higher precision, or the end. */
#include <tessera/names.h>

#include "solver/guard_run.h"

static tess_status go_on_in_fp64(solve_run *run)
{
    method_solver *s = run->s;

    run->low_precision = false;
    run->low_residuals = false;
    run->result->storage.precision = TESS_PRECISION_FP64;
    run->result->storage.exact = 1;
    s->krylov.matrix = s->original;
    guard_drop_graph(s);
    tess_log(s->ctx, TESS_LOG_INFO, "the solve goes on in fp64 instead of %s after %s",
             tess_precision_name(guard_working_precision(s)), tess_count(run->result->iterations, "iteration").text);
    return s->method->escalate ? s->method->escalate(s) : TESS_SUCCESS;
}

static tess_status escalate(solve_run *run)
{
    method_solver *s = run->s;
    bool widened = false;
    tess_status status = TESS_SUCCESS;

    run->result->escalated = 1;
    if (s->method->widen) { TESS_TRY(s->method->widen(s, &widened)); }
    if (!widened) { return go_on_in_fp64(run); }
    guard_drop_graph(s);
    run->low_precision = s->method->working_precision(s) != TESS_PRECISION_FP64;
cleanup:
    return status;
}

/* Between cycles with residuals in low precision: starts the next one, or ends them. */
static tess_status replace_low_residual(solve_run *run, tess_reason reason, bool progress)
{
    const tess_solve_options *o = run->s->options;
    const bool stuck = reason == TESS_REASON_NAN_OR_INF || reason == TESS_REASON_BREAKDOWN ||
                       (o->gmres.switch_at == 0 && !progress) || run->result->iterations == run->begin.iteration;
    tess_status status = TESS_SUCCESS;

    if (stuck || (o->gmres.switch_at > 0 && run->result->iterations >= o->gmres.switch_at)) {
        return go_on_in_fp64(run);
    }
    TESS_TRY(run->s->method->low_residual(run->s, run->b, run->x, &run->norm));
    if (run->norm == 0.0 || !is_finite(run->norm)) {
        TESS_TRY(guard_verify(run, run->x, &run->now));
        run->norm = run->now.norm;
        status = go_on_in_fp64(run);
    }
cleanup:
    return status;
}

/* After a cycle with the guard on `report`: the solve continues only if the basis was full. */
static bool may_restart(const tess_method *method, tess_reason *reason, bool progress)
{
    if (*reason == TESS_REASON_RTOL) {
        *reason = method->restarts_judge ? TESS_REASON_RUNNING : TESS_REASON_FALSE_CONVERGENCE;
    }
    if (*reason == TESS_REASON_RUNNING && !progress) { *reason = TESS_REASON_STAGNATION; }
    return *reason == TESS_REASON_RUNNING;
}

/* Whether another cycle may help; if not, *reason is final. */
static bool may_repair(solve_run *run, tess_reason *reason, bool progress)
{
    if (*reason == TESS_REASON_ITERATIONS || *reason == TESS_REASON_CANCELLED) { return false; }
    if (run->guard == TESS_GUARD_REPORT) { return may_restart(run->s->method, reason, progress); }
    if (progress) {
        run->fruitless = 0;
        return true;
    }
    if (run->low_precision) { return true; }
    /* ||A r|| is small, and a cycle from the true residual has changed nothing (guard_pause.c). */
    if (run->s->method->pauses && *reason == TESS_REASON_STAGNATION) { return false; }
    run->fruitless += 1;
    if (run->fruitless < FRUITLESS_CYCLES) { return true; }
    if (*reason == TESS_REASON_RUNNING) { *reason = TESS_REASON_STAGNATION; }
    if (*reason == TESS_REASON_RTOL) {
        const bool attained = run->unproved || is_rounding(&run->now);

        *reason = attained ? TESS_REASON_STAGNATION : TESS_REASON_FALSE_CONVERGENCE;
    }
    return false;
}

/* A cycle with an extension was misled if it made no progress, stalled, or should have been the last. If one stalled
   with no product changed, the matrix is the cause, and later cycles have no stall limit. */
static tess_status find_misled(solve_run *run, tess_reason reason, bool progress, bool *misled)
{
    const bool last = run->goal <= STOP_SHARE * run->result->tolerance;
    tess_status status = TESS_SUCCESS;

    *misled = run->guard == TESS_GUARD_REPAIR && guard_is_extended(run->s) && (last || !progress) &&
              reason != TESS_REASON_ITERATIONS && reason != TESS_REASON_CANCELLED;
    if (run->begin.watch != 0 && reason == TESS_REASON_STAGNATION && guard_is_extended(run->s)) {
        TESS_TRY(run->s->krylov.extension->acts(run->s, misled));
        run->may_stall = !*misled;
    }
cleanup:
    return status;
}

/* CG needs a positive definite preconditioner; some can be changed to be that. Some can go up to a higher precision,
   after such a failure, NaN, a cycle without progress, or one that stalled. */
static tess_status mend_precond(solve_run *run, tess_reason reason, bool progress, bool *mended)
{
    tess_precond *m = run->s->own_precond;
    const bool indefinite = reason == TESS_REASON_INDEFINITE_PRECOND,
               failed = indefinite || !progress || reason == TESS_REASON_STAGNATION;
    bool widened = false;
    tess_status status = TESS_SUCCESS;

    *mended = false;
    if (run->guard != TESS_GUARD_REPAIR || reason == TESS_REASON_ITERATIONS || reason == TESS_REASON_CANCELLED) {
        return TESS_SUCCESS;
    }
    /* The repair of another column has changed it since: this one has not met what it is now. */
    if (failed && tess_precond_changes(m) != run->precond_changes) {
        *mended = true;
        return TESS_SUCCESS;
    }
    if (failed && guard_has_old_precond(run->s)) {
        *mended = true;
        return guard_renew_precond(run->s);
    }
    if (failed) { TESS_TRY(tess_precond_widen(m, &widened)); }
    if (widened) { run->result->escalated = 1; }
    if (indefinite && !widened) { TESS_TRY(tess_precond_mend(m, mended)); }
    *mended = *mended || widened;
cleanup:
    return status;
}

/* After a cycle that has not met the tolerance: whether another follows; if not, *reason is final. */
tess_status guard_go_on(solve_run *run, const tess_loop_state *end, bool progress, tess_reason *reason, bool *goes_on)
{
    const method_solver *s = run->s;
    const bool repair = run->guard == TESS_GUARD_REPAIR;
    const bool stalled = run->begin.watch != 0 && *reason == TESS_REASON_STAGNATION;
    bool misled = false, mended = false;
    tess_status status = TESS_SUCCESS;

    *goes_on = false;
    if (end->cancel && repair) {
        *reason = TESS_REASON_CANCELLED;
    }                           /* a request to cancel holds, whatever else ended the loop */
    if (run->now.norm == 0.0) { /* the residual is zero, but without a proof */
        *reason = TESS_REASON_STAGNATION;
        return TESS_SUCCESS;
    }
    if (run->result->iterations >= s->options->max_iterations && repair) {
        /* The estimate met the tolerance in the last iteration, and none is left for a repair. */
        if (*reason == TESS_REASON_RTOL) { *reason = TESS_REASON_ITERATIONS; }
        return TESS_SUCCESS;
    }
    if (run->low_residuals && *reason != TESS_REASON_ITERATIONS && *reason != TESS_REASON_CANCELLED) {
        /* x stays as it was judged. */
        if (run->result->iterations >= s->options->max_iterations) { return TESS_SUCCESS; }
        TESS_TRY(replace_low_residual(run, *reason, progress));
        *goes_on = s->setup_reason == TESS_REASON_RUNNING;
        if (!*goes_on) { *reason = s->setup_reason; }
        return TESS_SUCCESS;
    }
    TESS_TRY(find_misled(run, *reason, progress, &misled));
    if (misled) { TESS_TRY(s->krylov.extension->stop(run->s)); }
    TESS_TRY(mend_precond(run, *reason, progress, &mended));
    if (mended) { guard_drop_graph(run->s); }
    /* The next cycle differs: without the extension, with another preconditioner, with what is left out, or without a
       stall limit. */
    progress = misled || mended || (stalled ? !guard_leaves_out(run) : progress);
    if (!may_repair(run, reason, progress)) { return TESS_SUCCESS; }
    if (repair && !progress && run->low_precision) { TESS_TRY(escalate(run)); }
    *goes_on = s->setup_reason == TESS_REASON_RUNNING;
    if (!*goes_on) { *reason = s->setup_reason; } /* the problem of the preconditioner does not exist in FP64 */
    if (!*goes_on || *reason == TESS_REASON_RUNNING) { return TESS_SUCCESS; }
    run->result->refinements += 1;
    tess_log(s->ctx, TESS_LOG_DEBUG, "residual replaced after %s (%s): true residual %.3e, estimate %.3e",
             tess_count(run->result->iterations, "iteration").text, tess_reason_name(*reason), run->now.norm,
             run->result->estimated_residual_norm);
cleanup:
    return status;
}
