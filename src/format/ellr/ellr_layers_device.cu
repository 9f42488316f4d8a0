/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product of a matrix in layers on the GPU (ellr.h), each layer slices of its own precision over all rows: one launch. A thread
 * takes the same positions of every layer, which are the same rows, and its sums go from layer to layer. Where the rows' entries are
 * is looked up for all layers before the first is multiplied.
 */
#include "format/ellr/ellr_parts.cuh"

template <int LAYERS>
struct layer_arguments {
    ellr_view view[LAYERS];
};

/* Fewer threads than for parts: what there is to know of all layers' rows takes registers. */
template <int NDOTS>
struct layers_shape {
    static constexpr int ROWS = tuning<double, double>::ROWS;
    static constexpr bool ONE_PASS = NDOTS == 0;
    static constexpr int BLOCK = shape<NDOTS, double, double>::BLOCK, PASS = BLOCK * ROWS;
    static constexpr int BLOCKS = (ONE_PASS ? 1024 : 768) / BLOCK;
    static constexpr int BATCH = NDOTS == 0 ? 6 : 8; /* entries in flight, at most */
};

/* Adds the products of the layers from number FIRST on: not by a loop, which AMD's compiler does not unroll. */
template <bool LOW, int BATCH, int FIRST, int LAYERS, int ROWS>
__device__ static inline void sum_layers(const layer_arguments<LAYERS> &layers,
                                         const thread_rows<any_value, ROWS> (&rows)[LAYERS], const tess_spmv_args &args,
                                         double (&sum)[ROWS])
{
    sum_part_rows<LOW, BATCH>(layers.view[FIRST].precision, rows[FIRST], args, sum);
    if constexpr (FIRST + 1 < LAYERS) { sum_layers<LOW, BATCH, FIRST + 1>(layers, rows, args, sum); }
}

/* y of a thread's rows, and the dot products with it. */
template <int NDOTS, typename FOUND_AS, int ROWS>
__device__ static inline void finish_layer_rows(const thread_rows<FOUND_AS, ROWS> &rows, int64_t nrows,
                                                const tess_spmv_args &args, const double (&sum)[ROWS], double *dots)
{
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (rows.row[r] < nrows) {
            double value = spmv_finish_row(&args, rows.row[r], sum[r]);

            spmv_add_row_dots(&args, NDOTS, rows.row[r], value, dots);
        }
    }
}

