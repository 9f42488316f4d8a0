/* SPDX-License-Identifier: Apache-2.0 */
/* Repetitions on the GPU: bodies without a state or a condition, recorded and launched again. */
#include <string.h>

#include "device/gpu/loop_graph.cuh"

/* Bodies in a recording of `repeat`, which share the cost of launching it. Jacobi repeats 15 times between checks. */
enum { REPEAT_UNROLL = 15 };

/* Bodies one after another; each kernel waits for the previous one. */
static tess_status repeat_plainly(tess_status (*body)(void *user), void *user, int64_t count)
{
    tess_status status = TESS_SUCCESS;

    for (int64_t i = 0; i < count && status == TESS_SUCCESS; i++) {
        status = body(user);
    }
    return status;
}

/* As make_loop_graph, without a state or a condition. */
static tess_status record_repetition(tess_context *ctx, tess_status (*body)(void *user), void *user, loop_graph **out)
{
    gpu_state *state = gpu_state_of(ctx);
    GPU(Stream_t) users = state->stream, recording = NULL;
    loop_graph *g = NULL;
    tess_status status = TESS_SUCCESS, body_status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *g, (void **)&g));
    memset(g, 0, sizeof *g);
    TESS_TRY(loop_graph_find_recorder(ctx, &recording));
    TESS_TRY(gpu_check(ctx, GPU(StreamBeginCapture)(recording, GPU(StreamCaptureModeRelaxed)), "recording iterations"));
    state->stream = recording;
    body_status = repeat_plainly(body, user, REPEAT_UNROLL);
    state->stream = users;
    TESS_TRY(loop_graph_end_recording(ctx, recording, body_status, &g->graph));
    TESS_TRY(gpu_check(ctx, GPU_GRAPH_INSTANTIATE(&g->executable, g->graph), "instantiating iterations"));
    *out = g;
cleanup:
    if (status != TESS_SUCCESS) { loop_graph_release(ctx, g); }
    return status;
}

/* The first body runs without recording: it may allocate memory, which is not allowed while recording. */
extern "C" tess_status gpu_repeat(tess_context *ctx, tess_status (*body)(void *user), void *user, int64_t count,
                                  void **graph_slot)
{
    gpu_scope scope(ctx);
    loop_graph *g = (loop_graph *)*graph_slot;
    tess_status status = TESS_SUCCESS;

    if (!g && count >= REPEAT_UNROLL) {
        TESS_TRY(body(user));
        count -= 1;
        TESS_TRY(record_repetition(ctx, body, user, &g));
        *graph_slot = g;
    }
    for (; g && count >= REPEAT_UNROLL; count -= REPEAT_UNROLL) {
        TESS_TRY(gpu_check(ctx, GPU(GraphLaunch)(g->executable, gpu_stream_of(ctx)), "launching iterations"));
    }
    status = repeat_plainly(body, user, count);
cleanup:
    return status;
}
