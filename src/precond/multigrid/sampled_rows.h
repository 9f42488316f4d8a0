/* SPDX-License-Identifier: Apache-2.0 */
/* What a row tells of convection and anisotropy, for host and GPU: both take the same sums in the same order. */
#ifndef TESS_PRECOND_MULTIGRID_SAMPLED_ROWS_H
#define TESS_PRECOND_MULTIGRID_SAMPLED_ROWS_H

#include <math.h>

#include "base/random.h"
#include "matrix/assembled.h"

enum {
    AMG_SAMPLE = 4096,     /* rows that are looked at */
    AMG_SAMPLED_ROW = 1024 /* longer rows say nothing */
};

/* Sums over the entries of a row off the diagonal. */
typedef struct amg_row_sums {
    double difference, sum;               /* |a_ij - a_ji|, |a_ij + a_ji| */
    double scaled_difference, scaled_sum; /* with rows divided by the diagonal */
    double other_sign, all;               /* magnitudes */
} amg_row_sums;

/* Of few rows all. */
TESS_HD int64_t amg_sampled_row(int64_t n, uint64_t seed, int64_t k)
{
    return n <= AMG_SAMPLE ? k : (int64_t)(tess_random_bits(seed, (uint64_t)k) % (uint64_t)n);
}

/* Entries of row i; 0 of a long one. */
TESS_HD int64_t amg_sampled_row_length(const csr_view *a, int64_t i)
{
    const int64_t length =
        tess_row_offset(a->row_ptr, a->row_ptr_bits, i + 1) - tess_row_offset(a->row_ptr, a->row_ptr_bits, i);

    return length <= AMG_SAMPLED_ROW ? length : 0;
}

TESS_HD double amg_sampled_row_largest(const csr_view *a, int64_t i)
{
    const int64_t begin = tess_row_offset(a->row_ptr, a->row_ptr_bits, i);
    const int64_t end = begin + amg_sampled_row_length(a, i);
    double largest = 0.0;

    for (int64_t k = begin; k < end; k++) {
        largest = fmax(largest, fabs(((const double *)a->val)[k]));
    }
    return largest;
}

/* scale: of entries that are multiplied by one another. */
TESS_HD amg_row_sums amg_sample_row(const csr_view *a, int64_t i, double scale)
{
    const int64_t begin = tess_row_offset(a->row_ptr, a->row_ptr_bits, i);
    const int64_t end = begin + amg_sampled_row_length(a, i);
    const double own = csr_value_at(a, i, i);
    amg_row_sums s = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};

    for (int64_t k = begin; k < end; k++) {
        const int64_t j = a->col_ind[k];
        const double there = ((const double *)a->val)[k];

        if (j == i) { continue; }
        const double back = csr_value_at(a, j, i), its = csr_value_at(a, j, j);
        const double one = scale * there * (scale * its), other = scale * back * (scale * own);

        s.difference += fabs(there - back);
        s.sum += fabs(there + back);
        s.scaled_difference += fabs(one - other);
        s.scaled_sum += fabs(one + other);
        s.all += fabs(there);
        if ((there > 0.0 && own > 0.0) || (there < 0.0 && own < 0.0)) { s.other_sign += fabs(there); }
    }
    return s;
}

#endif
