/* SPDX-License-Identifier: Apache-2.0 */
/* Products of several columns against the oracle, column by column. */
#ifndef TESS_TESTS_SUPPORT_COLUMNS_H
#define TESS_TESTS_SUPPORT_COLUMNS_H

#include "support/test.h"

/* Stores a matrix in a format, whatever it pads. */
tess_matrix *store_in(const tess_matrix *m, tess_format format, tess_precision precision, tess_arithmetic arithmetic);

/* alpha A x + beta y by tess_matrix_spmm, for x and y by rows or by columns. `stored` holds the values of m. */
void check_spmm(const tess_matrix *m, const oracle_csr *stored, int64_t columns, bool by_row, double alpha,
                double beta);

/* alpha A x + beta y for several columns in every variant of split, composite and tiles, with FP64
   arithmetic. */
void check_mixed_columns(tess_context *ctx);

/* A step of a polynomial in FP64 or FP32: y := alpha A x + beta base, total += gamma y. */
typedef struct columns_step {
    tess_precision vectors;
    int columns;
    bool keeps_y, wide_total; /* y is written; the new total goes to an FP64 vector of its own */
} columns_step;

void check_columns_step(const tess_matrix *m, const oracle_csr *stored, columns_step step);

#endif
