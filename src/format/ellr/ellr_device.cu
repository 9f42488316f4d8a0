/* SPDX-License-Identifier: Apache-2.0 */
/* Products of ELLPACK-R and SELL-C-sigma on the GPU; ellr_product.cuh has the method. */
#include "format/ellr/ellr_product.cuh"
#include "format/select_product.cuh"

template <typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
__global__ static void GPU_LAUNCH_BOUNDS((shape<NDOTS, STORED, VECTOR>::BLOCK), (shape<NDOTS, STORED, VECTOR>::BLOCKS))
    slice_kernel(const ellr_view v, const tess_spmv_args args, const loop_gate gate, const reduce_target target)
{
    constexpr int ROWS = tuning<STORED, VECTOR>::ROWS, PASS = shape<NDOTS, STORED, VECTOR>::PASS;
    const int64_t positions = v.nslices * ELLR_SLICE;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    bool entered = false;

    /* A block's threads stay together: all of them enter the gate, and all get to the reduction. */
    for (int64_t begin = (int64_t)blockIdx.x * PASS; begin < positions; begin += (int64_t)gridDim.x * PASS) {
        int64_t position = begin + (int64_t)threadIdx.x * ROWS;
        thread_rows<STORED, ROWS> rows;
        ARITHMETIC sum[ROWS] = {};
        tess_scalars scalars;

        if (position < positions) { rows.find(v, position); }
        /* No kernel of a loop writes what was fetched so far; x comes from the kernel before this one. */
        if (!entered && !loop_enter<true>(gate, NDOTS > 0, &scalars)) { return; }
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
        loop_gate gate;
        reduce_target target;
        tess_status status = TESS_SUCCESS;

        if (needed == 0) { return TESS_SUCCESS; }
        TESS_TRY(open_settled_gate(ctx, args->reduction.state, &gate));
        TESS_TRY(prepare_reduction(ctx, grid, NDOTS, args->reduction.step, args->reduction.state, &target));
        status = gpu_launch_blocks(ctx, "a product by slices", slice_kernel<STORED, VECTOR, ARITHMETIC, NDOTS, STEP>,
                                   grid, blocks::BLOCK, 0, *v, *args, gate, target);
        status = end_reduction(ctx, status, target);
    cleanup:
        return status;
    }
};

static tess_status spmv(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    return select_product<slices>(ctx, v, args);
}

/* Products need nothing beyond the build. */
static tess_status prepare(tess_context *, const ellr_view *)
{
    return TESS_SUCCESS;
}

/* Behind functions: a table that is visible outside would be emitted for the device as well by HIP. */
extern "C" const ellr_ops *ellr_gpu_ops(void)
{
    static const ellr_ops table = {ellr_gpu_longest_row,
                                   ellr_gpu_arrange,
                                   ellr_gpu_fill_columns,
                                   ellr_gpu_fill_values,
                                   ellr_gpu_decode,
                                   prepare,
                                   spmv,
                                   ellr_gpu_spmv_parts,
                                   ellr_gpu_spmv_layers};

    return &table;
}
