/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESS_SOLVER_VERIFY_H
#define TESS_SOLVER_VERIFY_H

#include <tessera/matrix.h>

/* What a verification finds about x. */
typedef struct true_residual {
    double norm;     /* ||b - A x|| */
    double bound;    /* on the error of the norm; NaN: unknown */
    double rounding; /* u || |A| |x| + |b| ||: about what rounding x costs; 0: unknown */
    double rhs_norm; /* ||b||, where one pass found it; NaN: it is to be computed by itself */
} true_residual;

/* tess_verify_residual on raw arrays of the device; `a` is assembled or a shell; residual is written. */
tess_status verify_residual(const tess_matrix *a, const double *b, const double *x, double *residual,
                            true_residual *out);

#endif
