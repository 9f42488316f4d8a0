/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file residual.h  The true residual b - A x, its norms, a bound on the error of each, and what they prove.
 *
 *     tess_row_sum r = tess_row_sum_start(b[i]);
 *     tess_row_sum_add(&r, a_ij, x[j]);           for each entry of row i, in two words
 *     tess_row_terms row = tess_row_sum_terms(&r, i, b[i], length, 0);
 *     tess_residual_sums_add_row(&sums, &row, 1.0);    tess_residual_norms_by() makes norms of the sums
 *
 * The library, its kernels and the plug-in for PETSc decide by this code alone. All functions are inline; nothing here
 * crosses the library's binary interface. A row's residual is off by u |r_i| + 2 gamma_2n^2 (|A| |x| + |b|)_i at most
 * (Dot2, see two_word.h), a norm by that of the rows' bounds and 4 u. tests/unit/test_verify.c, test_residual.c
 */
#ifndef TESSERA_RESIDUAL_H
#define TESSERA_RESIDUAL_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/two_word.h>

/* ---- a row ---- */

/* A row's residual while it is summed: b_i - sum a_ij x_j in two words, the magnitudes of everything that was added to
   the second word (tess_two_word_bound), |b_i| + sum |a_ij x_j|, and the largest |a_ij|. */
typedef struct tess_row_sum {
    tess_two_word sum;
    double errors, magnitude, largest;
} tess_row_sum;

TESS_HD tess_row_sum tess_row_sum_start(double rhs)
{
    tess_row_sum r = {{rhs, 0.0}, 0.0, fabs(rhs), 0.0};

    return r;
}

/* As fmax, which a host calls; NaN as the second argument changes nothing. */
TESS_HD double tess_larger_of(double a, double b)
{
    return b > a ? b : a;
}

TESS_HD void tess_row_sum_add(tess_row_sum *r, double a, double x)
{
    tess_two_word product = tess_two_product(-a, x), sum = tess_two_sum(r->sum.high, product.high);

    r->sum.high = sum.high;
    r->sum.low += sum.low;
    r->sum.low += product.low;
    r->errors += fabs(sum.low) + fabs(product.low) + tess_two_word_underflow(a, x, product.high);
    r->magnitude += fabs(product.high);
    r->largest = tess_larger_of(r->largest, fabs(a));
}

/* Two parts of a row. */
TESS_HD void tess_row_sum_join(tess_row_sum *r, const tess_row_sum *more)
{
    tess_two_word sum = tess_two_sum(r->sum.high, more->sum.high);

    r->sum.high = sum.high;
    r->sum.low += sum.low;
    r->sum.low += more->sum.low;
    r->errors += fabs(sum.low) + more->errors;
    r->magnitude += more->magnitude;
    r->largest = tess_larger_of(r->largest, more->largest);
}

/* Bound on the error of tess_two_word_value(r->sum), for a row of `length` entries in 2^joins parts. */
TESS_HD double tess_row_sum_bound(const tess_row_sum *r, int64_t length, int joins)
{
    return tess_two_word_bound(tess_two_word_value(r->sum), r->errors, 2.0 * (double)(length + joins));
}

/* One row's part of the norms. */
typedef struct tess_row_terms {
    int64_t row;
    double value, bound;       /* of its residual */
    double magnitude, largest; /* as in tess_row_sum */
    double rhs;
    double roundings; /* a bound on those of `magnitude`, in unit roundoffs */
} tess_row_terms;

TESS_HD tess_row_terms tess_row_sum_terms(const tess_row_sum *r, int64_t row, double rhs, int64_t length, int joins)
{
    tess_row_terms terms;

    terms.row = row;
    terms.value = tess_two_word_value(r->sum);
    terms.bound = tess_row_sum_bound(r, length, joins);
    terms.magnitude = r->magnitude;
    terms.largest = r->largest;
    terms.rhs = rhs;
    terms.roundings = (double)(length + joins + 2);
    return terms;
}

