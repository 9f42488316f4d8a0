/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of several columns on the GPU (loop_columns.cu), as loop.cu runs and records them. */
#ifndef TESS_DEVICE_GPU_LOOP_COLUMNS_H
#define TESS_DEVICE_GPU_LOOP_COLUMNS_H

#include "device/gpu/gpu.h"
#include "device/gpu/mailbox.h"

/* Of the node that repeats a recording; without such nodes the host reads the mailbox. */
#if GPU_HAS_WHILE_NODE
typedef cudaGraphConditionalHandle columns_condition;
#else
typedef int columns_condition;
#endif

/* The plain engine, for at most so many iterations. Fills loop->result: the column of the last iteration that is
   farthest from its tolerance, in phase RUNNING while more than leave_at columns are. */
tess_status gpu_run_columns(tess_context *ctx, tess_loop *loop, int64_t most);
/* Launches the end of a recording. */
tess_status gpu_close_columns(tess_context *ctx, const tess_loop *loop, loop_mailbox *mailbox,
                              columns_condition condition);
/* Tells the monitor loop->result (loop.cu). True: the loop is to end. */
bool gpu_tell_monitor(const tess_loop *loop);
/* Tells all columns to end. */
tess_status gpu_cancel_columns(tess_context *ctx, const tess_loop *loop);

#endif
