/* SPDX-License-Identifier: Apache-2.0 */
/* Values for the baseline's incomplete factorization, on the host. */
#ifndef TESS_BENCH_PEERS_FACTOR_VALUES_H
#define TESS_BENCH_PEERS_FACTOR_VALUES_H

#include "harness/harness.h"

/* Values of A, its diagonal shifted by `shift` times its magnitude as tess_precond_create does it. */
void bench_shift_values(const bench_csr *a, bool cholesky, double shift, double *val);
/*
 * Replaces values on the pattern of `a`, columns ascending, by ILU(0)'s: L beside its ones, and U. IC(0): the lower
 * triangle becomes L of L L^T, the rest is undefined. False: a pivot is missing or zero (IC(0): not above zero). Saad,
 * Algorithm 10.4.
 */
bool bench_factor_values(const bench_csr *a, bool cholesky, double *val);

#endif
