/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fused vector operations: each is one pass over its vectors, optionally with dot products and the scalar update that
 * uses them. A backend has one driver for all of them. The operation on an element is one inline function, shared by
 * host and device (fused_bodies.h, blas_bodies.h).
 */
#ifndef TESS_BASE_FUSED_H
#define TESS_BASE_FUSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/precision.h>

#include "base/loop_state.h"
#include "base/scalar_update.h"

/* Of vectors that a pass takes at once. */
enum { TESS_MAX_COLUMNS = 32 };

typedef enum tess_fused_op {
#define TESS_FUSED(NAME, function, ndots) TESS_FUSED_##NAME,
#define TESS_BLAS(NAME, function, operands, ndots) TESS_FUSED_##NAME,
#include "base/fused.def"
#undef TESS_BLAS
#undef TESS_FUSED
} tess_fused_op;

/* Dot products of a newly written vector y that an SpMV or a preconditioner computes on the way: dots[k] = (with[k],
   y); with[k] == y gives (y, y). first is the index of the first result, so that an earlier result can stay. */
typedef struct tess_reduction {
    int ndots; /* 0: none; the update does not run then */
    const double *with[2];
    tess_scalar_update scalar;
    tess_loop_state *state; /* NULL: not in a loop */
} tess_reduction;

/* A vector as the BLAS operations take it. All zero except data: FP64. */
typedef struct tess_operand {
    const void *data;
    tess_precision precision;
} tess_operand;

typedef struct tess_fused {
    tess_fused_op op;
    int64_t n;
    /* BLAS operations: x, y and the result, which has y's precision and may be x or y itself. FP32 arithmetic also
       gives FP32 partial sums; such an operation is not used in loops. */
    tess_operand x, y;
    void *result;
    tess_arithmetic arithmetic;
    /* the solvers' passes */
    double *out[3];
    const double *in[4];
    const double *scale;        /* diagonal of a Jacobi preconditioner (its inverse), or NULL */
    const double *coefficients; /* on the device, for passes with more than alpha, beta and omega */
    /* Passes over vectors of several columns, by rows: `columns` is a power of two, at most TESS_MAX_COLUMNS; 0 or 1:
       one. n counts all values, scale those of one column. state: one for each column, whose `coefficients` follow
       those of the column before after so many bytes. Only columns whose state runs are written. */
    int columns;
    size_t coefficient_stride;
    float *shadow; /* low-precision copy of the vector that the next SpMV multiplies, or NULL */
    double a, b;   /* factors of the BLAS operations */
    tess_scalar_update scalar;
    tess_loop_state *state; /* NULL: not in a loop (operations that need the loop's scalars must not have NULL) */
    bool finishing;         /* runs also in phase FINISHING */
} tess_fused;

#endif
