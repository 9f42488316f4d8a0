/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal text to FP64; see decimal.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/decimal.h"
#include "base/powers_of_five.h"

enum {
    DIGITS_IN_WORD = 19,     /* a uint64_t holds any number of 19 digits */
    DIGITS_THAT_MATTER = 780 /* 767 digits decide how any decimal number rounds; of later digits only matters whether
                                all are zero */
};

/* A decimal number as written: digits, a point somewhere, times 10^exponent. */
typedef struct decimal_text {
    const char *digits, *end; /* digits and at most one point */
    int64_t exponent;         /* of the last digit */
} decimal_text;

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static double from_bits(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Clinger: digits and power of ten are both exact in FP64, so one operation rounds once. */
static inline bool multiply_exactly(uint64_t digits, int64_t exponent, double *value)
{
    static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                           1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

    if (digits > (UINT64_C(1) << 53) || exponent < -22 || exponent > 22) { return false; }
    *value = exponent < 0 ? (double)digits / powers_of_ten[-exponent] : (double)digits * powers_of_ten[exponent];
    return true;
}

/* The upper 128 bits of digits * 5^exponent. The second product is needed only if the first leaves a doubt. */
static inline void multiply_by_power(uint64_t digits, int64_t exponent, uint64_t *high, uint64_t *low)
{
    const uint64_t *power = powers_of_five[exponent - POWERS_OF_FIVE_FIRST];
    unsigned __int128 product = (unsigned __int128)digits * power[0];

    *high = (uint64_t)(product >> 64);
    *low = (uint64_t)product;
    if ((*high & 0x1ff) == 0x1ff) {
        uint64_t carry = (uint64_t)(((unsigned __int128)digits * power[1]) >> 64);

        *low += carry;
        *high += carry > *low;
    }
}

/* Below the normal range: shift to the fixed exponent, then round. */
static double round_subnormal(uint64_t mantissa, int64_t biased)
{
    if (1 - biased >= 64) { return 0.0; }
    mantissa >>= 1 - biased;
    mantissa += mantissa & 1;
    mantissa >>= 1;
    return from_bits(mantissa); /* a carry into bit 52 makes the smallest normal number */
}

/* Lemire's algorithm for digits * 10^exponent; false when 128 bits do not decide the rounding. */
static inline bool round_product(uint64_t digits, int64_t exponent, double *value)
{
    uint64_t high = 0, low = 0, mantissa = 0, upper = 0;
    int64_t biased = 0;
    int leading = 0, shift = 0;

    if (digits == 0 || exponent < POWERS_OF_FIVE_FIRST || exponent > POWERS_OF_FIVE_LAST) {
        *value = digits == 0 || exponent < 0 ? 0.0 : HUGE_VAL;
        return true;
    }
    leading = __builtin_clzll(digits);
    multiply_by_power(digits << leading, exponent, &high, &low);
    if (low == UINT64_MAX && (exponent < -27 || exponent > 55)) { return false; }
    upper = high >> 63;
    shift = (int)upper + 64 - 52 - 3;
    mantissa = high >> shift;
    biased = ((217706 * exponent) >> 16) + 63 + (int64_t)upper - leading + 1023;
    if (biased <= 0) {
        *value = round_subnormal(mantissa, biased);
        return true;
    }
    /* Exactly between two numbers: to even. */
    if (low <= 1 && exponent >= -4 && exponent <= 23 && (mantissa & 3) == 1 && mantissa << shift == high) {
        mantissa &= ~UINT64_C(1);
    }
    mantissa += mantissa & 1;
    mantissa >>= 1;
    if (mantissa >= UINT64_C(1) << 53) {
        mantissa = UINT64_C(1) << 52;
        biased++;
    }
    *value = biased >= 0x7ff ? HUGE_VAL : from_bits((mantissa & ((UINT64_C(1) << 52) - 1)) | ((uint64_t)biased << 52));
    return true;
}

/* Rare cases stay out of the way of the common one. */
#define RARE __attribute__((noinline))

/* strtod on the digits without a point, so that no locale matters. */
RARE static double round_with_strtod(const decimal_text *number)
{
    char buffer[DIGITS_THAT_MATTER + 32];
    size_t length = 0;
    int64_t exponent = number->exponent, dropped = 0;
    bool sticky = false;

    for (const char *p = number->digits; p < number->end; p++) {
        if (*p == '.' || (length == 0 && *p == '0')) { continue; }
        if (length < DIGITS_THAT_MATTER) {
            buffer[length++] = *p;
        } else {
            sticky = sticky || *p != '0';
            dropped++;
        }
    }
    exponent += dropped;
    if (sticky) {
        buffer[length++] = '1';
        exponent--;
    }
    snprintf(buffer + length, sizeof buffer - length, "e%lld", (long long)exponent);
    return strtod(buffer, NULL);
}

/* More digits than a word holds: the first 19 and their successor enclose the number. */
RARE static double round_long_number(const decimal_text *number)
{
    uint64_t digits = 0;
    int64_t exponent = number->exponent;
    int taken = 0;
    double below = 0.0, above = 0.0;

    for (const char *p = number->digits; p < number->end; p++) {
        if (*p == '.' || (taken == 0 && *p == '0')) { continue; }
        if (taken < DIGITS_IN_WORD) {
            digits = 10 * digits + (uint64_t)(*p - '0');
            taken++;
        } else {
            exponent++;
        }
    }
    if (exponent == number->exponent) {
        return round_product(digits, exponent, &below) ? below : round_with_strtod(number);
    }
    if (round_product(digits, exponent, &below) && round_product(digits + 1, exponent, &above) && below == above) {
        return below;
    }
    return round_with_strtod(number);
}

RARE static const char *parse_special(const char *p, bool negative, double *value)
{
    static const struct {
        const char *name;
        size_t length;
        bool infinite;
    } words[] = {{"infinity", 8, true}, {"inf", 3, true}, {"nan", 3, false}};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strncasecmp(p, words[i].name, words[i].length) == 0) {
            *value = words[i].infinite ? HUGE_VAL : (double)NAN;
            *value = negative ? -*value : *value;
            return p + words[i].length;
        }
    }
    return NULL;
}

