/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file steps.h  Precision schedules: how many iterations in which precision, one after another.
 *
 * Example: "fp32:500,mixed,fp64" runs 500 iterations in FP32, then mixed ones, then FP64 ones. An iteration may begin
 * in a low precision and end in a high one, because later entries correct the errors of earlier ones. Source: Tezcan et
 * al. 2022, section III-D (1-step, 2-step and 3-step methods).
 */
#ifndef TESSERA_STEPS_H
#define TESSERA_STEPS_H

#include <stdint.h>

#include <tessera/precision.h>
#include <tessera/status.h>

TESS_BEGIN_DECLS

/** Most entries of a schedule. */
enum { TESS_MOST_STEPS = 6 };

/** In place of a tess_precision: each part of the matrix is in the precision that the policy assigned to it. */
enum { TESS_MIXED = -1 };

/** One entry: which precision, and for how many iterations. */
typedef struct tess_step_entry {
    int what;           /**< a tess_precision for the whole matrix, or TESS_MIXED */
    int64_t iterations; /**< 0: no number; entries without one share the remaining iterations equally */
} tess_step_entry;

/** A schedule. Zeros stand for the method's default. The last place is for an entry that a repair adds. */
typedef struct tess_step_list {
    int count;
    tess_step_entry entry[TESS_MOST_STEPS + 1];
} tess_step_list;

/**
 * Parses a list such as `fp32:500,mixed,fp64`; `:N`, N >= 1, gives an entry N iterations. Errors: INVALID_ARGUMENT
 * (anything else, an empty list, more than TESS_MOST_STEPS entries). tests/unit/test_steps.c
 */
TESS_EXPORT tess_status tess_step_list_parse(const char *text, tess_step_list *out);
/** "mixed", or the name of the precision. */
TESS_EXPORT const char *tess_step_what_name(int what);

TESS_END_DECLS

#endif
