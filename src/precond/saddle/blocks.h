/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks of a saddle point [A F; B C], on the host: which rows are constraints, the blocks, and what stands for the
 * Schur complement S = C - B A^-1 F.
 */
#ifndef TESS_PRECOND_SADDLE_BLOCKS_H
#define TESS_PRECOND_SADDLE_BLOCKS_H

#include <math.h>
#include <stdbool.h>

#include "matrix/host_csr.h"

/* Which rows, and columns alike, are unknowns (the first block) and which constraints (the second). */
typedef struct saddle_split {
    int64_t n, unknowns, constraints;
    int64_t zero, small, opposite; /* constraints found by such a diagonal entry; 0 by an index */
    int32_t *rows;                 /* those of the first block, then those of the second, each ascending */
    int32_t *place;                /* of each row: its number in its block, or ~number in the second one */
} saddle_split;

/* By an index of so many rows, or, if `count` is 0, by the diagonal. Errors: INVALID_ARGUMENT (the index), UNSUPPORTED
   (there are no constraints, or nothing else), memory. */
tess_status saddle_split_find(tess_context *ctx, const host_csr *k, const int64_t *index, int64_t count,
                              saddle_split *out);
void saddle_split_release(tess_context *ctx, saddle_split *s);
bool saddle_split_is_same(const saddle_split *s, const saddle_split *other);

typedef struct saddle_blocks {
    const saddle_split *split;
    host_csr a, f, b, c; /* c.row_ptr NULL: all its values are 0 */
    double *diagonal;    /* of A */
    int64_t null_rows;   /* of A: |sum| is small beside the magnitudes */
    bool diagonal_alone; /* A has no other entries */
    int64_t terms;       /* of the product B diag(A)^-1 F */
} saddle_blocks;

/* Errors: SINGULAR (no diagonal in a row of A, no entry in a row of [B C], NaN or Inf), memory. */
tess_status saddle_blocks_take(tess_context *ctx, const host_csr *k, const saddle_split *split, saddle_blocks *out);
void saddle_blocks_release(tess_context *ctx, saddle_blocks *blocks);

/* out := C - B diag(A)^-1 F. Errors: memory. */
tess_status saddle_schur_selfp(tess_context *ctx, const saddle_blocks *blocks, host_csr *out);
/* Whether a diagonal entry of S leaves it without an inverse. */
static inline bool saddle_breaks_down(double entry)
{
    return entry == 0.0 || !isfinite(entry);
}
/* A diagonal matrix: c_ii - b_i A_i^-1 f_i, with A_i of the unknowns in row i of B and column i of F. Values that
   follow one that breaks down may be missing. Errors: memory. */
tess_status saddle_schur_local(tess_context *ctx, const saddle_blocks *blocks, host_csr *out);
/* Rows of A divided by its diagonal, and columns: diag(A)^-1 F, B diag(A)^-1. Values alone change. */
void saddle_divide_rows(host_csr *f, const double *diagonal);
void saddle_divide_columns(host_csr *b, const double *diagonal);
/* The row of the matrix that is row i of the second block. */
static inline int64_t saddle_constraint(const saddle_split *s, int64_t i)
{
    return s->rows[s->unknowns + i];
}

/* How far entries of a square matrix outweigh those of the transpose, from 0 to 1: the sum of |a_ij - a_ji| over that
   of |a_ij| + |a_ji|. Errors: memory. */
tess_status saddle_find_skewness(tess_context *ctx, const host_csr *a, double *skewness);
/* Rows whose sum is small beside their magnitudes. */
int64_t saddle_count_null_rows(const host_csr *a);

#endif
