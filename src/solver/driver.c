/* SPDX-License-Identifier: Apache-2.0 */
/* The questions of automatic.h, answered by the driver of a solver. */
#include "solver/driver.h"

#include <tessera/options.h>

#include "base/options.h"
#include "solver/transform_parts.h"

/* The solver that makes the attempts: of a transformed system it is the inner one. */
static const tess_solver *driven_solver(const tess_solver *s)
{
    return s->transform ? s->transform->inner : s;
}

int tess_solver_attempts(const tess_solver *s, const tess_attempt **out)
{
    if (!out) { return 0; }
    *out = NULL;
    if (!s) { return 0; }
    const tess_solver *inner = driven_solver(s);

    return inner->driver ? inner->driver->attempts(inner, out) : 0;
}

const char *tess_solver_why(const tess_solver *s)
{
    if (!s) { return ""; }
    const tess_solver *inner = driven_solver(s);

    return inner->driver ? inner->driver->why(inner) : "";
}

tess_status tess_solver_chosen_options(const tess_solver *s, tess_solve_options *out)
{
    TESS_REQUIRE(NULL, s);
    TESS_REQUIRE(s->ctx, out);
    const tess_solver *inner = driven_solver(s);
    tess_solve_options chosen = inner->options;
    tess_status status = result_require_size(s->ctx, "tess_solve_options", out->size, sizeof chosen);

    if (status == TESS_SUCCESS && inner->driver) { status = inner->driver->chosen(inner, &chosen); }
    if (s->transform && inner->driver && chosen.scale == TESS_SCALING_NONE) { chosen.scale = s->options.scale; }
    if (s->transform && chosen.reorder == TESS_REORDERING_NONE) { chosen.reorder = s->options.reorder; }
    if (s->transform) { /* not those of a round of refinement */
        chosen.rtol = s->options.rtol;
        chosen.atol = s->options.atol;
        chosen.max_iterations = s->options.max_iterations;
    }
    tess_options_prune(&chosen);
    if (status == TESS_SUCCESS) { result_return(&chosen, out); }
    return status;
}

/* ---- calls from a monitor ---- */

tess_status solver_require_idle(const tess_solver *s)
{
    if (!s->solving) { return TESS_SUCCESS; }
    return tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "end the solve first: return a nonzero value from the monitor",
                     "the solver is busy with a solve, whose monitor made this call");
}

/* ---- the last iterate ---- */

tess_status solver_last_iterate(const tess_solver *s, tess_vector *x)
{
    const tess_solver *now = s;
    tess_status status = TESS_SUCCESS;

    while (now && now->driver) {
        now = now->driver->current(now);
    }
    if (!now || !now->iterated) { return TESS_SUCCESS; }
    if (now->transform) {
        status = tess_vector_copy(now->transform->candidate, x);
    } else {
        status = now->ctx->backend->copy(now->ctx, x->data, now->candidate, (size_t)x->n * sizeof(double));
    }
    return status == TESS_SUCCESS ? tess_vector_refresh_shadow(x) : status;
}

tess_status tess_solver_last_iterate(const tess_solver *s, tess_vector *x)
{
    tess_status status = TESS_SUCCESS;

    TESS_REQUIRE(NULL, s);
    status = tess_vector_require(s->ctx, x, s->original->ncols, "x");
    return status == TESS_SUCCESS ? solver_last_iterate(s, x) : status;
}
