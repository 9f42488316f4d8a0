/* SPDX-License-Identifier: Apache-2.0 */
/* What products of matrices in parts share on the GPU, whether the parts own their rows or are layers: the precisions of parts. */
#ifndef TESS_FORMAT_CSR_CSR_PARTS_CUH
#define TESS_FORMAT_CSR_CSR_PARTS_CUH

#include "format/csr/csr_product.cuh"

/* The precisions that parts may have; the value type is chosen where a block knows its chunk. */
#define LOW_TYPES(X)    \
    X(float, FP32)      \
    X(tess::bf16, BF16) \
    X(tess::fp16, FP16)
#define PART_TYPES(X) \
    X(double, FP64)   \
    LOW_TYPES(X)

static inline tess_status csr_check_part(tess_context *ctx, const csr_view *v)
{
    if (tess_precision_bytes(v->precision) >= 2) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_UNSUPPORTED, "fp64, fp32, bf16 or fp16", "parts stored in %s on a GPU",
                     tess_precision_name(v->precision));
}

/* Calls use(value type, x): x in FP64, or, with FP32 arithmetic below fp64, its shadow. */
template <typename USE>
__device__ static __forceinline__ auto with_part_types(tess_precision precision, const tess_spmv_args &args, USE use)
{
    bool low = args.low_arithmetic == TESS_ARITHMETIC_FP32;

    switch (precision) {
    case TESS_PRECISION_FP32: return low ? use(float(), args.x_shadow) : use(float(), args.x);
    case TESS_PRECISION_BF16: return low ? use(tess::bf16(), args.x_shadow) : use(tess::bf16(), args.x);
    case TESS_PRECISION_FP16: return low ? use(tess::fp16(), args.x_shadow) : use(tess::fp16(), args.x);
    default: return use(double(), args.x);
    }
}

/* ---- rows longer than a segment ---- */

template <typename VALUE>
static tess_status sum_segments(tess_context *ctx, const matrix_argument &m, const csr_plan *p,
                                const tess_spmv_args *args, const loop_gate &gate)
{
    if (sizeof(VALUE) < sizeof(double) && args->low_arithmetic == TESS_ARITHMETIC_FP32) {
        return gpu_launch(ctx, "summing split rows", segment_kernel<VALUE, float>, (unsigned)p->nsegments, 0, m,
                          args->x_shadow, gate, p->segment_sum);
    }
    return gpu_launch(ctx, "summing split rows", segment_kernel<VALUE, double>, (unsigned)p->nsegments, 0, m, args->x,
                      gate, p->segment_sum);
}

static tess_status sum_part_segments(tess_context *ctx, tess_precision precision, const csr_plan *plan,
                                     const matrix_argument &m, const tess_spmv_args *args, const loop_gate &gate)
{
    if (plan->nsplit == 0) { return TESS_SUCCESS; }
    switch (precision) {
#define SUM_SEGMENTS(VALUE, NAME) \
    case TESS_PRECISION_##NAME: return sum_segments<VALUE>(ctx, m, plan, args, gate);
        PART_TYPES(SUM_SEGMENTS)
#undef SUM_SEGMENTS
    default: return TESS_UNSUPPORTED;
    }
}

#endif
