/* SPDX-License-Identifier: Apache-2.0 */
/* Naive iterations in FP64, and bounds on the error of their low-precision versions. */
#ifndef TESS_TESTS_SUPPORT_SWEEP_H
#define TESS_TESTS_SUPPORT_SWEEP_H

#include <tessera/schedule.h>

#include "support/test.h"

/* `count` Jacobi iterations on x, weighted by omega, row by row. Returns the largest |D^-1| (|b| + |R| |x|) on the way.
 */
double naive_jacobi(const oracle_csr *a, const double *b, double omega, int64_t count, double *x);
/* `count` times x := A x. Returns the largest |A| |x| on the way. */
double naive_steps(const oracle_csr *a, int64_t count, double *x);
/* Strictly dominant rows of up to `per_row` random entries around a diagonal of random sign; each diagonal entry is
   `factor` times the sum of the others' magnitudes (1 where there are none). Rows are scaled by powers of ten up to
   10^spread. */
oracle_csr dominant_matrix(int64_t n, int64_t per_row, double factor, int spread, uint64_t seed);
double largest_difference(const double *x, const double *y, int64_t n);
tess_precision_schedule schedule_of(const char *text);

#endif
