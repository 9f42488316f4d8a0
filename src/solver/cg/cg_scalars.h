/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar updates of the preconditioned conjugate gradient method (Saad 2003, Algorithm 9.1; the names are its own). */
#ifndef TESS_SOLVER_CG_CG_SCALARS_H
#define TESS_SOLVER_CG_CG_SCALARS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "device/iteration_end.h"

/*
 * A may be negative definite: -A x = -b has the same iterates. Within a cycle (r, z) keeps its sign, and so does (p, A
 * p). M is positive definite, or of the sign of A.
 */

/* dots = {(r, r), (r, z)} of the initial residual: rho = (r, z). */
TESS_HD void update_cg_start(tess_loop_state *s)
{
    s->rho = s->dots[1];
    s->curvature = 0.0; /* its sign is not known yet */
    if (!scalar_is_finite(s->rho)) {
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_NAN_OR_INF);
    } else if (s->rho == 0.0) {
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_INDEFINITE_PRECOND);
    }
}

/* Why no step can be taken along p with such a (p, A p), or RUNNING. */
TESS_HD tess_reason cg_obstacle(const tess_loop_state *s, double curvature)
{
    const int changes = curvature > 0.0 ? s->curvature < 0.0 : s->curvature > 0.0;

    if (!scalar_is_finite(curvature)) { return TESS_REASON_NAN_OR_INF; }
    if (curvature == 0.0) { return TESS_REASON_BREAKDOWN; }
    if (changes) { return TESS_REASON_INDEFINITE_MATRIX; }
    return curvature > 0.0 && s->rho < 0.0 ? TESS_REASON_INDEFINITE_PRECOND : TESS_REASON_RUNNING;
}

/* dots = {(p, A p)}: alpha = (r, z) / (p, A p), line 3. */
TESS_HD void update_cg_alpha(tess_loop_state *s)
{
    const double curvature = s->dots[0];
    const tess_reason obstacle = cg_obstacle(s, curvature);

    if (obstacle != TESS_REASON_RUNNING) {
        loop_stop(s, TESS_LOOP_STOPPED, obstacle);
    } else {
        s->curvature = curvature;
        s->alpha = s->rho / curvature;
    }
}

/*
 * dots = {(z, A z)}: alpha = rho / ((z, A z) - beta rho / alpha_old), since (p, A p) is that difference (Chronopoulos
 * and Gear 1989, section 4). Here beta^2 (p, A p)_old, which is equal and needs no division. beta = 0 makes the first
 * direction z.
 */
TESS_HD void update_cg_alpha_at_once(tess_loop_state *s)
{
    if (s->beta != 0.0) { s->dots[0] -= s->beta * s->beta * s->curvature; }
    update_cg_alpha(s);
}

/* rho_new = (r, z), and the end of the iteration. */
TESS_HD void cg_end(tess_loop_state *s, double residual_squared, double rho_next)
{
    const int keeps_sign = s->rho > 0.0 ? rho_next > 0.0 : rho_next < 0.0;

    s->residual_norm = sqrt(residual_squared);
    s->rho = rho_next;
    loop_end_iteration(s, TESS_LOOP_FINISHING);
    if (s->phase == TESS_LOOP_RUNNING && !keeps_sign) {
        loop_stop(s, TESS_LOOP_FINISHING,
                  scalar_is_finite(rho_next) ? TESS_REASON_INDEFINITE_PRECOND : TESS_REASON_NAN_OR_INF);
    }
}

/* The same with beta = rho_new / rho, line 7. x is updated afterwards. */
TESS_HD void cg_close(tess_loop_state *s, double residual_squared, double rho_next)
{
    s->beta = rho_next / s->rho;
    cg_end(s, residual_squared, rho_next);
}

/* dots = {(r, r), (r, z)} from one pass. */
TESS_HD void update_cg_beta(tess_loop_state *s)
{
    cg_close(s, s->dots[0], s->dots[1]);
    loop_end_if_stalled(s, TESS_LOOP_FINISHING);
}

/* The preconditioner's own pass gave dots[0] = (r, z); the pass before it left (r, r) in dots[1]. */
TESS_HD void update_cg_beta_split(tess_loop_state *s)
{
    cg_close(s, s->dots[1], s->dots[0]);
    loop_end_if_stalled(s, TESS_LOOP_FINISHING);
}

/*
 * Flexible CG (Golub and Ye, SIAM J. Sci. Comput. 21 (1999); Notay, SIAM J. Sci. Comput. 22 (2000)): dots = {(z, r),
 * (z, A p)} at the beginning of an iteration. beta = (z, r - r_old) / rho by r - r_old = -alpha A p, the formula of
 * Polak and Ribiere; rho = (z, r). The first direction of a cycle is z.
 */
