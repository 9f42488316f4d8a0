/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sparse row that is summed up term by term. place[j] is the place of column j among the entries so far if it is
 * below `count` and column[place[j]] is j. So a place that an earlier row has left does no harm, and nothing is cleared
 * between rows (Briggs, Torczon, ACM Lett. Program. Lang. Syst. 2 (1993)).
 */
#ifndef TESS_MATRIX_ROW_SUM_H
#define TESS_MATRIX_ROW_SUM_H

#include <string.h>

#include "matrix/host_csr.h"

typedef struct row_sum {
    int32_t *place; /* for each column there is; any numbers from 0 */
    int32_t *column;
    double *val;
    int64_t count;
} row_sum;

/* The place of column j, or -1. */
TESS_INLINE int32_t row_sum_find(const row_sum *s, int32_t j)
{
    const int32_t at = s->place[j];

    return at < s->count && s->column[at] == j ? at : -1;
}

/* Adds column j with a value. */
TESS_INLINE void row_sum_append(row_sum *s, int32_t j, double value)
{
    s->place[j] = (int32_t)s->count;
    s->column[s->count] = j;
    s->val[s->count++] = value;
}

/* s += factor b_k. The copies of the fields stay in registers. */
TESS_INLINE void row_sum_add(row_sum *s, const host_csr *b, int64_t k, double factor)
{
    const int64_t first = b->row_ptr[k], length = b->row_ptr[k + 1] - first;
    const int32_t *restrict from = b->col_ind + first;
    const double *restrict term = b->val + first;
    int32_t *restrict place = s->place, *restrict column = s->column;
    double *restrict val = s->val;
    int64_t count = s->count;

    for (int64_t m = 0; m < length; m++) {
        const int32_t j = from[m], at = place[j];

        if (at < count && column[at] == j) {
            val[at] += factor * term[m];
        } else {
            place[j] = (int32_t)count;
            column[count] = j;
            val[count++] = factor * term[m];
        }
    }
    s->count = count;
}

/* Threads that may have `columns` places each: together no more bytes than twice a matrix of so many entries. */
static inline int row_sum_threads(const tess_context *ctx, int64_t entries, int64_t columns)
{
    const int64_t most = 6 * entries / (columns + 1);

    return most < 1 ? 1 : most < ctx->threads ? (int)most : ctx->threads;
}

/* Places for threads, zeros. */
static inline tess_status row_sum_places(tess_context *ctx, int threads, int64_t columns, int32_t **out)
{
    const tess_status status = tess_host_allocate(ctx, threads * columns, sizeof **out, (void **)out);

    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++) {
        memset(*out + t * columns, 0, (size_t)columns * sizeof **out);
    }
    return TESS_SUCCESS;
}

#endif
