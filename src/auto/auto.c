/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solve as a ladder of attempts. Each is a solver of its own, with the caller's limits, on the best x so far. The
 * first one that is verified ends the solve and is kept for the next.
 */
#include "auto/auto.h"

#include <math.h>
#include <string.h>

#include "base/options.h"
#include "solver/extension.h"
#include "solver/solve_options.h"

static auto_solve *state_of(const tess_solver *s)
{
    return s->driven;
}

/* Fixed runs, runs that repair nothing, and requests for one recurrence or for a study of the papers are single solves.
 */
static bool takes(const tess_matrix *a, const tess_solve_options *o)
{
    const bool fixed = o->rtol == 0.0 && o->atol == 0.0;

    return o->solver == TESS_SOLVER_AUTO && a->ops && !fixed && o->guard == TESS_GUARD_REPAIR &&
           solve_options_recurrence(o) == TESS_RECURRENCE_AUTO && !tess_find_extension(o);
}

/* ---- set-up ---- */

static void drop_solver(auto_solve *state)
{
    tess_solver_destroy(state->solver);
    state->solver = NULL;
    state->reused = false;
}

static tess_status setup(tess_solver *s)
{
    auto_solve *state = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(s->ctx, 1, sizeof *state, (void **)&state));
    memset(state, 0, sizeof *state);
    s->driven = state;
    s->history_capacity = s->options.history_capacity;
    if (s->history_capacity - 1 > s->options.max_iterations) { s->history_capacity = s->options.max_iterations + 1; }
    status = tess_host_allocate(s->ctx, s->history_capacity, sizeof(double), (void **)&s->host_history);
cleanup:
    return status;
}

static void destroy(tess_solver *s)
{
    if (!s->driven) { return; }
    drop_solver(s->driven);
    tess_host_release(s->ctx, s->driven, 1, sizeof(auto_solve));
    s->driven = NULL;
}

/* Facts and ladder, once per version of the values. */
static tess_status look(tess_solver *s)
{
    auto_solve *state = state_of(s);
    const double start = tess_wall_seconds();
    tess_status status = TESS_SUCCESS;

    state->looked_seconds = 0.0;
    if (state->values_version == s->original->values_version && state->solver) { return TESS_SUCCESS; }
    TESS_TRY(find_facts(s->original, &state->facts));
    state->found = family_of(&state->facts);
    if (state->solver && state->found == state->ladder.family) { goto cleanup; } /* the winner may do again */
    drop_solver(state);
    make_ladder(state->found, &state->facts, &s->options, &state->ladder);
    recall_choice(s, state);
    state->next = 0;
cleanup:
    if (status == TESS_SUCCESS) { state->values_version = s->original->values_version; }
    state->looked_seconds = tess_wall_seconds() - start;
    return status;
}

/* ---- one attempt ---- */

void step_options(const tess_solver *s, const ladder_step *step, tess_solve_options *out)
{
    *out = s->options;
    out->solver = step->solver;
    out->scale = step->scale;
    if (s->options.precond.kind == TESS_PRECOND_AUTO) {
        out->precond.kind = step->precond;
        if (step->precond != TESS_PRECOND_NONE && step->precond != TESS_PRECOND_JACOBI) {
            out->precond.role = (tess_role_precision){
                .given = 1, .storage = step->factors, .arithmetic = TESS_ARITHMETIC_FP64};
        }
    }
}

/* The least cost of the direct steps still to come: INFINITY if there is none. */
static tess_status cost_of_others(const tess_solver *s, auto_solve *state, double *cost)
{
    const ladder *l = &state->ladder;
    tess_status status = TESS_SUCCESS;

    *cost = INFINITY;
    for (int i = state->next; i < l->count && isinf(*cost); i++) {
        if (l->step[i].limit != LIMIT_DIRECT) { continue; }
        TESS_TRY(find_width(s->original, &state->facts));
        *cost = direct_cost(&state->facts, l->family != FAMILY_GENERAL);
    }
cleanup:
    return status;
}

