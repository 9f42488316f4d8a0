/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of several columns on a GPU: the epilogue of all formats; and for formats in which one thread sums a row,
 * the kernel and its choice. As many neighbouring threads as there are columns share a row: they read an entry of the
 * matrix together, and what belongs to it of x side by side. A sum has the order of the row's entries.
 */
#ifndef TESS_FORMAT_COLUMNS_PRODUCT_CUH
#define TESS_FORMAT_COLUMNS_PRODUCT_CUH

#include "device/gpu/columns.cuh"
#include "format/select_product.cuh"

/* BLOCKS: per multiprocessor, for which registers must suffice. BATCH: entries in flight per thread. */
struct columns_tuning {
    static constexpr int BLOCKS = 4;
    static constexpr int BATCH = 4;
};

/* Value `at` of y, from its sum, and its terms of the dot products. STEP: for FP32 vectors, and steps of a polynomial.
 */
template <typename VECTOR, int NDOTS, bool STEP>
__device__ static inline void finish_column(const tess_spmv_args &args, int64_t at, double sum, double *dots)
{
    static_assert(STEP || sizeof(VECTOR) == sizeof(double), "FP32 vectors are those of steps");
    if constexpr (STEP) {
        spmv_finish_step(&args, sizeof(VECTOR) == sizeof(float), at, sum);
    } else {
        const double y = spmv_result(&args, at, sum);

        args.y[at] = y;
#pragma unroll
        for (int k = 0; k < NDOTS; k++) {
            dots[k] += y * args.reduction.with[k][at];
        }
    }
}

/*
 * The kernel for a format:
 * - VIEW has `arithmetic`, and FORMAT::places(view) places, each with a row or none;
 * - FORMAT::sum_row<STORED>(view, place, x, columns, &sum) adds what the row has for the column that x points to, and
 *   returns the row; or -1.
 */
template <typename FORMAT, typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, columns_tuning::BLOCKS)
    columns_kernel(const typename FORMAT::view v, const tess_spmv_args args, const columns_target target)
{
    const int c = column_of_thread(target), rows = GPU_BLOCK / target.columns;
    const int64_t places = FORMAT::places(&v);
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;
    const bool runs = column_enter(target, NDOTS > 0, &scalars);

    for (int64_t place = (int64_t)blockIdx.x * rows + (int)threadIdx.x / target.columns; runs && place < places;
         place += (int64_t)gridDim.x * rows) {
        ARITHMETIC sum = 0;
        const int64_t row =
            FORMAT::template sum_row<STORED>(v, place, factors_of<VECTOR>(args) + c, target.columns, &sum);

        if (row >= 0) { finish_column<VECTOR, NDOTS, STEP>(args, row * target.columns + c, (double)sum, dots); }
    }
    if (NDOTS > 0) { column_grid_reduce(dots, runs, target); }
}

/* With dot products there are as many blocks as are resident, for the last one adds up the sums of all. */
template <typename FORMAT, typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
static tess_status launch_columns(tess_context *ctx, const typename FORMAT::view *v, const tess_spmv_args *args)
{
    const int64_t values = FORMAT::places(v) * args->columns, needed = (values + GPU_BLOCK - 1) / GPU_BLOCK;
    const unsigned grid = NDOTS > 0 ? gpu_grid(ctx, values, columns_tuning::BLOCKS) : (unsigned)needed;
    columns_target target = {args->reduction.state, args->columns, false, NULL, NULL, TESS_SCALAR_NONE};
    tess_status status = TESS_SUCCESS;

    if (needed == 0) { return TESS_SUCCESS; }
    TESS_TRY(prepare_columns(ctx, grid, NDOTS, args->reduction.scalar, &target));
    status = gpu_launch(ctx, "a sparse product of several columns",
                        columns_kernel<FORMAT, STORED, VECTOR, ARITHMETIC, NDOTS, STEP>, grid, 0, *v, *args, target);
cleanup:
    return status;
}

template <typename FORMAT, typename STORED>
static tess_status select_columns(tess_context *ctx, const typename FORMAT::view *v, const tess_spmv_args *args)
{
    if (args->vectors == TESS_PRECISION_FP32) {
        return v->arithmetic == TESS_ARITHMETIC_FP64
                   ? launch_columns<FORMAT, STORED, float, double, 0, true>(ctx, v, args)
                   : launch_columns<FORMAT, STORED, float, float, 0, true>(ctx, v, args);
    }
    if (args->update.kind == TESS_UPDATE_POLYNOMIAL) {
        return launch_columns<FORMAT, STORED, double, double, 0, true>(ctx, v, args);
    }
    switch (args->reduction.ndots) {
    case 0: return launch_columns<FORMAT, STORED, double, double, 0, false>(ctx, v, args);
    case 1: return launch_columns<FORMAT, STORED, double, double, 1, false>(ctx, v, args);
    default: return launch_columns<FORMAT, STORED, double, double, 2, false>(ctx, v, args);
    }
}

#endif
