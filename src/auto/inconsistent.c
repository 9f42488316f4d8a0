/* SPDX-License-Identifier: Apache-2.0 */
/* Systems of which no x meets the tolerance: 1^T (b - A x) = 1^T b where the columns of A sum to 0, in the whole matrix
   or in a part of it without couplings to the rest. */
#include "auto/auto.h"

/* By this factor at least the tolerance must be missed: the bound holds up to rounding. */
#define CLEARLY 2.0

void drop_parts(const tess_solver *s, auto_solve *state)
{
    null_parts_release(s->ctx, &state->null);
}

tess_status find_parts(const tess_solver *s, auto_solve *state)
{
    drop_parts(s, state);
    return state->facts.null_rows == 0 ? TESS_SUCCESS : null_parts_of(s->original, &state->null);
}

tess_status find_unreachable(const tess_solver *s, auto_solve *state, const tess_vector *b)
{
    double *values = NULL;
    null_judgement found;
    tess_status status = TESS_SUCCESS;

    state->unreachable = 0.0;
    if (state->null.count == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(s->ctx, b->n, sizeof *values, (void **)&values));
    TESS_TRY(s->ctx->backend->download(s->ctx, values, b->data, (size_t)b->n * sizeof *values));
    TESS_TRY(null_parts_judge(s->ctx, &state->null, values, &found));
    if (found.least > CLEARLY * fmax(s->options.rtol * found.norm, s->options.atol)) {
        state->unreachable = found.least / found.norm;
        state->torn = found.worst;
    }
cleanup:
    tess_host_release(s->ctx, values, b->n, sizeof *values);
    return status;
}
