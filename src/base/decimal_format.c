/* SPDX-License-Identifier: Apache-2.0 */
/* FP64 to 17 significant decimal digits; see decimal.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/powers_of_five.h"

enum { DIGITS = 17 };

/* |value| = digits * 10^(exponent - 16) with 10^16 <= digits < 10^17, rounded to nearest. */
typedef struct rounded_decimal {
    uint64_t digits;
    int exponent;
} rounded_decimal;

static const uint64_t ten_to_16 = UINT64_C(10000000000000000);

size_t tess_decimal_format_integer(uint64_t value, char *out)
{
    char reversed[20];
    size_t length = 0;

    do {
        reversed[length++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    for (size_t i = 0; i < length; i++) {
        out[i] = reversed[length - 1 - i];
    }
    return length;
}

/*
 * mantissa * 2^binary, scaled by 10^(16 - exponent) through the 128-bit powers of five. The product is known to within
 * two units of its middle word; false when that does not decide the rounding, or the power is outside the table.
 */
static bool scale_by_power(uint64_t mantissa, int binary, int exponent, uint64_t *digits)
{
    int scale = DIGITS - 1 - exponent, leading = __builtin_clzll(mantissa), drop = 0;
    unsigned __int128 upper = 0, fraction = 0, half = 0, distance = 0;
    const uint64_t *power = NULL;

    if (scale < POWERS_OF_FIVE_FIRST || scale > POWERS_OF_FIVE_LAST) { return false; }
    power = powers_of_five[scale - POWERS_OF_FIVE_FIRST];
    mantissa <<= leading;
    upper = (unsigned __int128)mantissa * power[0] + (((unsigned __int128)mantissa * power[1]) >> 64);
    /* value = upper * 2^-drop; 217706 / 2^16 is log2(10) closely enough for the whole table */
    drop = 63 - (binary - leading + ((217706 * scale) >> 16));
    if (drop < 65 || drop > 127) { return false; }
    *digits = (uint64_t)(upper >> drop);
    fraction = upper & (((unsigned __int128)1 << drop) - 1);
    half = (unsigned __int128)1 << (drop - 1);
    distance = fraction > half ? fraction - half : half - fraction;
    if (distance <= 2) { return false; }
    *digits += fraction > half;
    return true;
}

/* The C library's digits. The decimal point, which depends on the locale, is skipped. */
static rounded_decimal round_with_printf(double magnitude)
{
    char text[64];
    rounded_decimal result = {0, 0};
    const char *p = text;
    int digits = 0;

    snprintf(text, sizeof text, "%.*e", DIGITS - 1, magnitude);
    for (; digits < DIGITS; p++) {
        if (*p >= '0' && *p <= '9') {
            result.digits = 10 * result.digits + (uint64_t)(*p - '0');
            digits++;
        }
    }
    result.exponent = (int)strtol(strchr(p, 'e') + 1, NULL, 10);
    return result;
}

static rounded_decimal round_to_digits(double magnitude)
{
    uint64_t bits = 0, mantissa = 0;
    int binary = 0;
    rounded_decimal result = {0, 0};

    memcpy(&bits, &magnitude, sizeof bits);
    mantissa = bits & ((UINT64_C(1) << 52) - 1);
    binary = (int)(bits >> 52) - 1075;
    if (bits >> 52 == 0) {
        binary = -1074;
    } else {
        mantissa |= UINT64_C(1) << 52;
    }
    /* floor(log10) of the power of two below the number: right, or one too small */
    result.exponent = ((binary + 63 - __builtin_clzll(mantissa)) * 315653) >> 20;
    if (!scale_by_power(mantissa, binary, result.exponent, &result.digits)) { return round_with_printf(magnitude); }
    if (result.digits >= 10 * ten_to_16) {
        result.exponent++;
        if (!scale_by_power(mantissa, binary, result.exponent, &result.digits)) { return round_with_printf(magnitude); }
    }
    return result;
}

/* 17 digits as text; returns how many remain without trailing zeros. */
static int spell_digits(uint64_t digits, char text[DIGITS])
{
    int kept = DIGITS;

    for (int i = DIGITS - 1; i >= 0; i--) {
        text[i] = (char)('0' + digits % 10);
        digits /= 10;
    }
    while (kept > 1 && text[kept - 1] == '0') {
        kept--;
    }
    return kept;
}

static size_t write_scientific(const char *digits, int kept, int exponent, char *out)
{
    size_t length = 0;
    unsigned magnitude = (unsigned)abs(exponent);

    out[length++] = digits[0];
    if (kept > 1) {
        out[length++] = '.';
        memcpy(out + length, digits + 1, (size_t)kept - 1);
        length += (size_t)kept - 1;
    }
    out[length++] = 'e';
    out[length++] = exponent < 0 ? '-' : '+';
    if (magnitude < 10) { out[length++] = '0'; }
    return length + tess_decimal_format_integer(magnitude, out + length);
}

static size_t write_fixed(const char *digits, int kept, int exponent, char *out)
{
    size_t length = 0;

    if (exponent < 0) {
        memcpy(out, "0.000", 5);
        length = (size_t)(1 - exponent);
        memcpy(out + length, digits, (size_t)kept);
        return length + (size_t)kept;
    }
    for (int i = 0; i <= exponent || i < kept; i++) {
        if (i == exponent + 1) { out[length++] = '.'; }
        out[length++] = i < kept ? digits[i] : '0';
    }
    return length;
}

static size_t write_word(const char *word, char *out)
{
    memcpy(out, word, 3);
    return 3;
}

size_t tess_decimal_format(double value, char *out)
{
    double magnitude = fabs(value);
    size_t length = 0;
    char digits[DIGITS];
    rounded_decimal decimal;
    int kept = 0;

    if (signbit(value)) { out[length++] = '-'; }
    if (isnan(value)) { return length + write_word("nan", out + length); }
    if (isinf(value)) { return length + write_word("inf", out + length); }
    if (magnitude < 9007199254740992.0 && magnitude == (double)(uint64_t)magnitude) {
        return length + tess_decimal_format_integer((uint64_t)magnitude, out + length);
    }
    decimal = round_to_digits(magnitude);
    kept = spell_digits(decimal.digits, digits);
    if (decimal.exponent < -4 || decimal.exponent >= DIGITS) {
        return length + write_scientific(digits, kept, decimal.exponent, out + length);
    }
    return length + write_fixed(digits, kept, decimal.exponent, out + length);
}
