/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restarted GMRES of one system by a team (batch_work.h): right preconditioned, orthogonalised by two passes of
 * classical Gram-Schmidt; the small problem is that of hessenberg.h, by the leader. A run ends at the latest where the
 * basis is full; cycles from the true residual are the restarts. The includer also defines
 *
 *     batch_project(n, basis, columns, v, out)  out[k] := (column k, v), and (v, v) after them, for all of the team, by
 *                                               vectors that are complete
 *     batch_remove(n, basis, columns, c, y)     y -= basis c, in the own rows
 */
#ifndef TESS_SOLVER_BATCH_BATCH_GMRES_H
#define TESS_SOLVER_BATCH_BATCH_GMRES_H

#include "solver/batch/batch_factors.h"
#include "solver/gmres/hessenberg.h"

/* The places of the small problem's arrays, for the leader: `batch_small_values` of them. */
BATCH_FN void batch_place_small(batch_small *small, int32_t most, double *numbers)
{
    arnoldi_small *a = &small->a;
    const int32_t vectors = most + 1;

    memset(a, 0, sizeof *a);
    a->most = most;
    a->last = &small->last;
    a->norms = numbers;
    a->first = a->norms + ARNOLDI_NORMS;
    a->second = a->first + vectors + 1; /* with (v, v) */
    a->scale = a->second + vectors + 1;
    a->unit = a->scale + vectors;
    a->g = a->unit + vectors;
    a->cosine = a->g + vectors;
    a->sine = a->cosine + most;
    a->y = a->sine + most;
    a->r = a->y + most;
}

/* v_0 = r / ||r|| */
BATCH_FN void batch_start_gmres(const batch_work *w)
{
    const double norm = w->state->residual_norm;
    const double *r = w->vector[BATCH_R];

    if (BATCH_LEADS) {
        batch_place_small(w->small, w->task->restart, w->basis + w->task->basis_values);
        w->small->last = 0;
        w->small->a.g[0] = norm;
        w->small->a.unit[0] = w->small->a.scale[0] = 1.0;
    }
    for (int32_t i = BATCH_FIRST; i < w->task->n; i += BATCH_STEP) {
        w->basis[i] = r[i] / norm;
    }
    BATCH_BARRIER();
}

/* w = A M^-1 v_j, orthogonal to v_0 .. v_j, and v_j+1 = w / ||w||. All vectors have the unit 1 of hessenberg.h. */
BATCH_FN void batch_step_gmres(const batch_work *w)
{
    const arnoldi_small *a = &w->small->a;
    const int32_t n = w->task->n, columns = w->small->last + 1;
    double *q = w->vector[BATCH_Q], *next = w->basis + (int64_t)columns * n;
    const double *z = batch_precondition(w, next - n);
    double norm = 0.0;

    BATCH_BARRIER();
    batch_multiply(w, z, q);
    batch_project(n, w->basis, columns, q, a->first);
    batch_remove(n, w->basis, columns, a->first, q);
    batch_project(n, w->basis, columns, q, a->second);
    batch_remove(n, w->basis, columns, a->second, q);
    batch_sum(w->state, batch_dot(n, q, q), 0.0);
    if (BATCH_LEADS) {
        norm = sqrt(w->state->dots[0]);
        a->norms[ARNOLDI_WHOLE] = a->first[columns];
        a->norms[ARNOLDI_TWICE] = w->state->dots[0];
        arnoldi_close(a, norm > 0.0 ? norm : 1.0, 0, w->state);
    }
    BATCH_BARRIER();
    norm = sqrt(w->state->dots[0]);
    for (int32_t i = BATCH_FIRST; i < n; i += BATCH_STEP) {
        next[i] = norm > 0.0 ? q[i] / norm : 0.0;
    }
}

/* d = M^-1 V y */
BATCH_FN void batch_finish_gmres(const batch_work *w)
{
    const int32_t n = w->task->n, columns = w->small->last;
    double *sum = w->vector[BATCH_P];

    if (columns == 0) { return; }
    if (BATCH_LEADS) { arnoldi_solve(&w->small->a); }
    BATCH_BARRIER();
    batch_fill(w, 0.0, sum);
    batch_remove(n, w->basis, columns, w->small->a.y, sum);
    batch_combine(w, -1.0, batch_precondition(w, sum), 0.0, w->vector[BATCH_D]);
}

BATCH_FN void batch_run_gmres(const batch_work *w)
{
    batch_start_gmres(w);
    while (w->state->phase == TESS_LOOP_RUNNING && !batch_is_stopped(w->team, w->state)) {
        batch_step_gmres(w);
    }
    batch_finish_gmres(w);
}

#endif
