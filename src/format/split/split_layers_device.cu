/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product on the GPU of a matrix in layers of which some are diagonals (split.h): one launch. A thread takes its
 * rows through all layers, lowest level first. If all layers are diagonals, these are neighbouring rows; with slices
 * they are the rows of a slice's two lanes, half a slice apart. Either way the threads of a wave load neighbouring
 * values of a diagonal.
 */
#include "device/gpu/storage_types.cuh"
#include "format/dia/dia_product.cuh"
#include "format/ellr/ellr_parts.cuh"
#include "format/split/split.h"

struct split_layers {
    int count;
    split_layer layer[TESS_MAX_LEVELS];
};

/* Tuning parameters: threads of a block, which makes one pass unless there are dot products; resident threads of a
   multiprocessor, for which registers must suffice; entries of slices in flight, at most. */
template <bool SLICES, int NDOTS>
struct layers_shape {
    static constexpr bool ONE_PASS = NDOTS == 0;
    static constexpr int ROWS = diagonal_tuning::ROWS;
    static constexpr int BLOCK = ONE_PASS ? 128 : (int)GPU_BLOCK, PASS = BLOCK * ROWS;
    static constexpr int BLOCKS = (SLICES ? 768 : 1024) / BLOCK;
    static constexpr int BATCH = 6;
};

/* LOW: diagonals stored below FP64 use FP32 products with the rounded x. */
template <bool LOW, int APART>
__device__ static inline void sum_layer_diagonals(const dia_view &v, diagonal_rows<APART> rows,
                                                  const tess_spmv_args &args, double (&sum)[diagonal_tuning::ROWS])
{
    gpu_call_by_storage(v.precision, [&](auto stored) {
        typedef typename decltype(stored)::type STORED;

        if constexpr (LOW && sizeof(STORED) < sizeof(double)) {
            sum_diagonals<STORED, float>(v, rows, args.x_shadow, sum);
        } else {
            sum_diagonals<STORED, double>(v, rows, args.x, sum);
        }
    });
}

