/* SPDX-License-Identifier: Apache-2.0 */
/* Short rows of interpolation. */
#ifndef TESS_PRECOND_MULTIGRID_CLASSICAL_TRUNCATE_H
#define TESS_PRECOND_MULTIGRID_CLASSICAL_TRUNCATE_H

#include "matrix/host_csr.h"

/* Keeps the `most` entries of largest magnitude (0: all), of equal ones those of the first columns, scales them so that
   the sum stays, and sorts. Returns how many are left. */
int64_t amg_truncate_row(int most, int64_t count, int32_t *column, double *weight);
/* Scales weights to a sum, unless that would turn their signs or their sum is 0. */
void amg_scale_to_sum(double sum, int64_t count, double *weight);
/* Scales `count` weights that are kept of a row to the sum of all, as truncation does. */
void amg_scale_row(int64_t all, const double *full, int64_t count, double *weight);
/* out := the first length[r] entries of each row of `room`. */
tess_status amg_compact(tess_context *ctx, const host_csr *room, const int64_t *length, host_csr *out);

#endif
