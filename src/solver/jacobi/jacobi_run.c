/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule of a Jacobi cycle: entries of fixed length, or each until it makes no more progress. */
#include <math.h>

#include "solver/jacobi/jacobi.h"

/*
 * With a tolerance the residual is measured so often: first after 8 iterations of an entry, then after 16 and each 32.
 * A measurement is an iteration in the precision of the last entry, which reads one vector more and waits for the
 * device, some microseconds; at most 31 iterations too many are made.
 */
enum { FIRST_CHECK = 8, CHECK_EVERY = 32 };
/* A fixed run with a monitor calls it this often. */
enum { REPORT_EVERY = 256 };
/*
 * An entry other than the last ends when its residual stops falling: checks in a row have not reduced the least one by
 * STALL_FACTOR. One such check is enough below CLOSE_ROUNDOFFS unit roundoffs of its lowest precision, relative to the
 * cycle's first residual, where what it can reach is near; above it is STALL_LIMIT, since a residual may rise at first.
 */
#define STALL_FACTOR (1.0 - 0x1p-12)
#define CLOSE_ROUNDOFFS 64.0
enum { STALL_LIMIT = 3 };
/* The last entry stagnates when LAST_STALL_LIMIT checks in a row find no smaller residual, once the residual is well
   below the cycle's first. Before that it may stand still or rise, as for triangular matrices. */
enum { LAST_STALL_LIMIT = 8 };
#define WELL_BELOW 0x1p-10

static void count_iterations(jacobi_run *run, int index, int64_t count)
{
    tess_precision_schedule *done = &run->j->done;

    run->state->iteration += count;
    if (run->schedule == &run->j->main->request.schedule) {
        done->entry[index].iterations += count;
    } else {
        schedule_append(done, TESS_PRECISION_FP64, count);
    }
}

/* Iterates without measuring the residual. */
static tess_status iterate(jacobi_run *run, int index, int64_t count)
{
    tess_loop *loop = run->loop;

    for (int64_t i = run->state->iteration + 1; i <= run->state->iteration + count; i++) {
        if (i < loop->history_capacity) { loop->host_history[i] = NAN; }
    }
    count_iterations(run, index, count);
    return sweep_run(run->w, run->schedule->entry[index].what, count);
}

/* One iteration of an entry, which also measures the previous iterate: entry `iteration` of the history. */
static tess_status measure_as(jacobi_run *run, int index)
{
    tess_loop *loop = run->loop;
    tess_loop_state *state = run->state;
    double norm = 0.0;
    tess_status status = sweep_measure(run->w, run->schedule->entry[index].what, &norm);

    if (status != TESS_SUCCESS) { return status; }
    state->residual_norm = run->unit * norm;
    if (state->iteration < loop->history_capacity) {
        loop->host_history[state->iteration] = state->scale * state->residual_norm;
    }
    count_iterations(run, index, 1);
    if (state->iteration < loop->history_capacity) { loop->host_history[state->iteration] = NAN; }
    return TESS_SUCCESS;
}

static void tell_monitor(jacobi_run *run)
{
    const tess_loop *loop = run->loop;
    tess_loop_state *state = run->state;
    const tess_progress progress = {state->iteration, state->scale * state->residual_norm,
                                    state->scale * state->tolerance, tess_wall_seconds() - loop->start_seconds};

    if (loop->monitor && loop->monitor(loop->monitor_user, &progress) != 0) { state->cancel = 1; }
}

void jacobi_end(jacobi_run *run, tess_reason reason)
{
    run->state->reason = (int32_t)reason;
    run->state->phase = TESS_LOOP_STOPPED;
}

/* ---- a fixed run ---- */

/* In pieces, if a monitor must be called. */
static tess_status run_piecewise(jacobi_run *run, int index, int64_t count)
{
    int64_t piece = run->loop->monitor ? REPORT_EVERY : count;
    tess_status status = TESS_SUCCESS;

    for (int64_t left = count; left > 0 && !run->state->cancel; left -= piece) {
        TESS_TRY(iterate(run, index, left < piece ? left : piece));
        if (run->loop->monitor) { TESS_TRY(run->s->ctx->backend->synchronize(run->s->ctx)); }
        tell_monitor(run);
    }
cleanup:
    return status;
}

