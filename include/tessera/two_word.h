/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file two_word.h  Sums and products in two words, and their bound: for C17, C++11, CUDA and HIP.
 *
 *     tess_two_word sum = {0.0, 0.0};
 *     tess_two_word_add_product(&sum, a, b);           tess_two_word_value(sum)
 *
 * high + low is the exact sum or product of two doubles. All functions are inline; programs need not link the library.
 * They must not be compiled with -ffast-math. Source: Ogita, Rump, Oishi, Accurate sum and dot product, SIAM J. Sci.
 * Comput. 26 (2005), Algorithms 3.1 (TwoSum), 3.5 (TwoProduct with FMA), 5.3 (Dot2). tests/unit/test_two_word.c
 */
#ifndef TESSERA_TWO_WORD_H
#define TESSERA_TWO_WORD_H

#include <float.h>
#include <math.h>

#include <tessera/export.h>

typedef struct tess_two_word {
    double high, low;
} tess_two_word;

TESS_HD tess_two_word tess_two_sum(double a, double b)
{
    tess_two_word r;
    double t;

    r.high = a + b;
    t = r.high - a;
    r.low = (a - (r.high - t)) + (b - t);
    return r;
}

TESS_HD tess_two_word tess_two_product(double a, double b)
{
    tess_two_word r;

    r.high = TESS_ROUNDED_PRODUCT(a, b);
    r.low = fma(a, b, -r.high);
    return r;
}

/* sum += x */
TESS_HD void tess_two_word_add(tess_two_word *sum, double x)
{
    tess_two_word s = tess_two_sum(sum->high, x);

    sum->high = s.high;
    sum->low += s.low;
}

/* sum += a * b */
TESS_HD void tess_two_word_add_product(tess_two_word *sum, double a, double b)
{
    tess_two_word p = tess_two_product(a, b);

    tess_two_word_add(sum, p.high);
    sum->low += p.low;
}

/* sum += other */
TESS_HD void tess_two_word_add_pair(tess_two_word *sum, tess_two_word other)
{
    tess_two_word_add(sum, other.high);
    sum->low += other.low;
}

TESS_HD double tess_two_word_value(tess_two_word sum)
{
    return sum.high + sum.low;
}

/* Unit roundoff of FP64, 2^-53; and the least number, 2^-1074. */
#define TESS_U64 (DBL_EPSILON / 2.0)
#define TESS_LEAST64 (DBL_MIN * DBL_EPSILON)

/*
 * What a product may add to the exact sum beyond its two words, as an error word: the second word of a product below
 * 2^-960 may underflow, by 2^-1075 at most. The share of 2^-1018 in tess_two_word_bound is above that.
 */
#define TESS_LEAST_EXACT_PRODUCT 1.0261342003245941e-289
#define TESS_UNDERFLOW_WORD (16.0 * DBL_MIN)

TESS_HD double tess_two_word_underflow(double a, double b, double product)
{
    return fabs(product) < TESS_LEAST_EXACT_PRODUCT && a != 0.0 && b != 0.0 ? TESS_UNDERFLOW_WORD : 0.0;
}

/*
 * Bound on |value - exact| for a sum in two words. `errors` is the computed sum of the magnitudes of all words that
 * were added to `low`, by a chain of at most `additions` additions each. high and those words add up to the exact sum,
 * so only the sum of the words (gamma_additions errors; twice, since `errors` is rounded too) and the last addition (u
 * |value|) are inexact. It is 0 where every word was 0: the sum is exact then.
 */
TESS_HD double tess_two_word_bound(double value, double errors, double additions)
{
    double gamma = additions * TESS_U64 / (1.0 - additions * TESS_U64);

    return (TESS_U64 * fabs(value) + 2.0 * gamma * errors) * (1.0 + 8.0 * TESS_U64);
}

#endif
