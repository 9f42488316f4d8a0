/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A least-squares solve: cycles of LSQR or LSMR for the correction of x, each from the true residual, and each judged
 * by it. A solve has converged if b - A x meets the tolerance, or if A^T (b - A x) is so small that x solves the normal
 * equations (docs/concepts/verification.md, "Least squares").
 */
#include "solver/least_squares/least_squares.h"

#include <math.h>

#include <tessera/names.h>
#include <tessera/two_word.h>

#include "solver/guard_limits.h"

/* A cycle on a matrix of lower precision aims at so many of its unit roundoffs, and at some progress. */
#define REDUCTION_ROUNDOFFS 8.0
#define SMALLEST_REDUCTION 0.25
/* After an estimate of the normal residual that was too small, the next cycle's goal is this much lower. */
#define STRICTER 0.1

/* ||A^T r|| as a user's operator computes it. Nobody bounds the rounding of its transposed products. */
static tess_status apply_normal(const least_squares *own, normal_residual *normal)
{
    tess_status status = tess_matrix_spmv(own->at, own->of_at, 1.0, own->residual, 0.0, own->product);

    return status == TESS_SUCCESS ? tess_vector_norm2(own->product, TESS_ARITHMETIC_FP64, &normal->norm) : status;
}

/* The residual of x, and that of the normal equations. */
static tess_status verify(const least_run *run, const tess_vector *x, true_residual *now, normal_residual *normal)
{
    const least_squares *own = run->own;
    true_residual of_transpose;
    tess_status status = TESS_SUCCESS;

    normal->norm = normal->bound = NAN;
    TESS_TRY(verify_residual(run->s->original, run->b->data, x->data, own->residual->data, now));
    if (!isfinite(now->norm)) { return TESS_SUCCESS; }
    if (least_squares_of_shell(run->s)) { return apply_normal(own, normal); }
    /* 0 - A^T r; the error of r itself is at most now->of_vector, and ||A||_2 <= ||A||_F */
    TESS_TRY(verify_residual(own->transpose, own->zero->data, own->residual->data, own->product->data, &of_transpose));
    normal->norm = of_transpose.norm;
    normal->bound = (of_transpose.bound + own->norm_most * now->of_vector) * (1.0 + 4.0 * TESS_U64);
cleanup:
    return status;
}

/* ||A^T r|| <= rtol ||A||_F ||r|| for the exact values: the left side rounded up, the right side down. For a user's
   operator: for the values as they are computed, which proves nothing. */
static bool solves_normal_equations(const least_run *run, const true_residual *now, const normal_residual *normal)
{
    if (least_squares_of_shell(run->s)) {
        return isfinite(normal->norm) && normal->norm <= run->s->options.rtol * run->own->norm * now->norm;
    }
    const double most = (normal->norm + normal->bound) * (1.0 + 4.0 * TESS_U64);
    const double least = fmax(now->norm - now->bound, 0.0) * (1.0 - 4.0 * TESS_U64);

    return isfinite(most) && isfinite(now->norm) &&
           most <= run->s->options.rtol * run->own->norm_least * least * (1.0 - 4.0 * TESS_U64);
}

static bool is_done(const least_run *run)
{
    return meets_tolerance(run->result, &run->now) || solves_normal_equations(run, &run->now, &run->normal);
}

/* ---- cycles ---- */

static double low_reduction(const least_run *run)
{
    return fmin(REDUCTION_ROUNDOFFS *
                    tess_precision_unit_roundoff(matrix_lowest_precision(least_squares_matrix(run->s))),
                SMALLEST_REDUCTION);
}

least_cycle least_squares_plan(const least_run *run)
{
    const tess_solve_options *o = &run->s->options;
    least_cycle cycle = {.goal = STOP_SHARE * run->result->tolerance,
                         .normal_goal = STOP_SHARE * run->share * o->rtol,
                         .divergence = o->divergence_tolerance * fmax(run->result->rhs_norm, run->now.norm),
                         .first = run->result->iterations,
                         .start = run->start};

    if (run->low && o->guard == TESS_GUARD_REPAIR) {
        cycle.goal = fmax(cycle.goal, low_reduction(run) * run->now.norm);
        cycle.normal_goal = fmax(cycle.normal_goal, low_reduction(run));
    }
    return cycle;
}

