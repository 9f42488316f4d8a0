/* SPDX-License-Identifier: Apache-2.0 */
/* The questions of automatic.h, answered by the driver of a solver. */
#include "solver/driver.h"

#include "base/options.h"

int tess_solver_attempts(const tess_solver *s, const tess_attempt **out)
{
    *out = NULL;
    return s->driver ? s->driver->attempts(s, out) : 0;
}

const char *tess_solver_why(const tess_solver *s)
{
    return s->driver ? s->driver->why(s) : "";
}

tess_status tess_solver_chosen_options(const tess_solver *s, tess_solve_options *out)
{
    tess_solve_options chosen = s->options;
    tess_status status = result_require_size(s->ctx, "tess_solve_options", out->size, sizeof chosen);

    if (status == TESS_SUCCESS && s->driver) { status = s->driver->chosen(s, &chosen); }
    if (status == TESS_SUCCESS) { result_return(&chosen, out); }
    return status;
}
