/* SPDX-License-Identifier: Apache-2.0 */
/* Rectangular systems for LSQR and LSMR, and what their results claim. */
#ifndef TESS_TESTS_SUPPORT_LEAST_SQUARES_H
#define TESS_TESTS_SUPPORT_LEAST_SQUARES_H

#include <tessera/solver.h>

#include "support/solve.h"

enum { ROWS = 60, COLUMNS = 20 };

/* Dense random m by n in CSR; column j is times factor^j. */
oracle_csr dense_random(int64_t m, int64_t n, uint64_t seed, double factor);
/* x of A^T A x = A^T b, of up to COLUMNS columns, in long double. */
void solve_normal_equations(const oracle_csr *a, const double *b, double *x);
/* ||A^T (b - A x)||, ||A||_F and ||b - A x|| in wide arithmetic. */
void normal_residual_of(const oracle_csr *a, const double *b, const double *x, double out[3]);
/* From the start x; the claims of the result are checked. */
tess_solve_result solve_rectangular(tess_context *ctx, const oracle_csr *a, const tess_solve_options *options,
                                    const double *b, double *x);
/* Relative to y. */
double relative_distance(const double *x, const double *y, int64_t n);

#endif
