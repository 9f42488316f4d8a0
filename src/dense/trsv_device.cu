/* SPDX-License-Identifier: Apache-2.0 */
/* Dense triangular solves on the GPU: workspace and choice of a kernel (trsv_stored_device.cu has the kernels). */
#include "dense/trsv_tiles.cuh"
#include "device/gpu/storage_types.cuh"

static tess_status find_workspace(tess_context *ctx, solve_job *job)
{
    gpu_workspace *workspace = &gpu_state_of(ctx)->solves;
    const int64_t values = static_cast<int64_t>(job->blocks) * TRSV_BLOCK;
    const int64_t bytes = values * static_cast<int64_t>(sizeof(message<double>));
    tess_status status = gpu_workspace_reserve(ctx, workspace, bytes + static_cast<int64_t>(sizeof(solve_head)), true);

    if (status != TESS_SUCCESS) { return status; }
    job->head = static_cast<solve_head *>(workspace->memory);
    job->messages = job->head + 1;
    job->message_bytes = workspace->bytes - static_cast<int64_t>(sizeof(solve_head));
    return TESS_SUCCESS;
}

static tess_status solve_triangle(tess_context *ctx, const tess_trsv_args *args)
{
    gpu_scope scope(ctx);
    const tess_trsv_options *options = &args->options;
    solve_job job = {};
    tess_status status = TESS_SUCCESS;

    job.n = args->a.nrows;
    job.ld = args->a.ld;
    job.blocks = static_cast<int>(trsv_blocks(job.n));
    job.a = args->a.data;
    job.scale = args->a.column_scale;
    job.x = args->x.data;
    job.x_precision = args->x.precision;
    job.backward = trsv_backward(options);
    job.unit = options->diagonal == TESS_UNIT;
    job.narrow_inverse = options->inversion == TESS_ARITHMETIC_FP32;
    job.timeout = gpu_state_of(ctx)->timeout;
    status = find_workspace(ctx, &job);
    if (status != TESS_SUCCESS) { return status; }
    return gpu_by_storage(ctx, args->a.precision,
                          [&](auto stored) { return trsv_launch<typename decltype(stored)::type>(ctx, args, &job); });
}

extern "C" const trsv_ops *trsv_gpu_ops(void)
{
    static const trsv_ops table = {solve_triangle};

    return &table;
}
