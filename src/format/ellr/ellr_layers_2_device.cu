/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices in two layers on the GPU; ellr_layers.cuh has the method. */
#include "format/ellr/ellr_layers.cuh"

/* ---- two layers of short rows ---- */

/*
 * The default levels, FP32 below FP64, in FP64 arithmetic. The types are known at compile time. If the rows of a thread
 * have no more than these entries in each layer, all loads of both layers are in flight before the first is used. Sums
 * have the order, and the bits, of layers_kernel.
 */
template <int NDOTS>
struct pair_shape : layers_shape<NDOTS> {
    static constexpr int BLOCKS = (NDOTS == 0 ? 640 : 512) / layers_shape<NDOTS>::BLOCK;
    static constexpr int MAX_LOW = 6, MAX_HIGH = 4;
};

/* At most MOST entries of each of a thread's rows, with 16-bit columns. */
template <typename STORED, int MOST, int ROWS>
struct short_rows {
    tess::pack<int16_t, ROWS> column[MOST];
    tess::pack<STORED, ROWS> value[MOST];
    double factor[MOST][ROWS];

    __device__ static inline bool hold(const thread_rows<STORED, ROWS> &rows)
    {
        return !rows.wide && rows.width <= MOST;
    }

    __device__ inline void load(const thread_rows<STORED, ROWS> &rows)
    {
#pragma unroll
        for (int u = 0; u < MOST; u++) {
            column[u] = {};
            value[u] = {};
            if (u < rows.width) {
                column[u] = gpu_load_once((const tess::pack<int16_t, ROWS> *)(rows.col + u * ELLR_SLICE));
                value[u] = gpu_load_once((const tess::pack<STORED, ROWS> *)(rows.val + u * ELLR_SLICE));
            }
        }
    }

    __device__ inline void fetch(const thread_rows<STORED, ROWS> &rows, const double *x)
    {
#pragma unroll
        for (int u = 0; u < MOST; u++) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                factor[u][r] = u < rows.width ? x[rows.row[r] + column[u].value[r]] : 0.0;
            }
        }
    }

    __device__ inline void add(const thread_rows<STORED, ROWS> &rows, double (&sum)[ROWS]) const
    {
#pragma unroll
        for (int u = 0; u < MOST; u++) {
            double decoded[ROWS];

            tess::decode_pack<double>(value[u], decoded);
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                if (u < rows.length[r]) { sum[r] += decoded[r] * factor[u][r]; }
            }
        }
    }
};

template <int NDOTS, int ROWS>
__device__ static inline void sum_pair(const thread_rows<float, ROWS> &low, const thread_rows<double, ROWS> &high,
                                       const double *x, double (&sum)[ROWS])
{
    typedef short_rows<float, pair_shape<NDOTS>::MAX_LOW, ROWS> low_entries;
    typedef short_rows<double, pair_shape<NDOTS>::MAX_HIGH, ROWS> high_entries;

    if (low_entries::hold(low) && high_entries::hold(high)) {
        low_entries of_low;
        high_entries of_high;

        of_low.load(low);
        of_high.load(high);
        of_low.fetch(low, x);
        of_high.fetch(high, x);
        of_low.add(low, sum);
        of_high.add(high, sum);
    } else {
        sum_rows<float, double>(low, x, sum);
        sum_rows<double, double>(high, x, sum);
    }
}

template <int NDOTS>
__global__ static void GPU_LAUNCH_BOUNDS(pair_shape<NDOTS>::BLOCK, pair_shape<NDOTS>::BLOCKS)
    pair_kernel(const layer_arguments<2> layers, int passes, const tess_spmv_args args, const loop_predicate predicate,
                const reduce_target target)
{
    constexpr int ROWS = pair_shape<NDOTS>::ROWS, PASS = pair_shape<NDOTS>::PASS;
    const int64_t nrows = layers.view[0].nrows, end = layers.view[0].nslices * ELLR_SLICE;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    bool entered = false;

    /* A block's threads stay together: all evaluate the predicate, and all reach the reduction. */
    for (int pass = (int)blockIdx.x; pass < passes; pass += (int)gridDim.x) {
        const int64_t position = (int64_t)pass * PASS + (int64_t)threadIdx.x * ROWS;
        thread_rows<float, ROWS> low;
        thread_rows<double, ROWS> high;
        double sum[ROWS] = {};
        tess_scalars scalars;

        if (position < end) {
            low.find(layers.view[0], position);
            high.find(layers.view[1], position);
        }
        /* No kernel of a loop writes the data loaded so far; x comes from the previous kernel. */
        if (!entered && !loop_enter<true>(predicate, NDOTS > 0, &scalars)) { return; }
        entered = true;
        if (position >= end) { continue; }
        sum_pair<NDOTS>(low, high, args.x, sum);
        finish_layer_rows<NDOTS>(low, nrows, args, sum, dots);
        if (pair_shape<NDOTS>::ONE_PASS) { break; }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

template <int LAYERS, int NDOTS, bool LOW>
struct by_pair {
    typedef pair_shape<NDOTS> blocks;
    static constexpr auto kernel = pair_kernel<NDOTS>;
};

static bool is_pair(const ellr_view *layers, const tess_spmv_args *args)
{
    return layers[0].precision == TESS_PRECISION_FP32 && layers[1].precision == TESS_PRECISION_FP64 &&
           args->low_arithmetic == TESS_ARITHMETIC_FP64;
}

template <>
tess_status ellr_multiply_layers<2>(tess_context *ctx, const ellr_view *views, const tess_spmv_args *args)
{
    if (is_pair(views, args)) { return select_dots<2, false, by_pair>(ctx, views, args); }
    return select_arithmetic<2>(ctx, views, args);
}
