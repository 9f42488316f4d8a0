/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "support/formats.h"
#include "support/oracle.h"

const small_format small_formats[SMALL_FORMATS] = {{TESS_PRECISION_E4M3, 4, 3, false, 0x7f},
                                                   {TESS_PRECISION_E5M2, 5, 2, true, 0x7e},
                                                   {TESS_PRECISION_FP16, 5, 10, true, 0x7e00},
                                                   {TESS_PRECISION_BF16, 8, 7, true, 0x7fc0}};

#define COUNT_SMALL(NAME, value, name, type, ...) +(sizeof(type) < 4)
_Static_assert(SMALL_FORMATS == TESS_PRECISION_LIST(COUNT_SMALL), "each precision of 8 or 16 bits has a line above");
#undef COUNT_SMALL

static int bias_of(const small_format *f)
{
    return (1 << (f->exponent_bits - 1)) - 1;
}

/* Without the sign, and without regard to Inf and NaN. */
double format_grid(const small_format *f, unsigned code)
{
    unsigned fraction = code & ((1U << f->fraction_bits) - 1), exponent = code >> f->fraction_bits;

    return exponent == 0 ? ldexp(fraction, 1 - bias_of(f) - f->fraction_bits)
                         : ldexp(fraction + (1U << f->fraction_bits), (int)exponent - bias_of(f) - f->fraction_bits);
}

unsigned format_codes(const small_format *f)
{
    return 1U << (1 + f->exponent_bits + f->fraction_bits);
}

unsigned format_sign(const small_format *f)
{
    return format_codes(f) / 2;
}

unsigned format_special(const small_format *f)
{
    return f->has_infinity ? ((1U << f->exponent_bits) - 1) << f->fraction_bits : format_sign(f) - 1;
}

double format_value(const small_format *f, unsigned code)
{
    unsigned magnitude = code & (format_sign(f) - 1), special = format_special(f);
    double value = magnitude < special ? format_grid(f, magnitude) : (double)NAN;

    if (f->has_infinity && magnitude == special) { value = HUGE_VAL; }
    return code & format_sign(f) ? -value : value;
}

unsigned format_encode(const small_format *f, double value, tess_overflow overflow)
{
    unsigned sign = signbit(value) ? format_sign(f) : 0, special = format_special(f);
    unsigned low = 0, high = special; /* grid(low) <= |value| < grid(high) */
    double magnitude = fabs(value);
    wide twice, sum;

    if (isnan(value)) { return sign | f->nan; }
    if (isinf(value)) { return sign | special; }
    if (magnitude >= format_grid(f, special)) {
        return sign | (overflow == TESS_OVERFLOW_SATURATE ? special - 1 : special);
    }
    while (high - low > 1) {
        unsigned middle = low + (high - low) / 2;

        if (format_grid(f, middle) <= magnitude) {
            low = middle;
        } else {
            high = middle;
        }
    }
    twice = (wide)magnitude * 2;
    sum = (wide)format_grid(f, low) + (wide)format_grid(f, high);
    if (twice > sum || (twice == sum && low % 2 == 1)) { low = high; }
    if (low == special && overflow == TESS_OVERFLOW_SATURATE) { low = special - 1; }
    return sign | low;
}

float fp32_encode(double value, tess_overflow overflow)
{
    double magnitude = fabs(value), steps, rest, result;
    int exponent = 0;

    if (isnan(value) || isinf(value) || value == 0.0) { return (float)value; }
    if (magnitude < 0x1p-151) { return value < 0.0 ? -0.0F : 0.0F; } /* below, ldexp would have to go too far */
    frexp(magnitude, &exponent);
    exponent = (exponent - 1 < -126 ? -126 : exponent - 1) - 23; /* of the last place */
    steps = floor(ldexp(magnitude, -exponent));
    rest = ldexp(magnitude, -exponent) - steps;
    if (rest > 0.5 || (rest == 0.5 && fmod(steps, 2.0) == 1.0)) { steps += 1.0; }
    result = ldexp(steps, exponent);
    if (result >= 0x1p128) { result = overflow == TESS_OVERFLOW_SATURATE ? (double)FLT_MAX : HUGE_VAL; }
    return (float)(value < 0.0 ? -result : result);
}

