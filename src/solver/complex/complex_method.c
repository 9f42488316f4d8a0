/* SPDX-License-Identifier: Apache-2.0 */
/* What the methods with complex scalars share. */
#include "solver/complex/complex_method.h"

#include "device/iteration_end.h"

tess_status complex_runs(const tess_krylov *k, bool *runs)
{
    tess_loop_state state;
    const tess_status status = k->ctx->backend->download(k->ctx, &state, k->state, sizeof state);

    *runs = status == TESS_SUCCESS && state.phase == TESS_LOOP_RUNNING;
    return status;
}

tess_status complex_end_iteration(const tess_krylov *k, double norm, tess_reason reason)
{
    const tess_backend *backend = k->ctx->backend;
    tess_loop_state state;
    double *history = NULL, recorded = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(backend->download(k->ctx, &state, k->state, sizeof state));
    history = state.history; /* the device's */
    state.history = NULL;
    state.residual_norm = norm;
    loop_end_iteration(&state, TESS_LOOP_STOPPED);
    if (state.phase == TESS_LOOP_RUNNING && reason != TESS_REASON_RUNNING) {
        loop_stop(&state, TESS_LOOP_STOPPED, reason);
    }
    loop_end_if_stalled(&state, TESS_LOOP_STOPPED);
    state.history = history;
    recorded = state.scale * norm;
    if (history && state.iteration < state.history_capacity) {
        TESS_TRY(backend->upload(k->ctx, history + state.iteration, &recorded, sizeof recorded));
    }
    status = backend->upload(k->ctx, k->state, &state, sizeof state);
cleanup:
    return status;
}

tess_status complex_precondition(const tess_krylov *k, const double *r, double *z)
{
    if (tess_precond_is_identity(k->precond)) {
        return r == z ? TESS_SUCCESS : k->ctx->backend->copy(k->ctx, z, r, (size_t)k->n * sizeof *z);
    }
    return krylov_precondition(k, r, z, (tess_reduction){0});
}
