/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of the ladder cost, for one solve: the budget of an attempt, and steps that are left out. */
#include <math.h>

#include "auto/auto.h"

static bool on_gpu(const tess_solver *s)
{
    return s->ctx->device == TESS_DEVICE_GPU;
}

/* What complete factors cost, by their analysis, which is made once for these values. INFINITY: they are not possible,
   or there is too little memory to find out. */
static double predict_direct(void *owner)
{
    const tess_solver *s = owner;
    auto_solve *state = s->state;

    if (!state->predicted) {
        const tess_error before = s->ctx->error;
        const tess_precision precision = s->options.automatic.fp64_only ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32;

        if (direct_predict(s->original, state->ladder.family == FAMILY_POSITIVE, precision,
                           s->options.precond.direct.memory_limit, &state->prediction) != TESS_SUCCESS) {
            s->ctx->error = before;
        }
        state->predicted = true;
    }
    return direct_cost(rates_of(s->original), &state->facts, &state->prediction);
}

static bool direct_follows(const auto_solve *state)
{
    for (int i = state->next; i < state->ladder.count; i++) {
        if (state->ladder.step[i].limit == LIMIT_DIRECT) { return true; }
    }
    return false;
}

/* Whether multigrid would come after complete factors, as far as is known without another analysis. */
static bool is_unlike_multigrid(const tess_solver *s, const auto_solve *state)
{
    const cost_rates *rates = rates_of(s->original);
    const matrix_facts *f = &state->facts;
    const double direct = state->predicted ? direct_cost(rates, f, &state->prediction) : least_direct_cost(rates, f);

    return !on_gpu(s) && direct_follows(state) && s->options.precond.amg.near_nullspace_columns == 0 &&
           suits_factors(rates, f, direct);
}

static bool multigrid_follows(const tess_solver *s, const auto_solve *state)
{
    bool found = false;

    for (int i = state->next; i < state->ladder.count; i++) {
        found = found || has_multigrid(&state->ladder.step[i]);
    }
    return found && !is_unlike_multigrid(s, state);
}

/* What may follow on a GPU takes at least so long. */
static double least_other_cost(const tess_solver *s, const auto_solve *state, const cost_rates *rates)
{
    const matrix_facts *f = &state->facts;
    const double direct = direct_follows(state) ? least_direct_cost(rates, f) : INFINITY;

    return multigrid_follows(s, state) ? fmin(direct, multigrid_cost(rates, f)) : direct;
}

/* A GPU looks at a loop where this pauses; else the attempt gets a cap. */
static void choose_looks(const tess_solver *s, auto_solve *state, const cost_rates *rates)
{
    method_solver *const running = solver_running(state->solver);
    attempt_budget *b = &state->budget;

    if (!on_gpu(s)) { return; }
    b->looks = b->limited && running && method_pauses(running);
    if (running) { method_lend_watch(running, b->looks ? &b->loop : NULL); }
    if (b->limited && !b->looks) { b->cap = budget_cap(least_other_cost(s, state, rates), b->per_iteration); }
}

/* Cycles of FGMRES with saddle lose little at first; all flows of docs/results/saddle-points.md have ended by then. */
enum { SADDLE_PATIENCE = 60 };

void begin_budget(tess_solver *s, int64_t before, double start)
{
    auto_solve *state = s->state;
    const ladder_step *step = &state->step;
    const cost_rates *rates = rates_of(s->original);
    attempt_budget *b = &state->budget;

    *b = (attempt_budget){.monitor = s->options.monitor,
                          .user = s->options.monitor_user,
                          .before = before,
                          .start = start,
                          .limited = step->limit == LIMIT_BUDGET && state->next < state->ladder.count,
                          .patience = step->precond == TESS_PRECOND_SADDLE ? SADDLE_PATIENCE : 0,
                          .per_iteration = iteration_cost(rates, &state->facts, step),
                          .watch = state->stored == STORAGE_OPEN ? storage_try_lower : NULL,
                          .owner = s,
                          .rows = state->facts.n,
                          .trial = INFINITY,
                          .other = INFINITY};
    budget_start(b);
    choose_looks(s, state, rates);
    if (!b->limited) { return; }
    if (multigrid_follows(s, state)) { b->other = multigrid_cost(rates, &state->facts); }
    b->trial = trial_cost(rates, &state->facts, &state->ladder.step[state->next]);
    if (isfinite(b->other) || !direct_follows(state)) { return; }
    if (state->predicted) {
        b->other = predict_direct(s);
        return;
    }
    b->other = least_direct_cost(rates, &state->facts);
    /* An analysis pays where its factors come next, or where there is no trial; until then the bound decides. */
    if (isinf(b->trial)) { b->predict = predict_direct; }
}

/* Complete factors are left out where all iterations that the caller allows should take a tenth of their time. */
#define TOO_EXPENSIVE 10.0

static bool is_too_expensive(tess_solver *s, auto_solve *state, const ladder_step *step)
{
    const ladder_step *last = &state->ladder.step[state->ladder.count - 1];

    if (step->limit != LIMIT_DIRECT || is_substitution(step) || last->limit != LIMIT_NONE || state->remembered) {
        return false;
    }
    return predict_direct(s) > TOO_EXPENSIVE * iteration_cost(rates_of(s->original), &state->facts, last) *
                                   (double)s->options.max_iterations;
}

/* Iterations without a set-up are left out where the least that they can take is more than multigrid, and for flows:
   they then take more at each refinement. */
static bool is_hopeless(const tess_solver *s, const auto_solve *state, const ladder_step *step)
{
    const cost_rates *rates = rates_of(s->original);
    const matrix_facts *f = &state->facts;

    if (step->limit != LIMIT_BUDGET || state->remembered || !multigrid_follows(s, state)) { return false; }
    if (step->precond == TESS_PRECOND_NONE && is_flow(f)) { return true; }
    return least_iterations(f, step, s->options.rtol, s->options.precond.amg.near_nullspace_columns) *
               iteration_cost(rates, f, step) >
           multigrid_cost(rates, f);
}

/* Incomplete factors are left out where complete ones, which may follow, take little more than a trial, and multigrid
   where these suit the matrix better. */
static bool is_beaten(tess_solver *s, auto_solve *state, const ladder_step *step)
{
    const cost_rates *rates = rates_of(s->original);

    if (has_multigrid(step) && !state->remembered && is_unlike_multigrid(s, state)) {
        predict_direct(s);
        return is_unlike_multigrid(s, state);
    }

    /* Sorted: they come first. Of a saddle point the analysis alone takes longer than its blocks. */
    if (!direct_follows(state) || rates->sorts || state->remembered || has_multigrid(step)) { return false; }
    return !trial_pays(rates, &state->facts, step, least_direct_cost(rates, &state->facts)) &&
           !trial_pays(rates, &state->facts, step, predict_direct(s));
}

bool step_pays(tess_solver *s, const ladder_step *step)
{
    auto_solve *state = s->state;

    if (is_hopeless(s, state, step)) { return false; }
    return state->unanalysed || (!is_too_expensive(s, state, step) && !is_beaten(s, state, step));
}
