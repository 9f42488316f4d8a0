/* SPDX-License-Identifier: Apache-2.0 */
/* A solve of one system of a batch by a team (batch_work.h): CG, BiCGSTAB, GMRES, and cycles that the true residual
   judges. */
#ifndef TESS_SOLVER_BATCH_BATCH_BODY_H
#define TESS_SOLVER_BATCH_BATCH_BODY_H

#include "base/random.h"
#include "solver/batch/batch_gmres.h"
#include "solver/bicgstab/bicgstab_scalars.h"
#include "solver/cg/cg_scalars.h"
#include "solver/guard_limits.h"

/* ---- conjugate gradients: the equations are those of cg.c ---- */

BATCH_FN void batch_run_cg(const batch_work *w)
{
    double *r = w->vector[BATCH_R], *d = w->vector[BATCH_D], *p = w->vector[BATCH_P], *q = w->vector[BATCH_Q];
    const int32_t n = w->task->n;
    const double *z = batch_precondition(w, r);
    tess_loop_state *const s = w->state;

    batch_copy(w, z, p);
    batch_sum(s, batch_dot(n, r, r), batch_dot(n, r, z));
    if (BATCH_LEADS) { update_cg_start(s); }
    BATCH_BARRIER();
    while (s->phase == TESS_LOOP_RUNNING && !batch_is_stopped(w->team, w->state)) {
        /* q = A p; alpha = (r, z) / (p, q) */
        batch_multiply(w, p, q);
        batch_sum(s, batch_dot(n, p, q), 0.0);
        if (BATCH_LEADS) { update_cg_alpha(s); }
        BATCH_BARRIER();
        if (s->phase != TESS_LOOP_RUNNING) { break; }
        const double alpha = s->alpha;

        /* d += alpha p; r -= alpha q; beta = (r, z)_new / (r, z) */
        batch_combine(w, alpha, p, 1.0, d);
        batch_combine(w, -alpha, q, 1.0, r);
        z = batch_precondition(w, r);
        batch_sum(s, batch_dot(n, r, r), batch_dot(n, r, z));
        if (BATCH_LEADS) { update_cg_beta(s); }
        BATCH_BARRIER();
        /* p = z + beta p */
        batch_combine(w, 1.0, z, s->beta, p);
        BATCH_BARRIER();
    }
}

/* ---- BiCGSTAB: the equations are those of bicgstab.c ---- */

BATCH_FN void batch_start_bicgstab(const batch_work *w)
{
    double *r = w->vector[BATCH_R], *shadow = w->vector[BATCH_SHADOW];
    const int32_t n = w->task->n;

    batch_fill(w, 0.0, w->vector[BATCH_P]);
    batch_fill(w, 0.0, w->vector[BATCH_Q]);
    for (int32_t i = BATCH_FIRST; i < n; i += BATCH_STEP) {
        shadow[i] = w->fruitless == 0 ? r[i] : tess_random_in((uint64_t)w->fruitless, (uint64_t)i, -1.0, 1.0);
    }
    batch_sum(w->state, batch_dot(n, shadow, r), batch_dot(n, shadow, shadow));
    if (BATCH_LEADS) { update_bicgstab_start(w->state); }
    BATCH_BARRIER();
}

/* r becomes s = r - alpha v; false: the solve ends. */
BATCH_FN bool batch_first_half(const batch_work *w)
{
    double *r = w->vector[BATCH_R], *p = w->vector[BATCH_P], *v = w->vector[BATCH_Q];
    const double beta = w->state->beta, omega = w->state->omega;
    const double *p_hat = NULL;

    /* p = r + beta (p - omega v); p^ = M^-1 p */
    for (int32_t i = BATCH_FIRST; i < w->task->n; i += BATCH_STEP) {
        p[i] = r[i] + beta * (p[i] - omega * v[i]);
    }
    p_hat = batch_precondition(w, p);
    BATCH_BARRIER();
    /* v = A p^; alpha = rho / (r~, v) */
    batch_multiply(w, p_hat, v);
    batch_sum(w->state, batch_dot(w->task->n, w->vector[BATCH_SHADOW], v), 0.0);
    if (BATCH_LEADS) { update_bicgstab_alpha(w->state); }
    BATCH_BARRIER();
    if (w->state->phase != TESS_LOOP_RUNNING) { return false; }
    const double alpha = w->state->alpha;

    batch_combine(w, alpha, p_hat, 1.0, w->vector[BATCH_D]);
    batch_combine(w, -alpha, v, 1.0, r);
    return true;
}

