/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal text to FP64 and back: correctly rounded, independent of the locale, much faster than strtod and printf. */
#ifndef TESS_BASE_DECIMAL_H
#define TESS_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* So many readable bytes must follow the text given to tess_decimal_parse. */
#define TESS_DECIMAL_PADDING 8

/* The digits that `text` begins with, at most 8, as a number; returns how many. The same bytes must be readable. */
static inline int tess_decimal_eight(const char *text, uint64_t *value)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t word;

    memcpy(&word, text, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    word ^= each * '0'; /* digits are now 0 to 9; to all else 0x76 carries into the highest bit, or it is there */
    const uint64_t others = (word | (word + each * 0x76)) & (each * 0x80);
    const int count = others ? __builtin_ctzll(others) / 8 : 8;
    if (count == 0) { return 0; }
    word <<= 64 - 8 * count;        /* zeros come before the digits */
    word = word * 10 + (word >> 8); /* pairs, then fours, then eight */
    *value = (((word & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064)) +
              (((word >> 16) & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001))) >>
             32;
    return count;
}

/* The longest text that tess_decimal_format writes. */
#define TESS_DECIMAL_LENGTH 32

/*
 * Reads a number at the start of `text`: sign, digits with a point anywhere, an exponent marked by e, E, d or D; or
 * inf, infinity, nan in any case. Rounds to nearest even; too large a number becomes Inf, too small a one 0, as in
 * strtod. Returns the first character after it, or NULL when there is no number. The text must end in a character that
 * is not part of a number, followed by TESS_DECIMAL_PADDING readable bytes.
 * Source: W. Clinger, PLDI 1990, for short numbers; D. Lemire, "Number parsing at a gigabyte per second", SPE 2021.
 */
const char *tess_decimal_parse(const char *text, double *value);

/* Writes what printf("%.17g") gives in the C locale, without a terminating zero; returns the length. */
size_t tess_decimal_format(double value, char *out);

/* Writes a nonnegative integer in decimal; returns the length. */
size_t tess_decimal_format_integer(uint64_t value, char *out);

#endif
