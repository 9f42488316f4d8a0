/* SPDX-License-Identifier: Apache-2.0 */
/* ELLPACK-R and SELL-C-sigma on the GPU: chooses a product, and has the tables. */
#include "device/gpu/gpu.h"
#include "device/gpu/storage_types.cuh"
#include "format/ellr/ellr.h"

/* A product with values stored as STORED (ellr_stored_device.cu). */
template <typename STORED>
tess_status ellr_multiply(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args);
/* The same for several columns (ellr_columns_stored_device.cu). */
template <typename STORED>
tess_status ellr_multiply_columns(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args);

static tess_status spmv(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    return gpu_by_storage(ctx, v->precision,
                          [&](auto stored) { return ellr_multiply<typename decltype(stored)::type>(ctx, v, args); });
}

static tess_status multiply_columns(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    return gpu_by_storage(ctx, v->precision, [&](auto stored) {
        return ellr_multiply_columns<typename decltype(stored)::type>(ctx, v, args);
    });
}

/* Products need no preparation. */
static tess_status prepare(tess_context *, const ellr_view *)
{
    return TESS_SUCCESS;
}

/* Behind functions, because HIP would also emit a visible table for the device. */
extern "C" const ellr_ops *ellr_gpu_ops(void)
{
    static const ellr_ops table = {ellr_gpu_longest_row,
                                   ellr_gpu_arrange,
                                   ellr_gpu_fill_columns,
                                   ellr_gpu_fill_values,
                                   ellr_gpu_decode,
                                   prepare,
                                   spmv,
                                   ellr_gpu_spmv_parts,
                                   ellr_gpu_spmv_layers,
                                   multiply_columns,
                                   true};

    return &table;
}
