/* SPDX-License-Identifier: Apache-2.0 */
/* Time steps x := R x + D o x in precisions that change (Tezcan et al. 2022, Algorithm 2), over sweeps. */
#include <math.h>
#include <string.h>

#include <tessera/names.h>
#include <tessera/timestep.h>

#include "matrix/storage_options.h"
#include "solver/stop.h"
#include "sweep/sweep.h"

/* The mean range that section IV uses for these matrices. */
static const double default_factor = 2.0;
/* An x with a norm outside 2^-60 .. 2^60 is scaled by a power of two on its way in and out, so that its FP32 copy stays
   in range. */
enum { UNSCALED_EXPONENT = 60, MAX_EXPONENT = 1000 };
/* How often a monitor and a time limit are looked at. */
#define LOOK_SECONDS 0.1

struct tess_timestep {
    tess_sweep *sweep;
    tess_timestep_options options; /* without storage and schedule, which the sweep has */
    tess_vector *snapshot;
    double setup_seconds;
};

/* One run. */
typedef struct timestep_run {
    tess_timestep *ts;
    tess_observer observer;
    void *user;
    int64_t every;
    tess_timestep_result *result;
    double unit; /* x is this times the sweep's */
    bool stopped;
    solve_stop stop; /* the time limit and the monitor */
    double start;
    int64_t piece; /* steps between two looks at them */
} timestep_run;

void tess_timestep_options_init_sized(tess_timestep_options *options, size_t size)
{
    tess_timestep_options o;

    memset(&o, 0, sizeof o);
    o.size = sizeof o;
    tess_storage_options_init(&o.storage);
    o.storage.format = tess_format_in_role(TESS_ROLE_COPIES);
    o.storage.policy.policy = TESS_POLICY_MEAN_RANGE;
    o.storage.policy.parameter = default_factor;
    o.engine = TESS_ENGINE_AUTO;
    options_init(options, size, &o, sizeof o);
}

void tess_timestep_result_init_sized(tess_timestep_result *result, size_t size)
{
    result_init(result, size);
}

/* ---- set-up ---- */

static tess_status check_matrix(const tess_matrix *a)
{
    if (!a->ops || a->original) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "pass the assembled matrix, and name the storage in options.storage",
                         "time steps need an assembled matrix, not %s one", a->ops ? "a stored" : "a shell");
    }
    if (a->nrows != a->ncols) {
        return tess_fail(a->ctx, TESS_DIMENSION_MISMATCH, "pass a square matrix",
                         "time steps need a square matrix, but this one is %lld by %lld", (long long)a->nrows,
                         (long long)a->ncols);
    }
    return TESS_SUCCESS;
}

/* Format auto without schedule and policy is left to the conversion: plain products work in any format. */
static tess_format format_of(const tess_timestep_options *o)
{
    const bool open = o->schedule.count == 0 && o->storage.policy.policy == TESS_POLICY_NONE;

    if (o->storage.format != TESS_FORMAT_AUTO || open) { return o->storage.format; }
    return sweep_choose_format(&o->storage, &o->schedule);
}

static tess_sweep_request request_of(const tess_timestep_options *o)
{
    const tess_format format = format_of(o);
    const bool parts = sweep_takes_parts(format);
    tess_sweep_request request = {.storage = o->storage,
                                  .schedule = o->schedule,
                                  .kind = parts || o->schedule.count > 0 ? TESS_UPDATE_TIME_STEP : TESS_UPDATE_NONE,
                                  .factor = default_factor,
                                  .launches_apart = o->engine == TESS_ENGINE_PLAIN};

    request.storage.format = format;

    if (parts && request.schedule.count == 0) { schedule_append(&request.schedule, TESS_MIXED, 0); }
    return request;
}

/* Refuses storage options that nothing would read, as tess_solver_create does. The policy of the defaults asks for
   nothing where the matrix has one precision. */
