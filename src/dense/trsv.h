/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense triangular solves for the backends, and the order in which host and device solve.
 *
 * The triangle is cut into blocks of TRSV_BLOCK rows at multiples of TRSV_BLOCK, so that an aligned array has aligned
 * blocks. Blocks are solved one after another, from the first to the last or from the last to the first; step p solves
 * block p in that order. The rows within a block follow the same order. In this order every case is a lower triangle L:
 * below, L(r, c), r > c, is the factor of x_c that is subtracted from row r. With the operation NONE, L's rows are A's
 * rows; transposed, they are A's columns.
 */
#ifndef TESS_DENSE_TRSV_H
#define TESS_DENSE_TRSV_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/codec.h>
#include <tessera/dense.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TRSV_BLOCK = 64 };

/* x := op(T)^-1 x. The views are checked; n is at least 1. */
typedef struct tess_trsv_args {
    tess_trsv_options options;
    tess_dense_view a, x;
} tess_trsv_args;

/* The functions of a device. */
typedef struct trsv_ops {
    tess_status (*trsv)(tess_context *ctx, const tess_trsv_args *args);
} trsv_ops;

extern const trsv_ops trsv_host_ops;
const trsv_ops *trsv_gpu_ops(void);
const trsv_ops *trsv_ops_of(const tess_context *ctx);

/* Whether the last row is solved first. */
static inline bool trsv_backward(const tess_trsv_options *options)
{
    return (options->triangle == TESS_UPPER) != (options->operation == TESS_OP_TRANSPOSE);
}

static inline int64_t trsv_blocks(int64_t n)
{
    return (n + TRSV_BLOCK - 1) / TRSV_BLOCK;
}

#ifdef __cplusplus
}
#endif

#endif
