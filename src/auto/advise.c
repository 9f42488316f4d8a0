/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which methods suit a matrix. The automatic solve and who asks for advice go through the same list by the same
 * function: an answer differs from what a solve does only in steps that an analysis, too long for an answer, would
 * leave out, and where an attempt finds that the matrix is of another family.
 */
#include <tessera/advise.h>

#include <stdio.h>
#include <string.h>

#include "auto/auto.h"
#include "auto/device_choice.h"
#include "base/gpu_found.h"
#include "base/options.h"
#include "solver/solve_options.h"
#include "solver/transform.h"

/* Larger matrices have no analysis of complete factors made for advice. */
enum { MOST_ANALYSED_NONZEROS = 1 << 19 };

/* ---- what a solve does, too ---- */

void advise_list(tess_solver *s, auto_solve *state)
{
    state->found = family_of(&state->facts);
    state->next = 0;
    make_ladder(rates_of(s->original), state->found, &state->facts, &s->options, &state->ladder);
    recall_choice(s, state);
}

/* A step's order holds where it pays. */
static tess_status settle_order(const tess_solver *s, auto_solve *state)
{
    bool pays = true;
    tess_status status = TESS_SUCCESS;

    if (state->step.reorder == TESS_REORDERING_NONE) { return TESS_SUCCESS; }
    status = band_pays(s->original, &pays);
    if (!pays) { state->step.reorder = TESS_REORDERING_NONE; }
    return status;
}

/* On a GPU, where triangles would be next, or an inverse in their place: levels are counted, and what costs less goes
   before them. Until then triangles count as if they had none, so that steps that went before cost less in any case. */
static void order_by_levels(tess_solver *s, auto_solve *state)
{
    const cost_rates *rates = rates_of(s->original);
    const int first = state->remembered ? 2 : 1; /* steps before it stay where they are */
    const tess_error before = s->ctx->error;

    if (!rates->sorts || state->facts.levels > 0 || !waits_for_levels(&state->ladder.step[state->next])) { return; }
    if (find_levels(s->original, &state->facts) != TESS_SUCCESS) { s->ctx->error = before; }
    if (s->options.precond.kind == TESS_PRECOND_AUTO) {
        sort_steps(rates, &state->facts, state->next > first ? state->next : first, &state->ladder);
    }
}

tess_status advise_next(tess_solver *s, auto_solve *state, bool *found)
{
    *found = false;
    while (!*found && state->next < state->ladder.count) {
        order_by_levels(s, state);
        state->step = state->ladder.step[state->next++];
        *found = step_pays(s, &state->step);
    }
    return *found ? settle_order(s, state) : TESS_SUCCESS;
}

/* ---- why ---- */

static const char *why_of_precond(tess_precond_kind kind, bool fp32)
{
    switch (kind) {
    case TESS_PRECOND_NONE: return "no set-up";
    case TESS_PRECOND_JACOBI: return "little set-up";
    case TESS_PRECOND_AMG: return "multigrid: few iterations at any size";
    case TESS_PRECOND_SADDLE: return "the blocks of the saddle point, by multigrid: few iterations at any size";
    case TESS_PRECOND_CHOLESKY:
    case TESS_PRECOND_LU:
        return fp32 ? "complete factors: few iterations, with half the time and memory of fp64"
                    : "complete factors, where fp32 is not good enough";
    case TESS_PRECOND_FSAI: return "an approximate inverse: fewer iterations, and no triangles to solve";
    default: return "incomplete factors: fewer iterations";
    }
}

static void note_why(const ladder_step *step, bool remembered, bool doubted, tess_advised_attempt *out)
{
    const char *what = why_of_precond(step->precond, step->factors == TESS_PRECISION_FP32);

    if (is_substitution(step)) { what = "substitution: the factors are the matrix"; }
    if (step->limit == LIMIT_NONE) { what = "nothing else is left to try"; }
    if (remembered) { what = "it has solved this system before"; }
    (void)snprintf(out->why, sizeof out->why, "%s%s%s", what,
                   doubted && !remembered ? "; minres follows if the matrix is not positive definite" : "",
                   out->open ? "; if it pays beside complete factors" : "");
}

