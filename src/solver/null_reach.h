/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Right-hand sides that no x reaches, or only an x too large for its rounding: over parts of A whose columns sum to 0,
 * exactly or up to rounding (matrix/null_parts.h).
 */
#ifndef TESS_SOLVER_NULL_REACH_H
#define TESS_SOLVER_NULL_REACH_H

#include "matrix/matrix.h"
#include "matrix/null_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct null_reach {
    double least;   /* the residual norm that methods aim for, above the tolerance; 0: the tolerance may be met */
    double proved;  /* no x has a smaller one, and it is above the tolerance; 0: nothing is proved */
    double norm;    /* ||b|| */
    null_part torn; /* the worst part, where `least` is not 0 */
} null_reach;

/* least_residual.c. Of b on the device and the tolerance max(rtol ||b||, atol). Where sums are rounding, multiples of
   the ones are tried: some products. Errors: memory. */
tess_status null_reach_find(const tess_matrix *a, const null_parts *p, const double *b, double rtol, double atol,
                            null_reach *out);

#ifdef __cplusplus
}
#endif

#endif
