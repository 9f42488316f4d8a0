/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solve to a wanted error of x: a solver of any method, which solves to a tolerance; then the error is estimated, and
 * the same solver goes on from x with a smaller tolerance until the estimate is small enough, or no more can be had.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "auto/auto.h"
#include "auto/condition.h"
#include "auto/history.h"
#include "base/options.h"
#include "matrix/assembled.h"

/* The first tolerance over the wanted error, and the next ones over what the last estimate asks for. */
#define FIRST_SHARE 0.1
#define NEXT_SHARE 0.5
/* A forward error of half of this or more is none: x has no digit. */
#define LEAST_TOLERANCE 0.1
/* Factors that only tell the error may take so long, as predicted (ladder.h). */
#define MOST_FACTOR_SECONDS 2.0
/* Of the residual that a random right-hand side leaves, over 1 / sqrt(n). */
#define RANDOM_SHARE 0.1
enum { MOST_STAGES = 6, MOST_LANCZOS = 20000 };

typedef struct accuracy_solve {
    tess_solver *inner;
    lanczos_record lanczos;
    lanczos_record random;                  /* of the check with a random right-hand side */
    lanczos_record *noted;                  /* the one that a running solve fills */
    bool checked;                           /* the check was tried for these values */
    double *x, *residual, *magnitude, *rhs; /* on the host; n each */
    bool looked;
    uint64_t values_version;
    tess_precond *factors; /* in FP64, where those in FP32 do not tell the error; NULL: not needed */
    tess_accuracy_result reached;
    char why[2 * WHY_LENGTH];
} accuracy_solve;

static accuracy_solve *state_of(const tess_solver *s)
{
    return s->state;
}

static double wanted(const tess_solver *s)
{
    return s->options.accuracy.forward > 0.0 ? s->options.accuracy.forward : s->options.accuracy.backward;
}

static bool takes(const tess_matrix *a, const tess_precond *given, const tess_solve_options *o)
{
    (void)given; /* create has refused one */
    return wants_accuracy(o) && a->ops;
}

/* ---- set-up ---- */

static int watch(void *user, const tess_progress *progress)
{
    const tess_solver *s = user;
    accuracy_solve *state = state_of(s);

    lanczos_note(state->noted, solver_running(state->inner));
    return s->options.monitor ? s->options.monitor(s->options.monitor_user, progress) : 0;
}

/* The caller's options with the tolerances of a stage, after so many iterations. */
static tess_solve_options stage_options(tess_solver *s, double rtol, double atol, int64_t before)
{
    tess_solve_options o = s->options;

    memset(&o.accuracy, 0, sizeof o.accuracy);
    o.rtol = rtol;
    o.atol = atol;
    o.return_last = 0;
    o.max_iterations -= before;
    if (s->ctx->device == TESS_DEVICE_CPU) { /* a GPU calls monitors at intervals, and is faster without one */
        o.monitor = watch;
        o.monitor_user = s;
    }
    return o;
}

static double first_tolerance(const tess_solver *s)
{
    const double first = s->options.accuracy.forward > 0.0 ? FIRST_SHARE * wanted(s) : wanted(s);

    return first < LEAST_TOLERANCE ? first : LEAST_TOLERANCE;
}

static tess_status setup(tess_solver *s)
{
    const tess_solve_options o = stage_options(s, first_tolerance(s), 0.0, 0);
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
    status = tess_solver_create(s->original, &o, &state->inner);
cleanup:
    return status;
}

static void destroy(tess_solver *s)
{
    accuracy_solve *state = state_of(s);
    const int64_t n = s->original->nrows;

    if (!state) { return; }
    tess_solver_destroy(state->inner);
    tess_precond_destroy(state->factors);
    lanczos_release(s->ctx, &state->lanczos);
    lanczos_release(s->ctx, &state->random);
    tess_host_release(s->ctx, state->x, n, sizeof *state->x);
    tess_host_release(s->ctx, state->residual, n, sizeof *state->residual);
    tess_host_release(s->ctx, state->magnitude, n, sizeof *state->magnitude);
    tess_host_release(s->ctx, state->rhs, n, sizeof *state->rhs);
    tess_host_release(s->ctx, state, 1, sizeof *state);
    s->state = NULL;
}

/* ---- the error of x ---- */

