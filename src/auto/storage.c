/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the matrix of the iterations is stored, where the caller leaves that open.
 *
 * A host: a matrix whose values are exact in a lower precision takes fewer bytes there, and no bit of a result changes.
 * The trial costs some 15 products. It is therefore made within an attempt, once many iterations are expected to
 * follow, and the iterations go on with the winner.
 *
 * A complex matrix is stored by blocks of (re, im), which take less than half of the bytes of rows of its real form;
 * on a GPU a large one.
 *
 * A GPU records its iterations, so that it cannot change the matrix within an attempt. What pays by rule, measured on
 * one H200, are diagonals of large matrices: 0.76 times the time of an iteration on laplace3d:150, where the set-up
 * takes some 13 products more (docs/results/solvers.md, docs/results/set-up.md).
 */
#include "auto/auto.h"
#include "format/choose.h"

/* Iterations that must be made, and expected beyond them: the trial then takes some 5 % of the time at most. */
enum { LEAST_DONE = 50, LEAST_EXPECTED = 300 };
/* Smaller matrices stay in the caches: of a host; of a GPU, whose products start slowly too. */
enum { LEAST_NONZEROS = 1 << 16, LEAST_GPU_NONZEROS = 1 << 22 };
/* As format auto: values stored by diagonals, for a nonzero. */
#define MOST_PADDING 1.15

static bool on_gpu(const tess_solver *s)
{
    return s->ctx->device == TESS_DEVICE_GPU;
}

/* Whether nothing but the format may have been asked for, and no format or auto. */
static bool is_open(const tess_solver *s)
{
    const tess_storage_options *o = &s->options.storage;
    const bool any =
        o->format == TESS_FORMAT_AUTO || (o->format == TESS_FORMAT_CSR && !s->options.automatic.format_given);

    return any && o->precision == TESS_PRECISION_FP64 && o->arithmetic == TESS_ARITHMETIC_FP64 &&
           o->policy.policy == TESS_POLICY_NONE;
}

/* Whether a trial of a lower precision may pay. */
static bool may_try(const tess_solver *s)
{
    return !on_gpu(s) && is_open(s) && !s->options.automatic.fp64_only && s->original->nnz >= LEAST_NONZEROS;
}

/* Whether the matrix is stored as complex numbers. A GPU may solve a small system of rows in a single kernel. */
static bool takes_complex(const tess_solver *s)
{
    return s->original->is_complex && (!on_gpu(s) || s->original->nnz >= LEAST_GPU_NONZEROS);
}

/* ---- requests ---- */

void storage_request_lower(tess_precision precision, tess_storage_options *out)
{
    out->policy.policy = TESS_POLICY_LOSSLESS;
    out->policy.granularity = TESS_GRANULARITY_MATRIX;
    out->policy.nlevels = 2;
    out->policy.level[0] = (tess_precision_level){.precision = TESS_PRECISION_FP64};
    out->policy.level[1] = (tess_precision_level){.precision = precision};
}

void storage_request(const tess_solver *s, const ladder_step *step, tess_storage_options *out)
{
    const auto_solve *state = s->state;
    const bool factors = step->precond != TESS_PRECOND_NONE && step->precond != TESS_PRECOND_JACOBI;
    const bool as_it_is = step->scale == TESS_SCALING_NONE && step->reorder == TESS_REORDERING_NONE;

    if (!is_open(s) || (on_gpu(s) && out->format == TESS_FORMAT_AUTO)) { return; } /* a GPU's own rule */
    out->format = as_it_is && takes_complex(s) ? tess_format_in_role(TESS_ROLE_NODES) : TESS_FORMAT_CSR;
    if (state->stored == STORAGE_LOWER && step->limit != LIMIT_DIRECT && as_it_is) {
        storage_request_lower(state->storage_precision, out);
    }
    if (state->diagonals && !factors && as_it_is) {
        out->format = tess_format_in_role(TESS_ROLE_DIAGONALS);
        out->slices.max_padding = MOST_PADDING;
    }
}

/* ---- a trial within an attempt ---- */

void storage_take(auto_solve *state, tess_matrix *lower)
{
    state->stored = STORAGE_LOWER;
    state->storage_precision = lower->precision;
    state->stored_bytes = tess_matrix_bytes(lower);
    state->fp64_bytes = tess_matrix_bytes(lower->original);
    method_take_matrix(solver_running(state->solver), lower);
}

void storage_try_lower(void *owner, int64_t iteration, double remaining)
{
    const tess_solver *s = owner;
    auto_solve *state = s->state;
    const tess_error before = s->ctx->error;
    tess_policy_options policy;
    tess_matrix *lower = NULL;
    const method_solver *running = solver_running(state->solver);

    if (state->stored != STORAGE_OPEN || iteration < LEAST_DONE || remaining < LEAST_EXPECTED) { return; }
    if (!running || !method_may_change_matrix(running)) { return; }
    state->stored = STORAGE_FP64;
    tess_policy_options_init(&policy);
    policy.policy = TESS_POLICY_LOSSLESS;
    if (tess_matrix_try_lower(s->original, &policy, &state->storage_precision, &lower) != TESS_SUCCESS) {
        s->ctx->error = before;
        return;
    }
    state->tried = true;
    state->exact = state->storage_precision != TESS_PRECISION_FP64;
    if (lower) { storage_take(state, lower); }
}

void storage_forget(auto_solve *state, const tess_solver *s)
{
    method_solver *kept = solver_running(state->solver);
    const bool lower = state->stored == STORAGE_LOWER;

    state->stored = may_try(s) ? STORAGE_OPEN : STORAGE_FP64;
    state->tried = state->exact = false;
    state->diagonals = on_gpu(s) && is_open(s) && s->options.storage.format == TESS_FORMAT_CSR &&
                       s->original->nnz >= LEAST_GPU_NONZEROS;
    if (!kept || !lower) { return; }
    method_drop_matrix(kept); /* new values need not be exact in that precision */
}
