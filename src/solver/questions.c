/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a solver of any kind, before, within and after a solve. */
#include "solver/solver.h"

#include <tessera/options.h>

#include "base/options.h"

/* ---- the last iterate, and the present one ---- */

tess_status solver_last_iterate(const tess_solver *s, tess_vector *x)
{
    return s->ops->last_iterate ? s->ops->last_iterate(s, x) : TESS_SUCCESS;
}

tess_status tess_solver_last_iterate(const tess_solver *s, tess_vector *x)
{
    tess_status status = TESS_SUCCESS;

    TESS_REQUIRE(NULL, s);
    status = tess_vector_require(s->ctx, x, s->original->ncols, "x");
    return status == TESS_SUCCESS ? solver_last_iterate(s, x) : status;
}

tess_status solver_refuse_iterate(const tess_solver *s)
{
    return tess_fail(s->ctx, TESS_UNSUPPORTED, "name the solver, without scale, reorder and accuracy",
                     "this solve has no iterate to copy");
}

tess_status tess_solver_get_iterate(const tess_solver *solver, double *x)
{
    TESS_REQUIRE(NULL, solver);
    TESS_REQUIRE(solver->ctx, x);
    return solver->ops->get_iterate ? solver->ops->get_iterate(solver, x) : solver_refuse_iterate(solver);
}

/* ---- facts ---- */

void describe_solver(const tess_solver *s, tess_solve_result *r)
{
    tess_solve_result_init(r);
    s->ops->describe(s, r);
    r->setup_seconds = s->setup_seconds;
    r->history = s->host_history;
}

const tess_precond *tess_solver_precond(const tess_solver *s)
{
    return s && s->ops->precond ? s->ops->precond(s) : NULL;
}

method_solver *solver_running(const tess_solver *s)
{
    return s && s->ops->running ? s->ops->running(s) : NULL;
}

method_solver *solver_innermost(const tess_solver *s)
{
    return s && s->ops->innermost ? s->ops->innermost(s) : solver_running(s);
}

tess_status tess_solver_papers_result(const tess_solver *s, tess_papers_result *result)
{
    TESS_REQUIRE(NULL, s);
    TESS_REQUIRE(s->ctx, result);
    const tess_status status = result_require_size(s->ctx, "tess_papers_result", result->size, sizeof *result);

    if (status == TESS_SUCCESS) { result_return(&s->papers_result, result); }
    return status;
}

/* ---- automatic.h ---- */

int tess_solver_attempts(const tess_solver *s, const tess_attempt **out)
{
    if (!out) { return 0; }
    *out = NULL;
    return s && s->ops->attempts ? s->ops->attempts(s, out) : 0;
}

const char *tess_solver_why(const tess_solver *s)
{
    return s && s->ops->why ? s->ops->why(s) : "";
}

tess_status tess_solver_chosen_options(const tess_solver *s, tess_solve_options *out)
{
    TESS_REQUIRE(NULL, s);
    TESS_REQUIRE(s->ctx, out);
    tess_solve_options chosen = s->options;
    tess_status status = result_require_size(s->ctx, "tess_solve_options", out->size, sizeof chosen);

    if (status == TESS_SUCCESS && s->ops->chosen) { status = s->ops->chosen(s, &chosen); }
    chosen.keep_order = s->keeps_order;
    tess_options_prune(&chosen);
    if (status == TESS_SUCCESS) { result_return(&chosen, out); }
    return status;
}
