/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of several columns on a GPU: the epilogue of all formats; and for formats in which one thread sums a row,
 * the kernel and its choice. Neighbouring threads share a row, each with V columns: they read an entry of the matrix
 * together, and what belongs to it of x side by side, 16 bytes at a time. With one column a thread a product would be
 * bound by the number of its loads. A sum has the order of the row's entries.
 */
#ifndef TESS_FORMAT_COLUMNS_PRODUCT_CUH
#define TESS_FORMAT_COLUMNS_PRODUCT_CUH

#include "device/gpu/columns.cuh"
#include "format/select_product.cuh"

/* BATCH: entries in flight per thread. EACH: columns of a thread, where they are a multiple of it. */
struct columns_tuning {
    static constexpr int BATCH = 2;
    static constexpr int EACH = COLUMNS_EACH;
};

/* Blocks per multiprocessor. Registers must suffice: a kernel that spills takes up to three times as long. */
__host__ __device__ constexpr int columns_blocks(int each, int ndots)
{
    return each > 1 && ndots > 1 ? 3 : 4;
}

template <typename STORED, typename VECTOR, typename ARITHMETIC, int V>
__device__ static inline void add_products(STORED value, const columns_pack<VECTOR, V> &factor, ARITHMETIC (&sum)[V])
{
#pragma unroll
    for (int w = 0; w < V; w++) {
        sum[w] += tess::decode<ARITHMETIC>(value) * (ARITHMETIC)factor.value[w];
    }
}

/* Whether all vectors can be moved 16 bytes at a time. */
static inline bool columns_take_packs(const tess_spmv_args *args)
{
    const tess_update *u = &args->update;
    uintptr_t places = (uintptr_t)args->x | (uintptr_t)args->x_fp32 | (uintptr_t)args->y | (uintptr_t)args->y_fp32 |
                       (uintptr_t)args->residual;

    if (u->kind == TESS_UPDATE_POLYNOMIAL) {
        places |= (uintptr_t)u->base | (uintptr_t)u->total | (uintptr_t)u->wide_total;
    }
    for (int k = 0; k < args->reduction.ndots; k++) {
        places |= (uintptr_t)args->reduction.with[k];
    }
    return args->columns % columns_tuning::EACH == 0 && places % 16 == 0;
}

/* The thread's columns of row `row` of y, from their sums, and the terms of the dot products: spmv_result. */
template <int NDOTS, int V>
__device__ static inline void finish_result(const tess_spmv_args &args, int64_t row, const thread_columns<V> &own,
                                            const double (&sum)[V], double (&dots)[V][NDOTS > 0 ? NDOTS : 1])
{
    const int64_t at = row * own.columns + own.first;
    columns_pack<double, V> y, other = {};

    if (args.residual) {
        other = pack_at<V>(args.residual + at);
    } else if (args.beta != 0.0) {
        other = pack_at<V>((const double *)args.y + at);
    }
#pragma unroll
    for (int w = 0; w < V; w++) {
        if (args.residual) {
            y.value[w] = other.value[w] - sum[w];
        } else if (args.beta == 0.0) {
            y.value[w] = args.alpha * sum[w];
        } else {
            y.value[w] = args.alpha * sum[w] + args.beta * other.value[w];
        }
    }
    own.put(args.y + at, y);
#pragma unroll
    for (int k = 0; k < NDOTS; k++) {
        const double *const with = args.reduction.with[k];
        const columns_pack<double, V> factor = with == args.y ? y : pack_at<V>(with + at);

#pragma unroll
        for (int w = 0; w < V; w++) {
            if (own.runs(w)) { dots[w][k] += y.value[w] * factor.value[w]; }
        }
    }
}

