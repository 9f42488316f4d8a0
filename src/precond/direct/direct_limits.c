/* SPDX-License-Identifier: Apache-2.0 */
/* What a factorization may take: memory, and time, since MUMPS cannot be stopped. */
#include "base/deadline.h"
#include "base/spare_memory.h"
#include "precond/direct/direct.h"

tess_status direct_check_memory(tess_context *ctx, const char *name, int64_t needed, int64_t limit)
{
    const int64_t allowed = limit > 0 ? limit : tess_spare_memory() / 2;

    if (needed <= allowed) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_OUT_OF_MEMORY, "raise --factor-memory, or choose ilut, ict, ilu0 or ic0",
                     "%s: the factorization needs about %.3g MB, but may take %.3g MB", name, (double)needed / 1e6,
                     (double)allowed / 1e6);
}

tess_status direct_check_time(tess_context *ctx, const char *name, double flops)
{
    const double needed = DIRECT_FLOP_SECONDS * flops, left = tess_seconds_left(ctx);

    if (needed <= left) { return TESS_SUCCESS; }
    return tess_fail(
        ctx, TESS_TIMED_OUT, "raise --time-limit, or choose ilut, ict, ilu0 or ic0",
        "%s: the factorization has %.3g operations and would take about %.3g s, but %.3g s are left of the "
        "limit of time",
        name, flops, needed, left > 0.0 ? left : 0.0);
}