BATCH_FN void batch_second_half(const batch_work *w)
{
    double *r = w->vector[BATCH_R], *t = w->vector[BATCH_T];
    const int32_t n = w->task->n;
    const double *s_hat = batch_precondition(w, r);

    BATCH_BARRIER();
    /* t = A s^; omega = (t, s) / (t, t) */
    batch_multiply(w, s_hat, t);
    batch_sum(w->state, batch_dot(n, t, r), batch_dot(n, t, t));
    if (BATCH_LEADS) { update_bicgstab_omega(w->state); }
    BATCH_BARRIER();
    if (w->state->phase != TESS_LOOP_RUNNING) { return; }
    const double omega = w->state->omega;

    /* d += alpha p^ + omega s^; r = s - omega t; rho = (r~, r) */
    batch_combine(w, omega, s_hat, 1.0, w->vector[BATCH_D]);
    batch_combine(w, -omega, t, 1.0, r);
    batch_sum(w->state, batch_dot(n, r, r), batch_dot(n, w->vector[BATCH_SHADOW], r));
    if (BATCH_LEADS) { update_bicgstab_beta(w->state); }
    BATCH_BARRIER();
}

BATCH_FN void batch_run_bicgstab(const batch_work *w)
{
    batch_start_bicgstab(w);
    while (w->state->phase == TESS_LOOP_RUNNING && !batch_is_stopped(w->team, w->state)) {
        if (!batch_first_half(w)) { break; }
        batch_second_half(w);
    }
}

/* ---- before the first cycle ---- */

/* The diagonal's inverse, and how many entries of it are above and below 0. */
BATCH_FN void batch_find_scale(const batch_work *w, double *above, double *below)
{
    const int32_t *row_ptr = w->task->row_ptr, *col_ind = w->task->col_ind;

    *above = *below = 0.0;
    for (int32_t i = BATCH_FIRST; i < w->task->n; i += BATCH_STEP) {
        double diagonal = 0.0;

        for (int32_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
            if (col_ind[k] == i) { diagonal = w->val[k]; }
        }
        const double inverse = 1.0 / diagonal;
        const bool fits = diagonal != 0.0 && isfinite(inverse);

        w->vector[BATCH_SCALE][i] = fits ? inverse : 1.0;
        *above += fits && diagonal > 0.0 ? 1.0 : 0.0;
        *below += fits && diagonal < 0.0 ? 1.0 : 0.0;
    }
    batch_count(w, above, below);
}

BATCH_FN bool batch_is_symmetric(const batch_work *w)
{
    double difference = 0.0, total = 0.0;

    for (int32_t k = BATCH_FIRST; k < w->task->nnz; k += BATCH_STEP) {
        const int32_t other = w->task->mirror[k];
        const double less = w->val[k] - (other >= 0 ? w->val[other] : 0.0);

        difference += less * less;
        total += w->val[k] * w->val[k];
    }
    batch_count(w, &difference, &total);
    return difference <= ASYMMETRY_LIMIT * ASYMMETRY_LIMIT * total;
}

/* Chooses the method and the preconditioner. RUNNING, or why a solve cannot begin. */
BATCH_FN tess_reason batch_choose(batch_work *w)
{
    const batch_task *task = w->task;
    double above = 0.0, below = 0.0;

    batch_find_scale(w, &above, &below);
    const bool whole = above + below == task->n, one_sign = above == task->n || below == task->n;
    const bool symmetric = task->mirror && batch_is_symmetric(w);

    w->precond = task->precond;
    w->method = task->method;
    if (task->method == BATCH_CHOSEN) { w->method = symmetric && one_sign ? BATCH_CG : BATCH_BICGSTAB; }
    if (w->method == BATCH_CG && !symmetric) { return TESS_REASON_NONSYMMETRIC; }
    if (BATCH_HAS_OWN && w->precond == BATCH_ILU0 ? !batch_factor(w) : w->precond == BATCH_JACOBI && !whole) {
        return TESS_REASON_PRECOND_SETUP;
    }
    return TESS_REASON_RUNNING;
}

