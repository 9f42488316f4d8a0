/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file codec.h  Storage precisions as bit patterns: encoding and decoding, for C17, C++17, CUDA and HIP.
 *
 *     uint16_t half = tess_fp16_from_double(0.1, TESS_OVERFLOW_INFINITY);           tess_fp16_to_double(half)
 *
 * All functions are inline; programs need not link the library. 16- and 8-bit values are plain unsigned integers.
 * - Encoding rounds once, to nearest, ties to even. A double is never rounded twice. Subnormals are exact.
 * - NaN stays NaN and keeps its sign, but not its payload. Encoded, it is the canonical quiet NaN of its format (of
 *   FP32 any NaN); decoded, it may have any sign and payload.
 * - Inf stays Inf, except in e4m3, which has none: it becomes NaN.
 * - A finite value that rounds above the largest magnitude overflows as tess_overflow says.
 * With these rules host and device give the same bits. Sources: IEEE 754-2019, sections 4.3.1 and 7.4 (rounding and
 * overflow); OCP 8-bit Floating Point Specification 1.0 (e4m3, e5m2); Boldo, Melquiond, IEEE Trans. Computers 57 (2008)
 * (rounding to odd in between).
 */
#ifndef TESSERA_CODEC_H
#define TESSERA_CODEC_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#include <tessera/precision.h>

/* Exact; C++11 has no hexadecimal constants. */
#define TESS_TWO_TO_112 5192296858534827628530496329220096.0F
#define TESS_TWO_TO_120 1329227995784915872903807060280344576.0F
#define TESS_TWO_TO_127 170141183460469231731687303715884105728.0F

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define TESS_HARDWARE_FP8 1
#else
#define TESS_HARDWARE_FP8 0
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define TESS_HARDWARE_HALVES 1
#else
#define TESS_HARDWARE_HALVES 0
#endif

/*
 * The list of precisions, a line each: X(with, NAME, value, name, type that holds one value, significand bits with the
 * hidden one, smallest normal exponent, largest exponent, largest finite magnitude); `with` is handed through.
 * A normal number is 1.f * 2^e with emin <= e <= emax: the exponents are those of frexp() minus one. Each precision has
 * tess_<name>_{from,to}_{float,double} below.
 */
#define TESS_PRECISION_LIST_WITH(X, with)                                                     \
    X(with, FP64, 0, fp64, double, 53, -1022, 1023, DBL_MAX)                                  \
    X(with, FP32, 1, fp32, float, 24, -126, 127, FLT_MAX)                                     \
    X(with, BF16, 2, bf16, uint16_t, 8, -126, 127, 338953138925153547590470800371487866880.0) \
    X(with, FP16, 3, fp16, uint16_t, 11, -14, 15, 65504.0)                                    \
    X(with, E4M3, 4, e4m3, uint8_t, 4, -6, 8, 448.0)                                          \
    X(with, E5M2, 5, e5m2, uint8_t, 3, -14, 15, 57344.0)

/* The same with X(NAME, value, ...). */
#define TESS_PRECISION_LIST(X) TESS_PRECISION_LIST_WITH(TESS_PRECISION_LINE, X)
#define TESS_PRECISION_LINE(X, ...) X(__VA_ARGS__)

/** The result of encoding a finite value that is too large. */
typedef enum tess_overflow {
    TESS_OVERFLOW_INFINITY = 0, /**< Inf with the sign of the value; NaN in e4m3. The default, so that overflow shows */
    TESS_OVERFLOW_SATURATE = 1  /**< the largest finite magnitude with the sign of the value; Inf stays Inf */
} tess_overflow;

TESS_BEGIN_DECLS
TESS_EXPORT const char *tess_overflow_name(tess_overflow overflow);
TESS_EXPORT tess_status tess_overflow_parse(const char *name, tess_overflow *out);
TESS_END_DECLS

/* ---- bits ---- */

TESS_HD uint32_t tess_float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

