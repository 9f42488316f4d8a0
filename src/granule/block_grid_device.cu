/* SPDX-License-Identifier: Apache-2.0 */
/* The grid of blocks and the levels of its blocks on the GPU. */
#include "granule/assign_device.cuh"

tess_status assign_blocks_gpu(tess_context *ctx, const assign_task *task, tess_assignment *out, assign_totals *totals)
{
    (void)task;
    (void)out;
    (void)totals;
    return tess_fail(ctx, TESS_UNSUPPORTED, "choose the CPU", "granularity block on a GPU");
}
