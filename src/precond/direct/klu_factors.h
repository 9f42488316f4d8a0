/* SPDX-License-Identifier: Apache-2.0 */
/*
 * L U by columns without dense blocks, in FP64: of circuits, power grids and bands, whose factors have few operations
 * for an entry. KLU computes them (Davis, Palamadai Natarajan, ACM TOMS 37 (2010)); it is loaded at the first question.
 */
#ifndef TESS_PRECOND_DIRECT_KLU_FACTORS_H
#define TESS_PRECOND_DIRECT_KLU_FACTORS_H

#include "precond/direct/direct.h"

typedef struct klu_factors klu_factors;

bool klu_is_here(void);
/* Factors of D_r A D_c in FP64, real or complex. Fills the exponents of both sides (one for each row of the matrix),
   which bring the largest magnitude of each row, and then of each column, to about 1. *factors: NULL, or those of a
   matrix with the same pattern before, whose order is kept, and whose pivots are where they do. NULL afterwards: KLU is
   not here, or should not take this matrix: too many operations for an entry, too little memory, no pivots, or pivots
   that let entries grow too much. Errors: memory, a limit of time. */
tess_status klu_compute(const direct_system *s, int64_t allowed, int32_t *row_exponent, int32_t *column_exponent,
                        klu_factors **factors);
/* Each column of rhs, of n values one after another (complex: re and im in turn), := A^-1 or A^-T times it. Many
 * columns are shared by threads. */
void klu_solve_columns(tess_context *ctx, klu_factors *f, bool transposed, int columns, double *rhs);
int64_t klu_entries(const klu_factors *f);
int64_t klu_bytes(const klu_factors *f);
/* NULL is allowed. */
void klu_close(tess_context *ctx, klu_factors *f);

#endif
