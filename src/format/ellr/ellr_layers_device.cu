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
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (rows[0].row[r] < nrows) {
                double value = spmv_finish_row(&args, rows[0].row[r], sum[r]);

                spmv_add_row_dots(&args, NDOTS, rows[0].row[r], value, dots);
            }
        }
        if (layers_shape<NDOTS>::ONE_PASS) { break; }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

template <int LAYERS, int NDOTS, bool LOW>
static tess_status launch(tess_context *ctx, const ellr_view *views, const tess_spmv_args *args)
{
    typedef layers_shape<NDOTS> blocks;
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
    TESS_TRY(prepare_reduction(ctx, grid, NDOTS, args->reduction.step, args->reduction.state, &target));
    status = gpu_launch_blocks(ctx, "a product by layers of slices", layers_kernel<LAYERS, NDOTS, LOW>, grid,
                               blocks::BLOCK, 0, layers, (int)passes, *args, gate, target);
cleanup:
    return status;
}

template <int LAYERS, bool LOW>
static tess_status select_dots(tess_context *ctx, const ellr_view *views, const tess_spmv_args *args)
{
    switch (args->reduction.ndots) {
    case 0: return launch<LAYERS, 0, LOW>(ctx, views, args);
    case 1: return launch<LAYERS, 1, LOW>(ctx, views, args);
    default: return launch<LAYERS, 2, LOW>(ctx, views, args);
    }
}

template <int LAYERS>
static tess_status select_arithmetic(tess_context *ctx, const ellr_view *views, const tess_spmv_args *args)
{
    return args->low_arithmetic == TESS_ARITHMETIC_FP32 ? select_dots<LAYERS, true>(ctx, views, args)
                                                        : select_dots<LAYERS, false>(ctx, views, args);
}

extern "C" tess_status ellr_gpu_spmv_layers(tess_context *ctx, int count, const ellr_view *layers,
                                            const tess_spmv_args *args)
{
    gpu_scope scope(ctx);
    tess_status status = ellr_check_parts(ctx, count, layers, args);

    static_assert(TESS_MOST_LEVELS == 4, "the cases below");
    if (status != TESS_SUCCESS) { return status; }
    switch (count) {
    case 2: return select_arithmetic<2>(ctx, layers, args);
    case 3: return select_arithmetic<3>(ctx, layers, args);
    case 4: return select_arithmetic<4>(ctx, layers, args);
    default: return tess_fail(ctx, TESS_INTERNAL, NULL, "a product of %d layers", count);
    }
}
