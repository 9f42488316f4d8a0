/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/stop.h"

#include "base/context.h"

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
    }
    return stop->reason != TESS_REASON_RUNNING;
}

static int watch(void *user, const tess_progress *progress)
{
    solve_stop *stop = user;

    return stop_asked(stop, progress) ? (int)stop->reason : 0;
}

void stop_begin(solve_stop *stop, tess_solve_options *options)
{
    *stop = (solve_stop){.monitor = options->monitor,
                         .user = options->monitor_user,
                         .start = tess_wall_seconds(),
                         .limit = options->time_limit};
    if (!stop->monitor && stop->limit == 0.0) { return; }
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
