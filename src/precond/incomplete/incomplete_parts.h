/* SPDX-License-Identifier: Apache-2.0 */
/* What incomplete factors are made of: incomplete_analysis.c makes it, incomplete.c computes and applies them. */
#ifndef TESS_PRECOND_INCOMPLETE_INCOMPLETE_PARTS_H
#define TESS_PRECOND_INCOMPLETE_INCOMPLETE_PARTS_H

#include "precond/incomplete/incomplete.h"

struct tess_incomplete {
    tess_context *ctx;
    const tess_matrix *given;  /* assembled; borrowed */
    const tess_matrix *matrix; /* what is factored: it, that of the colors, or that with fill */
    incomplete_colors colors;
    tess_matrix *filled; /* NULL: there is no fill */
    tess_precond_kind kind;
    int64_t n, nnz; /* nnz: entries of the pattern that is factored */
    bool cholesky;
    tess_precision storage;
    int64_t missing_row; /* the first row without a diagonal entry, for which there are no factors; or -1 */
    bool usable;
    double shift;
    int sweeps;                 /* > 0: approximate factors, by so many */
    bool by_host;               /* one thread of the host computes the factors, row after row */
    incomplete_pattern pattern; /* on the host, if it computes the factors */
    int64_t *diagonal;          /* else on the device: n places */
    level_schedule schedule;    /* of the elimination */
    int32_t *order;             /* else its rows, on the device */
    sparse_triangle *lower, *upper;
    double *inverse;      /* D^-1 */
    double *work[2];      /* n values each */
    double *columns_work; /* n values of `columns` columns; NULL before they are prepared */
    int columns;
    uint64_t moves;    /* of both triangles, at the last set-up */
    uint64_t revision; /* counts set-ups that may have moved memory */
};

/* Of columns_work for so many columns: one vector of each, or two. */
static inline int64_t incomplete_columns_values(const tess_incomplete *m, int columns)
{
    return (m->colors.matrix ? 2 : 1) * m->n * columns;
}

#endif
