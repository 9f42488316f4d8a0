/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESS_SOLVER_VERIFY_H
#define TESS_SOLVER_VERIFY_H

#include <tessera/matrix.h>

/* tess_verify_residual on raw arrays of the device; `a` is assembled or a shell; residual is written. */
tess_status verify_residual(const tess_matrix *a, const double *b, const double *x, double *residual, double *norm,
                            double *bound);

#endif
