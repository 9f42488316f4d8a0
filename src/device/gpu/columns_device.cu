/* SPDX-License-Identifier: Apache-2.0 */
/* Fused passes over vectors of several columns on the GPU. */
#include "device/gpu/columns.cuh"
#include "device/gpu/solver_pass.cuh"

/* Blocks per multiprocessor: a reducing pass has fewer, because its last block adds up the sums of all. */
template <tess_fused_op OP, int NDOTS>
constexpr int column_blocks(void)
{
    return NDOTS > 0 ? 4 : needs_registers(OP) ? 5 : 8;
}

template <tess_fused_op OP, int NDOTS>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (column_blocks<OP, NDOTS>()))
    columns_kernel(const tess_fused op, const columns_target target, int columns_log)
{
    const int64_t step = (int64_t)gridDim.x * GPU_BLOCK;
    tess_scalars scalars = {0.0, 0.0, 0.0};
    tess_fused own = op;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    const bool runs = column_enter(target, NDOTS > 0, &scalars);

    if (op.coefficients) {
        const char *first = (const char *)op.coefficients;

        own.coefficients = (const double *)(const void *)(first + column_of_thread(target) * op.coefficient_stride);
    }
    if (runs) {
        for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < op.n; i += step) {
            apply_body<OP>(&own, scalars, i, i >> columns_log, dots);
        }
    }
    if (NDOTS > 0) { column_grid_reduce(dots, runs, target); }
}

static int log_of(int columns)
{
    int log = 0;

    while (1 << log < columns) {
        log += 1;
    }
    return log;
}

template <tess_fused_op OP, int NDOTS>
static tess_status launch_columns(tess_context *ctx, const tess_fused *op)
{
    gpu_scope scope(ctx);
    const unsigned grid = gpu_grid(ctx, op->n, column_blocks<OP, NDOTS>());
    columns_target target = {op->state, op->columns, op->finishing, NULL, NULL, TESS_SCALAR_NONE};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(prepare_columns(ctx, grid, NDOTS, op->scalar, &target));
    status = gpu_launch(ctx, "a vector operation on several columns", columns_kernel<OP, NDOTS>, grid, 0, *op, target,
                        log_of(op->columns));
cleanup:
    return status;
}

tess_status gpu_fused_columns(tess_context *ctx, const tess_fused *op)
{
    switch (op->op) {
#define TESS_FUSED(NAME, function, ndots) \
    case TESS_FUSED_##NAME:               \
        return launch_columns<TESS_FUSED_##NAME, ndots>(ctx, op);
#define TESS_BLAS(NAME, function, operands, ndots)
#include "base/fused.def"
#undef TESS_BLAS
#undef TESS_FUSED
    default:
        return tess_fail(ctx, TESS_INTERNAL, "this is an error of the library; please report it",
                         "vector operation %d does not take several columns", (int)op->op);
    }
}
