/* SPDX-License-Identifier: Apache-2.0 */
/** @file precision.h  The storage precisions and their properties. */
#ifndef TESSERA_PRECISION_H
#define TESSERA_PRECISION_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/export.h>
#include <tessera/status.h>

TESS_BEGIN_DECLS

/*
 * X(NAME, value, name, type that holds one value, significand bits with the hidden one, smallest normal exponent,
 *   largest exponent, largest finite magnitude).
 * The exponents are those of frexp() minus one: a normal number is 1.f * 2^e with emin <= e <= emax. codec.h has
 * tess_<name>_{from,to}_{float,double} for each.
 */
#define TESS_PRECISION_LIST(X)                                        \
    X(FP64, 0, fp64, double, 53, -1022, 1023, 0x1.fffffffffffffp1023) \
    X(FP32, 1, fp32, float, 24, -126, 127, 0x1.fffffep127)            \
    X(BF16, 2, bf16, uint16_t, 8, -126, 127, 0x1.fep127)              \
    X(FP16, 3, fp16, uint16_t, 11, -14, 15, 65504.0)                  \
    X(E4M3, 4, e4m3, uint8_t, 4, -6, 8, 448.0)                        \
    X(E5M2, 5, e5m2, uint8_t, 3, -14, 15, 57344.0)

typedef enum tess_precision {
#define TESS_PRECISION_ENUM(NAME, value, name, type, bits, emin, emax, max) TESS_PRECISION_##NAME = (value),
    TESS_PRECISION_LIST(TESS_PRECISION_ENUM)
#undef TESS_PRECISION_ENUM
} tess_precision;

enum { TESS_PRECISION_COUNT = 6 };

/** The precision in which products and sums are computed, whatever the operands are stored in. */
typedef enum tess_arithmetic { TESS_ARITHMETIC_FP64 = 0, TESS_ARITHMETIC_FP32 = 1 } tess_arithmetic;

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

/**
 * Parses `STORAGE` or `STORAGE/ARITHMETIC`, as in fp16/fp64. Without an arithmetic: fp64 for storage in fp64, else fp32. Returns
 * INVALID_ARGUMENT and leaves *out alone for anything else, and for fp64/fp32.
 */
TESS_EXPORT tess_status tess_role_parse(const char *text, tess_role_precision *out);

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
