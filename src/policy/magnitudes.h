/* SPDX-License-Identifier: Apache-2.0 */
/* Mean and standard deviation of magnitudes: the order of the sums, for host and device alike. */
#ifndef TESS_POLICY_MAGNITUDES_H
#define TESS_POLICY_MAGNITUDES_H

#include <tessera/two_word.h>

#include "policy/assign.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * All sums are in two words and in one order, so that all devices get the same doubles. A tile has MAGNITUDE_TILE
 * entries. Lane j of a tile adds its entries j, j + MAGNITUDE_LANES, ...; then lanes j and j + h are added, for h =
 * LANES / 2 down to 1. The tiles' sums are added in the same manner.
 *
 * The standard deviation comes from the sum of squares of the same pass: cancellation loses digits from 106 bits, not
 * from 53. Squares are added in one of three units, that of the largest magnitude, as in Blue, A portable Fortran
 * program to find the Euclidean norm of a vector, ACM TOMS 4 (1978). None overflows, and squares that underflow are too
 * small to matter. A lane of a tile has one unit; when two units meet, the smaller is converted.
 */
enum { MAGNITUDE_LANES = 256, MAGNITUDE_TILE = 4096, MAGNITUDE_STEPS = MAGNITUDE_TILE / MAGNITUDE_LANES };

typedef struct magnitude_sum {
    tess_two_word sum;
    int64_t count;
    tess_two_word squares; /* times 2^(-1200 unit) */
    int unit;              /* -1, 0 or 1 */
} magnitude_sum;

TESS_HD magnitude_sum magnitude_start(void)
{
    magnitude_sum s = {{0.0, 0.0}, 0, {0.0, 0.0}, -1};

    return s;
}

/* The term of an entry: its magnitude if that is finite, else 0. Adding 0 changes no word. Works on bits, because a
   comparison of integers needs no branch. */
TESS_HD double magnitude_of(double value)
{
    const int64_t infinity = INT64_C(0x7ff) << 52;
    int64_t bits = (int64_t)(tess_double_bits(value) & ~(UINT64_C(1) << 63));

    return tess_double_of_bits((uint64_t)(bits & -(int64_t)(bits < infinity)));
}

/* a * b, computed so that no compiler fuses it with a later sum. */
TESS_HD double magnitude_product(double a, double b)
{
    return fma(a, b, 0.0);
}

/* sum += a^2 */
TESS_HD void magnitude_add_square(tess_two_word *sum, double a)
{
    double square = magnitude_product(a, a);

    tess_two_word_add(sum, square);
    sum->low += fma(a, a, -square);
}

/* The unit for squares of magnitudes up to `largest`, and the factor for magnitudes before they are squared. */
TESS_HD int magnitude_unit(double largest)
{
    return (largest >= 0x1p-300) + (largest >= 0x1p300) - 1;
}

TESS_HD double magnitude_scale(int unit)
{
    return unit < 0 ? 0x1p600 : unit > 0 ? 0x1p-600 : 1.0;
}

TESS_HD void magnitude_raise_unit(magnitude_sum *s)
{
    s->squares.high = magnitude_product(s->squares.high * 0x1p-600, 0x1p-600);
    s->squares.low = magnitude_product(s->squares.low * 0x1p-600, 0x1p-600);
    s->unit += 1;
}

/* Of everything except the squares. */
TESS_HD void magnitude_join(magnitude_sum *s, const magnitude_sum *other)
{
    tess_two_word_add_pair(&s->sum, other->sum);
    s->count += other->count;
}

TESS_HD void magnitude_join_squares(magnitude_sum *s, const magnitude_sum *other)
{
    magnitude_sum o = *other;

    while (s->unit < o.unit) {
        magnitude_raise_unit(s);
    }
    while (o.unit < s->unit) {
        magnitude_raise_unit(&o);
    }
    tess_two_word_add_pair(&s->squares, o.squares);
}

/* A sum that overflows is Inf; a tenth of its largest term does not fit into a lower precision anyway. */
TESS_HD double magnitude_mean(const magnitude_sum *s)
{
    if (s->count == 0) { return 0.0; }
    return s->sum.high < (double)INFINITY ? tess_two_word_value(s->sum) / (double)s->count : (double)INFINITY;
}

/* n std^2 = sum a^2 - (sum a)^2 / n. A difference that rounding alone may have caused counts as 0: equal magnitudes
   have no deviation. */
TESS_HD double magnitude_std(const magnitude_sum *s)
{
    double scale = magnitude_scale(s->unit), n = (double)s->count, quotient, rest, variance;
    tess_two_word sum, square = {0.0, 0.0}, difference;

    if (s->count == 0) { return 0.0; }
    if (!(s->sum.high < (double)INFINITY)) { return (double)INFINITY; }
    sum = tess_two_sum(magnitude_product(s->sum.high, scale), magnitude_product(s->sum.low, scale));
    magnitude_add_square(&square, sum.high);
    square.low = square.low + fma(2.0 * sum.high, sum.low, sum.low * sum.low);
    quotient = square.high / n;
    rest = (fma(-quotient, n, square.high) + square.low) / n;
    difference = tess_two_sum(s->squares.high, -quotient);
    variance = difference.high + (difference.low + (s->squares.low - rest));
    return variance > 0x1p-80 * s->squares.high ? sqrt(variance / n) / scale : 0.0;
}

/* ---- ranges ---- */

/* Whether a policy's range depends on the matrix's magnitudes. */
TESS_HD bool magnitude_is_asked(tess_policy policy)
{
    return policy == TESS_POLICY_MEAN_RANGE || policy == TESS_POLICY_MEAN_3STD;
}

/* Mean, standard deviation and ranges of a task from the sums over all its entries. Zhao et al. 2024, equation (5). */
TESS_HD void magnitude_ranges(const assign_task *task, const magnitude_sum *s, assign_totals *totals)
{
    double range = task->parameter;

    if (magnitude_is_asked(task->policy)) { totals->mean = magnitude_mean(s); }
    if (task->policy == TESS_POLICY_MEAN_3STD) { totals->std = magnitude_std(s); }
    if (task->policy == TESS_POLICY_MEAN_RANGE) { range = task->parameter * totals->mean; }
    if (task->policy == TESS_POLICY_MEAN_3STD) { range = task->parameter * fma(3.0, totals->std, totals->mean); }
    totals->ranges = policy_ranges_of(&task->rules, range);
}

/* ---- what backends supply ---- */

/* Clears totals, and finds mean, std and ranges. */
tess_status magnitudes_host(tess_context *ctx, const assign_task *task, assign_totals *totals);

#ifdef __cplusplus
}
#endif

#endif
