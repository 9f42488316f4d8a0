/* SPDX-License-Identifier: Apache-2.0 */
/* When a set-up has to end. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CLOCK_MONOTONIC_COARSE */
#endif
#include "base/deadline.h"

#include <math.h>
#include <time.h>

enum { CHECK_MILLISECONDS = 50 };

double tess_deadline_begin(tess_context *ctx, double seconds)
{
    const double before = ctx->deadline, end = tess_wall_seconds() + seconds;

    if (seconds > 0.0 && (before == 0.0 || end < before)) { ctx->deadline = end; }
    return before;
}

void tess_deadline_restore(tess_context *ctx, double before)
{
    ctx->deadline = before;
}

double tess_seconds_left(const tess_context *ctx)
{
    return ctx->deadline == 0.0 ? (double)INFINITY : ctx->deadline - tess_wall_seconds();
}

/* Reads no counter of the processor: rows of a set-up may ask. */
static int64_t coarse_milliseconds(void)
{
    struct timespec now = {0};

#ifdef CLOCK_MONOTONIC_COARSE
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return 1000 * (int64_t)now.tv_sec + now.tv_nsec / 1000000;
}

/* Calls the caller's function if it is due, and only in its thread. */
static void ask_caller(tess_context *ctx)
{
    int64_t now = 0;

    if (!pthread_equal(ctx->checker, pthread_self())) { return; }
    now = coarse_milliseconds();
    if (now < ctx->next_check) { return; }
    if (ctx->check(ctx->check_user) != 0) { __atomic_store_n(&ctx->stopped, 1, __ATOMIC_RELAXED); }
    ctx->next_check = coarse_milliseconds() + CHECK_MILLISECONDS;
}

bool tess_check_says_stop(const tess_context *ctx)
{
    if (!ctx->check) { return false; }
    if (__atomic_load_n(&ctx->stopped, __ATOMIC_RELAXED)) { return true; }
    ask_caller((tess_context *)(uintptr_t)ctx); /* no context is an object that cannot change */
    return __atomic_load_n(&ctx->stopped, __ATOMIC_RELAXED) != 0;
}

bool tess_is_interrupted(const tess_context *ctx)
{
    return (ctx->interrupt && *ctx->interrupt != 0) || tess_check_says_stop(ctx);
}

bool tess_deadline_passed(const tess_context *ctx)
{
    if (!ctx) { return false; }
    return tess_is_interrupted(ctx) || (ctx->deadline != 0.0 && tess_wall_seconds() >= ctx->deadline);
}

tess_reason tess_deadline_reason(const tess_context *ctx)
{
    return tess_is_interrupted(ctx) ? TESS_REASON_INTERRUPTED : TESS_REASON_TIME_LIMIT;
}

tess_status tess_deadline_check(tess_context *ctx, const char *what)
{
    if (!tess_deadline_passed(ctx)) { return TESS_SUCCESS; }
    if (tess_is_interrupted(ctx)) {
        return tess_fail(ctx, TESS_TIMED_OUT, "begin again, or choose a preconditioner that is set up sooner",
                         "%s: interrupted in the set-up", what);
    }
    return tess_fail(ctx, TESS_TIMED_OUT, "raise --time-limit, or choose a preconditioner that is set up sooner",
                     "%s: the limit of time was reached in the set-up", what);
}

tess_status tess_context_set_interrupt(tess_context *ctx, const volatile int *flag)
{
    TESS_REQUIRE(NULL, ctx);
    ctx->interrupt = flag;
    return TESS_SUCCESS;
}

tess_status tess_context_set_interrupt_check(tess_context *ctx, tess_interrupt_check check, void *user)
{
    TESS_REQUIRE(NULL, ctx);
    ctx->check = check;
    ctx->check_user = user;
    ctx->stopped = 0;
    if (!check) { return TESS_SUCCESS; }
    ctx->checker = pthread_self();
    ctx->next_check = coarse_milliseconds() + CHECK_MILLISECONDS;
    return TESS_SUCCESS;
}