static void say(accuracy_solve *state, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line of its own. */
static void say(accuracy_solve *state, const char *format, ...)
{
    size_t used = strlen(state->why);
    va_list arguments;

    if (used > 0 && used + 1 < sizeof state->why) { state->why[used++] = '\n'; }
    va_start(arguments, format);
    (void)vsnprintf(state->why + used, sizeof state->why - used, format, arguments);
    va_end(arguments);
}

/* Makes FP64 factors, or renews them. An error leaves none: then the error of x stays unknown. */
static void make_factors(const tess_solver *s, accuracy_solve *state)
{
    const tess_error before = s->ctx->error;
    tess_precond_options o = s->options.precond;

    o.kind = TESS_PRECOND_LU;
    o.role = (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64};
    if ((state->factors ? tess_precond_update(state->factors)
                        : tess_precond_create(s->original, &o, &state->factors)) == TESS_SUCCESS) {
        return;
    }
    s->ctx->error = before;
    tess_precond_destroy(state->factors);
    state->factors = NULL;
}

/* What was known of other values is forgotten, once per version of them. */
static void look_at_matrix(const tess_solver *s, accuracy_solve *state)
{
    if (state->values_version == s->original->values_version && state->looked) { return; }
    if (state->factors) { make_factors(s, state); }
    state->checked = false;
    state->random.count = 0;
    state->looked = true;
    state->values_version = s->original->values_version;
}

/* Whether factors in FP64 are worth their time: there are some in FP32, or they should take little. */
static bool factors_pay(const tess_solver *s, const tess_precond *m)
{
    const tess_error before = s->ctx->error;
    const matrix_facts facts = {.n = s->original->nrows, .nnz = s->original->nnz};
    const cost_rates *rates = rates_of(s->original);
    const int64_t limit = s->options.precond.direct.memory_limit;
    direct_prediction prediction = {.possible = false};

    if (m && m->ops->solve_on_host) { return m->role.storage != TESS_PRECISION_FP64; }
    if (limit > 0 && limit < facts.n * (int64_t)sizeof(double)) { return false; } /* a prediction counts in MB */
    if (least_direct_cost(rates, &facts) > MOST_FACTOR_SECONDS) { return false; }
    if (direct_predict(s->original, false, TESS_PRECISION_FP64, limit, &prediction) != TESS_SUCCESS) {
        s->ctx->error = before;
    }
    return prediction.possible && direct_cost(rates, &facts, &prediction) <= MOST_FACTOR_SECONDS;
}

/* CG again, for a random right-hand side: it has a part of every eigenvector, about 1 / sqrt(n) of it, so that a
   residual below that has met them all. A solve that does not get there leaves no record. */
static tess_status check_lanczos(tess_solver *s)
{
    accuracy_solve *state = state_of(s);
    const int64_t n = s->original->nrows;
    const tess_solve_options o = stage_options(s, RANDOM_SHARE / sqrt((double)n), 0.0, 0);
    tess_vector *b = NULL, *x = NULL;
    tess_solve_result one;
    uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);
    tess_status status = TESS_SUCCESS;

    if (state->checked) { return TESS_SUCCESS; }
    state->checked = true;
    for (int64_t i = 0; i < n; i++) { /* a linear congruential generator: Knuth, TAOCP 2, 3.3.4 */
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        state->rhs[i] = (double)(int64_t)(seed >> 11) * 0x1p-52 - 1.0;
    }
    TESS_TRY(tess_vector_create(s->ctx, n, TESS_PRECISION_FP64, &b));
    TESS_TRY(tess_vector_create(s->ctx, n, TESS_PRECISION_FP64, &x));
    TESS_TRY(tess_vector_set(b, state->rhs, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    state->noted = &state->random;
    TESS_TRY(tess_solver_set_limits(state->inner, &o));
    tess_solve_result_init(&one);
    TESS_TRY(tess_solver_solve(state->inner, b, x, &one));
    if (!one.converged) { state->random.count = 0; }
    say(state, one.converged ? "CG for a random right-hand side checks the least eigenvalue"
                             : "CG for a random right-hand side did not converge: the least eigenvalue is unknown");
cleanup:
    state->noted = &state->lanczos;
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    return status;
}

static const char *text_of_factors(const tess_accuracy_result *now, bool after_fp32)
{
    if (!isfinite(now->forward_error)) { return "complete factors in fp64 do not tell the error of x"; }
    return after_fp32 ? "the condition is too large for factors in fp32 to tell the error: fp64 tells it"
                      : "complete factors in fp64 tell the error of x";
}

/* By complete factors where they exist or pay, else by what CG tells. */
static tess_status estimate(tess_solver *s, error_of_x *e)
{
    accuracy_solve *state = state_of(s);
    const method_solver *last = solver_running(state->inner);
    const tess_precond *m = last ? method_look(last).precond : NULL;
    const bool fixed = s->options.precond.role.given && m && m->ops->solve_on_host; /* the caller's own precision */
    const bool open = s->options.accuracy.forward > 0.0 && !fixed && e->x_norm > 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(estimate_error(last, state->factors ? state->factors : m, &state->lanczos, e, &state->reached));
    if (s->options.accuracy.forward == 0.0 || state->factors || state->reached.source == TESS_CONDITION_FACTORS) {
        return TESS_SUCCESS;
    }
    if (open && factors_pay(s, m)) {
        make_factors(s, state);
        direct_drop_analysis(s->original);
    }
    if (state->factors) {
        TESS_TRY(estimate_error(last, state->factors, &state->lanczos, e, &state->reached));
        say(state, "%s", text_of_factors(&state->reached, m && m->ops->solve_on_host));
        return TESS_SUCCESS;
    }
    if (state->reached.source != TESS_CONDITION_LANCZOS) { return TESS_SUCCESS; }
    TESS_TRY(check_lanczos(s));
    e->random = &state->random;
    status = estimate_error(last, m, &state->lanczos, e, &state->reached);
cleanup:
    return status;
}

/* Whether the estimate cannot have missed the least eigenvalue. */
static bool is_known(const accuracy_solve *state)
{
    return state->reached.source == TESS_CONDITION_FACTORS ||
           (state->reached.source == TESS_CONDITION_LANCZOS && state->random.count > 0) ||
           state->reached.forward_error == 0.0;
}

static tess_status find_error(tess_solver *s, const tess_vector *b, const tess_vector *x)
{
    accuracy_solve *state = state_of(s);
    const size_t bytes = (size_t)x->n * sizeof(double);
    error_of_x e = {.a = s->original, .x = state->x, .residual = state->residual, .magnitude = state->magnitude};
    tess_accuracy_result *now = &state->reached;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(s->ctx->backend->download(s->ctx, state->x, x->data, bytes));
    TESS_TRY(s->ctx->backend->download(s->ctx, state->rhs, b->data, bytes));
    TESS_TRY(find_rows(s->original, state->rhs, state->x, state->residual, state->magnitude));
    e.x_norm = vector_norm2(x->n, state->x);
    e.residual_norm = vector_norm2(x->n, state->residual);
    now->backward_error = rowwise_backward_error(x->n, state->residual, state->magnitude);
    TESS_TRY(estimate(s, &e));
    now->reached = s->options.accuracy.forward > 0.0 ? is_known(state) && now->forward_error <= wanted(s)
                                                     : now->backward_error <= wanted(s);
cleanup:
    return status;
}

/* ---- stages ---- */

/* What the first stage tells, and later ones that tried more than the method at hand. */
static void note_why(accuracy_solve *state, int stage)
{
    const tess_attempt *attempts = NULL;

    if (stage > 0 && tess_solver_attempts(state->inner, &attempts) < 2) { return; }
    if (tess_solver_why(state->inner)[0] != '\0') { say(state, "%s", tess_solver_why(state->inner)); }
}

/* The tolerance that the estimate asks for; false: nothing more can be had, or the error is unknown. */
static bool next_tolerance(const tess_solver *s, const tess_solve_result *r, double *rtol, double *atol)
{
    const tess_accuracy_result *now = &state_of(s)->reached;
    const double error = s->options.accuracy.forward > 0.0 ? now->forward_error : now->backward_error;
    const double norm = r->residual_norm * NEXT_SHARE * wanted(s) / error;

    if (now->reached || !r->converged || !(norm > 0.0) || !(norm < r->residual_norm)) { return false; }
    *rtol = 0.0;
    *atol = norm;
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
    tess_accuracy_result *now = &state_of(s)->reached;

    now->wanted = wanted(s);
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
    accuracy_solve *state = state_of(s);
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
    look_at_matrix(s, state);
    for (int stage = 0; more && stage < MOST_STAGES; stage++) {
        const tess_solve_options o = stage_options(s, rtol, atol, all.iterations);
        tess_solve_result one;

        TESS_TRY(tess_solver_set_limits(state->inner, &o));
        tess_solve_result_init(&one);
        TESS_TRY(tess_solver_solve(state->inner, b, x, &one));
        history_append(s, &one, &all);
        note_why(state, stage);
        TESS_TRY(find_error(s, b, x));
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
    describe_solver(state_of(s)->inner, r);
}

static tess_status last_iterate(const tess_solver *s, tess_vector *x)
{
    return solver_last_iterate(state_of(s)->inner, x);
}

static const tess_precond *precond(const tess_solver *s)
{
    return tess_solver_precond(state_of(s)->inner);
}

static method_solver *running(const tess_solver *s)
{
    return solver_running(state_of(s)->inner);
}

static int attempts(const tess_solver *s, const tess_attempt **out)
{
    return tess_solver_attempts(state_of(s)->inner, out);
}

static const char *why(const tess_solver *s)
{
    return state_of(s)->why;
}

static tess_status chosen(const tess_solver *s, tess_solve_options *out)
{
    const tess_accuracy_options accuracy = s->options.accuracy;
    const tess_solve_options asked = *out;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_solver_chosen_options(state_of(s)->inner, out));
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
