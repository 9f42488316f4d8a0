/* SPDX-License-Identifier: Apache-2.0 */
/* The iterate of a running solve, for its monitor. */
#include <math.h>

#include "base/options.h"
#include "solver/solver.h"

/* A cycle's correction d is that of each iteration, except where the end of the cycle computes it. */
static const char *why_there_is_none(const tess_solver *s)
{
    if (s->driver || s->transform) { return "name the solver, without scale, reorder and accuracy"; }
    if (s->method->solve || s->method->run || s->method->finish) { return "cg, bicgstab, minres and idr have one"; }
    if (s->ctx->device != TESS_DEVICE_CPU) { return "a context of the CPU has one"; }
    return s->loop_x ? NULL : "call it from the monitor of a solve";
}

tess_status tess_solver_get_iterate(const tess_solver *solver, double *x)
{
    TESS_REQUIRE(NULL, solver);
    TESS_REQUIRE(solver->ctx, x);
    const tess_krylov *k = &solver->krylov;
    const char *hint = why_there_is_none(solver);

    if (hint) { return tess_fail(solver->ctx, TESS_UNSUPPORTED, hint, "this solve has no iterate to copy"); }
    for (int64_t i = 0; i < k->n; i++) {
        x[i] = solver->loop_x[i] + ldexp(k->d[i], solver->loop_exponent);
    }
    return TESS_SUCCESS;
}
