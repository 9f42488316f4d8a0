/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Jacobi iteration in steps of rising precision (Tezcan et al. 2022, Algorithm 1; Saad 2003, section 4.1): x := x + omega
 * (D^-1 (b - R x) - x) with A = D + R. One cycle solves A d = r from d = 0.
 */
#include "solver/jacobi/jacobi.h"

#include <math.h>
#include <string.h>

#include "format/split/split.h"
#include "solver/solver.h"

/*
 * With a tolerance the residual is measured this often. Measuring reads one vector more than the iteration does and waits for
 * the device, some microseconds: a thirty-second of that is lost in the noise, and up to 31 iterations too many are made.
 */
enum { CHECK_EVERY = 32 };
/* A fixed run with a monitor shows up there this often. */
enum { REPORT_EVERY = 256 };
/*
 * A step other than the last ends where its residual is down to this many unit roundoffs of its lowest precision, relative to
 * the cycle's first: the residual of A d = r in that precision is off by u |A| |d| >= u ||r||, so that more is not to be had.
 */
#define FLOOR_ROUNDOFFS 8.0
/* It also ends where it stalls: PATIENCE checks in a row have not brought the least residual down by this factor. */
#define STALL_FACTOR (1.0 - 0x1p-12)
enum { PATIENCE = 3 };
/* The last step stagnates where LAST_PATIENCE checks in a row found no lesser residual at all, once the residual is well below
   the cycle's first: on the way there it may stand still or rise, as for triangular matrices. */
enum { LAST_PATIENCE = 8 };
#define WELL_BELOW 0x1p-10
/* The right-hand side is scaled so that entries of D^-1 b are at most about 1; the scale's square is a normal number. */
enum { MOST_SCALE = 400 };

typedef struct jacobi_run {
    tess_solver *s;
    tess_jacobi *j;
    tess_sweep *w;
    tess_loop *loop;
    tess_loop_state *state; /* loop->result: iterations, tolerance and limits in, the outcome out */
    const tess_step_list *steps;
    double unit;  /* norms here are this times those of the sweep's scaled right-hand side */
    double first; /* the cycle's first residual norm */
} jacobi_run;

static tess_jacobi *jacobi_of(const tess_solver *s)
{
    return s->own;
}

/* ---- set-up ---- */

static bool is_fixed(const tess_solver *s)
{
    return steps_are_counted(&s->options.steps) || (s->options.rtol == 0.0 && s->options.atol == 0.0);
}

static tess_status check_options(const tess_solver *s)
{
    const tess_solve_options *o = &s->options;

    if (!s->original->ops) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "use --solver bicgstab", "the Jacobi iteration of a shell matrix");
    }
    if (s->precond || o->precond.kind != TESS_PRECOND_NONE) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "it is its own", "a preconditioner for the Jacobi iteration");
    }
    if (!(o->omega > 0.0) || !isfinite(o->omega)) {
        return tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "above 0 and finite; 1 is the plain iteration", "omega = %g",
                         o->omega);
    }
    return TESS_SUCCESS;
}

/* A diagonal that cannot be inverted is for the next solve to report. */
static tess_status renew(tess_solver *s)
{
    tess_jacobi *j = jacobi_of(s);
    tess_status status = sweep_renew(j->main);

    if (status == TESS_SINGULAR) {
        s->setup_reason = TESS_REASON_PRECOND_SETUP;
        s->setup_error = s->ctx->error;
        return TESS_SUCCESS;
    }
    if (status == TESS_SUCCESS) { s->setup_reason = TESS_REASON_RUNNING; }
    if (status == TESS_SUCCESS && j->fp64 && s->setup_reason == TESS_REASON_RUNNING) { status = sweep_renew(j->fp64); }
    return status;
}

static tess_status setup(tess_solver *s)
{
    const tess_solve_options *o = &s->options;
    const tess_sweep_request request = {.storage = o->storage,
                                        .steps = o->steps,
                                        .kind = TESS_UPDATE_JACOBI,
                                        .omega = o->omega,
                                        .factor = 0.1, /* section IV */
                                        .launches_apart = o->engine == TESS_ENGINE_PLAIN};
    tess_jacobi *j = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_options(s));
    TESS_TRY(tess_host_allocate(s->ctx, 1, sizeof *j, (void **)&j));
    memset(j, 0, sizeof *j);
    s->own = j;
    TESS_TRY(sweep_create(s->original, &request, &j->main));
    s->stored = j->main->stored;
    status = renew(s);
