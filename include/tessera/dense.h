/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dense.h  Dense matrix-vector operations, stored in one precision and computed in another.
 *
 *     tess_dense_view a = {.nrows = m, .ncols = n, .ld = m, .precision = TESS_PRECISION_FP16, .data = array};
 *     tess_dense_view x = tess_dense_view_of(vx), y = tess_dense_view_of(vy);
 *     tess_gemv(ctx, TESS_OP_NONE, 1.0, &a, &x, 0.0, &y, TESS_ARITHMETIC_FP64);           y := A x
 *
 * Operands are arrays of the caller on the context's device, in any storage precision. Values are decoded as they are
 * read, products and sums are computed in `arithmetic`, and results are rounded once, as they are written. Every
 * operation gives the same bits on every run.
 * Source: Gruetzmacher, Anzt, Quintana-Orti, "Using Ginkgo's memory accessor for improving the accuracy of memory-bound
 * low precision BLAS", Softw. Pract. Exper. 53 (2023), section 4. Accuracy: docs/reference/accessor-accuracy.md.
 */
#ifndef TESSERA_DENSE_H
#define TESSERA_DENSE_H

#include <stdint.h>

#include <tessera/context.h>
#include <tessera/matrix.h>
#include <tessera/precision.h>

TESS_BEGIN_DECLS

/**
 * A column-major array of nrows by ncols values, borrowed. Column j begins at element j * ld. Element (i, j) is
 * stored(i, j) * column_scale[j].
 */
typedef struct tess_dense_view {
    int64_t nrows, ncols;
    int64_t ld; /**< at least nrows */
    tess_precision precision;
    void *data;                 /**< on the context's device */
    const double *column_scale; /**< ncols factors on the context's device; NULL: 1 */
} tess_dense_view;

/**
 * A view of @p v: n by 1, ld n, no scale. It is valid as long as the vector. Writing through it does not update the
 * vector's shadow: call tess_vector_refresh_shadow.
 */
TESS_EXPORT tess_dense_view tess_dense_view_of(tess_vector *v);

/**
 * Y := alpha op(A) X + beta Y. Does not wait for the device.
 * @param a     A; must not overlap Y
 * @param x, y  one or two columns each, as many in X as in Y, in any precisions; X must not overlap Y
 * @param beta  0: Y is not read
 * Cost: the bytes of A once, of X and Y about once.
 * Accuracy of each element, before the rounding to Y's precision: |computed - exact| <=
 * gamma(nin + 2) |alpha| |op(A)| |X| + 2u |beta Y| with u of @p arithmetic, on the decoded operands. nin is the length
 * of a sum; use nin + 3 if A or X has column scales, nin + 4 if both have. alpha, beta and scales are applied in FP64.
 * NaN and Inf in A and X reach Y even if alpha = 0.
 * Errors: DIMENSION_MISMATCH, INVALID_ARGUMENT (ld, NULL data, scale on Y), UNSUPPORTED (more than two columns),
 * OUT_OF_MEMORY or OUT_OF_DEVICE_MEMORY (workspace, which the context keeps).
 */
TESS_EXPORT tess_status tess_gemv(tess_context *ctx, tess_operation operation, double alpha, const tess_dense_view *a,
                                  const tess_dense_view *x, double beta, const tess_dense_view *y,
                                  tess_arithmetic arithmetic);

/** Which triangle of an array is read. */
typedef enum tess_triangle {
    TESS_LOWER = 0, /**< at and below the diagonal */
    TESS_UPPER = 1  /**< at and above it */
} tess_triangle;

/** How the diagonal of a triangle is read. */
typedef enum tess_unit_diagonal {
    TESS_NON_UNIT = 0, /**< as stored */
    TESS_UNIT = 1      /**< ones, whatever is stored */
} tess_unit_diagonal;

/** Which triangular system tess_trsv solves. All zero: lower, not transposed, diagonal as stored, FP64. */
typedef struct tess_trsv_options {
    tess_triangle triangle;
    tess_operation operation;
    tess_unit_diagonal diagonal; /**< UNIT: the diagonal is 1 and not read */
    tess_arithmetic arithmetic;
    tess_arithmetic inversion; /**< arithmetic for inverting the diagonal blocks */
    int64_t reserved[4];       /**< zeros */
} tess_trsv_options;

/**
 * x := op(T)^-1 x, where T is one triangle of a square array.
 * @param a  n by n; the other triangle is not read
 * @param x  n by 1. It is kept in options->arithmetic between blocks and rounded to its storage once.
 * The method is blocked, with inverted diagonal blocks. A zero on the diagonal gives Inf or NaN in x, as in BLAS.
 * On a GPU, blocks of threads wait for one another, at most 4 s. After that the next call that waits for the device
 * returns DEVICE.
 * Errors: DIMENSION_MISMATCH, INVALID_ARGUMENT, OUT_OF_MEMORY or OUT_OF_DEVICE_MEMORY (workspace, which the context
 * keeps). Source: Hogg, SIAM J. Sci. Comput. 35 (2013), section 3.
 */
TESS_EXPORT tess_status tess_trsv(tess_context *ctx, const tess_trsv_options *options, const tess_dense_view *a,
                                  const tess_dense_view *x);

/** Names of the enums above. Parsers return INVALID_ARGUMENT for an unknown name and leave *out unchanged. */
TESS_EXPORT const char *tess_triangle_name(tess_triangle triangle);
TESS_EXPORT tess_status tess_triangle_parse(const char *name, tess_triangle *out);
TESS_EXPORT const char *tess_unit_diagonal_name(tess_unit_diagonal diagonal);
TESS_EXPORT tess_status tess_unit_diagonal_parse(const char *name, tess_unit_diagonal *out);

TESS_END_DECLS

#endif
