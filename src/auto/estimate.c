/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a solve before it is set up: of the method that is named, or of the first that the advice names. */
#include "solver/estimate.h"

#include <tessera/advise.h>

#include "auto/auto.h"
#include "base/options.h"
#include "solver/transform.h"

enum { MOST_COLUMNS = INT32_MAX };

/* Of a system that the caller scales or reorders, the advice for A itself. */
static tess_status take_advice(const tess_matrix *a, tess_solve_options *o)
{
    const tess_advised_attempt *first = NULL;
    tess_solve_options plain = *o;
    tess_advice advice;
    tess_status status = TESS_SUCCESS;

    if (o->solver != TESS_SOLVER_AUTO) { return TESS_SUCCESS; }
    plain.scale = TESS_SCALING_NONE;
    plain.reorder = TESS_REORDERING_NONE;
    tess_advice_init(&advice);
    TESS_TRY(tess_advise(a, &plain, &advice));
    if (advice.count == 0) { goto cleanup; }
    first = &advice.attempt[0];
    step_request(&(ladder_step){.solver = first->solver,
                                .precond = first->precond,
                                .factors = first->factors,
                                .scale = wants_transform(o) ? o->scale : first->scale,
                                .reorder = wants_transform(o) ? o->reorder : first->reorder},
                 o);
cleanup:
    return status;
}

tess_status tess_solve_estimate_columns(const tess_matrix *a, const tess_solve_options *options, int64_t columns,
                                        tess_solve_estimate *out)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, out);
    tess_solve_options taken;
    solve_papers papers;
    tess_solve_estimate full;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(result_require_size(a->ctx, "tess_solve_estimate", out->size, sizeof full));
    TESS_TRY(tess_matrix_require_assembled(a, "tess_solve_estimate_memory"));
    if (columns < 1 || columns > MOST_COLUMNS) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "pass a number from 1 to 2147483647",
                         "a solve of %lld columns has no estimate", (long long)columns);
    }
    TESS_TRY(solver_require_fit(a, NULL, options));
    TESS_TRY(solver_take_request(a, NULL, options, &taken, &papers));
    TESS_TRY(take_advice(a, &taken));
    TESS_TRY(solver_estimate_memory(a, &taken, columns, &full));
    result_return(&full, out);
cleanup:
    return status;
}

tess_status tess_solve_estimate_memory(const tess_matrix *a, const tess_solve_options *options,
                                       tess_solve_estimate *out)
{
    return tess_solve_estimate_columns(a, options, 1, out);
}
