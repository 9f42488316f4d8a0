/* SPDX-License-Identifier: Apache-2.0 */
/* Batches on a GPU: one launch, a block of threads for each system; its vectors are in shared memory, or, where they do
   not fit, in global memory, and then blocks solve several systems one after another. Factors and bases are always in
   global memory. */
#define BATCH_HAS_OWN 0
#include "solver/batch/batch_kernel.cuh"

/* Blocks per multiprocessor with vectors in global memory; the same with vectors in shared memory, and factors or a
   basis in global memory; systems of a launch for each multiprocessor where somebody may end the batch. */
enum { GLOBAL_BLOCKS = 4, OWN_BLOCKS = 8, WATCHED_SYSTEMS = 32 };
/* About the most bytes of factors and bases. */
constexpr int64_t OWN_BYTES = INT64_C(1) << 31;

/* Global memory bounds the blocks, where they have any; each multiprocessor has one. */
static unsigned blocks_of(const tess_context *ctx, const batch_task *task, bool shared, int64_t values)
{
    const int64_t multiprocessors = gpu_state_of(ctx)->multiprocessors;
    int64_t most = shared ? INT32_MAX : multiprocessors * GLOBAL_BLOCKS;

    if (batch_own_values(task) > 0) {
        const int64_t resident = multiprocessors * (shared ? (int)OWN_BLOCKS : (int)GLOBAL_BLOCKS);
        const int64_t fitting = OWN_BYTES / (values * (int64_t)sizeof(double));

        most = resident < fitting ? resident : fitting;
        if (most < multiprocessors) { most = multiprocessors; }
    }
    return (unsigned)(task->systems < most ? task->systems : most);
}

static tess_status solve(tess_context *ctx, const batch_task *task, batch_outcome *outcomes)
{
    gpu_scope scope(ctx);
    const bool short_step = task->method == BATCH_CG || task->method == BATCH_GMRES;
    const int nvectors = short_step ? (int)BATCH_CG_VECTORS : (int)BATCH_VECTORS;
    const int64_t values = (int64_t)nvectors * task->n, bytes = values * (int64_t)sizeof(double);
    const bool shared = JOIN_BYTES + bytes <= gpu_state_of(ctx)->shared_bytes_per_block - GPU_STATIC_SHARED;
    const int64_t own_values = batch_own_values(task);
    batch_launch l = {};
    tess_status status = TESS_SUCCESS;

    l.blocks = blocks_of(ctx, task, shared, own_values + (shared ? 0 : values));
    l.nvectors = nvectors;
    l.shared_bytes = shared ? bytes : 0;
    TESS_TRY(tess_device_allocate(ctx, task->systems, sizeof *l.found, (void **)&l.found));
    if (!shared) { TESS_TRY(tess_device_allocate(ctx, l.blocks * values, sizeof(double), (void **)&l.workspace)); }
    if (own_values > 0) { TESS_TRY(tess_device_allocate(ctx, l.blocks * own_values, sizeof(double), (void **)&l.own)); }
    TESS_TRY(own_values > 0 ? batch_launch_with_own(ctx, task, &l) : launch(ctx, task, &l));
    status = ctx->backend->download(ctx, outcomes, l.found, (size_t)task->systems * sizeof *outcomes);
cleanup:
    tess_device_release(ctx, l.found, task->systems, sizeof *l.found);
    tess_device_release(ctx, l.workspace, l.blocks * values, sizeof(double));
    tess_device_release(ctx, l.own, l.blocks * own_values, sizeof(double));
    return status;
}

static int64_t watched(const tess_context *ctx)
{
    return (int64_t)gpu_state_of(ctx)->multiprocessors * WATCHED_SYSTEMS;
}

extern "C" const batch_ops *batch_gpu_ops(void)
{
    static const batch_ops table = {solve, watched};

    return &table;
}
