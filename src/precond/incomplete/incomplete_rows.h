/* SPDX-License-Identifier: Apache-2.0 */
/* What host and device share of the elimination of a row: pivots, shifts, where an entry is. */
#ifndef TESS_PRECOND_INCOMPLETE_ROWS_H
#define TESS_PRECOND_INCOMPLETE_ROWS_H

#include <float.h>
#include <math.h>

#include <tessera/export.h>

#include "base/device.h"
#include "precond/incomplete/incomplete.h"

/* A pivot no larger than this times what it is compared with is rounding: about PETSc's 100 unit roundoffs. */
#define INCOMPLETE_PIVOT 0x1p-45

/*
 * The diagonal entry with the shift: that much of its own magnitude away from zero (IC: upwards). `sum` is of the
 * magnitudes of the row; it takes the place of a diagonal entry that is zero beside it.
 */
TESS_HD double incomplete_diagonal(const tess_incomplete_job *job, double entry, double sum)
{
    const double unit = fabs(entry) > INCOMPLETE_PIVOT * sum ? fabs(entry) : sum;

    if (job->shift == 0.0) { return entry; }
    return job->cholesky || entry >= 0.0 ? entry + job->shift * unit : entry - job->shift * unit;
}

/* Whether a pivot serves: its inverse is a number too. ILU compares it with the row's magnitudes, IC with the diagonal.
 */
TESS_HD bool incomplete_accepts(const tess_incomplete_job *job, double pivot, double diagonal, double sum)
{
    const bool large = job->cholesky ? pivot > INCOMPLETE_PIVOT * fabs(diagonal) : fabs(pivot) > INCOMPLETE_PIVOT * sum;

    return large && fabs(pivot) <= DBL_MAX && fabs(1.0 / pivot) <= DBL_MAX;
}

/* The first of col[at] .. col[end - 1], which ascend, that is not below `column`: by steps that double, then by halves.
 */
TESS_HD int64_t incomplete_advance(const int32_t *col, int64_t at, int64_t end, int32_t column)
{
    int64_t low = at, step = 1;

    while (at < end && col[at] < column) {
        low = at + 1;
        at += step;
        step *= 2;
    }
    if (at > end) { at = end; }
    while (low < at) {
        const int64_t middle = low + (at - low) / 2;

        if (col[middle] < column) {
            low = middle + 1;
        } else {
            at = middle;
        }
    }
    return low;
}

#endif
