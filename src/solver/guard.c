/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solve consists of cycles of a Krylov method. Each computes a correction d to x, and the true residual of the
 * original FP64 matrix judges it. With the guard on `repair`, a cycle whose estimate was wrong or that broke down is
 * followed by another from the true residual (residual replacement), in FP64 if a lower precision made no progress.
 */
#include <math.h>
#include <string.h>

#include <tessera/two_word.h>

#include "base/deadline.h"
#include "format/csr/csr.h"
#include "solver/guard_run.h"

/* Whether the norm of M^-1 r decides, and can be computed. */
static bool has_mapped(const method_solver *s)
{
    return s->mapped && s->setup_reason == TESS_REASON_RUNNING;
}

/* *norm := ||M^-1 v|| */
static tess_status preconditioned_norm(const method_solver *s, const double *v, double *norm)
{
    tess_vector mapped = {.ctx = s->ctx, .n = s->krylov.n, .precision = TESS_PRECISION_FP64, .data = s->mapped};
    const tess_reduction none = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_precond_apply_fused(s->krylov.precond, TESS_PRECISION_FP64, v, s->mapped, &none));
    status = tess_vector_norm2(&mapped, TESS_ARITHMETIC_FP64, norm);
cleanup:
    return status;
}

tess_status guard_verify(solve_run *run, const double *x, true_residual *out)
{
    const method_solver *s = run->s;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(verify_residual(s->original, run->b, x, s->krylov.r, out));
    if (!has_mapped(s)) { return TESS_SUCCESS; }
    TESS_TRY(preconditioned_norm(s, s->krylov.r, &out->preconditioned));
    if (s->mapped_rhs > 0.0) { out->preconditioned *= out->rhs_norm / s->mapped_rhs; }
cleanup:
    return status;
}

/* ---- the best iterate ---- */

static tess_status copy_to_best(solve_run *run)
{
    const method_solver *s = run->s;

    run->best = run->now;
    return s->best ? s->ctx->backend->copy(s->ctx, s->best, run->x, (size_t)s->krylov.n * sizeof(double))
                   : TESS_SUCCESS;
}

/* Copies x to s->best if its residual is the smallest so far. Only cycles on low residuals go on from a worse x. */
tess_status guard_keep_best(solve_run *run)
{
    const bool better = run->s->best && may_replace(run->result, &run->now, &run->best, &run->first);

    return better ? copy_to_best(run) : TESS_SUCCESS;
}

/* x := the best iterate, if that is another. */
static tess_status return_best(solve_run *run)
{
    const method_solver *s = run->s;
    tess_status status = TESS_SUCCESS;

    if (!s->best || may_replace(run->result, &run->now, &run->best, &run->first) || run->guard == TESS_GUARD_REPORT) {
        return TESS_SUCCESS;
    }
    TESS_TRY(s->ctx->backend->copy(s->ctx, run->x, s->best, (size_t)s->krylov.n * sizeof(double)));
    status = guard_verify(run, run->x, &run->now);
cleanup:
    return status;
}

/* ---- before the first cycle ---- */

void guard_drop_graph(method_solver *s)
{
    if (!s->graph) { return; }
    s->ctx->backend->release_graph(s->ctx, s->graph);
    s->graph = NULL;
}

/* Discards recordings, whose pointers and numbers may be out of date. */
static void drop_stale_graph(method_solver *s)
{
    const void *values = csr_of(s->original)->view.val;
    const uint64_t revision = tess_precond_revision(s->precond), builds = s->stored ? s->stored->builds : 0;

    if (s->graph_values != values || s->graph_revision != revision || s->graph_builds != builds) {
        guard_drop_graph(s);
    }
    s->graph_values = values;
    s->graph_builds = builds;
    s->graph_revision = revision;
}

bool guard_has_old_precond(const method_solver *s)
{
    return tess_precond_is_old(s->own_precond);
}

/* Another try with the same values would end alike. One that ended for want of time may not, and one of another
   precision may have taken its place. */
