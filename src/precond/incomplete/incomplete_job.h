/* SPDX-License-Identifier: Apache-2.0 */
/* What the elimination of an incomplete factorization is told, and what it tells. */
#ifndef TESS_PRECOND_INCOMPLETE_INCOMPLETE_JOB_H
#define TESS_PRECOND_INCOMPLETE_INCOMPLETE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "triangular/leaf.h"

enum { TESS_MAX_ATTEMPTS = 8 };

/* An incomplete factorization on the pattern of the matrix; arrays are where it is computed, `runs` on the host. */
typedef struct tess_incomplete_job {
    int64_t n;
    bool cholesky;           /* IC(0): entries right of the diagonal are neither read nor written */
    bool negative;           /* with `cholesky`: factors of -A are found, and D is negative */
    double shift;            /* relative to the diagonal's magnitudes */
    int attempts;            /* attempts made at once, with that shift, twice that, ...: 1 to TESS_MAX_ATTEMPTS */
    const tess_context *ctx; /* of the host: rows after its deadline are left out; NULL: none (base/deadline.h) */
    int sweeps;              /* > 0: by so many instead of an elimination (incomplete_swept.h); one attempt */
    bool has_retry;          /* other attempts follow: after a bad row the results do not matter */
    const int64_t *diagonal; /* n: places of the diagonal entries among the matrix's */
    const int32_t *order;    /* n: rows, each after those that it needs; NULL, on the host: in their order. Sweeps need
                                neither order nor runs */
    const level_run *runs;   /* of the host */
    int64_t nruns;
    double *lu;      /* of each attempt the matrix's entries: those of L and U beside the ones on their diagonals */
    double *inverse; /* of each n: D^-1 */
} tess_incomplete_job;

/* Of the first attempt without a bad row; if all have one, of the last attempt. */
typedef struct tess_incomplete_outcome {
    int64_t bad_row; /* the first row that is not finite, or else that has no usable pivot; -1: none */
    double largest;  /* the largest magnitude in lu, if no row is bad */
    int attempt;
    bool finite; /* whether the matrix is finite, if this was checked */
    bool empty;  /* the bad row has no entry but zeros: no shift mends it */
} tess_incomplete_outcome;

#endif
