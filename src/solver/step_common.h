/* SPDX-License-Identifier: Apache-2.0 */
/* What the scalar steps of all methods share: the end of an iteration and its tests. */
#ifndef TESS_SOLVER_STEP_COMMON_H
#define TESS_SOLVER_STEP_COMMON_H

#include <tessera/solver.h>

#include "solver/loop_state.h"
#include <tessera/export.h>

/* True for anything but NaN and Inf; x - x is 0 exactly for finite x (no -ffast-math here). */
TESS_HD int step_is_finite(double x)
{
    return x - x == 0.0;
}

TESS_HD void step_stop(tess_loop_state *s, int phase, tess_reason reason)
{
    s->phase = phase;
    s->reason = (int32_t)reason;
}

TESS_HD void step_record(tess_loop_state *s)
{
    if (s->history && s->iteration < s->history_capacity) { s->history[s->iteration] = s->scale * s->residual_norm; }
}

/* Whether the residual norm has not been halved for too long; it need not fall in each iteration. */
TESS_HD int step_stalls(tess_loop_state *s)
{
    if (s->patience == 0) { return 0; }
    if (s->residual_norm <= 0.5 * s->halved) {
        s->halved = s->residual_norm;
        s->halved_at = s->iteration;
    }
    return s->iteration - s->halved_at >= s->patience;
}

/*
 * Closes an iteration whose residual norm is known. stop_phase is FINISHING where a later operation of the same iteration
 * must still run. The reason RTOL stands for "the estimate met the tolerance"; which tolerance is decided on the host.
 */
TESS_HD void step_end_iteration(tess_loop_state *s, int stop_phase)
{
    s->iteration += 1;
    step_record(s);
    if (!step_is_finite(s->residual_norm)) {
        step_stop(s, TESS_LOOP_STOPPED, TESS_REASON_NAN_OR_INF);
    } else if (s->residual_norm <= s->tolerance) {
        step_stop(s, stop_phase, TESS_REASON_RTOL);
    } else if (s->residual_norm > s->divergence_limit) {
        step_stop(s, stop_phase, TESS_REASON_DIVERGENCE);
    } else if (step_stalls(s)) {
        step_stop(s, stop_phase, TESS_REASON_STAGNATION);
    } else if (s->iteration >= s->max_iterations) {
        step_stop(s, stop_phase, TESS_REASON_ITERATIONS);
    } else if (s->cancel) {
        step_stop(s, stop_phase, TESS_REASON_CANCELLED);
    }
}

#endif