/* The same for FP32 vectors, and steps of a polynomial: spmv_finish_step. */
template <typename VECTOR, int V>
__device__ static inline void finish_step(const tess_spmv_args &args, int64_t row, const thread_columns<V> &own,
                                          const double (&sum)[V])
{
    constexpr bool fp32 = sizeof(VECTOR) == sizeof(float);
    const tess_update *const u = &args.update;
    const bool polynomial = u->kind == TESS_UPDATE_POLYNOMIAL;
    const int64_t at = row * own.columns + own.first;
    VECTOR *const y = fp32 ? (VECTOR *)(void *)args.y_fp32 : (VECTOR *)(void *)args.y;
    columns_pack<VECTOR, V> to, other = {};
    double value[V];

    if (args.beta != 0.0) { other = pack_at<V>((polynomial ? (const VECTOR *)u->base : y) + at); }
#pragma unroll
    for (int w = 0; w < V; w++) {
        value[w] = args.alpha * sum[w];
        if (args.beta != 0.0) { value[w] += args.beta * (double)other.value[w]; }
        to.value[w] = (VECTOR)value[w];
    }
    if (y) { own.put(y + at, to); }
    if (!polynomial || !u->total) { return; }
    columns_pack<double, V> wide;
    const columns_pack<VECTOR, V> total = pack_at<V>((const VECTOR *)u->total + at);

#pragma unroll
    for (int w = 0; w < V; w++) {
        wide.value[w] = (double)total.value[w] + u->gamma * value[w];
        to.value[w] = (VECTOR)wide.value[w];
    }
    if (u->wide_total) {
        own.put(u->wide_total + at, wide);
    } else {
        own.put((VECTOR *)u->total + at, to);
    }
}

/* STEP: for FP32 vectors, and steps of a polynomial. */
template <typename VECTOR, int NDOTS, bool STEP, int V>
__device__ static inline void finish_columns(const tess_spmv_args &args, int64_t row, const thread_columns<V> &own,
                                             const double (&sum)[V], double (&dots)[V][NDOTS > 0 ? NDOTS : 1])
{
    static_assert(STEP || sizeof(VECTOR) == sizeof(double), "FP32 vectors are those of steps");
    if constexpr (STEP) {
        finish_step<VECTOR>(args, row, own, sum);
    } else {
        finish_result<NDOTS>(args, row, own, sum, dots);
    }
}

/*
 * The kernel for a format:
 * - VIEW has `arithmetic`, and FORMAT::places(view) places, each with a row or none;
 * - FORMAT::blocks(V, NDOTS) blocks are on a multiprocessor;
 * - FORMAT::sum_row<STORED>(view, place, x, columns, sum) adds what the row has for the V columns from that which x
 *   points to, and returns the row; or -1.
 */
template <typename FORMAT, typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP, int V>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (FORMAT::blocks(V, NDOTS)))
    columns_kernel(const typename FORMAT::view v, const tess_spmv_args args, const columns_target target)
{
    const int threads = target.columns / V, rows = GPU_BLOCK / threads;
    const int64_t places = FORMAT::places(&v);
    double dots[V][NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;
    const bool runs = column_enter(target, NDOTS > 0, &scalars);
    const thread_columns<V> own(target);

    for (int64_t place = (int64_t)blockIdx.x * rows + (int)threadIdx.x / threads; own.any() && place < places;
         place += (int64_t)gridDim.x * rows) {
        ARITHMETIC sum[V] = {};
        double wide[V];
        const int64_t row =
            FORMAT::template sum_row<STORED>(v, place, factors_of<VECTOR>(args) + own.first, target.columns, sum);

#pragma unroll
        for (int w = 0; w < V; w++) {
            wide[w] = (double)sum[w];
        }
        if (row >= 0) { finish_columns<VECTOR, NDOTS, STEP>(args, row, own, wide, dots); }
    }
    if constexpr (NDOTS > 0) {
        double sums[NDOTS];

        own.give_sums(dots, sums);
        column_grid_reduce(sums, runs, target);
    }
}

/* With dot products there are as many blocks as are resident, for the last one adds up the sums of all. */
template <typename FORMAT, typename STORED, typename VECTOR, typename ARITHMETIC, int NDOTS, bool STEP, int V>
static tess_status launch_columns_of(tess_context *ctx, const typename FORMAT::view *v, const tess_spmv_args *args)
{
    const int64_t threads = FORMAT::places(v) * (args->columns / V), needed = (threads + GPU_BLOCK - 1) / GPU_BLOCK;
    const unsigned grid = NDOTS > 0 ? gpu_grid(ctx, threads, FORMAT::blocks(V, NDOTS)) : (unsigned)needed;
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

    return columns_take_packs(args)
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