static tess_status start_budget(const tess_solver *s, auto_solve *state, const ladder_step *step, int64_t before,
                                double start)
{
    attempt_budget *b = &state->budget;
    tess_status status = TESS_SUCCESS;

    *b = (attempt_budget){.monitor = s->options.monitor,
                          .user = s->options.monitor_user,
                          .before = before,
                          .start = start,
                          .limited = step->limit == LIMIT_BUDGET && state->next < state->ladder.count,
                          .per_iteration = iteration_cost(&state->facts, step),
                          .other = INFINITY};
    budget_start(b);
    if (b->limited) { TESS_TRY(cost_of_others(s, state, &b->other)); }
cleanup:
    return status;
}

/* The solver of a step, or the one that is kept. A step that cannot be set up gives state->solver == NULL, with the
   reason in the attempt. */
static tess_status open_solver(const tess_solver *s, auto_solve *state, tess_attempt *attempt)
{
    tess_solve_options o;
    tess_status status = TESS_SUCCESS;

    step_options(s, &state->step, &o);
    o.monitor = budget_monitor;
    o.monitor_user = &state->budget;
    o.max_iterations = s->options.max_iterations - state->budget.before;
    if (o.max_iterations < 1) { o.max_iterations = 1; }
    if (state->solver) { return tess_solver_set_limits(state->solver, &o); }
    status = tess_solver_create(s->original, &o, &state->solver);
    if (status == TESS_SUCCESS) { return TESS_SUCCESS; }
    attempt->status = status;
    state->error = s->ctx->error;
    return TESS_SUCCESS;
}

static void record(auto_solve *state, const tess_solve_result *r, tess_attempt *attempt)
{
    attempt->left = state->budget.left && !r->converged;
    attempt->reason = r->reason;
    attempt->iterations = r->iterations;
    attempt->relative_residual = r->relative_residual;
    attempt->setup_seconds = state->reused ? 0.0 : r->setup_seconds;
    attempt->solve_seconds = r->solve_seconds;
    state->note[attempt - state->attempt].remaining = state->budget.remaining;
}

/* The estimates of this attempt follow those of the ones before. */
static void append_history(tess_solver *s, int64_t before, const tess_solve_result *one, tess_solve_result *all)
{
    for (int64_t i = 0; i < one->history_length && before + i < s->history_capacity; i++) {
        if (before > 0 && i == 0) { continue; } /* x is the same as at the end of the attempt before */
        s->host_history[before + i] = one->history[i];
        all->history_length = before + i + 1;
    }
}

static tess_status attempt_once(tess_solver *s, const tess_vector *b, tess_vector *x, double start,
                                tess_solve_result *all)
{
    auto_solve *state = state_of(s);
    tess_attempt *attempt = &state->attempt[state->nattempts];
    tess_solve_result one;
    const int64_t before = all->iterations, kept = all->history_length;
    tess_status status = TESS_SUCCESS;

    *attempt = (tess_attempt){.solver = state->step.solver,
                              .precond = state->step.precond,
                              .factors = state->step.factors,
                              .scale = state->step.scale};
    state->nattempts++;
    TESS_TRY(start_budget(s, state, &state->step, before, start));
    TESS_TRY(open_solver(s, state, attempt));
    if (!state->solver) { return TESS_SUCCESS; }
    tess_solve_result_init(&one);
    TESS_TRY(tess_solver_solve(state->solver, b, x, &one));
    record(state, &one, attempt);
    if (one.reason == TESS_REASON_PRECOND_SETUP) { state->error = s->ctx->error; }
    one.setup_seconds = all->setup_seconds + attempt->setup_seconds;
    one.iterations += before;
    one.refinements += all->refinements;
    append_history(s, before, &one, all);
    one.history_length = all->history_length > kept ? all->history_length : kept;
    one.history = s->host_history;
    *all = one;
cleanup:
    return status;
}

