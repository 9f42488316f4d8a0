/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arnoldi's process on the GPU: the sweeps of arnoldi_host.c over the basis. A thread keeps its rows of w in registers
 * and goes through the columns. Sums over rows go from waves to shared memory and from blocks to memory; a kernel of
 * one block for each column adds them in order. Threads compute in the precision of the vectors, FP32 or FP64; sums
 * over rows of different waves are in FP64. The second sweep of CGS2 subtracts the first projection and computes the
 * second. A thread keeps the rows that it has read in shared memory for that, as far as there is space, so that the
 * basis is read three times and not four.
 */
#include "solver/gmres/arnoldi_small.cuh"

static unsigned sweep_grid(const tess_context *ctx, const tess_arnoldi *a, int blocks)
{
    const int64_t tile = GPU_BLOCK * rows_of_bytes((int)tess_storage_bytes(a->precision));
    const int64_t needed = (a->n + tile - 1) / tile, most = (int64_t)gpu_state_of(ctx)->multiprocessors * blocks;

    return (unsigned)(needed < 1 ? 1 : needed < most ? needed : most);
}

static tess_status run_sweep(tess_context *ctx, sweep_kind kind, const sweep_task &task, tess_precision vectors,
                             unsigned grid, const loop_predicate &predicate)
{
    return gpu_by_storage(ctx, task.a.precision, [&](auto stored) {
        return arnoldi_sweep<typename decltype(stored)::type>(ctx, kind, vectors, task, grid, predicate);
    });
}

static tess_status collect(tess_context *ctx, const sweep_task &task, unsigned blocks, double *coefficient, int norm,
                           const loop_predicate &predicate)
{
    return gpu_launch(ctx, "the sums of a projection", collect_kernel, (unsigned)task.a.small.most + 1U, 0, task,
                      predicate, blocks, coefficient, norm);
}

static tess_status step_cgs2(tess_context *ctx, const tess_arnoldi *a)
{
    const unsigned wide = sweep_grid(ctx, a, SWEEP_BLOCKS), narrow = sweep_grid(ctx, a, KEEP_BLOCKS);
    const int capacity = (int)(KEPT_BYTES / (GPU_BLOCK * ROW_BYTES));
    sweep_task task = {*a, a->small.most < capacity ? a->small.most : capacity, NULL};
    loop_predicate predicate;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_parts(ctx, (int64_t)(a->small.most + 1) * wide, &task.partials));
    TESS_TRY(make_settled_predicate(ctx, a->state, &predicate));
    TESS_TRY(run_sweep(ctx, PROJECT, task, a->vectors, wide, at_phase(predicate, TESS_PHASE_GEMV_T)));
    TESS_TRY(collect(ctx, task, wide, a->small.first, ARNOLDI_WHOLE, at_phase(predicate, TESS_PHASE_GEMV_T)));
    TESS_TRY(run_sweep(ctx, CORRECT, task, a->vectors, narrow, at_phase(predicate, TESS_PHASE_GEMV_N)));
    TESS_TRY(collect(ctx, task, narrow, a->small.second, ARNOLDI_ONCE, at_phase(predicate, TESS_PHASE_GEMV_N)));
    TESS_TRY(gpu_allow_shared(ctx, (const void *)close_kernel));
    TESS_TRY(run_sweep(ctx, APPEND, task, a->vectors, wide, at_phase(predicate, TESS_PHASE_GEMV_N)));
    status = gpu_launch(ctx, "the end of an iteration", close_kernel, 1U, 4 * (size_t)a->small.most * sizeof(double),
                        task, at_phase(predicate, TESS_PHASE_OTHER), wide);
cleanup:
    return status;
}

static tess_status step_delayed(tess_context *ctx, const tess_arnoldi *a)
{
    const int blocks = blocks_of_both((int)tess_storage_bytes(a->precision), a->vectors == TESS_PRECISION_FP32 ? 4 : 8);
    const unsigned grid = sweep_grid(ctx, a, blocks), wide = sweep_grid(ctx, a, SWEEP_BLOCKS);
    const unsigned sums = 2U * (unsigned)a->small.most + ARNOLDI_NORMS;
    sweep_task task = {*a, 0, NULL};
    loop_predicate predicate;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_parts(ctx, (int64_t)sums * grid, &task.partials));
    TESS_TRY(make_settled_predicate(ctx, a->state, &predicate));
    TESS_TRY(run_sweep(ctx, PROJECT_BOTH, task, a->vectors, grid, at_phase(predicate, TESS_PHASE_GEMV_T)));
    TESS_TRY(gpu_allow_shared(ctx, (const void *)close_both_kernel));
    TESS_TRY(gpu_launch(ctx, "the sums of projections", collect_both_kernel, sums, 0, task,
                        at_phase(predicate, TESS_PHASE_GEMV_T), grid));
    TESS_TRY(gpu_launch(ctx, "the end of an iteration", close_both_kernel, 1U,
                        3 * (size_t)a->small.most * sizeof(double), task, at_phase(predicate, TESS_PHASE_OTHER)));
    status = run_sweep(ctx, FINISH_BOTH, task, a->vectors, wide, at_phase(predicate, TESS_PHASE_GEMV_N));
cleanup:
    return status;
}

static tess_status combine(tess_context *ctx, const tess_arnoldi *a)
{
    const sweep_task task = {*a, 0, NULL};
    const loop_predicate none = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_allow_shared(ctx, (const void *)solve_kernel));
    TESS_TRY(
        gpu_launch(ctx, "a triangular system", solve_kernel, 1U, (size_t)a->small.most * sizeof(double), a->small));
    status = run_sweep(ctx, COMBINE, task, a->sum_precision, sweep_grid(ctx, a, SWEEP_BLOCKS), none);
cleanup:
    return status;
}

/* Sums need shared memory in proportion to the basis. */
static tess_status check_length(tess_context *ctx, const tess_arnoldi *a)
{
    const int64_t each = (a->delayed ? 2 : 1) * WAVES * (int64_t)sizeof(double);
    const int64_t kept = a->delayed ? 0 : KEPT_BYTES;
    const int64_t most = (gpu_state_of(ctx)->shared_bytes_per_block - kept - RESERVED_BYTES) / each;

    if (a->small.most <= most) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_UNSUPPORTED, "use a smaller --restart, or --device cpu",
                     "a Krylov basis of %d vectors is too large for this device, which has space for %lld",
                     a->small.most, (long long)most);
}

static tess_status run(tess_context *ctx, const tess_arnoldi *a, tess_arnoldi_stage stage)
{
    gpu_scope scope(ctx);
    tess_status status = TESS_SUCCESS;

    switch (stage) {
    case TESS_ARNOLDI_CHECK: status = check_length(ctx, a); break;
    case TESS_ARNOLDI_START:
        status = run_sweep(ctx, BEGIN, {*a, 0, NULL}, a->vectors, sweep_grid(ctx, a, SWEEP_BLOCKS), {});
        break;
    case TESS_ARNOLDI_STEP: status = a->delayed ? step_delayed(ctx, a) : step_cgs2(ctx, a); break;
    default: status = combine(ctx, a); break;
    }
    return status;
}

extern "C" const arnoldi_ops *arnoldi_gpu_ops(void)
{
    static const arnoldi_ops table = {run};

    return &table;
}
