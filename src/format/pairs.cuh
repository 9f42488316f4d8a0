/* SPDX-License-Identifier: Apache-2.0 */
/* Products in pairs of FP32 numbers on the GPU: what formats share (format/pairs.h). */
#ifndef TESS_FORMAT_PAIRS_CUH
#define TESS_FORMAT_PAIRS_CUH

#include "device/gpu/reduce.cuh"
#include "device/gpu/storage_types.cuh"
#include "format/pairs.h"
#include "format/row_epilogue.h"

template <typename STORED>
__device__ static inline float_pair pair_of_stored(STORED value)
{
    if constexpr (sizeof(STORED) == sizeof(double)) {
        return float_pair_of(value);
    } else {
        const float_pair p = {tess::decode<float>(value), 0.0F};

        return p;
    }
}

/* Without dot products: of any vectors and update. */
template <int NDOTS>
__device__ static inline void finish_pair_row(const tess_spmv_args &args, int64_t row, float_pair sum, double *dots)
{
    if constexpr (NDOTS > 0) {
        finish_row<NDOTS>(args, row, float_pair_value(sum), dots);
    } else {
        spmv_finish_single(&args, row, float_pair_value(sum), dots);
    }
}

/* Launches kernel(matrix..., args, predicate, target). */
template <int NDOTS, typename KERNEL, typename... MATRIX>
static tess_status launch_pairs(tess_context *ctx, const char *what, KERNEL kernel, unsigned grid,
                                const tess_spmv_args *args, const MATRIX &...matrix)
{
    loop_predicate predicate;
    reduce_target target;
    tess_status status = TESS_SUCCESS;

    if (grid == 0) { return TESS_SUCCESS; }
    TESS_TRY(make_settled_predicate(ctx, args->reduction.state, &predicate));
    TESS_TRY(prepare_reduction(ctx, grid, NDOTS, args->reduction.scalar, args->reduction.state, &target));
    status = gpu_launch(ctx, what, kernel, grid, 0, matrix..., *args, predicate, target);
    status = end_reduction(ctx, status, target);
cleanup:
    return status;
}

/* FORMAT::launch<STORED, NDOTS>(ctx, view, args) */
template <typename FORMAT, typename VIEW>
static tess_status select_pairs(tess_context *ctx, const VIEW *v, const tess_spmv_args *args)
{
    return gpu_by_storage(ctx, v->precision, [&](auto stored) {
        typedef typename decltype(stored)::type value;

        switch (args->reduction.ndots) {
        case 0: return FORMAT::template launch<value, 0>(ctx, v, args);
        case 1: return FORMAT::template launch<value, 1>(ctx, v, args);
        default: return FORMAT::template launch<value, 2>(ctx, v, args);
        }
    });
}

#endif
