/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of a product of sparse matrices are looked at before it is computed on a GPU. */
#ifndef TESS_MATRIX_PRODUCT_SAMPLE_H
#define TESS_MATRIX_PRODUCT_SAMPLE_H

#include "base/random.h"

enum { PRODUCT_MOST_SAMPLED = 4096 };

/* Row s of `samples`: at random within a part of the rows of its own. Equal distances would meet the boundary of a grid
   of 256 points each time. */
TESS_HD int64_t product_sampled_row(int64_t s, int64_t samples, int64_t nrows)
{
    const int64_t first = s * nrows / samples, next = (s + 1) * nrows / samples;

    return first + (int64_t)(tess_random_bits(1, (uint64_t)s) % (uint64_t)(next - first));
}

#endif
