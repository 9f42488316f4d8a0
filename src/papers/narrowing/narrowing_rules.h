/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partial convergence (Yang et al. 2024, section III-D): how far the tiles of a block column are narrowed, by the
 * largest magnitude in the segment of the vector that they multiply. For host and device, and for every engine.
 */
#ifndef TESS_PAPERS_NARROWING_NARROWING_RULES_H
#define TESS_PAPERS_NARROWING_NARROWING_RULES_H

#include <math.h>

#include <tessera/papers.h>

#include "policy/rules.h"
#include <tessera/codec.h>
#include <tessera/export.h>

enum { NARROWING_SEGMENT = 16 /* elements of a segment: columns of a tile */ };

/* How far, from nothing to all of it. */
enum {
    NARROWING_NONE = 0,
    NARROWING_FP32 = 1,
    NARROWING_FP16 = 2,
    NARROWING_FP8 = 3,
    NARROWING_BYPASS = 4,
    NARROWING_LEVELS = 4 /* beside none */
};

/* Magnitudes below below[level - 1] allow the level: not ascending. 0 allows nothing. */
typedef struct narrowing_bounds {
    double below[NARROWING_LEVELS];
} narrowing_bounds;

/*
 * The bounds of a mode for its unit. paper: the intervals of section III-D, unit = eps: below 1e-3 eps bypassed, then
 * FP8 below 1e-2, FP16 below 1e-1, FP32 below 1. safe: with unit = rtol ||b|| / sqrt(n) each level may change a product
 * by as much as the bypass does, 2^-16 of the unit: elements are below 2^-16 / u of it, u the unit roundoff of the
 * level (1 of the bypass). That the errors are made equal is ours; 2^-16 is what leaves CG its iterations (2^-13 costs
 * up to 30 % more).
 */
TESS_HD narrowing_bounds narrowing_bounds_of(tess_narrowing mode, double unit)
{
    const double paper[NARROWING_LEVELS] = {1.0, 1e-1, 1e-2, 1e-3};
    const double safe[NARROWING_LEVELS] = {0x1p8, 0x1p-5, 0x1p-12, 0x1p-16};
    narrowing_bounds b;

    for (int l = 0; l < NARROWING_LEVELS; l++) {
        b.below[l] = mode == TESS_NARROWING_PAPER  ? paper[l] * unit
                     : mode == TESS_NARROWING_SAFE ? safe[l] * unit
                                                   : 0.0;
    }
    return b;
}

/* The level of a segment whose largest magnitude this is; NaN: none. */
TESS_HD int narrowing_level(const narrowing_bounds *b, double magnitude)
{
    int level = NARROWING_NONE;

    for (int l = 0; l < NARROWING_LEVELS; l++) {
        if (magnitude < b->below[l]) { level = l + 1; }
    }
    return level;
}

/* What a segment has seen: its level in each of an iteration's products when that was made last, and the lowest that
   its tiles were narrowed to, which counts where they stay so (paper). */
typedef struct narrowing_segment {
    uint8_t level[2];
    uint8_t lowest;
} narrowing_segment;

/*
 * What the tiles of a segment's columns are used at in a product, 0 or 1 of nproducts, and what that makes of the
 * segment. A product passes its tiles over by its own vector alone; values are narrowed only as far as both vectors
 * allow, so that those that are kept in a narrower precision serve both.
 */
TESS_HD int narrowing_use(narrowing_segment *s, int level, int product, int nproducts, bool for_good)
{
    const int other = nproducts > 1 ? s->level[1 - product] : level;
    const int allowed = level < other ? level : other;

    s->level[product] = (uint8_t)level;
    if (level == NARROWING_BYPASS) { return level; }
    if (!for_good) { return allowed; }
    if (allowed > s->lowest) { s->lowest = (uint8_t)allowed; }
    return s->lowest;
}

/* ---- a tile ---- */

/* The precision that a tile's values are used in: its own unless the level is narrower. Not of BYPASS. */
TESS_HD tess_precision narrowing_precision(tess_precision stored, int use)
{
    const tess_precision narrow = use == NARROWING_FP32   ? TESS_PRECISION_FP32
                                  : use == NARROWING_FP16 ? TESS_PRECISION_FP16
                                                          : TESS_PRECISION_E4M3;

    return use != NARROWING_NONE && tess_storage_bytes(narrow) < tess_storage_bytes(stored) ? narrow : stored;
}

/*
 * A tile's largest magnitude is brought to 2^exponent times the top of the narrower precision's range, so that FP16's
 * 65,504 and e4m3's 448 are no bounds, and results do not depend on the scale of the matrix. Largest 0 or not finite:
 * nothing is narrowed.
 */
TESS_HD bool narrowing_has_scale(double largest)
{
    return largest > 0.0 && largest < (double)INFINITY;
}

TESS_HD int narrowing_exponent(tess_precision narrow, double largest)
{
    const int top = narrow == TESS_PRECISION_FP32 ? 0 : narrow == TESS_PRECISION_FP16 ? 14 : 7;
    const int exponent = tess_leading_exponent(largest) - top;

    return exponent < -1022 ? -1022 : exponent > 1022 ? 1022 : exponent;
}

/* A value as the narrower precision holds it over 2^exponent. */
TESS_HD double narrowing_round(tess_precision narrow, int exponent, double value)
{
    double code = 0.0;

    tess_store(narrow, &code, 0, value * tess_power_of_two(-exponent), TESS_OVERFLOW_INFINITY);
    return tess_load(narrow, &code, 0) * tess_power_of_two(exponent);
}

#endif
