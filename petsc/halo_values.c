/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding and widening in loops without branches, which compilers turn into vector instructions. Maxima are of bit
   patterns: for numbers without a sign these have the same order, and integers may be compared in any order. */
#include "halo_values.h"

#include "clones.h"

#include <tessera/codec.h>

#include <float.h>
#include <math.h>
#include <string.h>

/* Values that a loop takes at once, between two of which there are no function calls. */
enum { RUN = 256 };

#define INFINITE INT64_C(0x7ff0000000000000)

/* The bits of |x|; 0 for NaN. */
static inline int64_t magnitude_bits(double x)
{
    const int64_t bits = (int64_t)tess_double_bits(x) & INT64_MAX;

    return bits > INFINITE ? 0 : bits;
}

static double of_bits(int64_t bits)
{
    return tess_double_of_bits((uint64_t)bits);
}

TP_CLONES static int64_t largest_bits(const double *x, size_t n)
{
    int64_t largest = 0;

    for (size_t k = 0; k < n; k++) {
        const int64_t bits = magnitude_bits(x[k]);
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

/* ---- rounding; each returns the bits of the largest error ---- */

TP_CLONES static int64_t round_to_fp32(const double *restrict x, size_t n, float *restrict to)
{
    int64_t worst = 0;

    for (size_t k = 0; k < n; k++) {
        const float rounded = (float)x[k];
        const int64_t bits = magnitude_bits(x[k] - (double)rounded);
        to[k] = rounded;
        worst = bits > worst ? bits : worst;
    }
    return worst;
}

#define BITS_OF_2_16 ((int64_t)(1023 + 16) << 52)
/* FP16: the exponent of the smallest normal number, as FP64 has it; bits below the leading one; a quiet NaN. */
enum { LEAST_FIELD = 1023 - 14, MANTISSA = 10, NAN_CODE = 0x7e00 };

/*
 * Adding 2^(e + 42) to a number of exponent e rounds it, to nearest even, to a multiple of 2^(e - 10), which FP16 has,
 * and leaves the multiple in the low bits of the sum. e is at least that of the smallest normal number, so that smaller
 * ones become subnormal, and 2^16 stands for what is larger: its code is that of Inf.
 */
TP_CLONES static int64_t round_to_fp16(const double *restrict x, size_t n, double factor, uint16_t *restrict to)
{
    int64_t worst = 0;

    for (size_t k = 0; k < n; k++) {
        const uint64_t value = tess_double_bits(x[k] * factor);
        const int64_t size = (int64_t)(value & INT64_MAX), kept = size < BITS_OF_2_16 ? size : BITS_OF_2_16;
        const int64_t field = (int64_t)((uint64_t)kept >> 52), exponent = field > LEAST_FIELD ? field : LEAST_FIELD;
        const double shift = of_bits((exponent + 52 - MANTISSA) << 52), sum = of_bits(kept) + shift;
        const int64_t multiple = (int64_t)tess_double_bits(sum) & 0xfff;
        const int64_t code = size > INFINITE ? NAN_CODE : ((exponent - LEAST_FIELD) << MANTISSA) + multiple;
        const int64_t error = (int64_t)(tess_double_bits(of_bits(kept) - (sum - shift)) & INT64_MAX);
        to[k] = (uint16_t)((uint64_t)code | (value >> 48 & 0x8000U));
        worst = error > worst ? error : worst;
    }
    return worst;
}

TP_CLONES static void widen_fp32(const float *restrict x, size_t n, double *restrict to)
{
    for (size_t k = 0; k < n; k++) {
        to[k] = (double)x[k];
    }
}

TP_CLONES static void widen_fp16(const uint16_t *restrict x, size_t n, double scale, double *restrict to)
{
    for (size_t k = 0; k < n; k++) {
        to[k] = scale * (double)tess_fp16_to_float(x[k]);
    }
}

/* ---- any precisions ---- */

static void *at(const tp_values *values, size_t first)
{
    return (char *)values->data + first * tess_storage_bytes(values->precision);
}

static size_t run_at(size_t first, size_t n)
{
    return n - first < RUN ? n - first : RUN;
}

/* FP64 values in place, or FP32 ones in `space`. */
static const double *read_run(const tp_values *values, size_t first, size_t count, double *space)
{
    if (values->precision == TESS_PRECISION_FP64) { return at(values, first); }
    widen_fp32(at(values, first), count, space);
    return space;
}

double tp_largest_value(const tp_values *values, size_t n)
{
    double space[RUN];
    int64_t largest = 0;

    for (size_t first = 0; first < n; first += RUN) {
        const size_t count = run_at(first, n);
        const int64_t bits = largest_bits(read_run(values, first, count, space), count);
        largest = bits > largest ? bits : largest;
    }
    return of_bits(largest);
}

double tp_scale_for_fp16(double largest)
{
    int exponent = 0;

    if (largest == 0 || isinf(largest)) { return 1; }
    (void)frexp(largest, &exponent);
    exponent -= 15;
    return ldexp(1, exponent < DBL_MIN_EXP - 1 ? DBL_MIN_EXP - 1 : exponent); /* one over it is finite */
}

static void copy_values(const tp_values *values, size_t n, const tp_values *to)
{
    if (n > 0) { memcpy(to->data, values->data, n * tess_storage_bytes(to->precision)); }
}

double tp_round_values(const tp_values *values, size_t n, double scale, const tp_values *to)
{
    double space[RUN];
    int64_t worst = 0;

    if (values->precision == to->precision) { copy_values(values, n, to); }
    for (size_t first = 0; first < n && values->precision != to->precision; first += RUN) {
        const size_t count = run_at(first, n);
        const double *const x = read_run(values, first, count, space);
        int64_t error = 0;
        if (to->precision == TESS_PRECISION_FP64) {
            memcpy(at(to, first), x, count * sizeof *x);
        } else if (to->precision == TESS_PRECISION_FP32) {
            error = round_to_fp32(x, count, at(to, first));
        } else {
            error = round_to_fp16(x, count, 1 / scale, at(to, first));
        }
        worst = error > worst ? error : worst;
    }
    return scale * of_bits(worst);
}

/* A run in FP64. */
static void widen_run(const tp_values *values, size_t first, size_t count, double scale, double *to)
{
    if (values->precision == TESS_PRECISION_FP16) {
        widen_fp16(at(values, first), count, scale, to);
    } else if (values->precision == TESS_PRECISION_FP32) {
        widen_fp32(at(values, first), count, to);
    } else {
        memcpy(to, at(values, first), count * sizeof *to);
    }
}

void tp_widen_values(const tp_values *values, size_t n, double scale, const tp_values *to)
{
    double space[RUN];

    if (values->precision == to->precision) { copy_values(values, n, to); }
    for (size_t first = 0; first < n && values->precision != to->precision; first += RUN) {
        const size_t count = run_at(first, n);
        if (to->precision == TESS_PRECISION_FP64) {
            widen_run(values, first, count, scale, at(to, first));
        } else {
            widen_run(values, first, count, scale, space);
            (void)round_to_fp32(space, count, at(to, first));
        }
    }
}