static int64_t add(double *out, int64_t at, double value)
{
    if (out) {
        out[at] = value;
        out[at + 1] = -value;
    }
    return at + 2;
}

/* `value`, its neighbours in FP64, those in FP32, and the neighbours of these in FP64. */
static int64_t add_around(double *out, int64_t at, double value)
{
    float below = nextafterf((float)value, -HUGE_VALF), above = nextafterf((float)value, HUGE_VALF);
    const double centres[3] = {value, (double)below, (double)above};

    for (int k = 0; k < 3; k++) {
        at = add(out, at, centres[k]);
        at = add(out, at, nextafter(centres[k], -HUGE_VAL));
        at = add(out, at, nextafter(centres[k], HUGE_VAL));
    }
    return at;
}

int64_t format_boundaries(const small_format *f, double *out)
{
    int64_t count = 0;

    for (unsigned code = 0; code < format_special(f); code++) {
        double value = format_grid(f, code), next = format_grid(f, code + 1);

        count = add_around(out, count, value);
        count = add_around(out, count, (value + next) / 2.0);
    }
    return add_around(out, count, format_grid(f, format_special(f)));
}

int64_t fp32_boundaries(int64_t count, double *out)
{
    int64_t at = 0;

    for (int64_t k = 0; k < count; k++) {
        uint32_t bits = (uint32_t)(k * (INT64_C(0x7f7fffff) / (count - 1)));
        double value = (double)tess_float_of_bits(bits), next = (double)tess_float_of_bits(bits + 1);

        if (bits + 1 == 0x7f800000U) { next = 0x1p128; }
        at = add_around(out, at, value);
        at = add_around(out, at, (value + next) / 2.0);
    }
    at = add_around(out, at, (double)FLT_MAX + 0x1p103); /* halfway to 2^128 */
    return add_around(out, at, (double)FLT_MAX);
}

int64_t special_values(double *out)
{
    static const double values[] = {0.0,
                                    0x1p-1074,
                                    0x1.8p-1073,
                                    0x0.fffffffffffffp-1022,
                                    0x1p-1022,
                                    0x1p-300,
                                    0x1p-151,
                                    0x1p-150,
                                    0x1.8p-150,
                                    0x1p-149,
                                    0x1.8p-149,
                                    0x0.fffffep-126,
                                    0x1p-126,
                                    1.0,
                                    1.0 / 3.0,
                                    0x1.fffffep127,
                                    0x1.ffffffp127,
                                    0x1p128,
                                    0x1p300,
                                    0x1.fffffffffffffp1023};
    static const uint64_t patterns[] = {0x7ff0000000000000, 0x7ff8000000000000, 0x7fffffffffffffff, 0x7ff8000000000001,
                                        0x7ffc123456789abc};
    int64_t at = 0;

    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        at = add_around(out, at, values[k]);
    }
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        at = add(out, at, tess_double_of_bits(patterns[k]));
    }
    return at;
}

double random_bits_double(uint64_t *state)
{
    uint64_t bits = oracle_random_bits(state), kind = oracle_random_bits(state);
    uint64_t exponent = bits >> 52 & 0x7ff;

    if (kind & 1) { exponent = 1023 - 160 + exponent % 300; }
    bits = (bits & ~(UINT64_C(0x7ff) << 52)) | exponent << 52;
    if (kind & 2) { bits &= ~((UINT64_C(1) << (kind >> 8) % 52) - 1); } /* near and at halfway cases */
    if ((kind & 12) == 12) { bits += kind & 16 ? 1 : (uint64_t)-1; }
    return tess_double_of_bits(bits);
}
