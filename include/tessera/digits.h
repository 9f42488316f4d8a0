/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file digits.h  How many significant digits of a result are right, element by element.
 *
 *     tess_vector_count_digits(exact, computed, &counts);
 *     tess_digits_accuracy_ratio(&counts);                 share of elements with at least 7 digits
 *
 * An element A has n significant digits of T if |T - A| / |T| < 5 * 10^-n. Source: Zhao et al., Block-wise dynamic
 * mixed-precision for sparse matrix-vector multiplication on GPUs (2024), eqs. (2), (3), (9), (10); Tables 3, 4.
 * Tests: tests/unit/test_digits.c, tests/cli/parts/65_digits.sh.
 */
#ifndef TESSERA_DIGITS_H
#define TESSERA_DIGITS_H

#include <stdint.h>

#include <tessera/vector.h>

TESS_BEGIN_DECLS

/** The most digits that are counted, and the digits from which an element counts as accurate. */
enum { TESS_MOST_DIGITS = 8, TESS_ACCURATE_DIGITS = 7 };

/** How many elements have 0, 1, ..., 7 and at least 8 digits. */
typedef struct tess_digit_counts {
    int64_t elements[TESS_MOST_DIGITS + 1]; /**< [n]: elements with n digits; the last: with that many or more */
    int64_t not_finite;                     /**< those of elements[0] with a NaN or Inf and a different value */
} tess_digit_counts;

/**
 * The largest whole n >= 0 with |exact - computed| / |exact| < 5 * 10^-n (eqs. (2), (3)), at most TESS_MOST_DIGITS; 0
 * if there is none. Example: an error of 5e-7 gives 6 digits, not 7, because the inequality is strict. Equal values
 * have TESS_MOST_DIGITS, also two zeros of any sign and two NaN. A zero against anything else has 0 digits, and so has
 * NaN or Inf. The result is exact for all doubles: nothing is rounded, overflows or underflows on the way.
 */
TESS_EXPORT int tess_significant_digits(double exact, double computed);

/**
 * Counts the significant digits of each element of @p computed against @p exact. Sizes must agree; precisions and
 * contexts may differ. Waits for both devices and works on the host, with FP64 copies of both vectors.
 * Errors, recorded in the context of @p computed: INVALID_ARGUMENT (NULL), DIMENSION_MISMATCH, OUT_OF_MEMORY. *out is
 * then unchanged.
 */
TESS_EXPORT tess_status tess_vector_count_digits(const tess_vector *exact, const tess_vector *computed,
                                                 tess_digit_counts *out);

/** Share of elements with at least TESS_ACCURATE_DIGITS digits, 0 to 1 (eqs. (9), (10)); 1 if there are none. */
TESS_EXPORT double tess_digits_accuracy_ratio(const tess_digit_counts *counts);

/** 1 if that share is above 95 % (section 4.2), else 0. Decided on the counts, without rounding. */
TESS_EXPORT int tess_digits_accurate(const tess_digit_counts *counts);

TESS_END_DECLS

#endif