/* x + D y is judged before it replaces x. */
static tess_status judge(least_run *run, const least_cycle *cycle, bool *progress)
{
    const tess_solver *s = run->s;
    const least_squares *own = run->own;
    const double asked = fmax(run->now.norm - cycle->goal, 0.0);
    true_residual next;
    normal_residual normal;
    bool solved = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(least_squares_scale(s, own->step, own->step));
    TESS_TRY(tess_vector_copy(run->x, own->candidate));
    TESS_TRY(tess_vector_axpby(1.0, own->step, 1.0, own->candidate, TESS_ARITHMETIC_FP64));
    TESS_TRY(verify(run, own->candidate, &next, &normal));
    solved = solves_normal_equations(run, &next, &normal);
    *progress = cycle->iterations > 0 && (next.norm <= run->now.norm - PROGRESS_SHARE * asked ||
                                          normal.norm * run->now.norm <= PROGRESS_SHARE * run->normal.norm * next.norm);
    if (isfinite(next.norm) && (next.norm <= run->now.norm || solved || s->options.guard == TESS_GUARD_REPORT)) {
        run->now = next;
        run->normal = normal;
        status = tess_vector_copy(own->candidate, run->x);
    } else {
        *progress = false;
        status = verify(run, run->x, &run->now, &run->normal); /* restores the residual of x */
    }
cleanup:
    return status;
}

static void go_on_in_fp64(least_run *run)
{
    run->low = false;
    run->result->escalated = 1;
    run->result->storage.precision = TESS_PRECISION_FP64;
    run->result->storage.exact = 1;
    run->own->a = run->s->original;
    run->own->at = run->own->transpose;
    tess_log(run->s->ctx, TESS_LOG_INFO, "the solve goes on in fp64 after %s",
             tess_count(run->result->iterations, "iteration").text);
}

/* After a cycle that proved nothing: whether another may help; if not, *reason is final. */
static bool may_repair(least_run *run, bool progress, tess_reason *reason)
{
    const bool claimed = *reason > 0;

    if (*reason == TESS_REASON_ITERATIONS || *reason == TESS_REASON_CANCELLED) { return false; }
    if (run->s->options.guard == TESS_GUARD_REPORT) {
        if (claimed) { *reason = TESS_REASON_FALSE_CONVERGENCE; }
        return false;
    }
    if (*reason == TESS_REASON_LEAST_SQUARES) { run->share *= STRICTER; }
    if (progress) {
        run->fruitless = 0;
        return true;
    }
    if (run->low) {
        go_on_in_fp64(run);
        return true;
    }
    run->fruitless += 1;
    if (run->fruitless < FRUITLESS_CYCLES) { return true; }
    if (claimed) {
        const bool floor = is_rounding(&run->now);

        *reason =
            floor || *reason == TESS_REASON_LEAST_SQUARES ? TESS_REASON_STAGNATION : TESS_REASON_FALSE_CONVERGENCE;
    }
    return false;
}

tess_status least_squares_go_on(least_run *run, const least_cycle *first, tess_reason *reason)
{
    tess_solver *s = run->s;
    tess_solve_result *r = run->result;
    tess_status status = TESS_SUCCESS;

    *reason = TESS_REASON_ITERATIONS;
    while (first || r->iterations < s->options.max_iterations) {
        least_cycle cycle = first ? *first : least_squares_plan(run);
        bool progress = false;

        if (!first) { TESS_TRY(least_squares_run(s, run->now.norm, &cycle)); }
        first = NULL;
        r->iterations += cycle.iterations;
        r->estimated_residual_norm = cycle.residual_norm;
        r->history_length = r->iterations + 1 < s->history_capacity ? r->iterations + 1 : s->history_capacity;
        *reason = cycle.reason;
        TESS_TRY(judge(run, &cycle, &progress));
        if (is_done(run) || !may_repair(run, progress, reason)) { break; }
        r->refinements += 1;
        tess_log(s->ctx, TESS_LOG_DEBUG, "residual replaced after %s (%s): true residual %.3e",
                 tess_count(r->iterations, "iteration").text, tess_reason_name(*reason), run->now.norm);
        /* The estimate met the tolerance in the last iteration, and none is left for a repair. */
        *reason = *reason > 0 ? TESS_REASON_ITERATIONS : *reason;
    }
cleanup:
    return status;
}

/* ---- the whole ---- */

/* Those of the first cycles. */
static void take_matrices(const least_run *run)
{
    least_squares *own = run->own;

    own->a = least_squares_matrix(run->s);
    own->at = least_squares_of_shell(run->s) ? run->s->original
              : own->stored_transpose        ? own->stored_transpose
                                             : own->transpose;
}

