/* SPDX-License-Identifier: Apache-2.0 */
/* The true residual of one row, and sums of them, on host and device. */
#ifndef TESS_MATRIX_RESIDUAL_ROWS_H
#define TESS_MATRIX_RESIDUAL_ROWS_H

#include "base/two_word.h"
#include "matrix/assembled.h"
#include <tessera/export.h>

/* A row's residual while it is summed: b_i - sum a_ij x_j in two words, the magnitudes of everything that was added to
   the second word (two_word_bound), and |b_i| + sum |a_ij x_j|. */
typedef struct row_residual {
    two_word sum;
    double errors, magnitude;
} row_residual;

TESS_HD row_residual row_residual_start(double rhs)
{
    row_residual r = {{rhs, 0.0}, 0.0, fabs(rhs)};

    return r;
}

TESS_HD void row_residual_add(row_residual *r, double a, double x)
{
    two_word product = two_product(-a, x), sum = two_sum(r->sum.high, product.high);

    r->sum.high = sum.high;
    r->sum.low += sum.low;
    r->sum.low += product.low;
    r->errors += fabs(sum.low) + fabs(product.low) + two_word_underflow(a, x, product.high);
    r->magnitude += fabs(product.high);
}

/* Two parts of a row. */
TESS_HD void row_residual_join(row_residual *r, const row_residual *more)
{
    two_word sum = two_sum(r->sum.high, more->sum.high);

    r->sum.high = sum.high;
    r->sum.low += sum.low;
    r->sum.low += more->sum.low;
    r->errors += fabs(sum.low) + more->errors;
    r->magnitude += more->magnitude;
}

/* Bound on the error of two_word_value(r->sum), for a row of `length` entries in 2^joins parts. */
TESS_HD double row_residual_bound(const row_residual *r, int64_t length, int joins)
{
    return two_word_bound(two_word_value(r->sum), r->errors, 2.0 * (double)(length + joins));
}

/* Sums of scaled squares over rows: of the residual, of its bound, of row_residual.magnitude, of b. */
typedef struct norm_sums {
    two_word squares;
    double bounds, magnitudes;
    two_word rhs;
} norm_sums;

/* The terms of one row. */
TESS_HD void norm_add_row(norm_sums *sums, double value, double bound, double magnitude, double rhs, double scale)
{
    double v = scale * value, e = scale * bound, m = scale * magnitude, b = scale * rhs;

    two_word_add_product(&sums->squares, v, v);
    sums->bounds += e * e;
    sums->magnitudes += m * m;
    two_word_add_product(&sums->rhs, b, b);
}

TESS_HD void norm_add(norm_sums *sums, const norm_sums *more)
{
    two_word_add_pair(&sums->squares, more->squares);
    sums->bounds += more->bounds;
    sums->magnitudes += more->magnitudes;
    two_word_add_pair(&sums->rhs, more->rhs);
}

/* The result of a pass, from the sums over all rows. */
static inline void norm_return(const norm_sums *sums, tess_residual_norm *norm)
{
    norm->high = sums->squares.high;
    norm->low = sums->squares.low;
    norm->bound = sums->bounds;
    norm->magnitude = sums->magnitudes;
    norm->rhs = isfinite(sums->rhs.high) ? two_word_value(sums->rhs) : sums->rhs.high;
}

#endif
