/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops on the GPU. The graph engine records a few iterations once and repeats them on the device in a WHILE node (or,
 * without such nodes, by launching the recording again). Nothing is transferred to the host within an iteration. At
 * each end of the recording, progress and requests to cancel are exchanged through mapped host memory.
 */
#include <string.h>
#include <time.h>

#include <tessera/solver.h>

#include "device/gpu/loop_columns.h"
#include "device/gpu/mailbox.h"
#include "device/gpu/reduce.cuh"

/* Iterations per recording: they share the cost of the loop's own node. And the iterations before there is a recording:
   recording takes 0.4 ms, as much as 16 plain iterations cost more, and shorter solves need none. */
enum { UNROLL = 8, PLAIN_FIRST = 8 };

/* Long iterations have so many kernels: those of a multilevel method, say, which needs few. Recording them pays from
   LONG_FIRST iterations on, which may be those of several solves; and their recording ends with MANY_KERNELS, because
   each kernel takes longer to record than to run, and the loop's own node costs little beside them. */
enum { LONG_KERNELS = 16, LONG_FIRST = 32, MANY_KERNELS = 64 };

typedef struct loop_graph {
    GPU(Graph_t) graph;
    GPU(GraphExec_t) executable;
    volatile loop_mailbox *mailbox; /* host address */
    loop_mailbox *device_mailbox;
    tess_loop_state *other_state; /* used in turn with the loop's state while the body runs */
    GPU(Event_t) done[2];
} loop_graph;

__global__ static void settle_kernel(const loop_predicate predicate)
{
    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    (void)finish_pending(predicate);
}

tess_status gpu_settle(tess_context *ctx, const loop_predicate &predicate)
{
    return gpu_launch(ctx, "the end of a reduction", settle_kernel, 1U, 0, predicate);
}

__global__ static void scalar_update_kernel(tess_scalar_update scalar, tess_loop_state *state)
{
    if (state->phase == TESS_LOOP_RUNNING) { run_pass_update(scalar, state); }
}

tess_status gpu_run_scalar_update(tess_context *ctx, tess_scalar_update scalar, tess_loop_state *state)
{
    return gpu_launch_blocks(ctx, "a scalar update", scalar_update_kernel, 1U, 1U, 0, scalar, state);
}

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

static void release_loop_graph(tess_context *ctx, loop_graph *g)
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
    release_loop_graph(ctx, (loop_graph *)graph);
}

/* From here on the next kernel finishes a kernel's reduction. */
static void begin_deferring(gpu_state *state, tess_loop_state *own, tess_loop_state *other_state)
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
    if (loop->columns <= 1) { begin_deferring(state, loop->state, g->other_state); }
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

/* Ends a recording in any case; `body_status` is that of the recorded calls. */
static tess_status end_recording(tess_context *ctx, GPU(Stream_t) stream, tess_status body_status, GPU(Graph_t) * graph)
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
    status = end_recording(ctx, stream, body_status, &recorded);
#else
    TESS_TRY(gpu_check(ctx, GPU(StreamBeginCapture)(stream, GPU(StreamCaptureModeRelaxed)), "recording the loop"));
    body_status = record_body(ctx, loop, g, 0);
    status = end_recording(ctx, stream, body_status, &recorded);
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

static tess_status find_recorder(tess_context *ctx, GPU(Stream_t) * out)
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
static tess_status make_loop_graph(tess_context *ctx, const tess_loop *loop, loop_graph **out)
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
    TESS_TRY(find_recorder(ctx, &recording));
    state->stream = recording;
    status = record_graph(ctx, loop, g, recording);
    state->stream = users;
    if (status != TESS_SUCCESS) { goto cleanup; }
    TESS_TRY(gpu_check(ctx, GPU_GRAPH_INSTANTIATE(&g->executable, g->graph), "instantiating the loop"));
    *out = g;
cleanup:
    if (status != TESS_SUCCESS) { release_loop_graph(ctx, g); }
    return status;
}

static void tell_monitor(const tess_loop *loop, volatile loop_mailbox *mailbox, double tolerance)
{
    tess_progress progress = {mailbox->iteration, mailbox->residual_norm,
                              loop->columns > 1 ? mailbox->tolerance : tolerance,
                              tess_wall_seconds() - loop->start_seconds};

    if (loop->monitor(loop->monitor_user, &progress) != 0) { mailbox->cancel = 1; }
}

