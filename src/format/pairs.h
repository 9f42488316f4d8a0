/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic in pairs of FP32 numbers (base/float_pair.h), for formats of one part. A row is summed in pairs; what the
 * product does with the sum is in FP64, some operations a row. Host and GPU add in the same order: the same bits.
 */
#ifndef TESS_FORMAT_PAIRS_H
#define TESS_FORMAT_PAIRS_H

#include <tessera/codec.h>

#include "base/float_pair.h"
#include "matrix/format.h"

/* Value k of an array, on the host. */
static inline float_pair pairs_value(tess_precision precision, const void *val, int64_t k)
{
    float_pair value = {0.0F, 0.0F};

    if (precision == TESS_PRECISION_FP64) { return float_pair_of(((const double *)val)[k]); }
    value.high = tess_load_float(precision, val, k);
    return value;
}

/* Element i of the vector that is multiplied. */
TESS_HD float_pair pairs_factor(const tess_spmv_args *args, int64_t i)
{
    if (args->vectors == TESS_PRECISION_FP32) {
        const float_pair x = {args->x_fp32[i], 0.0F};

        return x;
    }
    return float_pair_of(args->x[i]);
}

/* Neighbouring threads that share a row of CSR: a power of two, by the mean number of entries, at most 32. Each takes
   every width-th entry, and the sums are added by halves. */
TESS_HD int pairs_width(int64_t nrows, int64_t nnz)
{
    int width = 1;

    while (width < 32 && nnz > 2 * width * nrows) {
        width *= 2;
    }
    return width;
}

#endif
