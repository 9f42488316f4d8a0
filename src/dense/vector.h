/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors, for the library's own sources. */
#ifndef TESS_DENSE_VECTOR_H
#define TESS_DENSE_VECTOR_H

#include <tessera/vector.h>

#include "base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tess_vector {
    tess_context *ctx;
    int64_t n;
    tess_precision precision;
    void *data;
    bool owned;
    float *shadow; /* NULL or n floats */
};

/* Checks that v is an FP64 vector of n values in ctx; the error names it as `role`. */
tess_status tess_vector_require(tess_context *ctx, const tess_vector *v, int64_t n, const char *role);
/* n values that a transfer reads, and their destination. */
typedef struct tess_value_array {
    const void *data;
    tess_precision precision;
    bool on_device; /* in the memory of the context's device, if that is not the host */
} tess_value_array;
typedef struct tess_value_place {
    void *data;
    tess_precision precision;
    bool on_device;
} tess_value_place;

/* Moves n values between host and device, or within one of them, and converts them if the precisions differ. */
tess_status tess_move_values(tess_context *ctx, int64_t n, tess_value_array from, tess_value_place to);
tess_status tess_vector_require_in(tess_context *ctx, const tess_vector *v, int64_t n, tess_precision precision,
                                   const char *role);
/* Runs a reducing pass outside a loop and copies its dot products to the host. */
tess_status tess_fused_dots(tess_context *ctx, tess_fused *op, int ndots, double *dots);
/* Whether a sum of squares in FP64 has neither overflowed nor lost digits to underflow. False for NaN. */
static inline bool tess_squares_are_whole(double squares)
{
    return squares >= 0x1p-900 && squares <= 0x1p1000;
}

#ifdef __cplusplus
}
#endif

#endif
