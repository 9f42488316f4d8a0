/* SPDX-License-Identifier: Apache-2.0 */
/* Systems of which no x meets the tolerance: 1^T (b - A x) = 1^T b where the columns of A sum to 0, in the whole matrix
   or in a part of it without couplings to the rest. Where they do so up to rounding, none that FP64 holds is expected
   to. */
#include "auto/auto.h"
#include "solver/null_reach.h"

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
    null_reach found;
    tess_status status = TESS_SUCCESS;

    state->unreachable = state->proved = 0.0;
    TESS_TRY(null_reach_find(s->original, &state->null, b->data, s->options.rtol, s->options.atol, &found));
    if (found.least == 0.0) { return TESS_SUCCESS; }
    state->unreachable = found.least / found.norm;
    state->proved = found.proved / found.norm;
    state->torn = found.torn;
cleanup:
    return status;
}
