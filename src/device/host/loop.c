/* SPDX-License-Identifier: Apache-2.0 */
/* Loops on the host: the plain engine, and the ends of reductions. */
#include <string.h>

#include <tessera/solver.h>

#include "device/host/host.h"
#include "device/run_scalar_update.h"

bool host_enter(tess_loop_state *state, bool finishing, bool reduces)
{
    if (!state || state->phase == TESS_LOOP_RUNNING) { return true; }
    if (state->phase == TESS_LOOP_FINISHING && finishing) { return true; }
    if (reduces) { state->phase = TESS_LOOP_STOPPED; }
    return false;
}

void host_finish_reduction(const double *partials, int64_t count, int ndots, tess_scalar_update scalar,
                           tess_loop_state *state)
{
    for (int k = 0; k < ndots; k++) {
        double sum = 0.0;

        for (int64_t i = 0; i < count; i++) {
            sum += partials[k * count + i];
        }
        state->dots[k] = sum;
    }
    run_scalar_update(scalar, state);
}

static void report_progress(const tess_loop *loop)
{
    tess_progress progress = {loop->state->iteration, loop->state->scale * loop->state->residual_norm,
                              loop->state->scale * loop->state->tolerance, tess_wall_seconds() - loop->start_seconds};

    if (loop->monitor(loop->monitor_user, &progress) != 0) { loop->state->cancel = 1; }
}

/* ---- several columns ---- */

static int count_running(const tess_loop *loop)
{
    int running = 0;

    for (int c = 0; c < loop->columns; c++) {
        running += loop->state[c].phase == TESS_LOOP_RUNNING;
    }
    return running;
}

/* The column that is farthest from its tolerance, of those that were part of the last iteration. */
static const tess_loop_state *worst_column(const tess_loop *loop)
{
    const tess_loop_state *worst = loop->state;

    for (int c = 1; c < loop->columns; c++) {
        const tess_loop_state *s = &loop->state[c];
        const bool farther = s->residual_norm * worst->tolerance > worst->residual_norm * s->tolerance;

        if (s->iteration > worst->iteration || (s->iteration == worst->iteration && farther)) { worst = s; }
    }
    return worst;
}

/* A request to cancel is for all columns. */
static void report_columns(const tess_loop *loop)
{
    const tess_loop_state *worst = worst_column(loop);
    const tess_progress progress = {worst->iteration, worst->scale * worst->residual_norm,
                                    worst->scale * worst->tolerance, tess_wall_seconds() - loop->start_seconds};

    if (loop->monitor(loop->monitor_user, &progress) == 0) { return; }
    for (int c = 0; c < loop->columns; c++) {
        loop->state[c].cancel = 1;
    }
}

static tess_status run_columns(tess_context *ctx, const tess_loop *loop)
{
    tess_status status = TESS_SUCCESS;

    while (count_running(loop) > loop->leave_at && status == TESS_SUCCESS) {
        busy_adapt(ctx);
        status = loop->body(loop->solver);
        if (status == TESS_SUCCESS && loop->monitor) { report_columns(loop); }
    }
    return status;
}

/* ---- one column ---- */

tess_status host_run_loop(tess_context *ctx, tess_loop *loop)
{
    tess_loop_state *state = loop->state;
    int64_t kept = 0;
    tess_status status = TESS_SUCCESS;

    if (loop->columns > 1) { return run_columns(ctx, loop); }
    while (state->phase == TESS_LOOP_RUNNING && status == TESS_SUCCESS) {
        busy_adapt(ctx);
        status = loop->body(loop->solver);
        if (status == TESS_SUCCESS && loop->monitor) { report_progress(loop); }
    }
    loop->result = *state;
    kept = state->iteration + 1 < loop->history_capacity ? state->iteration + 1 : loop->history_capacity;
    if (loop->history && loop->history != loop->host_history) {
        memcpy(loop->host_history, loop->history, (size_t)kept * sizeof *loop->history);
    }
    return status;
}

tess_status host_repeat(tess_context *ctx, tess_status (*body)(void *user), void *user, int64_t count,
                        void **graph_slot)
{
    tess_status status = TESS_SUCCESS;

    (void)ctx;
    (void)graph_slot;
    for (int64_t i = 0; i < count && status == TESS_SUCCESS; i++) {
        status = body(user);
    }
    return status;
}
