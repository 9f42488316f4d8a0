/* SPDX-License-Identifier: Apache-2.0 */
/* Batches with ILU(0) or GMRES on a GPU: their kernel (batch_device.cu has the rest). */
#define BATCH_HAS_OWN 1
#include "solver/batch/batch_kernel.cuh"

tess_status batch_launch_with_own(tess_context *ctx, const batch_task *task, const batch_launch *l)
{
    return launch(ctx, task, l);
}
