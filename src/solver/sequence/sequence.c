/* SPDX-License-Identifier: Apache-2.0 */
/* A sequence: a solver on a copy of the values, which change from step to step, the guesses, and the renewals. */
#include <tessera/sequence.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

#include "base/options.h"
#include "matrix/assembled.h"
#include "solver/sequence/guess.h"
#include "solver/sequence/renewal.h"
#include "solver/solver.h"

enum { WHY_LENGTH = 200, DEFAULT_KEPT = 8, DEFAULT_EXTRA = 20 };
/* A limit that is over already still lets a solve begin, so that it has a result. */
#define LEAST_SECONDS 1e-9
_Static_assert((int)GUESS_MOST == (int)TESS_MAX_KEPT_SOLUTIONS, "guesses have room for all");

struct tess_sequence {
    tess_context *ctx;
    const tess_matrix *source; /* the caller's; held for its pattern */
    tess_matrix *matrix;       /* its pattern with the present values; the caller's of a shell */
    tess_solver *solver;
    tess_solve_options limits; /* of each step */
    sequence_guess guess;
    sequence_renewal renewal;
    tess_renewal policy;
    tess_vector *incoming; /* values on their way from the host to a GPU; NULL: none have gone yet */
    uint64_t precond_of;   /* the values that the preconditioner is of */
    bool definite;         /* the last step was solved by CG */
    bool solving;          /* a step runs: its monitor can call */
    bool abandoned;        /* and has destroyed the sequence */
    tess_sequence_step last;
    char why[WHY_LENGTH];
};

/* ---- options ---- */

void tess_sequence_options_init_sized(tess_sequence_options *options, size_t size)
{
    const tess_sequence_options o = {
        .size = sizeof o, .kept_solutions = DEFAULT_KEPT, .extra_iterations = DEFAULT_EXTRA};

    options_init(options, size, &o, sizeof o);
}

void tess_sequence_step_init_sized(tess_sequence_step *step, size_t size)
{
    result_init(step, size);
}

static tess_status take_options(tess_context *ctx, const tess_sequence_options *given, tess_sequence_options *out)
{
    tess_status status = TESS_SUCCESS;

    tess_sequence_options_init(out);
    TESS_TRY(options_take(ctx, "tess_sequence_options", given, out, sizeof *out));
    TESS_TRY(options_require_name(ctx, "tess_renewal", "tess_sequence_options.renewal", (int)out->renewal));
    TESS_TRY(options_require_reserved(ctx, "tess_sequence_options", out->reserved));
    if (out->kept_solutions < 0 || out->kept_solutions > TESS_MAX_KEPT_SOLUTIONS) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "keep 0 to 16; 8 serve most sequences",
                         "tess_sequence_options.kept_solutions is %d", out->kept_solutions);
    }
    if (out->extra_iterations < 0) {
        status =
            tess_fail(ctx, TESS_INVALID_ARGUMENT, "give 0 or more",
                      "tess_sequence_options.extra_iterations is negative: %lld", (long long)out->extra_iterations);
    }
cleanup:
    return status;
}

/* ---- set-up ---- */

/* The pattern of an assembled matrix with a copy of its values: new ones go to the same array, which a preconditioner
   of earlier ones may still read. */
static tess_status copy_values(const tess_matrix *a, tess_matrix **out)
{
    tess_context *ctx = a->ctx;
    csr_view view = csr_of(a)->view;
    const size_t bytes = (size_t)view.nnz * sizeof(double);
    void *val = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, view.nnz, sizeof(double), &val));
    TESS_TRY(ctx->backend->copy(ctx, val, view.val, bytes));
    view.val = val;
    TESS_TRY(tess_matrix_from_view(ctx, &view, false, out));
    ((csr_storage *)(*out)->storage)->owns_values = true;
    (*out)->keeps_order = a->keeps_order;
    (*out)->is_complex = a->is_complex;
    return TESS_SUCCESS;
cleanup:
    tess_device_release(ctx, val, view.nnz, sizeof(double));
    return status;
}

