/* SPDX-License-Identifier: Apache-2.0 */
/* A launch of a batch's kernel. */
#ifndef TESS_SOLVER_BATCH_BATCH_LAUNCH_CUH
#define TESS_SOLVER_BATCH_BATCH_LAUNCH_CUH

#include "solver/batch/batch.h"

struct batch_launch {
    unsigned blocks;
    int nvectors;         /* of a block */
    int64_t shared_bytes; /* for the vectors of a block; 0: they are in `workspace` */
    double *workspace;
    double *own; /* what a block has beside its vectors */
    batch_outcome *found;
};

/* By the kernel that can have factors and a basis (batch_own_device.cu). */
tess_status batch_launch_with_own(tess_context *ctx, const batch_task *task, const batch_launch *l);

#endif
