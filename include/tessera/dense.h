/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dense.h  Dense matrix-vector operations whose storage precision is apart from their arithmetic precision.
 *
 * Operands are arrays of the caller on the context's device (host memory for a CPU context), stored in any precision; each
 * is decoded as it is read, all products and sums are made in `arithmetic`, and results are rounded once, as they are
 * written. Every operation gives the same bits on every run.
 *
 * Source: Gruetzmacher, Anzt, Quintana-Orti, "Using Ginkgo's memory accessor for improving the accuracy of memory-bound
 * low precision BLAS", Softw. Pract. Exper. 53 (2023), section 4.
 */
#ifndef TESSERA_DENSE_H
#define TESSERA_DENSE_H

#include <stdint.h>

#include <tessera/context.h>
#include <tessera/matrix.h>
#include <tessera/precision.h>

TESS_BEGIN_DECLS

/**
 * A column-major array of nrows by ncols values, column j beginning at element j * ld. Borrowed; nothing is copied.
 * Element (i, j) is stored(i, j) * column_scale[j].
 */
typedef struct tess_dense_view {
    int64_t nrows, ncols;
    int64_t ld; /**< at least nrows */
    tess_precision precision;
    void *data;                 /**< on the context's device */
    const double *column_scale; /**< ncols factors on the context's device; NULL: 1 */
} tess_dense_view;

/**
 * A view of @p v: n by 1, ld n, no scale. It is valid as long as the vector is. What is written through it does not reach the
 * vector's shadow: call tess_vector_refresh_shadow.
 */
TESS_EXPORT tess_dense_view tess_dense_view_of(tess_vector *v);

/**
 * Y := alpha op(A) X + beta Y for one or two columns in X and Y. X and Y have as many columns as each other, and may be
 * stored in other precisions than A. With beta = 0, Y is not read. A must not overlap Y, nor X overlap Y.
 * Cost: the bytes of A once, of X and Y about once. Nothing waits for the device.
 * Accuracy in each element: |computed - exact| <= gamma(nin + 2) |alpha| |op(A)| |X| + 2u |beta Y| with u of
 * @p arithmetic, on the decoded operands, before the one rounding to Y's precision; nin + 3 where A or X has column
 * scales, nin + 4 where both have. alpha, beta and scales are applied in FP64. NaN and Inf in A and X reach Y also with
 * alpha = 0.
 * Errors: DIMENSION_MISMATCH, INVALID_ARGUMENT (ld, NULL data, scale on Y), UNSUPPORTED (more than two columns),
 * OUT_OF_MEMORY or OUT_OF_DEVICE_MEMORY (work space, kept by the context).
 */
TESS_EXPORT tess_status tess_gemv(tess_context *ctx, tess_operation operation, double alpha, const tess_dense_view *a,
                                  const tess_dense_view *x, double beta, const tess_dense_view *y,
                                  tess_arithmetic arithmetic);

/** Which triangle of an array is read. */
typedef enum tess_triangle {
    TESS_LOWER = 0, /**< at and below the diagonal */
    TESS_UPPER = 1  /**< at and above it */
} tess_triangle;

/** What the diagonal of a triangle is. */
typedef enum tess_unit_diagonal {
    TESS_NON_UNIT = 0, /**< as stored */
    TESS_UNIT = 1      /**< ones, whatever is stored */
} tess_unit_diagonal;

/** Which triangular system tess_trsv solves. All zero: lower, not transposed, diagonal as stored, FP64. */
typedef struct tess_trsv_options {
    tess_triangle triangle;
    tess_operation operation;
    tess_unit_diagonal diagonal; /**< UNIT: the diagonal is taken as 1 and not read */
    tess_arithmetic arithmetic;
    tess_arithmetic inversion; /**< in which the diagonal blocks are inverted */
} tess_trsv_options;

/**
 * x := op(T)^-1 x, T being one triangle of the square array @p a (the other is not read); x is n by 1. Blocked, with
 * inverted diagonal blocks (Hogg, SIAM J. Sci. Comput. 35 (2013), section 3). x is kept in @p arithmetic between the
 * blocks and rounded to its storage once. A zero on the diagonal gives Inf or NaN in x, as in BLAS.
 * Errors: DIMENSION_MISMATCH, INVALID_ARGUMENT, OUT_OF_MEMORY or OUT_OF_DEVICE_MEMORY (work space, kept by the context). On a GPU
 * blocks of threads wait for one another, 4 s at most: after that the next call that waits for the device reports DEVICE.
 */
TESS_EXPORT tess_status tess_trsv(tess_context *ctx, const tess_trsv_options *options, const tess_dense_view *a,
                                  const tess_dense_view *x);

/** Names of the enums above, and the reverse: INVALID_ARGUMENT leaves *out alone. */
TESS_EXPORT const char *tess_triangle_name(tess_triangle triangle);
TESS_EXPORT tess_status tess_triangle_parse(const char *name, tess_triangle *out);
TESS_EXPORT const char *tess_unit_diagonal_name(tess_unit_diagonal diagonal);
TESS_EXPORT tess_status tess_unit_diagonal_parse(const char *name, tess_unit_diagonal *out);

TESS_END_DECLS

#endif