/* Waits for the stream; with a monitor it reads the mailbox meanwhile. */
static tess_status wait_for_loop(tess_context *ctx, const tess_loop *loop, volatile loop_mailbox *mailbox,
                                 double tolerance)
{
    const struct timespec pause = {0, 100000};
    int64_t seen = mailbox->iteration;
    GPU(Error_t) error = GPU(Success);

    if (!loop->monitor) { return gpu_check_wait(ctx, GPU(StreamSynchronize)(gpu_stream_of(ctx)), "running the loop"); }
    while ((error = GPU(StreamQuery)(gpu_stream_of(ctx))) == GPU(ErrorNotReady)) {
        if (mailbox->iteration != seen) {
            seen = mailbox->iteration;
            tell_monitor(loop, mailbox, tolerance);
        }
        nanosleep(&pause, NULL);
    }
    (void)GPU(GetLastError)(); /* NotReady is no error */
    if (error == GPU(Success) && mailbox->iteration != seen) { tell_monitor(loop, mailbox, tolerance); }
    return gpu_check_wait(ctx, error, "running the loop");
}

static tess_status launch_loop(tess_context *ctx, const tess_loop *loop, loop_graph *g, double tolerance)
{
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    tess_status status = TESS_SUCCESS;
#if GPU_HAS_WHILE_NODE
    TESS_TRY(gpu_check(ctx, GPU(GraphLaunch)(g->executable, stream), "launching the loop"));
#else
    const int64_t begun = g->mailbox->iteration, pause_at = g->mailbox->pause_at;

    for (int64_t launched = 0;
         launched == 0 || (g->mailbox->phase == TESS_LOOP_RUNNING && begun + launched * UNROLL < pause_at);
         launched++) {
        TESS_TRY(gpu_check(ctx, GPU(GraphLaunch)(g->executable, stream), "launching the loop"));
        TESS_TRY(gpu_check(ctx, GPU(EventRecord)(g->done[launched % 2], stream), "recording an event"));
        if (launched > 0) {
            TESS_TRY(gpu_check(ctx, GPU(EventSynchronize)(g->done[(launched - 1) % 2]), "running the loop"));
            if (loop->monitor) { tell_monitor(loop, g->mailbox, tolerance); }
        }
    }
#endif
    status = wait_for_loop(ctx, loop, g->mailbox, tolerance);
cleanup:
    return status;
}

/* A look at a loop that pauses: the iteration of the next one. None follows a loop that is told to end, which it does
   in the iteration after. */
static tess_status look_at_loop(tess_context *ctx, const tess_loop *loop, const loop_graph *g, int64_t from,
                                double tolerance, int64_t *pause_at)
{
    const int64_t iteration = g->mailbox->iteration, end = iteration + 1;
    const int64_t kept = end < loop->history_capacity ? end : loop->history_capacity;
    const int32_t yes = 1;
    tess_status status = TESS_SUCCESS;

    if (from < kept) {
        TESS_TRY(ctx->backend->download(ctx, loop->host_history + from, loop->history + from,
                                        (size_t)(kept - from) * sizeof(double)));
    }
    *pause_at = INT64_MAX;
    if (loop->watch->look(loop->watch->user, loop->host_history, kept, iteration, tolerance)) {
        *pause_at = loop->watch->next;
    } else {
        status = ctx->backend->upload(ctx, &loop->state->cancel, &yes, sizeof yes);
    }
cleanup:
    return status;
}

/* Launches until the loop ends, with its pauses. */
static tess_status launch_legs(tess_context *ctx, const tess_loop *loop, loop_graph *g, double tolerance)
{
    int64_t seen = 0;
    tess_status status = TESS_SUCCESS;

    g->mailbox->pause_at = loop->watch ? loop->watch->next : INT64_MAX;
    TESS_TRY(launch_loop(ctx, loop, g, tolerance));
    while (loop->watch && g->mailbox->phase == TESS_LOOP_RUNNING) {
        int64_t pause_at = INT64_MAX;
        const int64_t from = seen;

        seen = g->mailbox->iteration + 1;
        TESS_TRY(look_at_loop(ctx, loop, g, from, tolerance, &pause_at));
        g->mailbox->pause_at = pause_at;
        TESS_TRY(launch_loop(ctx, loop, g, tolerance));
    }
cleanup:
    return status;
}

