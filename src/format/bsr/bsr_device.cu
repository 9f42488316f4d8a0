/* SPDX-License-Identifier: Apache-2.0 */
/* BSR on the GPU: chooses a product, and has the table. */
#include "device/gpu/gpu.h"
#include "device/gpu/storage_types.cuh"
#include "format/bsr/bsr.h"

/* A product with values stored as STORED (bsr_stored_device.cu). */
template <typename STORED>
tess_status bsr_multiply(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args);
/* The same for several columns (bsr_columns_stored_device.cu). */
template <typename STORED>
tess_status bsr_multiply_columns(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args);

static tess_status spmv(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    return gpu_by_storage(ctx, v->precision,
                          [&](auto stored) { return bsr_multiply<typename decltype(stored)::type>(ctx, v, args); });
}

static tess_status multiply_columns(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    return gpu_by_storage(ctx, v->precision, [&](auto stored) {
        return bsr_multiply_columns<typename decltype(stored)::type>(ctx, v, args);
    });
}

/* The plan is made with the matrix. */
static tess_status prepare(tess_context *, const bsr_view *)
{
    return TESS_SUCCESS;
}

/* Behind a function, because HIP would also emit a visible table for the device. */
extern "C" const bsr_ops *bsr_gpu_ops(void)
{
    static const bsr_ops table = {bsr_gpu_count_blocks,
                                  bsr_gpu_measure_reach,
                                  bsr_gpu_fill_offsets,
                                  bsr_gpu_fill_columns,
                                  bsr_gpu_fill_values,
                                  bsr_gpu_decode,
                                  bsr_gpu_plan,
                                  prepare,
                                  spmv,
                                  multiply_columns};

    return &table;
}
