/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of loops: loop_graph.cu makes them, loop.cu and repeat.cu launch them. */
#ifndef TESS_DEVICE_GPU_LOOP_GRAPH_CUH
#define TESS_DEVICE_GPU_LOOP_GRAPH_CUH

#include "device/gpu/mailbox.h"
#include "device/gpu/reduce.cuh"

/* Iterations per recording: they share the cost of the loop's own node. */
enum { UNROLL = 8 };
/* Long iterations have so many kernels: those of a multilevel method, say, which needs few. */
enum { LONG_KERNELS = 16 };

typedef struct loop_graph {
    GPU(Graph_t) graph;
    GPU(GraphExec_t) executable;
    volatile loop_mailbox *mailbox; /* host address */
    loop_mailbox *device_mailbox;
    tess_loop_state *other_state; /* used in turn with the loop's state while the body runs */
    GPU(Event_t) done[2];
} loop_graph;

/* A graph with only a mailbox, which is what a single kernel keeps between solves; one with the recorded loop. */
tess_status loop_graph_make_mailbox(tess_context *ctx, loop_graph **out);
tess_status loop_graph_make(tess_context *ctx, const tess_loop *loop, loop_graph **out);
void loop_graph_release(tess_context *ctx, loop_graph *g);
/* The stream of recordings: the user's may not allow them. */
tess_status loop_graph_find_recorder(tess_context *ctx, GPU(Stream_t) * out);
/* Ends a recording in any case; `body_status` is that of the recorded calls. */
tess_status loop_graph_end_recording(tess_context *ctx, GPU(Stream_t) stream, tess_status body_status,
                                     GPU(Graph_t) * graph);
/* From here on the next kernel finishes a kernel's reduction. */
void loop_begin_deferring(gpu_state *state, tess_loop_state *own, tess_loop_state *other_state);
/* Launches the end of a body: finishes the last reduction, and copies the state back. */
tess_status loop_copy_state_back(tess_context *ctx, tess_loop_state *state);

#endif