/* Verifies the initial guess. RUNNING: cycles follow; RTOL: it meets the tolerance. */
BATCH_FN tess_reason batch_open(batch_work *w)
{
    batch_verify(w, w->x, &w->now);
    w->tolerance = tess_given_tolerance(w->task->rtol, w->task->atol, w->now.rhs_least);
    w->rows_tolerance = tess_rows_tolerance(w->task->rtol, w->task->atol, w->now.rhs_norm, w->now.rows_rhs_least);
    if (w->now.rhs_norm == 0.0) {
        batch_fill(w, 0.0, w->x);
        batch_verify(w, w->x, &w->now);
    }
    if (!isfinite(w->now.norm) || !isfinite(w->now.rhs_norm)) { return TESS_REASON_NAN_OR_INF; }
    if (batch_meets(w, &w->now)) { return TESS_REASON_RTOL; }
    return w->now.norm == 0.0 ? TESS_REASON_STAGNATION : batch_choose(w);
}

/* ---- a cycle ---- */

/* The given norm at which the deciding norms should meet their tolerances: they fall alike, as far as is known. */
BATCH_FN double batch_goal(const batch_work *w)
{
    const double deciding = batch_deciding_norm(w, &w->now);

    if (!w->task->rows || deciding == w->now.norm) { return STOP_SHARE * w->tolerance; }
    return STOP_SHARE * w->tolerance * (w->now.norm / deciding) * (w->iterations > 0 ? SECOND_SHARE : 1.0) *
           pow(HIDDEN_SHARE, w->fruitless);
}

/* d near A^-1 r / unit, from the residual r over unit, which changes; returns unit, a power of two. */
BATCH_FN double batch_run(const batch_work *w, double goal)
{
    const double largest = w->now.rhs_norm > w->now.norm ? w->now.rhs_norm : w->now.norm;
    double *r = w->vector[BATCH_R];
    int e = 0;

    (void)frexp(w->now.norm, &e);
    e = e > MAX_EXPONENT ? MAX_EXPONENT : e < -MAX_EXPONENT ? -MAX_EXPONENT : e;
    if (e >= -UNSCALED_EXPONENT && e <= UNSCALED_EXPONENT) { e = 0; }
    if (e != 0) { batch_combine(w, 0.0, r, ldexp(1.0, -e), r); }
    batch_fill(w, 0.0, w->vector[BATCH_D]);
    if (BATCH_LEADS) {
        tess_loop_state begin;

        memset(&begin, 0, sizeof begin);
        begin.iteration = w->iterations;
        begin.max_iterations = w->task->max_iterations;
        begin.residual_norm = ldexp(w->now.norm, -e);
        begin.tolerance = ldexp(goal, -e);
        begin.divergence_limit = w->task->divergence_tolerance * ldexp(largest, -e);
        begin.scale = ldexp(1.0, e);
        *w->state = begin;
    }
    BATCH_BARRIER();
    if (w->method == BATCH_CG) {
        batch_run_cg(w);
    } else if (BATCH_HAS_OWN && w->method == BATCH_GMRES) {
        batch_run_gmres(w);
    } else {
        batch_run_bicgstab(w);
    }
    return ldexp(1.0, e);
}

/* Whether the cycle that ended for *reason made progress: x + d is judged before it replaces x. */
BATCH_FN bool batch_cycle(batch_work *w, tess_reason *reason)
{
    const double goal = batch_goal(w), before = batch_deciding_norm(w, &w->now);
    const double asked = before - goal * (before / w->now.norm);
    const int64_t first = w->iterations;
    double *d = w->vector[BATCH_D];
    tess_residual_norms next;
    const double unit = batch_run(w, goal);

    w->iterations = w->state->iteration;
    *reason = (tess_reason)w->state->reason;
    batch_combine(w, 1.0, w->x, unit, d);
    batch_verify(w, d, &next);
    const double after = batch_deciding_norm(w, &next);

    w->unproved = !batch_takes(w, &next) && after <= before;
    if (!batch_takes(w, &next)) {
        batch_verify(w, w->x, &w->now); /* restores the residual of x */
        return false;
    }
    batch_copy(w, d, w->x);
    w->now = next;
    return w->iterations > first &&
           after <= (*reason == TESS_REASON_RUNNING ? RESTART_FACTOR * before
                                                    : before - PROGRESS_SHARE * (asked > 0.0 ? asked : 0.0));
}

