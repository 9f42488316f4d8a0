/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditioners of a system of a batch, by a team (batch_work.h): Jacobi, and ILU(0) with M = L D U as in
   incomplete.h, its pivots and shifts too. A team takes rows level by level. */
#ifndef TESS_SOLVER_BATCH_BATCH_FACTORS_H
#define TESS_SOLVER_BATCH_BATCH_FACTORS_H

#include <string.h>

#include "precond/incomplete/incomplete_rows.h"
#include "solver/batch/batch_work.h"

/* Sums over the team, for all. */
BATCH_FN void batch_count(const batch_work *w, double *first, double *second)
{
    batch_sum(w->state, *first, *second);
    BATCH_BARRIER();
    *first = w->state->dots[0];
    *second = w->state->dots[1];
    BATCH_BARRIER();
}

/* ---- factors ---- */

/* Subtracts l times the upper part of row j from the entries at .. end - 1 of a row, in the pattern of that row. */
BATCH_FN void batch_subtract_row(const batch_work *w, double l, int32_t j, int32_t at, int32_t end)
{
    const int32_t *col = w->task->col_ind;
    const int32_t last = w->task->row_ptr[j + 1];

    for (int32_t e = w->task->diagonal[j] + 1; e < last && at < end; e++) {
        while (at < end && col[at] < col[e]) {
            at++;
        }
        if (at < end && col[at] == col[e]) { w->factors[at] -= l * w->factors[e]; }
    }
}

/* Saad, Algorithm 10.4, lines 3 to 8 for row i. Whether its pivot is usable. */
BATCH_FN bool batch_factor_row(const batch_work *w, const tess_incomplete_job *job, int32_t i)
{
    const int32_t begin = w->task->row_ptr[i], end = w->task->row_ptr[i + 1], diagonal = w->task->diagonal[i];
    double *lu = w->factors, *inverse = w->vector[BATCH_SCALE];
    double sum = 0.0;

    for (int32_t k = begin; k < end; k++) {
        lu[k] = w->val[k];
        sum += fabs(w->val[k]);
    }
    const double shifted = incomplete_diagonal(job, lu[diagonal], sum);

    lu[diagonal] = shifted;
    for (int32_t k = begin; k < diagonal; k++) {
        const int32_t j = w->task->col_ind[k];

        lu[k] *= inverse[j];
        batch_subtract_row(w, lu[k], j, k + 1, end);
    }
    inverse[i] = 1.0 / lu[diagonal];
    return incomplete_accepts(job, lu[diagonal], shifted, sum);
}

/* The ratios of row i's entries of U to its pivot. Whether all of its factors are finite. */
BATCH_FN bool batch_normalise_row(const batch_work *w, int32_t i)
{
    const int32_t end = w->task->row_ptr[i + 1], diagonal = w->task->diagonal[i];
    bool finite = true;

    for (int32_t k = w->task->row_ptr[i]; k < end; k++) {
        if (k > diagonal) { w->factors[k] *= w->vector[BATCH_SCALE][i]; }
        finite = finite && isfinite(w->factors[k]);
    }
    return finite;
}

/* The row at a place of the levels of a triangle. */
BATCH_FN int32_t batch_row_at(const batch_levels *levels, int32_t place)
{
    return levels->order ? levels->order[place] : place;
}

BATCH_FN bool batch_factor_shifted(const batch_work *w, double shift)
{
    const batch_levels *levels = &w->task->lower;
    double bad = 0.0, none = 0.0;
    tess_incomplete_job job;

    memset(&job, 0, sizeof job);
    job.shift = shift;
    for (int32_t l = 0; l < levels->count; l++) {
        for (int32_t p = levels->begin[l] + BATCH_FIRST; p < levels->begin[l + 1]; p += BATCH_STEP) {
            bad += batch_factor_row(w, &job, batch_row_at(levels, p)) ? 0.0 : 1.0;
        }
        BATCH_BARRIER();
    }
    for (int32_t i = BATCH_FIRST; i < w->task->n; i += BATCH_STEP) {
        bad += batch_normalise_row(w, i) ? 0.0 : 1.0;
    }
    batch_count(w, &bad, &none);
    return bad == 0.0;
}

/* Factors of the system, with the first shift of the diagonal that gives usable pivots; false: none does. D^-1 is in
   the vector that is Jacobi's. */
BATCH_FN bool batch_factor(const batch_work *w)
{
    for (int tried = 0; tried <= INCOMPLETE_SHIFTS; tried++) {
        const double shift = tried == 0 ? 0.0 : ldexp(INCOMPLETE_FIRST_SHIFT, tried - 1);

        BATCH_BARRIER(); /* nobody reads D^-1 of before */
        if (batch_factor_shifted(w, shift)) { return true; }
    }
    return false;
}

/* z := U^-1 D^-1 L^-1 in, for all */
BATCH_FN void batch_apply_factors(const batch_work *w, const double *in, double *z)
{
    const int32_t *row_ptr = w->task->row_ptr, *col = w->task->col_ind, *diagonal = w->task->diagonal;
    const batch_levels *lower = &w->task->lower, *upper = &w->task->upper;
    const double *lu = w->factors, *inverse = w->vector[BATCH_SCALE];

    BATCH_BARRIER(); /* `in` is complete, and nobody reads z of before */
    for (int32_t l = 0; l < lower->count; l++) {
        for (int32_t p = lower->begin[l] + BATCH_FIRST; p < lower->begin[l + 1]; p += BATCH_STEP) {
            const int32_t i = batch_row_at(lower, p);
            double y = in[i];

            for (int32_t k = row_ptr[i]; k < diagonal[i]; k++) {
                y -= lu[k] * z[col[k]];
            }
            z[i] = y;
        }
        BATCH_BARRIER();
    }
    for (int32_t l = 0; l < upper->count; l++) {
        for (int32_t p = upper->begin[l] + BATCH_FIRST; p < upper->begin[l + 1]; p += BATCH_STEP) {
            const int32_t i = upper->order ? upper->order[p] : w->task->n - 1 - p;
            double y = inverse[i] * z[i];

            for (int32_t k = diagonal[i] + 1; k < row_ptr[i + 1]; k++) {
                y -= lu[k] * z[col[k]];
            }
            z[i] = y;
        }
        BATCH_BARRIER();
    }
}

/* ---- application ---- */

/* M^-1 in: `in` itself, or in z. */
BATCH_FN const double *batch_precondition(const batch_work *w, const double *in)
{
    const double *scale = w->vector[BATCH_SCALE];
    double *z = w->vector[BATCH_Z];

    if (w->precond == BATCH_PLAIN) { return in; }
    if (BATCH_HAS_OWN && w->precond == BATCH_ILU0) {
        batch_apply_factors(w, in, z);
        return z;
    }
    for (int32_t i = BATCH_FIRST; i < w->task->n; i += BATCH_STEP) {
        z[i] = scale[i] * in[i];
    }
    return z;
}

#endif
