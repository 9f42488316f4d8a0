/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSR-Vector on the GPU: a few neighbouring threads share a row, as many as a row of the part has entries on average;
 * each part has a launch. Row-wise, parts have disjoint rows of y. Entry-wise, each has all rows, and those after the
 * first add to y. A sum has a fixed order.
 */
#include "base/offsets.h"
#include "device/gpu/reduce.cuh"
#include "device/gpu/storage_types.cuh"
#include "device/gpu/wave_sums.cuh"
#include "format/row_epilogue.h"
#include "papers/vector_kernel/vector_kernel.h"

/* The storage types that parts may have on a GPU. */
typedef storage_of_bytes_or_more<2> part_storage;

/* Threads for a row: the least power of two that the mean row does not exceed, from 2 to 32. */
static int vector_width(const csr_view *v)
{
    int width = 2;

    while (width < 32 && width * v->nrows < v->nnz) {
        width *= 2;
    }
    return width;
}

/* Row i of y: alpha times its sum, added to beta y, or, for a later layer, to y. */
__device__ static inline void finish_vector_row(const csr_view &v, const tess_spmv_args &args, bool adds, int64_t i,
                                                double sum)
{
    const int64_t row = v.row_of ? v.row_of[i] : v.row_shift + i;
    const double product = args.alpha * (v.exponent ? sum * part_row_scale(v.exponent, i) : sum);

    if (adds) {
        args.y[row] += product;
    } else {
        args.y[row] = args.beta == 0.0 ? product : product + args.beta * args.y[row];
    }
}

template <typename VALUE, typename FACTOR>
__global__ static void __launch_bounds__(GPU_BLOCK)
    vector_kernel(const csr_view v, int width, bool adds, const FACTOR *x, const tess_spmv_args args,
                  const loop_predicate predicate)
{
    const int lane = (int)threadIdx.x & (width - 1);
    const int64_t i = ((int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x) / width;
    const VALUE *val = (const VALUE *)v.val;
    double sum = 0.0;
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
    if (i < v.nrows && v.row_ptr) {
        const int64_t end = tess_row_offset(v.row_ptr, v.row_ptr_bits, i + 1);

        for (int64_t k = tess_row_offset(v.row_ptr, v.row_ptr_bits, i) + lane; k < end; k += width) {
            sum += (double)(tess::decode<FACTOR>(val[k]) * x[v.col_ind[k]]);
        }
    }
    sum = lanes_sum_down(sum, width);
    if (i < v.nrows && lane == 0) { finish_vector_row(v, args, adds, i, sum); }
}

template <typename VALUE>
static tess_status launch_part(tess_context *ctx, const csr_view *v, bool adds, const tess_spmv_args *args,
                               const loop_predicate &predicate)
{
    const int width = vector_width(v);
    const unsigned grid = (unsigned)((v->nrows * width + GPU_BLOCK - 1) / GPU_BLOCK);

    if constexpr (sizeof(VALUE) < sizeof(double)) {
        if (args->low_arithmetic == TESS_ARITHMETIC_FP32) {
            return gpu_launch(ctx, "a product by CSR-Vector", vector_kernel<VALUE, float>, grid, 0, *v, width, adds,
                              args->x_shadow, *args, predicate);
        }
    }
    return gpu_launch(ctx, "a product by CSR-Vector", vector_kernel<VALUE, double>, grid, 0, *v, width, adds, args->x,
                      *args, predicate);
}

/* What is not the paper's: products that end in dot products, a residual, an update or rounded copies of y. */
static bool takes(int count, const csr_part *parts, const tess_spmv_args *args)
{
    for (int k = 0; k < count; k++) {
        if (tess_precision_bytes(parts[k].view.precision) < 2) { return false; } /* the library says so */
    }
    return args->y && !args->y_shadow && !args->residual && args->reduction.ndots == 0 &&
           args->update.kind == TESS_UPDATE_NONE;
}

static tess_status multiply(tess_context *ctx, int count, const csr_part *parts, bool adds, const tess_spmv_args *args,
                            bool *done)
{
    gpu_scope scope(ctx);
    loop_predicate predicate;
    tess_status status = TESS_SUCCESS;

    *done = takes(count, parts, args);
    if (!*done) { return TESS_SUCCESS; }
    TESS_TRY(make_settled_predicate(ctx, args->reduction.state, &predicate));
    for (int k = 0; k < count; k++) {
        const csr_view *v = &parts[k].view;

        if (v->nrows == 0) { continue; }
        TESS_TRY(gpu_by_storage<part_storage>(ctx, v->precision, [&](auto stored) {
            return launch_part<typename decltype(stored)::type>(ctx, v, adds && k > 0, args, predicate);
        }));
    }
cleanup:
    return status;
}

extern "C" const vector_kernel_ops *vector_kernel_gpu_ops(void)
{
    static const vector_kernel_ops table = {multiply};

    return &table;
}