static sequence_renewal renewal_by(const tess_sequence_options *o)
{
    const double counted = o->renewal == TESS_RENEWAL_COUNTED ? (double)o->extra_iterations : INFINITY;

    return (sequence_renewal){.unproved = true,
                              .best_rate = INFINITY,
                              .timed = o->renewal == TESS_RENEWAL_AUTO,
                              .most_extra = o->renewal == TESS_RENEWAL_ALWAYS ? -1.0 : counted};
}

static double precond_seconds(const tess_sequence *q)
{
    const method_solver *running = solver_running(q->solver);

    return running ? method_look(running).precond_seconds : 0.0;
}

static tess_status open_sequence(tess_sequence *q, const tess_matrix *a, const tess_solve_options *solve)
{
    tess_status status = TESS_SUCCESS;

    tess_solve_options_init(&q->limits);
    if (solve) { TESS_TRY(solve_options_take_limits(q->ctx, solve, &q->limits)); }
    if (a->ops && !a->original) {
        TESS_TRY(copy_values(a, &q->matrix));
    } else { /* a shell; a stored one is refused by its solver */
        q->matrix = (tess_matrix *)(uintptr_t)a;
        tess_matrix_hold(a);
    }
    TESS_TRY(tess_solver_create(q->matrix, solve, &q->solver));
    q->renewal.setup_seconds = precond_seconds(q);
cleanup:
    return status;
}

tess_status tess_sequence_create(const tess_matrix *a, const tess_solve_options *solve,
                                 const tess_sequence_options *options, tess_sequence **out)
{
    TESS_REQUIRE_OUT(a ? a->ctx : NULL, a, out);
    tess_sequence_options taken;
    tess_sequence *q = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(take_options(a->ctx, options, &taken));
    TESS_TRY(tess_host_allocate(a->ctx, 1, sizeof *q, (void **)&q));
    memset(q, 0, sizeof *q);
    q->ctx = a->ctx;
    q->source = a;
    tess_matrix_hold(a);
    guess_open(&q->guess, a, taken.kept_solutions);
    q->policy = taken.renewal;
    q->renewal = renewal_by(&taken);
    tess_sequence_step_init(&q->last);
    TESS_TRY(open_sequence(q, a, solve));
    *out = q;
cleanup:
    if (status != TESS_SUCCESS) { tess_sequence_destroy(q); }
    return status;
}

void tess_sequence_destroy(tess_sequence *q)
{
    const tess_matrix *source = NULL;

    if (!q) { return; }
    if (q->solving) {
        q->abandoned = true;
        return;
    }
    source = q->source;
    tess_solver_destroy(q->solver);
    tess_vector_destroy(q->incoming);
    guess_close(&q->guess);
    tess_matrix_destroy(q->matrix);
    tess_host_release(q->ctx, q, 1, sizeof *q);
    tess_matrix_release(source);
}

/* ---- new values ---- */

/* Refuses NaN and Inf, and names the first. The norm of finite values may overflow. */
static tess_status require_finite(tess_context *ctx, const tess_vector *val)
{
    double norm = 0.0, *host = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_norm2(val, TESS_ARITHMETIC_FP64, &norm));
    if (isfinite(norm)) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, val->n, sizeof *host, (void **)&host));
    TESS_TRY(tess_vector_get(val, host, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    for (int64_t k = 0; k < val->n && status == TESS_SUCCESS; k++) {
        if (isfinite(host[k])) { continue; }
        status = tess_fail(ctx, TESS_OUT_OF_RANGE, "give finite values; the sequence still has those before",
                           "new values of a sequence: value %lld is %g", (long long)k, host[k]);
    }
cleanup:
    tess_host_release(ctx, host, val->n, sizeof *host);
    return status;
}

static tess_status take_values(tess_sequence *q, const tess_sequence_values *given)
{
    tess_context *ctx = q->ctx;
    const bool on_gpu = ctx->device == TESS_DEVICE_GPU;
    const int64_t expected = q->matrix->is_complex ? q->matrix->nnz / 2 : q->matrix->nnz; /* re and im of an entry */
    const bool named = tess_precision_bytes(given->precision) > 0 && tess_memory_name(given->where)[0] != '?';
    tess_vector seen = {
        .ctx = ctx, .n = given->count, .precision = given->precision, .data = (void *)(uintptr_t)given->val};
    tess_sequence_values values = *given;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_matrix_require_assembled(q->matrix, "a sequence with new values"));
    if (given->count != expected) {
        return tess_fail(ctx, TESS_DIMENSION_MISMATCH, "give the values of the pattern that the sequence began with",
                         "%s for %s of the matrix", tess_count(given->count, "value").text,
                         tess_count(q->matrix->nnz, "nonzero").text);
    }
    if (named && given->val && given->where == TESS_MEMORY_HOST && on_gpu) {
        if (!q->incoming) { TESS_TRY(tess_vector_create(ctx, given->count, TESS_PRECISION_FP64, &q->incoming)); }
        TESS_TRY(tess_vector_set(q->incoming, given->val, given->precision, given->where));
        seen = *q->incoming;
        values = tess_sequence_values_of(given->count, seen.data, TESS_MEMORY_DEVICE);
    }
    if (named && given->val && (given->where == TESS_MEMORY_HOST || on_gpu)) { TESS_TRY(require_finite(ctx, &seen)); }
    status = tess_matrix_update_values(q->matrix, values.val, values.precision, values.where);
cleanup:
    return status;
}

