/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of vectors: the rows of a list, taken out and put back. */
#ifndef TESS_PRECOND_SADDLE_ROWS_H
#define TESS_PRECOND_SADDLE_ROWS_H

#include "base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of a device. `rows`: n different numbers, on the device. The whole vector has a precision, FP64 or
   FP32, the part is FP64. state: of the loop that calls, which may have stopped; NULL: there is none. */
typedef struct rows_ops {
    /* part[i] = whole[rows[i]] */
    tess_status (*take)(tess_context *ctx, int64_t n, const int32_t *rows, tess_precision precision, const void *whole,
                        double *part, const tess_loop_state *state);
    /* whole[rows[i]] = factor part[i] */
    tess_status (*put)(tess_context *ctx, int64_t n, const int32_t *rows, double factor, const double *part,
                       tess_precision precision, void *whole, const tess_loop_state *state);
} rows_ops;

extern const rows_ops rows_host_ops;
const rows_ops *rows_gpu_ops(void);
const rows_ops *rows_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
