/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file order.h  Orderings and scalings of sparse matrices, and the matrix that results.
 *
 *     tess_order_max_product(a, row_perm, row_scale, col_scale);
 *     tess_matrix_reorder(a, row_perm, NULL, row_scale, col_scale, &b);          |b_jj| = 1, |b_ij| <= 1
 *
 * A permutation lists old indices in new order, perm[new] = old, for rows and columns alike: B = P A Q has
 * B[i][j] = A[row_perm[i]][col_perm[j]]. Scale factors are numbered as A is: A[i][j] is multiplied by row_scale[i] and
 * col_scale[j]. Orderings but tess_order_clusters are computed on the host; for a GPU context, from a
 * copy of the matrix. docs/howto/reorder-and-scale.md
 */
#ifndef TESSERA_ORDER_H
#define TESSERA_ORDER_H

#include <stdint.h>

#include <tessera/matrix.h>

TESS_BEGIN_DECLS

/** How a solve scales its system. */
typedef enum tess_scaling {
    TESS_SCALING_NONE = 0,        /**< no scaling */
    TESS_SCALING_MAX_PRODUCT = 1, /**< tess_order_max_product: largest product on the diagonal, scaled to 1 */
    TESS_SCALING_SYMMETRIC = 2,   /**< tess_order_symmetric_scale: D A D, which keeps a symmetric matrix symmetric */
    TESS_SCALING_ROWS = 3         /**< tess_order_row_scale: D A, the largest magnitude of each row within 1 and 2 */
} tess_scaling;

/** How a solve reorders its system, rows and columns alike. */
typedef enum tess_reordering {
    TESS_REORDERING_NONE = 0,    /**< no reordering */
    TESS_REORDERING_RCM = 1,     /**< tess_order_rcm: reverse Cuthill-McKee */
    TESS_REORDERING_CLUSTERS = 2 /**< tess_order_clusters: cells of neighbours, found where the matrix lies */
} tess_reordering;

/**
 * Computes a row permutation that maximises the product of the magnitudes on the diagonal, and scale factors that bring
 * the diagonal to 1 and all other magnitudes to at most 1. Details: docs/reference/orderings.md.
 * @param a          square and assembled, of any context; explicit zeros count as absent
 * @param row_perm   n numbers on the host, or NULL: A[row_perm[j]][j] goes to the diagonal of column j
 * @param row_scale, col_scale  n positive numbers on the host, or NULL. s_ij = row_scale[i] |A[i][j]| col_scale[j] is
 *                   at most 1 + 2^-48 for all entries, and |s_ij - 1| <= 2^-48 on the diagonal (exact products).
 * Cost: O(n (nnz + n log n)) at worst, near O(nnz log n) on most matrices; 8 nnz + 64 n bytes of workspace.
 * Errors: SINGULAR (no permutation gives a diagonal without zeros; the message has the structural rank), OUT_OF_RANGE
 * (NaN or Inf; factors that FP64 cannot hold), DIMENSION_MISMATCH (not square), UNSUPPORTED (shell or stored matrix),
 * memory. After an error the arrays hold nothing useful.
 * Source: Duff, Koster, SIAM J. Matrix Anal. Appl. 22 (2001), sections 3 and 4. Test: tests/unit/test_matching.c
 */
TESS_EXPORT tess_status tess_order_max_product(const tess_matrix *a, int32_t *row_perm, double *row_scale,
                                               double *col_scale);

/**
 * Computes powers of two d_i such that B = D A D has no magnitude above 4, and in each row or its column one of at
 * least 1/4. A symmetric matrix stays symmetric, a positive definite one positive definite, and nothing rounds. Rows
 * and columns of zeros get 1.
 * @param a      square and assembled, of any context
 * @param scale  nrows numbers on the host
 * Errors: OUT_OF_RANGE (NaN or Inf; factors that FP64 cannot hold), DIMENSION_MISMATCH (not square), UNSUPPORTED (shell
 * or stored matrix), memory.
 * Source: Ruiz, RAL-TR-2001-034 (2001), in the infinity norm. Test: tests/unit/test_symmetric_scale.c
 */
TESS_EXPORT tess_status tess_order_symmetric_scale(const tess_matrix *a, double *scale);

/**
 * Computes for each row the power of two that brings its largest magnitude within 1 and 2 (not 2). Rows of zeros get 1.
 * @param a      assembled, of any context
 * @param scale  nrows numbers on the host
 * Errors: OUT_OF_RANGE (NaN or Inf), UNSUPPORTED (shell or stored matrix), memory. Test:
 * tests/unit/test_row_scale.c
 */
