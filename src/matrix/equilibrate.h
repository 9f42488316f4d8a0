/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scaling by powers of two that brings the largest magnitude of each row and column to about 1: D_r A D_c. Source:
 * Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034 (2001), Algorithm
 * 1 in the infinity norm. Two sides begin with geometric means (Fulkerson, Wolfe, SIAM Rev. 4 (1962)). Factors are
 * exponents, so that nothing rounds.
 */
#ifndef TESS_MATRIX_EQUILIBRATE_H
#define TESS_MATRIX_EQUILIBRATE_H

#include "base/context.h"

/* Finite entries on the host, in any order. Row and column numbers begin at `base`. */
typedef struct equilibrate_entries {
    int64_t n, count;
    const int32_t *row, *column;
    int32_t base;
    const double *val;
    int32_t most_spread; /* bits between the factors of a side that geometric means may add; 0: any number */
} equilibrate_entries;

/*
 * Fills row_exponent and column_exponent (n each): entry (i, j) is to be multiplied by 2^(row_exponent[i] +
 * column_exponent[j]). With column_exponent NULL, row_exponent serves both sides: D A D. Each entry then counts for row
 * i and for row j, so that half of a symmetric matrix is enough. Rows of zeros keep the exponent 0. No magnitude is
 * above 4 afterwards, and each row and column with a nonzero has one of at least 1/4 (D A D: row or column). Errors:
 * memory.
 *
 * Geometric means may drive factors apart without need: along a chain whose couplings are 1 to one side and 2^-50 to
 * the
 * other they grow by 2^25 a row. Where they spread the factors of a side by more than most_spread bits beyond what
 * largest magnitudes alone take, those alone decide.
 */
tess_status equilibrate(tess_context *ctx, const equilibrate_entries *entries, int32_t *row_exponent,
                        int32_t *column_exponent);

#endif
