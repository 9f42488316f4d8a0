/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the vector operations in every precision, for a context on any device; tolerances as tessera/vector.h says.
 */
#ifndef TESS_TESTS_SUPPORT_BLAS_H
#define TESS_TESTS_SUPPORT_BLAS_H

#include "support/test.h"

/* Where the operands of a check lie. */
typedef struct blas_case {
    int64_t n;
    tess_precision x, y;
    tess_arithmetic arithmetic;
    int offset; /* values by which the arrays miss the alignment of a fresh allocation */
} blas_case;

/* DOT, NRM2, AXPBY (with and without beta, and in place) and SCAL against the oracle. */
void check_blas(tess_context *ctx, const blas_case *c);
/* Every pair of precisions and arithmetics at short lengths, aligned and not. */
void check_blas_combinations(tess_context *ctx);
/* Set, get and copy between all pairs of precisions: the codec's bits. */
void check_conversions(tess_context *ctx);
/* Norms whose squares leave the range of the arithmetic; NaN and Inf; overflow of results. */
void check_blas_range(tess_context *ctx);
/* An FP32 shadow is updated by AXPBY and SCAL. */
void check_blas_shadows(tess_context *ctx);

#endif
