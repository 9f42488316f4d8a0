/* SPDX-License-Identifier: Apache-2.0 */
/* The true residual of one row, and sums of them, on host and device. */
#ifndef TESS_MATRIX_RESIDUAL_ROWS_H
#define TESS_MATRIX_RESIDUAL_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/two_word.h"
#include "matrix/assembled.h"
#include <tessera/export.h>

/* A row's residual while it is summed: b_i - sum a_ij x_j in two words, the magnitudes of everything that was added to
   the second word (two_word_bound), |b_i| + sum |a_ij x_j|, and the largest |a_ij|. */
typedef struct row_residual {
    two_word sum;
    double errors, magnitude, largest;
} row_residual;

TESS_HD row_residual row_residual_start(double rhs)
{
    row_residual r = {{rhs, 0.0}, 0.0, fabs(rhs), 0.0};

    return r;
}

/* As fmax, which a host calls; NaN as the second argument changes nothing. */
TESS_HD double larger_of(double a, double b)
{
    return b > a ? b : a;
}

TESS_HD void row_residual_add(row_residual *r, double a, double x)
{
    two_word product = two_product(-a, x), sum = two_sum(r->sum.high, product.high);

    r->sum.high = sum.high;
    r->sum.low += sum.low;
    r->sum.low += product.low;
    r->errors += fabs(sum.low) + fabs(product.low) + two_word_underflow(a, x, product.high);
    r->magnitude += fabs(product.high);
    r->largest = larger_of(r->largest, fabs(a));
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
    r->largest = larger_of(r->largest, more->largest);
}

/* Bound on the error of two_word_value(r->sum), for a row of `length` entries in 2^joins parts. */
TESS_HD double row_residual_bound(const row_residual *r, int64_t length, int joins)
{
    return two_word_bound(two_word_value(r->sum), r->errors, 2.0 * (double)(length + joins));
}

/* One row's part of the norms. */
typedef struct row_terms {
    int64_t row;
    double value, bound;       /* of its residual */
    double magnitude, largest; /* as in row_residual */
    double rhs;
    double roundings; /* a bound on those of `magnitude`, in unit roundoffs */
} row_terms;

/* b_i - (A x)_i in two words on the host, and what else the norms take of a row. */
static inline row_terms row_terms_of(const csr_view *v, const double *b, const double *x, int64_t i)
{
    const double *val = (const double *)v->val;
    const int64_t begin = csr_offset(v, i), end = csr_offset(v, i + 1);
    row_residual r = row_residual_start(b[i]);
    row_terms terms;

    for (int64_t k = begin; k < end; k++) {
        row_residual_add(&r, val[k], x[v->col_ind[k]]);
    }
    terms.row = i;
    terms.value = two_word_value(r.sum);
    terms.bound = row_residual_bound(&r, end - begin, 0);
    terms.magnitude = r.magnitude;
    terms.largest = r.largest;
    terms.rhs = b[i];
    terms.roundings = (double)(end - begin + 2);
    return terms;
}

/* Sums over rows of scaled squares: of the residual, of its bound, of row_residual.magnitude, of b. `rows`: likewise of
   residual, bound and b over the row's largest magnitude. `backward`: the largest row-wise backward error. */
typedef struct norm_sums {
    two_word squares;
    double bounds, magnitudes;
    two_word rhs;
    two_word rows;
    double rows_bounds;
    two_word rows_rhs;
    double backward, backward_most; /* as computed; an upper bound of the exact one */
    int64_t backward_row;           /* the first row that has it */
} norm_sums;

TESS_HD void backward_take(norm_sums *sums, double backward, int64_t row)
{
    const bool more = backward > sums->backward || (backward == sums->backward && row < sums->backward_row);

    if (more) { sums->backward_row = row; }
    if (more) { sums->backward = backward; }
}

/* |r_i| / (|b_i| + sum |a_ij x_j|), at most 1, also where the sum rounds to less; NaN of a residual that is none.
   Source: Oettli, Prager, Numer. Math. 6 (1964). */