TESS_HD float tess_float_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

TESS_HD uint64_t tess_double_bits(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

TESS_HD double tess_double_of_bits(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds to FP32, to odd. A later rounding to at most 22 bits then equals one rounding of `value`. */
TESS_HD float tess_round_to_odd(double value)
{
    float nearest = (float)value;
    double back = (double)nearest;
    uint32_t bits = tess_float_bits(nearest);

    if (back == value) { return nearest; }
    if (value != value) { /* the conversion's own NaN has lost the sign on a GPU */
        return tess_float_of_bits((uint32_t)(tess_double_bits(value) >> 32 & 0x80000000U) | 0x7fc00000U);
    }
    if ((back < 0.0 ? -back : back) > (value < 0.0 ? -value : value)) { bits -= 1; } /* also from Inf to the largest */
    return tess_float_of_bits(bits | 1U);
}

/* ---- encoding to fewer than 32 bits ---- */

/* A format of fewer than 32 bits: sign, exponent, mantissa. The codes here have no sign bit. */
typedef struct tess_small_format {
    int exponent_bits, mantissa_bits;
    uint32_t largest;  /* code of the largest finite value */
    uint32_t infinity; /* code of Inf; of NaN if the format has no Inf */
    uint32_t nan;
} tess_small_format;

TESS_HD uint32_t tess_encode_small(float value, tess_small_format format, tess_overflow overflow)
{
    uint32_t bits = tess_float_bits(value), magnitude = bits & 0x7fffffffU, code;
    uint32_t sign = (bits >> 31) << (format.exponent_bits + format.mantissa_bits);
    int bias = (1 << (format.exponent_bits - 1)) - 1, shift = 23 - format.mantissa_bits;
    int field = magnitude < 0x800000U ? 1 : (int)(magnitude >> 23); /* subnormal floats have the exponent of field 1 */
    int exponent = field - 127 + bias;

    if (magnitude > 0x7f800000U) { return sign | format.nan; }
    if (magnitude == 0x7f800000U) { return sign | format.infinity; }
    if (exponent < 1) { /* subnormal: the significand, in units of the smallest subnormal */
        magnitude = (magnitude & 0x7fffffU) | (magnitude < 0x800000U ? 0U : 0x800000U);
        shift += 1 - exponent;
        if (shift > 24) { return sign; }
    } else {
        magnitude -= (uint32_t)(127 - bias) << 23;
    }
    code = (magnitude + (1U << (shift - 1)) - 1U + ((magnitude >> shift) & 1U)) >> shift;
    if (code > format.largest) { code = overflow == TESS_OVERFLOW_SATURATE ? format.largest : format.infinity; }
    return sign | code;
}

TESS_HD uint16_t tess_bf16_from_float(float value, tess_overflow overflow)
{
    const tess_small_format format = {8, 7, 0x7f7fU, 0x7f80U, 0x7fc0U};

#if TESS_HARDWARE_HALVES
    if (overflow == TESS_OVERFLOW_INFINITY && value == value) {
        uint16_t code;

        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(code) : "f"(value));
        return code;
    }
#endif
    return (uint16_t)tess_encode_small(value, format, overflow);
}

TESS_HD uint16_t tess_fp16_from_float(float value, tess_overflow overflow)
{
    const tess_small_format format = {5, 10, 0x7bffU, 0x7c00U, 0x7e00U};

#if TESS_HARDWARE_HALVES
    if (overflow == TESS_OVERFLOW_INFINITY && value == value) {
        uint16_t code;

        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(code) : "f"(value));
        return code;
    }
#endif
    return (uint16_t)tess_encode_small(value, format, overflow);
}

TESS_HD uint8_t tess_e4m3_from_float(float value, tess_overflow overflow)
{
    const tess_small_format format = {4, 3, 0x7eU, 0x7fU, 0x7fU};

#if TESS_HARDWARE_FP8
    if (value >= -464.0F && value <= 464.0F) { /* up to the midpoint between 448 and the next larger number, 480 */
        uint16_t code;

        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(code) : "f"(0.0F), "f"(value));
        return (uint8_t)code;
    }