cleanup:
    return status;
}

static void destroy(tess_solver *s)
{
    tess_jacobi *j = jacobi_of(s);

    if (!j) { return; }
    s->stored = NULL; /* the sweep's own */
    sweep_destroy(j->main);
    sweep_destroy(j->fp64);
    tess_host_release(s->ctx, j, 1, sizeof *j);
    s->own = NULL;
}

static int no_vectors(const tess_precond *m)
{
    (void)m;
    return 0;
}

/* ---- what results say ---- */

/* The lowest precision of the last step. */
static tess_precision working_precision(const tess_solver *s)
{
    const tess_sweep *w = jacobi_of(s)->main;
    const tess_step_list *steps = &w->request.steps;

    return sweep_way_of(w, steps->entry[steps->count - 1].what).precision;
}

static void describe(const tess_solver *s, tess_solve_result *r)
{
    const tess_jacobi *j = jacobi_of(s);
    const tess_assignment_summary *summary = &((const split_storage *)j->main->stored->storage)->summary;

    r->matrix_bytes += s->original->nrows * (int64_t)sizeof(double); /* the diagonal */
    r->resident_bytes += sweep_bytes(j->main);
    if (summary->options.nlevels == 1) {
        r->format = s->options.storage.format;
    } /* a composite of one copy is its base */
    memset(r->nonzeros_per_precision, 0, sizeof r->nonzeros_per_precision);
    for (int l = 0; l < summary->options.nlevels; l++) {
        r->nonzeros_per_precision[summary->options.level[l].precision] += summary->nonzeros_at[l];
    }
}

/* ---- a cycle ---- */

/* The steps of this cycle and what they run on: after an escalation, FP64 alone. */
static tess_status choose_steps(jacobi_run *run)
{
    static const tess_step_list fp64 = {1, {{TESS_PRECISION_FP64, 0}}};
    const tess_solver *s = run->s;
    tess_jacobi *j = run->j;
    tess_sweep_request request = j->main->request;
    tess_status status = TESS_SUCCESS;

    run->w = j->main;
    run->steps = &j->main->request.steps;
    if (s->krylov.matrix != s->original) { return TESS_SUCCESS; }
    run->steps = &fp64;
    if (sweep_has_copy(j->main, TESS_PRECISION_FP64)) { return TESS_SUCCESS; }
    if (!j->fp64) {
        request.steps = fp64;
        request.storage.format = TESS_FORMAT_COMPOSITE;
        TESS_TRY(sweep_create(s->original, &request, &j->fp64));
        TESS_TRY(sweep_renew(j->fp64));
    }
    run->w = j->fp64;
cleanup:
    return status;
}

/* b := 2^-e r, so that neither D^-1 b nor the iterates leave the range of FP32 where that can be had. */
static tess_status load(jacobi_run *run)
{
    const tess_krylov *k = &run->s->krylov;
    int exponent = run->w->largest_exponent;
    tess_fused scale = {.op = TESS_FUSED_SCALE, .n = k->n, .x = {.data = run->w->rhs}, .result = run->w->rhs};
    tess_status status = TESS_SUCCESS;

    exponent = exponent > MOST_SCALE ? MOST_SCALE : exponent < -MOST_SCALE ? -MOST_SCALE : exponent;
    run->unit = ldexp(1.0, exponent);
    scale.a = ldexp(1.0, -exponent);
    TESS_TRY(sweep_load_rhs(run->w, k->r));
    if (exponent != 0) { TESS_TRY(k->ctx->backend->fused(k->ctx, &scale)); }
    status = sweep_load(run->w, NULL);
cleanup:
    return status;
}

static tess_status store(const jacobi_run *run)
{
    const tess_krylov *k = &run->s->krylov;
    tess_fused scale = {.op = TESS_FUSED_SCALE, .n = k->n, .x = {.data = k->d}, .result = k->d, .a = run->unit};
    tess_status status = sweep_store(run->w, k->d);

    return status == TESS_SUCCESS && run->unit != 1.0 ? k->ctx->backend->fused(k->ctx, &scale) : status;
}

