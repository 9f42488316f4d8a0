/* SPDX-License-Identifier: Apache-2.0 */
/* The true residual of one row, and sums of them, on host and device. */
#ifndef TESS_MATRIX_RESIDUAL_ROWS_H
#define TESS_MATRIX_RESIDUAL_ROWS_H

#include "base/two_word.h"
#include "matrix/assembled.h"
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

/* Sums of scaled squares over rows: of the residual, of its bound, of what row_residual.magnitude is, of b. */
typedef struct norm_sums {
    two_word squares;
    double bounds, magnitudes, rhs;
} norm_sums;

/* What one row adds. */
TESS_HD void norm_add_row(norm_sums *sums, double value, double bound, double magnitude, double rhs, double scale)
{
    double v = scale * value, e = scale * bound, m = scale * magnitude, b = scale * rhs;

    two_word_add_product(&sums->squares, v, v);
    sums->bounds += e * e;
    sums->magnitudes += m * m;
    sums->rhs += b * b;
}

TESS_HD void norm_add(norm_sums *sums, const norm_sums *more)
{
    two_word_add_pair(&sums->squares, more->squares);
    sums->bounds += more->bounds;
    sums->magnitudes += more->magnitudes;
    sums->rhs += more->rhs;
}

/* What a pass returns of the sums over all rows. */
static inline void norm_return(const norm_sums *sums, tess_residual_norm *norm)
{
    norm->high = sums->squares.high;
    norm->low = sums->squares.low;
    norm->bound = sums->bounds;
    norm->magnitude = sums->magnitudes;
    norm->rhs = sums->rhs;
}

#endif
