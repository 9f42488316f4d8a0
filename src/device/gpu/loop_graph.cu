/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of loops on the GPU: a few iterations, repeated on the device in a WHILE node. At each end of a recording,
 * progress and requests to cancel are exchanged through mapped host memory.
 */
#include <string.h>

#include "device/gpu/loop_columns.h"
#include "device/gpu/loop_graph.cuh"

/* A recording of long iterations ends with so many kernels: each takes longer to record than to run, and the loop's own
   node costs little beside them. */
enum { MANY_KERNELS = 64 };

/* The end of a body, one block: finishes the last reduction; the first thread copies the state back. */
__device__ static void copy_state_back(const loop_predicate &predicate, tess_loop_state *target)
{
    const tess_loop_state *state = predicate.state;

    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    if (predicate.pending.ndots > 0) { state = finish_pending(predicate); }
    if (threadIdx.x == 0 && state != target) { *target = *state; }
}

__global__ static void copy_back_kernel(const loop_predicate predicate, tess_loop_state *target)
{
    copy_state_back(predicate, target);
}

tess_status loop_copy_state_back(tess_context *ctx, tess_loop_state *state)
{
    return gpu_launch(ctx, "the end of an iteration", copy_back_kernel, 1U, 0, make_predicate(ctx, state, false),
                      state);
}

/* The end of a recording, one block: the end of a body, and an exchange with the mailbox. True: continue. */
__device__ static bool close_body(const loop_predicate &predicate, tess_loop_state *target,
                                  volatile loop_mailbox *mailbox)
{
    copy_state_back(predicate, target);
    if (threadIdx.x > 0) { return false; }
    mailbox->iteration = target->iteration;
    mailbox->residual_norm = target->scale * target->residual_norm;
    mailbox->phase = target->phase;
    if (mailbox->cancel) { target->cancel = 1; }
    return target->phase == TESS_LOOP_RUNNING && target->iteration < mailbox->pause_at;
}

#if GPU_HAS_WHILE_NODE
typedef cudaGraphConditionalHandle loop_condition;

__global__ static void close_body_kernel(const loop_predicate predicate, tess_loop_state *target, loop_mailbox *mailbox,
                                         loop_condition condition)
{
    bool more = close_body(predicate, target, mailbox);

    /* It is 1 from the launch on. */
    if (threadIdx.x == 0 && !more) { cudaGraphSetConditional(condition, 0U); }
}
#else
typedef int loop_condition; /* the host reads the mailbox */

__global__ static void close_body_kernel(const loop_predicate predicate, tess_loop_state *target, loop_mailbox *mailbox,
                                         loop_condition condition)
{
    (void)condition;
    (void)close_body(predicate, target, mailbox);
}
#endif

/* Mapped memory takes longer to allocate than a short solve. */
static tess_status take_mailbox(tess_context *ctx, gpu_mapped *out)
{
    gpu_state *state = gpu_state_of(ctx);

    if (state->mailboxes == 0) { return gpu_allocate_mapped(ctx, sizeof(loop_mailbox), out); }
    *out = state->mailbox[--state->mailboxes];
    return TESS_SUCCESS;
}

static void put_mailbox(gpu_state *state, gpu_mapped mapped)
{
    if (state->mailboxes < GPU_POOLED_MAILBOXES) {
        state->mailbox[state->mailboxes++] = mapped;
    } else {
        (void)GPU_HOST_FREE(mapped.host);
    }
}

void loop_graph_release(tess_context *ctx, loop_graph *g)
{
    if (!g) { return; }
    if (g->executable) { (void)GPU(GraphExecDestroy)(g->executable); }
    if (g->graph) { (void)GPU(GraphDestroy)(g->graph); }
    if (g->mailbox) { put_mailbox(gpu_state_of(ctx), {(void *)(uintptr_t)g->mailbox, g->device_mailbox}); }
    tess_device_release(ctx, g->other_state, 1, sizeof *g->other_state);
    for (int e = 0; e < 2; e++) {
        if (g->done[e]) { (void)GPU(EventDestroy)(g->done[e]); }
    }
    tess_host_release(ctx, g, 1, sizeof *g);
}

extern "C" void gpu_release_graph(tess_context *ctx, void *graph)
{
    gpu_scope scope(ctx);

    (void)GPU(StreamSynchronize)(gpu_stream_of(ctx));
    (void)GPU(GetLastError)(); /* has no caller to go to */
    loop_graph_release(ctx, (loop_graph *)graph);
}

void loop_begin_deferring(gpu_state *state, tess_loop_state *own, tess_loop_state *other_state)
{
    state->deferring = own;
    state->pending.ndots = 0;
    state->state_now = own;
    state->state_next = other_state;
}

/* Whether a recording of so many kernels gets one more iteration. */
static bool has_place(int64_t kernels, int iterations)
{
    return iterations < UNROLL && (kernels < MANY_KERNELS || kernels < (int64_t)iterations * LONG_KERNELS);
}

static tess_status record_body(tess_context *ctx, const tess_loop *loop, const loop_graph *g, loop_condition condition)
{
    gpu_state *state = gpu_state_of(ctx);
    const int64_t before = state->launches;
    tess_status status = TESS_SUCCESS;

    state->recording = true;
    if (loop->columns <= 1) { loop_begin_deferring(state, loop->state, g->other_state); }
    for (int u = 0; status == TESS_SUCCESS && has_place(state->launches - before, u); u++) {
        status = loop->body(loop->solver);
    }
    if (status == TESS_SUCCESS && loop->columns > 1) {
        status = gpu_close_columns(ctx, loop, g->device_mailbox, condition);
    } else if (status == TESS_SUCCESS) {
        status = gpu_launch(ctx, "the end of a loop's body", close_body_kernel, 1U, 0,
                            make_predicate(ctx, loop->state, false), loop->state, g->device_mailbox, condition);
    }
    state->recording = false;
    state->deferring = NULL;
    return status;
}

