/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with complete factors that are refined, and the bound on the error of x that they give. */
#ifndef TESS_AUTO_REFINED_INVERSE_H
#define TESS_AUTO_REFINED_INVERSE_H

#include <lapacke.h>

#include "auto/error_rows.h"
#include "precond/precond.h"

/* A^-1 by factors and iterative refinement, whose residuals have two words. */
typedef struct refined_inverse {
    const tess_precond *m;
    const csr_view *a;
    bool valid;                     /* every solve so far left a small residual in each row */
    tess_row_sum *rows;             /* n: of the last solve */
    double *size, *solution, *work; /* n each */
    double *uncertain;              /* f = (|A| |x| + |b|) max(u, max_i |r|_i / (|A| |x| + |b|)_i) >= |r|; n */
    lapack_int *signs;              /* n */
} refined_inverse;

tess_status refined_inverse_open(const tess_precond *m, refined_inverse *out);
void refined_inverse_close(refined_inverse *v);
/* Of the relative error of x; it holds only if `valid` is true afterwards. Errors: memory. */
tess_status refined_inverse_bound(refined_inverse *v, const error_of_x *e, double *bound);

#endif