#endif
    return (uint8_t)tess_encode_small(value, format, overflow);
}

TESS_HD uint8_t tess_e5m2_from_float(float value, tess_overflow overflow)
{
    const tess_small_format format = {5, 2, 0x7bU, 0x7cU, 0x7eU};

#if TESS_HARDWARE_FP8
    if (value > -61440.0F && value < 61440.0F) { /* below the midpoint between 57,344 and the next, 65,536 */
        uint16_t code;

        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(code) : "f"(0.0F), "f"(value));
        return (uint8_t)code;
    }
#endif
    return (uint8_t)tess_encode_small(value, format, overflow);
}

TESS_HD uint16_t tess_bf16_from_double(double value, tess_overflow overflow)
{
    return tess_bf16_from_float(tess_round_to_odd(value), overflow);
}

TESS_HD uint16_t tess_fp16_from_double(double value, tess_overflow overflow)
{
    return tess_fp16_from_float(tess_round_to_odd(value), overflow);
}

TESS_HD uint8_t tess_e4m3_from_double(double value, tess_overflow overflow)
{
    return tess_e4m3_from_float(tess_round_to_odd(value), overflow);
}

TESS_HD uint8_t tess_e5m2_from_double(double value, tess_overflow overflow)
{
    return tess_e5m2_from_float(tess_round_to_odd(value), overflow);
}

TESS_HD float tess_fp32_from_double(double value, tess_overflow overflow)
{
    float nearest = (float)value;

    if (overflow == TESS_OVERFLOW_SATURATE && (tess_float_bits(nearest) & 0x7fffffffU) == 0x7f800000U &&
        value - value == 0.0) {
        return value < 0.0 ? -FLT_MAX : FLT_MAX;
    }
    return nearest;
}

TESS_HD float tess_fp32_from_float(float value, tess_overflow overflow)
{
    (void)overflow;
    return value;
}

TESS_HD double tess_fp64_from_double(double value, tess_overflow overflow)
{
    (void)overflow;
    return value;
}

TESS_HD double tess_fp64_from_float(float value, tess_overflow overflow)
{
    (void)overflow;
    return (double)value;
}

/* ---- decoding: exact ---- */

TESS_HD float tess_bf16_to_float(uint16_t code)
{
    return tess_float_of_bits((uint32_t)code << 16);
}

/*
 * Shifts exponent and mantissa to their places in the wider format, and multiplies by a power of two to correct the
 * exponent's bias; this also turns subnormals into normal numbers. Inf and NaN get the largest exponent of the wider
 * format.
 */
TESS_HD float tess_fp16_to_float(uint16_t code)
{
#if TESS_HARDWARE_HALVES
    float value;

    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(code));
    return value;
#else
    uint32_t magnitude = code & 0x7fffU, sign = (uint32_t)(code & 0x8000U) << 16;
    uint32_t bits = tess_float_bits(tess_float_of_bits(magnitude << 13) * TESS_TWO_TO_112);

    bits |= magnitude >= 0x7c00U ? 0x7f800000U : 0U;
    return tess_float_of_bits(bits | sign);
#endif
}

#if TESS_HARDWARE_FP8
/* Converts two e4m3 or e5m2 codes to two fp16 codes. This is exact: fp16 has all their values. */
TESS_HD uint32_t tess_e4m3_to_halves(uint16_t two)
{
    uint32_t halves;

    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(two));
    return halves;
}

TESS_HD uint32_t tess_e5m2_to_halves(uint16_t two)
{
    uint32_t halves;

    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(two));
    return halves;
}
#endif