/* |r_i| / (|b_i| + sum |a_ij x_j|), at most 1, also where the sum rounds to less; NaN of a residual that is none.
   Source: Oettli, Prager, Numer. Math. 6 (1964). */
TESS_HD double tess_row_backward_error(const tess_row_terms *t)
{
    const double error = fabs(t->value) / t->magnitude;

    return error > 1.0 ? 1.0 : error;
}

/* ---- sums over rows ---- */

/* Scaled squares of the residual, of its bound, of tess_row_sum.magnitude, of b. `rows`: likewise of residual,
   bound and b over the row's largest magnitude. `backward`: the largest row-wise backward error. */
typedef struct tess_residual_sums {
    tess_two_word squares;
    double bounds, magnitudes;
    tess_two_word rhs;
    tess_two_word rows;
    double rows_bounds;
    tess_two_word rows_rhs;
    double backward, backward_most; /* as computed; an upper bound of the exact one */
    int64_t backward_row;           /* the first row that has it; INT64_MAX: none */
} tess_residual_sums;

TESS_HD tess_residual_sums tess_residual_sums_start(void)
{
    tess_residual_sums none = {{0.0, 0.0}, 0.0, 0.0, {0.0, 0.0}, {0.0, 0.0}, 0.0, {0.0, 0.0}, 0.0, 0.0, INT64_MAX};

    return none;
}

TESS_HD void tess_residual_sums_take_backward(tess_residual_sums *sums, double backward, int64_t row)
{
    const bool more = backward > sums->backward || (backward == sums->backward && row < sums->backward_row);

    if (more) { sums->backward_row = row; }
    if (more) { sums->backward = backward; }
}

/* A row without a residual has no part. It divides only where the quotient may be the largest. */
TESS_HD void tess_residual_sums_add_backward(tess_residual_sums *sums, const tess_row_terms *t)
{
    const double least = t->magnitude * (1.0 - t->roundings * TESS_U64) - t->roundings * TESS_LEAST64;
    const double most = fabs(t->value) + t->bound;

    if (most == 0.0) { return; }
    if (!(fabs(t->value) < sums->backward * t->magnitude)) {
        tess_residual_sums_take_backward(sums, tess_row_backward_error(t), t->row);
    }
    if (!(most < sums->backward_most * least)) {
        sums->backward_most =
            tess_larger_of(sums->backward_most, least > most ? most / least * (1.0 + 4.0 * TESS_U64) : 1.0);
    }
}

/* Between 2^-1000 and 2^1000: a factor beyond would lose digits. */
#define TESS_LEAST_FACTOR 9.3326361850321888e-302
#define TESS_MOST_FACTOR 1.0715086071862673e+301

/* A row over its largest magnitude. Two roundings each: they add 2 u times the quotient to the bound. An empty row
   stays as it is. */
TESS_HD void tess_residual_sums_add_scaled(tess_residual_sums *sums, const tess_row_terms *t, double scale)
{
    const double largest = t->largest > 0.0 ? t->largest : 1.0, factor = scale / largest;
    const bool one = factor >= TESS_LEAST_FACTOR && factor <= TESS_MOST_FACTOR;
    const double v = one ? factor * t->value : scale * t->value / largest;
    const double b = one ? factor * t->rhs : scale * t->rhs / largest;
    const double e = (one ? factor * t->bound : scale * t->bound / largest) + 4.0 * TESS_U64 * fabs(v);

    tess_two_word_add_product(&sums->rows, v, v);
    sums->rows_bounds += e * e;
    tess_two_word_add_product(&sums->rows_rhs, b, b);
}

