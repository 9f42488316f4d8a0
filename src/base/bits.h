/* SPDX-License-Identifier: Apache-2.0 */
/* Exponents of doubles, and powers of two, from their bits. The same on host and device. */
#ifndef TESS_BASE_BITS_H
#define TESS_BASE_BITS_H

#include <tessera/codec.h>

/* 2^exponent, normal. */
TESS_HD double tess_power_of_two(int exponent)
{
    return tess_double_of_bits((uint64_t)(exponent + 1023) << 52);
}

/* The exponent of a positive finite number's leading bit. */
TESS_HD int tess_leading_exponent(double value)
{
    int offset = value < 0x1p-1022 ? 54 : 0;

    value = offset ? value * 0x1p54 : value;
    return (int)(tess_double_bits(value) >> 52) - 1023 - offset;
}

#endif