static tess_status check_storage(const tess_matrix *a, const tess_timestep_options *o)
{
    tess_sweep_request resolved = request_of(o);
    const bool parts = sweep_takes_parts(resolved.storage.format);
    tess_storage_options judged = o->storage;
    tess_timestep_options plain;
    tess_status status = TESS_SUCCESS;

    tess_timestep_options_init(&plain);
    TESS_TRY(sweep_resolve(a->ctx, &resolved));
    if (schedule_has(&resolved.schedule, TESS_MIXED)) {
        judged = resolved.storage;
    } else if (!parts && judged.policy.policy == plain.storage.policy.policy &&
               judged.policy.parameter == plain.storage.policy.parameter) {
        judged.policy.policy = TESS_POLICY_NONE;
        judged.policy.parameter = 0.0;
    }
    status = tess_storage_options_check(a->ctx, a->nrows, a->ncols, &judged);
cleanup:
    return status;
}

tess_status tess_timestep_create(const tess_matrix *a, const tess_timestep_options *options, tess_timestep **out)
{
    TESS_REQUIRE_OUT(a ? a->ctx : NULL, a, out);
    tess_timestep_options taken;
    tess_papers_storage papers;
    tess_sweep_request request;
    tess_timestep *ts = NULL;
    double start = tess_wall_seconds();
    tess_status status = TESS_SUCCESS;

    tess_timestep_options_init(&taken);
    TESS_TRY(options_take(a->ctx, "tess_timestep_options", options, &taken, sizeof taken));
    TESS_TRY(storage_options_take_member(a->ctx, &taken.storage, &papers));
    TESS_TRY(options_require_name(a->ctx, "tess_engine", "tess_timestep_options.engine", (int)taken.engine));
    if (taken.first_step < 0 || !(taken.time_limit >= 0.0)) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "give 0 or more",
                         "first_step or time_limit is negative: %lld, %g", (long long)taken.first_step,
                         taken.time_limit);
    }
    if (taken.schedule.count != 0) { TESS_TRY(schedule_check(a->ctx, &taken.schedule)); }
    request = request_of(&taken);
    TESS_TRY(check_matrix(a));
    TESS_TRY(check_storage(a, &taken));
    TESS_TRY(tess_host_allocate(a->ctx, 1, sizeof *ts, (void **)&ts));
    memset(ts, 0, sizeof *ts);
    TESS_TRY(sweep_create(a, &request, &ts->sweep));
    TESS_TRY(sweep_renew(ts->sweep));
    TESS_TRY(tess_vector_create(a->ctx, a->nrows, TESS_PRECISION_FP64, &ts->snapshot));
    TESS_TRY(a->ctx->backend->synchronize(a->ctx));
    ts->options = taken;
    ts->options.storage.papers = NULL; /* the caller's */
    ts->setup_seconds = tess_wall_seconds() - start;
    *out = ts;
cleanup:
    if (status != TESS_SUCCESS && ts) {
        sweep_destroy(ts->sweep);
        tess_vector_destroy(ts->snapshot);
        tess_host_release(a->ctx, ts, 1, sizeof *ts);
    }
    return status;
}

void tess_timestep_destroy(tess_timestep *ts)
{
    tess_sweep *sweep = NULL;

    if (!ts) { return; }
    sweep = ts->sweep;
    tess_vector_destroy(ts->snapshot);
    tess_host_release(sweep->ctx, ts, 1, sizeof *ts);
    sweep_destroy(sweep); /* it keeps the context */
}

/* ---- a run ---- */