/* The terms of one row, times `scale`, a power of two. */
TESS_HD void tess_residual_sums_add_row(tess_residual_sums *sums, const tess_row_terms *t, double scale)
{
    double v = scale * t->value, e = scale * t->bound, m = scale * t->magnitude, b = scale * t->rhs;

    tess_two_word_add_product(&sums->squares, v, v);
    sums->bounds += e * e;
    sums->magnitudes += m * m;
    tess_two_word_add_product(&sums->rhs, b, b);
    tess_residual_sums_add_scaled(sums, t, scale);
    tess_residual_sums_add_backward(sums, t);
}

/* The sums over other rows. */
TESS_HD void tess_residual_sums_add(tess_residual_sums *sums, const tess_residual_sums *more)
{
    tess_two_word_add_pair(&sums->squares, more->squares);
    sums->bounds += more->bounds;
    sums->magnitudes += more->magnitudes;
    tess_two_word_add_pair(&sums->rhs, more->rhs);
    tess_two_word_add_pair(&sums->rows, more->rows);
    sums->rows_bounds += more->rows_bounds;
    tess_two_word_add_pair(&sums->rows_rhs, more->rows_rhs);
    tess_residual_sums_take_backward(sums, more->backward, more->backward_row);
    sums->backward_most = tess_larger_of(sums->backward_most, more->backward_most);
}

/* ---- norms ---- */

/* Norms of the residual and of b as given, and with row i of each divided by its largest |a_ij|, a row of zeros by 1.
   A bound is on the error of the norm before it; a least value is at most the exact norm. */
typedef struct tess_residual_norms {
    double norm, bound, rhs_norm, rhs_least;
    double rows_norm, rows_bound, rows_rhs_norm, rows_rhs_least;
    double of_vector; /* bound on the norm of the error of the residual as it is stored */
    double rounding;  /* u || |A| |x| + |b| ||: about the rounding error of x */
    double backward;  /* the largest |r_i| / (|A| |x| + |b|)_i; NaN of a residual that is none */
    double backward_most;
    int64_t backward_row; /* the first row that has it; -1: the residual is 0, or none */
} tess_residual_norms;

/* A pass over all rows: *sums of values times 2^-exponent. Not 0: it failed. */
typedef int (*tess_residual_pass)(void *user, int exponent, tess_residual_sums *sums);

/* Squares overflow from 2^512 on and vanish below 2^-537, and residuals range from 2^-1074 to 2^1024: which exponent
   brings them into range; and which of three passes has it. A sum from 2^-900 to 2^1000 is whole, and NaN stays. */
enum { TESS_PASS_PLAIN, TESS_PASS_DOWN, TESS_PASS_UP, TESS_PASSES };

TESS_HD int tess_residual_exponent(int pass)
{
    return pass == TESS_PASS_DOWN ? 600 : pass == TESS_PASS_UP ? -800 : 0;
}

TESS_HD int tess_residual_fitting_pass(double squares)
{
    if (squares != squares || (squares >= 1.1830521861667747e-271 && squares <= TESS_MOST_FACTOR)) {
        return TESS_PASS_PLAIN;
    }
    return squares > 1.0 ? TESS_PASS_DOWN : TESS_PASS_UP;
}

/* Sums at the scales that were asked for. */
typedef struct tess_residual_passes {
    tess_residual_pass pass;
    void *user;
    int there[TESS_PASSES]; /* whether they are made */
    tess_residual_sums sums[TESS_PASSES];
    int failed; /* what a pass returned; 0: none failed */
} tess_residual_passes;

/* The sums for which squares like these, of the first pass, are in range. */
TESS_HD const tess_residual_sums *tess_residual_sums_for(tess_residual_passes *p, double squares, int *exponent)
{
    const int which = tess_residual_fitting_pass(squares);

    *exponent = tess_residual_exponent(which);
    if (!p->there[which]) {
        const int failed = p->pass(p->user, *exponent, &p->sums[which]);

        if (failed != 0) { p->failed = failed; }
        p->there[which] = 1;
    }
    return &p->sums[which];
}