TESS_HD float tess_e4m3_to_float(uint8_t code)
{
#if TESS_HARDWARE_FP8
    return tess_fp16_to_float((uint16_t)tess_e4m3_to_halves(code));
#else
    uint32_t magnitude = code & 0x7fU, sign = (uint32_t)(code & 0x80U) << 24;
    uint32_t bits = tess_float_bits(tess_float_of_bits(magnitude << 20) * TESS_TWO_TO_120);

    bits |= magnitude == 0x7fU ? 0x7fc00000U : 0U;
    return tess_float_of_bits(bits | sign);
#endif
}

TESS_HD float tess_e5m2_to_float(uint8_t code)
{
    return tess_fp16_to_float((uint16_t)(code << 8));
}

TESS_HD float tess_fp32_to_float(float stored)
{
    return stored;
}

TESS_HD float tess_fp64_to_float(double stored) /* the only decoding that rounds, to nearest */
{
    return (float)stored;
}

TESS_HD double tess_fp64_to_double(double stored)
{
    return stored;
}

TESS_HD double tess_fp32_to_double(float stored)
{
    return (double)stored;
}

TESS_HD double tess_bf16_to_double(uint16_t code)
{
    return (double)tess_bf16_to_float(code);
}

TESS_HD double tess_fp16_to_double(uint16_t code)
{
#if TESS_HARDWARE_HALVES
    double value;

    asm("cvt.f64.f16 %0, %1;" : "=d"(value) : "h"(code));
    return value;
#else
    return (double)tess_fp16_to_float(code);
#endif
}

TESS_HD double tess_e4m3_to_double(uint8_t code)
{
#if TESS_HARDWARE_FP8
    return tess_fp16_to_double((uint16_t)tess_e4m3_to_halves(code));
#else
    return (double)tess_e4m3_to_float(code);
#endif
}

TESS_HD double tess_e5m2_to_double(uint8_t code)
{
    return tess_fp16_to_double((uint16_t)(code << 8));
}

/* ---- one value of an array, by TESS_PRECISION_LIST ---- */

/** Bytes of one value in @p precision. A compiler that knows the precision computes it. */
TESS_HD size_t tess_storage_bytes(tess_precision precision)
{
    switch (precision) {
#define TESS_CASE(NAME, value, name, type, ...) \
    case TESS_PRECISION_##NAME: return sizeof(type);
        TESS_PRECISION_LIST(TESS_CASE)
#undef TESS_CASE
    }
    return 0;
}

#if defined(__GNUC__)
#define TESS_MAY_ALIAS __attribute__((may_alias)) /* the owner of an array may access it as another type */
#else
#define TESS_MAY_ALIAS
#endif

/* tess_<name>_get and tess_<name>_put read and write element i as stored. */
#define TESS_ELEMENT(NAME, value, name, type, ...)                      \
    TESS_HD type tess_##name##_get(const void *data, int64_t i)         \
    {                                                                   \
        typedef type TESS_MAY_ALIAS stored;                             \
                                                                        \
        return ((const stored *)data)[i];                               \
    }                                                                   \
    TESS_HD void tess_##name##_put(void *data, int64_t i, type element) \
    {                                                                   \
        typedef type TESS_MAY_ALIAS stored;                             \
                                                                        \
        ((stored *)data)[i] = element;                                  \
    }
TESS_PRECISION_LIST(TESS_ELEMENT)
#undef TESS_ELEMENT

/** Element @p i of an array in @p precision, exactly. With a constant precision it is one load and its conversion. */
TESS_HD double tess_load(tess_precision precision, const void *data, int64_t i)
{
    switch (precision) {
#define TESS_CASE(NAME, value, name, ...) \
    case TESS_PRECISION_##NAME: return tess_##name##_to_double(tess_##name##_get(data, i));
        TESS_PRECISION_LIST(TESS_CASE)
#undef TESS_CASE
    }
    return 0.0;
}

