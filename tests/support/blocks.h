/* SPDX-License-Identifier: Apache-2.0 */
/* Granularity block, compared with a search through the whole matrix, on any device. */
#ifndef TESS_TESTS_SUPPORT_BLOCKS_H
#define TESS_TESTS_SUPPORT_BLOCKS_H

#include "support/test.h"

/* Mean and standard deviation of magnitudes that are finite and not zero, in wide arithmetic. */
void oracle_magnitudes(const oracle_csr *a, wide *mean, wide *std);

/* Rounded to a significand of so many bits. */
double shortened(double value, int bits);
/* Significands of 2 to 24 bits and exponents near 0 in most parts of a matrix: policy lossless stores these in low
   precisions. */
void shorten_values(oracle_csr *a);

/* Makes the assignment of blocks and checks all that it holds. Returns its summary, with the largest error. */
tess_assignment_summary check_blocks(tess_context *ctx, const oracle_csr *a, const tess_policy_options *options);

#endif
