/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solve to a wanted error of x: a solver of any method, which solves to a tolerance; then the error is estimated, and
 * the same solver goes on from x with a smaller tolerance until the estimate is small enough, or no more can be had.
 */
#include "auto/accuracy.h"

#include <math.h>
#include <string.h>

#include "auto/history.h"

/* The first tolerance over the wanted error, and the next ones over what the last estimate asks for. */
#define FIRST_SHARE 0.1
#define NEXT_SHARE 0.5
/* A forward error of half of this or more is none: x has no digit. */
#define LEAST_TOLERANCE 0.1
enum { MOST_STAGES = 6, MOST_LANCZOS = 20000 };

static bool takes(const tess_matrix *a, const tess_precond *given, const tess_solve_options *o)
{
    (void)given; /* create has refused one */
    return wants_accuracy(o) && a->ops;
}

/* ---- set-up ---- */

static int watch(void *user, const tess_progress *progress)
{
    const tess_solver *s = user;
    accuracy_solve *state = accuracy_of(s);

    lanczos_note(state->noted, solver_running(state->inner));
    return s->options.monitor ? s->options.monitor(s->options.monitor_user, progress) : 0;
}

tess_solve_options accuracy_stage(tess_solver *s, double rtol, double atol, int64_t before)
{
    tess_solve_options o = s->options;

    memset(&o.accuracy, 0, sizeof o.accuracy);
    o.rtol = rtol;
    o.atol = atol;
    o.return_last = 0;
    /* Errors do not depend on the size of rows: where these are far apart, the norm of all is out of reach. */
    if (o.solver == TESS_SOLVER_AUTO && o.stop_norm == TESS_STOP_NORM_AUTO) { o.stop_norm = TESS_STOP_NORM_ROWS; }
    o.max_iterations -= before;
    if (s->ctx->device == TESS_DEVICE_CPU) { /* a GPU calls monitors at intervals, and is faster without one */
        o.monitor = watch;
        o.monitor_user = s;
    }
    return o;
}

static double first_tolerance(const tess_solver *s)
{
    const double first = s->options.accuracy.forward > 0.0 ? FIRST_SHARE * accuracy_wanted(s) : accuracy_wanted(s);

    return first < LEAST_TOLERANCE ? first : LEAST_TOLERANCE;
}

static tess_status setup(tess_solver *s)
{
    const tess_solve_options o = accuracy_stage(s, first_tolerance(s), 0.0, 0);
    const int64_t n = s->original->nrows;
    const int64_t lanczos = s->options.max_iterations < MOST_LANCZOS ? s->options.max_iterations : MOST_LANCZOS;
    accuracy_solve *state = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(s->ctx, 1, sizeof *state, (void **)&state));
    memset(state, 0, sizeof *state);
    s->state = state;
    TESS_TRY(solver_allocate_history(s));
    TESS_TRY(tess_host_allocate(s->ctx, n, sizeof *state->x, (void **)&state->x));
    TESS_TRY(tess_host_allocate(s->ctx, n, sizeof *state->residual, (void **)&state->residual));
    TESS_TRY(tess_host_allocate(s->ctx, n, sizeof *state->magnitude, (void **)&state->magnitude));
    TESS_TRY(tess_host_allocate(s->ctx, n, sizeof *state->rhs, (void **)&state->rhs));
    TESS_TRY(lanczos_allocate(s->ctx, lanczos, &state->lanczos));
    TESS_TRY(lanczos_allocate(s->ctx, lanczos, &state->random));
    TESS_TRY(solver_make(s->original, NULL, &o, &state->inner));
    auto_set_backward(state->inner, s->options.accuracy.backward);
cleanup:
    return status;
}

static void destroy(tess_solver *s)
{
    accuracy_solve *state = accuracy_of(s);
    const int64_t n = s->original->nrows;

    if (!state) { return; }
    tess_solver_destroy(state->inner);
    tess_precond_destroy(state->factors);
    tess_vector_destroy(state->last);
    lanczos_release(s->ctx, &state->lanczos);
    lanczos_release(s->ctx, &state->random);
    tess_host_release(s->ctx, state->x, n, sizeof *state->x);
    tess_host_release(s->ctx, state->residual, n, sizeof *state->residual);
    tess_host_release(s->ctx, state->magnitude, n, sizeof *state->magnitude);
    tess_host_release(s->ctx, state->rhs, n, sizeof *state->rhs);
    tess_host_release(s->ctx, state, 1, sizeof *state);
    s->state = NULL;
}

/* ---- stages ---- */

/* What the first stage tells, and later ones that tried more than the method at hand. */
static void note_why(accuracy_solve *state, int stage)
{
    const tess_attempt *attempts = NULL;

    if (stage > 0 && tess_solver_attempts(state->inner, &attempts) < 2) { return; }
    if (tess_solver_why(state->inner)[0] != '\0') { accuracy_say(state, "%s", tess_solver_why(state->inner)); }
}