/** Element @p i in FP32. Exact, except that FP64 storage is rounded to nearest. */
TESS_HD float tess_load_float(tess_precision precision, const void *data, int64_t i)
{
    switch (precision) {
#define TESS_CASE(NAME, value, name, ...) \
    case TESS_PRECISION_##NAME: return tess_##name##_to_float(tess_##name##_get(data, i));
        TESS_PRECISION_LIST(TESS_CASE)
#undef TESS_CASE
    }
    return 0.0F;
}

/** Stores @p value as element @p i, rounded to nearest even. Values that are too large become what @p overflow says. */
TESS_HD void tess_store(tess_precision precision, void *data, int64_t i, double value, tess_overflow overflow)
{
    switch (precision) {
#define TESS_CASE(NAME, number, name, ...) \
    case TESS_PRECISION_##NAME: tess_##name##_put(data, i, tess_##name##_from_double(value, overflow)); break;
        TESS_PRECISION_LIST(TESS_CASE)
#undef TESS_CASE
    }
}

/** As tess_store for an FP32 value: one rounding, without a conversion to FP64. */
TESS_HD void tess_store_float(tess_precision precision, void *data, int64_t i, float value, tess_overflow overflow)
{
    switch (precision) {
#define TESS_CASE(NAME, number, name, ...) \
    case TESS_PRECISION_##NAME: tess_##name##_put(data, i, tess_##name##_from_float(value, overflow)); break;
        TESS_PRECISION_LIST(TESS_CASE)
#undef TESS_CASE
    }
}

/** 1 where @p precision has Inf, 0 where it stores Inf as NaN. */
TESS_HD int tess_has_infinity(tess_precision precision)
{
    uint64_t code = 0;

    tess_store_float(precision, &code, 0, tess_float_of_bits(0x7f800000U), TESS_OVERFLOW_INFINITY);
    return tess_float_bits(tess_load_float(precision, &code, 0)) == 0x7f800000U;
}

/* ---- a scale for stored values ---- */

/**
 * A power of two for storing values up to @p largest in magnitude: largest / scale is at most the largest finite value
 * of
 * @p precision and more than half of it. Example: 2^-7 for fp16 and largest 500. 1 for zero, Inf and NaN; never below
 * 2^-1022. For FP32 arithmetic use tess_scale_for_float.
 */
TESS_HD double tess_scale_for(tess_precision precision, double largest)
{
    double magnitude = largest < 0.0 ? -largest : largest, top = 0.0, fraction;
    int emax = 0, exponent;

    if (!(magnitude > 0.0) || magnitude - magnitude != 0.0) { return 1.0; }
    switch (precision) {
#define TESS_CASE(NAME, value, name, type, bits, emin, highest, max) \
    case TESS_PRECISION_##NAME:                                      \
        emax = highest;                                              \
        top = max;                                                   \
        break;
        TESS_PRECISION_LIST(TESS_CASE)
#undef TESS_CASE
    }
    exponent = magnitude < DBL_MIN ? -54 : 0;
    magnitude = magnitude < DBL_MIN ? magnitude * 18014398509481984.0 : magnitude;
    exponent += (int)(tess_double_bits(magnitude) >> 52) - 1023;
    fraction = tess_double_of_bits((tess_double_bits(magnitude) & 0xfffffffffffffU) | (uint64_t)1023 << 52);
    exponent -= emax;
    if (fraction > top / tess_double_of_bits((uint64_t)(emax + 1023) << 52)) { exponent += 1; }
    return tess_double_of_bits((uint64_t)((exponent < -1022 ? -1022 : exponent) + 1023) << 52);
}

/** As tess_scale_for, for FP32 arithmetic: a float from 2^-126 to 2^127, with largest / scale finite in FP32. */
TESS_HD float tess_scale_for_float(tess_precision precision, double largest)
{
    double scale = tess_scale_for(precision == TESS_PRECISION_FP64 ? TESS_PRECISION_FP32 : precision, largest);

    return scale < (double)FLT_MIN ? FLT_MIN : scale > (double)TESS_TWO_TO_127 ? TESS_TWO_TO_127 : (float)scale;
}

#endif
