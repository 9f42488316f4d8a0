/* SPDX-License-Identifier: Apache-2.0 */
/* The launch of a single kernel, as the loops of the GPU see it. */
#ifndef TESS_SOLVER_SINGLE_KERNEL_LAUNCH_CUH
#define TESS_SOLVER_SINGLE_KERNEL_LAUNCH_CUH

#include "device/gpu/gpu.h"
#include "device/gpu/mailbox.h"
#include "solver/single_kernel/single_kernel.h"

/* Enqueues the cycle that k->state and the vectors begin; the mailbox (its device address) is filled by its end. */
tess_status gpu_single_launch(tess_context *ctx, const struct tess_krylov *k, loop_mailbox *mailbox, bool watched);

/* After mailbox->failed: makes the next launch possible and says what happened. */
tess_status gpu_single_failed(tess_context *ctx, const single_kernel *single);

#endif
