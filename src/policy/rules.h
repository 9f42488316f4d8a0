/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the policies, for host and device: from the statistics of an item to its level and scale. */
#ifndef TESS_POLICY_RULES_H
#define TESS_POLICY_RULES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <tessera/codec.h>
#include <tessera/policy.h>

#include "base/bits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers that a precision can store. */
typedef struct policy_limits {
    double largest;  /* largest finite magnitude; for policy lossless the largest one that is rounded to it */
    double smallest; /* smallest normal number; for policy lossless smallest number; 0 for fp64, where everything fits
                      */
    /* A scaled row's largest magnitude is in [2^scaled_top, 2^(scaled_top + 1)): no rounding overflows, and small
       values have the most space. For bf16 and fp32 half the range stays free for products in FP32. */
    int scaled_top;
} policy_limits;

/* A policy in numbers, without the matrix's range. Level 0 takes the items that no other level may have. */
typedef struct policy_rules {
    int nlevels;                                             /* 1 for policy none */
    bool entries, every_value, at_most_one, allow_underflow; /* every_value: all values of an item must be inside */
    bool lossless;
    bool bounded; /* policy error-bound: not the statistics but errors decide; policy/error_bound.h */
    bool scaled[TESS_MAX_LEVELS];
    double share;
    double ratio[TESS_MAX_LEVELS]; /* of a level's range to that of level 1; level 0's is not used; see policy_ranges */
    policy_limits limits[TESS_MAX_LEVELS];
    tess_precision precision[TESS_MAX_LEVELS];
} policy_rules;

/* From options as resolved. */
policy_rules tess_policy_rules(const tess_policy_options *resolved);

#ifdef __cplusplus
}
#endif

/* The range of each level: magnitudes below range[l]; for policy lossless significands as integers, so that range[l] is
   2^(significand bits). */
typedef struct policy_ranges {
    double range[TESS_MAX_LEVELS];
    double loss; /* policy lossless: the relative error that a value may have */
} policy_ranges;

/* range: r, or the loss. */
TESS_HD policy_ranges policy_ranges_of(const policy_rules *rules, double range)
{
    policy_ranges r;

    for (int l = 0; l < TESS_MAX_LEVELS; l++) {
        r.range[l] = l >= rules->nlevels ? 0.0
                     : l == 0            ? (double)INFINITY
                     : rules->lossless   ? rules->ratio[l]
                                         : range * rules->ratio[l];
    }
    r.loss = rules->lossless ? range : 0.0;
    return r;
}

/* Whether a level that is assigned has scales. */
TESS_HD bool policy_has_scales(const policy_rules *rules)
{
    bool scaled = false;

    for (int l = 0; l < rules->nlevels; l++) {
        scaled = scaled || rules->scaled[l];
    }
    return scaled;
}

/* The part of a magnitude that policy lossless needs: odd * unit, the number with the fewest significant bits that is
   near enough. */
typedef struct policy_digits {
    double odd, unit; /* an odd integer of up to 53 bits; a power of two */
} policy_digits;

/*
 * For a finite magnitude above 0: the number with the fewest bits in magnitude * [1 - loss, 1 + loss], for a loss below
 * 1. With m the significand as an integer of 53 bits and B = floor(loss m) it is the multiple of the largest power of
 * two in [m - B, m + B]. There is only one, and that power is the highest bit in which m - B - 1 and m + B differ.
 */
TESS_HD policy_digits policy_digits_of(double magnitude, double loss)
{
    const uint64_t fraction = (UINT64_C(1) << 52) - 1;
    const int leading = tess_leading_exponent(magnitude);
    const uint64_t bits = tess_double_bits(magnitude < 0x1p-1022 ? magnitude * 0x1p54 : magnitude);
    const uint64_t m = (bits & fraction) | (fraction + 1);
    uint64_t slack = (uint64_t)(loss * (double)m), differ;
    policy_digits d;
    int place, exponent;

    if (slack > 0 && fma(loss, (double)m, -(double)slack) < 0.0) { slack -= 1; } /* the product was rounded up */
    differ = (m - slack - 1) ^ (m + slack);
    place = tess_leading_exponent((double)(differ & ~(differ >> 1))); /* no rounding changes the leading bit */
    exponent = leading - 52 + place;
    d.odd = (double)((m + slack) >> place);
    d.unit = exponent < -1022 ? tess_power_of_two(exponent + 54) * 0x1p-54 : tess_power_of_two(exponent); /* or Inf */
    return d;
}

/* The statistics of an item that a policy needs. */
typedef struct item_statistics {
    int32_t count;                    /* entries */
    int32_t outside[TESS_MAX_LEVELS]; /* values outside the range of each level but the first; NaN and Inf always count
                                       */
    int32_t not_finite;
    double smallest, largest; /* extremes of magnitudes that are finite and not zero; Inf and 0 if there are none; for
                                 policy lossless the smallest unit instead of the smallest magnitude */
} item_statistics;

TESS_HD item_statistics item_start(void)
{
    item_statistics s = {0, {0}, 0, (double)INFINITY, 0.0};

    return s;
}

/* Adds a value: `measure` is the number that ranges are compared with. */
TESS_HD void item_add_measured(item_statistics *s, const policy_ranges *r, bool finite, double measure, double smallest,
                               double largest)
{
    s->count += 1;
    s->not_finite += !finite;
    for (int l = 1; l < TESS_MAX_LEVELS; l++) {
        s->outside[l] += !(finite && measure < r->range[l]);
    }
    s->largest = largest > s->largest ? largest : s->largest;
    s->smallest = smallest < s->smallest ? smallest : s->smallest;
}