tess_status least_squares_return_to(least_run *run, bool residual)
{
    take_matrices(run);
    return residual ? verify(run, run->x, &run->now, &run->normal) : TESS_SUCCESS;
}

static tess_status start_run(least_run *run)
{
    tess_solver *s = run->s;
    tess_solve_result *r = run->result;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(least_squares_renew(s));
    if (least_squares_of_shell(s)) { run->own->norm = run->own->scaled_norm = 0.0; }
    describe_solver(s, r);
    take_matrices(run);
    run->low = matrix_lowest_precision(least_squares_matrix(s)) != TESS_PRECISION_FP64;
    TESS_TRY(tess_vector_fill(run->own->zero, 0.0));
    TESS_TRY(verify(run, run->x, &run->now, &run->normal));
    r->rhs_norm = run->now.rhs_norm;
    verify_set_tolerances(&s->options, &run->now, r);
    if (r->rhs_norm == 0.0) {
        TESS_TRY(tess_vector_fill(run->x, 0.0));
        TESS_TRY(verify(run, run->x, &run->now, &run->normal));
    }
    r->estimated_residual_norm = run->now.norm;
    if (s->history_capacity > 0) {
        s->host_history[0] = run->now.norm;
        r->history_length = 1;
    }
cleanup:
    return status;
}

static void finish(const least_run *run, tess_reason reason)
{
    tess_solve_result *r = run->result;

    finish_result(run->s, &run->now, reason, run->start, r);
    r->normal_residual_norm = run->normal.norm;
    r->normal_residual_bound = run->normal.bound;
    r->matrix_norm = run->own->norm > 0.0 || !least_squares_of_shell(run->s) ? run->own->norm : (double)NAN;
    if (!r->converged && solves_normal_equations(run, &run->now, &run->normal)) {
        r->converged = 1;
        r->verified = !least_squares_of_shell(run->s);
        r->reason = TESS_REASON_LEAST_SQUARES;
    }
}

tess_status least_squares_open(least_run *run, tess_reason *reason, bool *cycles)
{
    tess_status status = start_run(run);

    *cycles = false;
    *reason = TESS_REASON_RUNNING;
    if (status != TESS_SUCCESS) { return status; }
    if (!isfinite(run->now.norm) || !isfinite(run->result->rhs_norm)) {
        *reason = TESS_REASON_NAN_OR_INF;
    } else {
        *cycles = !is_done(run);
    }
    return status;
}

tess_status least_squares_close(const least_run *run, tess_reason reason)
{
    tess_solver *s = run->s;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_refresh_shadow(run->x));
    TESS_TRY(s->ctx->backend->synchronize(s->ctx));
    tess_papers_result_init(&s->papers_result);
    finish(run, reason);
cleanup:
    return status;
}

tess_status least_squares_solve(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result)
{
    least_run run = {
        .s = s, .own = s->state, .b = b, .x = x, .result = result, .start = tess_wall_seconds(), .share = 1.0};
    tess_reason reason = TESS_REASON_RUNNING;
    bool cycles = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(least_squares_open(&run, &reason, &cycles));
    if (cycles) { TESS_TRY(least_squares_go_on(&run, NULL, &reason)); }
    status = least_squares_close(&run, reason);
cleanup:
    return status;
}

/* ---- the table, and the methods ---- */

static bool takes(const tess_matrix *a, const tess_precond *given, const tess_solve_options *options)
{
    const tess_method *method = tess_find_method(options->solver);

    (void)a;
    (void)given;
    return method && method->rectangular;
}

static tess_status get_iterate(const tess_solver *s, double *x)
{
    (void)x;
    return tess_fail(s->ctx, TESS_UNSUPPORTED, "cg, bicgstab, minres and idr have one",
                     "this solve has no iterate to copy");
}

const tess_solver_ops solver_least_squares = {.takes = takes,
                                              .setup = least_squares_setup,
                                              .destroy = least_squares_destroy,
                                              .solve = least_squares_solve,
                                              .columns_together = least_squares_columns_together,
                                              .solve_columns = least_squares_solve_columns,
                                              .describe = least_squares_describe,
                                              .get_iterate = get_iterate};

const tess_method tess_method_lsqr = {.kind = TESS_SOLVER_LSQR, .rectangular = true};
const tess_method tess_method_lsmr = {.kind = TESS_SOLVER_LSMR, .rectangular = true};
