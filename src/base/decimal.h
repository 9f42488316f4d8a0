/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal text to FP64 and back: correctly rounded, independent of the locale, much faster than strtod and printf. */
#ifndef TESS_BASE_DECIMAL_H
#define TESS_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many readable bytes must follow the text given to tess_decimal_parse. */
#define TESS_DECIMAL_PADDING 8

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
