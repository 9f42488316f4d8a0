/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of a product of sparse matrices are looked at before it is computed on a GPU. */
#ifndef TESS_MATRIX_PRODUCT_SAMPLE_H
#define TESS_MATRIX_PRODUCT_SAMPLE_H

#include "base/random.h"

enum { PRODUCT_LEAST_SAMPLED = 512, PRODUCT_MOST_SAMPLED = 4096, PRODUCT_SAMPLED_PART = 8 };

/* How many of so many rows. A mean of 512 rows is off by a twentieth of their deviation: the margin is more. */
TESS_HD int64_t product_samples(int64_t nrows)
{
    const int64_t part = nrows / PRODUCT_SAMPLED_PART,
                  least = nrows < PRODUCT_LEAST_SAMPLED ? nrows : (int64_t)PRODUCT_LEAST_SAMPLED;

    return part > PRODUCT_MOST_SAMPLED ? (int64_t)PRODUCT_MOST_SAMPLED : part > least ? part : least;
}

/* Row s of `samples`: at random within a part of the rows of its own. Equal distances would meet the boundary of a grid
   of 256 points each time. */
TESS_HD int64_t product_sampled_row(int64_t s, int64_t samples, int64_t nrows)
{
    const int64_t first = s * nrows / samples, next = (s + 1) * nrows / samples;

    return first + (int64_t)(tess_random_bits(1, (uint64_t)s) % (uint64_t)(next - first));
}

#endif