/* Runs one body. Afterwards the host can read the state. */
static tess_status run_body(tess_context *ctx, const tess_loop *loop, tess_loop_state *other_state)
{
    gpu_state *state = gpu_state_of(ctx);
    tess_status status = TESS_SUCCESS;

    begin_deferring(state, loop->state, other_state);
    state->bodies += 1;
    status = loop->body(loop->solver);
    if (status == TESS_SUCCESS && (state->pending.ndots > 0 || state->state_now != loop->state)) {
        status = gpu_launch(ctx, "the end of an iteration", copy_back_kernel, 1U, 0,
                            make_predicate(ctx, loop->state, false), loop->state);
    }
    state->deferring = NULL;
    state->pending.ndots = 0;
    return status;
}

bool gpu_tell_monitor(const tess_loop *loop)
{
    const tess_loop_state *s = &loop->result;
    const tess_progress progress = {s->iteration, s->scale * s->residual_norm, s->scale * s->tolerance,
                                    tess_wall_seconds() - loop->start_seconds};

    return loop->monitor(loop->monitor_user, &progress) != 0;
}

/* The plain engine: the host reads the state after every iteration; it runs at most this many. */
static tess_status run_plain(tess_context *ctx, tess_loop *loop, int64_t most)
{
    tess_loop_state *other_state = NULL;
    tess_status status = TESS_SUCCESS;
    bool cancel = false;

    if (loop->columns > 1) { return gpu_run_columns(ctx, loop, most); }
    if (most > 0) { TESS_TRY(tess_device_allocate(ctx, 1, sizeof *other_state, (void **)&other_state)); }
    for (int64_t i = 0;; i++) {
        TESS_TRY(ctx->backend->download(ctx, &loop->result, loop->state, sizeof loop->result));
        if (loop->result.phase != TESS_LOOP_RUNNING || i == most) { break; }
        if (loop->monitor && !cancel && loop->result.iteration > 0) {
            cancel = gpu_tell_monitor(loop);
            if (cancel) {
                const int32_t yes = 1;

                TESS_TRY(ctx->backend->upload(ctx, &loop->state->cancel, &yes, sizeof yes));
            }
        }
        TESS_TRY(run_body(ctx, loop, other_state));
    }
cleanup:
    tess_device_release(ctx, other_state, 1, sizeof *other_state);
    return status;
}

/* The iterations before there is a recording. Afterwards the host knows the state. */
static tess_status run_first(tess_context *ctx, tess_loop *loop)
{
    gpu_state *state = gpu_state_of(ctx);
    const int64_t launches = state->launches, bodies = state->bodies;
    int64_t more = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(run_plain(ctx, loop, PLAIN_FIRST));
    if (state->launches - launches < (state->bodies - bodies) * LONG_KERNELS) { return TESS_SUCCESS; }
    more = LONG_FIRST - PLAIN_FIRST - state->long_iterations;
    if (loop->result.phase == TESS_LOOP_RUNNING && more > 0) { status = run_plain(ctx, loop, more); }
    state->long_iterations += state->bodies - bodies;
cleanup:
    return status;
}

static tess_status run_graph(tess_context *ctx, tess_loop *loop)
{
    loop_graph *g = (loop_graph *)*loop->graph_slot;
    const tess_loop_state *start = &loop->result;
    tess_status status = TESS_SUCCESS;

    if (g) { g->mailbox->cancel = 0; }
    TESS_TRY(g ? run_plain(ctx, loop, 0) : run_first(ctx, loop));
    if (start->phase != TESS_LOOP_RUNNING) { goto cleanup; }
    if (!g) {
        TESS_TRY(make_loop_graph(ctx, loop, &g));
        *loop->graph_slot = g;
        gpu_state_of(ctx)->long_iterations = 0;
    }
    g->mailbox->iteration = start->iteration;
    g->mailbox->phase = start->phase;
    g->mailbox->cancel = start->cancel;
    TESS_TRY(launch_legs(ctx, loop, g, start->scale * start->tolerance));
    status = ctx->backend->download(ctx, &loop->result, loop->state, sizeof loop->result);
cleanup:
    return status;
}

