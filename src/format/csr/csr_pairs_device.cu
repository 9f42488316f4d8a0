/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of CSR in pairs of FP32 numbers on the GPU: a row by pairs_width neighbouring threads. The processors' FP32
 * and integer units do all of a row but its end.
 */
#include "format/csr/csr_plan.cuh"
#include "format/pairs.cuh"

template <typename STORED, int NDOTS>
__global__ static void __launch_bounds__(GPU_BLOCK)
    rows_kernel(const csr_view v, const int width, const tess_spmv_args args, const loop_predicate predicate,
                const reduce_target target)
{
    const int lane = (int)threadIdx.x & (width - 1), group = (int)threadIdx.x / width, groups = GPU_BLOCK / width;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, NDOTS > 0, &scalars)) { return; }
    for (int64_t first = (int64_t)blockIdx.x * groups; first < v.nrows; first += (int64_t)gridDim.x * groups) {
        const int64_t row = first + group;
        float_pair sum = {0.0F, 0.0F};

        if (row < v.nrows) {
            const int64_t end = tess_row_offset(v.row_ptr, v.row_ptr_bits, row + 1);

            for (int64_t k = tess_row_offset(v.row_ptr, v.row_ptr_bits, row) + lane; k < end; k += width) {
                const STORED value = gpu_load_once((const STORED *)v.val + k);

                sum = float_pair_plus(
                    sum, float_pair_times(pair_of_stored(value), pairs_factor(&args, gpu_load_once(v.col_ind + k))));
            }
        }
        for (int half = width / 2; half > 0; half /= 2) {
            const float_pair other = {GPU_SHUFFLE_DOWN(sum.high, half, width), GPU_SHUFFLE_DOWN(sum.low, half, width)};

            sum = float_pair_plus(sum, other);
        }
        if (row < v.nrows && lane == 0) { finish_pair_row<NDOTS>(args, row, sum, dots); }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

struct rows {
    template <typename STORED, int NDOTS>
    static tess_status launch(tess_context *ctx, const csr_view *v, const tess_spmv_args *args)
    {
        const int width = pairs_width(v->nrows, v->nnz);

        return launch_pairs<NDOTS>(ctx, "a product in pairs", rows_kernel<STORED, NDOTS>,
                                   gpu_grid(ctx, v->nrows * width, 8), args, *v, width);
    }
};

tess_status csr_multiply_pairs(tess_context *ctx, const csr_view *v, const tess_spmv_args *args)
{
    return select_pairs<rows>(ctx, v, args);
}