template <int LAYERS, int NDOTS, bool LOW>
__global__ static void GPU_LAUNCH_BOUNDS(layers_shape<NDOTS>::BLOCK, layers_shape<NDOTS>::BLOCKS)
    layers_kernel(const layer_arguments<LAYERS> layers, int passes, const tess_spmv_args args, const loop_gate gate,
                  const reduce_target target)
{
    constexpr int ROWS = layers_shape<NDOTS>::ROWS, PASS = layers_shape<NDOTS>::PASS;
    const int64_t nrows = layers.view[0].nrows, end = layers.view[0].nslices * ELLR_SLICE;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    bool entered = false;

    /* A block's threads stay together: all of them enter the gate, and all get to the reduction. */
    for (int pass = (int)blockIdx.x; pass < passes; pass += (int)gridDim.x) {
        const int64_t position = (int64_t)pass * PASS + (int64_t)threadIdx.x * ROWS;
        thread_rows<any_value, ROWS> rows[LAYERS];
        double sum[ROWS] = {};
        tess_scalars scalars;

#pragma unroll
        for (int l = 0; l < LAYERS; l++) {
            if (position < end) { rows[l].find(layers.view[l], position); }
        }
        /* No kernel of a loop writes what was fetched so far; x comes from the kernel before this one. */
        if (!entered && !loop_enter<true>(gate, NDOTS > 0, &scalars)) { return; }
        entered = true;
        if (position >= end) { continue; }
        sum_layers<LOW, layers_shape<NDOTS>::BATCH, 0>(layers, rows, args, sum);
        finish_layer_rows<NDOTS>(rows[0], nrows, args, sum, dots);
        if (layers_shape<NDOTS>::ONE_PASS) { break; }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

/* ---- two layers of short rows ---- */

/*
 * The default levels, FP32 below FP64, in FP64 arithmetic: types are known, and where the rows of a thread have no more than these
 * entries in each layer, all loads of both layers are on their way before the first is used. Sums have the order, and the bits,
 * of layers_kernel.
 */
template <int NDOTS>
struct pair_shape : layers_shape<NDOTS> {
    static constexpr int BLOCKS = (NDOTS == 0 ? 640 : 512) / layers_shape<NDOTS>::BLOCK;
    static constexpr int MOST_LOW = 6, MOST_HIGH = 4;
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
    typedef short_rows<float, pair_shape<NDOTS>::MOST_LOW, ROWS> low_entries;
    typedef short_rows<double, pair_shape<NDOTS>::MOST_HIGH, ROWS> high_entries;

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
    pair_kernel(const layer_arguments<2> layers, int passes, const tess_spmv_args args, const loop_gate gate,
                const reduce_target target)
{
    constexpr int ROWS = pair_shape<NDOTS>::ROWS, PASS = pair_shape<NDOTS>::PASS;
    const int64_t nrows = layers.view[0].nrows, end = layers.view[0].nslices * ELLR_SLICE;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    bool entered = false;

    /* A block's threads stay together: all of them enter the gate, and all get to the reduction. */
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
        /* No kernel of a loop writes what was fetched so far; x comes from the kernel before this one. */
        if (!entered && !loop_enter<true>(gate, NDOTS > 0, &scalars)) { return; }
        entered = true;
        if (position >= end) { continue; }
        sum_pair<NDOTS>(low, high, args.x, sum);
        finish_layer_rows<NDOTS>(low, nrows, args, sum, dots);
        if (pair_shape<NDOTS>::ONE_PASS) { break; }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

/* ---- launching ---- */

/* Which kernel multiplies, and in what shape. */
template <int LAYERS, int NDOTS, bool LOW>
struct by_layers {
    typedef layers_shape<NDOTS> blocks;
    static constexpr auto kernel = layers_kernel<LAYERS, NDOTS, LOW>;
};

template <int LAYERS, int NDOTS, bool LOW>
struct by_pair {
    typedef pair_shape<NDOTS> blocks;
    static constexpr auto kernel = pair_kernel<NDOTS>;
};

template <int LAYERS, int NDOTS, typename BY>
static tess_status launch(tess_context *ctx, const ellr_view *views, const tess_spmv_args *args)
{
    typedef typename BY::blocks blocks;
    const int64_t resident = (int64_t)blocks::BLOCKS * gpu_state_of(ctx)->multiprocessors;
    const int64_t passes = (views->nslices * ELLR_SLICE + blocks::PASS - 1) / blocks::PASS;
    const unsigned grid = (unsigned)(blocks::ONE_PASS || passes < resident ? passes : resident);
    layer_arguments<LAYERS> layers = {};
    loop_gate gate;
    reduce_target target;
    tess_status status = TESS_SUCCESS;

    if (passes == 0) { return TESS_SUCCESS; }
    for (int l = 0; l < LAYERS; l++) {
        layers.view[l] = views[l];
    }
    TESS_TRY(open_settled_gate(ctx, args->reduction.state, &gate));
    TESS_TRY(prepare_reduction(ctx, grid, args->reduction.ndots, args->reduction.step, args->reduction.state, &target));
    status = gpu_launch_blocks(ctx, "a product by layers of slices", BY::kernel, grid, blocks::BLOCK, 0, layers,
                               (int)passes, *args, gate, target);
    status = end_reduction(ctx, status, target);
cleanup:
    return status;
}

/* Kernels for two dot products are those for one as well: they are long, and the sum of another costs little. */
template <int LAYERS, bool LOW, template <int, int, bool> class BY>
static tess_status select_dots(tess_context *ctx, const ellr_view *views, const tess_spmv_args *args)
{
    return args->reduction.ndots == 0 ? launch<LAYERS, 0, BY<LAYERS, 0, LOW>>(ctx, views, args)
                                      : launch<LAYERS, 2, BY<LAYERS, 2, LOW>>(ctx, views, args);
}

template <int LAYERS>
static tess_status select_arithmetic(tess_context *ctx, const ellr_view *views, const tess_spmv_args *args)
{
    return args->low_arithmetic == TESS_ARITHMETIC_FP32 ? select_dots<LAYERS, true, by_layers>(ctx, views, args)
                                                        : select_dots<LAYERS, false, by_layers>(ctx, views, args);
}

static bool is_pair(int count, const ellr_view *layers, const tess_spmv_args *args)
{
    return count == 2 && layers[0].precision == TESS_PRECISION_FP32 && layers[1].precision == TESS_PRECISION_FP64 &&
           args->low_arithmetic == TESS_ARITHMETIC_FP64;
}

extern "C" tess_status ellr_gpu_spmv_layers(tess_context *ctx, int count, const ellr_view *layers,
                                            const tess_spmv_args *args)
{
    gpu_scope scope(ctx);
    tess_status status = ellr_check_parts(ctx, count, layers, args);

    static_assert(TESS_MOST_LEVELS == 4, "the cases below");
    if (status != TESS_SUCCESS) { return status; }
    if (is_pair(count, layers, args)) { return select_dots<2, false, by_pair>(ctx, layers, args); }
    switch (count) {
    case 2: return select_arithmetic<2>(ctx, layers, args);
    case 3: return select_arithmetic<3>(ctx, layers, args);
    case 4: return select_arithmetic<4>(ctx, layers, args);
    default: return tess_fail(ctx, TESS_INTERNAL, NULL, "a product of %d layers", count);
    }
}
