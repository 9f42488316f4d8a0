/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 8- and 16-bit formats by their definition: a slow decoding from sign, exponent and fraction, a slow encoding by
 * search among all codes in exact arithmetic, and the values where a rounding can go wrong.
 */
#ifndef TESS_TESTS_SUPPORT_FORMATS_H
#define TESS_TESTS_SUPPORT_FORMATS_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/codec.h>

typedef struct small_format {
    tess_precision precision;
    int exponent_bits, fraction_bits;
    bool has_infinity; /* e4m3: the top exponent is ordinary, except that its last pattern is NaN */
    unsigned nan;      /* the code of the quiet NaN */
} small_format;

enum { SMALL_FORMATS = 4 };
extern const small_format small_formats[SMALL_FORMATS];

/* The value of a code, by the definition of the format. */
double format_value(const small_format *f, unsigned code);
unsigned format_codes(const small_format *f);
/* Code of the sign bit. */
unsigned format_sign(const small_format *f);
/* The first code above the largest finite one: Inf, or NaN where there is none. */
unsigned format_special(const small_format *f);
/* The value of a code up to format_special, which counts as if the exponents went on there. */
double format_grid(const small_format *f, unsigned code);

/* The code of `value`: the nearest, the even one of two; found by search. */
unsigned format_encode(const small_format *f, double value, tess_overflow overflow);
/* `value` rounded to FP32 in integer steps of its last place. */
float fp32_encode(double value, tess_overflow overflow);

/*
 * Values at which rounding to f turns: each code, each midpoint, and their neighbours in FP32 and in FP64, all with
 * both signs. Returns how many there are; out may be NULL.
 */
int64_t format_boundaries(const small_format *f, double *out);
/* The same for FP32, around `count` floats spread over all bit patterns, and around overflow. */
int64_t fp32_boundaries(int64_t count, double *out);
/* Zeros, subnormals, the largest, Inf and NaN of FP32 and FP64. Returns how many there are; out may be NULL. */
int64_t special_values(double *out);
/* Doubles of random bits; of every second one the exponent is brought near the range of FP32. */
double random_bits_double(uint64_t *state);

#endif
