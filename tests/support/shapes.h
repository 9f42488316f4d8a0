/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of shapes that trouble formats: empty and dense rows, tall, wide, ragged, nothing at all, extreme values. */
#ifndef TESS_TESTS_SUPPORT_SHAPES_H
#define TESS_TESTS_SUPPORT_SHAPES_H

#include "support/test.h"

typedef oracle_csr (*shape_maker)(void);

/* All of them, ended by NULL. */
extern const shape_maker shape_makers[];
oracle_csr shape_grid(void);
oracle_csr shape_one_by_one(void);
/* Its values are for spread_values. */
oracle_csr shape_wide_range(void);
/* Rows against which a bound on their errors may break: none or one entry, zeros, entries near overflow and underflow
   of each precision and of FP64, one large entry among many small ones, a long row, NaN, Inf. */
oracle_csr shape_hard_rows(void);
/* Magnitudes over all of the precision's range (of FP64's as much as FP32 has), its subnormals included. */
void spread_values(oracle_csr *a, tess_precision precision);

#endif
