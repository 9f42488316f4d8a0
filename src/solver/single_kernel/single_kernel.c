/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a solve runs in one kernel: what prevents it on any device. device_single_kernel.c has the rest. */
#include "solver/single_kernel/single_kernel.h"

#include "solver/method_solver.h"

static bool is_readable(const tess_matrix *m)
{
    return single_rows_of(m) || (m->format == TESS_FORMAT_CSR && tess_precision_bytes(m->precision) > 1 &&
                                 m->arithmetic == TESS_ARITHMETIC_FP64);
}

/* What prevents a single kernel, whatever the size; NULL: nothing does. */
static const char *refusal(const method_solver *s)
{
    const tess_matrix *m = solver_matrix(s);

    if (s->method->kind != TESS_SOLVER_CG && s->method->kind != TESS_SOLVER_BICGSTAB) {
        return "runs only cg and bicgstab";
    }
    if (s->method->counts_iterations) { return "runs no method in complex scalars"; }
    if (!m->ops) { return "cannot call a user's function"; }
    if (!is_readable(m)) {
        return "reads only csr in 16 bits or more, with fp64 arithmetic, and tiles with layout resident";
    }
    if (krylov_precond_is_apart(s->precond)) { return "takes only the preconditioners none and jacobi"; }
    if (!single_plan_can_hold(m->nrows, m->nnz)) { return "has no room for a matrix of this size"; }
    return NULL;
}

tess_status single_kernel_expects(const method_solver *s, bool asked, bool *expects)
{
    const single_kernel_ops *ops = single_kernel_ops_of(s->ctx);
    single_limits limits = {0};
    tess_status status = TESS_SUCCESS;

    *expects = false;
    if (refusal(s) || !ops) { return TESS_SUCCESS; }
    TESS_TRY(ops->limits(s->ctx, &limits));
    *expects = limits.blocks > 0 && (asked || !limits.asked_only) && single_kernel_gains(s, &limits, asked);
cleanup:
    return status;
}

/* ---- set-up ---- */

static tess_status refuse(const method_solver *s, bool asked, const char *why)
{
    if (!asked) {
        tess_log(s->ctx, TESS_LOG_DEBUG, "the engine is not single-kernel, because it %s", why);
        return TESS_SUCCESS;
    }
    return tess_fail(s->ctx, TESS_UNSUPPORTED, "use --engine auto, graph or plain", "the engine single-kernel %s", why);
}

tess_status single_kernel_setup(method_solver *s, bool asked)
{
    const single_kernel_ops *ops = single_kernel_ops_of(s->ctx);
    const char *why = refusal(s);
    single_limits limits = {0};
    tess_status status = TESS_SUCCESS;

    if (why) { return refuse(s, asked, why); }
    if (ops) { TESS_TRY(ops->limits(s->ctx, &limits)); }
    if (limits.blocks == 0) { return refuse(s, asked, "needs a GPU with cooperative launches"); }
    if (limits.asked_only && !asked) { return refuse(s, asked, "has not been tested on such a device"); }
    TESS_TRY(single_kernel_make(s, &limits, asked, &why));
    if (why) { status = refuse(s, asked, why); }
cleanup:
    return status;
}