static bool has_failed_for_good(const method_solver *s)
{
    return s->setup_reason == TESS_REASON_PRECOND_SETUP && s->failed_version == s->original->values_version &&
           guard_has_old_precond(s);
}

tess_status guard_renew_precond(method_solver *s)
{
    const bool renews = guard_has_old_precond(s);
    const double start = tess_wall_seconds();
    tess_status status = TESS_SUCCESS;

    if (!s->own_precond || has_failed_for_good(s)) { return TESS_SUCCESS; }
    status = tess_precond_update(s->own_precond);
    if (status == TESS_SUCCESS && renews) { status = s->ctx->backend->synchronize(s->ctx); }
    if (renews) { s->precond_seconds = tess_wall_seconds() - start; }
    if (solver_note_precond_failure(s, status)) { return TESS_SUCCESS; }
    if (status == TESS_SUCCESS) { s->setup_reason = TESS_REASON_RUNNING; }
    return status;
}

static tess_status renew_values(method_solver *s)
{
    tess_status status = TESS_SUCCESS;

    if (!s->original->ops) { return s->method->renew ? s->method->renew(s) : TESS_SUCCESS; }
    TESS_TRY(check_symmetry(s));
    if (s->stored) { TESS_TRY(tess_matrix_refresh(s->stored)); }
    if (s->method->renew) { TESS_TRY(s->method->renew(s)); }
    if (!s->keeps_precond || s->setup_reason != TESS_REASON_RUNNING) { TESS_TRY(guard_renew_precond(s)); }
    drop_stale_graph(s);
cleanup:
    return status;
}

/* The lowest precision of a matrix's values, or of its products; FP64 if all values are stored exactly. */
tess_precision matrix_lowest_precision(const tess_matrix *m)
{
    const tess_assignment_summary *summary = tess_matrix_assigned_to(m);
    tess_precision lowest = m->precision;

    if (tess_matrix_is_exact(m)) { return TESS_PRECISION_FP64; }
    if (lowest == TESS_PRECISION_FP64 && m->arithmetic == TESS_ARITHMETIC_FP32X2) { return TESS_PRECISION_FP32; }
    for (int l = 0; summary && l < summary->options.nlevels; l++) {
        const bool below = l == summary->options.nlevels - 1 && summary->left_out > 0;

        if (below || summary->nonzeros_at[l] > 0) { lowest = summary->options.level[l].precision; }
    }
    return lowest;
}

tess_precision solver_lowest_precision(const method_solver *s)
{
    return matrix_lowest_precision(solver_matrix(s));
}

/* The precision of cycles until an escalation. */
tess_precision guard_working_precision(const method_solver *s)
{
    return s->method->working_precision ? s->method->working_precision(s) : solver_lowest_precision(s);
}

static tess_status start_run(solve_run *run)
{
    method_solver *s = run->s;
    tess_solve_result *r = run->result;
    tess_status status = TESS_SUCCESS;

    if (has_mapped(s)) { TESS_TRY(preconditioned_norm(s, run->b, &s->mapped_rhs)); }
    TESS_TRY(guard_verify(run, run->x, &run->now)); /* ||b|| comes with it */
    verify_set_tolerances(s->options, &run->now, r);
    if (r->rhs_norm == 0.0) {
        TESS_TRY(s->ctx->backend->zero(s->ctx, run->x, (size_t)s->original->nrows * sizeof(double)));
        TESS_TRY(guard_verify(run, run->x, &run->now));
    }
    r->estimated_residual_norm = run->now.norm;
    if (s->head->history_capacity > 0) {
        s->head->host_history[0] = run->now.norm;
        r->history_length = 1;
        TESS_TRY(s->ctx->backend->upload(s->ctx, s->history, s->head->host_history, sizeof(double)));
    }
    run->low_precision = guard_working_precision(s) != TESS_PRECISION_FP64;
    run->began_low = run->low_precision;
    run->low_residuals = run->low_precision && s->method->low_residual;
    run->norm = run->now.norm;
    run->guard = s->method->is_fixed && s->method->is_fixed(s) ? TESS_GUARD_REPORT : s->options->guard;
cleanup:
    return status;
}