/* ---- a step ---- */

/* The solves of a step. */
typedef struct step_run {
    bool old, keeps;           /* its preconditioner is of earlier values; and is tried so */
    int64_t earlier;           /* iterations of a solve that another one followed, */
    double earlier_seconds;    /* and its time */
    tess_solve_result *result; /* of all */
} step_run;

/* Bounds on errors are found from factors of the present values. */
static bool may_keep(const tess_sequence *q)
{
    return !wants_accuracy(&q->solver->options) && solver_running(q->solver);
}

/* The method whose preconditioner may be kept: of a scaled system, which is made anew, there is none. */
static method_solver *method_with_old_precond(const tess_sequence *q)
{
    method_solver *running = may_keep(q) ? solver_running(q->solver) : NULL;
    const tess_precond *m = tess_solver_precond(q->solver);

    return running && m && m->kind != TESS_PRECOND_JACOBI && method_has_old_precond(running) ? running : NULL;
}

/* A solve of at most so many iterations. */
static tess_status solve_once(tess_sequence *q, bool keeps, int64_t cap, double start, const tess_vector *b,
                              tess_vector *x, tess_solve_result *out)
{
    method_solver *running = solver_running(q->solver);
    tess_solve_options o = q->limits;
    tess_status status = TESS_SUCCESS;

    o.max_iterations = cap;
    if (o.time_limit > 0.0) { o.time_limit = fmax(o.time_limit - (tess_wall_seconds() - start), LEAST_SECONDS); }
    TESS_TRY(tess_solver_set_limits(q->solver, &o));
    if (running) { method_keep_precond(running, keeps); }
    tess_solve_result_init(out);
    status = tess_solver_solve(q->solver, b, x, out);
cleanup:
    return status;
}

/* Whether a step that did not converge may do so with a renewed preconditioner. */
static bool may_solve_again(const tess_sequence *q, const tess_solve_result *r)
{
    return !r->converged && isfinite(r->rhs_norm) && r->reason != TESS_REASON_CANCELLED &&
           r->reason != TESS_REASON_TIME_LIMIT && r->reason != TESS_REASON_INTERRUPTED &&
           r->iterations < q->limits.max_iterations && method_with_old_precond(q);
}

/* The solves of a step: with the old preconditioner if that is kept, and with a renewed one where it does not do. */
static tess_status solve_step(tess_sequence *q, step_run *run, const tess_vector *b, tess_vector *x)
{
    tess_solve_result *result = run->result;
    const double start = tess_wall_seconds();
    const int64_t most = q->limits.max_iterations;
    const double first = q->last.guess_residual;
    double rhs = 0.0;
    int64_t cap = most;
    tess_solve_result before;
    tess_status status = TESS_SUCCESS;

    if (run->keeps) {
        TESS_TRY(tess_vector_norm2(b, TESS_ARITHMETIC_FP64, &rhs));
        cap = renewal_cap(&q->renewal, isnan(first) ? rhs : first, fmax(q->limits.rtol * rhs, q->limits.atol), most);
    }
    TESS_TRY(solve_once(q, run->keeps, cap, start, b, x, result));
    if (!run->keeps || !may_solve_again(q, result)) { return TESS_SUCCESS; }
    before = *result;
    run->earlier = before.iterations;
    run->earlier_seconds = before.solve_seconds;
    TESS_TRY(solve_once(q, false, most - before.iterations, start, b, x, result));
    result->iterations += before.iterations;
    result->refinements += before.refinements;
    result->solve_seconds += before.solve_seconds;
cleanup:
    return status;
}

