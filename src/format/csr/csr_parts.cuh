/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by products of matrices in parts on the GPU, whether the parts own their rows or are layers: the precisions of
   parts. */
#ifndef TESS_FORMAT_CSR_CSR_PARTS_CUH
#define TESS_FORMAT_CSR_CSR_PARTS_CUH

#include "device/gpu/storage_types.cuh"
#include "format/csr/csr_product.cuh"

/* The storage types that parts may have. The type is found when a block knows its chunk. */
typedef storage_of_bytes_or_more<2> part_storage;

static inline tess_status csr_check_part(tess_context *ctx, const csr_view *v)
{
    if (tess_precision_bytes(v->precision) >= 2) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_UNSUPPORTED, "use levels of 16 bits or more, or --device cpu",
                     "a GPU has no product for parts stored in %s", tess_precision_name(v->precision));
}

/* The result of use(a value, x), with x in FP64, or, with FP32 arithmetic and values below fp64, with its shadow. */
template <typename USE>
__device__ static __forceinline__ auto with_part_types(tess_precision precision, const tess_spmv_args &args, USE use)
{
    typedef decltype(use(double(), args.x)) RESULT;
    bool low = args.low_arithmetic == TESS_ARITHMETIC_FP32;

    if (tess_storage_bytes(precision) < 2) { __builtin_unreachable(); } /* csr_check_part */
    return gpu_value_by_storage<part_storage>(precision, RESULT(), [&](auto stored) {
        typedef typename decltype(stored)::type VALUE;

        if constexpr (sizeof(VALUE) < sizeof(double)) {
            if (low) { return use(VALUE(), args.x_shadow); }
        }
        return use(VALUE(), args.x);
    });
}

/* The same with the arithmetic known at compile time. */
template <bool LOW, typename USE>
__device__ static __forceinline__ auto with_part_types(tess_precision precision, const tess_spmv_args &args, USE use)
{
    typedef decltype(use(double(), args.x)) RESULT;

    if (tess_storage_bytes(precision) < 2) { __builtin_unreachable(); } /* csr_check_part */
    return gpu_value_by_storage<part_storage>(precision, RESULT(), [&](auto stored) {
        typedef typename decltype(stored)::type VALUE;

        if constexpr (LOW && sizeof(VALUE) < sizeof(double)) {
            return use(VALUE(), args.x_shadow);
        } else {
            return use(VALUE(), args.x);
        }
    });
}

/* ---- rows longer than a segment ---- */

template <typename VALUE>
static tess_status sum_segments(tess_context *ctx, const matrix_argument &m, const csr_plan *p,
                                const tess_spmv_args *args, const loop_predicate &predicate)
{
    if (sizeof(VALUE) < sizeof(double) && args->low_arithmetic == TESS_ARITHMETIC_FP32) {
        return gpu_launch(ctx, "summing split rows", segment_kernel<VALUE, float>, (unsigned)p->nsegments, 0, m,
                          args->x_shadow, predicate, p->segment_sum);
    }
    return gpu_launch(ctx, "summing split rows", segment_kernel<VALUE, double>, (unsigned)p->nsegments, 0, m, args->x,
                      predicate, p->segment_sum);
}

static tess_status sum_part_segments(tess_context *ctx, tess_precision precision, const csr_plan *plan,
                                     const matrix_argument &m, const tess_spmv_args *args,
                                     const loop_predicate &predicate)
{
    if (plan->nsplit == 0) { return TESS_SUCCESS; }
    return gpu_by_storage<part_storage>(ctx, precision, [&](auto stored) {
        return sum_segments<typename decltype(stored)::type>(ctx, m, plan, args, predicate);
    });
}

#endif
