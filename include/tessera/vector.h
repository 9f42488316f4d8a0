/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file vector.h  Vectors in any storage precision on the context's device.
 *
 *     tess_vector_create(ctx, n, TESS_PRECISION_FP32, &x);
 *     tess_vector_set(x, array, TESS_PRECISION_FP64, TESS_MEMORY_HOST);             converts and copies n values
 *     tess_vector_dot(x, y, TESS_ARITHMETIC_FP64, &result);
 *
 * A *shadow* is a copy of a vector in a lower precision. Every operation that writes the vector also writes the shadow,
 * in the same pass.
 */
#ifndef TESSERA_VECTOR_H
#define TESSERA_VECTOR_H

#include <stdint.h>

#include <tessera/context.h>
#include <tessera/precision.h>

TESS_BEGIN_DECLS

typedef struct tess_vector tess_vector;

/** A vector of @p n >= 0 zeros in any @p precision. Errors: OUT_OF_MEMORY, OUT_OF_RANGE, INVALID_ARGUMENT. */
TESS_EXPORT tess_status tess_vector_create(tess_context *ctx, int64_t n, tess_precision precision, tess_vector **out);

/**
 * A vector that borrows the caller's array of @p n values. The array must outlive the vector and be in the memory of
 * the context's device (host memory for a CPU context). 16- and 8-bit values are bit patterns (codec.h).
 */
TESS_EXPORT tess_status tess_vector_wrap(tess_context *ctx, int64_t n, tess_precision precision, void *data,
                                         tess_vector **out);

/** Frees the vector, but not an array of the caller. NULL is allowed. */
TESS_EXPORT void tess_vector_destroy(tess_vector *v);

TESS_EXPORT int64_t tess_vector_size(const tess_vector *v);
TESS_EXPORT tess_precision tess_vector_precision(const tess_vector *v);
TESS_EXPORT tess_context *tess_vector_context(const tess_vector *v);

/** The array on the context's device. After writing to it, call tess_vector_refresh_shadow if there is a shadow. */
TESS_EXPORT void *tess_vector_data(tess_vector *v);
TESS_EXPORT const void *tess_vector_data_const(const tess_vector *v);

/** Adds a shadow in @p precision (fp32 for an fp64 vector) and fills it. Errors: OUT_OF_MEMORY, UNSUPPORTED. */
TESS_EXPORT tess_status tess_vector_add_shadow(tess_vector *v, tess_precision precision);
/** The shadow's array on the context's device, or NULL. */
TESS_EXPORT const void *tess_vector_shadow(const tess_vector *v);
/** Computes the shadow again from the vector. Does nothing without a shadow. */
TESS_EXPORT tess_status tess_vector_refresh_shadow(tess_vector *v);

/**
 * Copies n values from the caller's array into the vector.
 * @param precision  of the array; each value is rounded once to nearest even, and overflows to Inf (NaN in e4m3)
 * @param where      memory of the array. The caller may reuse a host array when the call returns.
 * On a GPU, work queued later on the context's stream sees the values; other work waits by tess_context_synchronize.
 */
TESS_EXPORT tess_status tess_vector_set(tess_vector *v, const void *source, tess_precision precision,
                                        tess_memory where);
/** Copies n values to the caller's array. Waits for the device, so that the data is ready when the call returns. */
TESS_EXPORT tess_status tess_vector_get(const tess_vector *v, void *destination, tess_precision precision,
                                        tess_memory where);

/** Sets all elements to @p value. */
TESS_EXPORT tess_status tess_vector_fill(tess_vector *v, double value);
/**
 * Sets uniform random values in (low, high). Element i depends only on @p seed and i (a counter-based generator), so
 * the values are the same on every device and for any number of threads.
 */
TESS_EXPORT tess_status tess_vector_set_random(tess_vector *v, uint64_t seed, double low, double high);
/** y := x. Sizes must agree; precisions may differ. */
TESS_EXPORT tess_status tess_vector_copy(const tess_vector *x, tess_vector *y);

/*
 * The operations below take vectors in any precisions. Values are decoded as they are read, products and sums are
 * computed in `arithmetic`, and results are rounded once more, to their storage. With FP32 arithmetic, alpha, beta and
 * FP64 values are first rounded to FP32, and bounds hold for the rounded ones. u is the unit roundoff of `arithmetic`,
 * gamma(k) = k u / (1 - k u). Bounds leave out underflow. Operands of one precision, aligned to 16 bytes, are fastest.
 * Every operation gives the same bits on every run on one device.
 * Errors of all: INVALID_ARGUMENT (other contexts, unknown arithmetic), DIMENSION_MISMATCH, OUT_OF_MEMORY or
 * OUT_OF_DEVICE_MEMORY (partial sums, which the context keeps).
 * Source: Gruetzmacher, Anzt, Quintana-Orti, Softw. Pract. Exper. 53 (2023), section 4 (one precision for memory,
 * another for arithmetic). Tests: tests/unit/test_blas.c, tests/gpu/test_blas.c.
 */

/**
 * y := alpha x + beta y. With beta = 0, y is not read, so NaN in it disappears. Does not wait for the device.
 * Cost: the bytes of x once, of y twice; 3n flops.
 * Accuracy: |computed - exact| <= gamma(2) (|alpha x_i| + |beta y_i|) before the rounding to y's storage.
 */
TESS_EXPORT tess_status tess_vector_axpby(double alpha, const tess_vector *x, double beta, tess_vector *y,
                                          tess_arithmetic arithmetic);
/** x := alpha x, rounded in @p arithmetic, then to x's storage. Cost: the bytes of x twice. Does not wait. */
TESS_EXPORT tess_status tess_vector_scale(double alpha, tess_vector *x, tess_arithmetic arithmetic);
/**
 * *result := x . y, summed in a fixed order; FP32 arithmetic sums in FP32 throughout. Waits for the device.
 * Cost: the bytes of x and y once; 2n flops.
 * Accuracy: |result - exact| <= gamma(ceil(n / 4096) + 512) sum |x_i y_i|.
 */
TESS_EXPORT tess_status tess_vector_dot(const tess_vector *x, const tess_vector *y, tess_arithmetic arithmetic,
                                        double *result);
/**
 * *result := ||x||_2, scaled by a power of two if x.x would overflow or underflow. Waits for the device.
 * Cost: the bytes of x once, or twice if it is scaled; 2n flops.
 * Accuracy: |result - exact| <= gamma(ceil(n / 4096) + 512) exact.
 */
TESS_EXPORT tess_status tess_vector_norm2(const tess_vector *x, tess_arithmetic arithmetic, double *result);

TESS_END_DECLS

#endif
