/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of aggregation that the host and a GPU share, so that both find the same aggregates. */
#ifndef TESS_PRECOND_MULTIGRID_AGGREGATION_RULES_H
#define TESS_PRECOND_MULTIGRID_AGGREGATION_RULES_H

#include <string.h>

#include "base/random.h"

/* Blocks that miss the threshold by rounding alone count as strong. */
#define AGGREGATION_MARGIN (1.0 - 0x1p-30)

/* What is left of a dependent column of a near-nullspace is the rounding of its elements, a few units of the last
   place. */
#define AGGREGATION_DEPENDENT (1024.0 * 0x1p-52)

/* P = (I - omega D^-1 A) T with omega = AGGREGATION_DAMPING / lambda_max(D^-1 A). */
#define AGGREGATION_DAMPING (4.0 / 3.0)

/* Of squared norms: the threshold for blocks beside the strongest. */
TESS_HD double aggregation_threshold(double theta)
{
    return theta * theta * AGGREGATION_MARGIN;
}

/* Sums of weights that differ by rounding alone are equal, so that the smaller number wins on either side. */
TESS_HD double aggregation_rounded_weight(double weight)
{
    enum { DROPPED_BITS = 28 };
    uint64_t bits;

    memcpy(&bits, &weight, sizeof bits);
    bits = (bits + (UINT64_C(1) << (DROPPED_BITS - 1))) >> DROPPED_BITS << DROPPED_BITS;
    memcpy(&weight, &bits, sizeof bits);
    return weight;
}

/* The bits of a priority that hold the node's number + 1. */
TESS_HD uint64_t aggregation_number_mask(int64_t nodes)
{
    uint64_t mask = 1;

    while (mask < (uint64_t)nodes + 1) {
        mask = mask << 1 | 1;
    }
    return mask;
}

/* Distinct; neither 0 nor UINT64_MAX. */
TESS_HD uint64_t aggregation_priority(uint64_t round, int64_t node, uint64_t number_mask)
{
    return (tess_random_bits(round, (uint64_t)node) >> 1 & ~number_mask) | (uint64_t)(node + 1);
}

#endif
