/* SPDX-License-Identifier: Apache-2.0 */
/* What the formats share that pad rows or diagonals and have one precision: dia, ellr and sell. */
#ifndef TESS_FORMAT_PADDED_H
#define TESS_FORMAT_PADDED_H

#include "matrix/matrix.h"

/* Checks max_padding; a tess_format_ops.check_options. */
tess_status padded_check_options(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *options);
/* Refuses FP64 vectors for a matrix with FP32 arithmetic. */
tess_status padded_check_product(const tess_matrix *a, tess_arithmetic arithmetic, const tess_spmv_args *args);
/* The row offsets, which are the original's. row_ptr may be NULL. */
tess_status padded_decode_offsets(const tess_matrix *a, int64_t *row_ptr);

#endif
