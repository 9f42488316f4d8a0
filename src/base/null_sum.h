/* SPDX-License-Identifier: Apache-2.0 */
/* When a sum of rounded terms is 0: of a row, a column, or a vector. */
#ifndef TESS_BASE_NULL_SUM_H
#define TESS_BASE_NULL_SUM_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <tessera/export.h>

/* So many roundoffs of its terms, for each of them. */
#define NULL_ROUNDOFFS (4.0 * 0x1p-53)

/* Whether a sum of so many terms, whose magnitudes have the second sum, is 0 up to rounding; false for NaN and Inf. */
TESS_HD bool is_null_sum(double sum, double magnitude, int64_t terms)
{
    return isfinite(magnitude) && fabs(sum) <= NULL_ROUNDOFFS * (double)terms * magnitude;
}

#endif
