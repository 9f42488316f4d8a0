/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and products in two words: s + e is the exact sum or product of two doubles. Source: Ogita, Rump, Oishi,
 * Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005), Algorithms 3.1 (TwoSum), 3.5 (TwoProduct with FMA), 5.3
 * (Dot2).
 */
#ifndef TESS_CORE_TWO_WORD_H
#define TESS_CORE_TWO_WORD_H

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
 * Bound on |computed - exact| for a Dot2 of `length` products whose magnitudes add up to `magnitude`, with the computed
 * value `value` (Corollary 5.7 there: u |value| + gamma_length^2 magnitude, rounded up, and the smallest normal for
 * underflow in the products).
 */
TESS_HD double dot2_bound(double length, double magnitude, double value)
{
    double gamma = length * TESS_U64 / (1.0 - length * TESS_U64);

    return (TESS_U64 * fabs(value) + 2.0 * gamma * gamma * magnitude) * (1.0 + 8.0 * TESS_U64) + length * 0x1p-1022;
}

#endif
