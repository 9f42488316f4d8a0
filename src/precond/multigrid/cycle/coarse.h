/* SPDX-License-Identifier: Apache-2.0 */
/* The dense inverse of the coarsest level. */
#ifndef TESS_PRECOND_MULTIGRID_CYCLE_COARSE_H
#define TESS_PRECOND_MULTIGRID_CYCLE_COARSE_H

#include "precond/multigrid/cycle/store.h"

/* The inverse of a scaled matrix, with all its entries, so that the cycle multiplies by it. By Cholesky factors if it
   is symmetric, else by LU. A singular one (*rank below its rows) gets its pseudo-inverse. */
tess_status amg_invert(tess_context *ctx, const amg_scaled *s, host_csr *inverse, int64_t *rank);

#endif