/* The single kernel keeps only the mailbox between solves. */
static tess_status make_single_mailbox(tess_context *ctx, loop_graph **out)
{
    loop_graph *g = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *g, (void **)&g));
    memset(g, 0, sizeof *g);
    TESS_TRY(open_mailbox(ctx, g));
    *out = g;
cleanup:
    if (status != TESS_SUCCESS) { release_loop_graph(ctx, g); }
    return status;
}

static tess_status run_single(tess_context *ctx, tess_loop *loop)
{
    loop_graph *g = (loop_graph *)*loop->graph_slot;
    const tess_loop_state start = loop->result;
    tess_status status = TESS_SUCCESS;

    if (!g) {
        TESS_TRY(make_single_mailbox(ctx, &g));
        *loop->graph_slot = g;
    }
    g->mailbox->iteration = start.iteration;
    g->mailbox->phase = LOOP_NOT_ENDED;
    g->mailbox->cancel = 0;
    g->mailbox->failed = 0;
    TESS_TRY(loop->whole->launch(ctx, loop->solver, g->device_mailbox, loop->monitor != NULL));
    TESS_TRY(wait_for_loop(ctx, loop, g->mailbox, start.scale * start.tolerance));
    if (g->mailbox->failed) {
        status = loop->whole->failed(ctx, loop->solver);
    } else if (g->mailbox->phase == LOOP_NOT_ENDED) {
        status = ctx->backend->download(ctx, &loop->result, loop->state, sizeof loop->result);
    } else {
        memcpy(&loop->result, (const void *)(uintptr_t)&g->mailbox->end, sizeof loop->result);
    }
cleanup:
    return status;
}

static tess_status run_engine(tess_context *ctx, tess_loop *loop)
{
    switch (loop->engine) {
    case TESS_ENGINE_GRAPH: return run_graph(ctx, loop);
    case TESS_ENGINE_SINGLE_KERNEL: return run_single(ctx, loop);
    default: return run_plain(ctx, loop, INT64_MAX);
    }
}

/* The body of one loop may run another loop on the same context: a user's preconditioner may be a solver. No reduction
   of the outer loop is pending meanwhile. */
static tess_status run_inner(tess_context *ctx, tess_loop *loop)
{
    gpu_state *state = gpu_state_of(ctx);
    tess_loop_state *const outer = state->deferring;
    loop_predicate predicate;
    tess_status status = make_settled_predicate(ctx, outer, &predicate);
    tess_loop_state *const now = state->state_now, *const next = state->state_next;

    if (status != TESS_SUCCESS) { return status; }
    state->deferring = NULL;
    status = run_engine(ctx, loop);
    state->deferring = outer;
    state->state_now = now;
    state->state_next = next;
    return status;
}

extern "C" tess_status gpu_run_loop(tess_context *ctx, tess_loop *loop)
{
    gpu_scope scope(ctx);
    int64_t kept = 0;
    const tess_status status = gpu_state_of(ctx)->deferring ? run_inner(ctx, loop) : run_engine(ctx, loop);
    const loop_graph *g = loop->engine == TESS_ENGINE_PLAIN ? NULL : (const loop_graph *)*loop->graph_slot;

    if (status != TESS_SUCCESS) { return status; }
    /* A request to cancel may have come after the device's last read. */
    if (g && g->mailbox->cancel) { loop->result.cancel = 1; }
    if (loop->columns > 1) { return g && g->mailbox->cancel ? gpu_cancel_columns(ctx, loop) : status; }
    kept = loop->result.iteration + 1 < loop->history_capacity ? loop->result.iteration + 1 : loop->history_capacity;
    return ctx->backend->download(ctx, loop->host_history, loop->history, (size_t)kept * sizeof(double));
}

/* ---- repetitions ---- */

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
    TESS_TRY(find_recorder(ctx, &recording));
    TESS_TRY(gpu_check(ctx, GPU(StreamBeginCapture)(recording, GPU(StreamCaptureModeRelaxed)), "recording iterations"));
    state->stream = recording;
    body_status = repeat_plainly(body, user, REPEAT_UNROLL);
    state->stream = users;
    TESS_TRY(end_recording(ctx, recording, body_status, &g->graph));
    TESS_TRY(gpu_check(ctx, GPU_GRAPH_INSTANTIATE(&g->executable, g->graph), "instantiating iterations"));
    *out = g;
cleanup:
    if (status != TESS_SUCCESS) { release_loop_graph(ctx, g); }
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
