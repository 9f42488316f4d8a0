/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of factors with fill, found in rounds of products: no row waits for another, on the host and on a GPU. With
 * w_ij = l_ij d_j below the diagonal, d_i on it and d_i u_ij above it, a round computes
 *
 *     w_ij = a_ij - sum over k < min(i, j) of (w_ik / w_kk) w_kj
 *
 * from the last w wherever the sum or A has an entry, by one product of two triangles, and drops what is small; the
 * first w is A. Source: Anzt, Chow, Dongarra, ParILUT, SIAM J. Sci. Comput. 40 (2018), with the thresholds of Saad's
 * ILUT in place of one for the whole matrix; and one product in place of residuals and two sweeps.
 *
 * The levels of ILU(k) are found by the same products. A level l is the number 2^(-32 l), so that a product adds
 * levels, and a sum has the least of them in its exponent: of numbers between 2^(-32 l) and 2^(-32 l + 31), l is the
 * level. After round r all levels up to r are there.
 */
#ifndef TESS_PRECOND_INCOMPLETE_FILL_ROUNDS_H
#define TESS_PRECOND_INCOMPLETE_FILL_ROUNDS_H

#include <string.h>

#include "base/offsets.h"
#include "precond/incomplete/incomplete_rows.h"

/* 2^(-32 l) and the sum of two levels and 1 are normal numbers up to here. */
enum { FILL_LEVEL_BITS = 32, FILL_MOST_LEVEL = 15 };

struct fill_rule {
    bool by_levels; /* ILU(k); else ILUT, or ICT if `symmetric` */
    bool symmetric; /* the lower triangle and the diagonal alone */
    int level, rounds;
    double drop, fill;
};
typedef struct fill_rule fill_rule;

/* What the rows of a round read and write. Values are w, or levels as powers of two. */
typedef struct fill_task {
    fill_rule rule;
    int64_t n;
    csr_view base;     /* A in FP64; of levels the last pattern */
    csr_view product;  /* of the triangles of the last w; row_ptr NULL: none */
    double *size;      /* n: ILUT: the sum of the magnitudes of a row of A; ICT: its largest magnitude */
    double *tolerance; /* n: of ILUT: what is smaller goes */
    int32_t *most;     /* n: entries beside the diagonal that a row may keep */
    double *limit;     /* n: where they are more, the least magnitude that is kept */
    int32_t *of_limit; /* n: and so many of that magnitude, from the left */
    int32_t *col_ind;  /* of the new w; with val, once rows have their places */
    double *val;
    double *inverse; /* n: of its pivots */
} fill_task;

/* A walk along the columns of row i of the base and of the product, and the diagonal. */
typedef struct fill_walk {
    int64_t row, base, base_end, product, product_end;
    bool diagonal; /* passed */
} fill_walk;

typedef struct fill_candidate {
    int32_t column;
    double value;
} fill_candidate;

TESS_HD double fill_code(int level)
{
    return ldexp(1.0, -FILL_LEVEL_BITS * level);
}

/* Of a positive sum of codes. */
TESS_HD int fill_decode(double code)
{
    return (FILL_LEVEL_BITS - 1 - ilogb(code)) / FILL_LEVEL_BITS;
}

/* The entries of row i up to the diagonal, if only they count. */
TESS_HD int64_t fill_row_end(const csr_view *v, int64_t i, bool symmetric)
{
    const int64_t end = tess_row_offset(v->row_ptr, v->row_ptr_bits, i + 1);

    return symmetric ? csr_column_from(v->col_ind, tess_row_offset(v->row_ptr, v->row_ptr_bits, i), end, i + 1) : end;
}

TESS_HD fill_walk fill_begin(const fill_task *t, int64_t i)
{
    fill_walk w = {i, 0, 0, 0, 0, false};

    w.base = tess_row_offset(t->base.row_ptr, t->base.row_ptr_bits, i);
    w.base_end = fill_row_end(&t->base, i, t->rule.symmetric);
    if (t->product.row_ptr) {
        w.product = tess_row_offset(t->product.row_ptr, t->product.row_ptr_bits, i);
        w.product_end = fill_row_end(&t->product, i, t->rule.symmetric);
    }
    return w;
}

/* w from its two parts, 0 where there is none. Sums that have run away count as none. */
TESS_HD double fill_value(const fill_task *t, double entry, double product)
{
    const double value = entry - product;

    if (!t->rule.by_levels) { return fabs(value) <= DBL_MAX ? value : entry; }
    if (!t->product.row_ptr) { return 1.0; }
    return product > 0.0 ? fmax(entry, fill_code(fill_decode(product))) : entry;
}

