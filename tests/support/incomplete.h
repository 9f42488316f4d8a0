/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors as the library computes them, and the properties of them and of solves with them, in wide
   arithmetic. */
#ifndef TESS_TESTS_SUPPORT_INCOMPLETE_H
#define TESS_TESTS_SUPPORT_INCOMPLETE_H

#include "support/precond.h"

/* M = (I + lower) D (I + upper) */
typedef struct test_factors {
    oracle_csr lower, upper; /* beside the diagonals */
    double *inverse;         /* n: D^-1 */
    int64_t bad_row;
    bool finite;
    double largest;
} test_factors;

/* Where the factors of tests are computed: DEVICE, but within BY_HOST; or by test_sweeps sweeps. */
extern tess_factorization test_factorization;
extern int test_sweeps;
int factor_by_host(void **state);
int factor_by_device(void **state);
/* A test once more, with factors of the host. */
#define BY_HOST(f)                                                    \
    {                                                                 \
#f ", by the host", f, factor_by_host, factor_by_device, NULL \
    }

/* Computes the factors as test_factorization has it; `upper` of IC is the transpose of `lower`. */
test_factors factor_matrix(const tess_matrix *matrix, bool cholesky, double shift);
/* Those of a matrix, by the backend of a device, or of the tests' device. */
test_factors factors_on(tess_device device, const oracle_csr *a, tess_precond_kind kind);
static inline test_factors factors_of(const oracle_csr *a, tess_precond_kind kind)
{
    return factors_on(TEST_DEVICE, a, kind);
}
/* Rounds the triangles to a precision. */
void round_factors(test_factors *f, tess_precision precision);
void free_factors(test_factors *f);

/*
 * The definition of ILU(0) or IC(0): M agrees with `a` on its pattern (IC: on its lower triangle), within the rounding
 * of the elimination: gamma(longest row + 8) (I + |lower|) |D| (I + |upper|).
 */
void check_on_pattern(const oracle_csr *a, bool cholesky, const test_factors *f);
/* M z = r within the rounding of two triangular solves; `relative`: the error of each stored entry of the factors. */
void check_factor_solution(const test_factors *f, const double *r, const double *z, double relative);
/*
 * The same for merged level sets, whose rows are rewritten by substitution, in the largest magnitude. A rewritten row's
 * magnitudes, and the effect of its rounding on later rows, are at most those of (I - |lower|)^-1. `relative`: the
 * error of each stored entry of the rewritten rows.
 */
void check_merged_solution(const test_factors *f, const double *r, const double *z, double relative);

/* Problems: a random pattern with long rows and a dominant diagonal, unsymmetric or symmetric positive definite. */
oracle_csr random_dominant(int64_t n, int64_t per_row, bool symmetric, uint64_t seed);
/* An arrow: the first row, the first column and the diagonal, or the last ones. */
oracle_csr arrow(int64_t n, bool first);
oracle_csr two_by_two(double a, double b, double c, double d);
/* The 5-point Laplacian of a k by k grid, k odd, with red points before black ones: two level sets. */
oracle_csr red_black(int64_t k);

/* Defaults for a kind, but by level sets on every device, and as test_factorization has it. */
tess_precond_options factor_options(tess_precond_kind kind);
/* An application on a context of a device, or of the tests' device, with so many threads; the facts about its factors.
 */
void apply_factors_on(tess_device device, const oracle_csr *a, const tess_precond_options *options, int threads,
                      const double *r, double *z, tess_precond_factors *facts);
static inline void apply_factors(const oracle_csr *a, const tess_precond_options *options, int threads, const double *r,
                                 double *z, tess_precond_factors *facts)
{
    apply_factors_on(TEST_DEVICE, a, options, threads, r, z, facts);
}
/* The most rows of an uncut triangle, where triangles are cut. */
void choose_leaf(tess_precond_options *options, int64_t leaf);

#endif
