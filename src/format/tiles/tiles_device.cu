/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles in layout grouped times a vector on the GPU: chooses a kernel, and has the tables. */
#include "device/gpu/gpu.h"
#include "format/tiles/tiles_device.cuh"

enum {
    LONG_BLOCK_ROW = 3072 /* bytes of a mean block row from which on a wave takes one block row, with two threads per
                             row */
};

/* Levels are FP64 and FP32, and rows have few entries: the data of both levels is loaded at once. */
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

/* Products need no preparation. */
static tess_status prepare(tess_context *, const tiles_view *)
{
    return TESS_SUCCESS;
}

/* Behind functions, because HIP would also emit a visible table for the device. */
extern "C" const tiles_ops *tiles_gpu_ops(void)
{
    static const tiles_ops table = {tiles_gpu_measure, tiles_gpu_fill, nullptr,
                                    prepare,           spmv,           tiles_gpu_multiply_columns};

    return &table;
}
