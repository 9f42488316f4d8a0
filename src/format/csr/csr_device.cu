/* SPDX-License-Identifier: Apache-2.0 */
/* CSR on the GPU: chooses a product (csr_stored_device.cu has the kernels), values, checks, and the tables. */
#include <limits.h>

#include "device/gpu/storage_types.cuh"
#include "format/columns_product.cuh"
#include "format/csr/csr_plan.cuh"

static tess_status spmv(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    return gpu_by_storage(ctx, v->precision,
                          [&](auto stored) { return csr_multiply<typename decltype(stored)::type>(ctx, v, p, args); });
}

static tess_status multiply_pairs(tess_context *ctx, const csr_view *v, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    return csr_multiply_pairs(ctx, v, args);
}

/* Rows of a part that are empty. */
__global__ static void empty_columns_kernel(const csr_view v, const tess_spmv_args args, const columns_target target)
{
    const int c = column_of_thread(target);
    tess_scalars scalars;

    if (!column_enter(target, false, &scalars)) { return; }
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < v.nrows * target.columns;
         i += (int64_t)gridDim.x * GPU_BLOCK) {
        const int64_t at = part_row_target(v.row_of, v.row_shift, i / target.columns) * target.columns + c;

        args.y[at] = spmv_result(&args, at, 0.0);
    }
}

static tess_status finish_empty_columns(tess_context *ctx, const csr_view *v, const tess_spmv_args *args)
{
    const columns_target target = {args->reduction.state, args->columns, false, NULL, NULL, TESS_SCALAR_NONE};

    return gpu_launch(ctx, "empty rows of several columns", empty_columns_kernel,
                      gpu_grid(ctx, v->nrows * args->columns, 8), 0, *v, *args, target);
}

static tess_status multiply_columns(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    if (!v->row_ptr) { return finish_empty_columns(ctx, v, args); }
    return gpu_by_storage(ctx, v->precision, [&](auto stored) {
        return csr_multiply_columns<typename decltype(stored)::type>(ctx, v, p, args);
    });
}

/* ---- values ---- */

__global__ static void gather_kernel(int64_t n, const double *source, const int64_t *from, double *values)
{
    for (int64_t k = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; k < n; k += (int64_t)gridDim.x * GPU_BLOCK) {
        values[k] = source[from[k]];
    }
}

static tess_status gather(tess_context *ctx, int64_t n, const double *source, const int64_t *from, double *values)
{
    gpu_scope scope(ctx);

    gather_kernel<<<gpu_grid(ctx, n, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(n, source, from, values);
    return gpu_check_launch(ctx, "copying matrix values");
}

static csr_ops make_table(void)
{
    csr_ops table = {};

    table.make_plans = csr_make_plans;
    table.free_plan = csr_free_plan;
    table.spmv = spmv;
    table.multiply_pairs = multiply_pairs;
    table.multiply_columns = multiply_columns;
    table.columns_take_steps = true;
    table.prepare_parts = csr_prepare_parts;
    table.spmv_parts = csr_spmv_parts;
    table.make_layers = csr_make_layers;
    table.free_layers = csr_free_layers;
    table.spmv_layers = csr_spmv_layers;
    table.gather = gather;
    return table;
}

/* Behind functions, because HIP would also emit a visible table for the device. */
extern "C" const csr_ops *csr_gpu_ops(void)
{
    static const csr_ops table = make_table();

    return &table;
}
