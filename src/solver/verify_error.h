/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESS_SOLVER_VERIFY_ERROR_H
#define TESS_SOLVER_VERIFY_ERROR_H

#include <tessera/matrix.h>
#include <tessera/vector.h>

/* The 2-norm on the host, without overflow; NaN if there is one. */
double norm2_of(int64_t n, const double *v);
/* An estimate of ||x - x*||_2 / ||x||_2 by complete factors of an assembled A in FP64; NaN where they are not to be had
   or not to be trusted. Errors: memory. */
tess_status verify_forward_error(const tess_matrix *a, const tess_vector *b, const tess_vector *x, double *error);

#endif
