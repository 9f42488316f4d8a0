/* SPDX-License-Identifier: Apache-2.0 */
/* Fused vector operations on the GPU: one kernel body, instantiated per operation. */
#include "backend/gpu/reduce.cuh"
#include "dense/fused_bodies.h"

/* Blocks per multiprocessor of a pass over vectors: as many as fill it, and no more than registers allow at a time. */
template <tess_fused_op OP>
constexpr int fused_blocks()
{
    return OP == TESS_FUSED_BICGSTAB_UPDATE ? 5 : 8; /* that one reads six vectors */
}

template <tess_fused_op OP>
__device__ static inline void apply_body(const tess_fused *op, tess_scalars scalars, int64_t i, double *dots)
{
    switch (OP) {
#define TESS_FUSED(NAME, function, ndots) \
    case TESS_FUSED_##NAME:               \
        function(op, scalars, i, dots);   \
        break;
#include "dense/fused.def"
#undef TESS_FUSED
    }
}

template <tess_fused_op OP, int NDOTS>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (fused_blocks<OP>()))
    fused_kernel(const tess_fused op, const loop_gate gate, const reduce_target target)
{
    int64_t first = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;
    tess_scalars scalars = {0.0, 0.0, 0.0};
    double dots[NDOTS > 0 ? NDOTS : 1] = {};

    if (!loop_enter<false>(gate, NDOTS > 0, &scalars)) { return; }
    for (int64_t i = first; i < op.n; i += (int64_t)gridDim.x * GPU_BLOCK) {
        apply_body<OP>(&op, scalars, i, dots);
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

template <tess_fused_op OP, int NDOTS>
static tess_status launch_fused(tess_context *ctx, const tess_fused *op)
{
    gpu_scope scope(ctx);
    unsigned grid = gpu_grid(ctx, op->n, fused_blocks<OP>());
    loop_gate gate = open_gate(ctx, op->state, op->finishing);
    reduce_target target;
    tess_status status = prepare_reduction(ctx, grid, NDOTS, op->step, op->state, &target);

    if (status != TESS_SUCCESS) { return status; }
    return gpu_launch(ctx, "a vector operation", fused_kernel<OP, NDOTS>, grid, 0, *op, gate, target);
}

extern "C" tess_status gpu_fused(tess_context *ctx, const tess_fused *op)
{
    switch (op->op) {
#define TESS_FUSED(NAME, function, ndots) \
    case TESS_FUSED_##NAME:               \
        return launch_fused<TESS_FUSED_##NAME, ndots>(ctx, op);
#include "dense/fused.def"
#undef TESS_FUSED
    }
    return tess_fail(ctx, TESS_INTERNAL, NULL, "vector operation %d", (int)op->op);
}
