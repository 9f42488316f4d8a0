/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solve by way of a transformed system: rounds of iterative refinement. Each round solves B y = P_r D_r (b - A x)
 * from y = 0 and adds D_c P_c^T y to x. The true residual of the original system decides. One round is usual; more
 * follow if the transformed system met its tolerance and the original one did not.
 */
#include <math.h>

#include <tessera/names.h>

#include "solver/extension.h"
#include "solver/stop.h"
#include "solver/transform.h"
#include "solver/transform_parts.h"
#include "sweep/schedule.h"

/* A round must at least halve the true residual or that of the transformed system, which weights rows differently. */
#define PROGRESS_FACTOR 0.5
enum { MAX_ROUNDS = 10 };
/* Later rounds ask the transformed system for this share of the reduction that the original one still needs, and for a
   reduction of at most SMALLEST_GOAL at once. */
#define ROUND_SHARE 0.1
#define SMALLEST_GOAL 1e-8
/* Residuals are scaled to about 1 by a power of two, whose exponent is limited so that its inverse is normal. */
enum { MAX_EXPONENT = 1000 };

typedef struct refinement {
    tess_solver *s;
    solver_transform *t;
    const tess_vector *b;
    tess_vector *x;
    tess_solve_result *result;
    double start;
    true_residual now;         /* of x; the residual itself is in t->residual */
    double mapped;             /* ||P_r D_r (b - A x)|| */
    double unit;               /* ||b|| / ||c||: estimates are reported in the original's units */
    int exponent;              /* the present round works on 2^-exponent times the residual */
    true_residual first, best; /* of the initial guess; of t->best */
    int64_t before;            /* iterations of the rounds before it */
    bool cancelled;
    const tess_solver_extension *extension; /* of the inner solves; NULL: none */
} refinement;

/* rhs := P_r D_r 2^-exponent v and *mapped := ||P_r D_r v||; v, of norm `norm`, is scaled in place. */
static tess_status map_to_rows(refinement *run, tess_vector *v, double norm, double *mapped)
{
    int exponent = 0;
    tess_status status = TESS_SUCCESS;

    (void)frexp(norm, &exponent);
    run->exponent = exponent > MAX_EXPONENT ? MAX_EXPONENT : exponent < -MAX_EXPONENT ? -MAX_EXPONENT : exponent;
    TESS_TRY(tess_vector_scale(ldexp(1.0, -run->exponent), v, TESS_ARITHMETIC_FP64));
    TESS_TRY(tess_matrix_spmv(run->t->to_rows, TESS_OP_NONE, 1.0, v, 0.0, run->t->rhs));
    TESS_TRY(tess_vector_norm2(run->t->rhs, TESS_ARITHMETIC_FP64, mapped));
    *mapped = ldexp(*mapped, run->exponent);
cleanup:
    return status;
}

static tess_status verify(refinement *run, const tess_vector *x, true_residual *out)
{
    return verify_residual(run->s->original, run->b->data, x->data, run->t->residual->data, out);
}

/* ||b|| / ||c||, or 1 if there is no such number. */
static tess_status find_unit(refinement *run)
{
    double mapped = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_copy(run->b, run->t->candidate));
    TESS_TRY(map_to_rows(run, run->t->candidate, run->result->rhs_norm, &mapped));
    run->unit = run->result->rhs_norm / mapped;
    if (!(run->unit > 0.0) || !isfinite(run->unit)) { run->unit = 1.0; }
cleanup:
    return status;
}

static void describe_transformed(const tess_solver *s, tess_solve_result *r)
{
    const solver_transform *t = s->state;

    describe_solver(t->inner, r);
    r->setup_seconds = s->setup_seconds;
    r->scale = s->options.scale;
    r->reorder = s->options.reorder;
    r->history = s->host_history;
    r->resident_bytes += tess_matrix_bytes(s->original) + tess_matrix_bytes(t->to_rows) +
                         tess_matrix_bytes(t->from_columns) +
                         5 * s->original->nrows * (int64_t)sizeof(double); /* b, x, residual, candidate, best */
}

