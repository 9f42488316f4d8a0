/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of neighbouring rows to y on the host, for formats of one part. */
#ifndef TESS_FORMAT_STORE_HOST_H
#define TESS_FORMAT_STORE_HOST_H

#include "format/row_epilogue.h"

/* In FP64. The arguments are copied, so that stores to y cannot change them and the loop vectorises. */
static inline void host_store_fp64(const tess_spmv_args *from, int64_t first, int count, const double *restrict sum,
                                   double *dots)
{
    const tess_spmv_args args = *from;

    for (int i = 0; i < count; i++) {
        args.y[first + i] = spmv_result(&args, first + i, sum[i]);
    }
    for (int i = 0; args.reduction.ndots > 0 && i < count; i++) {
        spmv_add_dots(&args.reduction, args.y, first + i, args.y[first + i], dots);
    }
}

/* Rows first .. first + count - 1, for any vectors and update. */
static inline void host_store_rows(const tess_spmv_args *args, tess_arithmetic arithmetic, int64_t first, int count,
                                   const double *sum, double *dots)
{
    const bool fp32 = args->vectors == TESS_PRECISION_FP32;

    if (!fp32 && args->update.kind == TESS_UPDATE_NONE) {
        host_store_fp64(args, first, count, sum, dots);
        return;
    }
    for (int64_t row = first; row < first + count; row++) {
        if (args->update.kind == TESS_UPDATE_POLYNOMIAL) {
            spmv_finish_step(args, fp32, row, sum[row - first]);
        } else {
            args->y_fp32[row] = spmv_result_fp32(args, arithmetic, row, sum[row - first]);
        }
    }
}

#endif
