/* SPDX-License-Identifier: Apache-2.0 */
/* Policy error-bound: what it promises of stored values, in wide arithmetic and by code that the library does not have;
   and ways to store a matrix by it. */
#ifndef TESS_TESTS_SUPPORT_ERROR_BOUND_H
#define TESS_TESTS_SUPPORT_ERROR_BOUND_H

#include <tessera/policy.h>

#include "support/test.h"

/* What a bound is of. */
typedef enum bound_kind { BOUND_OF_ROWS, BOUND_OF_MATRIX, BOUND_OF_VALUES, BOUND_KINDS } bound_kind;

typedef struct bound_case {
    tess_format format;
    tess_granularity granularity;
    const char *levels; /* "": the default */
    int side;
} bound_case;

/* By row, by entry, by block and for the whole matrix, in each format that has a policy. */
extern const bound_case bound_cases[];
enum { BOUND_CASES = 13, BOUND_SCALED_ROWS = 1, BOUND_ENTRIES = 2, BOUND_FP8_ENTRIES = 3, BOUND_BF16_ENTRIES = 4 };

tess_storage_options bound_options(const bound_case *c, double bound, bound_kind kind);
bool bound_is_finite(const oracle_csr *a, int64_t row);
wide bound_norm_of(const oracle_csr *a, int64_t row);
/* Every row of values that are stored is within the bound; those with NaN and Inf are there to the bit, and so are all
   with a bound below 2^-53. Returns the largest backward error. */
double check_bound(const oracle_csr *a, const oracle_csr *stored, const tess_policy_options *o);
/* Stores the matrix, checks every row, and that what the library measures is what is stored. */
void check_bound_case(const tess_matrix *m, const oracle_csr *a, const bound_case *c, double bound, bound_kind kind);

#endif
