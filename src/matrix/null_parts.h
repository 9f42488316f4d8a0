/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of a square matrix that nothing couples to other rows, where rows and columns sum to 0 up to rounding. Where
 * the columns sum to 0 exactly, 1^T (b - A x) = 1^T b for any x, so that ||b - A x|| >= |1^T b| / sqrt(rows) there.
 * Where their sums are rounding, nothing is proved: an x beyond 1 / u may have any residual.
 */
#ifndef TESS_MATRIX_NULL_PARTS_H
#define TESS_MATRIX_NULL_PARTS_H

#include <stdbool.h>

#include <tessera/two_word.h>

#include "base/null_sum.h"
#include "matrix/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Less than this of ||b|| is no inconsistency: no residual is proved to be so small. */
#define LEAST_INCONSISTENCY (4.0 * TESS_U64)

typedef struct null_sum {
    tess_two_word sum;
    double magnitude;
    int64_t terms; /* other than 0 */
    bool rounded;  /* two words do not hold the sum */
} null_sum;

TESS_HD void null_sum_add(null_sum *s, double value)
{
    const tess_two_word high = tess_two_sum(s->sum.high, value), low = tess_two_sum(s->sum.low, high.low);

    s->sum.high = high.high;
    s->sum.low = low.high;
    s->rounded = s->rounded || low.low != 0.0;
    s->magnitude += fabs(value);
    s->terms += value != 0.0;
}

/* The exact sum is 0; false also for a few such sums, whose terms span more than two words. */
TESS_HD bool null_sum_is_exact(const null_sum *s)
{
    return !s->rounded && tess_two_word_value(s->sum) == 0.0;
}

/* Without terms there is no sum. */
TESS_HD bool null_sum_holds(const null_sum *s)
{
    return s->terms > 0 && is_null_sum(tess_two_word_value(s->sum), s->magnitude, s->terms);
}

/* In one word, by parts of a row, in order. */
enum { NULL_ROW_PART = 1024 };

typedef struct null_row_sum {
    double sum, magnitude;
} null_row_sum;

TESS_HD bool null_row_holds(const null_row_sum *row, int64_t length)
{
    return row->magnitude > 0.0 && is_null_sum(row->sum, row->magnitude, length);
}

/* What b has along the ones of a part of so many rows: 1^T b / sqrt(rows), squared. `of_b`: of b there. */
double null_share(const null_sum *of_b, int64_t rows);

typedef struct null_part {
    int64_t rows, first; /* row */
    bool exact;          /* the columns sum to 0, without rounding */
    int32_t terms;       /* the most that a column has */
} null_part;

typedef struct null_parts {
    int64_t n;
    int32_t *of_row; /* n: the part of a row; -1: none. NULL: there are no parts */
    int64_t count;
    null_part *part;
} null_parts;

/* Errors: memory. A host's arrays; release also after a failure. */
tess_status null_parts_find(tess_context *ctx, const tess_csr_view *a, null_parts *out);
/* Of a matrix where it lies; copied to the host only where some rows are a candidate, and are not its columns. */
tess_status null_parts_of(const tess_matrix *a, null_parts *out);
void null_parts_release(tess_context *ctx, null_parts *p);

typedef struct null_judgement {
    double least; /* no x has a smaller residual norm; 0: none is known */
    double near;  /* with parts that are singular up to rounding, beyond the rounding of 1^T b */
    double norm;  /* ||b|| */
    null_part worst, near_worst;
    int32_t near_terms; /* the most of a column of parts that are not exact; 0: there are none */
} null_judgement;

tess_status null_parts_judge(tess_context *ctx, const null_parts *p, const double *b, null_judgement *out);
/* Takes from r, over each part, its mean: what no x changes. Errors: memory. */
tess_status null_parts_project(tess_context *ctx, const null_parts *p, double *r);

/* 2^-e such that the largest magnitude times it is near 1: an exact factor. 1 where there is none, or no number. */
double null_parts_scale(int64_t n, const double *b);

/* ---- on a GPU ---- */

/* On the host. Rows of one tree are coupled to no others. */
typedef struct null_candidates {
    bool known;      /* false: rows are not columns, and the host must look */
    int64_t n;       /* of tree */
    int64_t count;   /* of part */
    int32_t *tree;   /* 1 and the first row of its tree; 0: none */
    null_part *part; /* of each tree, in any order; rows -1: its columns do not sum to 0 */
} null_candidates;

typedef struct null_parts_ops {
    /* Release *out also after a failure. */
    tess_status (*candidates)(const tess_matrix *a, null_candidates *out);
} null_parts_ops;

/* The parts of known candidates, whose trees it may take. */
tess_status null_parts_take(tess_context *ctx, null_candidates *c, null_parts *out);

const null_parts_ops *null_parts_gpu_ops(void);
const null_parts_ops *null_parts_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
