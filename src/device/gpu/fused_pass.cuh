/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of passes over vectors, instantiated per pass, and its launch. A pass is an operation's loop over its
   vectors. */
#ifndef TESS_DEVICE_GPU_FUSED_PASS_CUH
#define TESS_DEVICE_GPU_FUSED_PASS_CUH

#include "device/gpu/reduce.cuh"

/* PASS::settled: another kernel finishes the pending reduction first, so this one needs no code for it. */
template <typename PASS, int NDOTS>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, PASS::blocks)
    fused_kernel(const tess_fused op, const loop_predicate predicate, const reduce_target target)
{
    tess_scalars scalars = {0.0, 0.0, 0.0};
    typename PASS::REAL dots[NDOTS > 0 ? NDOTS : 1] = {};
    PASS pass;

    pass.begin(op);
    if (!loop_enter<PASS::settled>(predicate, NDOTS > 0, &scalars)) { return; }
    pass.run(op, scalars, dots);
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

template <typename PASS, int NDOTS>
static tess_status launch_pass(tess_context *ctx, const tess_fused *op)
{
    gpu_scope scope(ctx);
    unsigned grid = gpu_grid(ctx, op->n / PASS::count, PASS::blocks);
    loop_predicate predicate;
    reduce_target target;
    tess_status status = TESS_SUCCESS;

    if (PASS::settled) {
        TESS_TRY(make_settled_predicate(ctx, op->state, op->finishing, &predicate));
    } else {
        predicate = make_predicate(ctx, op->state, op->finishing);
    }
    TESS_TRY(prepare_reduction(ctx, grid, NDOTS, op->scalar, op->state, &target));
    status = gpu_launch(ctx, "a vector operation", fused_kernel<PASS, NDOTS>, grid, 0, *op, predicate, target);
    status = end_reduction(ctx, status, target);
cleanup:
    return status;
}

/* A solver's own pass without a pending reduction (fused_settled_device.cu). */
tess_status gpu_fused_settled(tess_context *ctx, const tess_fused *op);

/* ---- BLAS operations ---- */

/* Operands of one precision, whose type is STORAGE, all at multiples of 16 bytes (blas_stored_device.cu). */
template <typename STORAGE>
tess_status gpu_blas_packed(tess_context *ctx, const tess_fused *op);
/* Any others; whether the operation reads y, and writes a result (blas_mixed_device.cu). */
tess_status gpu_blas_mixed(tess_context *ctx, const tess_fused *op, bool reads_y, bool writes);

#endif