/* ---- answers ---- */

/* Nothing in the facts proves that the matrix is positive definite. */
static bool is_doubted(const auto_solve *state)
{
    return state->found == FAMILY_POSITIVE && state->facts.dominant_rows < state->facts.n &&
           state->step.solver == TESS_SOLVER_CG;
}

/* Steps that an analysis decides on. */
static bool is_open(const auto_solve *state)
{
    const tess_precond_kind kind = state->step.precond;

    return state->unanalysed && kind != TESS_PRECOND_NONE && kind != TESS_PRECOND_JACOBI &&
           !has_multigrid(&state->step) && !has_inverse(&state->step);
}

static void append(const auto_solve *state, tess_advice *out)
{
    const ladder_step *step = &state->step;
    tess_advised_attempt *attempt = &out->attempt[out->count];
    const bool first = out->count == 0;

    *attempt = (tess_advised_attempt){.solver = step->solver,
                                      .precond = step->precond,
                                      .factors = step->factors,
                                      .scale = step->scale,
                                      .reorder = step->reorder,
                                      .last = state->next == state->ladder.count,
                                      .open = is_open(state)};
    note_why(step, first && state->remembered, first && is_doubted(state), attempt);
    out->count++;
}

static tess_status list_attempts(tess_solver *s, auto_solve *state, tess_advice *out)
{
    bool found = true;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(find_facts(s->original, &state->facts));
    state->unanalysed = s->original->nnz > MOST_ANALYSED_NONZEROS;
    advise_list(s, state);
    explain_facts(state);
    (void)snprintf(out->why, sizeof out->why, "%.*s", (int)strcspn(state->why, "\n"), state->why);
    while (state->facts.finite && out->count < TESS_MOST_ADVISED) {
        TESS_TRY(advise_next(s, state, &found));
        if (!found) { break; }
        append(state, out);
    }
cleanup:
    direct_drop_analysis(s->original);
    return status;
}

/* ---- requests that are no list of attempts ---- */

static void name_one(tess_solver_kind solver, tess_precond_kind precond, const char *why, const tess_solve_options *o,
                     tess_advice *out)
{
    tess_advised_attempt *attempt = &out->attempt[0];
    const bool open = o->precond.kind == TESS_PRECOND_AUTO;

    *attempt = (tess_advised_attempt){.solver = solver,
                                      .precond = open ? precond : o->precond.kind,
                                      .scale = o->scale,
                                      .reorder = o->reorder,
                                      .last = 1};
    (void)snprintf(attempt->why, sizeof attempt->why, "%s", why);
    out->count = 1;
}

/* One method without a list: fixed runs, runs that repair nothing, requests for one recurrence, and shells. */
static tess_status name_single(tess_solver *s, auto_solve *state, tess_advice *out)
{
    const char *why = "the options, or a matrix without entries, ask for a single method";
    tess_solver_kind solver = TESS_SOLVER_BICGSTAB;
    tess_status status = TESS_SUCCESS;

    if (s->original->ops) {
        TESS_TRY(find_facts(s->original, &state->facts));
        if (state->facts.symmetric &&
            (state->facts.positive == state->facts.n || state->facts.negative == state->facts.n)) {
            solver = TESS_SOLVER_CG;
        }
    } else {
        solver = method_of_marks(&s->original->shell);
    }
    TESS_TRY(solver_require_recurrence(s, solver));
    name_one(solver, TESS_PRECOND_NONE, why, &s->options, out);
cleanup:
    return status;
}

/* A solver that the options name; least squares; a system that the options scale or reorder. */
static tess_status name_by_request(tess_solver *s, auto_solve *state, tess_advice *out)
{
    const tess_matrix *a = s->original;
    const tess_solve_options *o = &s->options;

    if (o->solver != TESS_SOLVER_AUTO) {
        const tess_status status = solver_require_recurrence(s, o->solver);

        if (status != TESS_SUCCESS) { return status; }
        name_one(o->solver, TESS_PRECOND_NONE, "the options name it", o, out);
    } else if (a->nrows != a->ncols) {
        (void)snprintf(out->why, sizeof out->why, "the matrix is not square");
        name_one(TESS_SOLVER_LSMR, a->ops ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE,
                 a->ops ? "least squares, with columns scaled to one size" : "least squares", o, out);
    } else if (wants_transform(o)) {
        name_one(TESS_SOLVER_AUTO, TESS_PRECOND_AUTO, "an automatic solve of the system that the options transform", o,
                 out);
    } else {
        return name_single(s, state, out);
    }
    return TESS_SUCCESS;
}