/* ---- the ladder ---- */

/* A method that needs a positive definite matrix found out that this one is not: the family changes once. */
static void change_family(tess_solver *s, auto_solve *state, tess_reason reason)
{
    const bool wrong = reason == TESS_REASON_INDEFINITE_MATRIX || reason == TESS_REASON_NONSYMMETRIC;

    if (!wrong || state->ladder.family == FAMILY_GENERAL) { return; }
    make_ladder(state->ladder.family == FAMILY_POSITIVE && reason == TESS_REASON_INDEFINITE_MATRIX ? FAMILY_INDEFINITE
                                                                                                   : FAMILY_GENERAL,
                &state->facts, &s->options, &state->ladder);
    state->next = 0;
}

/* Whether nothing can follow: the caller's limits, or numbers that no method mends. */
static bool is_final(const tess_solver *s, const auto_solve *state, const tess_solve_result *r)
{
    return r->converged || state->budget.cancelled || state->nattempts == MAX_ATTEMPTS ||
           r->iterations >= s->options.max_iterations ||
           (r->reason == TESS_REASON_NAN_OR_INF && !state->facts.finite) || !isfinite(r->rhs_norm);
}

static bool take_step(auto_solve *state)
{
    if (state->next >= state->ladder.count) { return false; }
    drop_solver(state);
    state->step = state->ladder.step[state->next++];
    return true;
}

static tess_status climb(tess_solver *s, const tess_vector *b, tess_vector *x, double start, tess_solve_result *all)
{
    auto_solve *state = state_of(s);
    tess_status status = TESS_SUCCESS;

    if (!state->solver && !take_step(state)) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "name a solver", "no method of this build fits the options");
    }
    for (;;) {
        const int tried = state->nattempts;

        TESS_TRY(attempt_once(s, b, x, start, all));
        if (state->solver && is_final(s, state, all)) { break; }
        if (state->reused) { state->next = 0; } /* it does not do for these values or this b: from the first step */
        if (state->solver) { change_family(s, state, state->attempt[tried].reason); }
        if (state->nattempts == MAX_ATTEMPTS || !take_step(state)) { break; }
    }
    if (all->size == 0) { /* no attempt could be set up */
        s->ctx->error = state->error;
        status = state->error.status;
    }
cleanup:
    return status;
}

static tess_status solve(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result)
{
    auto_solve *state = state_of(s);
    const double start = tess_wall_seconds();
    tess_solve_result all;
    tess_status status = TESS_SUCCESS;

    state->nattempts = 0;
    state->why[0] = '\0';
    memset(&all, 0, sizeof all);
    TESS_TRY(look(s));
    TESS_TRY(climb(s, b, x, start, &all));
    all.setup_seconds += state->looked_seconds;
    all.solve_seconds = tess_wall_seconds() - start - all.setup_seconds;
    if (state->budget.left && !all.converged) { all.reason = TESS_REASON_STAGNATION; } /* no budget is the last one */
    explain(state, &all);
    if (all.converged && !state->reused) { store_choice(s, state); }
    state->reused = all.converged && state->solver;
    *result = all;
cleanup:
    return status;
}

/* ---- questions ---- */

static int attempts(const tess_solver *s, const tess_attempt **out)
{
    *out = state_of(s)->attempt;
    return state_of(s)->nattempts;
}

static const char *why(const tess_solver *s)
{
    return state_of(s)->why;
}

static tess_status chosen(const tess_solver *s, tess_solve_options *out)
{
    const auto_solve *state = state_of(s);

    if (state->nattempts > 0) { step_options(s, &state->step, out); }
    return TESS_SUCCESS;
}

const tess_solver_driver tess_driver_automatic = {.takes = takes,
                                                  .setup = setup,
                                                  .destroy = destroy,
                                                  .solve = solve,
                                                  .attempts = attempts,
                                                  .why = why,
                                                  .chosen = chosen};
