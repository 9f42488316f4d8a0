/* SPDX-License-Identifier: Apache-2.0 */
/* What patterns and rows on the GPU share. */
#ifndef TESS_PRECOND_INVERSE_INVERSE_DEVICE_CUH
#define TESS_PRECOND_INVERSE_INVERSE_DEVICE_CUH

#include <math.h>

#include "device/gpu/gpu.h"
#include "precond/inverse/inverse.h"

/* As find_scale of inverse_pattern.c. */
__device__ inline double inverse_scale_of(double diagonal)
{
    const double root = 1.0 / sqrt(fabs(diagonal));

    return root - root == 0.0 && root > 0.0 ? root : 1.0;
}

/* Rounded twice, as on the host. */
__device__ inline void inverse_subtract(double *y, double f, double x)
{
    *y = __dsub_rn(*y, __dmul_rn(f, x));
}

/* The functions of inverse_ops. The host finds patterns that memory or offsets of 32 bits have no room for. */
tess_status inverse_pattern_on_device(const inverse_request *q, inverse_rows *rows, bool *found);
tess_status inverse_rows_on_device(const inverse_request *q, inverse_rows *rows, inverse_outcome *out);
tess_status inverse_drop_small_on_device(const inverse_request *q, inverse_rows *rows);

/* The pattern that inverse_adapt_on_host finds; none (out->row_ptr NULL) where rows of A are too long. */
tess_status inverse_adapt_on_device(const inverse_request *q, device_csr *out);
/* Entries of the longest row. Waits. */
tess_status inverse_longest_row(tess_context *ctx, const csr_view *a, int *longest);
/* OUT_OF_RANGE: so many entries are too many for offsets of 32 bits. */
tess_status inverse_require_offsets(tess_context *ctx, int64_t nnz);

#endif
