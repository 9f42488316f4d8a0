/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many right-hand sides, one after another, with one matrix: when iterations have taken as long as complete factors
 * would, the factors are computed, and applied from then on. So all solves take at most about twice as long as with the
 * better choice from the beginning, however many there are (Karlin, Manasse, Rudolph, Sleator, Algorithmica 3 (1988)).
 */
#include <math.h>

#include "auto/auto.h"

/* Before that time for each entry no analysis is made; after it, factors cost about twice the analysis and so many
   seconds for each operation. Bytes of factors that an application reads in a second. */
#define ANALYSIS_SECONDS 0.5e-6
#define BYTES_PER_SECOND 4e9
/* Solves that show what an application takes. */
enum { LEAST_APPLICATIONS = 3 };

void repeated_forget(auto_solve *state)
{
    state->repeated = (repeated_solves){.cost = 0.0};
}

static bool is_complete(const ladder_step *step)
{
    return step->precond == TESS_PRECOND_LU || step->precond == TESS_PRECOND_CHOLESKY;
}

/* On a host, where the caller leaves the choice, and factors can follow. */
static bool may_take(const tess_solver *s, const auto_solve *state)
{
    return state->reused && s->ctx->device == TESS_DEVICE_CPU && s->options.precond.kind == TESS_PRECOND_AUTO &&
           !is_complete(&state->step) && state->unreachable == 0.0 && state->repeated.solves > 0 &&
           state->repeated.cost < INFINITY;
}

/* The mean time of a solve without factors. */
static double mean_seconds(const repeated_solves *r)
{
    return r->seconds / (double)r->solves;
}

/* What factors cost, by an analysis; INFINITY: there are none, or their application takes longer than a solve. */
static tess_status find_cost(const tess_solver *s, auto_solve *state)
{
    const double start = tess_wall_seconds();
    direct_prediction found;
    double seconds = 0.0;
    tess_status status = TESS_SUCCESS;

    state->repeated.cost = INFINITY;
    TESS_TRY(direct_predict(s->original, false, TESS_PRECISION_FP64, s->options.precond.direct.memory_limit, &found));
    seconds = tess_wall_seconds() - start;
    if (!found.possible || (double)found.bytes / BYTES_PER_SECOND > mean_seconds(&state->repeated)) {
        return TESS_SUCCESS;
    }
    state->repeated.cost = 2.0 * seconds + found.flops * direct_flop_seconds();
cleanup:
    return status;
}

/* The solver with factors in the place of the one that iterates, which comes back if there are none. */
static tess_status change_solver(const tess_solver *s, auto_solve *state)
{
    const ladder_step step = {.solver = TESS_SOLVER_BICGSTAB,
                              .precond = TESS_PRECOND_LU,
                              .factors = TESS_PRECISION_FP64,
                              .limit = LIMIT_DIRECT};
    const ladder_step before = state->step;
    const tess_error error = s->ctx->error;
    tess_solver *const iterating = state->solver;
    const double start = tess_wall_seconds();
    tess_status status = TESS_SUCCESS;

    state->solver = NULL;
    state->step = step;
    status = step_create_solver(s, state);
    if (status != TESS_SUCCESS) {
        state->solver = iterating;
        state->step = before;
        state->repeated.cost = INFINITY;
        s->ctx->error = error;
        return may_skip(&step, status) ? TESS_SUCCESS : status;
    }
    tess_solver_destroy(iterating);
    state->repeated.factors = true;
    state->setup_seconds += tess_wall_seconds() - start;
    return TESS_SUCCESS;
}

tess_status repeated_take_factors(const tess_solver *s, auto_solve *state)
{
    const double least = ANALYSIS_SECONDS * (double)s->original->nnz;
    tess_status status = TESS_SUCCESS;

    if (!may_take(s, state) || state->repeated.seconds < least) { return TESS_SUCCESS; }
    if (state->repeated.cost == 0.0) { TESS_TRY(find_cost(s, state)); }
    if (state->repeated.seconds >= state->repeated.cost) { status = change_solver(s, state); }
cleanup:
    return status;
}

bool repeated_note(auto_solve *state, const tess_solve_result *all)
{
    repeated_solves *const r = &state->repeated;

    if (!all->converged) { return true; }
    if (!r->factors) {
        r->solves++;
        r->seconds += all->solve_seconds;
        return true;
    }
    r->applications++;
    r->least_seconds = r->applications == 1 ? all->solve_seconds : fmin(r->least_seconds, all->solve_seconds);
    return r->applications != LEAST_APPLICATIONS || r->least_seconds <= mean_seconds(r);
}