BATCH_FN bool batch_ends_from_outside(tess_reason reason)
{
    return reason == TESS_REASON_TIME_LIMIT || reason == TESS_REASON_INTERRUPTED;
}

/* Whether another cycle may help after one that has not met the tolerance; if not, *reason is final. */
BATCH_FN bool batch_goes_on(batch_work *w, bool progress, tess_reason *reason)
{
    const bool attained = w->unproved || w->now.norm <= ROUNDING_FACTOR * w->now.rounding;

    if (w->now.norm == 0.0) { *reason = TESS_REASON_STAGNATION; }
    if (w->now.norm == 0.0 || batch_ends_from_outside(*reason)) { return false; }
    if (w->iterations >= w->task->max_iterations) {
        if (*reason == TESS_REASON_RTOL) { *reason = TESS_REASON_ITERATIONS; }
        return false;
    }
    w->fruitless = progress ? 0 : w->fruitless + 1;
    if (!progress && w->task->method == BATCH_CHOSEN && w->method == BATCH_CG) {
        w->method = BATCH_BICGSTAB;
        w->fruitless = 0;
    }
    if (w->fruitless < FRUITLESS_CYCLES) { return true; }
    if (*reason == TESS_REASON_RUNNING) { *reason = TESS_REASON_STAGNATION; }
    if (*reason == TESS_REASON_RTOL) { *reason = attained ? TESS_REASON_STAGNATION : TESS_REASON_FALSE_CONVERGENCE; }
    return false;
}

/* ---- the whole ---- */

BATCH_FN tess_reason batch_run_cycles(batch_work *w)
{
    tess_reason reason = TESS_REASON_ITERATIONS;
    bool goes_on = w->task->max_iterations > 0;

    while (goes_on) {
        const bool progress = batch_cycle(w, &reason);

        goes_on = !batch_meets(w, &w->now) && batch_goes_on(w, progress, &reason);
        w->refinements += goes_on && reason != TESS_REASON_RUNNING ? 1 : 0; /* a full basis is no wrong estimate */
    }
    return reason;
}

/* The reason of an x whose residual is known. */
BATCH_FN tess_reason batch_final_reason(const batch_work *w, tess_reason reason)
{
    const batch_task *task = w->task;

    if (batch_meets(w, &w->now)) {
        if (w->tolerance == 0.0 && w->iterations > 0) { return TESS_REASON_HAPPY_BREAKDOWN; }
        return w->tolerance > task->rtol * w->now.rhs_norm ? TESS_REASON_ATOL : TESS_REASON_RTOL;
    }
    if (reason > 0) { return TESS_REASON_FALSE_CONVERGENCE; }
    return reason == TESS_REASON_INDEFINITE_PRECOND && w->precond == BATCH_PLAIN ? TESS_REASON_BREAKDOWN : reason;
}

/* System s; w has the team's state and vectors. */
BATCH_FN void batch_solve_one(const batch_task *task, int64_t s, batch_work *w, batch_outcome *outcome)
{
    w->task = task;
    w->val = task->val + s * task->nnz;
    w->b = task->b + s * task->n;
    w->x = task->x + s * task->n;
    w->precond = BATCH_PLAIN;
    w->method = BATCH_CHOSEN;
    w->iterations = w->refinements = 0;
    w->fruitless = 0;
    w->unproved = false;
    const tess_reason opened = batch_open(w);
    const tess_reason ended = opened == TESS_REASON_RUNNING ? batch_run_cycles(w) : opened;
    const tess_residual_norms *now = &w->now;

    if (BATCH_LEADS) {
        outcome->reason = batch_final_reason(w, ended);
        outcome->method = w->method;
        outcome->converged = batch_meets(w, now);
        outcome->verified =
            outcome->converged && batch_meets_given(w, now) && batch_meets_rows(w, now, task->rows_slack);
        outcome->iterations = w->iterations;
        outcome->refinements = w->refinements;
        outcome->rhs_norm = now->rhs_norm;
        outcome->residual_norm = now->norm;
        outcome->residual_bound = now->bound;
    }
    BATCH_BARRIER(); /* the team's memory is free for the next system */
}

#endif