/* A preconditioner that the options name. Least squares judge theirs by the options. */
static tess_status examine_named(const tess_matrix *a, const tess_precond_options *o)
{
    if (o->kind == TESS_PRECOND_AUTO || a->nrows != a->ncols) { return TESS_SUCCESS; }
    return tess_precond_examine(a, o);
}

/* A solver that has what the list depends on, and nothing else. What a solve refuses is refused. */
static tess_status advise_for(const tess_matrix *a, const tess_solve_options *options, tess_solver *s,
                              auto_solve *state, tess_advice *out)
{
    tess_status status = TESS_SUCCESS;

    s->ctx = a->ctx;
    s->original = a;
    s->state = state;
    TESS_TRY(solver_require_fit(a, NULL, options));
    TESS_TRY(solver_take_request(a, NULL, options, &s->options, &s->papers));
    TESS_TRY(solve_options_take(a->ctx, options, &s->options, &s->papers)); /* without the method of the shape */
    TESS_TRY(examine_named(a, &s->options.precond));
    if (solver_automatic.takes(a, NULL, &s->options)) { return list_attempts(s, state, out); }
    status = name_by_request(s, state, out);
cleanup:
    return status;
}

void tess_advice_init_sized(tess_advice *advice, size_t size)
{
    result_init(advice, size);
}

tess_status tess_advise(const tess_matrix *a, const tess_solve_options *options, tess_advice *out)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, out);
    tess_solver *s = NULL;
    auto_solve *state = NULL;
    tess_advice *full = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(result_require_size(a->ctx, "tess_advice", out->size, sizeof *full));
    TESS_TRY(tess_host_allocate(a->ctx, 1, sizeof *s, (void **)&s));
    TESS_TRY(tess_host_allocate(a->ctx, 1, sizeof *state, (void **)&state));
    TESS_TRY(tess_host_allocate(a->ctx, 1, sizeof *full, (void **)&full));
    memset(s, 0, sizeof *s);
    memset(state, 0, sizeof *state);
    tess_advice_init(full);
    TESS_TRY(advise_for(a->original ? a->original : a, options, s, state, full));
    result_return(full, out);
cleanup:
    tess_host_release(a->ctx, s, 1, sizeof *s);
    tess_host_release(a->ctx, state, 1, sizeof *state);
    tess_host_release(a->ctx, full, 1, sizeof *full);
    return status;
}

tess_status tess_advised_options(const tess_advised_attempt *attempt, tess_solve_options *options)
{
    TESS_REQUIRE(NULL, attempt);
    TESS_REQUIRE(NULL, options);
    const ladder_step step = {.solver = attempt->solver,
                              .precond = attempt->precond,
                              .factors = attempt->factors,
                              .scale = attempt->scale,
                              .reorder = attempt->reorder};

    if (options->precond.kind != attempt->precond) {
        options->precond.kind = TESS_PRECOND_AUTO;
    } /* else the caller's */
    step_request(&step, options);
    return TESS_SUCCESS;
}

/* ---- host or GPU ---- */

tess_status tess_advise_device(int64_t nrows, int64_t nnz, int started, tess_device *device,
                               char why[TESS_ADVICE_LENGTH])
{
    char unread[TESS_ADVICE_LENGTH];

    if (!device || nrows < 0 || nnz < 0) { return TESS_INVALID_ARGUMENT; }
    if (!why) { why = unread; }
    why[0] = '\0';
    *device = tess_gpu_is_found() ? choose_device_by_rates(nrows, nnz, started != 0, why, TESS_ADVICE_LENGTH)
                                  : TESS_DEVICE_AUTO;
    return TESS_SUCCESS;
}
