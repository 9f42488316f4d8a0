/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/stop.h"

#include "base/deadline.h"

bool reason_is_a_stop(tess_reason reason)
{
    return reason == TESS_REASON_CANCELLED || reason == TESS_REASON_TIME_LIMIT || reason == TESS_REASON_INTERRUPTED;
}

/* A monitor may name the reason by what it returns. */
static tess_reason reason_of(int code)
{
    const tess_reason named = (tess_reason)code;

    return reason_is_a_stop(named) ? named : TESS_REASON_CANCELLED;
}

bool stop_asked(solve_stop *stop, const tess_progress *progress)
{
    const int code = stop->monitor ? stop->monitor(stop->user, progress) : 0;

    if (stop->reason != TESS_REASON_RUNNING) { return true; }
    if (code != 0) {
        stop->reason = reason_of(code);
    } else if (stop->limit > 0.0 && tess_wall_seconds() - stop->start >= stop->limit) {
        stop->reason = TESS_REASON_TIME_LIMIT;
    } else if (tess_check_says_stop(stop->ctx)) {
        stop->reason = TESS_REASON_INTERRUPTED;
    }
    return stop->reason != TESS_REASON_RUNNING;
}

static int watch(void *user, const tess_progress *progress)
{
    solve_stop *stop = user;

    return stop_asked(stop, progress) ? (int)stop->reason : 0;
}

bool stop_is_watching(const solve_stop *stop)
{
    return stop->monitor || stop->limit > 0.0 || (stop->ctx->check && stop->ctx->device == TESS_DEVICE_CPU);
}

void stop_begin(solve_stop *stop, const tess_context *ctx, tess_solve_options *options)
{
    *stop = (solve_stop){.monitor = options->monitor,
                         .user = options->monitor_user,
                         .ctx = ctx,
                         .start = tess_wall_seconds(),
                         .limit = options->time_limit};
    if (!stop_is_watching(stop)) { return; }
    options->monitor = watch;
    options->monitor_user = stop;
}

void stop_end(const solve_stop *stop, tess_solve_options *options)
{
    options->monitor = stop->monitor;
    options->monitor_user = stop->user;
}

tess_reason stop_reason(const solve_stop *stop, tess_reason reason)
{
    return reason == TESS_REASON_CANCELLED && stop->reason != TESS_REASON_RUNNING ? stop->reason : reason;
}
