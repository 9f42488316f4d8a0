/* SPDX-License-Identifier: Apache-2.0 */
/** @file precision.h  Storage precisions and arithmetic. An array may be stored in fp16 and computed with in fp64. */
#ifndef TESSERA_PRECISION_H
#define TESSERA_PRECISION_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/export.h>
#include <tessera/status.h>

TESS_BEGIN_DECLS

/** Storage precisions; codec.h has their bits. Values are part of the ABI: append, never renumber. */
typedef enum tess_precision {
    TESS_PRECISION_FP64 = 0, /**< IEEE double: 53 significant bits */
    TESS_PRECISION_FP32 = 1, /**< IEEE single: 24 bits, range of 1e38 */
    TESS_PRECISION_BF16 = 2, /**< bfloat16: 8 bits, range of FP32 */
    TESS_PRECISION_FP16 = 3, /**< IEEE half: 11 bits, up to 65,504 */
    TESS_PRECISION_E4M3 = 4, /**< OCP FP8: 4 bits, up to 448, no Inf */
    TESS_PRECISION_E5M2 = 5  /**< OCP FP8: 3 bits, up to 57,344 */
} tess_precision;

/** The number of precisions, and the length of arrays in structs, which have space for more. */
enum { TESS_PRECISION_COUNT = 6, TESS_MAX_PRECISIONS = 16 };

/** The precision in which products and sums are computed, whatever the operands are stored in. */
typedef enum tess_arithmetic {
    TESS_ARITHMETIC_FP64 = 0,  /**< double (default) */
    TESS_ARITHMETIC_FP32 = 1,  /**< float */
    TESS_ARITHMETIC_FP32X2 = 2 /**< pairs of float, 48 bits: for GPUs that compute little in FP64. Products of csr and
                                    dia: |y - A x| <= (n + 1) 2^-44 |A| |x| for rows of n entries */
} tess_arithmetic;

/** Storage and arithmetic of one part of a computation: matrix, vectors, Krylov basis, preconditioner. */
typedef struct tess_role_precision {
    int given; /**< 0: the default applies, and the other fields are not read */
    tess_precision storage;
    tess_arithmetic arithmetic;
} tess_role_precision;

/** Bytes of one value; 0 for a value outside the enum. */
TESS_EXPORT size_t tess_precision_bytes(tess_precision precision);

/** Name on the command line, such as "fp64"; "?" for a value outside the enum. */
TESS_EXPORT const char *tess_precision_name(tess_precision precision);

/** Parses a name. For an unknown one it returns INVALID_ARGUMENT and leaves *out unchanged. */
TESS_EXPORT tess_status tess_precision_parse(const char *name, tess_precision *out);
TESS_EXPORT const char *tess_arithmetic_name(tess_arithmetic arithmetic);
TESS_EXPORT tess_status tess_arithmetic_parse(const char *name, tess_arithmetic *out);

/**
 * Parses `STORAGE` or `STORAGE/ARITHMETIC`, such as fp16/fp64. The default arithmetic is fp64 for storage in fp64, else
 * fp32. For anything else, and for fp64/fp32, it returns INVALID_ARGUMENT and leaves *out unchanged.
 */
TESS_EXPORT tess_status tess_role_precision_parse(const char *text, tess_role_precision *out);

/** Unit roundoff: 2^-(significand bits), such as 2^-11 for fp16. */
TESS_EXPORT double tess_precision_unit_roundoff(tess_precision precision);

/** The smallest positive value, a subnormal. Half of it bounds the rounding error below the normal numbers. */
TESS_EXPORT double tess_precision_smallest(tess_precision precision);

/**
 * 1 if @p precision stores @p value exactly, else 0. Subnormals are stored exactly. NaN and Inf count as exact if the
 * precision has them: all have both, except that e4m3 has no Inf.
 */
TESS_EXPORT int tess_precision_holds(tess_precision precision, double value);

TESS_END_DECLS

#endif
