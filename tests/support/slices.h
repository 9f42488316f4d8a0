/* SPDX-License-Identifier: Apache-2.0 */
/* Products with FP32 vectors, and matrices that try the slices of ELLPACK-R and SELL-C-sigma; on any device. */
#ifndef TESS_TESTS_SUPPORT_SLICES_H
#define TESS_TESTS_SUPPORT_SLICES_H

#include "support/product.h"

/* Columns at, just within and just beyond 16 bits relative to the row; wide slices between narrow ones. */
oracle_csr make_index_boundaries(void);
/* Rows of 0 to 20 entries in no order, some of 300: every rest of a batch, 8-bit and 32-bit lengths, several windows.
 */
oracle_csr make_uneven_rows(int64_t nrows, bool with_long_rows);

/* Products of `m` with FP32 vectors, in its arithmetic, within the bound that tess_matrix_spmv documents. */
void check_fp32_product(const tess_matrix *m, const oracle_csr *stored, tess_arithmetic arithmetic, double alpha,
                        double beta);

/* Every format of slices, precision, window and arithmetic on a context's device. */
void check_slices(tess_context *ctx);

#endif
