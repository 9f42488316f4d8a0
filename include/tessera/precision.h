/* SPDX-License-Identifier: Apache-2.0 */
/** @file precision.h  The storage precisions and their properties. */
#ifndef TESSERA_PRECISION_H
#define TESSERA_PRECISION_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/export.h>
#include <tessera/status.h>

TESS_BEGIN_DECLS

/** The formats that values are stored in; codec.h has their bits. Values are part of the ABI: append, never renumber. */
typedef enum tess_precision {
    TESS_PRECISION_FP64 = 0, /**< IEEE double: 53 significant bits */
    TESS_PRECISION_FP32 = 1, /**< IEEE single: 24 bits, range of 1e38 */
    TESS_PRECISION_BF16 = 2, /**< bfloat16: 8 bits, range of FP32 */
    TESS_PRECISION_FP16 = 3, /**< IEEE half: 11 bits, up to 65,504 */
    TESS_PRECISION_E4M3 = 4, /**< OCP FP8: 4 bits, up to 448, no Inf */
    TESS_PRECISION_E5M2 = 5  /**< OCP FP8: 3 bits, up to 57,344 */
} tess_precision;

/** How many there are, and the room for more that arrays in structs have. */
enum { TESS_PRECISION_COUNT = 6, TESS_MOST_PRECISIONS = 16 };

/** The precision in which products and sums are computed, whatever the operands are stored in. */
typedef enum tess_arithmetic {
    TESS_ARITHMETIC_FP64 = 0, /**< double (default) */
    TESS_ARITHMETIC_FP32 = 1  /**< float */
} tess_arithmetic;

/** What one part of a computation (matrix, vectors, Krylov basis, preconditioner) is stored and computed in. */
typedef struct tess_role_precision {
    int given; /**< 0: the default of the place */
    tess_precision storage;
    tess_arithmetic arithmetic;
} tess_role_precision;

/** Bytes of one value; 0 for a value outside the enum. */
TESS_EXPORT size_t tess_precision_bytes(tess_precision precision);

/** Name as on the command line ("fp64", ...); "?" for a value outside the enum. */
TESS_EXPORT const char *tess_precision_name(tess_precision precision);

/** Parses a name; returns INVALID_ARGUMENT and leaves *out alone for an unknown one. */
TESS_EXPORT tess_status tess_precision_parse(const char *name, tess_precision *out);
TESS_EXPORT const char *tess_arithmetic_name(tess_arithmetic arithmetic);
TESS_EXPORT tess_status tess_arithmetic_parse(const char *name, tess_arithmetic *out);

/**
 * Parses `STORAGE` or `STORAGE/ARITHMETIC`, as in fp16/fp64. Without an arithmetic: fp64 for storage in fp64, else fp32. Returns
 * INVALID_ARGUMENT and leaves *out alone for anything else, and for fp64/fp32.
 */
TESS_EXPORT tess_status tess_role_precision_parse(const char *text, tess_role_precision *out);

/** Unit roundoff, 2^-(significand bits). */
TESS_EXPORT double tess_precision_unit_roundoff(tess_precision precision);

/** The smallest positive value, a subnormal: half of it bounds the rounding of what is smaller than the normal numbers. */
TESS_EXPORT double tess_precision_smallest(tess_precision precision);

/**
 * 1 when @p precision stores @p value exactly (subnormals count as stored; NaN and Inf count as stored where the
 * format has them: everywhere but Inf in e4m3), else 0.
 */
TESS_EXPORT int tess_precision_holds(tess_precision precision, double value);

TESS_END_DECLS

#endif
