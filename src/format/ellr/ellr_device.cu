/* SPDX-License-Identifier: Apache-2.0 */
/* Products of ELLPACK-R and SELL-C-sigma on the GPU; ellr_product.cuh has the method. */
#include "format/ellr/ellr_product.cuh"

/* What is done with sums: y is written, FP64 with its dot products or FP32; STEP: a step of a polynomial. */
template <typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
__device__ static inline void store_row(const ellr_view &v, const tess_spmv_args &args, int row, ARITHMETIC sum,
                                        double *dots)
{
    if (row >= v.nrows) { return; }
    if constexpr (STEP) {
        spmv_finish_step(&args, sizeof(VECTOR) == sizeof(float), row, (double)sum);
    } else if constexpr (sizeof(VECTOR) == sizeof(double)) {
        finish_row<NDOTS>(args, row, sum, dots);
    } else {
        args.y_fp32[row] = spmv_result_fp32(&args, v.arithmetic, row, (double)sum);
    }
}

template <typename VECTOR>
__device__ static inline const VECTOR *factors_of(const tess_spmv_args &args)
{
    if constexpr (sizeof(VECTOR) == sizeof(double)) {
        return args.x;
    } else {
        return args.x_fp32;
    }
}

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
            store_row<VECTOR, ARITHMETIC, NDOTS, STEP>(v, args, rows.row[r], sum[r], dots);
        }
        if (shape<NDOTS, STORED, VECTOR>::ONE_PASS) { break; }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

/* ---- launching ---- */

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
    status = gpu_launch_blocks(ctx, "a product by slices", slice_kernel<STORED, VECTOR, ARITHMETIC, NDOTS, STEP>, grid,
                               blocks::BLOCK, 0, *v, *args, gate, target);
cleanup:
    return status;
}

template <typename STORED, bool STEP>
static tess_status select_vectors(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args)
{
    if (args->vectors == TESS_PRECISION_FP64) { return launch<STORED, double, double, 0, STEP>(ctx, v, args); }
    return v->arithmetic == TESS_ARITHMETIC_FP64 ? launch<STORED, float, double, 0, STEP>(ctx, v, args)
                                                 : launch<STORED, float, float, 0, STEP>(ctx, v, args);
}

template <typename STORED>
static tess_status select_kernel(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args)
{
    if (args->update.kind == TESS_UPDATE_POLYNOMIAL) { return select_vectors<STORED, true>(ctx, v, args); }
    switch (args->reduction.ndots) {
    case 0: return select_vectors<STORED, false>(ctx, v, args);
    case 1: return launch<STORED, double, double, 1, false>(ctx, v, args);
    default: return launch<STORED, double, double, 2, false>(ctx, v, args);
    }
}

static tess_status spmv(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    switch (v->precision) {
    case TESS_PRECISION_FP64: return select_kernel<double>(ctx, v, args);
    case TESS_PRECISION_FP32: return select_kernel<float>(ctx, v, args);
    case TESS_PRECISION_BF16: return select_kernel<tess::bf16>(ctx, v, args);
    case TESS_PRECISION_FP16: return select_kernel<tess::fp16>(ctx, v, args);
    case TESS_PRECISION_E4M3: return select_kernel<tess::e4m3>(ctx, v, args);
    case TESS_PRECISION_E5M2: return select_kernel<tess::e5m2>(ctx, v, args);
    }
    return TESS_INTERNAL;
}

/* Products need nothing beyond the build. */
static tess_status prepare(tess_context *, const ellr_view *)
{
    return TESS_SUCCESS;
}

/* Behind functions: a table that is visible outside would be emitted for the device as well by HIP. */
extern "C" const ellr_backend *ellr_gpu(void)
{
    static const ellr_backend table = {ellr_gpu_longest_row,
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

extern "C" const tess_format_ops *ellr_gpu_ops(void)
{
    static const tess_format_ops table = {TESS_FORMAT_ELLR, ellr_build,  ellr_refresh, ellr_destroy,   ellr_prepare,
                                          ellr_spmv,        ellr_decode, ellr_bytes,   ELLR_PRECISIONS};

    return &table;
}

extern "C" const tess_format_ops *sell_gpu_ops(void)
{
    static const tess_format_ops table = {TESS_FORMAT_SELL, ellr_build,  ellr_refresh, ellr_destroy,   ellr_prepare,
                                          ellr_spmv,        ellr_decode, ellr_bytes,   ELLR_PRECISIONS};

    return &table;
}
