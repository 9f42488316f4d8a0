/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solve as a ladder of attempts. Each is a solver of its own, with the caller's limits, on the best x so far. The
 * first one that is verified ends the solve and is kept for the next.
 */
#include "auto/auto.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "auto/history.h"
#include "base/deadline.h"
#include "base/options.h"
#include "solver/extension.h"
#include "solver/solve_options.h"
#include "solver/transform.h"
#include "solver/verify.h"

static auto_solve *state_of(const tess_solver *s)
{
    return s->state;
}

static bool on_gpu(const tess_solver *s)
{
    return s->ctx->device == TESS_DEVICE_GPU;
}

/* Fixed runs, runs that repair nothing, and requests for one recurrence or for a study of the papers are single solves.
   A system that the caller scales or reorders comes here when it is transformed. */
static bool takes(const tess_matrix *a, const tess_precond *given, const tess_solve_options *o)
{
    const bool fixed = o->rtol == 0.0 && o->atol == 0.0;

    return !given && o->solver == TESS_SOLVER_AUTO && !wants_transform(o) && a->ops && a->nrows == a->ncols && !fixed &&
           o->guard == TESS_GUARD_REPAIR && solve_options_recurrence(o) == TESS_RECURRENCE_AUTO &&
           !tess_find_extension(o);
}

/* ---- one attempt ---- */

static void drop_solver(auto_solve *state)
{
    tess_solver_destroy(state->solver);
    state->solver = NULL;
    state->reused = false;
}

static tess_attempt *begin_attempt(auto_solve *state)
{
    tess_attempt *attempt = &state->attempt[state->nattempts];

    *attempt = (tess_attempt){.solver = state->step.solver,
                              .precond = state->step.precond,
                              .factors = state->step.factors,
                              .scale = state->step.scale,
                              .reorder = state->step.reorder};
    return attempt;
}

/* The last attempt was not possible. */
static void note_failure(const tess_solver *s, auto_solve *state, tess_status status)
{
    const int last = state->nattempts - 1;

    state->error = s->ctx->error;
    state->attempt[last].status = status;
    (void)snprintf(state->note[last].failure, FAILURE_LENGTH, "%.*s", FAILURE_LENGTH - 1, state->error.message);
}

/* Goes up to the next step that can be set up; state->solver is NULL if there is none. Others are recorded. */
static tess_status climb_to_next(tess_solver *s, auto_solve *state)
{
    const double start = tess_wall_seconds();
    bool found = true;
    tess_status status = TESS_SUCCESS;

    drop_solver(state);
    while (!state->solver && state->next < state->ladder.count && state->nattempts < MAX_ATTEMPTS) {
        TESS_TRY(advise_next(s, state, &found));
        if (!found) { break; }
        status = step_create_solver(s, state);
        if (status == TESS_SUCCESS) { status = refuse_for_time(s, state); }
        if (status == TESS_SUCCESS) { status = refuse_levels(s, state); }
        if (status == TESS_SUCCESS) { break; }
        if (!may_skip(&state->step, status)) { goto cleanup; }
        (void)begin_attempt(state);
        state->nattempts++;
        note_failure(s, state, status);
    }
    status = TESS_SUCCESS;
    state->setup_seconds += tess_wall_seconds() - start;
cleanup:
    return status;
}

/* ---- set-up ---- */

/* Facts, ladder and the first solver, once per version of the values. A solver that has won before stays. */
static tess_status look(tess_solver *s, auto_solve *state)
{
    tess_status status = TESS_SUCCESS;

    if (state->solver && state->values_version == s->original->values_version) { return TESS_SUCCESS; }
    if (state->repeated.factors) { drop_solver(state); } /* other values may not come as often */
    repeated_forget(state);
    TESS_TRY(find_facts(s->original, &state->facts));
    if (!state->facts.finite) { /* no method has an answer: none is set up */
        drop_solver(state);
        state->values_version = s->original->values_version;
        return TESS_SUCCESS;
    }
    TESS_TRY(find_parts(s, state));
    state->predicted = false;
    storage_forget(state, s);
    if (!state->solver || state->found != family_of(&state->facts)) {
        state->nattempts = 0;
        advise_list(s, state);
        TESS_TRY(climb_to_next(s, state));
    }
    state->values_version = s->original->values_version;
cleanup:
    return status;
}

