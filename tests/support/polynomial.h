/* SPDX-License-Identifier: Apache-2.0 */
/* Polynomial preconditioners against slow evaluations from their roots. */
#ifndef TESS_TESTS_SUPPORT_POLYNOMIAL_H
#define TESS_TESTS_SUPPORT_POLYNOMIAL_H

#include "precond/polynomial/polynomial.h"
#include "support/precond.h"

/* Options of degree `degree`, stored and computed in these. */
tess_precond_options polynomial_options(int degree, tess_precision storage, tess_arithmetic arithmetic);
tess_precond *make_polynomial(const tess_matrix *m, const tess_precond_options *options);

/* The internal data of a polynomial preconditioner. */
static inline const tess_polynomial *polynomial_of(const tess_precond *m)
{
    return m->own;
}

/* p(A) r in wide complex arithmetic, root after root; `a` is the multiplied matrix. */
void evaluate_roots(const oracle_csr *a, const polynomial_roots *roots, const double *r, double *z);

/*
 * A bound on || z - p(A) r ||_2 for the evaluation by roots in arithmetic of unit roundoff u: the rounding error of
 * each vector that it computes (of a product in a row of k entries gamma(k + 3) of the magnitudes), carried to the
 * result by the Frobenius norm of the polynomial of A that does so; to first order, times 1.5. For n up to 100.
 */
double roots_error_bound(const oracle_csr *a, const polynomial_roots *roots, const double *r, double u);

/* || x - y ||_2 */
double distance(const double *x, const double *y, int64_t n);

#endif