static void describe(const tess_timestep *ts, tess_timestep_result *r)
{
    const tess_sweep *w = ts->sweep;
    const tess_matrix *matrix = w->stored ? w->stored : w->original;
    const tess_assignment_summary *summary = NULL;

    tess_timestep_result_init(r);
    r->schedule = w->request.schedule;
    r->finite = 1;
    r->setup_seconds = ts->setup_seconds;
    r->format = matrix->format;
    r->matrix_bytes = tess_matrix_bytes(matrix);
    for (int i = 0; i < r->schedule.count; i++) {
        r->schedule.entry[i].iterations = 0;
        r->bytes_per_step[i] = sweep_iteration_bytes(w, r->schedule.entry[i].what);
    }
    if (w->request.kind == TESS_UPDATE_NONE) {
        r->nonzeros_per_precision[matrix->precision] = matrix->nnz;
        return;
    }
    r->matrix_bytes += w->n * (int64_t)sizeof(double); /* the diagonal */
    summary = tess_matrix_assigned_to(matrix);
    for (int l = 0; l < summary->options.nlevels; l++) {
        r->nonzeros_per_precision[summary->options.level[l].precision] += summary->nonzeros_at[l];
    }
}

static tess_status load(timestep_run *run, tess_vector *x)
{
    double norm = 0.0;
    int exponent = 0;
    tess_status status = TESS_SUCCESS;

    run->unit = 1.0;
    TESS_TRY(tess_vector_norm2(x, TESS_ARITHMETIC_FP64, &norm));
    if (isfinite(norm) && norm > 0.0) { (void)frexp(norm, &exponent); }
    if (exponent < -UNSCALED_EXPONENT || exponent > UNSCALED_EXPONENT) {
        exponent = exponent > MAX_EXPONENT ? MAX_EXPONENT : exponent < -MAX_EXPONENT ? -MAX_EXPONENT : exponent;
        run->unit = ldexp(1.0, exponent);
        TESS_TRY(tess_vector_scale(ldexp(1.0, -exponent), x, TESS_ARITHMETIC_FP64));
    }
    status = sweep_load(run->ts->sweep, x->data);
cleanup:
    return status;
}

/* The present x in its original order and scale, and whether it is finite. */
static tess_status store(timestep_run *run, tess_vector *x)
{
    double norm = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(sweep_store(run->ts->sweep, x->data));
    if (run->unit != 1.0) { TESS_TRY(tess_vector_scale(run->unit, x, TESS_ARITHMETIC_FP64)); }
    TESS_TRY(tess_vector_norm2(x, TESS_ARITHMETIC_FP64, &norm));
    if (!isfinite(norm)) { run->result->finite = 0; }
    status = tess_vector_refresh_shadow(x);
cleanup:
    return status;
}

static tess_status show(timestep_run *run)
{
    tess_vector *x = run->ts->snapshot;
    tess_status status = store(run, x);

    if (status != TESS_SUCCESS) { return status; }
    if (run->observer && run->observer(run->user, run->result->count, x) != 0) {
        run->result->reason = TESS_REASON_CANCELLED;
    }
    if (!run->result->finite) { run->result->reason = TESS_REASON_NAN_OR_INF; }
    run->stopped = run->result->reason != TESS_REASON_RUNNING;
    return TESS_SUCCESS;
}

/* Asks the monitor and looks at the clock, and sets the number of steps up to the next time, of about LOOK_SECONDS. */
static tess_status look(timestep_run *run, double before)
{
    const tess_context *ctx = run->ts->sweep->ctx;
    tess_progress progress = {.iteration = run->result->count};
    double now = 0.0;
    tess_status status = TESS_SUCCESS;

    if (!stop_is_watching(&run->stop)) { return TESS_SUCCESS; }
    TESS_TRY(ctx->backend->synchronize((tess_context *)(uintptr_t)ctx));
    now = tess_wall_seconds();
    progress.elapsed_seconds = now - run->start;
    if (now - before < 0.5 * LOOK_SECONDS && run->piece < INT64_MAX / 4) { run->piece *= 2; }
    if (now - before > 2.0 * LOOK_SECONDS && run->piece > 1) { run->piece /= 2; }
    if (stop_asked(&run->stop, &progress)) {
        run->result->reason = run->stop.reason;
        run->stopped = true;
    }
cleanup:
    return status;
}

