/* SPDX-License-Identifier: Apache-2.0 */
/* Complete factors. */
#ifndef TESS_TESTS_SUPPORT_DIRECT_H
#define TESS_TESTS_SUPPORT_DIRECT_H

#include "support/precond.h"

/* Factors of that kind, in FP32 or FP64 alone. */
tess_precond_options direct_options(tess_precond_kind kind, tess_precision precision);
/* ||r - A z|| at most 4 n u (|A| |z| + |r|): factors with a growth below 4 (Higham, Theorem 9.4). */
void check_backward_error(const oracle_csr *a, const double *r, const double *z, tess_precision precision);
void replace_values(tess_context *ctx, tess_matrix *matrix, const oracle_csr *a);

#endif
