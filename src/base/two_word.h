/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and products in two words: s + e is the exact sum or product of two doubles. Source: Ogita, Rump, Oishi,
 * Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005), Algorithms 3.1 (TwoSum), 3.5 (TwoProduct with FMA), 5.3
 * (Dot2).
 */
#ifndef TESS_BASE_TWO_WORD_H
#define TESS_BASE_TWO_WORD_H

#include <math.h>

#include <tessera/export.h>

typedef struct two_word {
    double high, low;
} two_word;

TESS_HD two_word two_sum(double a, double b)
{
    two_word r;
    double t;

    r.high = a + b;
    t = r.high - a;
    r.low = (a - (r.high - t)) + (b - t);
    return r;
}

TESS_HD two_word two_product(double a, double b)
{
    two_word r;

    r.high = a * b;
    r.low = fma(a, b, -r.high);
    return r;
}

/* sum += x */
TESS_HD void two_word_add(two_word *sum, double x)
{
    two_word s = two_sum(sum->high, x);

    sum->high = s.high;
    sum->low += s.low;
}

/* sum += a * b */
TESS_HD void two_word_add_product(two_word *sum, double a, double b)
{
    two_word p = two_product(a, b);

    two_word_add(sum, p.high);
    sum->low += p.low;
}

/* sum += other */
TESS_HD void two_word_add_pair(two_word *sum, two_word other)
{
    two_word_add(sum, other.high);
    sum->low += other.low;
}

TESS_HD double two_word_value(two_word sum)
{
    return sum.high + sum.low;
}

/* Unit roundoff of FP64. */
#define TESS_U64 0x1p-53

/*
 * What a product may add to the exact sum beyond its two words, as an error word: the second word of a product below
 * LEAST_EXACT_PRODUCT may underflow, by 2^-1075 at most. Its share of two_word_bound is above that.
 */
#define LEAST_EXACT_PRODUCT 0x1p-960
#define UNDERFLOW_WORD 0x1p-1018

TESS_HD double two_word_underflow(double a, double b, double product)
{
    return fabs(product) < LEAST_EXACT_PRODUCT && a != 0.0 && b != 0.0 ? UNDERFLOW_WORD : 0.0;
}

/*
 * Bound on |value - exact| for a sum in two words. `errors` is the computed sum of the magnitudes of all words that
 * were added to `low`, by a chain of at most `additions` additions each. high and those words add up to the exact sum,
 * so only the sum of the words (gamma_additions errors; twice, since `errors` is rounded too) and the last addition (u
 * |value|) are inexact. It is 0 where every word was 0: the sum is exact then.
 */
TESS_HD double two_word_bound(double value, double errors, double additions)
{
    double gamma = additions * TESS_U64 / (1.0 - additions * TESS_U64);

    return (TESS_U64 * fabs(value) + 2.0 * gamma * errors) * (1.0 + 8.0 * TESS_U64);
}

#endif
