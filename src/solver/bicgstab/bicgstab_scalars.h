/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar updates of right-preconditioned BiCGSTAB (van der Vorst 1992; the names are the paper's). */
#ifndef TESS_SOLVER_BICGSTAB_BICGSTAB_SCALARS_H
#define TESS_SOLVER_BICGSTAB_BICGSTAB_SCALARS_H

#include <math.h>

#include "device/iteration_end.h"

/* An inner product below this share of the product of its norms carries no information in FP64. */
#define TESS_BICGSTAB_ORTHOGONAL 0x1p-53

/* dots = {(r~, r), (r~, r~)}: rho = (r~, r). beta = 0 makes the first direction p = r. */
TESS_HD void update_bicgstab_start(tess_loop_state *s)
{
    s->rho = s->dots[0];
    s->shadow_norm = sqrt(s->dots[1]);
    s->beta = 0.0;
    s->omega = 0.0;
    s->alpha = 0.0;
    if (!scalar_is_finite(s->rho)) { loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_NAN_OR_INF); }
}

/* dots = {(r~, v)}: alpha = rho / (r~, v). */
TESS_HD void update_bicgstab_alpha(tess_loop_state *s)
{
    double projection = s->dots[0];

    if (!scalar_is_finite(projection)) {
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_NAN_OR_INF);
    } else if (projection == 0.0) {
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_BREAKDOWN);
    } else {
        s->alpha = s->rho / projection;
        if (!scalar_is_finite(s->alpha)) { loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_BREAKDOWN); }
    }
}

/* dots = {(t, s), (t, t)}: omega = (t, s) / (t, t). */
TESS_HD void update_bicgstab_omega(tess_loop_state *s)
{
    if (!scalar_is_finite(s->dots[0]) || !scalar_is_finite(s->dots[1])) {
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_NAN_OR_INF);
    } else {
        /* t = 0: with s = 0 the half step has met the solution, otherwise the iteration breaks down below. */
        s->omega = s->dots[1] > 0.0 ? s->dots[0] / s->dots[1] : 0.0;
    }
}

/* dots = {(r, r), (r~, r)}: beta = (rho_new / rho) (alpha / omega), and the end of the iteration. */
TESS_HD void update_bicgstab_beta(tess_loop_state *s)
{
    double rho_next = s->dots[1];

    s->residual_norm = sqrt(s->dots[0]);
    loop_end_iteration(s, TESS_LOOP_STOPPED);
    if (s->phase != TESS_LOOP_RUNNING) { return; }
    s->beta = (rho_next / s->rho) * (s->alpha / s->omega);
    s->rho = rho_next;
    if (!scalar_is_finite(s->beta) || fabs(rho_next) <= TESS_BICGSTAB_ORTHOGONAL * s->shadow_norm * s->residual_norm) {
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_BREAKDOWN);
    }
    loop_end_if_stalled(s, TESS_LOOP_STOPPED);
}

#endif
