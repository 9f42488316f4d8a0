/* SPDX-License-Identifier: Apache-2.0 */
/* Orderings of square sparse matrices on the host. A permutation lists old indices in new order: perm[new] = old. */
#ifndef TESS_ORDER_ORDER_H
#define TESS_ORDER_ORDER_H

#include "core/internal.h"
#include "io/assemble.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Reverse Cuthill-McKee of the pattern of A + A^T, component by component, each from a pseudo-peripheral node; equal
 * degrees by index, so that the result is unique. perm has nrows entries. `a` holds rows in ascending order (an
 * assembled matrix on the host); values are not read. Work space: the pattern of A^T, and of A + A^T when A's is not
 * symmetric.
 * Errors: DIMENSION_MISMATCH (not square), memory.
 * Source: E. Cuthill, J. McKee, 1969; A. George, J. W. H. Liu, "An implementation of a pseudoperipheral node finder",
 * ACM TOMS 5 (1979).
 */
tess_status tess_order_rcm(tess_context *ctx, const tess_csr_view *a, int32_t *perm);

/* B = P A P^T, B[i][j] = A[perm[i]][perm[j]], as arrays ready for tess_matrix_adopt_csr. Errors: DIMENSION_MISMATCH,
   INVALID_ARGUMENT (not a permutation), memory. */
tess_status tess_order_permute_symmetric(tess_context *ctx, const tess_csr_view *a, const int32_t *perm,
                                         tess_assembled *out);

#ifdef __cplusplus
}
#endif

#endif
