/* SPDX-License-Identifier: Apache-2.0 */
/* When a set-up has to end. */
#include "base/deadline.h"

#include <math.h>

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

bool tess_is_interrupted(const tess_context *ctx)
{
    return ctx->interrupt && *ctx->interrupt != 0;
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
