/* SPDX-License-Identifier: Apache-2.0 */
/* DIA on the GPU: chooses a product, and has the tables. */
#include "device/gpu/gpu.h"
#include "device/gpu/storage_types.cuh"
#include "format/dia/dia.h"

/* A product with values stored as STORED (dia_stored_device.cu). */
template <typename STORED>
tess_status dia_multiply(tess_context *ctx, const dia_view *v, const tess_spmv_args *args);
/* The same in pairs of FP32 numbers (dia_pairs_device.cu). */
tess_status dia_multiply_pairs(tess_context *ctx, const dia_view *v, const tess_spmv_args *args);
/* The same for several columns (dia_columns_stored_device.cu). */
template <typename STORED>
tess_status dia_multiply_columns(tess_context *ctx, const dia_view *v, const tess_spmv_args *args);

static tess_status spmv(tess_context *ctx, const dia_view *v, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    if (v->arithmetic == TESS_ARITHMETIC_FP32X2) { return dia_multiply_pairs(ctx, v, args); }
    return gpu_by_storage(ctx, v->precision,
                          [&](auto stored) { return dia_multiply<typename decltype(stored)::type>(ctx, v, args); });
}

static tess_status multiply_columns(tess_context *ctx, const dia_view *v, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    return gpu_by_storage(ctx, v->precision, [&](auto stored) {
        return dia_multiply_columns<typename decltype(stored)::type>(ctx, v, args);
    });
}

/* Products need no preparation. */
static tess_status prepare(tess_context *, const dia_view *)
{
    return TESS_SUCCESS;
}

/* Behind functions, because HIP would also emit a visible table for the device. */
extern "C" const dia_ops *dia_gpu_ops(void)
{
    static const dia_ops table = {dia_gpu_mark,
                                  dia_gpu_count_marks,
                                  dia_gpu_list_marks,
                                  dia_gpu_count_entries,
                                  dia_gpu_fill_bitmaps,
                                  dia_gpu_fill_values,
                                  dia_gpu_decode,
                                  prepare,
                                  spmv,
                                  multiply_columns,
                                  true};

    return &table;
}
