/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar steps of the preconditioned conjugate gradient method (Saad 2003, Algorithm 9.1; the names are its own). */
#ifndef TESS_SOLVER_CG_STEPS_H
#define TESS_SOLVER_CG_STEPS_H

#include <math.h>

#include "solver/step_common.h"

/* dots = {(r, r), (r, z)} of the initial residual: rho = (r, z). */
TESS_HD void step_cg_start(tess_loop_state *s)
{
    s->rho = s->dots[1];
    if (!step_is_finite(s->rho)) {
        step_stop(s, TESS_LOOP_STOPPED, TESS_REASON_NAN_OR_INF);
    } else if (s->rho <= 0.0) {
        step_stop(s, TESS_LOOP_STOPPED, TESS_REASON_INDEFINITE_PRECOND);
    }
}

/* dots = {(p, A p)}: alpha = (r, z) / (p, A p), line 3. */
TESS_HD void step_cg_alpha(tess_loop_state *s)
{
    double curvature = s->dots[0];

    if (!step_is_finite(curvature)) {
        step_stop(s, TESS_LOOP_STOPPED, TESS_REASON_NAN_OR_INF);
    } else if (curvature <= 0.0) {
        step_stop(s, TESS_LOOP_STOPPED, curvature < 0.0 ? TESS_REASON_INDEFINITE_MATRIX : TESS_REASON_BREAKDOWN);
    } else {
        s->curvature = curvature;
        s->alpha = s->rho / curvature;
    }
}

/*
 * dots = {(z, A z)}: alpha = rho / ((z, A z) - beta rho / alpha_old), since (p, A p) is that difference (Chronopoulos and Gear 1989,
 * section 4). Here beta^2 (p, A p)_old, which is the same and waits for no division. beta = 0 makes the first direction z.
 */
TESS_HD void step_cg_alpha_at_once(tess_loop_state *s)
{
    if (s->beta != 0.0) { s->dots[0] -= s->beta * s->beta * s->curvature; }
    step_cg_alpha(s);
}

/* rho_new = (r, z), and the end of the iteration. */
TESS_HD void cg_end(tess_loop_state *s, double residual_squared, double rho_next)
{
    s->residual_norm = sqrt(residual_squared);
    s->rho = rho_next;
    step_end_iteration(s, TESS_LOOP_FINISHING);
    if (s->phase == TESS_LOOP_RUNNING && !(rho_next > 0.0)) {
        step_stop(s, TESS_LOOP_FINISHING,
                  step_is_finite(rho_next) ? TESS_REASON_INDEFINITE_PRECOND : TESS_REASON_NAN_OR_INF);
    }
}

/* The same with beta = rho_new / rho, line 7. x is updated afterwards. */
TESS_HD void cg_close(tess_loop_state *s, double residual_squared, double rho_next)
{
    s->beta = rho_next / s->rho;
    cg_end(s, residual_squared, rho_next);
}

/* dots = {(r, r), (r, z)} from one pass. */
TESS_HD void step_cg_beta(tess_loop_state *s)
{
    cg_close(s, s->dots[0], s->dots[1]);
    step_end_if_stalled(s, TESS_LOOP_FINISHING);
}

/* The preconditioner's own pass gave dots[0] = (r, z); the pass before it left (r, r) in dots[1]. */
TESS_HD void step_cg_beta_split(tess_loop_state *s)
{
    cg_close(s, s->dots[1], s->dots[0]);
    step_end_if_stalled(s, TESS_LOOP_FINISHING);
}

/* dots = {(z, A z), (r, r), (r, z)} of a new residual: the end of an iteration and the scalars of the next. */
TESS_HD void step_cg_at_once(tess_loop_state *s)
{
    cg_close(s, s->dots[1], s->dots[2]);
    if (s->phase == TESS_LOOP_RUNNING) { step_cg_alpha_at_once(s); }
}

/* ---- predict and recompute (Chen and Carson 2020, PR-CG) ---- */

/*
 * beta from what (r, z) will be after r -= alpha A p, whose image under M^-1 is w: (r, z) - 2 alpha (r, w) + alpha^2 (A p, w). Where
 * rounding has left nothing of it the next direction is z.
 */
TESS_HD void cg_predict(tess_loop_state *s, double image_squared, double image_residual)
{
    const double predicted = s->rho - s->alpha * (2.0 * image_residual - s->alpha * image_squared);

    s->beta = predicted > 0.0 ? predicted / s->rho : 0.0;
}

/* dots = {(A p, w), (r, w)}, alpha being known. */
TESS_HD void step_cg_predict(tess_loop_state *s)
{
    cg_predict(s, s->dots[0], s->dots[1]);
}

/* The end of an iteration that goes on with the beta that was predicted; dots as for step_cg_beta. */
TESS_HD void step_cg_recompute(tess_loop_state *s)
{
    cg_end(s, s->dots[0], s->dots[1]);
}

/* The same; dots as for step_cg_beta_split. */
TESS_HD void step_cg_recompute_split(tess_loop_state *s)
{
    cg_end(s, s->dots[1], s->dots[0]);
}

/* dots = {(p, A p), (A p, w), (r, w)}: alpha and beta. */
TESS_HD void step_cg_predict_at_once(tess_loop_state *s)
{
    step_cg_alpha(s);
    if (s->phase == TESS_LOOP_RUNNING) { cg_predict(s, s->dots[1], s->dots[2]); }
}

/* dots = {(p, A p), (A p, w), (r, w), (r, r), (r, z)} of a new residual: the end of an iteration and the scalars of the next. */
TESS_HD void step_cg_recompute_at_once(tess_loop_state *s)
{
    cg_end(s, s->dots[3], s->dots[4]);
    if (s->phase == TESS_LOOP_RUNNING) { step_cg_predict_at_once(s); }
}

/* The same without a preconditioner: (r, z) is (r, r). */
TESS_HD void step_cg_recompute_alone(tess_loop_state *s)
{
    s->dots[4] = s->dots[3];
    step_cg_recompute_at_once(s);
}

#endif