/* The next candidate. false: the row has ended. */
TESS_HD bool fill_next_candidate(const fill_task *t, fill_walk *w, fill_candidate *c)
{
    const int32_t of_base = w->base < w->base_end ? t->base.col_ind[w->base] : INT32_MAX;
    const int32_t of_product = w->product < w->product_end ? t->product.col_ind[w->product] : INT32_MAX;
    const int32_t first = of_base < of_product ? of_base : of_product;
    const int32_t column = !w->diagonal && w->row <= first ? (int32_t)w->row : first;
    const bool own = of_base == column, sum = of_product == column;

    if (column == INT32_MAX) { return false; }
    c->column = column;
    c->value = fill_value(t, own ? ((const double *)t->base.val)[w->base] : 0.0,
                          sum ? ((const double *)t->product.val)[w->product] : 0.0);
    w->base += own;
    w->product += sum;
    w->diagonal = w->diagonal || column == w->row;
    return true;
}

/* Whether an entry beside the diagonal is large enough, or of a level that is low enough. */
TESS_HD bool fill_keeps(const fill_task *t, int64_t i, const fill_candidate *c)
{
    if (t->rule.by_levels) { return c->value > 0.0 && fill_decode(c->value) <= t->rule.level; }
    const double tolerance =
        t->rule.symmetric ? t->rule.drop * sqrt(t->size[i]) * sqrt(t->size[c->column]) : t->tolerance[i];

    return c->value != 0.0 && !(fabs(c->value) < tolerance);
}

/* ---- the largest entries of a row ---- */

TESS_HD uint64_t fill_key(double value)
{
    const double magnitude = fabs(value);
    uint64_t key = 0;

    memcpy(&key, &magnitude, sizeof key);
    return key;
}

/* How many of the row's entries have a key that agrees with `prefix` above `shift` + 4 bits, by their next 4 bits. */
TESS_HD void fill_count_digits(const fill_task *t, int64_t i, uint64_t prefix, int shift, int32_t count[16])
{
    fill_walk w = fill_begin(t, i);
    fill_candidate c;

    for (int d = 0; d < 16; d++) {
        count[d] = 0;
    }
    while (fill_next_candidate(t, &w, &c)) {
        const uint64_t key = fill_key(c.value);

        if (c.column == i || !fill_keeps(t, i, &c)) { continue; }
        if (shift == 60 || key >> (shift + 4) == prefix >> (shift + 4)) { count[(key >> shift) & 15] += 1; }
    }
}

/* The most largest of the row: their least magnitude, and how many of that one there are among them. Four bits of it at
   a time. */
TESS_HD void fill_find_limit(const fill_task *t, int64_t i)
{
    int32_t left = t->most[i], count[16];
    uint64_t prefix = 0;

    for (int shift = 60; shift >= 0; shift -= 4) {
        int digit = 15;

        fill_count_digits(t, i, prefix, shift, count);
        while (digit > 0 && count[digit] < left) {
            left -= count[digit--];
        }
        prefix |= (uint64_t)digit << shift;
    }
    memcpy(t->limit + i, &prefix, sizeof prefix);
    t->of_limit[i] = left;
}

/* ---- a row ---- */

/* The number of entries that row i keeps, with the diagonal. Sets its limit, if it has one. */
TESS_HD int32_t fill_count_row(const fill_task *t, int64_t i)
{
    fill_walk w = fill_begin(t, i);
    fill_candidate c;
    int32_t count = 0;

    while (fill_next_candidate(t, &w, &c)) {
        if (c.column != i && fill_keeps(t, i, &c)) { count += 1; }
    }
    t->limit[i] = 0.0;
    t->of_limit[i] = INT32_MAX;
    if (t->rule.by_levels || count <= t->most[i]) { return count + 1; }
    if (t->most[i] > 0) { fill_find_limit(t, i); }
    if (t->most[i] == 0) { t->limit[i] = INFINITY; }
    return t->most[i] + 1;
}

/* The inverse of a pivot, or of another number where it would end the elimination. */
TESS_HD double fill_inverse(const fill_task *t, int64_t i, double pivot)
{
    const int64_t begin = tess_row_offset(t->base.row_ptr, t->base.row_ptr_bits, i);
    const int64_t end = tess_row_offset(t->base.row_ptr, t->base.row_ptr_bits, i + 1);
    const int64_t at = csr_column_from(t->base.col_ind, begin, end, i);
    const double entry = at < end && t->base.col_ind[at] == i ? ((const double *)t->base.val)[at] : 0.0;
    const double size = t->rule.symmetric && entry != 0.0 ? fabs(entry) : t->size[i];
    const bool usable = fabs(pivot) > INCOMPLETE_PIVOT * size && !(t->rule.symmetric && pivot * entry < 0.0);

    return usable ? 1.0 / pivot : size > 0.0 ? (entry < 0.0 ? -1.0 : 1.0) / size : 1.0;
}

