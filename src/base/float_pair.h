/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as pairs of floats, high + low, for devices that compute little in FP64. Only FP32 and integer operations are
 * used, and each is rounded once, so that hosts and devices get the same bits.
 *
 * |a x| gets an error of at most 7 * 2^-48 of itself, and an addition one of at most 10 * 2^-48 of the magnitudes that
 * are added: n products and their sum keep within FLOAT_PAIR_BOUND(n) times the sum of |a| |x|. Numbers are those of
 * FP32: what is above 2^128 is infinite, below 2^-74 the low word is lost, and below 2^-126 both.
 * Sources: Dekker, Numer. Math. 18 (1971); Ogita, Rump, Oishi, SIAM J. Sci. Comput. 26 (2005), Algorithms 3.1, 3.5.
 */
#ifndef TESS_BASE_FLOAT_PAIR_H
#define TESS_BASE_FLOAT_PAIR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <tessera/export.h>

typedef struct float_pair {
    float high, low;
} float_pair;

#define FLOAT_PAIR_BOUND(n) (((double)(n) + 1.0) * 0x1p-44)
/* The largest relative error of a number as a pair. */
#define FLOAT_PAIR_LOSS 0x1p-49

TESS_HD float float_of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Of a double: 48 bits and a sign, by integer operations. */
TESS_HD float_pair float_pair_of(double x)
{
    const float_pair lost = {0.0F, 0.0F};
    float_pair p;
    uint64_t bits;
    uint32_t sign, high;
    int32_t exponent, rest;

    memcpy(&bits, &x, sizeof bits);
    sign = (uint32_t)(bits >> 63) << 31;
    exponent = (int32_t)(bits >> 52 & 0x7ff) - 1023;
    if (exponent < -126) { return lost; }
    high = (uint32_t)(bits >> 29 & 0x7fffff);
    rest = (int32_t)(bits & 0x1fffffff);
    if (exponent > 127) { /* NaN keeps a bit of its own */
        const int is_nan = exponent == 1024 && (high | (uint32_t)rest) != 0;

        p.high = float_of_bits(sign | 0x7f800000U | (is_nan ? 0x400000U : 0U));
        p.low = 0.0F;
        return p;
    }
    high += (uint32_t)(exponent + 127) << 23;
    if (rest >= 0x10000000) { /* to nearest: a carry goes on into the exponent */
        high += 1;
        rest -= 0x20000000;
    }
    p.high = float_of_bits(sign | high);
    p.low = 0.0F;
    if (exponent - 52 < -126 || high >= 0x7f800000U) { return p; }
    p.low =
        TESS_ROUNDED_PRODUCT_FP32((float)(sign ? -rest : rest), float_of_bits((uint32_t)(exponent - 52 + 127) << 23));
    return p;
}

/* a x */
TESS_HD float_pair float_pair_times(float_pair a, float_pair x)
{
    float_pair p;

    p.high = TESS_ROUNDED_PRODUCT_FP32(a.high, x.high);
    p.low = fmaf(a.high, x.high, -p.high);
    p.low = fmaf(a.high, x.low, p.low);
    p.low = fmaf(a.low, x.high, p.low);
    return p;
}

TESS_HD float_pair float_pair_plus(float_pair a, float_pair b)
{
    const float sum = a.high + b.high, taken = sum - a.high;
    float_pair p;
    float low = (a.high - (sum - taken)) + (b.high - taken);

    low += a.low + b.low;
    p.high = sum + low;
    p.low = low - (p.high - sum);
    return p;
}

TESS_HD double float_pair_value(float_pair p)
{
    return (double)p.high + (double)p.low;
}

#endif
