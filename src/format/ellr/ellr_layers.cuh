/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product of a matrix in layers on the GPU (ellr.h), each layer with slices of its own precision over all rows: one
 * launch. A thread takes the same positions of every layer, which are the same rows, and each sum goes through all
 * layers. The places of the rows' entries are looked up for all layers before the first is multiplied.
 */
#ifndef TESS_FORMAT_ELLR_ELLR_LAYERS_CUH
#define TESS_FORMAT_ELLR_ELLR_LAYERS_CUH

#include "format/ellr/ellr_parts.cuh"

template <int LAYERS>
struct layer_arguments {
    ellr_view view[LAYERS];
};

/* Fewer threads than for parts: the data of all layers' rows needs registers. */
template <int NDOTS>
struct layers_shape {
    static constexpr int ROWS = tuning<double, double>::ROWS;
    static constexpr bool ONE_PASS = NDOTS == 0;
    static constexpr int BLOCK = shape<NDOTS, double, double>::BLOCK, PASS = BLOCK * ROWS;
    static constexpr int BLOCKS = (ONE_PASS ? 1024 : 768) / BLOCK;
    static constexpr int BATCH = NDOTS == 0 ? 6 : 8; /* entries in flight, at most */
};

/* Adds the products of the layers from number FIRST on. A recursion, because AMD's compiler does not unroll a loop
   here. */
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
    layers_kernel(const layer_arguments<LAYERS> layers, int passes, const tess_spmv_args args,
                  const loop_predicate predicate, const reduce_target target)
{
    constexpr int ROWS = layers_shape<NDOTS>::ROWS, PASS = layers_shape<NDOTS>::PASS;
    const int64_t nrows = layers.view[0].nrows, end = layers.view[0].nslices * ELLR_SLICE;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    bool entered = false;

    /* A block's threads stay together: all evaluate the predicate, and all reach the reduction. */
    for (int pass = (int)blockIdx.x; pass < passes; pass += (int)gridDim.x) {
        const int64_t position = (int64_t)pass * PASS + (int64_t)threadIdx.x * ROWS;
        thread_rows<any_value, ROWS> rows[LAYERS];
        double sum[ROWS] = {};
        tess_scalars scalars;

#pragma unroll
        for (int l = 0; l < LAYERS; l++) {
            if (position < end) { rows[l].find(layers.view[l], position); }
        }
        /* No kernel of a loop writes the data loaded so far; x comes from the previous kernel. */
        if (!entered && !loop_enter<true>(predicate, NDOTS > 0, &scalars)) { return; }
        entered = true;
        if (position >= end) { continue; }
        sum_layers<LOW, layers_shape<NDOTS>::BATCH, 0>(layers, rows, args, sum);
        finish_layer_rows<NDOTS>(rows[0], nrows, args, sum, dots);
        if (layers_shape<NDOTS>::ONE_PASS) { break; }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

/* ---- launching ---- */

/* Chooses the kernel and its shape. */
template <int LAYERS, int NDOTS, bool LOW>
struct by_layers {
    typedef layers_shape<NDOTS> blocks;
    static constexpr auto kernel = layers_kernel<LAYERS, NDOTS, LOW>;
};

template <int LAYERS, int NDOTS, typename BY>
static tess_status launch(tess_context *ctx, const ellr_view *views, const tess_spmv_args *args)
{
    typedef typename BY::blocks blocks;
    const int64_t resident = (int64_t)blocks::BLOCKS * gpu_state_of(ctx)->multiprocessors;
    const int64_t passes = (views->nslices * ELLR_SLICE + blocks::PASS - 1) / blocks::PASS;
    const unsigned grid = (unsigned)(blocks::ONE_PASS || passes < resident ? passes : resident);
    layer_arguments<LAYERS> layers = {};
    loop_predicate predicate;
    reduce_target target;
    tess_status status = TESS_SUCCESS;

    if (passes == 0) { return TESS_SUCCESS; }
    for (int l = 0; l < LAYERS; l++) {
        layers.view[l] = views[l];
    }
    TESS_TRY(make_settled_predicate(ctx, args->reduction.state, &predicate));
    TESS_TRY(
        prepare_reduction(ctx, grid, args->reduction.ndots, args->reduction.scalar, args->reduction.state, &target));
    status = gpu_launch_blocks(ctx, "a product by layers of slices", BY::kernel, grid, blocks::BLOCK, 0, layers,
                               (int)passes, *args, predicate, target);
    status = end_reduction(ctx, status, target);
cleanup:
    return status;
}

/* Kernels for two dot products also serve one: they are long, and another sum costs little. */
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

/* For so many layers (ellr_layers_2_device.cu and so on). */
template <int LAYERS>
tess_status ellr_multiply_layers(tess_context *ctx, const ellr_view *views, const tess_spmv_args *args);

#endif