static tess_status start_refinement(refinement *run)
{
    const tess_solver *s = run->s;
    tess_solve_result *r = run->result;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(renew_system(s));
    tess_papers_result_init(&run->s->papers_result);
    if (run->extension) { run->extension->start_sum(&s->options, &run->s->papers_result); }
    describe_transformed(s, r);
    TESS_TRY(verify(run, run->x, &run->now));
    verify_set_tolerances(&s->options, &run->now, r);
    TESS_TRY(find_unit(run));
    if (r->rhs_norm == 0.0) {
        TESS_TRY(tess_vector_fill(run->x, 0.0));
        TESS_TRY(verify(run, run->x, &run->now));
    }
    r->estimated_residual_norm = run->now.norm;
    if (s->history_capacity > 0) {
        s->host_history[0] = run->now.norm;
        r->history_length = 1;
    }
cleanup:
    return status;
}

/* ---- one round ---- */

/* The monitor gets iterations of all rounds, and norms in the original's units. */
static int forward_progress(void *user, const tess_progress *progress)
{
    refinement *run = user;
    const tess_solve_options *o = &run->s->options;
    double unit = ldexp(run->unit, run->exponent);
    tess_progress seen = {.iteration = run->before + progress->iteration,
                          .residual_norm = unit * progress->residual_norm,
                          .tolerance = unit * progress->tolerance,
                          .elapsed_seconds = tess_wall_seconds() - run->start};
    int code = o->monitor(o->monitor_user, &seen);

    if (code != 0) { run->cancelled = true; }
    return code;
}

/* The first round: by as much as the original's residual must fall. */
static double goal_of_round(const refinement *run, int round)
{
    double goal = run->result->tolerance / deciding_norm(run->result, &run->now);

    if (round == 0 && goal < 1.0) { return goal; }
    return fmax(ROUND_SHARE * fmin(goal, 1.0), SMALLEST_GOAL);
}

static void take_history(refinement *run, const tess_solve_result *inner)
{
    tess_solver *s = run->s;
    double unit = ldexp(run->unit, run->exponent);

    for (int64_t i = run->before == 0 ? 0 : 1; i < inner->history_length; i++) {
        if (run->before + i >= s->history_capacity) { break; }
        s->host_history[run->before + i] = unit * inner->history[i];
        run->result->history_length = run->before + i + 1;
    }
}

/* The method that a ladder of attempts ended with in this round. */
static void take_choice(const refinement *run, const tess_solve_result *inner)
{
    tess_solve_result *r = run->result;

    if (!run->t->inner->ops->attempts) { return; }
    r->solver = inner->solver;
    r->engine = inner->engine;
    r->cg.recurrence = inner->cg.recurrence;
    r->precond = inner->precond;
    r->storage = inner->storage;
}

static void add_results(refinement *run, const tess_solve_result *inner)
{
    tess_solve_result *r = run->result;

    take_history(run, inner);
    take_choice(run, inner);
    r->iterations += inner->iterations;
    if (run->extension) { run->extension->add_report(&run->t->inner->papers_result, &run->s->papers_result); }
    r->refinements += inner->refinements;
    schedule_add(&r->jacobi.schedule, &inner->jacobi.schedule);
    r->timed = inner->timed;
    for (int p = 0; p < TESS_PHASE_COUNT; p++) {
        r->phase_seconds[p] += inner->phase_seconds[p];
    }
    r->estimated_residual_norm = ldexp(run->unit, run->exponent) * inner->estimated_residual_norm;
    if (inner->escalated) {
        r->escalated = 1;
        r->storage.precision = inner->storage.precision;
        r->storage.exact = inner->storage.exact;
    }
}

