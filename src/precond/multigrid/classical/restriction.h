/* SPDX-License-Identifier: Apache-2.0 */
/* Restriction for convection, which is not the transpose of the interpolation. */
#ifndef TESS_PRECOND_MULTIGRID_CLASSICAL_RESTRICTION_H
#define TESS_PRECOND_MULTIGRID_CLASSICAL_RESTRICTION_H

#include "precond/multigrid/classical/interpolation.h"

/*
 * Local approximate ideal restriction, sorted: row i of R has 1 at the coarse unknown i and z at fine unknowns N, at a
 * distance of one or two strong couplings of row i, with z^T A_NN = -A_iN. So coarse residuals do not see errors of N.
 * At most 48 unknowns, nearer ones first; those with weights below 0.02 are left
 * out, and the rest solved again. A singular system leaves the 1 alone. list: the rows of coarse unknowns.
 * Source: Manteuffel, Ruge, Southworth, SIAM J. Sci. Comput. 40 (2018), section 2. tests/unit/test_multigrid_air.c
 */
tess_status amg_restrict_locally(tess_context *ctx, const amg_interpolation *to, const int32_t *list, host_csr *r);
/* New values on the pattern that r has. */
tess_status amg_restrict_again(tess_context *ctx, const amg_interpolation *to, const int32_t *list, host_csr *r);
/* Each fine row gets a 1 at the coarse unknown of its strongest coupling, if it has one. Sorted. */
tess_status amg_interpolate_from_one(tess_context *ctx, const amg_interpolation *to, host_csr *p);

#endif
