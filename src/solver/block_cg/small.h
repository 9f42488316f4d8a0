/* SPDX-License-Identifier: Apache-2.0 */
/* Small dense matrices of block CG on the host, by rows, SMALL_MOST values from one row to the next. */
#ifndef TESS_SOLVER_BLOCK_CG_SMALL_H
#define TESS_SOLVER_BLOCK_CG_SMALL_H

#include "base/fused.h"

enum { SMALL_MOST = TESS_MAX_COLUMNS };

typedef double small_matrix[SMALL_MOST][SMALL_MOST];

/* What is found of a symmetric matrix. */
typedef enum small_verdict { SMALL_DEFINITE, SMALL_INDEFINITE, SMALL_SINGULAR, SMALL_NOT_FINITE } small_verdict;

/* out := K^-1 rhs for a positive definite K of the given order with its upper triangle, and rhs of `columns` columns.
   SINGULAR: definite but for rounding. */
small_verdict small_solve(int order, small_matrix k, int columns, small_matrix rhs, small_matrix out);

/* out := a b, with a of rows by inner and b of inner by columns; the rest of out := 0. */
void small_multiply(int rows, int inner, int columns, small_matrix a, small_matrix b, small_matrix out);

/*
 * A block W with the Gram matrix G = W^T W of the given order. W' := W F has the same span: its first `rank` columns
 * are orthonormal, and each of the others is what is left of a column without its part in their span. W = W' B. *least:
 * the smallest sine of the angle between a column and those that were taken before it.
 */
typedef struct small_basis {
    int rank;
    double least;
    small_matrix f, b;
} small_basis;

/* A column whose diagonal entry is 0 stays as it is. Errors: INDEFINITE for a negative one, NOT_FINITE. */
small_verdict small_orthonormalise(int order, small_matrix g, small_basis *out);

#endif
