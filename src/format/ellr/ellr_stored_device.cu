/* SPDX-License-Identifier: Apache-2.0 */
/* Products of ELLPACK-R and SELL-C-sigma on the GPU; ellr_product.cuh has the method. Compiled separately for each
   precision. */
#include "format/ellr/ellr_product.cuh"
#include "format/select_product.cuh"

template <typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
__global__ static void GPU_LAUNCH_BOUNDS((shape<NDOTS, STORED, VECTOR>::BLOCK), (shape<NDOTS, STORED, VECTOR>::BLOCKS))
    slice_kernel(const ellr_view v, const tess_spmv_args args, const loop_predicate predicate,
                 const reduce_target target)
{
    constexpr int ROWS = tuning<STORED, VECTOR>::ROWS, PASS = shape<NDOTS, STORED, VECTOR>::PASS;
    const int64_t positions = v.nslices * ELLR_SLICE;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    bool entered = false;

    /* A block's threads stay together: all evaluate the predicate, and all reach the reduction. */
    for (int64_t begin = (int64_t)blockIdx.x * PASS; begin < positions; begin += (int64_t)gridDim.x * PASS) {
        int64_t position = begin + (int64_t)threadIdx.x * ROWS;
        thread_rows<STORED, ROWS> rows;
        ARITHMETIC sum[ROWS] = {};
        tess_scalars scalars;

        if (position < positions) { rows.find(v, position); }
        /* No kernel of a loop writes the data loaded so far; x comes from the previous kernel. */
        if (!entered && !loop_enter<true>(predicate, NDOTS > 0, &scalars)) { return; }
        entered = true;
        if (position >= positions) { continue; }
        sum_rows<STORED, ARITHMETIC>(rows, factors_of<VECTOR>(args), sum);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            store_row<VECTOR, NDOTS, STEP>(v, args, rows.row[r], sum[r], dots);
        }
        if (shape<NDOTS, STORED, VECTOR>::ONE_PASS) { break; }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

/* ---- launching ---- */

struct slices {
    template <typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
    static tess_status launch(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args)
    {
        typedef shape<NDOTS, STORED, VECTOR> blocks;
        int64_t needed = (v->nslices * ELLR_SLICE + blocks::PASS - 1) / blocks::PASS;
        int64_t resident = (int64_t)blocks::BLOCKS * gpu_state_of(ctx)->multiprocessors;
        unsigned grid = (unsigned)(blocks::ONE_PASS || needed < resident ? needed : resident);
        loop_predicate predicate;
        reduce_target target;
        tess_status status = TESS_SUCCESS;

        if (needed == 0) { return TESS_SUCCESS; }
        TESS_TRY(make_settled_predicate(ctx, args->reduction.state, &predicate));
        TESS_TRY(prepare_reduction(ctx, grid, NDOTS, args->reduction.scalar, args->reduction.state, &target));
        status = gpu_launch_blocks(ctx, "a product by slices", slice_kernel<STORED, VECTOR, ARITHMETIC, NDOTS, STEP>,
                                   grid, blocks::BLOCK, 0, *v, *args, predicate, target);
        status = end_reduction(ctx, status, target);
    cleanup:
        return status;
    }
};

template <typename STORED>
tess_status ellr_multiply(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args)
{
    return select_kernel<slices, STORED>(ctx, v, args);
}

#define MULTIPLY(STORED) \
    template tess_status ellr_multiply<STORED>(tess_context *, const ellr_view *, const tess_spmv_args *);
STORED_TYPES(MULTIPLY)
#undef MULTIPLY
