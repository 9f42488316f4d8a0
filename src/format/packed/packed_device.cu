/* SPDX-License-Identifier: Apache-2.0 */
/* Packed matrices on the GPU: products with entries in several precisions, and the table. */
#include "format/packed/packed_product.cuh"

/* A product with values stored as STORED (packed_stored_device.cu). */
template <typename STORED>
tess_status packed_multiply(tess_context *ctx, const packed_view *v, const tess_spmv_args *args);

enum {
    PAIR = 1U << TESS_PRECISION_FP64 | 1U << TESS_PRECISION_FP32,
    TRIPLE = PAIR | 1U << TESS_PRECISION_FP16,
    EVERY = (1U << TESS_PRECISION_COUNT) - 1U
};

/* Levels of few precisions, which most have, leave more registers. */
static tess_status multiply_mixed(tess_context *ctx, const packed_view *v, const tess_spmv_args *args)
{
    unsigned precisions = 0;

    for (int l = 0; l < v->nlevels; l++) {
        precisions |= 1U << v->precision[l];
    }
    if ((precisions & ~(unsigned)PAIR) == 0) {
        return select_kernel<packed_products, packed_mixed<PAIR>>(ctx, v, args);
    }
    if ((precisions & ~(unsigned)TRIPLE) == 0) {
        return select_kernel<packed_products, packed_mixed<TRIPLE>>(ctx, v, args);
    }
    return select_kernel<packed_products, packed_mixed<EVERY>>(ctx, v, args);
}

static tess_status spmv(tess_context *ctx, const packed_view *v, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    if (v->only < 0) { return multiply_mixed(ctx, v, args); }
    return gpu_by_storage(ctx, v->precision[v->only],
                          [&](auto stored) { return packed_multiply<typename decltype(stored)::type>(ctx, v, args); });
}

/* Products need no preparation. */
static tess_status prepare(tess_context *, const packed_view *)
{
    return TESS_SUCCESS;
}

/* Behind a function, because HIP would also emit a visible table for the device. */
extern "C" const packed_ops *packed_gpu_ops(void)
{
    static const packed_ops table = {packed_gpu_measure, packed_gpu_fill, packed_gpu_decode, prepare, spmv};

    return &table;
}
