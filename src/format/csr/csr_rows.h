/* SPDX-License-Identifier: Apache-2.0 */
/* What host and device kernels do with one row of CSR. */
#ifndef TESS_FORMAT_CSR_CSR_ROWS_H
#define TESS_FORMAT_CSR_CSR_ROWS_H

#include "core/two_word.h"
#include "format/row_epilogue.h"
#include <tessera/export.h>

/* The residual of one row in the making: b_i - sum a_ij x_j in two words, and the magnitudes that bound its error. */
typedef struct row_residual {
    two_word sum;
    double magnitude;
} row_residual;

TESS_HD void row_residual_add(row_residual *r, double a, double x)
{
    two_word_add_product(&r->sum, -a, x);
    r->magnitude += fabs(a * x);
}

/* What one row adds to the norm: scaled squares of the residual and of its bound. */
TESS_HD void norm_add_row(two_word *squares, double *bound_squares, double value, double bound, double scale)
{
    double v = scale * value, e = scale * bound;

    two_word_add_product(squares, v, v);
    *bound_squares += e * e;
}

#endif
