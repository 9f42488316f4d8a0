/* SPDX-License-Identifier: Apache-2.0 */
/* Products of DIA in pairs of FP32 numbers on the GPU: a thread a row, diagonal after diagonal. */
#include "format/dia/dia_rows.h"
#include "format/pairs.cuh"

template <typename STORED, int NDOTS>
__global__ static void __launch_bounds__(GPU_BLOCK)
    diagonals_kernel(const dia_view v, const tess_spmv_args args, const loop_predicate predicate,
                     const reduce_target target)
{
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, NDOTS > 0, &scalars)) { return; }
    for (int64_t row = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; row < v.nrows;
         row += (int64_t)gridDim.x * GPU_BLOCK) {
        float_pair sum = {0.0F, 0.0F};

        for (int64_t d = 0; d < v.ndiagonals; d++) {
            const dia_diagonal diagonal = v.diagonal[d];

            if (dia_has_entry(&v, diagonal, row)) {
                const STORED value = gpu_load_once((const STORED *)v.val + dia_place(&v, d, row));

                sum = float_pair_plus(
                    sum, float_pair_times(pair_of_stored(value), pairs_factor(&args, row + diagonal.offset)));
            }
        }
        finish_pair_row<NDOTS>(args, row, sum, dots);
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

struct diagonals {
    template <typename STORED, int NDOTS>
    static tess_status launch(tess_context *ctx, const dia_view *v, const tess_spmv_args *args)
    {
        return launch_pairs<NDOTS>(ctx, "a product by diagonals in pairs", diagonals_kernel<STORED, NDOTS>,
                                   gpu_grid(ctx, v->nrows, 8), args, *v);
    }
};

tess_status dia_multiply_pairs(tess_context *ctx, const dia_view *v, const tess_spmv_args *args)
{
    return select_pairs<diagonals>(ctx, v, args);
}