/* An exponent after its letter; without digits the number ends before the letter. */
static const char *parse_exponent(const char *letter, int64_t *exponent)
{
    const char *p = letter + 1;
    bool negative = *p == '-';
    int64_t value = 0;

    if (*p == '-' || *p == '+') { p++; }
    if (!is_digit(*p)) { return letter; }
    for (; is_digit(*p); p++) {
        /* saturates far outside FP64's range, however many digits come before */
        if (value < INT64_C(1) << 50) { value = 10 * value + (*p - '0'); }
    }
    *exponent += negative ? -value : value;
    return p;
}

/* Eight digits at once. */
static inline const char *parse_digits(const char *p, uint64_t *digits)
{
    static const uint64_t powers_of_ten[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    int count = 8;

    while (count == 8) {
        uint64_t value = 0;

        count = tess_decimal_eight(p, &value);
        *digits = *digits * powers_of_ten[count] + value;
        p += count;
    }
    return p;
}

const char *tess_decimal_parse(const char *text, double *value)
{
    bool negative = *text == '-';
    decimal_text number = {text + (*text == '-' || *text == '+'), NULL, 0};
    const char *p = number.digits;
    uint64_t digits = 0; /* wraps round beyond 19 digits; then it is not used */
    int64_t count = 0;

    for (; is_digit(*p); p++) {
        digits = 10 * digits + (uint64_t)(*p - '0');
    }
    count = p - number.digits;
    if (*p == '.') {
        const char *fraction = ++p;

        p = parse_digits(p, &digits);
        number.exponent = fraction - p;
        count += p - fraction;
    }
    if (count == 0) { return parse_special(number.digits, negative, value); }
    number.end = p;
    if ((*p | 0x20) == 'e' || (*p | 0x20) == 'd') { p = parse_exponent(p, &number.exponent); }
    if (count > DIGITS_IN_WORD) {
        *value = round_long_number(&number);
    } else if (!multiply_exactly(digits, number.exponent, value) && !round_product(digits, number.exponent, value)) {
        *value = round_with_strtod(&number);
    }
    *value = copysign(*value, negative ? -1.0 : 1.0); /* without a branch: signs come in any order */
    return p;
}