/* `count` steps of entry i, in pieces from snapshot to snapshot. */
static tess_status run_entry(timestep_run *run, int i, int64_t count)
{
    tess_timestep_result *r = run->result;
    tess_status status = TESS_SUCCESS;

    while (count > 0 && !run->stopped) {
        const double before = tess_wall_seconds();
        int64_t piece = run->every > 0 ? run->every - r->count % run->every : count;

        if (piece > count) { piece = count; }
        if (stop_is_watching(&run->stop) && piece > run->piece) { piece = run->piece; }
        TESS_TRY(sweep_run(run->ts->sweep, r->schedule.entry[i].what, piece));
        count -= piece;
        r->count += piece;
        r->schedule.entry[i].iterations += piece;
        if (run->every > 0 && r->count % run->every == 0) { TESS_TRY(show(run)); }
        if (!run->stopped && count > 0) { TESS_TRY(look(run, before)); }
    }
cleanup:
    return status;
}

/* Counts the steps of entry i that earlier runs made, and returns the others. */
static int64_t skip_made(timestep_run *run, int i, int64_t count)
{
    tess_timestep_result *r = run->result;
    const int64_t before = run->ts->options.first_step - r->count, made = before < count ? before : count;

    if (before <= 0) { return count; }
    r->count += made;
    r->schedule.entry[i].iterations += made;
    return count - made;
}

static tess_status run_steps(timestep_run *run, tess_vector *x, int64_t count)
{
    tess_timestep *ts = run->ts;
    tess_context *ctx = ts->sweep->ctx;
    tess_timestep_result *result = run->result;
    int64_t counts[TESS_MAX_SCHEDULE] = {0};
    double start = tess_wall_seconds();
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_require(ctx, x, ts->sweep->n, "x"));
    if (count < 0 || run->every < 0 || ts->options.first_step > count) {
        return tess_fail(
            ctx, TESS_INVALID_ARGUMENT, "counts must be 0 or more, and those made before are among them",
            "a count of time steps is wrong: %s, %lld of them made before, a call of the observer every %lld",
            tess_count(count, "step").text, (long long)ts->options.first_step, (long long)run->every);
    }
    TESS_TRY(sweep_renew(ts->sweep));
    describe(ts, result);
    schedule_share(&ts->sweep->request.schedule, count, counts);
    TESS_TRY(load(run, x));
    for (int i = 0; i < result->schedule.count && !run->stopped; i++) {
        const int64_t left = skip_made(run, i, counts[i]);

        TESS_TRY(run_entry(run, i, left));
    }
    TESS_TRY(store(run, x));
    if (!result->finite) { result->reason = TESS_REASON_NAN_OR_INF; }
    TESS_TRY(ctx->backend->synchronize(ctx));
    result->seconds = tess_wall_seconds() - start;
cleanup:
    return status;
}

tess_status tess_timestep_run(tess_timestep *ts, tess_vector *x, int64_t count, tess_observer observer, void *user,
                              int64_t every, tess_timestep_result *result)
{
    TESS_REQUIRE(NULL, ts);
    TESS_REQUIRE(ts->sweep->ctx, result);
    tess_timestep_result full;
    timestep_run run = {.ts = ts,
                        .observer = observer,
                        .user = user,
                        .every = every,
                        .result = &full,
                        .start = tess_wall_seconds(),
                        .piece = 1};
    tess_status status = result_require_size(ts->sweep->ctx, "tess_timestep_result", result->size, sizeof full);

    if (status != TESS_SUCCESS) { return status; }
    tess_timestep_result_init(&full);
    run.stop = (solve_stop){.monitor = ts->options.monitor,
                            .user = ts->options.monitor_user,
                            .ctx = ts->sweep->ctx,
                            .start = run.start,
                            .limit = ts->options.time_limit};
    status = run_steps(&run, x, count);
    result_return(&full, result);
    return status;
}