static void count_iterations(jacobi_run *run, int step, int64_t count)
{
    tess_step_list *done = &run->j->done;

    run->state->iteration += count;
    if (run->steps == &run->j->main->request.steps) {
        done->entry[step].iterations += count;
    } else {
        steps_append(done, TESS_PRECISION_FP64, count);
    }
}

/* Iterates without a look at the residual. */
static tess_status iterate(jacobi_run *run, int step, int64_t count)
{
    tess_loop *loop = run->loop;

    for (int64_t i = run->state->iteration + 1; i <= run->state->iteration + count; i++) {
        if (i < loop->history_capacity) { loop->host_history[i] = NAN; }
    }
    count_iterations(run, step, count);
    return sweep_run(run->w, run->steps->entry[step].what, count);
}

/* One iteration, which measures the iterate before it: entry `iteration` of the history. */
static tess_status measure(jacobi_run *run, int step)
{
    tess_loop *loop = run->loop;
    tess_loop_state *state = run->state;
    double norm = 0.0;
    tess_status status = sweep_measure(run->w, run->steps->entry[step].what, &norm);

    if (status != TESS_SUCCESS) { return status; }
    state->residual_norm = run->unit * norm;
    if (state->iteration < loop->history_capacity) {
        loop->host_history[state->iteration] = state->scale * state->residual_norm;
    }
    count_iterations(run, step, 1);
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

static void end(jacobi_run *run, tess_reason reason)
{
    run->state->reason = (int32_t)reason;
    run->state->phase = TESS_LOOP_STOPPED;
}

/* ---- a fixed run ---- */

/* In pieces where a monitor wants to know. */
static tess_status run_piecewise(jacobi_run *run, int step, int64_t count)
{
    int64_t piece = run->loop->monitor ? REPORT_EVERY : count;
    tess_status status = TESS_SUCCESS;

    for (int64_t left = count; left > 0 && !run->state->cancel; left -= piece) {
        TESS_TRY(iterate(run, step, left < piece ? left : piece));
        if (run->loop->monitor) { TESS_TRY(run->s->ctx->backend->synchronize(run->s->ctx)); }
        tell_monitor(run);
    }
cleanup:
    return status;
}

/* The very last iteration carries the run's only measurement. */
static tess_status run_fixed(jacobi_run *run)
{
    tess_loop_state *state = run->state;
    int64_t counts[TESS_MOST_STEPS] = {0};
    int last = run->steps->count - 1;
    tess_status status = TESS_SUCCESS;

    steps_share(run->steps, state->max_iterations - state->iteration, counts);
    while (last > 0 && counts[last] == 0) {
        last -= 1;
    }
    for (int i = 0; i <= last && !state->cancel; i++) {
        TESS_TRY(run_piecewise(run, i, i == last && counts[i] > 0 ? counts[i] - 1 : counts[i]));
    }
    end(run, TESS_REASON_CANCELLED);
    if (state->cancel) { return TESS_SUCCESS; }
    if (counts[last] > 0) { TESS_TRY(measure(run, last)); }
    end(run, !isfinite(state->residual_norm)                  ? TESS_REASON_NAN_OR_INF
             : state->residual_norm > state->divergence_limit ? TESS_REASON_DIVERGENCE
                                                              : TESS_REASON_ITERATIONS);
cleanup:
    return status;
}

/* ---- a run to a tolerance ---- */

/* The residuals of a step. */
typedef struct jacobi_trend {
    double least;
    int stalled; /* checks in a row */
} jacobi_trend;

static void note(jacobi_trend *trend, double norm, double factor)
{
    trend->stalled = norm < factor * trend->least ? 0 : trend->stalled + 1;
    trend->least = fmin(trend->least, norm);
}

/* Whether a step that is not the last has done what it can. One that diverges in its precision may not in a higher. */
static bool step_is_done(jacobi_run *run, int step, jacobi_trend *trend)
{
    const tess_loop_state *state = run->state;
    double roundoff = tess_precision_unit_roundoff(sweep_way_of(run->w, run->steps->entry[step].what).precision);

    note(trend, state->residual_norm, STALL_FACTOR);
    return trend->stalled >= PATIENCE || state->residual_norm <= FLOOR_ROUNDOFFS * roundoff * run->first ||
           state->residual_norm <= state->tolerance;
}

/* Whether the last step has come to its end. */
static bool last_is_done(jacobi_run *run, jacobi_trend *trend)
{
    const tess_loop_state *state = run->state;

    note(trend, state->residual_norm, 1.0);
    if (state->residual_norm <= state->tolerance) {
        end(run, TESS_REASON_RTOL);
    } else if (trend->stalled >= LAST_PATIENCE && trend->least <= WELL_BELOW * run->first) {
        end(run, TESS_REASON_STAGNATION);
    }
    return state->phase != TESS_LOOP_RUNNING;
}

/* After a measurement: whether the step is over. A step that lost the iterate to Inf, or diverged, leaves zero to the next. */
static tess_status judge(jacobi_run *run, int step, jacobi_trend *trend, bool *over)
{
    tess_loop_state *state = run->state;
    bool last = step + 1 == run->steps->count, finite = isfinite(state->residual_norm);
    tess_status status = TESS_SUCCESS;

    *over = true;
    if (!finite || state->residual_norm > state->divergence_limit) {
        if (last) { end(run, finite ? TESS_REASON_DIVERGENCE : TESS_REASON_NAN_OR_INF); }
        if (!last) { status = sweep_load(run->w, NULL); }
    } else {
        *over = last ? last_is_done(run, trend) : step_is_done(run, step, trend);
    }
    if (state->phase == TESS_LOOP_RUNNING && state->cancel) { end(run, TESS_REASON_CANCELLED); }
    if (state->phase == TESS_LOOP_RUNNING && state->iteration >= state->max_iterations) {
        end(run, TESS_REASON_ITERATIONS);
    }
    *over = *over || state->phase != TESS_LOOP_RUNNING;
    return status;
}

static tess_status run_step(jacobi_run *run, int step)
{
    const tess_loop_state *state = run->state;
    jacobi_trend trend = {INFINITY, 0};
    bool over = false;
    tess_status status = TESS_SUCCESS;

    while (!over) {
        int64_t left = state->max_iterations - state->iteration;

        TESS_TRY(measure(run, step)); /* what the step before it left, at first */
        tell_monitor(run);
        TESS_TRY(judge(run, step, &trend, &over));
        if (over) { break; }
        left = state->max_iterations - state->iteration - 1;
        TESS_TRY(iterate(run, step, left < CHECK_EVERY - 1 ? left : CHECK_EVERY - 1));
    }
cleanup:
    return status;
}

static tess_status run_to_tolerance(jacobi_run *run)
{
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < run->steps->count && run->state->phase == TESS_LOOP_RUNNING; i++) {
        TESS_TRY(run_step(run, i));
    }
cleanup:
    return status;
}