/* The row's entries, from place `at` on. */
TESS_HD void fill_write_row(const fill_task *t, int64_t i, int64_t at)
{
    fill_walk w = fill_begin(t, i);
    fill_candidate c;
    int32_t of_limit = t->of_limit[i];

    while (fill_next_candidate(t, &w, &c)) {
        if (c.column == i) {
            t->inverse[i] = t->rule.by_levels ? 1.0 : fill_inverse(t, i, c.value);
        } else {
            if (!fill_keeps(t, i, &c) || fabs(c.value) < t->limit[i]) { continue; }
            if (fabs(c.value) == t->limit[i] && of_limit-- <= 0) { continue; }
        }
        t->col_ind[at] = c.column;
        t->val[at++] = c.value;
    }
}

/* What entries of row i of A are compared with; the row's magnitudes in both norms are in range for any values. */
TESS_HD void fill_measure_row(const fill_task *t, int64_t i)
{
    const int64_t begin = tess_row_offset(t->base.row_ptr, t->base.row_ptr_bits, i);
    const int64_t end = fill_row_end(&t->base, i, t->rule.symmetric);
    const double *val = (const double *)t->base.val;
    double sum = 0.0, squares = 0.0;
    const double most = t->rule.fill * (double)(end - begin);

    for (int64_t k = begin; k < end; k++) {
        sum += fabs(val[k]);
    }
    for (int64_t k = begin; k < end && sum > 0.0; k++) {
        squares = fma(val[k] / sum, val[k] / sum, squares);
    }
    if (!t->rule.symmetric) { t->size[i] = sum; }
    t->tolerance[i] = t->rule.drop * sum * sqrt(squares);
    t->most[i] = most < (double)INT32_MAX ? (int32_t)most : INT32_MAX;
}

/* An entry of the left triangle in place of w: times the inverse of its column's pivot; of a level, one level more. */
TESS_HD double fill_left(const fill_task *t, double value, int32_t column)
{
    return value * (t->rule.by_levels ? fill_code(1) : t->inverse[column]);
}

/* ---- the values of A on the pattern ---- */

/* Row i of a pattern that has its diagonal, from row i of A; 0 where A has no entry. An entry that is not finite and
   has no place makes the diagonal entry NaN, so that whoever factors finds the row. */
TESS_HD void fill_spread_row(const csr_view *a, const csr_view *filled, int64_t i, double *val)
{
    const int64_t begin = tess_row_offset(filled->row_ptr, filled->row_ptr_bits, i);
    const int64_t end = tess_row_offset(filled->row_ptr, filled->row_ptr_bits, i + 1);
    const int64_t last = tess_row_offset(a->row_ptr, a->row_ptr_bits, i + 1);
    double lost = 0.0;

    for (int64_t k = begin; k < end; k++) {
        val[k] = 0.0;
    }
    for (int64_t k = tess_row_offset(a->row_ptr, a->row_ptr_bits, i), at = begin; k < last; k++) {
        const double entry = ((const double *)a->val)[k];

        at = incomplete_advance(filled->col_ind, at, end, a->col_ind[k]);
        if (at < end && filled->col_ind[at] == a->col_ind[k]) {
            val[at] = entry;
        } else {
            lost += 0.0 * entry; /* NaN if it is not finite */
        }
    }
    if (lost != 0.0) { val[csr_column_from(filled->col_ind, begin, end, i)] = lost; }
}

/* ---- where the matrix is ---- */

#ifdef __cplusplus
extern "C" {
#endif

/* An assembled matrix with the pattern; its values are w, or levels. */
tess_status fill_rounds_on_host(const tess_matrix *assembled, const fill_rule *rule, tess_matrix **filled);
tess_status fill_rounds_on_gpu(const tess_matrix *assembled, const fill_rule *rule, tess_matrix **filled);
/* The values of A in the places of `filled`, to val (fill_spread_row). */
tess_status fill_spread_on_host(tess_context *ctx, const csr_view *a, const csr_view *filled, double *val);
tess_status fill_spread_on_gpu(tess_context *ctx, const csr_view *a, const csr_view *filled, double *val);

#ifdef __cplusplus
}
#endif

#endif
