/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops on the GPU. The graph engine records a few iterations once (loop_graph.cu) and repeats them on the device in a
 * WHILE node (or, without such nodes, by launching the recording again). Nothing is transferred to the host within an
 * iteration.
 */
#include <string.h>
#include <time.h>

#include <tessera/solver.h>

#include "device/gpu/loop_columns.h"
#include "device/gpu/loop_graph.cuh"

/* The iterations before there is a recording: recording takes 0.4 ms, as much as 16 plain iterations cost more, and
   shorter solves need none. Recording long iterations pays from LONG_FIRST on, which may be those of several solves. */
enum { PLAIN_FIRST = 8, LONG_FIRST = 32 };

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

    loop_begin_deferring(state, loop->state, other_state);
    state->bodies += 1;
    status = loop->body(loop->solver);
    if (status == TESS_SUCCESS && (state->pending.ndots > 0 || state->state_now != loop->state)) {
        status = loop_copy_state_back(ctx, loop->state);
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
        TESS_TRY(loop_graph_make(ctx, loop, &g));
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

static tess_status run_single(tess_context *ctx, tess_loop *loop)
{
    loop_graph *g = (loop_graph *)*loop->graph_slot;
    const tess_loop_state start = loop->result;
    tess_status status = TESS_SUCCESS;

    if (!g) {
        TESS_TRY(loop_graph_make_mailbox(ctx, &g));
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
