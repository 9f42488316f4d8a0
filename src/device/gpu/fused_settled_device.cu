/* SPDX-License-Identifier: Apache-2.0 */
/* The solvers' own passes on the GPU without a pending reduction. */
#include "device/gpu/solver_pass.cuh"

tess_status gpu_fused_settled(tess_context *ctx, const tess_fused *op)
{
    switch (op->op) {
#define TESS_FUSED(NAME, function, ndots) \
    case TESS_FUSED_##NAME:               \
        return launch_pass<solver_pass<TESS_FUSED_##NAME, true>, ndots>(ctx, op);
#define TESS_BLAS(NAME, function, operands, ndots)
#include "base/fused.def"
#undef TESS_BLAS
#undef TESS_FUSED
    default:
        return tess_fail(ctx, TESS_INTERNAL, "this is an error of the library; please report it",
                         "no kernel for vector operation %d", (int)op->op);
    }
}
