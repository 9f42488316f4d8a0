/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incomplete factors by fixed-point iterations instead of an elimination. With w_ij = l_ij d_j below the diagonal, d_i
 * on it and d_i u_ij above it, M = L D U agrees with A on the pattern where
 *
 *     w_ij = a_ij - sum over k < min(i, j) of (w_ik / w_kk) w_kj.
 *
 * A sweep computes all right sides from the last w, from w = A on: no entry waits for another, and the result does not
 * depend on their order. An entry is final once those of smaller min(i, j) are. Scaling of rows and columns of A scales
 * every w alike, so that no scaling is needed first. Source: Chow, Patel, Fine-grained parallel incomplete LU
 * factorization, SIAM J. Sci. Comput. 37 (2015), eqs. (2.3), (2.4), with U's rows scaled by the pivots, L's columns
 * too, in two arrays instead of one that threads race on.
 */
#ifndef TESS_PRECOND_INCOMPLETE_INCOMPLETE_SWEPT_H
#define TESS_PRECOND_INCOMPLETE_INCOMPLETE_SWEPT_H

#include "base/offsets.h"
#include "precond/incomplete/incomplete_rows.h"

/* What a sweep reads and writes: w and 1 / w_ii. */
typedef struct swept_arrays {
    double *w, *inverse;
} swept_arrays;

typedef struct swept_task {
    tess_incomplete_job job;
    csr_view v; /* FP64 */
    swept_arrays from, to;
} swept_task;

/* Where the entries of a row are, as far as they are factored. */
typedef struct swept_row {
    int64_t row, begin, diagonal, end;
} swept_row;

TESS_HD swept_row swept_open_row(const swept_task *t, int64_t i)
{
    const int64_t begin = tess_row_offset(t->v.row_ptr, t->v.row_ptr_bits, i), diagonal = t->job.diagonal[i];
    const int64_t end = t->job.cholesky ? diagonal + 1 : tess_row_offset(t->v.row_ptr, t->v.row_ptr_bits, i + 1);
    const swept_row r = {i, begin, diagonal, end};

    return r;
}

/* The sum of the row's magnitudes in A. */
TESS_HD double swept_size(const swept_task *t, const swept_row *r)
{
    const double *val = (const double *)t->v.val;
    double sum = 0.0;

    for (int64_t k = r->begin; k < r->end; k++) {
        sum += fabs(val[k]);
    }
    return sum;
}

/* a_ij at place k of the row, shifted on the diagonal. */
TESS_HD double swept_entry(const swept_task *t, const swept_row *r, int64_t k)
{
    const double entry = incomplete_entry(&t->job, ((const double *)t->v.val)[k]);

    return k == r->diagonal ? incomplete_diagonal(&t->job, entry, swept_size(t, r)) : entry;
}

/* The place of column j right of row i's diagonal, or -1. */
TESS_HD int64_t swept_find(const swept_task *t, int64_t i, int32_t j)
{
    const int64_t begin = t->job.diagonal[i] + 1, end = tess_row_offset(t->v.row_ptr, t->v.row_ptr_bits, i + 1);
    const int64_t at = csr_column_from(t->v.col_ind, begin, end, j);

    return at < end && t->v.col_ind[at] == j ? at : -1;
}

/* IC(0): w_kj is w_jk, in row j. Both rows' columns ascend. */
TESS_HD double swept_symmetric_sum(const swept_task *t, const swept_row *r, int64_t k, double sum)
{
    const int32_t *col = t->v.col_ind;
    const int64_t j = col[k], end = t->job.diagonal[j];
    int64_t other = tess_row_offset(t->v.row_ptr, t->v.row_ptr_bits, j);

    for (int64_t e = r->begin; e < k && other < end; e++) {
        other = incomplete_advance(col, other, end, col[e]);
        if (other < end && col[other] == col[e]) {
            sum = fma(-(t->from.w[e] * t->from.inverse[col[e]]), t->from.w[other], sum);
        }
    }
    return sum;
}

/* The next w of the entry at place k of the row. Products are fused, and so have the same bits on every device. */
TESS_HD double swept_next(const swept_task *t, const swept_row *r, int64_t k)
{
    const int32_t *col = t->v.col_ind;
    double sum = swept_entry(t, r, k);

    if (t->job.cholesky) { return swept_symmetric_sum(t, r, k, sum); }
    for (int64_t e = r->begin; e < r->diagonal && col[e] < col[k]; e++) {
        const int64_t other = swept_find(t, col[e], col[k]);

        if (other >= 0) { sum = fma(-(t->from.w[e] * t->from.inverse[col[e]]), t->from.w[other], sum); }
    }
    return sum;
}

/* The entry at place k of L or U with ones on the diagonals, from the last w. */
TESS_HD double swept_factor(const swept_task *t, const swept_row *r, int64_t k)
{
    return t->from.w[k] * t->from.inverse[k < r->diagonal ? t->v.col_ind[k] : (int32_t)r->row];
}

#endif