static tess_status solve_for_correction(refinement *run, int round, tess_solve_result *inner)
{
    const solver_transform *t = run->t;
    tess_solve_options limits = run->s->options;
    tess_status status = TESS_SUCCESS;

    run->before = run->result->iterations;
    limits.rtol = goal_of_round(run, round);
    limits.atol = 0.0;
    limits.return_last = 0;
    limits.max_iterations -= run->before;
    if (limits.monitor) {
        limits.monitor = forward_progress;
        limits.monitor_user = run;
    }
    TESS_TRY(tess_solver_set_limits(t->inner, &limits));
    TESS_TRY(tess_vector_fill(t->correction, 0.0));
    run->t->base = run->x;
    run->t->exponent = run->exponent;
    status = tess_solver_solve(t->inner, t->rhs, t->correction, inner);
    run->t->base = NULL;
    if (status != TESS_SUCCESS) { return status; }
    add_results(run, inner);
    /* Stopped before any iterate was better than none, as may happen with CG: its last one is what a later solve goes
       on from. */
    if (reason_is_a_stop(inner->reason) && inner->residual_norm >= inner->rhs_norm) {
        TESS_TRY(solver_last_iterate(t->inner, t->correction));
    }
cleanup:
    return status;
}

/* Whether the caller gets the last iterate: with the guard on `report`, and from a run of fixed length. */
static bool returns_last(const refinement *run)
{
    const tess_solve_options *o = &run->s->options;

    return o->guard == TESS_GUARD_REPORT || schedule_is_counted(&o->jacobi.schedule);
}

static tess_status keep_best(refinement *run)
{
    if (!may_replace(run->result, &run->now, &run->best, &run->first)) { return TESS_SUCCESS; }
    run->best = run->now;
    return tess_vector_copy(run->x, run->t->best);
}

/* x := the best iterate, if that is another. */
static tess_status return_best(refinement *run)
{
    tess_status status = TESS_SUCCESS;

    if (may_replace(run->result, &run->now, &run->best, &run->first) || returns_last(run)) { return TESS_SUCCESS; }
    TESS_TRY(tess_vector_copy(run->t->best, run->x));
    status = verify(run, run->x, &run->now);
cleanup:
    return status;
}

/* x + D_c P_c^T y is judged before it replaces x. A correction that converged in the transformed system is taken even
   if the residual norm rises once; with the guard on `report` so is that of a round that reached the iteration limit or
   was cancelled. */
static tess_status judge_round(refinement *run, const tess_solve_result *inner, bool *accepted)
{
    solver_transform *t = run->t;
    bool may_worsen =
        inner->converged ||
        (returns_last(run) && (inner->reason == TESS_REASON_ITERATIONS || reason_is_a_stop(inner->reason)));
    true_residual next;
    tess_status status = TESS_SUCCESS;

    run->s->iterated = true;
    TESS_TRY(tess_vector_copy(run->x, t->candidate));
    TESS_TRY(
        tess_matrix_spmv(t->from_columns, TESS_OP_NONE, ldexp(1.0, run->exponent), t->correction, 1.0, t->candidate));
    TESS_TRY(verify(run, t->candidate, &next));
    *accepted = isfinite(next.norm) && (deciding_norm(run->result, &next) <= deciding_norm(run->result, &run->now) ||
                                        next.norm <= run->now.norm || may_worsen);
    if (!*accepted) { return TESS_SUCCESS; }
    run->now = next;
    TESS_TRY(tess_vector_copy(t->candidate, run->x));
    status = keep_best(run);
cleanup:
    return status;
}

/* Prepares the next round's right-hand side, and checks whether the last one helped. */
static tess_status measure_progress(refinement *run, double norm_before, bool *progress)
{
    double mapped_before = run->mapped;
    tess_status status = map_to_rows(run, run->t->residual, run->now.norm, &run->mapped);

    *progress = deciding_norm(run->result, &run->now) <= PROGRESS_FACTOR * norm_before ||
                run->mapped <= PROGRESS_FACTOR * mapped_before;
    return status;
}

/* ---- between rounds ---- */

