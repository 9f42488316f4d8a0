/* SPDX-License-Identifier: Apache-2.0 */
/* Fused vector operations on the GPU: one kernel, instantiated per pass. A pass is an operation's loop over its vectors. */
#include "device/gpu/blas_device.cuh"
#include "device/gpu/wide_pass.cuh"

/* The solvers' own passes: FP64, an element at a time. */
template <tess_fused_op OP>
struct solver_pass {
    typedef double REAL;
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

template <typename PASS, int NDOTS>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, PASS::blocks)
    fused_kernel(const tess_fused op, const loop_gate gate, const reduce_target target)
{
    tess_scalars scalars = {0.0, 0.0, 0.0};
    typename PASS::REAL dots[NDOTS > 0 ? NDOTS : 1] = {};
    PASS pass;

    pass.begin(op);
    if (!loop_enter<false>(gate, NDOTS > 0, &scalars)) { return; }
    pass.run(op, scalars, dots);
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

template <typename PASS, int NDOTS>
static tess_status launch_pass(tess_context *ctx, const tess_fused *op)
{
    gpu_scope scope(ctx);
    unsigned grid = gpu_grid(ctx, op->n / PASS::count, PASS::blocks);
    loop_gate gate = open_gate(ctx, op->state, op->finishing);
    reduce_target target;
    tess_status status = prepare_reduction(ctx, grid, NDOTS, op->step, op->state, &target);

    if (status != TESS_SUCCESS) { return status; }
    status = gpu_launch(ctx, "a vector operation", fused_kernel<PASS, NDOTS>, grid, 0, *op, gate, target);
    return end_reduction(ctx, status, target);
}

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

/* Whether all arrays of a BLAS operation can be read and written through VALUES. */
template <typename VALUES, int OPERANDS, int NDOTS>
static bool operands_fit(const tess_fused *op)
{
    return VALUES::fits(op->x.data, op->x.precision) && (OPERANDS < 2 || VALUES::fits(op->y.data, op->y.precision)) &&
           (NDOTS > 0 || VALUES::fits(op->result, op->y.precision));
}

template <tess_fused_op OP, typename REAL, int OPERANDS, int NDOTS>
static tess_status launch_values(tess_context *ctx, const tess_fused *op)
{
#define LAUNCH_PACKED(STORAGE, NAME)                                                     \
    if (operands_fit<packed_values<STORAGE>, OPERANDS, NDOTS>(op)) {                     \
        return launch_pass<blas_pass<OP, REAL, packed_values<STORAGE>>, NDOTS>(ctx, op); \
    }
    STORAGE_TYPES(LAUNCH_PACKED)
#undef LAUNCH_PACKED
    if (operands_fit<quad_values, OPERANDS, NDOTS>(op)) {
        return launch_pass<blas_pass<OP, REAL, quad_values>, NDOTS>(ctx, op);
    }
    return launch_pass<blas_pass<OP, REAL, single_values>, NDOTS>(ctx, op);
}

template <tess_fused_op OP, int OPERANDS, int NDOTS>
static tess_status launch_blas(tess_context *ctx, const tess_fused *op)
{
    return op->arithmetic == TESS_ARITHMETIC_FP64 ? launch_values<OP, double, OPERANDS, NDOTS>(ctx, op)
                                                  : launch_values<OP, float, OPERANDS, NDOTS>(ctx, op);
}

extern "C" tess_status gpu_fused(tess_context *ctx, const tess_fused *op)
{
    switch (op->op) {
#define TESS_FUSED(NAME, function, ndots) \
    case TESS_FUSED_##NAME:               \
        return launch_solver<TESS_FUSED_##NAME, ndots>(ctx, op);
#define TESS_BLAS(NAME, function, operands, ndots) \
    case TESS_FUSED_##NAME:                        \
        return launch_blas<TESS_FUSED_##NAME, operands, ndots>(ctx, op);
#include "base/fused.def"
#undef TESS_BLAS
#undef TESS_FUSED
    }
    return tess_fail(ctx, TESS_INTERNAL, NULL, "vector operation %d", (int)op->op);
}