TESS_HD double row_backward_error(const row_terms *t)
{
    const double error = fabs(t->value) / t->magnitude;

    return error > 1.0 ? 1.0 : error;
}

/* A row without a residual has no part. It divides only where the quotient may be the largest. */
TESS_HD void backward_add_row(norm_sums *sums, const row_terms *t)
{
    const double least = t->magnitude * (1.0 - t->roundings * TESS_U64) - t->roundings * 0x1p-1074;
    const double most = fabs(t->value) + t->bound;

    if (most == 0.0) { return; }
    if (!(fabs(t->value) < sums->backward * t->magnitude)) { backward_take(sums, row_backward_error(t), t->row); }
    if (!(most < sums->backward_most * least)) {
        sums->backward_most =
            larger_of(sums->backward_most, least > most ? most / least * (1.0 + 4.0 * TESS_U64) : 1.0);
    }
}

/* A row over its largest magnitude. Two roundings each: they add 2 u times the quotient to the bound. An empty row
   stays as it is. */
TESS_HD void rows_add_row(norm_sums *sums, const row_terms *t, double scale)
{
    const double largest = t->largest > 0.0 ? t->largest : 1.0, factor = scale / largest;
    const bool one = factor >= 0x1p-1000 && factor <= 0x1p1000; /* else a factor would lose digits */
    const double v = one ? factor * t->value : scale * t->value / largest;
    const double b = one ? factor * t->rhs : scale * t->rhs / largest;
    const double e = (one ? factor * t->bound : scale * t->bound / largest) + 4.0 * TESS_U64 * fabs(v);

    two_word_add_product(&sums->rows, v, v);
    sums->rows_bounds += e * e;
    two_word_add_product(&sums->rows_rhs, b, b);
}

/* The terms of one row. */
TESS_HD void norm_add_row(norm_sums *sums, const row_terms *t, double scale)
{
    double v = scale * t->value, e = scale * t->bound, m = scale * t->magnitude, b = scale * t->rhs;

    two_word_add_product(&sums->squares, v, v);
    sums->bounds += e * e;
    sums->magnitudes += m * m;
    two_word_add_product(&sums->rhs, b, b);
    rows_add_row(sums, t, scale);
    backward_add_row(sums, t);
}

TESS_HD void norm_add(norm_sums *sums, const norm_sums *more)
{
    two_word_add_pair(&sums->squares, more->squares);
    sums->bounds += more->bounds;
    sums->magnitudes += more->magnitudes;
    two_word_add_pair(&sums->rhs, more->rhs);
    two_word_add_pair(&sums->rows, more->rows);
    sums->rows_bounds += more->rows_bounds;
    two_word_add_pair(&sums->rows_rhs, more->rows_rhs);
    backward_take(sums, more->backward, more->backward_row);
    sums->backward_most = larger_of(sums->backward_most, more->backward_most);
}

/* No rows yet. */
TESS_HD norm_sums norm_start(void)
{
    norm_sums none = {{0.0, 0.0}, 0.0, 0.0, {0.0, 0.0}, {0.0, 0.0}, 0.0, {0.0, 0.0}, 0.0, 0.0, INT64_MAX};

    return none;
}

/* The value of a sum that may have overflowed. */
static inline double norm_value(two_word sum)
{
    return isfinite(sum.high) ? two_word_value(sum) : sum.high;
}

/* The result of a pass, from the sums over all rows. */
static inline void norm_return(const norm_sums *sums, tess_residual_norm *norm)
{
    norm->high = sums->squares.high;
    norm->low = sums->squares.low;
    norm->bound = sums->bounds;
    norm->magnitude = sums->magnitudes;
    norm->rhs = norm_value(sums->rhs);
    norm->rows_high = sums->rows.high;
    norm->rows_low = sums->rows.low;
    norm->rows_bound = sums->rows_bounds;
    norm->rows_rhs = norm_value(sums->rows_rhs);
    norm->backward = sums->backward;
    norm->backward_most = sums->backward_most;
    norm->backward_row = sums->backward > 0.0 ? sums->backward_row : -1;
}

#endif
