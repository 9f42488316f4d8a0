/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A system of a batch, its vectors, its true residual and what that proves, for a team: a thread of the host, or a
 * block of threads of a GPU. batch_host.c and batch_device.cu include this file after they have defined
 *
 *     BATCH_FN                         the kind of all functions
 *     BATCH_FIRST, BATCH_STEP          a thread's own rows: it alone writes the elements of vectors at them
 *     BATCH_LEADS, BATCH_BARRIER()     whether this thread changes what the team shares; before others' values are read
 *     BATCH_HAS_OWN                    whether teams may have factors and a basis
 *     batch_dot(n, x, y)               the own rows' part of (x, y)
 *     batch_sum(state, first, second)  state->dots := sums over the team, for the leader alone
 *     batch_join(sums)                 sums of residuals over the team, for all; all have read what they added
 *     batch_is_stopped(team, state)    whether to end from outside; the state has the reason then
 *
 * Every thread of a team takes the same branches: all decide by numbers that they share.
 */
#ifndef TESS_SOLVER_BATCH_BATCH_WORK_H
#define TESS_SOLVER_BATCH_BATCH_WORK_H

#include <math.h>

#include <tessera/residual.h>

#include "base/loop_state.h"
#include "solver/batch/batch.h"
#include "solver/gmres/arnoldi.h"

/* Vectors of a team: of every method, and more for each. */
enum { BATCH_R, BATCH_D, BATCH_SCALE, BATCH_Z, BATCH_P, BATCH_Q, BATCH_CG_VECTORS, BATCH_T = BATCH_CG_VECTORS };
enum { BATCH_SHADOW = BATCH_T + 1, BATCH_VECTORS };

/* The small problem of GMRES. */
typedef struct batch_small {
    arnoldi_small a;
    int32_t last; /* closed columns */
} batch_small;

/* One system. */
typedef struct batch_work {
    const batch_task *task;
    const double *val, *b;
    double *x;
    double *vector[BATCH_VECTORS];
    double *factors; /* of ILU(0); the inverted diagonal is in vector[BATCH_SCALE] */
    double *basis;   /* columns of n values; the arrays of the small problem follow */
    batch_small *small;
    tess_loop_state *state; /* the team's, like `small` */
    void *team;
    batch_precond precond;
    batch_method method;
    tess_residual_norms now; /* of x */
    double tolerance, rows_tolerance;
    int64_t iterations, refinements;
    int fruitless;
    bool unproved; /* the last cycle's x + d has no larger residual, but this is not proved */
} batch_work;

/* ---- vectors ---- */

/* y := A x; x is complete. */
BATCH_FN void batch_multiply(const batch_work *w, const double *x, double *y)
{
    const int32_t *row_ptr = w->task->row_ptr, *col_ind = w->task->col_ind;
    const double *val = w->val;

    for (int32_t i = BATCH_FIRST; i < w->task->n; i += BATCH_STEP) {
        const int32_t end = row_ptr[i + 1];
        double sum = 0.0;

        for (int32_t k = row_ptr[i]; k < end; k++) {
            sum += val[k] * x[col_ind[k]];
        }
        y[i] = sum;
    }
}

/* y := a x + c y */
BATCH_FN void batch_combine(const batch_work *w, double a, const double *x, double c, double *y)
{
    for (int32_t i = BATCH_FIRST; i < w->task->n; i += BATCH_STEP) {
        y[i] = a * x[i] + c * y[i];
    }
}

BATCH_FN void batch_fill(const batch_work *w, double value, double *y)
{
    for (int32_t i = BATCH_FIRST; i < w->task->n; i += BATCH_STEP) {
        y[i] = value;
    }
}

BATCH_FN void batch_copy(const batch_work *w, const double *x, double *y)
{
    for (int32_t i = BATCH_FIRST; i < w->task->n; i += BATCH_STEP) {
        y[i] = x[i];
    }
}

/* ---- the true residual ---- */

typedef struct batch_pass {
    const batch_work *w;
    const double *x;
} batch_pass;

/* b - A x, to r. */
BATCH_FN int batch_residual(void *user, int exponent, tess_residual_sums *sums)
{
    const batch_pass *pass = (const batch_pass *)user;
    const batch_work *w = pass->w;
    const int32_t *row_ptr = w->task->row_ptr, *col_ind = w->task->col_ind;
    const double scale = ldexp(1.0, -exponent);

    *sums = tess_residual_sums_start();
    for (int32_t i = BATCH_FIRST; i < w->task->n; i += BATCH_STEP) {
        const int32_t begin = row_ptr[i], end = row_ptr[i + 1];
        tess_row_sum r = tess_row_sum_start(w->b[i]);

        for (int32_t k = begin; k < end; k++) {
            tess_row_sum_add(&r, w->val[k], pass->x[col_ind[k]]);
        }
        const tess_row_terms row = tess_row_sum_terms(&r, i, w->b[i], end - begin, 0);

        w->vector[BATCH_R][i] = row.value;
        tess_residual_sums_add_row(sums, &row, scale);
    }
    batch_join(sums);
    return 0;
}

BATCH_FN void batch_verify(const batch_work *w, const double *x, tess_residual_norms *norms)
{
    batch_pass pass = {w, x};

    BATCH_BARRIER(); /* x is complete */
    (void)tess_residual_norms_by(batch_residual, &pass, norms);
}

/* ---- decisions, as in verify.c ---- */

BATCH_FN bool batch_meets_given(const batch_work *w, const tess_residual_norms *now)
{
    return isfinite(now->rhs_norm) && tess_residual_proves(now->norm, now->bound, w->tolerance);
}

BATCH_FN bool batch_meets_rows(const batch_work *w, const tess_residual_norms *now, double slack)
{
    return isfinite(now->rows_rhs_norm) &&
           tess_residual_meets_rows(now->rows_norm, now->rows_bound, w->rows_tolerance, slack);
}

BATCH_FN bool batch_meets(const batch_work *w, const tess_residual_norms *now)
{
    return (!w->task->given || batch_meets_given(w, now)) && (!w->task->rows || batch_meets_rows(w, now, 1.0));
}

/* Units of row-scaled norms in those of norms as given. */
BATCH_FN double batch_share_of_rows(const batch_work *w, const tess_residual_norms *now)
{
    return w->rows_tolerance > 0.0 ? w->tolerance / w->rows_tolerance : now->rhs_norm / now->rows_rhs_norm;
}

/* The norm that decides, or its bound, of a pair as given and in scaled rows. */
BATCH_FN double batch_deciding(const batch_work *w, const tess_residual_norms *now, double given, double rows)
{
    const double scaled = rows * batch_share_of_rows(w, now);

    if (!w->task->rows || !isfinite(scaled)) { return given; }
    return !w->task->given || scaled > given ? scaled : given;
}

BATCH_FN double batch_deciding_norm(const batch_work *w, const tess_residual_norms *now)
{
    return batch_deciding(w, now, now->norm, now->rows_norm);
}

/* Whether `next` meets the tolerance, or is proved to have no larger residual than x has. */
BATCH_FN bool batch_takes(const batch_work *w, const tess_residual_norms *next)
{
    const double bounds = batch_deciding(w, next, next->bound, next->rows_bound) +
                          batch_deciding(w, &w->now, w->now.bound, w->now.rows_bound);

    return isfinite(next->norm) &&
           (batch_meets(w, next) || batch_deciding_norm(w, next) + bounds <= batch_deciding_norm(w, &w->now));
}

#endif
