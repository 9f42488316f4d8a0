/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file steps.h  Lists of steps: how many iterations in which precision, one after another.
 *
 * An iteration that multiplies with a matrix again and again may begin in a low precision and end in a high one, since later
 * steps correct the errors of earlier ones (Tezcan et al. 2022, section III-D: 1-step, 2-step and 3-step methods).
 */
#ifndef TESSERA_STEPS_H
#define TESSERA_STEPS_H

#include <stdint.h>

#include <tessera/precision.h>
#include <tessera/status.h>

TESS_BEGIN_DECLS

/** Most steps that a list may name. */
enum { TESS_MOST_STEPS = 6 };

/** Where a tess_precision may stand: each part of the matrix in the precision that the policy assigned to it. */
enum { TESS_MIXED = -1 };

typedef struct tess_step_entry {
    int what;           /**< a tess_precision (all of the matrix in it), or TESS_MIXED */
    int64_t iterations; /**< 0: not named; steps without a number share what is left equally */
} tess_step_entry;

/** The last place is for what a repair adds to a list that is full. Zeros: the default of whoever takes the list. */
typedef struct tess_step_list {
    int count;
    tess_step_entry entry[TESS_MOST_STEPS + 1];
} tess_step_list;

/**
 * Parses `fp32,mixed,fp64`, each with `:N` for N iterations, N >= 1. INVALID_ARGUMENT for anything else, more than
 * TESS_MOST_STEPS, or an empty list. tests/unit/test_steps.c
 */
TESS_EXPORT tess_status tess_step_list_parse(const char *text, tess_step_list *out);
/** "mixed", or the precision's name. */
TESS_EXPORT const char *tess_step_what_name(int what);

TESS_END_DECLS

#endif