/* ---- what it was ---- */

/* The residual norm that the last solve of a step began from. */
static double first_residual(const tess_sequence *q, const tess_solve_result *r)
{
    if (r->history_length > 0 && r->history) { return r->history[0]; }
    return isnan(q->last.guess_residual) ? r->rhs_norm : q->last.guess_residual;
}

static const char *seconds_text(char *text, size_t size, double seconds)
{
    (void)snprintf(text, size, seconds < 1.0 ? "%.3g ms" : "%.3g s", seconds < 1.0 ? 1e3 * seconds : seconds);
    return text;
}

static void say(tess_sequence *q, const char *text)
{
    (void)snprintf(q->why, sizeof q->why, "%s", text);
}

/* What the preconditioner has cost, as the policy sees it. */
static void explain_cost(tess_sequence *q, const char *verdict)
{
    const sequence_renewal *r = &q->renewal;
    const tess_counted extra = tess_count((int64_t)r->extra_iterations, "extra iteration");
    char lost[32], setup[32];

    if (r->extra_iterations == 0.0) {
        (void)snprintf(q->why, sizeof q->why, "%s: it has cost no extra iterations", verdict);
        return;
    }
    if (q->policy == TESS_RENEWAL_COUNTED) {
        (void)snprintf(q->why, sizeof q->why, "%s: %s since the last set-up, where %lld are allowed", verdict,
                       extra.text, (long long)r->most_extra);
        return;
    }
    (void)snprintf(q->why, sizeof q->why, "%s: %s since the last set-up took %s, a set-up takes %s", verdict,
                   extra.text, seconds_text(lost, sizeof lost, r->extra_seconds),
                   seconds_text(setup, sizeof setup, r->setup_seconds));
}

/* A step whose preconditioner is of its own values; the renewal still tells of the one before. */
static void explain_renewed(tess_sequence *q)
{
    if (q->last.solved_again) {
        (void)snprintf(q->why, sizeof q->why, "renewed: the one of %s ago did not solve this step",
                       tess_count(q->renewal.age + 1, "step").text);
    } else if (q->last.step == 1) {
        say(q, "set up: the first step");
    } else if (q->policy == TESS_RENEWAL_ALWAYS) {
        say(q, "renewed: renewal is always");
    } else if (!may_keep(q)) {
        say(q, "renewed: this solver renews all for new values");
    } else if (tess_solver_precond(q->solver)->kind == TESS_PRECOND_JACOBI) {
        say(q, "renewed: it costs less than an iteration");
    } else {
        explain_cost(q, "renewed");
    }
}

/* Counts what the step has cost. A cycle that failed with an old preconditioner says nothing of the new one. */
static void count_cost(tess_sequence *q, const step_run *run, bool kept)
{
    const tess_solve_result *r = run->result;
    const double setup = run->old && !kept ? q->renewal.setup_seconds : 0.0;
    const sequence_outcome seen = {.iterations = r->iterations - run->earlier,
                                   .start = first_residual(q, r),
                                   .tolerance = r->tolerance,
                                   .old = kept,
                                   .seconds = r->solve_seconds - run->earlier_seconds - setup};

    if (r->converged && (!q->last.solved_again || run->earlier > 0)) { renewal_note(&q->renewal, &seen); }
}