TESS_EXPORT tess_status tess_order_row_scale(const tess_matrix *a, double *scale);

/**
 * Rounds n positive scale factors to the nearest power of two, so that scaling with them is exact. Each factor changes
 * by at most sqrt(2). After tess_order_max_product all magnitudes are then at most 2 (1 + 2^-48), and those on the
 * diagonal at least (1 - 2^-48) / 2.
 */
TESS_EXPORT void tess_order_round_scale(int64_t n, double *scale);

/**
 * Computes the reverse Cuthill-McKee ordering of the pattern of A + A^T. Values are not read.
 * @param perm  nrows numbers on the host, for rows and columns alike
 * Each component starts from a pseudo-peripheral node. Equal degrees are ordered by index, so the result is unique.
 * Workspace: the pattern of A^T, and that of A + A^T if A's is not symmetric.
 * Errors: DIMENSION_MISMATCH (not square), UNSUPPORTED (shell or stored matrix), memory.
 * Source: E. Cuthill, J. McKee, 1969; A. George, J. W. H. Liu, "An implementation of a pseudoperipheral node finder",
 * ACM TOMS 5 (1979). Test: tests/unit/test_order.c
 */
TESS_EXPORT tess_status tess_order_rcm(const tess_matrix *a, int32_t *perm);

/**
 * Computes an order in which neighbours in the pattern of A lie near one another. Cells of some 256 rows grow from
 * seeds, all at once; reverse Cuthill-McKee of the small graph of cells orders these. Values are not read. For a GPU
 * context all but that graph runs on the device; host and GPU give the same order.
 * @param a     square and assembled, of any context
 * @param perm  nrows numbers on the host, for rows and columns alike
 * Cost: some 15 passes over the pattern; 9 n bytes of workspace and the sort's 8 n. docs/reference/orderings.md
 * Errors: DIMENSION_MISMATCH (not square), UNSUPPORTED (shell or stored matrix), memory.
 * Test: tests/unit/test_clusters.c
 */
TESS_EXPORT tess_status tess_order_clusters(const tess_matrix *a, int32_t *perm);

/**
 * Measures how well a product finds x: lines of 16 numbers of x (128 bytes) that 32 rows read, over their entries. 1:
 * each entry fetches a line of its own. Below 0.1: neighbours share lines.
 * @param a      assembled, of any context
 * @param perm   NULL: in the order that the matrix has; else of a square matrix in this order, nrows numbers on the
 * host
 * @param lines  from 0 (no entries) to 1
 * Looks at 1,024 slices of 32 rows at most, the first 4,096 entries of each: the same on every device.
 * Errors: INVALID_ARGUMENT (not a permutation), DIMENSION_MISMATCH (a perm, and not square), UNSUPPORTED (shell or
 * stored matrix), memory. Test: tests/unit/test_clusters.c
 */
TESS_EXPORT tess_status tess_order_fetch(const tess_matrix *a, const int32_t *perm, double *lines);

/**
 * Makes a new assembled matrix in the context of @p a, B[i][j] = row_scale[r] A[r][c] col_scale[c], with r =
 * row_perm[i] and c = col_perm[j]. Rows are sorted, explicit zeros kept.
 * @param row_perm, row_scale  nrows numbers on the host, or NULL: order or values stay
 * @param col_perm, col_scale  ncols numbers on the host, or NULL: order or values stay
 * Each scaling rounds once (a power of two does not round). Nothing overflows in between; a result beyond FP64's range
 * becomes Inf, or loses digits to underflow.
 * Errors: INVALID_ARGUMENT (not a permutation), UNSUPPORTED (shell or stored matrix), memory. On failure *out is NULL.
 */
TESS_EXPORT tess_status tess_matrix_reorder(const tess_matrix *a, const int32_t *row_perm, const int32_t *col_perm,
                                            const double *row_scale, const double *col_scale, tess_matrix **out);

/** B = P A P^T: rows and columns in the same order. Errors: those of tess_matrix_reorder, DIMENSION_MISMATCH. */
TESS_EXPORT tess_status tess_matrix_reorder_symmetric(const tess_matrix *a, const int32_t *perm, tess_matrix **out);

/** Names of the enums above. Parsers return INVALID_ARGUMENT for an unknown name and leave *out unchanged. */
TESS_EXPORT const char *tess_scaling_name(tess_scaling scaling);
TESS_EXPORT tess_status tess_scaling_parse(const char *name, tess_scaling *out);
TESS_EXPORT const char *tess_reordering_name(tess_reordering reordering);
TESS_EXPORT tess_status tess_reordering_parse(const char *name, tess_reordering *out);

TESS_END_DECLS

#endif
