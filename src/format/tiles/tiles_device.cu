/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles in layout grouped times a vector on the GPU: the choice of a kernel, and the tables. */
#include "device/gpu/gpu.h"
#include "format/tiles/tiles_device.cuh"

enum { LONG_BLOCK_ROW = 3072 /* bytes of a mean block row from which a wave takes one block row, two threads a row */ };

/* Levels in FP64 and FP32, and few entries in a row: what both need is fetched at once. */
static bool takes_pairs(const tiles_view *v)
{
    enum { FEW = 12 };

    return v->nlevels == 2 && v->precision[0] == TESS_PRECISION_FP64 && v->precision[1] == TESS_PRECISION_FP32 &&
           v->nnz <= FEW * v->nrows;
}

static tess_status spmv(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    if (v->nblock_rows == 0) { return TESS_SUCCESS; }
    if (v->rows == 32) { return tiles_multiply_32(ctx, v, longest, args, takes_pairs(v)); }
    if (v->units * TILES_UNIT / v->nblock_rows >= LONG_BLOCK_ROW) { return tiles_multiply_long(ctx, v, longest, args); }
    return tiles_multiply_16(ctx, v, longest, args, takes_pairs(v));
}

/* Products need nothing beyond the build. */
static tess_status prepare(tess_context *, const tiles_view *)
{
    return TESS_SUCCESS;
}

/* Behind functions: a table that is visible outside would be emitted for the device as well by HIP. */
extern "C" const tiles_ops *tiles_gpu_ops(void)
{
    static const tiles_ops table = {tiles_gpu_measure, tiles_gpu_fill, prepare, spmv};

    return &table;
}
