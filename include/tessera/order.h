/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file order.h  Orderings and scalings of sparse matrices, and the matrix that results.
 *
 * A permutation lists old indices in new order, perm[new] = old, for rows and columns alike: B = P A Q has
 * B[i][j] = A[row_perm[i]][col_perm[j]]. Scalings are numbered as A is: A[i][j] is multiplied by row_scale[i] and
 * col_scale[j]. Orders are found on the host for every context, from a copy of a GPU context's matrix.
 */
#ifndef TESSERA_ORDER_H
#define TESSERA_ORDER_H

#include <stdint.h>

#include <tessera/matrix.h>

TESS_BEGIN_DECLS

/** How a solve scales its system. */
typedef enum tess_scaling {
    TESS_SCALING_NONE = 0,       /**< not at all */
    TESS_SCALING_MAX_PRODUCT = 1 /**< tess_order_max_product: largest product on the diagonal, scaled to 1 */
} tess_scaling;

/** How a solve reorders its system, rows and columns alike. */
typedef enum tess_reordering {
    TESS_REORDERING_NONE = 0, /**< not at all */
    TESS_REORDERING_RCM = 1   /**< tess_order_rcm: reverse Cuthill-McKee */
} tess_reordering;

/**
 * A row permutation that maximises the product of the magnitudes on the diagonal, with scalings that bring the diagonal to
 * 1 and nothing above it. Each array of the caller has n entries, on the host; any may be NULL.
 * @param a          assembled square matrix of any context; explicit zeros count as absent
 * @param row_perm   row row_perm[j] of A goes to row j: A[row_perm[j]][j] is the diagonal entry of column j
 * @param row_scale, col_scale  positive, with s_ij = row_scale[i] |A[i][j]| col_scale[j] <= 1 + 2^-48 for all entries and
 *                   |s_ij - 1| <= 2^-48 on the matching (exact products; 2^-48 is the rounding of the logarithms)
 *
 * The matching is optimal for magnitudes whose base-2 logarithms are rounded to 48 bits after the point: all sums are in
 * integers, so the result is the same on every run and machine whose log2 is faithful. Several permutations may be best;
 * which one is returned depends on the order of the rows.
 * Cost: O(n (nnz + n log n)) at worst, near O(nnz log n) on most matrices; 8 nnz + 64 n bytes of work space.
 * Errors: SINGULAR (no permutation gives a diagonal without zeros; the message has the structural rank),
 * OUT_OF_RANGE (NaN or Inf; scalings that FP64 cannot hold), DIMENSION_MISMATCH (not square), UNSUPPORTED (shell or stored
 * matrix), memory. On failure the arrays hold nothing useful.
 * Source: I. S. Duff, J. Koster, On algorithms for permuting large entries to the diagonal of a sparse matrix, SIAM J.
 * Matrix Anal. Appl. 22 (2001), sections 3 and 4 (what HSL's MC64 does as job 5); M. Olschowka, A. Neumaier, A new pivoting
 * strategy for Gaussian elimination, Linear Algebra Appl. 240 (1996). Test: tests/unit/test_matching.c
 */
TESS_EXPORT tess_status tess_order_max_product(const tess_matrix *a, int32_t *row_perm, double *row_scale,
                                               double *col_scale);

/**
 * Rounds n positive scale factors to the nearest power of two, so that scaling with them is exact. Each changes by a factor
 * of at most sqrt(2): after tess_order_max_product all magnitudes are then at most 2 (1 + 2^-48), and those on the diagonal at
 * least (1 - 2^-48) / 2.
 */
TESS_EXPORT void tess_order_round_scale(int64_t n, double *scale);

/**
 * Reverse Cuthill-McKee of the pattern of A + A^T, component by component, each from a pseudo-peripheral node; equal degrees
 * by index, so that the result is unique. @p perm (nrows entries, on the host) is meant for rows and columns alike. Values are
 * not read. Work space: the pattern of A^T, and of A + A^T when A's is not symmetric.
 * Errors: DIMENSION_MISMATCH (not square), UNSUPPORTED (shell or stored matrix), memory.
 * Source: E. Cuthill, J. McKee, 1969; A. George, J. W. H. Liu, "An implementation of a pseudoperipheral node finder",
 * ACM TOMS 5 (1979). Test: tests/unit/test_order.c
 */
TESS_EXPORT tess_status tess_order_rcm(const tess_matrix *a, int32_t *perm);

/**
 * B[i][j] = row_scale[r] A[r][c] col_scale[c] with r = row_perm[i] and c = col_perm[j]: a new assembled matrix in the context
 * of @p a, rows sorted, explicit zeros kept. Arrays are on the host, of nrows and ncols entries; NULL leaves the order or the
 * values as they are. Each scaling rounds once (not at all by a power of two); nothing overflows in between, and what ends
 * beyond FP64's range becomes Inf or loses digits to underflow.
 * Errors: INVALID_ARGUMENT (not a permutation), UNSUPPORTED (shell or stored matrix), memory. On failure *out is NULL.
 */
TESS_EXPORT tess_status tess_matrix_reorder(const tess_matrix *a, const int32_t *row_perm, const int32_t *col_perm,
                                            const double *row_scale, const double *col_scale, tess_matrix **out);

/** B = P A P^T, rows and columns alike. Errors: as tess_matrix_reorder, DIMENSION_MISMATCH (not square). */
TESS_EXPORT tess_status tess_matrix_reorder_symmetric(const tess_matrix *a, const int32_t *perm, tess_matrix **out);

TESS_EXPORT const char *tess_scaling_name(tess_scaling scaling);
TESS_EXPORT tess_status tess_scaling_parse(const char *name, tess_scaling *out);
TESS_EXPORT const char *tess_reordering_name(tess_reordering reordering);
TESS_EXPORT tess_status tess_reordering_parse(const char *name, tess_reordering *out);

TESS_END_DECLS

#endif