/* The value of a sum that may have overflowed. */
TESS_HD double tess_residual_squares(tess_two_word sum)
{
    return isfinite(sum.high) ? tess_two_word_value(sum) : sum.high;
}

/* sqrt of a sum in two words: half an ulp from the sum's rounding, one from the root's. */
#define TESS_ROOT_ERROR (4.0 * TESS_U64)
/* What the sums of squared bounds, and their roots, are rounded by: far less. */
#define TESS_SUM_OF_BOUNDS (1.0 + 4096.0 * DBL_EPSILON)

/* The last product with a power of two rounds by at most 2^-1075 below the normal numbers. That is no number: 2^-1074.
 */
TESS_HD double tess_residual_subnormal_error(double norm)
{
    return norm > 0.0 && norm < DBL_MIN ? TESS_LEAST64 : 0.0;
}

/* As given. After cancellation the bound may be far larger than the norm. It covers the rows' errors, the rounding of
   each row's square (in two words: far below u), of the square root and of the sum of norm and bound. */
TESS_HD void tess_residual_norms_given(tess_residual_passes *p, tess_residual_norms *out)
{
    const tess_residual_sums *const plain = &p->sums[TESS_PASS_PLAIN], *s;
    int e;

    s = tess_residual_sums_for(p, plain->squares.high, &e);
    out->norm = ldexp(sqrt(tess_two_word_value(s->squares)), e);
    s = tess_residual_sums_for(p, plain->magnitudes, &e);
    out->rounding = TESS_U64 * ldexp(sqrt(s->magnitudes), e);
    s = tess_residual_sums_for(p, plain->bounds, &e);
    out->of_vector = ldexp(sqrt(s->bounds) * TESS_SUM_OF_BOUNDS, e);
    out->bound = out->of_vector + TESS_ROOT_ERROR * out->norm + tess_residual_subnormal_error(out->norm);
    s = tess_residual_sums_for(p, tess_residual_squares(plain->rhs), &e);
    out->rhs_norm = ldexp(sqrt(tess_residual_squares(s->rhs)), e);
    out->rhs_least = out->rhs_norm * (1.0 - TESS_ROOT_ERROR);
}

/* With scaled rows; the quotients' rounding is in their bounds. Where the residual is not exactly 0, a norm of 0 has
   vanished: it is below 2^-1074. */
TESS_HD void tess_residual_norms_scaled(tess_residual_passes *p, tess_residual_norms *out)
{
    const tess_residual_sums *const plain = &p->sums[TESS_PASS_PLAIN], *s;
    const bool exists = out->norm + out->bound > 0.0;
    int e;

    s = tess_residual_sums_for(p, plain->rows.high, &e);
    out->rows_norm = ldexp(sqrt(tess_two_word_value(s->rows)), e);
    s = tess_residual_sums_for(p, plain->rows_bounds, &e);
    out->rows_bound = ldexp(sqrt(s->rows_bounds) * TESS_SUM_OF_BOUNDS, e) + TESS_ROOT_ERROR * out->rows_norm +
                      (exists && out->rows_norm == 0.0 ? TESS_LEAST64 : tess_residual_subnormal_error(out->rows_norm));
    s = tess_residual_sums_for(p, tess_residual_squares(plain->rows_rhs), &e);
    out->rows_rhs_norm = ldexp(sqrt(tess_residual_squares(s->rows_rhs)), e);
    out->rows_rhs_least = out->rows_rhs_norm * (1.0 - 2.0 * TESS_ROOT_ERROR);
}

/*
 * Norms and bounds, by one pass over the rows, and up to two more where squares leave the range of FP64. The same bits
 * for each pass that adds in the same order. Returns what a pass that failed returned, else 0.
 */
