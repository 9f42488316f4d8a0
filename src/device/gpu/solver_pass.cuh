/* SPDX-License-Identifier: Apache-2.0 */
/* The solvers' own passes over vectors on the GPU. */
#ifndef TESS_DEVICE_GPU_SOLVER_PASS_CUH
#define TESS_DEVICE_GPU_SOLVER_PASS_CUH

#include "device/gpu/fused_pass.cuh"

template <tess_fused_op OP>
__device__ static inline void apply_body(const tess_fused *op, tess_scalars scalars, int64_t i, int64_t row,
                                         double *dots)
{
    switch (OP) {
#define TESS_FUSED(NAME, function, ndots)    \
    case TESS_FUSED_##NAME:                  \
        function(op, scalars, i, row, dots); \
        break;
#define TESS_BLAS(NAME, function, operands, ndots)
#include "base/fused.def"
#undef TESS_BLAS
#undef TESS_FUSED
    default: break;
    }
}

/* Passes over many vectors, or with coefficients beside the loop's scalars. */
constexpr bool needs_registers(tess_fused_op op)
{
    return op == TESS_FUSED_BICGSTAB_UPDATE || op == TESS_FUSED_MINRES_LANCZOS || op == TESS_FUSED_MINRES_DIRECTION ||
           op == TESS_FUSED_ADVANCE;
}

/* The solvers' own passes: FP64, one element at a time. SETTLED: there is no pending reduction to finish. */
template <tess_fused_op OP, bool SETTLED>
struct solver_pass {
    typedef double REAL;
    static constexpr bool settled = SETTLED;
    static constexpr int count = 1;
    /* Blocks per multiprocessor: enough to fill it, and no more than registers allow at a time. */
    static constexpr int blocks = needs_registers(OP) ? 5 : 8;

    __device__ static inline void begin(const tess_fused &)
    {
    }

    template <int N>
    __device__ static inline void run(const tess_fused &op, const tess_scalars &scalars, double (&dots)[N])
    {
        int64_t first = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;

        for (int64_t i = first; i < op.n; i += (int64_t)gridDim.x * GPU_BLOCK) {
            apply_body<OP>(&op, scalars, i, i, dots);
        }
    }
};

#endif
