/* SPDX-License-Identifier: Apache-2.0 */
/* All contexts of the process, and what a fork changes in the child's. */
#include "base/fork.h"

static pthread_once_t watching = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tess_context *contexts;
static bool had_threads; /* a context of this process, or of the one that it was forked from, had several */
static bool lost_threads;

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

static void after_in_child(void)
{
    for (tess_context *ctx = contexts; ctx; ctx = ctx->next) {
        ctx->threads = ctx->most_threads = 1;
        ctx->forked = true;
    }
    lost_threads = had_threads;
    pthread_mutex_unlock(&lock);
}

/* Without memory for it, a child computes as if there were no fork. */
static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_in_parent, after_in_child);
}

void fork_watch(tess_context *ctx)
{
    pthread_once(&watching, watch_forks);
    pthread_mutex_lock(&lock);
    ctx->next = contexts;
    if (contexts) { contexts->previous = ctx; }
    contexts = ctx;
    had_threads = had_threads || ctx->threads > 1;
    pthread_mutex_unlock(&lock);
}

void fork_forget(tess_context *ctx)
{
    pthread_mutex_lock(&lock);
    if (ctx->next) { ctx->next->previous = ctx->previous; }
    if (ctx->previous) {
        ctx->previous->next = ctx->next;
    } else if (contexts == ctx) {
        contexts = ctx->next;
    }
    pthread_mutex_unlock(&lock);
}

bool fork_lost_threads(void)
{
    bool lost = false;

    pthread_mutex_lock(&lock);
    lost = lost_threads;
    pthread_mutex_unlock(&lock);
    return lost;
}

tess_status fork_require_device(tess_context *ctx)
{
    if (!ctx->forked || ctx->device == TESS_DEVICE_CPU) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_UNSUPPORTED,
                     "start processes without fork (in Python: the start method spawn), or make the first context of a "
                     "GPU after the fork",
                     "this process was forked from the one that made the context, and a GPU's context does not work "
                     "in a child");
}
