/* SPDX-License-Identifier: Apache-2.0 */
/* The error of the x of a solve to an accuracy: by complete factors, or by what CG tells. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "auto/accuracy.h"
#include "auto/error_rows.h"
#include "matrix/assembled.h"

/* Factors that only tell the error may take so long, as predicted (ladder.h). */
#define MOST_FACTOR_SECONDS 2.0
/* Of the residual that a random right-hand side leaves, over 1 / sqrt(n). */
#define RANDOM_SHARE 0.1

void accuracy_say(accuracy_solve *state, const char *format, ...)
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

void accuracy_look(const tess_solver *s, accuracy_solve *state)
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

/* The check leaves another last iterate in the inner solver. */
static tess_status keep_last(const tess_solver *s, accuracy_solve *state)
{
    const method_solver *running = solver_running(state->inner);
    tess_status status = TESS_SUCCESS;

    state->iterated = running && method_look(running).iterated;
    if (!state->last) { TESS_TRY(tess_vector_create(s->ctx, s->original->nrows, TESS_PRECISION_FP64, &state->last)); }
    TESS_TRY(solver_last_iterate(state->inner, state->last));
    state->replaced = true;
cleanup:
    return status;
}

/* CG again, for a random right-hand side: it has a part of every eigenvector, about 1 / sqrt(n) of it, so that a
   residual below that has met them all. A solve that does not get there leaves no record. */
static tess_status check_lanczos(tess_solver *s)
{
    accuracy_solve *state = accuracy_of(s);
    const int64_t n = s->original->nrows;
    const tess_solve_options o = accuracy_stage(s, RANDOM_SHARE / sqrt((double)n), 0.0, 0);
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
    TESS_TRY(keep_last(s, state));
    state->noted = &state->random;
    TESS_TRY(tess_solver_set_limits(state->inner, &o));
    tess_solve_result_init(&one);
    TESS_TRY(tess_solver_solve(state->inner, b, x, &one));
    if (!one.converged) { state->random.count = 0; }
    accuracy_say(state, one.converged
                            ? "CG for a random right-hand side checks the least eigenvalue"
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
    accuracy_solve *state = accuracy_of(s);
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
        accuracy_say(state, "%s", text_of_factors(&state->reached, m && m->ops->solve_on_host));
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

tess_status accuracy_find_error(tess_solver *s, const tess_vector *b, const tess_vector *x)
{
    accuracy_solve *state = accuracy_of(s);
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
    now->reached = s->options.accuracy.forward > 0.0 ? is_known(state) && now->forward_error <= accuracy_wanted(s)
                                                     : now->backward_error <= accuracy_wanted(s);
cleanup:
    return status;
}