/* SLICES: some layers are slices. */
template <bool SLICES, int NDOTS, bool LOW>
__global__ static void GPU_LAUNCH_BOUNDS((layers_shape<SLICES, NDOTS>::BLOCK), (layers_shape<SLICES, NDOTS>::BLOCKS))
    layers_kernel(const split_layers layers, int64_t nrows, int passes, const tess_spmv_args args,
                  const loop_predicate predicate, const reduce_target target)
{
    typedef layers_shape<SLICES, NDOTS> blocks;
    constexpr int ROWS = blocks::ROWS, APART = SLICES ? ELLR_SLICE / 2 : 1;
    const int64_t end = SLICES ? (nrows + ELLR_SLICE - 1) / ELLR_SLICE * ELLR_SLICE : nrows;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;

    static_assert(ROWS == 2, "the two lanes of a slice whose rows are half of it apart");
    /* A block's threads stay together: all evaluate the predicate, and all reach the reduction. */
    if (!loop_enter<true>(predicate, NDOTS > 0, &scalars)) { return; }
    for (int pass = (int)blockIdx.x; pass < passes; pass += (int)gridDim.x) {
        const int64_t position = (int64_t)pass * blocks::PASS + (int64_t)threadIdx.x * ROWS;
        const diagonal_rows<APART> rows = {SLICES ? ellr_rank_at(position) : position};
        double sum[ROWS] = {};

        if (position >= end) { continue; }
#pragma unroll 1
        for (int l = 0; l < layers.count; l++) {
            const split_layer &layer = layers.layer[l];

            if (!SLICES || layer.in_diagonals) {
                sum_layer_diagonals<LOW>(layer.diagonals, rows, args, sum);
            } else {
                thread_rows<any_value, ROWS> own;

                own.find(layer.slices, position);
                sum_part_rows<LOW, blocks::BATCH>(layer.slices.precision, own, args, sum);
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int64_t row = rows.first + r * APART;

            if (row < nrows) { spmv_add_row_dots(&args, NDOTS, row, spmv_finish_row(&args, row, sum[r]), dots); }
        }
        if (blocks::ONE_PASS) { break; }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

template <bool SLICES, int NDOTS, bool LOW>
static tess_status launch(tess_context *ctx, const split_layers *layers, int64_t nrows, const tess_spmv_args *args)
{
    typedef layers_shape<SLICES, NDOTS> blocks;
    const int64_t resident = (int64_t)blocks::BLOCKS * gpu_state_of(ctx)->multiprocessors;
    const int64_t passes = (nrows + blocks::PASS - 1) / blocks::PASS; /* of whole slices */
    const unsigned grid = (unsigned)(blocks::ONE_PASS || passes < resident ? passes : resident);
    loop_predicate predicate;
    reduce_target target;
    tess_status status = TESS_SUCCESS;

    static_assert((int)blocks::PASS % (int)ELLR_SLICE == 0, "no pass ends within a slice");
    if (passes == 0) { return TESS_SUCCESS; }
    TESS_TRY(make_settled_predicate(ctx, args->reduction.state, &predicate));
    TESS_TRY(
        prepare_reduction(ctx, grid, args->reduction.ndots, args->reduction.scalar, args->reduction.state, &target));
    status = gpu_launch_blocks(ctx, "a product by layers of diagonals", layers_kernel<SLICES, NDOTS, LOW>, grid,
                               blocks::BLOCK, 0, *layers, nrows, (int)passes, *args, predicate, target);
    status = end_reduction(ctx, status, target);
cleanup:
    return status;
}

/* Kernels for two dot products also serve one: they are long, and another sum costs little. */
template <bool SLICES, bool LOW>
static tess_status select_dots(tess_context *ctx, const split_layers *layers, int64_t nrows, const tess_spmv_args *args)
{
    return args->reduction.ndots == 0 ? launch<SLICES, 0, LOW>(ctx, layers, nrows, args)
                                      : launch<SLICES, 2, LOW>(ctx, layers, nrows, args);
}

template <bool SLICES>
static tess_status select_arithmetic(tess_context *ctx, const split_layers *layers, int64_t nrows,
                                     const tess_spmv_args *args)
{
    return args->low_arithmetic == TESS_ARITHMETIC_FP32 ? select_dots<SLICES, true>(ctx, layers, nrows, args)
                                                        : select_dots<SLICES, false>(ctx, layers, nrows, args);
}

/* Each layer needs its x: in FP64, or rounded. */
static bool has_factors(const split_layer &layer, const tess_spmv_args *args)
{
    const tess_precision precision = layer.in_diagonals ? layer.diagonals.precision : layer.slices.precision;
    const bool low = args->low_arithmetic == TESS_ARITHMETIC_FP32 && precision != TESS_PRECISION_FP64;

    return (layer.in_diagonals ? layer.diagonals.nnz : layer.slices.nnz) == 0 ||
           (low ? (const void *)args->x_shadow : args->x) != NULL;
}

extern "C" tess_status split_gpu_spmv_layers(tess_context *ctx, int count, const split_layer *layers,
                                             const tess_spmv_args *args)
{
    gpu_scope scope(ctx);
    const int64_t nrows = layers->in_diagonals ? layers->diagonals.nrows : layers->slices.nrows;
    split_layers all = {};
    bool slices = false;

    if (count > TESS_MAX_LEVELS || args->vectors != TESS_PRECISION_FP64) {
        return tess_fail(ctx, TESS_INTERNAL, "this is an error of the library; please report it",
                         "no kernel for a product of %d layers with %s vectors", count,
                         tess_precision_name(args->vectors));
    }
    all.count = count;
    for (int l = 0; l < count; l++) {
        if (!has_factors(layers[l], args)) {
            return tess_fail(ctx, TESS_INTERNAL, "this is an error of the library; please report it",
                             "a product of layers lacks the vectors that the layers need");
        }
        all.layer[l] = layers[l];
        slices = slices || !layers[l].in_diagonals;
    }
    return slices ? select_arithmetic<true>(ctx, &all, nrows, args) : select_arithmetic<false>(ctx, &all, nrows, args);
}
