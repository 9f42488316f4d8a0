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

/** A vector of @p n zeros (n >= 0) stored in @p precision (fp64 or fp32). Errors: OUT_OF_MEMORY, UNSUPPORTED. */
TESS_EXPORT tess_status tess_vector_create(tess_context *ctx, int64_t n, tess_precision precision, tess_vector **out);

/**
 * A vector over the caller's array of @p n values, borrowed: it must stay valid and lie in the memory of the
 * context's device (host memory for a CPU context). Nothing is copied.
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
 * Copies all n values in from the caller's array of doubles or floats (@p precision) in host or device memory,
 * converting by rounding to nearest. Host sources may be reused when the call returns.
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
/** y := alpha x + beta y; both FP64. With beta = 0, y is not read (NaN in it does not survive). */
TESS_EXPORT tess_status tess_vector_axpby(double alpha, const tess_vector *x, double beta, tess_vector *y);
/**
 * *result := x . y in FP64, summed in a fixed order (the same bits on every run); both FP64. Waits for the device.
 * Error bound: |result - exact| <= gamma(ceil(n / 4096) + 4096) sum |x_i y_i|.
 */
TESS_EXPORT tess_status tess_vector_dot(const tess_vector *x, const tess_vector *y, double *result);
/** *result := ||x||_2, scaled where x.x would overflow or underflow. Waits for the device. */
TESS_EXPORT tess_status tess_vector_norm2(const tess_vector *x, double *result);

TESS_END_DECLS

#endif
