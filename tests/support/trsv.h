/* SPDX-License-Identifier: Apache-2.0 */
/* Dense triangular solves against their residual bound: the same checks on every device. */
#ifndef TESS_TESTS_SUPPORT_TRSV_H
#define TESS_TESTS_SUPPORT_TRSV_H

#include <tessera/dense.h>

#include "support/test.h"

/* Every storage, triangle, operation, diagonal, arithmetic and inversion at one size. */
void check_trsv_all(tess_context *ctx, int64_t n);
/* The same for one storage; `extra` rows lie between columns, and the array begins `offset` values late. */
void check_trsv_layout(tess_context *ctx, int64_t n, tess_precision storage, int64_t extra, int64_t offset);
/* Solutions that are small integers come out exactly. */
void check_trsv_exact(tess_context *ctx, int64_t n);
/* A zero on the diagonal: Inf or NaN there, finite values before it. */
void check_trsv_zero_pivot(tess_context *ctx, int64_t n, int64_t pivot);
/* The same bits again, also after solves of other sizes and arithmetics. */
void check_trsv_repeats(tess_context *ctx, int64_t n);
/* One solve with fixed random operands; x gets n values. */
void trsv_sample(tess_context *ctx, const tess_trsv_options *options, int64_t n, tess_precision storage, double *x);

#endif
