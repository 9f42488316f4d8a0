/* SPDX-License-Identifier: Apache-2.0 */
/* Approximate inverses as the library computes them, and what holds for their rows. */
#ifndef TESS_TESTS_SUPPORT_INVERSE_H
#define TESS_TESTS_SUPPORT_INVERSE_H

#include "precond/inverse/inverse.h"
#include "support/incomplete.h"
#include "support/precond_of.h"

tess_precond_options inverse_options(tess_precond_kind kind, int power, double threshold, double filter);

/* How rows are computed. */
typedef struct inverse_place {
    tess_device device;
    int threads;
    int64_t slice_terms; /* of inverse_request */
} inverse_place;

/* The pattern of G, or M, as the device has it, without values. */
oracle_csr inverse_pattern_at(const inverse_place *place, const oracle_csr *a, const tess_precond_options *o);
/* G, or M, in FP64. */
oracle_csr inverse_rows_at(const inverse_place *place, const oracle_csr *a, const tess_precond_options *o,
                           inverse_outcome *outcome);
/* The same of other values, on the pattern that those of `a` have. */
oracle_csr inverse_renewed_at(const inverse_place *place, const oracle_csr *a, const double *values,
                              const tess_precond_options *o, inverse_outcome *outcome);
/* Of a matrix that no system of a row is shifted for; on the tests' device. */
static inline oracle_csr rows_of(const oracle_csr *a, const tess_precond_options *o)
{
    const inverse_place place = {.device = TEST_DEVICE, .threads = 2};
    inverse_outcome outcome;
    const oracle_csr out = inverse_rows_at(&place, a, o, &outcome);

    assert_int_equal(outcome.bad_row, -1);
    assert_int_equal(outcome.mended, 0);
    return out;
}

/* The row of entry k. */
int64_t row_of_entry(const oracle_csr *a, int64_t k);
double diagonal_of(const oracle_csr *a, int64_t i);
/* Rows of G against their definition; rows of M, for dominant rows. */
void check_factor(const oracle_csr *a, const oracle_csr *g);
void check_inverse(const oracle_csr *a, const oracle_csr *m);
/* Two patterns; and two matrices, bit by bit. */
void check_same_pattern(const oracle_csr *a, const oracle_csr *b);
void check_same_rows(const oracle_csr *a, const oracle_csr *b);

#endif
