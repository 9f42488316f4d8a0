/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of a solve: when it runs, and its results. */
#include "base/phases.h"

#include "solver/method_solver.h"

tess_status solver_start_clock(method_solver *s)
{
    s->ctx->clock = s->clock;
    s->ctx->phase = TESS_PHASE_OTHER;
    return s->clock ? s->ctx->backend->zero(s->ctx, s->clock, sizeof *s->clock) : TESS_SUCCESS;
}

tess_status solver_pause_clock(const method_solver *s)
{
    return s->clock ? s->ctx->backend->zero(s->ctx, &s->clock->last, sizeof s->clock->last) : TESS_SUCCESS;
}

/* Time that belongs to no phase of the loops is `other`; time between loops has a phase of its own. */
tess_status solver_stop_clock(const method_solver *s, double refinement_seconds, tess_solve_result *r)
{
    tess_context *ctx = s->ctx;
    tess_phase_clock clock;
    double named = refinement_seconds;
    tess_status status = TESS_SUCCESS;

    ctx->clock = NULL;
    if (!s->clock) { return TESS_SUCCESS; }
    status = ctx->backend->download(ctx, &clock, s->clock, sizeof clock);
    if (status != TESS_SUCCESS) { return status; }
    for (int p = 0; p < TESS_PHASE_COUNT; p++) {
        r->phase_seconds[p] = p == TESS_PHASE_OTHER ? 0.0 : 1e-9 * (double)clock.total[p];
        named += r->phase_seconds[p];
    }
    r->phase_seconds[TESS_PHASE_REFINEMENT] = refinement_seconds;
    r->phase_seconds[TESS_PHASE_OTHER] = r->solve_seconds - named;
    r->timed = 1;
    return TESS_SUCCESS;
}
