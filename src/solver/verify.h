/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESS_SOLVER_VERIFY_H
#define TESS_SOLVER_VERIFY_H

#include <stdbool.h>

#include <tessera/solver.h>

/* The result of a verification of x. */
typedef struct true_residual {
    double norm;      /* ||b - A x|| */
    double bound;     /* on the error of the norm; NaN: unknown */
    double of_vector; /* bound on the norm of the error of the residual as it is stored; NaN: unknown */
    bool bounded;     /* the bound is known, so that conclusions from it are proved */
    double rounding;  /* u || |A| |x| + |b| ||: about the rounding error of x; 0: unknown */
    double rhs_norm;  /* ||b|| */
    double rhs_least; /* a lower bound of the exact ||b|| */
} true_residual;

/* tess_verify_residual on arrays of the device; `a` is assembled or a shell; residual is written. */
tess_status verify_residual(const tess_matrix *a, const double *b, const double *x, double *residual,
                            true_residual *out);
/* max(rtol ||b||, atol) of the exact ||b||, or less by a few roundings. */
double least_tolerance(const tess_solve_options *o, const true_residual *of_b);

#endif
