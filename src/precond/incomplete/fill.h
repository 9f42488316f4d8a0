/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of incomplete factors with fill, found row by row on the host: by levels (ILU(k)) or by the magnitudes of a
 * threshold factorization (ILUT, ICT). Only the pattern is kept; incomplete.c computes the factors on it.
 */
#ifndef TESS_PRECOND_INCOMPLETE_FILL_H
#define TESS_PRECOND_INCOMPLETE_FILL_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/status.h>

#include "base/context.h"

/* A matrix on the host, columns ascending. */
typedef struct fill_input {
    int64_t n;
    const int64_t *row_ptr;
    const int32_t *col_ind;
    const double *val;
} fill_input;

/* Of thresholds: entries below `drop` times the norm of their row go, and a row keeps `fill` times those of A. */
typedef struct fill_limits {
    double drop, fill;
} fill_limits;

/* Rows of factors: columns ascend, and each row has its diagonal entry. Values are entries of L and U, or levels. */
typedef struct fill_rows {
    tess_context *ctx;
    int64_t n, nnz, capacity;
    int64_t *row_ptr, *diagonal; /* n + 1, n */
    int32_t *col_ind;            /* capacity */
    double *val;                 /* capacity */
} fill_rows;

/* An entry of the row under construction. */
typedef struct fill_entry {
    double value;
    int32_t column;
} fill_entry;

/* The row under construction: values by column, the columns in no order, and those left of the diagonal that are still
   to be eliminated as a heap. */
typedef struct fill_work {
    tess_context *ctx;
    int64_t n, row, count, heaped, chosen;
    double *value;      /* n, for columns with the row's stamp */
    int32_t *stamp;     /* n: the row's number from 1 */
    int32_t *column;    /* count */
    int32_t *heap;      /* heaped */
    fill_entry *choice; /* chosen */
} fill_work;

tess_status fill_open(tess_context *ctx, int64_t n, int64_t capacity, fill_rows *rows, fill_work *work);
void fill_close(fill_rows *rows, fill_work *work);
void fill_begin_row(fill_work *work, int64_t row);
/* The value of a column; a column that the row did not have gets `initial`. */
double *fill_touch(fill_work *work, int32_t column, double initial);
/* The first column left of the diagonal that is still to be eliminated, or -1. */
int32_t fill_next(fill_work *work);
/* Appends the diagonal and the `most` chosen entries of largest magnitude. */
tess_status fill_end_row(fill_work *work, fill_rows *rows, double diagonal, int64_t most);
static inline void fill_choose(fill_work *work, int32_t column, double value)
{
    work->choice[work->chosen++] = (fill_entry){value, column};
}

/* Entries that a row of A with `own` nonzeros may keep; `fill` is any positive number. */
static inline int64_t fill_most(double fill, int64_t own, int64_t n)
{
    const double most = fill * (double)own;

    return most < (double)n ? (int64_t)most : n;
}

/* The rows of the transpose, or of that of the lower triangle and the diagonal, with ascending columns; source[k]: the
   place in A of entry k, or NULL. Fills row_ptr; values are not read. */
void fill_transpose(const fill_input *a, bool lower, int64_t *row_ptr, int32_t *col_ind, int64_t *source);

/* The pivot, or another that the pattern goes on with if it would end the elimination. */
double fill_pivot(double pivot, double size);

tess_status fill_by_levels(const fill_input *a, int level, fill_rows *rows, fill_work *work);
tess_status fill_by_threshold(const fill_input *a, const fill_limits *o, fill_rows *rows, fill_work *work);
/* The lower triangle of a symmetric factorization, from the lower triangle of A. */
tess_status fill_symmetric(const fill_input *a, const fill_limits *o, fill_rows *rows, fill_work *work);

#endif