TESS_HD void update_cg_flexible(tess_loop_state *s)
{
    const double rho = s->dots[0];
    const int first = s->curvature == 0.0, keeps_sign = s->rho > 0.0 ? rho > 0.0 : rho < 0.0;

    if (!scalar_is_finite(rho) || !scalar_is_finite(s->dots[1])) {
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_NAN_OR_INF);
        return;
    }
    if (rho == 0.0 || (!first && !keeps_sign)) {
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_INDEFINITE_PRECOND);
        return;
    }
    s->beta = first ? 0.0 : -s->alpha * s->dots[1] / s->rho;
    s->rho = rho;
}

/* dots = {(z, A z), (r, r), (r, z)} of a new residual: the end of an iteration and the scalars of the next. */
TESS_HD void update_cg_at_once(tess_loop_state *s)
{
    cg_close(s, s->dots[1], s->dots[2]);
    if (s->phase == TESS_LOOP_RUNNING) { update_cg_alpha_at_once(s); }
}

/* ---- predict and recompute (Chen and Carson 2020, PR-CG) ---- */

/* A power of two and its inverse; 1 and 1 if one of them would not be normal. */
typedef struct cg_scale {
    double factor, inverse;
} cg_scale;

/*
 * The factor of A p in sums with its square, which keeps them in range for any ||A||: about the last |alpha|. It is 1
 * in the first iteration of a cycle, whose sums may be lost; then the second direction is z.
 */
TESS_HD cg_scale cg_product_scale(const tess_loop_state *s)
{
    const uint64_t exponent_bits = UINT64_C(0x7ff) << 52, most = UINT64_C(2046) << 52;
    cg_scale scale = {1.0, 1.0};
    uint64_t bits, inverse;

    memcpy(&bits, &s->alpha, sizeof bits);
    bits &= exponent_bits;
    if (bits == 0 || bits >= most) { return scale; }
    inverse = most - bits;
    memcpy(&scale.factor, &bits, sizeof bits);
    memcpy(&scale.inverse, &inverse, sizeof inverse);
    return scale;
}

/*
 * beta from the value that (r, z) will have after r -= alpha A p, with w = M^-1 A p: (r, z) - 2 alpha (r, w) + alpha^2
 * (A p, w). `step` is alpha over the factor of A p and w in the sums. If rounding has left nothing of the value, the
 * next direction is z.
 */
TESS_HD void cg_predict(tess_loop_state *s, double step, double product_squared, double product_residual)
{
    const double predicted = s->rho - step * (2.0 * product_residual - step * product_squared);
    const double beta = predicted / s->rho;

    s->beta = beta > 0.0 && scalar_is_finite(beta) ? beta : 0.0;
}

/* dots = {(A p, w), (r, w)}; alpha is known. */
TESS_HD void update_cg_predict(tess_loop_state *s)
{
    cg_predict(s, s->alpha, s->dots[0], s->dots[1]);
}

/* The end of an iteration with the predicted beta; dots as for update_cg_beta. */
TESS_HD void update_cg_recompute(tess_loop_state *s)
{
    cg_end(s, s->dots[0], s->dots[1]);
}

/* The same; dots as for update_cg_beta_split. */
TESS_HD void update_cg_recompute_split(tess_loop_state *s)
{
    cg_end(s, s->dots[1], s->dots[0]);
}

/*
 * dots = {(p, A p), (A p, w), (r, w), (r, r), (r, z)}, with A p and w times cg_product_scale except in the first. alpha
 * and beta. The end of the iteration whose residual is r is update_cg_close_at_once, which needs none of these: two
 * threads run both at the same time.
 */
TESS_HD void update_cg_predict_at_once(tess_loop_state *s)
{
    const double inverse = cg_product_scale(s).inverse;

    s->rho = s->dots[4];
    update_cg_alpha(s);
    if (s->phase == TESS_LOOP_RUNNING) { cg_predict(s, s->alpha * inverse, s->dots[1], s->dots[2]); }
}

TESS_HD void update_cg_close_at_once(tess_loop_state *s)
{
    cg_end(s, s->dots[3], s->dots[4]);
}

/* The same without a preconditioner: (r, z) is (r, r). */
TESS_HD void update_cg_predict_alone(tess_loop_state *s)
{
    s->dots[4] = s->dots[3];
    update_cg_predict_at_once(s);
}

TESS_HD void update_cg_close_alone(tess_loop_state *s)
{
    cg_end(s, s->dots[3], s->dots[3]);
}

#endif
