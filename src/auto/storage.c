/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A matrix whose values are exact in a lower precision takes fewer bytes there, and no bit of a result changes. The
 * trial costs some 15 products. It is therefore made within an attempt, once many iterations are expected to follow,
 * and the iterations go on with the winner.
 */
#include "auto/auto.h"
#include "format/choose.h"

/* Iterations that must be made, and expected beyond them: the trial then takes some 5 % of the time at most. */
enum { LEAST_DONE = 50, LEAST_EXPECTED = 300 };
/* Smaller matrices stay in the caches. */
enum { LEAST_NONZEROS = 1 << 16 };

bool storage_is_open(const tess_solver *s)
{
    const tess_storage_options *o = &s->options.storage;

    return s->ctx->device == TESS_DEVICE_CPU && !s->options.automatic.fp64_only && o->format == TESS_FORMAT_CSR &&
           o->precision == TESS_PRECISION_FP64 && o->policy.policy == TESS_POLICY_NONE &&
           s->original->nnz >= LEAST_NONZEROS;
}

/* Whether iterations of this solver multiply with krylov.matrix in FP64 vectors, and may get another one. */
static bool may_change(const tess_solver *s)
{
    return !s->transform && !s->driver && !s->method->run && !s->method->solve && !s->stored &&
           s->engine == TESS_ENGINE_PLAIN;
}

void storage_request_lower(tess_precision precision, tess_storage_options *out)
{
    out->policy.policy = TESS_POLICY_LOSSLESS;
    out->policy.granularity = TESS_GRANULARITY_MATRIX;
    out->policy.nlevels = 2;
    out->policy.level[0] = (tess_precision_level){.precision = TESS_PRECISION_FP64};
    out->policy.level[1] = (tess_precision_level){.precision = precision};
}

void storage_take(auto_solve *state, tess_matrix *lower)
{
    tess_solver *running = state->solver;

    state->stored = STORAGE_LOWER;
    state->storage_precision = lower->precision;
    state->stored_bytes = tess_matrix_bytes(lower);
    state->fp64_bytes = tess_matrix_bytes(lower->original);
    running->stored = lower;
    running->krylov.matrix = lower;
}

void storage_try_lower(void *owner, int64_t iteration, double remaining)
{
    const tess_solver *s = owner;
    auto_solve *state = s->driven;
    const tess_error before = s->ctx->error;
    tess_policy_options policy;
    tess_matrix *lower = NULL;

    if (state->stored != STORAGE_OPEN || iteration < LEAST_DONE || remaining < LEAST_EXPECTED) { return; }
    if (!may_change(state->solver)) { return; }
    state->stored = STORAGE_FP64;
    tess_policy_options_init(&policy);
    policy.policy = TESS_POLICY_LOSSLESS;
    if (tess_matrix_try_lower(s->original, &policy, &lower) != TESS_SUCCESS) { s->ctx->error = before; }
    if (lower) { storage_take(state, lower); }
}

void storage_forget(auto_solve *state, const tess_solver *s)
{
    tess_solver *kept = state->solver;
    const bool lower = state->stored == STORAGE_LOWER;

    state->stored = storage_is_open(s) ? STORAGE_OPEN : STORAGE_FP64;
    if (!kept || !lower) { return; }
    tess_matrix_destroy(kept->stored); /* new values need not be exact in that precision */
    kept->stored = NULL;
}
