/* SPDX-License-Identifier: Apache-2.0 */
/* Fused vector operations on the GPU: the solvers' own passes, and the choice between all passes. */
#include "device/gpu/columns.cuh"
#include "device/gpu/fused_pass.cuh"
#include "device/gpu/solver_pass.cuh"
#include "device/gpu/storage_types.cuh"
#include "device/gpu/wide_pass.cuh"

template <tess_fused_op OP>
static bool has_wide_pass(const tess_fused *op)
{
    return wide_shape<OP>::INPUTS > 0 && wide_fits<OP>(op);
}

template <tess_fused_op OP, int NDOTS>
static tess_status launch_solver(tess_context *ctx, const tess_fused *op)
{
    if constexpr (wide_shape<OP>::INPUTS > 0) {
        if (has_wide_pass<OP>(op)) {
            return op->scale ? launch_pass<wide_pass<OP, true>, NDOTS>(ctx, op)
                             : launch_pass<wide_pass<OP, false>, NDOTS>(ctx, op);
        }
    }
    return launch_pass<solver_pass<OP, false>, NDOTS>(ctx, op);
}

/* Whether an array can be read 16 bytes at a time, as arrays of the given precision. */
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

/* Passes without a pending reduction need far less code; in their own source they are all that a solve in one kernel
   has to load. */
static bool is_settled(tess_context *ctx, const tess_fused *op)
{
    return !is_deferred(ctx, op->state) || gpu_state_of(ctx)->pending.ndots == 0;
}

extern "C" tess_status gpu_fused(tess_context *ctx, const tess_fused *op)
{
    if (op->columns > 1) { return gpu_fused_columns(ctx, op); }
    switch (op->op) {
#define TESS_FUSED(NAME, function, ndots)                                   \
    case TESS_FUSED_##NAME:                                                 \
        return is_settled(ctx, op) && !has_wide_pass<TESS_FUSED_##NAME>(op) \
                   ? gpu_fused_settled(ctx, op)                             \
                   : launch_solver<TESS_FUSED_##NAME, ndots>(ctx, op);
#define TESS_BLAS(NAME, function, operands, ndots) \
    case TESS_FUSED_##NAME:                        \
        return launch_blas(ctx, op, operands == 2, ndots == 0);
#include "base/fused.def"
#undef TESS_BLAS
#undef TESS_FUSED
    }
    return tess_fail(ctx, TESS_INTERNAL, "this is an error of the library; please report it",
                     "no kernel for vector operation %d", (int)op->op);
}