/* The tolerance that the estimate asks for; false: nothing more can be had, or the error is unknown. */
static bool next_tolerance(const tess_solver *s, const tess_solve_result *r, double *rtol, double *atol)
{
    const tess_accuracy_result *now = &accuracy_of(s)->reached;
    const double error = s->options.accuracy.forward > 0.0 ? now->forward_error : now->backward_error;
    const double share = NEXT_SHARE * accuracy_wanted(s) / error;
    const bool by_rows = r->stop_norm == TESS_STOP_NORM_ROWS;
    const double norm = share * (by_rows ? r->rows.norm / r->rows.rhs_norm : r->residual_norm);

    if (now->reached || !r->converged || !(norm > 0.0) || !(share < 1.0)) { return false; }
    *rtol = by_rows ? norm : 0.0;
    *atol = by_rows ? 0.0 : norm;
    return true;
}

/* The tolerance is the library's own: an x that has the wanted error meets the one of its own residual in each norm,
   where it misses the last. */
static void accept(tess_solve_result *all)
{
    tess_row_residual *rows = &all->rows;

    if (!all->converged) { all->tolerance = all->residual_norm + all->residual_bound; }
    if (!rows->met) { rows->tolerance = rows->norm + rows->bound; }
    rows->met = isfinite(rows->tolerance);
    all->converged = 1;
    all->verified = isfinite(all->residual_bound) && rows->met;
    all->reason = TESS_REASON_RTOL;
}

/* The outcome: the error decides in place of the last tolerance. One that is not known is not reached. */
static void conclude(const tess_solver *s, tess_solve_result *all)
{
    tess_accuracy_result *now = &accuracy_of(s)->reached;

    now->wanted = accuracy_wanted(s);
    if (all->reason == TESS_REASON_ATOL) { all->reason = TESS_REASON_RTOL; } /* the caller gave neither */
    if (!now->reached && all->converged) {
        all->converged = all->verified = 0;
        all->reason = TESS_REASON_STAGNATION;
    }
    if (now->reached && !all->verified && isfinite(all->residual_norm)) { accept(all); }
    all->accuracy = *now;
}

static tess_status solve(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result)
{
    accuracy_solve *state = accuracy_of(s);
    double rtol = first_tolerance(s), atol = 0.0, setup_seconds = s->setup_seconds;
    const double start = tess_wall_seconds();
    tess_solve_result all;
    bool more = true;
    tess_status status = TESS_SUCCESS;

    memset(&all, 0, sizeof all);
    memset(&state->reached, 0, sizeof state->reached);
    state->why[0] = '\0';
    state->lanczos.count = 0;
    state->noted = &state->lanczos;
    accuracy_look(s, state);
    for (int stage = 0; more && stage < MOST_STAGES; stage++) {
        const tess_solve_options o = accuracy_stage(s, rtol, atol, all.iterations);
        tess_solve_result one;

        state->replaced = false;
        TESS_TRY(tess_solver_set_limits(state->inner, &o));
        tess_solve_result_init(&one);
        TESS_TRY(tess_solver_solve(state->inner, b, x, &one));
        history_append(s, &one, &all);
        note_why(state, stage);
        TESS_TRY(accuracy_find_error(s, b, x));
        more = next_tolerance(s, &all, &rtol, &atol);
    }
    conclude(s, &all);
    all.setup_seconds = setup_seconds;
    all.solve_seconds = tess_wall_seconds() - start;
    *result = all;
cleanup:
    return status;
}

/* ---- questions ---- */

static void describe(const tess_solver *s, tess_solve_result *r)
{
    describe_solver(accuracy_of(s)->inner, r);
}

static tess_status last_iterate(const tess_solver *s, tess_vector *x)
{
    const accuracy_solve *state = accuracy_of(s);
    tess_status status = TESS_SUCCESS;

    if (!state->replaced) { return solver_last_iterate(state->inner, x); }
    if (!state->iterated) { return TESS_SUCCESS; }
    status = tess_vector_copy(state->last, x);
    return status == TESS_SUCCESS ? tess_vector_refresh_shadow(x) : status;
}

static const tess_precond *precond(const tess_solver *s)
{
    return tess_solver_precond(accuracy_of(s)->inner);
}

static method_solver *running(const tess_solver *s)
{
    return solver_running(accuracy_of(s)->inner);
}

static int attempts(const tess_solver *s, const tess_attempt **out)
{
    return tess_solver_attempts(accuracy_of(s)->inner, out);
}

static const char *why(const tess_solver *s)
{
    return accuracy_of(s)->why;
}

static tess_status chosen(const tess_solver *s, tess_solve_options *out)
{
    const tess_accuracy_options accuracy = s->options.accuracy;
    const tess_solve_options asked = *out;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_solver_chosen_options(accuracy_of(s)->inner, out));
    out->accuracy = accuracy;
    out->rtol = asked.rtol;
    out->atol = asked.atol;
    out->max_iterations = asked.max_iterations;
    out->monitor = asked.monitor;
    out->monitor_user = asked.monitor_user;
cleanup:
    return status;
}

const tess_solver_ops solver_accuracy = {.takes = takes,
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
