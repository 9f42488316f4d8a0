/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a row of a matrix tells, entry by entry, for host and GPU: both take the same sums in the same order, so that
 * they give the same facts, bit for bit. Counts and extremes need no order.
 */
#ifndef TESS_AUTO_FACT_ROWS_H
#define TESS_AUTO_FACT_ROWS_H

#include <math.h>

#include <tessera/export.h>

#include "base/null_sum.h"
#include "base/random.h"
#include "matrix/assembled.h"

typedef enum fact_count {
    FACT_NOT_FINITE,
    FACT_POSITIVE,
    FACT_NEGATIVE,
    FACT_ZERO,
    FACT_EMPTY,
    FACT_DOMINANT,
    FACT_MINORS,
    FACT_NULL,
    FACT_NEAR_NULL,
    FACT_SAME_SIGN,
    FACT_ABOVE,
    FACT_BELOW,
    FACT_AMONG_ZEROS,
    FACT_LEFT, /* rows that a second pass takes */
    FACT_COUNTS
} fact_count;

/* The least of a size is minus the most of minus it. */
typedef enum fact_most {
    FACT_ROW,
    FACT_MINUS_ROW,
    FACT_DIAGONAL,
    FACT_MINUS_DIAGONAL,
    FACT_RATIO,
    FACT_LENGTH,
    FACT_DISTANCE,
    FACT_EXTREMES
} fact_most;

typedef struct fact_sums {
    int64_t count[FACT_COUNTS];
    double most[FACT_EXTREMES]; /* -INFINITY: there is none */
} fact_sums;

/* A row's sums are those of its parts of so many entries, in order. A GPU takes rows of more than FACT_LONG entries in
   a second pass. */
enum { FACT_PART = 64, FACT_LONG = 512 };
/* A row sums to nearly 0: below this share of its magnitudes. */
#define FACT_NEAR 0x1p-10

/* What depends on the order of entries, and extremes of a row. */
typedef struct fact_part {
    double sum, others; /* of the entries; of the magnitudes beside the diagonal */
    double least, most; /* magnitude other than 0 beside the diagonal */
} fact_part;

TESS_HD void fact_sums_start(fact_sums *s)
{
    for (int k = 0; k < FACT_COUNTS; k++) {
        s->count[k] = 0;
    }
    for (int k = 0; k < FACT_EXTREMES; k++) {
        s->most[k] = -INFINITY;
    }
}

TESS_HD void fact_sums_join(fact_sums *s, const fact_sums *other)
{
    for (int k = 0; k < FACT_COUNTS; k++) {
        s->count[k] += other->count[k];
    }
    for (int k = 0; k < FACT_EXTREMES; k++) {
        s->most[k] = other->most[k] > s->most[k] ? other->most[k] : s->most[k];
    }
}

TESS_HD void fact_note(double value, double *most)
{
    *most = value > *most ? value : *most; /* not NaN */
}

TESS_HD fact_part fact_part_start(void)
{
    fact_part p = {0.0, 0.0, INFINITY, 0.0};

    return p;
}

TESS_HD void fact_part_join(fact_part *p, const fact_part *next)
{
    p->sum += next->sum;
    p->others += next->others;
    p->least = next->least < p->least ? next->least : p->least;
    p->most = next->most > p->most ? next->most : p->most;
}

/* Entry (i, j) beside the diagonal, other than 0. The quotients cannot overflow as products of entries can. */
TESS_HD void fact_take_coupling(int64_t i, int64_t j, double value, const double *diagonal, double d, fact_part *p,
                                fact_sums *s)
{
    const double size = fabs(value);

    p->least = size < p->least ? size : p->least;
    p->most = size > p->most ? size : p->most;
    fact_note((double)(j > i ? j - i : i - j), &s->most[FACT_DISTANCE]);
    s->count[FACT_SAME_SIGN] += (value > 0.0 && d > 0.0) || (value < 0.0 && d < 0.0);
    s->count[FACT_ABOVE] += j > i;
    s->count[FACT_BELOW] += j < i;
    if (j > i) { s->count[FACT_MINORS] += size / fabs(d) * (size / fabs(diagonal[j])) >= 1.0; }
    if (d == 0.0) { s->count[FACT_AMONG_ZEROS] += diagonal[j] == 0.0; }
}