static tess_status run_cycle(tess_solver *s, tess_loop *loop)
{
    jacobi_run run = {.s = s, .j = jacobi_of(s), .loop = loop, .state = &loop->result};
    bool again = s->krylov.attempt > 0 && run.j->diverged;
    tess_status status = TESS_SUCCESS;

    if (run.state->iteration == 0) {
        run.j->done = run.j->main->request.steps;
        for (int i = 0; i < run.j->done.count; i++) {
            run.j->done.entry[i].iterations = 0;
        }
    }
    if (again) { /* from the same x: it would diverge as before */
        end(&run, TESS_REASON_DIVERGENCE);
        return TESS_SUCCESS;
    }
    TESS_TRY(choose_steps(&run));
    TESS_TRY(load(&run));
    run.first = run.state->residual_norm;
    TESS_TRY(is_fixed(s) ? run_fixed(&run) : run_to_tolerance(&run));
    run.j->diverged = run.state->reason == (int32_t)TESS_REASON_DIVERGENCE;
    status = store(&run);
cleanup:
    return status;
}

static void report(const tess_solver *s, tess_solve_result *r)
{
    r->steps = jacobi_of(s)->done;
}

const tess_method tess_method_jacobi = {.kind = TESS_SOLVER_JACOBI,
                                        .vectors = no_vectors,
                                        .setup = setup,
                                        .destroy = destroy,
                                        .renew = renew,
                                        .describe = describe,
                                        .report = report,
                                        .working_precision = working_precision,
                                        .is_fixed = is_fixed,
                                        .run = run_cycle};
