/* SPDX-License-Identifier: Apache-2.0 */
/* What a factorization may take: memory, and time, since it cannot be stopped; and values that have none. */
#include "base/deadline.h"
#include "base/spare_memory.h"
#include "precond/direct/direct.h"

int64_t direct_allowed_memory(tess_context *ctx, int64_t limit, bool on_device)
{
    if (limit > 0) { return limit; }
    return on_device ? ctx->backend->spare(ctx) / 10 * 9 : tess_spare_memory() / 2;
}

tess_status direct_check_memory(tess_context *ctx, const char *name, int64_t needed, int64_t allowed)
{
    if (needed <= allowed) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_OUT_OF_MEMORY, "raise --factor-memory, or choose ilut, ict, ilu0 or ic0",
                     "%s: the factorization needs about %.3g MB, but may take %.3g MB", name, (double)needed / 1e6,
                     (double)allowed / 1e6);
}

tess_status direct_check_time(tess_context *ctx, const char *name, double flops, double flop_seconds)
{
    const double needed = flop_seconds * flops, left = tess_seconds_left(ctx);

    if (needed <= left) { return TESS_SUCCESS; }
    return tess_fail(
        ctx, TESS_TIMED_OUT, "raise --time-limit, or choose ilut, ict, ilu0 or ic0",
        "%s: the factorization has %.3g operations and would take about %.3g s, but %.3g s are left of the "
        "limit of time",
        name, flops, needed, left > 0.0 ? left : 0.0);
}

/* The first diagonal entry that a positive definite matrix cannot have. */
tess_status direct_check_values(const direct_system *s, const char *name, bool cholesky)
{
    if (s->bad_row >= 0) {
        return tess_fail(s->ctx, TESS_SINGULAR, "remove NaN and Inf from the matrix",
                         "%s: the matrix has NaN or Inf, first seen in row %lld", name,
                         tess_number(s->ctx, s->bad_row));
    }
    for (int64_t k = 0; k < s->count && cholesky; k++) {
        if (s->row[k] != s->column[k] || s->val[k] > 0.0) { continue; }
        return tess_fail(s->ctx, TESS_SINGULAR, "use lu, or a solver for indefinite matrices",
                         "cholesky: the matrix is not positive definite: the diagonal entry of row %lld is %g",
                         tess_number(s->ctx, (s->row[k] - 1) / s->node), s->val[k]);
    }
    return TESS_SUCCESS;
}