tess_status loop_graph_end_recording(tess_context *ctx, GPU(Stream_t) stream, tess_status body_status,
                                     GPU(Graph_t) * graph)
{
    GPU(Error_t) error = GPU(StreamEndCapture)(stream, graph);

    if (body_status == TESS_SUCCESS) { return gpu_check(ctx, error, "recording the loop"); }
    (void)GPU(GetLastError)(); /* an invalid recording: the next launch must not report it */
    return body_status;
}

/* The graph that the recording fills: that of the WHILE node's body, if there is one. */
static tess_status record_graph(tess_context *ctx, const tess_loop *loop, loop_graph *g, GPU(Stream_t) stream)
{
    tess_status status = TESS_SUCCESS, body_status = TESS_SUCCESS;
    GPU(Graph_t) recorded = NULL;
#if GPU_HAS_WHILE_NODE
    loop_condition condition;
    cudaGraphNodeParams parameters = {};
    cudaGraphNode_t node;

    TESS_TRY(gpu_check(ctx, cudaGraphCreate(&g->graph, 0), "creating a graph"));
    TESS_TRY(gpu_check(ctx, cudaGraphConditionalHandleCreate(&condition, g->graph, 1, cudaGraphCondAssignDefault),
                       "creating a loop condition"));
    parameters.type = cudaGraphNodeTypeConditional;
    parameters.conditional.handle = condition;
    parameters.conditional.type = cudaGraphCondTypeWhile;
    parameters.conditional.size = 1;
    TESS_TRY(gpu_check(ctx, GPU_GRAPH_ADD_NODE(&node, g->graph, &parameters), "adding a WHILE node"));
    TESS_TRY(gpu_check(ctx,
                       cudaStreamBeginCaptureToGraph(stream, parameters.conditional.phGraph_out[0], NULL, NULL, 0,
                                                     cudaStreamCaptureModeRelaxed),
                       "recording the loop"));
    body_status = record_body(ctx, loop, g, condition);
    status = loop_graph_end_recording(ctx, stream, body_status, &recorded);
#else
    TESS_TRY(gpu_check(ctx, GPU(StreamBeginCapture)(stream, GPU(StreamCaptureModeRelaxed)), "recording the loop"));
    body_status = record_body(ctx, loop, g, 0);
    status = loop_graph_end_recording(ctx, stream, body_status, &recorded);
    g->graph = recorded;
#endif
cleanup:
    return status;
}

static tess_status open_mailbox(tess_context *ctx, loop_graph *g)
{
    gpu_mapped mapped;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(take_mailbox(ctx, &mapped));
    memset(mapped.host, 0, sizeof(loop_mailbox));
    g->mailbox = (volatile loop_mailbox *)mapped.host;
    g->device_mailbox = (loop_mailbox *)mapped.device;
cleanup:
    return status;
}

/* If the host repeats the recording, it reads the mailbox after the previous one has ended. */
static tess_status make_events(tess_context *ctx, loop_graph *g)
{
    const int events = GPU_HAS_WHILE_NODE ? 0 : 2;
    tess_status status = TESS_SUCCESS;

    for (int e = 0; e < events && status == TESS_SUCCESS; e++) {
        status = gpu_check(ctx, GPU(EventCreateWithFlags)(&g->done[e], GPU(EventDisableTiming)), "creating an event");
    }
    return status;
}

tess_status loop_graph_find_recorder(tess_context *ctx, GPU(Stream_t) * out)
{
    gpu_state *state = gpu_state_of(ctx);
    tess_status status = TESS_SUCCESS;

    if (!state->recorder) {
        status =
            gpu_check(ctx, GPU(StreamCreateWithFlags)(&state->recorder, GPU(StreamNonBlocking)), "creating a stream");
    }
    *out = state->recorder;
    return status;
}

/* Records on a separate stream, because the user's may not allow it; the context's stream is set aside meanwhile. */
tess_status loop_graph_make(tess_context *ctx, const tess_loop *loop, loop_graph **out)
{
    gpu_state *state = gpu_state_of(ctx);
    GPU(Stream_t) users = state->stream, recording = NULL;
    loop_graph *g = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *g, (void **)&g));
    memset(g, 0, sizeof *g);
    TESS_TRY(open_mailbox(ctx, g));
    TESS_TRY(make_events(ctx, g));
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *g->other_state, (void **)&g->other_state));
    TESS_TRY(loop_graph_find_recorder(ctx, &recording));
    state->stream = recording;
    status = record_graph(ctx, loop, g, recording);
    state->stream = users;
    if (status != TESS_SUCCESS) { goto cleanup; }
    TESS_TRY(gpu_check(ctx, GPU_GRAPH_INSTANTIATE(&g->executable, g->graph), "instantiating the loop"));
    *out = g;
cleanup:
    if (status != TESS_SUCCESS) { loop_graph_release(ctx, g); }
    return status;
}

tess_status loop_graph_make_mailbox(tess_context *ctx, loop_graph **out)
{
    loop_graph *g = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *g, (void **)&g));
    memset(g, 0, sizeof *g);
    TESS_TRY(open_mailbox(ctx, g));
    *out = g;
cleanup:
    if (status != TESS_SUCCESS) { loop_graph_release(ctx, g); }
    return status;
}
