/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of several columns on a GPU: the epilogue of all formats; and for formats in which one thread sums a row,
 * the kernel and its choice. Neighbouring threads share a row, each with V neighbouring columns: they read an entry of
 * the matrix together, and what belongs to it of x side by side, 16 bytes at a time. With one column a thread a product
 * would be bound by the number of its loads. A sum has the order of the row's entries.
 */
#ifndef TESS_FORMAT_COLUMNS_PRODUCT_CUH
#define TESS_FORMAT_COLUMNS_PRODUCT_CUH

#include "device/gpu/columns.cuh"
#include "format/select_product.cuh"

/* BATCH: entries in flight per thread. EACH: columns of a thread, where they are a multiple of it. */
struct columns_tuning {
    static constexpr int BATCH = 4;
    static constexpr int EACH = COLUMNS_EACH;

    /* Per multiprocessor, for which registers must suffice. */
    __host__ __device__ static constexpr int blocks(int each)
    {
        return each > 1 ? 3 : 4;
    }
};

template <typename STORED, typename VECTOR, typename ARITHMETIC, int V>
__device__ static inline void add_products(STORED value, const columns_pack<VECTOR, V> &factor, ARITHMETIC (&sum)[V])
{
#pragma unroll
    for (int w = 0; w < V; w++) {
        sum[w] += tess::decode<ARITHMETIC>(value) * (ARITHMETIC)factor.value[w];
    }
}

template <typename VECTOR>
static bool columns_take_packs(const tess_spmv_args *args)
{
    const void *x = sizeof(VECTOR) == sizeof(float) ? (const void *)args->x_fp32 : (const void *)args->x;

    return args->columns % columns_tuning::EACH == 0 && (uintptr_t)x % 16 == 0;
}

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
 * - FORMAT::sum_row<STORED>(view, place, x, columns, sum) adds what the row has for the V columns from that which x
 *   points to, and returns the row; or -1.
 */
template <typename FORMAT, typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP, int V>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, columns_tuning::blocks(V))
    columns_kernel(const typename FORMAT::view v, const tess_spmv_args args, const columns_target target)
{
    const int threads = target.columns / V, first = ((int)threadIdx.x & (threads - 1)) * V, rows = GPU_BLOCK / threads;
    const int64_t places = FORMAT::places(&v);
    double dots[V][NDOTS > 0 ? NDOTS : 1] = {};
    bool running[V];
    tess_scalars scalars;
    const bool runs = column_enter(target, NDOTS > 0, &scalars), any = columns_run(target, first, running);

    for (int64_t place = (int64_t)blockIdx.x * rows + (int)threadIdx.x / threads; any && place < places;
         place += (int64_t)gridDim.x * rows) {
        ARITHMETIC sum[V] = {};
        const int64_t row =
            FORMAT::template sum_row<STORED>(v, place, factors_of<VECTOR>(args) + first, target.columns, sum);

#pragma unroll
        for (int w = 0; w < V; w++) {
            if (row >= 0 && running[w]) {
                finish_column<VECTOR, NDOTS, STEP>(args, row * target.columns + first + w, (double)sum[w], dots[w]);
            }
        }
    }
    if constexpr (NDOTS > 0) {
        double own[NDOTS];

        columns_to_threads(dots, target.columns, own);
        column_grid_reduce(own, runs, target);
    }
}

/* With dot products there are as many blocks as are resident, for the last one adds up the sums of all. */
template <typename FORMAT, typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP, int V>
static tess_status launch_columns_of(tess_context *ctx, const typename FORMAT::view *v, const tess_spmv_args *args)
{
    const int64_t threads = FORMAT::places(v) * (args->columns / V), needed = (threads + GPU_BLOCK - 1) / GPU_BLOCK;
    const unsigned grid = NDOTS > 0 ? gpu_grid(ctx, threads, columns_tuning::blocks(V)) : (unsigned)needed;
    columns_target target = {args->reduction.state, args->columns, false, NULL, NULL, TESS_SCALAR_NONE};
    tess_status status = TESS_SUCCESS;

    if (needed == 0) { return TESS_SUCCESS; }
    TESS_TRY(prepare_columns(ctx, grid, NDOTS, args->reduction.scalar, &target));
    status = gpu_launch(ctx, "a sparse product of several columns",
                        columns_kernel<FORMAT, STORED, VECTOR, ARITHMETIC, NDOTS, STEP, V>, grid, 0, *v, *args, target);
cleanup:
    return status;
}

template <typename FORMAT, typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP>
static tess_status launch_columns(tess_context *ctx, const typename FORMAT::view *v, const tess_spmv_args *args)
{
    constexpr int EACH = columns_tuning::EACH;

    return columns_take_packs<VECTOR>(args)
               ? launch_columns_of<FORMAT, STORED, VECTOR, ARITHMETIC, NDOTS, STEP, EACH>(ctx, v, args)
               : launch_columns_of<FORMAT, STORED, VECTOR, ARITHMETIC, NDOTS, STEP, 1>(ctx, v, args);
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