tess_status guard_prepare_cycles(solve_run *run)
{
    method_solver *s = run->s;
    tess_status status = TESS_SUCCESS;

    s->krylov.matrix = solver_matrix(s);
    if (s->krylov.extension) { TESS_TRY(s->krylov.extension->start(s)); }
    run->first = run->now;
    TESS_TRY(copy_to_best(run));
    status = guard_find_floor(run);
cleanup:
    return status;
}

tess_status guard_judge(solve_run *run, const tess_loop_state *end, bool *progress, bool *done)
{
    const double ended = tess_wall_seconds();
    tess_status status = TESS_SUCCESS;

    *progress = false;
    *done = false;
    TESS_TRY(guard_judge_cycle(run, (tess_reason)end->reason, progress));
    run->refinement_seconds += tess_wall_seconds() - ended;
    *done = meets_tolerance(run->result, &run->now);
cleanup:
    return status;
}

/* What follows a cycle that has been judged. *goes_on: another one. */
static tess_status decide(solve_run *run, const tess_loop_state *end, bool progress, tess_reason *reason, bool *goes_on)
{
    *reason = (tess_reason)end->reason;
    *goes_on = false;
    if (meets_tolerance(run->result, &run->now)) { return TESS_SUCCESS; }
    if (run->floor > 0.0 && *reason == TESS_REASON_RTOL && run->now.norm <= NEAR_FLOOR * run->floor) {
        *reason = TESS_REASON_STAGNATION;
        return TESS_SUCCESS;
    }
    return guard_go_on(run, end, progress, reason, goes_on);
}

static tess_status judge(solve_run *run, const tess_loop_state *end, tess_reason *reason, bool *goes_on)
{
    bool progress = false, done = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(guard_judge(run, end, &progress, &done));
    status = decide(run, end, progress, reason, goes_on);
cleanup:
    return status;
}

/* Cycles while one follows; then the best x. */
static tess_status run_rest(solve_run *run, bool goes_on, tess_reason *reason)
{
    method_solver *s = run->s;
    tess_status status = TESS_SUCCESS;

    while (goes_on && run->result->iterations < s->options->max_iterations) {
        tess_loop_state end;

        TESS_TRY(guard_start_cycle(run));
        TESS_TRY(guard_run_cycle(run, &end));
        TESS_TRY(judge(run, &end, reason, &goes_on));
    }
    if (*reason == TESS_REASON_RUNNING) { *reason = TESS_REASON_ITERATIONS; } /* another cycle had no iteration left */
    if (!meets_tolerance(run->result, &run->now)) { status = return_best(run); }
cleanup:
    return status;
}

/* Discards recordings made for other arrays. */
static void drop_changed_graph(const solve_run *run)
{
    if (run->low_precision != run->began_low || run->result->escalated) { guard_drop_graph(run->s); }
}

tess_status guard_run_cycles(solve_run *run, const tess_loop_state *first, tess_reason *reason)
{
    bool goes_on = true;
    tess_status status = TESS_SUCCESS;

    *reason = TESS_REASON_ITERATIONS;
    if (first) { TESS_TRY(judge(run, first, reason, &goes_on)); }
    status = run_rest(run, goes_on, reason);
cleanup:
    drop_changed_graph(run);
    return status;
}

tess_status guard_continue(solve_run *run, const tess_loop_state *judged, bool progress, tess_reason *reason)
{
    bool goes_on = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(decide(run, judged, progress, reason, &goes_on));
    status = run_rest(run, goes_on, reason);
cleanup:
    drop_changed_graph(run);
    return status;
}

/* ---- the whole ---- */

/* Some processors make NaN with a sign, which would be printed. */
static double unsigned_nan(double v)
{
    return isnan(v) ? (double)NAN : v;
}