/* After the solves: what became of the preconditioner, and why. */
static void judge_renewal(tess_sequence *q, const step_run *run)
{
    const tess_precond *m = tess_solver_precond(q->solver);
    const bool kept = method_with_old_precond(q) != NULL, changed = q->precond_of != q->matrix->values_version;

    q->last.solved_again = run->keeps && !kept;
    q->last.renewed = m && !kept && changed;
    if (!m) { say(q, "there is no preconditioner"); }
    if (m && !changed) { say(q, "kept: the values are those of the step before"); }
    if (q->last.renewed) { explain_renewed(q); }
    if (!kept && changed) { renewal_restart(&q->renewal, precond_seconds(q)); }
    if (!kept) { q->precond_of = q->matrix->values_version; }
    if (kept) { q->renewal.age += 1; }
    count_cost(q, run, kept);
    if (kept) { explain_cost(q, "kept"); }
    q->last.age = q->renewal.age;
    q->last.extra_iterations = q->renewal.extra_iterations;
    q->last.extra_seconds = q->renewal.extra_seconds;
    q->last.setup_seconds = m ? q->renewal.setup_seconds : 0.0;
}

static void note_guess(tess_sequence *q, const guess_found *found)
{
    const int64_t step = q->last.step + 1;

    tess_sequence_step_init(&q->last);
    q->last.step = step;
    q->last.guess = found->projected ? TESS_GUESS_PROJECTED : found->given ? TESS_GUESS_GIVEN : TESS_GUESS_ZERO;
    q->last.solutions = found->solutions;
    q->last.guess_residual = found->residual;
    q->last.given_residual = found->given_residual;
    q->last.products = found->products;
    q->last.guess_seconds = found->seconds;
}

static tess_status run_step(tess_sequence *q, const tess_sequence_values *values, const tess_vector *b, tess_vector *x,
                            tess_solve_result *result)
{
    tess_solve_result full;
    guess_found found;
    step_run run = {.result = &full};
    tess_status status = TESS_SUCCESS;

    tess_solve_result_init(&full);
    result_return(&full, result);
    TESS_TRY(solver_require_vectors(q->solver, b, x));
    if (values) { TESS_TRY(take_values(q, values)); }
    TESS_TRY(guess_find(&q->guess, q->matrix, b, x, q->definite, &found));
    note_guess(q, &found);
    run.old = method_with_old_precond(q) != NULL;
    run.keeps = run.old && renewal_keeps(&q->renewal);
    TESS_TRY(solve_step(q, &run, b, x));
    q->definite = full.solver == TESS_SOLVER_CG;
    judge_renewal(q, &run);
    result_return(&full, result);
    if (full.converged) { status = guess_remember(&q->guess, x); }
cleanup:
    return status;
}

tess_status tess_sequence_solve(tess_sequence *q, const tess_sequence_values *values, const tess_vector *b,
                                tess_vector *x, tess_solve_result *result)
{
    TESS_REQUIRE(NULL, q);
    TESS_REQUIRE(q->ctx, b);
    TESS_REQUIRE(q->ctx, x);
    TESS_REQUIRE(q->ctx, result);
    tess_status status = result_require_size(q->ctx, "tess_solve_result", result->size, sizeof *result);

    if (status == TESS_SUCCESS) { status = solver_require_idle(q->solver); }
    if (status != TESS_SUCCESS) { return status; }
    q->solving = true;
    status = run_step(q, values, b, x, result);
    q->solving = false;
    if (q->abandoned) { tess_sequence_destroy(q); }
    return status;
}

tess_status tess_sequence_set_limits(tess_sequence *q, const tess_solve_options *solve)
{
    TESS_REQUIRE(NULL, q);
    tess_status status = solver_require_idle(q->solver);

    if (status == TESS_SUCCESS) { status = solve_options_take_limits(q->ctx, solve, &q->limits); }
    return status;
}

tess_status tess_sequence_forget(tess_sequence *q)
{
    TESS_REQUIRE(NULL, q);
    const tess_status status = solver_require_idle(q->solver);

    if (status == TESS_SUCCESS) { guess_forget(&q->guess); }
    return status;
}

/* ---- questions ---- */

tess_status tess_sequence_get_step(const tess_sequence *q, tess_sequence_step *out)
{
    TESS_REQUIRE(NULL, q);
    TESS_REQUIRE(q->ctx, out);
    const tess_status status = result_require_size(q->ctx, "tess_sequence_step", out->size, sizeof q->last);

    if (status == TESS_SUCCESS) { result_return(&q->last, out); }
    return status;
}

const char *tess_sequence_why(const tess_sequence *q)
{
    return q ? q->why : "";
}

const tess_solver *tess_sequence_solver(const tess_sequence *q)
{
    return q ? q->solver : NULL;
}