/* Whether another round may help; if not, *reason is final. */
static bool may_refine(const refinement *run, int round, bool useful, tess_reason *reason)
{
    const tess_solve_options *o = &run->s->options;
    bool repair = o->guard == TESS_GUARD_REPAIR && !schedule_is_counted(&o->jacobi.schedule), solved = *reason > 0;

    if (run->cancelled && repair) {
        *reason = TESS_REASON_CANCELLED;
        return false;
    }
    if (!solved && *reason != TESS_REASON_STAGNATION && *reason != TESS_REASON_FALSE_CONVERGENCE) { return false; }
    if (run->now.norm == 0.0) { /* the residual is zero, but without a proof */
        *reason = TESS_REASON_STAGNATION;
        return false;
    }
    if (repair && run->result->iterations >= o->max_iterations) {
        if (solved) { *reason = TESS_REASON_ITERATIONS; }
        return false;
    }
    if (repair && useful && round + 1 < MAX_ROUNDS) { return true; }
    if (solved) {
        bool floor = repair && is_rounding(&run->now);

        *reason = floor ? TESS_REASON_STAGNATION : TESS_REASON_FALSE_CONVERGENCE;
    }
    return false;
}

static tess_status run_rounds(refinement *run, tess_reason *reason)
{
    tess_status status = TESS_SUCCESS;

    *reason = TESS_REASON_ITERATIONS;
    run->first = run->best = run->now;
    TESS_TRY(tess_vector_copy(run->x, run->t->best));
    TESS_TRY(map_to_rows(run, run->t->residual, run->now.norm, &run->mapped));
    for (int round = 0; run->result->iterations < run->s->options.max_iterations; round++) {
        double before = deciding_norm(run->result, &run->now);
        tess_solve_result inner;
        bool accepted = false, progress = false;

        tess_solve_result_init(&inner);
        TESS_TRY(solve_for_correction(run, round, &inner));
        *reason = inner.reason;
        TESS_TRY(judge_round(run, &inner, &accepted));
        if (meets_tolerance(run->result, &run->now)) { break; }
        if (accepted) { TESS_TRY(measure_progress(run, before, &progress)); }
        if (!may_refine(run, round, progress, reason)) { break; }
        run->result->refinements += 1;
        tess_log(run->s->ctx, TESS_LOG_DEBUG,
                 "the true residual of the original system is %.3e after %s; it is refined", run->now.norm,
                 tess_count(run->result->iterations, "iteration").text);
    }
    if (!meets_tolerance(run->result, &run->now)) { TESS_TRY(return_best(run)); }
cleanup:
    return status;
}

/* Time outside the inner solves belongs to refinement. */
static void add_rest(tess_solve_result *r)
{
    double rest = r->solve_seconds;

    for (int p = 0; p < TESS_PHASE_COUNT; p++) {
        rest -= r->phase_seconds[p];
    }
    if (r->timed) { r->phase_seconds[TESS_PHASE_REFINEMENT] += rest; }
}

tess_status solve_transformed(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result)
{
    refinement run = {.s = s,
                      .t = s->state,
                      .b = b,
                      .x = x,
                      .result = result,
                      .start = tess_wall_seconds(),
                      .unit = 1.0,
                      .extension = tess_find_extension(&s->options)};
    tess_reason reason = TESS_REASON_RUNNING;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(start_refinement(&run));
    if (!isfinite(run.now.norm) || !isfinite(result->rhs_norm)) {
        reason = TESS_REASON_NAN_OR_INF;
    } else if (run.now.norm == 0.0 && !meets_tolerance(result, &run.now)) {
        reason = TESS_REASON_STAGNATION;
    } else if (!meets_tolerance(result, &run.now)) {
        TESS_TRY(run_rounds(&run, &reason));
    }
    TESS_TRY(s->ctx->backend->synchronize(s->ctx));
    finish_result(s, &run.now, reason, run.start, result);
    add_rest(result);
cleanup:
    return status;
}