TESS_HD int tess_residual_norms_by(tess_residual_pass pass, void *user, tess_residual_norms *out)
{
    tess_residual_passes p;
    int exponent;

    p.pass = pass;
    p.user = user;
    p.failed = 0;
    for (int k = 0; k < TESS_PASSES; k++) {
        p.there[k] = 0;
        p.sums[k] = tess_residual_sums_start();
    }
    (void)tess_residual_sums_for(&p, 1.0, &exponent);
    if (p.failed != 0) { return p.failed; }
    tess_residual_norms_given(&p, out);
    tess_residual_norms_scaled(&p, out);
    out->backward = p.sums[TESS_PASS_PLAIN].backward;
    out->backward_most = p.sums[TESS_PASS_PLAIN].backward_most;
    out->backward_row = out->backward > 0.0 ? p.sums[TESS_PASS_PLAIN].backward_row : -1;
    if (!isfinite(out->norm)) {
        out->backward = out->backward_most = NAN;
        out->backward_row = -1;
    }
    return p.failed;
}

/* ---- parts, such as the rows of each process ---- */

/* Norms of whole vectors are those of the vector of the parts' norms. A power of two near the largest divides them, so
   that squares neither overflow nor vanish; NaN and Inf stay. */
TESS_HD int tess_parts_exponent(double largest)
{
    int exponent = 0;

    (void)frexp(isfinite(largest) ? largest : 1.0, &exponent);
    return exponent;
}

TESS_HD double tess_part_square(double norm, int exponent)
{
    const double part = ldexp(norm, -exponent);

    return part * part;
}

TESS_HD double tess_parts_norm(double squares, int exponent)
{
    return ldexp(sqrt(squares), exponent);
}

/* By the triangle inequality in the space of the parts the norm of the bounds bounds the difference of the norms; u
   times the number of parts bounds the error of a sum in any order. Below 2^-960 powers of two may round. */
TESS_HD double tess_parts_bound(double norm, double bound, int parts)
{
    const double slack = (double)(parts + 8) * TESS_U64;
    const double rounded = norm > 0.0 && norm < TESS_LEAST_EXACT_PRODUCT ? 8.0 * TESS_LEAST64 : 0.0;

    return (1.0 + slack) * bound + slack * norm + rounded;
}

/* At most the exact norm of b, of a norm by so many parts; at least 0. */
TESS_HD double tess_parts_least(double norm, int parts)
{
    const double least = norm * (1.0 - (double)(parts + 32) * TESS_U64) - 8.0 * TESS_LEAST64;

    return least > 0.0 ? least : 0.0;
}

/* ---- decisions ---- */

/* max(rtol ||b||, atol) of the exact norms of b, or less by a few roundings; atol in the units of the norm as given. */
TESS_HD double tess_given_tolerance(double rtol, double atol, double rhs_least)
{
    const double relative = nextafter(rtol * rhs_least, 0.0);

    return relative > atol ? relative : atol;
}

/* Of scaled rows; b = 0 leaves the tolerance of the norm as given. */
TESS_HD double tess_rows_tolerance(double rtol, double atol, double rhs_norm, double rows_rhs_least)
{
    const double of_atol = rhs_norm > 0.0 ? nextafter(atol / rhs_norm, 0.0) : 0.0;

    return rhs_norm > 0.0 ? nextafter((rtol > of_atol ? rtol : of_atol) * rows_rhs_least, 0.0) : atol;
}

/* Whether a norm and its bound prove that the exact norm is at most `most`. NaN proves nothing. */
TESS_HD bool tess_residual_proves(double norm, double bound, double most)
{
    return isfinite(norm + bound) && norm + bound <= most;
}

/* The same of scaled rows, with `slack` times their tolerance: 1, and TESS_ROWS_SLACK where the norm as given decides
   and the rows only keep an answer from being called verified. */
TESS_HD bool tess_residual_meets_rows(double rows_norm, double rows_bound, double tolerance, double slack)
{
    return tess_residual_proves(rows_norm, rows_bound, slack * tolerance);
}

#endif
