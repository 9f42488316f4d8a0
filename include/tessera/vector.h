/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file vector.h  Typed vectors on the context's device, with an optional low-precision shadow.
 *
 * A shadow is a copy of the vector in a lower precision that the library keeps in step: every operation that
 * writes the vector writes the shadow in the same pass.
 */
#ifndef TESSERA_VECTOR_H
#define TESSERA_VECTOR_H

#include <stdint.h>

#include <tessera/context.h>
#include <tessera/precision.h>

TESS_BEGIN_DECLS

typedef struct tess_vector tess_vector;

/** A vector of @p n zeros (n >= 0) stored in any @p precision. Errors: OUT_OF_MEMORY, OUT_OF_RANGE, INVALID_ARGUMENT. */
TESS_EXPORT tess_status tess_vector_create(tess_context *ctx, int64_t n, tess_precision precision, tess_vector **out);

/**
 * A vector over the caller's array of @p n values, borrowed: it must stay valid and lie in the memory of the
 * context's device (host memory for a CPU context). Nothing is copied. 16- and 8-bit values are bit patterns (codec.h).
 */
TESS_EXPORT tess_status tess_vector_wrap(tess_context *ctx, int64_t n, tess_precision precision, void *data,
                                         tess_vector **out);

/** Frees the vector; NULL is allowed. A wrapped array is left alone. */
TESS_EXPORT void tess_vector_destroy(tess_vector *v);

TESS_EXPORT int64_t tess_vector_size(const tess_vector *v);
TESS_EXPORT tess_precision tess_vector_precision(const tess_vector *v);
TESS_EXPORT tess_context *tess_vector_context(const tess_vector *v);

/** The array on the context's device. Writing through it leaves a shadow stale: call tess_vector_refresh_shadow. */
TESS_EXPORT void *tess_vector_data(tess_vector *v);
TESS_EXPORT const void *tess_vector_data_const(const tess_vector *v);

/** Adds a shadow in @p precision (fp32 for an fp64 vector) and fills it. Errors: OUT_OF_MEMORY, UNSUPPORTED. */
TESS_EXPORT tess_status tess_vector_add_shadow(tess_vector *v, tess_precision precision);
/** The shadow's array on the context's device, or NULL. */
TESS_EXPORT const void *tess_vector_shadow(const tess_vector *v);
TESS_EXPORT tess_status tess_vector_refresh_shadow(tess_vector *v);

/**
 * Copies all n values in from the caller's array, stored in any @p precision, in host or device memory, converting by one
 * rounding to nearest even; what is too large becomes Inf (NaN in e4m3). Host sources may be reused when the call returns; on a GPU the
 * values are there for what is queued on the context's stream afterwards: others wait by tess_context_synchronize.
 */
TESS_EXPORT tess_status tess_vector_set(tess_vector *v, const void *source, tess_precision precision,
                                        tess_memory where);
/** Copies all n values out; waits for the device, so that host data is ready on return. */
TESS_EXPORT tess_status tess_vector_get(const tess_vector *v, void *destination, tess_precision precision,
                                        tess_memory where);

TESS_EXPORT tess_status tess_vector_fill(tess_vector *v, double value);
/**
 * Uniform values in (low, high) from a counter-based generator: element i depends on @p seed and i alone, so the
 * values are the same on every device and for every number of threads.
 */
TESS_EXPORT tess_status tess_vector_set_random(tess_vector *v, uint64_t seed, double low, double high);
/** y := x. Sizes must agree; precisions may differ. */
TESS_EXPORT tess_status tess_vector_copy(const tess_vector *x, tess_vector *y);

/*
 * Operations on vectors in any precision, equal or not: values are decoded as they are read, all products and sums are made
 * in `arithmetic`, and what is written is rounded once more, to its storage. With FP32 arithmetic alpha, beta and values
 * stored in FP64 are rounded to FP32 as they are read, and bounds hold for the rounded ones. u is the unit roundoff of
 * `arithmetic` and gamma(k) = k u / (1 - k u); bounds leave out underflow. Operands of one precision at multiples of 16 bytes
 * are fastest. Every operation gives the same bits on every run on one device.
 * Errors of all: INVALID_ARGUMENT (other contexts, unknown arithmetic), DIMENSION_MISMATCH, OUT_OF_MEMORY or
 * OUT_OF_DEVICE_MEMORY (partial sums, kept by the context).
 * Source: Gruetzmacher, Anzt, Quintana-Orti, Softw. Pract. Exper. 53 (2023), section 4 (one precision for memory, another
 * for arithmetic). Tests: tests/unit/test_blas.c, tests/gpu/test_blas.c.
 */

/**
 * y := alpha x + beta y. With beta = 0, y is not read (NaN in it does not survive). Does not wait for the device.
 * Cost: the bytes of x once, of y twice; 3n flops.
 * Accuracy: |computed - exact| <= gamma(2) (|alpha x_i| + |beta y_i|) before the rounding to y's storage.
 */
TESS_EXPORT tess_status tess_vector_axpby(double alpha, const tess_vector *x, double beta, tess_vector *y,
                                          tess_arithmetic arithmetic);
/** x := alpha x, rounded in @p arithmetic and then to x's storage. Cost: the bytes of x twice. Does not wait. */
TESS_EXPORT tess_status tess_vector_scale(double alpha, tess_vector *x, tess_arithmetic arithmetic);
/**
 * *result := x . y, summed in a fixed order, with FP32 arithmetic in FP32 down to the last sum. Waits for the device.
 * Cost: the bytes of x and y once; 2n flops.
 * Accuracy: |result - exact| <= gamma(ceil(n / 4096) + 512) sum |x_i y_i|.
 */
TESS_EXPORT tess_status tess_vector_dot(const tess_vector *x, const tess_vector *y, tess_arithmetic arithmetic,
                                        double *result);
/**
 * *result := ||x||_2, scaled by a power of two where x.x would overflow or underflow. Waits for the device.
 * Cost: the bytes of x once, twice where it has to be scaled; 2n flops.
 * Accuracy: |result - exact| <= gamma(ceil(n / 4096) + 512) exact.
 */
TESS_EXPORT tess_status tess_vector_norm2(const tess_vector *x, tess_arithmetic arithmetic, double *result);

TESS_END_DECLS

#endif
