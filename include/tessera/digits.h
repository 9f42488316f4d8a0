/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file digits.h  How many significant digits of a result are right, element by element.
 *
 * An element A has n significant digits of T when |T - A| / |T| < 5 * 10^-n. Source: Zhao et al., Block-wise dynamic
 * mixed-precision for sparse matrix-vector multiplication on GPUs (2024), eqs. (2), (3), (9), (10); Tables 3, 4.
 * Tests: tests/unit/test_digits.c, tests/cli/parts/65_digits.sh.
 */
#ifndef TESSERA_DIGITS_H
#define TESSERA_DIGITS_H

#include <stdint.h>

#include <tessera/vector.h>

TESS_BEGIN_DECLS

/** Most digits that are told apart: this many, or more. An element counts as accurate from the second on. */
enum { TESS_MOST_DIGITS = 8, TESS_ACCURATE_DIGITS = 7 };

/** How many elements have 0, 1, ..., 7 and at least 8 digits. */
typedef struct tess_digit_counts {
    int64_t elements[TESS_MOST_DIGITS + 1]; /**< [n]: with n digits; the last: with TESS_MOST_DIGITS or more */
    int64_t not_finite;                     /**< those of elements[0] where NaN or Inf meets anything but itself */
} tess_digit_counts;

/**
 * The largest whole n >= 0 with |exact - computed| / |exact| < 5 * 10^-n (eqs. (2), (3)), at most TESS_MOST_DIGITS; 0 where
 * there is none. Equality does not do: an error of 5e-7 leaves 6 digits. Equal values, two zeros of any sign and two NaN
 * among them, have TESS_MOST_DIGITS; a zero against anything else has 0, and so has NaN or Inf.
 * Decided exactly for all doubles: nothing is rounded, overflows or underflows on the way.
 */
TESS_EXPORT int tess_significant_digits(double exact, double computed);

/**
 * Counts the significant digits of each element of @p computed, against @p exact. Sizes must agree; precisions and contexts
 * may differ, and values are decoded to FP64. Waits for both devices; works on the host, in FP64 copies of both vectors.
 * Errors: INVALID_ARGUMENT (NULL), DIMENSION_MISMATCH, OUT_OF_MEMORY, recorded in the context of @p computed; *out is then
 * left alone.
 */
TESS_EXPORT tess_status tess_vector_count_digits(const tess_vector *exact, const tess_vector *computed,
                                                 tess_digit_counts *out);

/** Share of the elements with at least TESS_ACCURATE_DIGITS digits, 0 to 1 (eqs. (9), (10)); 1 where there are no elements. */
TESS_EXPORT double tess_digits_accuracy_ratio(const tess_digit_counts *counts);

/** 1 where that share is above 95 %, decided on the counts (section 4.2); else 0. */
TESS_EXPORT int tess_digits_accurate(const tess_digit_counts *counts);

TESS_END_DECLS

#endif