static tess_status setup(tess_solver *s)
{
    auto_solve *state = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(s->ctx, 1, sizeof *state, (void **)&state));
    memset(state, 0, sizeof *state);
    s->state = state;
    TESS_TRY(solver_allocate_history(s));
    TESS_TRY(look(s, state));
    if (state->solver || !state->facts.finite) { return TESS_SUCCESS; }
    s->ctx->error = state->error;
    status = state->nattempts > 0
                 ? state->error.status
                 : tess_fail(s->ctx, TESS_UNSUPPORTED, "name a solver", "no method of this build fits the options");
cleanup:
    return status;
}

static void destroy(tess_solver *s)
{
    if (!s->state) { return; }
    drop_solver(s->state);
    drop_parts(s, s->state);
    tess_host_release(s->ctx, s->state, 1, sizeof(auto_solve));
    s->state = NULL;
}

/* ---- a solve ---- */

/* Where no x meets the tolerance, attempts look for the least residual: so many, with so many iterations each, until
   one is as near to it as this. */
enum { MOST_UNREACHABLE = 1000, MOST_UNREACHABLE_ATTEMPTS = 3 };
#define NEAR_LEAST 1.02
/* An attempt with a budget takes half of the iterations that the caller allows, but may take so many. */
enum { LEAST_LEFT = 1000 };
/* Complete factors that need more iterations than this are not good enough. */
enum { MOST_DIRECT = 100 };

/* The caller's present limits, less the iterations of earlier attempts. */
static tess_status limit_solver(const tess_solver *s, auto_solve *state, int64_t before)
{
    tess_solve_options o;

    step_options(s, &state->step, &o);
    o.monitor = budget_monitor;
    if (on_gpu(s) && !s->options.monitor) { o.monitor = NULL; } /* which calls it at its own pace */
    o.monitor_user = &state->budget;
    o.max_iterations = s->options.max_iterations - before;
    if (state->step.limit == LIMIT_DIRECT && o.max_iterations > MOST_DIRECT) { o.max_iterations = MOST_DIRECT; }
    if (state->budget.limited && o.max_iterations > LEAST_LEFT) { /* some are left for the steps that follow */
        o.max_iterations = o.max_iterations / 2 > LEAST_LEFT ? o.max_iterations / 2 : LEAST_LEFT;
    }
    if (state->unreachable > 0.0 && o.max_iterations > MOST_UNREACHABLE) { o.max_iterations = MOST_UNREACHABLE; }
    if (state->budget.cap > 0 && o.max_iterations > state->budget.cap) { o.max_iterations = state->budget.cap; }
    return tess_solver_set_limits(state->solver, &o);
}

static void record(auto_solve *state, const tess_solve_result *r, tess_attempt *attempt)
{
    const attempt_budget *b = &state->budget;
    const bool capped = b->cap > 0 && r->reason == TESS_REASON_ITERATIONS && r->iterations >= b->cap;

    attempt->left = (b->left || capped) && !r->converged;
    attempt->reason = attempt->left ? TESS_REASON_CANCELLED : r->reason;
    attempt->iterations = r->iterations;
    attempt->relative_residual = r->relative_residual;
    attempt->format = r->storage.format;
    attempt->matrix = r->storage.precision;
    attempt->setup_seconds = state->reused ? 0.0 : r->setup_seconds;
    attempt->solve_seconds = r->solve_seconds;
    state->note[attempt - state->attempt].remaining = state->budget.remaining;
}

static tess_status attempt_once(tess_solver *s, const tess_vector *b, tess_vector *x, double start,
                                tess_solve_result *all)
{
    auto_solve *state = state_of(s);
    tess_attempt *attempt = begin_attempt(state);
    const int64_t before = all->iterations;
    method_solver *const running = solver_running(state->solver);
    const tess_matrix *const stored = running ? method_look(running).stored : NULL;
    tess_solve_result one;
    tess_status status = TESS_SUCCESS;

    state->nattempts++;
    begin_budget(s, before, start);
    TESS_TRY(limit_solver(s, state, before));
    if (running) { method_lend_parts(running, &state->null); }
    tess_solve_result_init(&one);
    TESS_TRY(tess_solver_solve(state->solver, b, x, &one));
    if (running && method_look(running).stored != stored) { /* storage.c changed it */
        describe_storage(s->original, method_look(running).stored, &one);
        one.resident_bytes += one.storage.matrix_bytes;
    }
    record(state, &one, attempt);
    history_append(s, &one, all);
cleanup:
    return status;
}

