/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the elimination of a row on host and device: pivots, shifts, places of entries. */
#ifndef TESS_PRECOND_INCOMPLETE_INCOMPLETE_ROWS_H
#define TESS_PRECOND_INCOMPLETE_INCOMPLETE_ROWS_H

#include <float.h>
#include <math.h>

#include <tessera/export.h>

#include "base/device.h"
#include "format/csr/csr.h"
#include "precond/incomplete/incomplete_job.h"

/* A pivot of at most this times the magnitude that it is compared with is rounding error: about PETSc's 100 unit
   roundoffs. */
#define INCOMPLETE_PIVOT 0x1p-45
/* Shifts that are tried after none: the first, then twice the last, ... (Manteuffel; doubling as in HSL's MI28). */
#define INCOMPLETE_FIRST_SHIFT 1e-3
enum { INCOMPLETE_SHIFTS = 24 };

/* An entry of the matrix that is factored: A, or -A. */
TESS_HD double incomplete_entry(const tess_incomplete_job *job, double entry)
{
    return job->negative ? -entry : entry;
}

/*
 * The diagonal entry with the shift: moved away from zero by that share of its own magnitude (IC: upwards). `sum` is
 * the sum of the row's magnitudes; it replaces a diagonal entry that is zero in comparison.
 */
TESS_HD double incomplete_diagonal(const tess_incomplete_job *job, double entry, double sum)
{
    const double unit = fabs(entry) > INCOMPLETE_PIVOT * sum ? fabs(entry) : sum;

    if (job->shift == 0.0) { return entry; }
    return fma(job->cholesky || entry >= 0.0 ? job->shift : -job->shift, unit, entry); /* the same bits everywhere */
}

/* Whether a pivot is usable; its inverse must be a number too. ILU compares it with the row's magnitudes, IC with the
   diagonal. */
TESS_HD bool incomplete_accepts(const tess_incomplete_job *job, double pivot, double diagonal, double sum)
{
    const bool large = job->cholesky ? pivot > INCOMPLETE_PIVOT * fabs(diagonal) : fabs(pivot) > INCOMPLETE_PIVOT * sum;

    return large && fabs(pivot) <= DBL_MAX && fabs(1.0 / pivot) <= DBL_MAX;
}

/* The first of col[at] .. col[end - 1], which ascend, that is at least `column`: by doubling steps, then by bisection.
 */
TESS_HD int64_t incomplete_advance(const int32_t *col, int64_t at, int64_t end, int32_t column)
{
    int64_t low = at, step = 1;

    while (at < end && col[at] < column) {
        low = at + 1;
        at += step;
        step *= 2;
    }
    return csr_column_from(col, low, at < end ? at : end, column);
}

#endif