/* lossless: the policy's; a constant where the compiler should drop the other case. */
TESS_HD void item_add(item_statistics *s, const policy_ranges *r, bool lossless, double value)
{
    double magnitude = fabs(value);
    bool finite = magnitude < (double)INFINITY, counts = finite && magnitude > 0.0;

    if (lossless) {
        policy_digits d = policy_digits_of(counts ? magnitude : 1.0, r->loss);

        double odd = d.unit < (double)INFINITY ? d.odd : (double)INFINITY; /* not beyond FP64 by rounding */

        item_add_measured(s, r, finite, counts ? odd : 0.0, counts ? d.unit : (double)INFINITY,
                          counts ? magnitude : 0.0);
    } else {
        item_add_measured(s, r, finite, magnitude, counts ? magnitude : (double)INFINITY, finite ? magnitude : 0.0);
    }
}

/* Whether magnitudes over 2^exponent are within a precision's normal numbers; for policy lossless, whether units are
   within its numbers. */
TESS_HD bool policy_has_range(const policy_limits *limits, const item_statistics *s, int exponent)
{
    double scale = tess_power_of_two(-exponent);

    return s->largest * scale <= limits->largest && s->smallest * scale >= limits->smallest;
}

/* The exponent of the scale of an item at level l: 0 if its values fit unscaled. 2^exponent and its inverse are normal
   numbers in FP64. */
TESS_HD int policy_exponent(const policy_rules *rules, int l, const item_statistics *s)
{
    int exponent;

    if (!rules->scaled[l] || s->not_finite > 0 || s->largest == 0.0) { return 0; }
    if (policy_has_range(&rules->limits[l], s, 0)) { return 0; }
    exponent = tess_leading_exponent(s->largest) - rules->limits[l].scaled_top;
    return exponent < -1022 ? -1022 : exponent > 1022 ? 1022 : exponent;
}

/* Whether an item's values over 2^exponent fit level l. Without a scale, each value must fit by itself. */
TESS_HD bool policy_fits_at(const policy_rules *rules, int l, const item_statistics *s, int exponent)
{
    const policy_limits *limits = &rules->limits[l];

    if (s->not_finite > 0) { return false; }
    return policy_has_range(limits, s, exponent) ||
           (rules->allow_underflow && s->largest * tess_power_of_two(-exponent) <= limits->largest);
}

TESS_HD bool policy_fits(const policy_rules *rules, int l, const item_statistics *s)
{
    return policy_fits_at(rules, l, s, policy_exponent(rules, l, s));
}

/* Magnitudes that level l takes without a scale, by any policy but lossless, if every value must be inside. As bits,
   which are ordered as the magnitudes are: those below `end`, and of these 0 and those from `begin` on. */
typedef struct policy_span {
    uint64_t begin, end;
} policy_span;

TESS_HD policy_span policy_span_of(const policy_rules *rules, const policy_ranges *r, int l)
{
    const policy_limits *limits = &rules->limits[l];
    policy_span span = {1, 0};

    if (!(r->range[l] > 0.0)) { return span; }
    if (!rules->allow_underflow && limits->smallest > 0.0) { span.begin = tess_double_bits(limits->smallest); }
    span.end = r->range[l] <= limits->largest ? tess_double_bits(r->range[l]) : tess_double_bits(limits->largest) + 1;
    return span;
}

TESS_HD bool policy_span_takes(const policy_span *span, double value)
{
    const uint64_t bits = tess_double_bits(value) & ~(UINT64_C(1) << 63);

    return bits < span->end && bits - 1 >= span->begin - 1;
}

/*
 * Whether enough of an item is inside. With a whole number of percent both products are integers below 2^53, so the
 * comparison is exact. Another share is a double, and share * count is rounded once.
 */
TESS_HD bool policy_is_inside(const policy_rules *rules, int l, const item_statistics *s)
{
    int32_t outside = s->outside[l];
    double percent = 100.0 * (double)(s->count - outside), count = (double)s->count;

    if (rules->every_value) { return outside == 0; }
    if (rules->at_most_one) { return s->count <= 100 ? outside <= 1 : percent >= 99.0 * count; }
    return percent >= rules->share * count;
}

/* The lowest level that takes the item. Levels are below `bound`: if compilers know it, they compute no more than that.
 */
TESS_HD int policy_level(const policy_rules *rules, int bound, const item_statistics *s)
{
    for (int l = bound - 1; l > 0; l--) {
        if (l < rules->nlevels && policy_is_inside(rules, l, s) && policy_fits(rules, l, s)) { return l; }
    }
    return 0;
}

/* |a - stored(a)| / |a| at a level; 0 for values that are zero or not finite, Inf for values that overflow. */
TESS_HD double policy_relative_error(tess_precision precision, int exponent, double value)
{
    double code = 0.0, stored, error;

    if (value == 0.0 || value - value != 0.0) { return 0.0; }
    tess_store(precision, &code, 0, value * tess_power_of_two(-exponent), TESS_OVERFLOW_INFINITY);
    stored = tess_load(precision, &code, 0) * tess_power_of_two(exponent);
    error = fabs(value - stored) / fabs(value);
    return error <= 1.0 ? error : (double)INFINITY;
}

#endif
