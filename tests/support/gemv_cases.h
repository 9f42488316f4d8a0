/* SPDX-License-Identifier: Apache-2.0 */
/* Dense matrix-vector products, compared with wide arithmetic, on any device. */
#ifndef TESS_TESTS_SUPPORT_GEMV_CASES_H
#define TESS_TESTS_SUPPORT_GEMV_CASES_H

#include "support/test.h"

typedef struct gemv_case {
    tess_operation operation;
    tess_arithmetic arithmetic;
    tess_precision a, x, y; /* storage */
    int64_t nrows, ncols;
    int nvec;
    int64_t ld_extra; /* ld = nrows + ld_extra */
    int offset;       /* of A's first value from an address that any load may have, in values */
    double alpha, beta;
    bool scale_a, scale_x;
} gemv_case;

/* Runs the case twice: the result within its bound, the same bits again, and nothing written beside Y. */
void check_gemv(tess_context *ctx, const gemv_case *c);

/* The result of a case as doubles, op(A)'s rows times nvec (for comparisons of bits between contexts). */
double *gemv_result(tess_context *ctx, const gemv_case *c);

/* Every storage, arithmetic, operation and number of columns, over small shapes and two layouts. */
void check_gemv_everywhere(tess_context *ctx);
/* NaN and Inf in A come out where they belong and nowhere else. */
void check_gemv_specials(tess_context *ctx);
/* Arguments that must be refused, with a message. */
void check_gemv_refusals(tess_context *ctx);

#endif