/* d: diagonal[i] */
TESS_HD void fact_take_entry(int64_t i, int64_t j, double value, const double *diagonal, double d, fact_part *p,
                             fact_sums *s)
{
    s->count[FACT_NOT_FINITE] += !isfinite(value);
    p->sum += value;
    if (j == i) { return; }
    p->others += fabs(value);
    if (value != 0.0) { fact_take_coupling(i, j, value, diagonal, d, p, s); }
}

/* The end of a row of `length` entries; p: all its parts. */
TESS_HD void fact_end_row(double diagonal, int64_t length, const fact_part *p, fact_sums *s)
{
    const double d = fabs(diagonal), all = p->others + d, largest = d > p->most ? d : p->most;

    s->count[FACT_POSITIVE] += diagonal > 0.0;
    s->count[FACT_NEGATIVE] += diagonal < 0.0;
    s->count[FACT_ZERO] += diagonal == 0.0;
    s->count[FACT_EMPTY] += all == 0.0; /* not where an entry is NaN */
    s->count[FACT_DOMINANT] += d > 0.0 && d >= p->others;
    s->count[FACT_NULL] += is_null_sum(p->sum, all, length);
    s->count[FACT_NEAR_NULL] += all > 0.0 && fabs(p->sum) <= FACT_NEAR * all;
    fact_note((double)length, &s->most[FACT_LENGTH]);
    if (p->most > 0.0) { fact_note(p->most / p->least, &s->most[FACT_RATIO]); }
    if (largest > 0.0) {
        fact_note(largest, &s->most[FACT_ROW]);
        fact_note(-largest, &s->most[FACT_MINUS_ROW]);
    }
    if (d > 0.0) {
        fact_note(d, &s->most[FACT_DIAGONAL]);
        fact_note(-d, &s->most[FACT_MINUS_DIAGONAL]);
    }
}

/* Of the entries of row i from number `first` on, each `step`-th: for the hash of a pattern. */
TESS_HD uint64_t fact_hash_row(const csr_view *v, int64_t i, int first, int step)
{
    const int64_t end = tess_row_offset(v->row_ptr, v->row_ptr_bits, i + 1);
    uint64_t sum = 0;

    for (int64_t k = tess_row_offset(v->row_ptr, v->row_ptr_bits, i) + first; k < end; k += step) {
        sum += tess_random_bits((uint64_t)i, (uint64_t)v->col_ind[k]);
    }
    return sum;
}

/* ---- pairs of entries ---- */

/* Over entries of a row beside the diagonal: | |a_ij| - |a_ji| | and |a_ij| + |a_ji|; |a_ij| where |i - j| is beyond
   the reach. */
typedef struct fact_way {
    double differences, sum, far;
} fact_way;

/* Of a row, up to FACT_PAIRS entries are looked at, evenly spread; number l of these is in sum l mod FACT_LANES, which
   is a power of two. */
enum { FACT_LANES = 128, FACT_PAIRS = 2048 };

/* From one entry that is looked at to the next. */
TESS_HD int64_t fact_pair_step(int64_t length)
{
    return length > FACT_PAIRS ? (length + FACT_PAIRS - 1) / FACT_PAIRS : 1;
}

TESS_HD void fact_way_join(fact_way *w, const fact_way *other)
{
    w->differences += other->differences;
    w->sum += other->sum;
    w->far += other->far;
}

/* Entry k, of row i. */
TESS_HD void fact_take_pair(const csr_view *v, int64_t reach, int64_t i, int64_t k, fact_way *w)
{
    const int64_t j = v->col_ind[k];
    const double a = fabs(((const double *)v->val)[k]), b = j == i ? a : fabs(csr_value_at(v, j, i));

    if (j == i || !isfinite(a + b)) { return; }
    w->differences += fabs(a - b);
    w->sum += a + b;
    if (j - i > reach || i - j > reach) { w->far += a; }
}

#endif