/* The last iteration has the run's only measurement. */
tess_status jacobi_run_fixed(jacobi_run *run)
{
    tess_loop_state *state = run->state;
    int64_t counts[TESS_MAX_SCHEDULE] = {0};
    int last = run->schedule->count - 1;
    tess_status status = TESS_SUCCESS;

    schedule_share(run->schedule, state->max_iterations - state->iteration, counts);
    while (last > 0 && counts[last] == 0) {
        last -= 1;
    }
    for (int i = 0; i <= last && !state->cancel; i++) {
        TESS_TRY(run_piecewise(run, i, i == last && counts[i] > 0 ? counts[i] - 1 : counts[i]));
    }
    jacobi_end(run, TESS_REASON_CANCELLED);
    if (state->cancel) { return TESS_SUCCESS; }
    if (counts[last] > 0) { TESS_TRY(measure_as(run, last)); }
    jacobi_end(run, !isfinite(state->residual_norm)                  ? TESS_REASON_NAN_OR_INF
                    : state->residual_norm > state->divergence_limit ? TESS_REASON_DIVERGENCE
                                                                     : TESS_REASON_ITERATIONS);
cleanup:
    return status;
}

/* ---- a run to a tolerance ---- */

/* The residuals of an entry. */
typedef struct jacobi_trend {
    double least;
    int stalled; /* checks in a row */
} jacobi_trend;

static void note(jacobi_trend *trend, double norm, double factor)
{
    trend->stalled = norm < factor * trend->least ? 0 : trend->stalled + 1;
    trend->least = fmin(trend->least, norm);
}

/* Whether an entry, not the last, makes no more progress. */
static bool entry_is_done(jacobi_run *run, int index, jacobi_trend *trend)
{
    const tess_loop_state *state = run->state;
    const double roundoff =
        tess_precision_unit_roundoff(sweep_way_of(run->w, run->schedule->entry[index].what).precision);
    const bool close = state->residual_norm <= CLOSE_ROUNDOFFS * roundoff * run->first;

    note(trend, state->residual_norm, STALL_FACTOR);
    return trend->stalled >= (close ? 1 : STALL_LIMIT);
}

/* Whether the last entry makes no more progress. */
static void judge_last(jacobi_run *run, jacobi_trend *trend)
{
    note(trend, run->state->residual_norm, 1.0);
    if (trend->stalled >= LAST_STALL_LIMIT && trend->least <= WELL_BELOW * run->first) {
        jacobi_end(run, TESS_REASON_STAGNATION);
    }
}

/* After a measurement: whether the entry has ended. An entry whose iterate became Inf or that diverged leaves zero to
   the next, which may not diverge in its precision. */
static tess_status judge(jacobi_run *run, int index, jacobi_trend *trend, bool *over)
{
    tess_loop_state *state = run->state;
    bool last = index + 1 == run->schedule->count, finite = isfinite(state->residual_norm);
    tess_status status = TESS_SUCCESS;

    *over = false;
    if (!finite || state->residual_norm > state->divergence_limit) {
        if (last) { jacobi_end(run, finite ? TESS_REASON_DIVERGENCE : TESS_REASON_NAN_OR_INF); }
        if (!last) { status = sweep_load(run->w, NULL); }
        trend->least = INFINITY;
        *over = true;
    } else if (state->residual_norm <= state->tolerance) {
        jacobi_end(run, TESS_REASON_RTOL);
    } else if (last) {
        judge_last(run, trend);
    } else {
        *over = entry_is_done(run, index, trend);
    }
    if (state->phase == TESS_LOOP_RUNNING && state->cancel) { jacobi_end(run, TESS_REASON_CANCELLED); }
    if (state->phase == TESS_LOOP_RUNNING && state->iteration >= state->max_iterations) {
        jacobi_end(run, TESS_REASON_ITERATIONS);
    }
    *over = *over || state->phase != TESS_LOOP_RUNNING;
    return status;
}

/* *before: the residual where the entry before has ended; Inf: none is known, as before the first. */
static tess_status run_entry(jacobi_run *run, int index, double *before)
{
    const tess_loop_state *state = run->state;
    const int last = run->schedule->count - 1;
    jacobi_trend trend = {*before, 0};
    int64_t interval = FIRST_CHECK;
    bool over = false, known = isfinite(*before);
    tess_status status = TESS_SUCCESS;

    while (!over) {
        int64_t left = state->max_iterations - state->iteration - 1;

        if (known) {
            TESS_TRY(iterate(run, index, left < interval - 1 ? left : interval - 1));
            interval = interval < CHECK_EVERY ? 2 * interval : CHECK_EVERY;
        }
        known = true;
        TESS_TRY(measure_as(run, last));
        tell_monitor(run);
        TESS_TRY(judge(run, index, &trend, &over));
    }
    *before = isfinite(trend.least) ? state->residual_norm : INFINITY;
cleanup:
    return status;
}

/*
 * Each measurement is an iteration of the last entry: a step is judged by the system that the last one solves. The
 * residual of its own rounded system falls on when nothing is gained any more.
 */
tess_status jacobi_run_to_tolerance(jacobi_run *run)
{
    double before = INFINITY;
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < run->schedule->count && run->state->phase == TESS_LOOP_RUNNING; i++) {
        TESS_TRY(run_entry(run, i, &before));
    }
cleanup:
    return status;
}
