/* SPDX-License-Identifier: Apache-2.0 */
/* A loop of an iterative method, as a device runs it. */
#ifndef TESS_BASE_LOOP_H
#define TESS_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/context.h>

#include "base/loop_state.h"

struct loop_mailbox;
struct tess_progress;

/*
 * A launch that runs a whole cycle by itself, in place of the loop's body. It reads loop->state and the vectors of
 * `solver`, and fills the mailbox (device/gpu/mailbox.h), whose device address it gets. watched: the host reads the
 * mailbox meanwhile.
 */
typedef struct tess_whole_loop {
    tess_status (*launch)(tess_context *ctx, const void *solver, struct loop_mailbox *mailbox, bool watched);
    /* After mailbox->failed: makes the next launch possible, and reports the error. */
    tess_status (*failed)(tess_context *ctx, const void *solver);
} tess_whole_loop;

/*
 * Looks at a running loop after iterations that it names itself, which are the same on every run. The graph engine of a
 * GPU, which runs on without the host, pauses there: between two looks it takes as long as without any. Other engines
 * make none.
 */
typedef struct tess_loop_watch {
    /* history: residual norms by iteration, in host memory, as long as it was asked for. It sets `next`. False: the
       loop ends as one that is cancelled. */
    bool (*look)(void *user, const double *history, int64_t length, int64_t iteration, double tolerance);
    void *user;
    int64_t next;
} tess_loop_watch;

/* A loop of a Krylov method: `body` enqueues one iteration. */
typedef struct tess_loop {
    tess_status (*body)(void *solver);
    void *solver;
    int engine;                   /* a tess_engine, never AUTO; SINGLE_KERNEL: `whole` runs, and body is not called */
    const tess_whole_loop *whole; /* NULL unless the engine is SINGLE_KERNEL */
    tess_loop_state *state;       /* on the device */
    /* Of several columns: `state` has one for each, with `history` and `numbers` of its own, `history` above is NULL,
       and the engine is PLAIN or GRAPH. The loop ends when at most leave_at of them run; results stay on the device. 0
       or 1: one. */
    int columns, leave_at;
    double *history;      /* on the device; history_capacity values */
    double *host_history; /* copied out when the loop ends */
    int64_t history_capacity;
    int (*monitor)(void *user, const struct tess_progress *progress); /* a tess_monitor */
    void *monitor_user;
    tess_loop_watch *watch; /* NULL: none */
    double start_seconds;   /* wall clock at the start of the solve */
    void **graph_slot;      /* where the device keeps the recorded loop between solves; NULL: it keeps none */
    tess_loop_state result; /* out: the state at the end */
} tess_loop;

#endif