/* A method that needs a positive definite matrix found out that this one is not: the ladder changes. */
static void change_family(tess_solver *s, auto_solve *state, tess_reason reason)
{
    const matrix_family now = state->ladder.family;
    matrix_family family = now;

    if (reason == TESS_REASON_INDEFINITE_MATRIX && now == FAMILY_POSITIVE) { family = FAMILY_INDEFINITE; }
    if (reason == TESS_REASON_NONSYMMETRIC) { family = FAMILY_GENERAL; }
    if (family == now) { return; }
    make_ladder(rates_of(s->original), family, &state->facts, &s->options, &state->ladder);
    state->next = 0;
}

/* Whether more attempts find no better x of a system without a solution. */
static bool is_least(const auto_solve *state, const tess_solve_result *r)
{
    return state->unreachable > 0.0 &&
           (r->relative_residual <= NEAR_LEAST * state->unreachable || state->nattempts >= MOST_UNREACHABLE_ATTEMPTS);
}

/* An x is as good as FP64 has it, where its row-wise backward error is at most so many roundings and the norm that
   decides is still so many times its tolerance: rounding x alone leaves one of a rounding or less. */
#define ROUNDINGS 2.0
#define TIMES_TOLERANCE 16.0

/* Whether x solves a system whose entries differ by roundings, after an attempt that found no better one: others have
   no better one either. */
static bool is_as_rounding_has_it(const tess_solve_result *r)
{
    const tess_row_residual *rows = &r->rows;
    const bool far = r->residual_norm > TIMES_TOLERANCE * r->tolerance ||
                     (r->stop_norm != TESS_STOP_NORM_GIVEN && rows->norm > TIMES_TOLERANCE * rows->tolerance);

    return r->reason == TESS_REASON_STAGNATION && far &&
           rows->backward_error + rows->backward_bound <= ROUNDINGS * TESS_U64;
}

static bool has_wanted_backward(const auto_solve *state, const tess_solve_result *r)
{
    return state->backward > 0.0 && r->rows.backward_error + r->rows.backward_bound <= state->backward;
}

void auto_set_backward(tess_solver *s, double backward)
{
    if (s->ops == &solver_automatic) { state_of(s)->backward = backward; }
}

/* Whether nothing can follow: the caller's limits, or numbers that no method mends. */
static bool is_final(const tess_solver *s, const auto_solve *state, const tess_solve_result *r)
{
    const bool late = r->reason == TESS_REASON_TIME_LIMIT && tess_seconds_left(s->ctx) <= 0.0; /* else factors alone */

    return r->converged || late || r->reason == TESS_REASON_INTERRUPTED || state->budget.cancelled ||
           is_least(state, r) || has_wanted_backward(state, r) || is_as_rounding_has_it(r) ||
           state->nattempts == MAX_ATTEMPTS || r->iterations >= s->options.max_iterations ||
           (r->reason == TESS_REASON_NAN_OR_INF && !state->facts.finite) || !isfinite(r->rhs_norm);
}

/* What a step's library reported within the solve is recorded. The next step goes on from x, if that is finite. */
static tess_status pass_over(tess_solver *s, auto_solve *state, tess_status failed, tess_vector *x)
{
    double norm = 0.0;
    tess_status status = TESS_SUCCESS;

    if (!may_skip(&state->step, failed) || state->next >= state->ladder.count) { return failed; }
    note_failure(s, state, failed);
    TESS_TRY(tess_vector_norm2(x, TESS_ARITHMETIC_FP64, &norm));
    if (!isfinite(norm)) { status = tess_vector_fill(x, 0.0); }
cleanup:
    return status;
}

/* The attempts of a solve; the first uses the solver that is there. */
static tess_status climb(tess_solver *s, const tess_vector *b, tess_vector *x, double start, tess_solve_result *all)
{
    auto_solve *state = state_of(s);
    tess_status status = TESS_SUCCESS;

    if (state->reused) { state->nattempts = 0; }
    while (state->solver) {
        const int tried = state->nattempts;
        const tess_status failed = attempt_once(s, b, x, start, all);

        if (failed != TESS_SUCCESS) { TESS_TRY(pass_over(s, state, failed, x)); }
        if (failed == TESS_SUCCESS && is_final(s, state, all)) { break; }
        if (state->reused) { state->next = 0; } /* the old winner does not do any more: from the first step */
        state->reused = false;
        change_family(s, state, state->attempt[tried].reason);
        TESS_TRY(climb_to_next(s, state));
    }
    if (all->size == 0 && state->nattempts > 0) { /* no attempt has an x */
        s->ctx->error = state->error;
        status = state->error.status;
    }
cleanup:
    return status;
}

