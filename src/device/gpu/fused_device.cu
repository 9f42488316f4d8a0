/* SPDX-License-Identifier: Apache-2.0 */
/* Fused vector operations on the GPU: the solvers' own passes, and the choice of all. */
#include "device/gpu/fused_pass.cuh"
#include "device/gpu/storage_types.cuh"
#include "device/gpu/wide_pass.cuh"

/* The solvers' own passes: FP64, an element at a time. */
template <tess_fused_op OP>
struct solver_pass {
    typedef double REAL;
    static constexpr bool settled = false;
    static constexpr int count = 1;
    /* Blocks per multiprocessor: as many as fill it, and no more than registers allow at a time. */
    static constexpr int blocks = OP == TESS_FUSED_BICGSTAB_UPDATE ? 5 : 8; /* that one reads six vectors */

    __device__ static inline void begin(const tess_fused &)
    {
    }

    template <int N>
    __device__ static inline void run(const tess_fused &op, const tess_scalars &scalars, double (&dots)[N])
    {
        int64_t first = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;

        for (int64_t i = first; i < op.n; i += (int64_t)gridDim.x * GPU_BLOCK) {
            apply_body<OP>(&op, scalars, i, dots);
        }
    }
};

template <tess_fused_op OP, int NDOTS>
static tess_status launch_solver(tess_context *ctx, const tess_fused *op)
{
    if constexpr (wide_shape<OP>::INPUTS > 0) {
        if (wide_fits<OP>(op)) {
            return op->scale ? launch_pass<wide_pass<OP, true>, NDOTS>(ctx, op)
                             : launch_pass<wide_pass<OP, false>, NDOTS>(ctx, op);
        }
    }
    return launch_pass<solver_pass<OP>, NDOTS>(ctx, op);
}

/* Whether an array can be read 16 bytes at a time, like those of the precision given. */
static bool is_packed(const void *data, tess_precision precision, tess_precision of)
{
    return precision == of && reinterpret_cast<uintptr_t>(data) % sizeof(uint4) == 0;
}

static tess_status launch_blas(tess_context *ctx, const tess_fused *op, bool reads_y, bool writes)
{
    const tess_precision precision = op->x.precision;

    if (!is_packed(op->x.data, precision, precision) ||
        (reads_y && !is_packed(op->y.data, op->y.precision, precision)) ||
        (writes && !is_packed(op->result, op->y.precision, precision))) {
        return gpu_blas_mixed(ctx, op, reads_y, writes);
    }
    return gpu_by_storage(ctx, precision,
                          [&](auto stored) { return gpu_blas_packed<typename decltype(stored)::type>(ctx, op); });
}

extern "C" tess_status gpu_fused(tess_context *ctx, const tess_fused *op)
{
    switch (op->op) {
#define TESS_FUSED(NAME, function, ndots) \
    case TESS_FUSED_##NAME:               \
        return launch_solver<TESS_FUSED_##NAME, ndots>(ctx, op);
#define TESS_BLAS(NAME, function, operands, ndots) \
    case TESS_FUSED_##NAME:                        \
        return launch_blas(ctx, op, operands == 2, ndots == 0);
#include "base/fused.def"
#undef TESS_BLAS
#undef TESS_FUSED
    }
    return tess_fail(ctx, TESS_INTERNAL, NULL, "vector operation %d", (int)op->op);
}
