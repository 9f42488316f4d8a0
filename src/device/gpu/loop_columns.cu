/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops of several columns on the GPU: what loop.cu does once for each end of an iteration or recording. Kernels of
 * these loops finish their own reductions (columns.cuh), so that nothing is pending between them.
 */
#include "device/gpu/loop_columns.h"

/* What the end of an iteration reads of a column. */
struct column_progress {
    int64_t iteration;
    double residual_norm, tolerance;
    bool runs;
};

__host__ __device__ static inline column_progress progress_of(const tess_loop_state &state)
{
    return {state.iteration, state.residual_norm, state.tolerance, state.phase == TESS_LOOP_RUNNING};
}

/* The column that is farthest from its tolerance, of those that were part of the last iteration. */
__host__ __device__ static inline int worst_column(const column_progress *column, int columns)
{
    int worst = 0;

    for (int c = 1; c < columns; c++) {
        const column_progress &s = column[c], &w = column[worst];
        const bool farther = s.residual_norm * w.tolerance > w.residual_norm * s.tolerance;

        if (s.iteration > w.iteration || (s.iteration == w.iteration && farther)) { worst = c; }
    }
    return worst;
}

__host__ __device__ static inline int count_running(const column_progress *column, int columns)
{
    int running = 0;

    for (int c = 0; c < columns; c++) {
        running += column[c].runs;
    }
    return running;
}

/* ---- recordings ---- */

/* One block with a thread for each column. True, in the first thread: continue. */
__device__ static bool close_columns(tess_loop_state *state, int columns, int leave_at, volatile loop_mailbox *mailbox)
{
    __shared__ column_progress column[TESS_MAX_COLUMNS];
    const int c = (int)threadIdx.x;

    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    if (c < columns) {
        column[c] = progress_of(state[c]);
        if (mailbox->cancel) { state[c].cancel = 1; }
    }
    __syncthreads();
    if (c > 0) { return false; }
    const int worst = worst_column(column, columns);
    const bool more = count_running(column, columns) > leave_at;

    mailbox->residual_norm = state[worst].scale * column[worst].residual_norm;
    mailbox->tolerance = state[worst].scale * column[worst].tolerance;
    mailbox->iteration = column[worst].iteration;
    mailbox->phase = more ? TESS_LOOP_RUNNING : TESS_LOOP_STOPPED;
    return more;
}

__global__ static void close_columns_kernel(tess_loop_state *state, int columns, int leave_at, loop_mailbox *mailbox,
                                            columns_condition condition)
{
    const bool more = close_columns(state, columns, leave_at, mailbox);

#if GPU_HAS_WHILE_NODE
    if (threadIdx.x == 0 && !more) { cudaGraphSetConditional(condition, 0U); }
#else
    (void)more;
    (void)condition;
#endif
}

tess_status gpu_close_columns(tess_context *ctx, const tess_loop *loop, loop_mailbox *mailbox,
                              columns_condition condition)
{
    return gpu_launch_blocks(ctx, "the end of a loop's body", close_columns_kernel, 1U, (unsigned)TESS_MAX_COLUMNS, 0,
                             loop->state, loop->columns, loop->leave_at, mailbox, condition);
}

/* ---- the plain engine ---- */

tess_status gpu_cancel_columns(tess_context *ctx, const tess_loop *loop)
{
    const int32_t yes = 1;
    tess_status status = TESS_SUCCESS;

    for (int c = 0; c < loop->columns && status == TESS_SUCCESS; c++) {
        status = ctx->backend->upload(ctx, &loop->state[c].cancel, &yes, sizeof yes);
    }
    return status;
}

/* Reads the states, for loop->result. */
static tess_status read_columns(tess_context *ctx, tess_loop *loop)
{
    tess_loop_state state[TESS_MAX_COLUMNS];
    column_progress column[TESS_MAX_COLUMNS];
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ctx->backend->download(ctx, state, loop->state, (size_t)loop->columns * sizeof *state));
    for (int c = 0; c < loop->columns; c++) {
        column[c] = progress_of(state[c]);
    }
    loop->result = state[worst_column(column, loop->columns)];
    loop->result.phase = count_running(column, loop->columns) > loop->leave_at ? TESS_LOOP_RUNNING : TESS_LOOP_STOPPED;
cleanup:
    return status;
}

tess_status gpu_run_columns(tess_context *ctx, tess_loop *loop, int64_t most)
{
    bool cancel = false;
    tess_status status = TESS_SUCCESS;

    for (int64_t i = 0;; i++) {
        TESS_TRY(read_columns(ctx, loop));
        if (i > 0 && loop->monitor && !cancel) {
            cancel = gpu_tell_monitor(loop);
            if (cancel) { TESS_TRY(gpu_cancel_columns(ctx, loop)); }
        }
        if (loop->result.phase != TESS_LOOP_RUNNING || i >= most) { break; }
        gpu_state_of(ctx)->bodies += 1;
        TESS_TRY(loop->body(loop->solver));
    }
    if (cancel) { loop->result.cancel = 1; }
cleanup:
    return status;
}