static tess_status start_climb(tess_solver *s, auto_solve *state, const tess_vector *b)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(find_unreachable(s, state, b));
    if (state->solver) { return TESS_SUCCESS; }
    make_ladder(rates_of(s->original), state->found, &state->facts, &s->options, &state->ladder);
    state->next = state->nattempts = 0;
    status = climb_to_next(s, state);
cleanup:
    return status;
}

/* NaN or Inf in the matrix: the result says so, no attempt is made, and x stays. */
static tess_status refuse_numbers(tess_solver *s, const tess_vector *b, const tess_vector *x, double start,
                                  tess_solve_result *r)
{
    auto_solve *state = state_of(s);
    tess_vector *residual = NULL;
    true_residual now;
    tess_status status = TESS_SUCCESS;

    state->nattempts = 0;
    explain_facts(state);
    state->why[strcspn(state->why, "\n")] = '\0';
    tess_solve_result_init(r);
    describe_storage(s->original, s->original, r);
    r->engine = TESS_ENGINE_PLAIN;
    r->setup_seconds = s->setup_seconds;
    r->resident_bytes = r->storage.matrix_bytes + 3 * s->original->nrows * (int64_t)sizeof(double); /* b, x, b - A x */
    r->estimated_residual_norm = (double)NAN;
    TESS_TRY(tess_vector_create(s->ctx, b->n, TESS_PRECISION_FP64, &residual));
    TESS_TRY(verify_residual(s->original, b->data, x->data, residual->data, &now));
    verify_set_tolerances(&s->options, &now, r);
    finish_result(s, &now, TESS_REASON_NAN_OR_INF, start, r);
cleanup:
    tess_vector_destroy(residual);
    return status;
}

static tess_status solve(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result)
{
    auto_solve *state = state_of(s);
    const double start = tess_wall_seconds();
    tess_solve_result all;
    tess_status status = TESS_SUCCESS;

    state->why[0] = '\0';
    state->setup_seconds = 0.0;
    memset(&all, 0, sizeof all);
    TESS_TRY(look(s, state));
    if (!state->facts.finite) { return refuse_numbers(s, b, x, start, result); }
    TESS_TRY(start_climb(s, state, b)); /* the last solve may have used up the ladder */
    TESS_TRY(repeated_take_factors(s, state));
    TESS_TRY(climb(s, b, x, start, &all));
    all.setup_seconds = s->setup_seconds + state->setup_seconds; /* at creation, and within this solve */
    all.solve_seconds = tess_wall_seconds() - start - state->setup_seconds;
    if ((state->budget.left || (state->unreachable > 0.0 && all.reason == TESS_REASON_ITERATIONS)) && !all.converged) {
        all.reason = TESS_REASON_STAGNATION;
    } /* no step was left to take */
    explain(s, state, &all);
    if (all.converged && !state->reused) { store_choice(s, state); }
    direct_drop_analysis(s->original); /* of a prediction that no factors followed */
    state->reused = state->solver != NULL;
    if (!repeated_note(state, &all)) {
        drop_solver(state);
        state->repeated = (repeated_solves){.cost = INFINITY};
    }
    *result = all;
cleanup:
    return status;
}

/* ---- questions ---- */

static void describe(const tess_solver *s, tess_solve_result *r)
{
    if (state_of(s)->solver) { describe_solver(state_of(s)->solver, r); }
}

static tess_status last_iterate(const tess_solver *s, tess_vector *x)
{
    return state_of(s)->solver ? solver_last_iterate(state_of(s)->solver, x) : TESS_SUCCESS;
}

static const tess_precond *precond(const tess_solver *s)
{
    return tess_solver_precond(state_of(s)->solver);
}

static method_solver *running(const tess_solver *s)
{
    return solver_running(state_of(s)->solver);
}

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

const tess_solver_ops solver_automatic = {.takes = takes,
                                          .setup = setup,
                                          .destroy = destroy,
                                          .solve = solve,
                                          .describe = describe,
                                          .last_iterate = last_iterate,
                                          .precond = precond,
                                          .running = running,
                                          .attempts = attempts,
                                          .why = why,
                                          .chosen = chosen};