void finish_result(const tess_solver *s, const true_residual *now, tess_reason reason, double start,
                   tess_solve_result *r)
{
    double scale = r->rhs_norm > 0.0 ? r->rhs_norm : 1.0;

    r->residual_norm = unsigned_nan(now->norm);
    r->residual_bound = unsigned_nan(now->bound);
    r->relative_residual = unsigned_nan(now->norm / scale);
    r->estimated_residual_norm = unsigned_nan(r->estimated_residual_norm);
    r->estimated_relative_residual = unsigned_nan(r->estimated_residual_norm / scale);
    verify_report_rows(now, r);
    r->converged = meets_tolerance(r, now);
    r->verified = r->converged && now->bounded && meets_given(r, now) &&
                  meets_rows(r, now, r->stop_norm == TESS_STOP_NORM_GIVEN ? TESS_ROWS_SLACK : 1.0);
    r->reason = reason;
    if (!r->converged && reason > 0) { r->reason = TESS_REASON_FALSE_CONVERGENCE; } /* no success without a proof */
    if (r->converged && r->tolerance == 0.0 && r->iterations > 0) {
        r->reason = TESS_REASON_HAPPY_BREAKDOWN;
    } else if (r->converged) {
        r->reason = r->tolerance > s->options.rtol * r->rhs_norm ? TESS_REASON_ATOL : TESS_REASON_RTOL;
    }
    r->peak_device_bytes = s->ctx->peak_bytes;
    r->solve_seconds = tess_wall_seconds() - start;
}

/* Without a preconditioner M is the identity: sums that lose their sign are rounding errors of the recurrence, such as
   those of a singular system without a solution. */
static tess_reason true_reason(const method_solver *s, tess_reason reason)
{
    return reason == TESS_REASON_INDEFINITE_PRECOND && !s->precond ? TESS_REASON_BREAKDOWN : reason;
}

tess_status guard_open(solve_run *run, tess_reason *reason, bool *cycles)
{
    method_solver *s = run->s;
    tess_solve_result *result = run->result;
    tess_status status = TESS_SUCCESS;

    *cycles = false;
    *reason = TESS_REASON_RUNNING;
    TESS_TRY(solver_start_clock(s));
    TESS_TRY(renew_values(s));
    describe_solver(s->head, result);
    TESS_TRY(start_run(run));
    if (!is_finite(run->now.norm) || !is_finite(result->rhs_norm)) {
        *reason = TESS_REASON_NAN_OR_INF;
    } else if (run->now.norm == 0.0 && !meets_tolerance(result, &run->now)) {
        *reason = TESS_REASON_STAGNATION;
    } else if (!meets_tolerance(result, &run->now)) {
        *reason = s->asymmetric ? TESS_REASON_NONSYMMETRIC : s->setup_reason;
        *cycles = *reason == TESS_REASON_RUNNING;
        if (!*cycles) { s->ctx->error = s->asymmetric ? s->asymmetric_error : s->setup_error; }
    }
cleanup:
    return status;
}

tess_status guard_close(solve_run *run, bool cycled, tess_reason reason)
{
    method_solver *s = run->s;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(s->ctx->backend->synchronize(s->ctx));
    tess_papers_result_init(&s->head->papers_result);
    if (s->krylov.extension && cycled) { TESS_TRY(s->krylov.extension->report(s)); } /* else it has counted nothing */
    finish_result(s->head, &run->now, true_reason(s, reason), run->start, run->result);
    if (s->method->report) { s->method->report(s, run->result); }
    status = solver_stop_clock(s, run->refinement_seconds, run->result);
cleanup:
    return status;
}

tess_status guard_solve(method_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result)
{
    solve_run run = {.s = s, .b = b->data, .x = x->data, .result = result, .start = tess_wall_seconds()};
    tess_reason reason = TESS_REASON_RUNNING;
    bool cycles = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(guard_open(&run, &reason, &cycles));
    if (cycles) { TESS_TRY(guard_apply_factors(&run, &reason, &cycles)); }
    if (cycles) {
        TESS_TRY(guard_prepare_cycles(&run));
        TESS_TRY(guard_run_cycles(&run, NULL, &reason));
    }
    TESS_TRY(tess_vector_refresh_shadow(x));
    status = guard_close(&run, cycles, reason);
cleanup:
    s->ctx->clock = NULL;
    return status;
}
