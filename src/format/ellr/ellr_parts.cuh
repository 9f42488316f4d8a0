/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by products of several slices on the GPU, whether these are parts that own their rows or layers. */
#ifndef TESS_FORMAT_ELLR_ELLR_PARTS_CUH
#define TESS_FORMAT_ELLR_ELLR_PARTS_CUH

#include "device/gpu/reduce.cuh"
#include "device/gpu/storage_types.cuh"
#include "format/ellr/ellr_product.cuh"

/* Sums of rows; LOW: rows stored below FP64 use FP32 products with the rounded x. */
template <bool LOW, int BATCH, int ROWS>
__device__ static inline void sum_part_rows(tess_precision precision, const thread_rows<any_value, ROWS> &rows,
                                            const tess_spmv_args &args, double (&sum)[ROWS])
{
    gpu_call_by_storage(precision, [&](auto stored) {
        typedef typename decltype(stored)::type STORED;

        if constexpr (LOW && sizeof(STORED) < sizeof(double)) {
            sum_rows<STORED, float, BATCH>(rows, args.x_shadow, sum);
        } else {
            sum_rows<STORED, double, BATCH>(rows, args.x, sum);
        }
    });
}

/* Each part needs its x: in FP64, or rounded. */
static inline bool ellr_has_factors(int count, const ellr_view *views, const tess_spmv_args *args)
{
    for (int p = 0; p < count; p++) {
        bool low = args->low_arithmetic == TESS_ARITHMETIC_FP32 && views[p].precision != TESS_PRECISION_FP64;

        if (views[p].nnz > 0 && !(low ? (const void *)args->x_shadow : args->x)) { return false; }
    }
    return true;
}

static inline tess_status ellr_check_parts(tess_context *ctx, int count, const ellr_view *views,
                                           const tess_spmv_args *args)
{
    if (count > ELLR_MAX_PARTS || !ellr_has_factors(count, views, args)) {
        return tess_fail(ctx, TESS_INTERNAL, "this is an error of the library; please report it",
                         "a product of %d parts (at most %d) lacks the vectors that the parts need", count,
                         (int)ELLR_MAX_PARTS);
    }
    if (args->vectors != TESS_PRECISION_FP64) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "pass fp64 vectors",
                         "parts in slices or diagonals cannot multiply %s vectors", tess_precision_name(args->vectors));
    }
    return TESS_SUCCESS;
}

#endif
