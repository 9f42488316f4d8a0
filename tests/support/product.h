/* SPDX-License-Identifier: Apache-2.0 */
/* Products of the library checked against the oracle, component by component. */
#ifndef TESS_TESTS_SUPPORT_PRODUCT_H
#define TESS_TESTS_SUPPORT_PRODUCT_H

#include "support/test.h"

/* y := alpha op(A) x + beta y for given arrays; out receives y (as many values as op(A) has rows). */
void multiply(const tess_matrix *m, tess_operation operation, double alpha, const double *x, double beta,
              const double *y, double *out);

/*
 * Checks alpha op(A) x + beta y for random x and y in (-1, 1) within the bound that tess_matrix_spmv documents.
 * `stored` holds the values that m stores.
 */
void check_product(const tess_matrix *m, const oracle_csr *stored, tess_operation operation, double alpha, double beta);

/* The same for pairs of alpha and beta, whose exact product is computed once. */
void check_products(const tess_matrix *m, const oracle_csr *stored, tess_operation operation, int count,
                    const double (*factors)[2]);

/* The same for x and y of the caller; both must be finite. */
void check_product_of(const tess_matrix *m, const oracle_csr *stored, tess_operation operation, double alpha,
                      const double *x, double beta, const double *y);

/* The decoded values of m, as a matrix of the oracle. */
oracle_csr decode_matrix(const tess_matrix *m);

#endif
