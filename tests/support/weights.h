/* SPDX-License-Identifier: Apache-2.0 */
/* What values of classical multigrid's levels may be: bounds on rounding that hold for sums in any order. */
#ifndef TESS_TESTS_SUPPORT_WEIGHTS_H
#define TESS_TESTS_SUPPORT_WEIGHTS_H

#include "matrix/host_csr.h"
#include "support/test.h"

/* A number, and how far one computed in FP64 may be from it; infinite where a denominator may be 0. */
typedef struct bounded {
    long double value, error;
} bounded;

/* Interpolation by strong couplings to the coarse unknowns of a split. rows NULL: all of A's. */
typedef struct weights_of {
    const host_csr *a;
    const uint8_t *strong, *split;
    const int32_t *rows;
} weights_of;

/* Extended+i weights, eq. (4.10) and (4.11), on p's pattern; out: as p's entries. */
void bound_weights(const weights_of *w, const host_csr *p, bounded *out);
/* p1 p2 on p's pattern, with the rows' sums kept. */
void bound_joined(const host_csr *p1, const bounded *val1, const host_csr *p2, const bounded *val2, const host_csr *p,
                  bounded *out);

#endif
