/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/solve_options.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <tessera/names.h>

#include "base/options.h"
#include "precond/precond_options.h"
#include "sweep/schedule.h"

static const tess_papers_solve no_papers = {.size = sizeof no_papers};

enum { DEFAULT_HISTORY = 1 << 20, DEFAULT_RESTART = 50, DEFAULT_SHADOWS = 4, MOST_INNER = 1000 };
#define DEFAULT_REDUCTION 0.1

void tess_solve_options_init_sized(tess_solve_options *options, size_t size)
{
    tess_solve_options o;

    memset(&o, 0, sizeof o);
    o.size = sizeof o;
    o.rtol = 1e-5;
    o.divergence_tolerance = 1e10;
    o.max_iterations = 10000;
    o.history_capacity = DEFAULT_HISTORY;
    o.gmres.restart = DEFAULT_RESTART;
    o.gmres.orthogonalization = TESS_ORTHOGONALIZATION_CGS2_DELAYED;
    o.jacobi.omega = 1.0;
    o.idr.s = DEFAULT_SHADOWS;
    o.nested.reduction = DEFAULT_REDUCTION;
    tess_precond_options_init(&o.precond);
    o.precond.kind = TESS_PRECOND_AUTO;
    tess_storage_options_init(&o.storage);
    options_init(options, size, &o, sizeof o);
}

void tess_papers_solve_init_sized(tess_papers_solve *papers, size_t size)
{
    options_init(papers, size, &no_papers, sizeof no_papers);
}

static const tess_papers_solve *papers_of(const tess_solve_options *options)
{
    return options->papers ? options->papers : &no_papers;
}

tess_recurrence solve_options_recurrence(const tess_solve_options *options)
{
    return papers_of(options)->one_reduction ? TESS_RECURRENCE_ONE_REDUCTION : options->cg.recurrence;
}

static bool is_tolerance(double v)
{
    return v >= 0.0 && isfinite(v);
}

static tess_status check_limits(tess_context *ctx, const tess_solve_options *o)
{
    if (!is_tolerance(o->rtol) || !is_tolerance(o->atol) || !is_tolerance(o->time_limit) ||
        !(o->divergence_tolerance > 0.0) || o->max_iterations < 0 || o->history_capacity < 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT,
                         "tolerances must be finite, and tolerances and limits not negative",
                         "a tolerance or limit is negative or not finite: rtol %g, atol %g, divergence tolerance %g, "
                         "%s, history of %lld, %g seconds",
                         o->rtol, o->atol, o->divergence_tolerance, tess_count(o->max_iterations, "iteration").text,
                         (long long)o->history_capacity, o->time_limit);
    }
    return TESS_SUCCESS;
}

bool wants_accuracy(const tess_solve_options *o)
{
    return o->accuracy.forward > 0.0 || o->accuracy.backward > 0.0;
}

static tess_status check_accuracy(tess_context *ctx, const tess_accuracy_options *o)
{
    const bool fits =
        o->forward >= 0.0 && o->forward < 1.0 && o->backward >= 0.0 && o->backward < 1.0; /* false for NaN */

    if (fits && (o->forward == 0.0 || o->backward == 0.0)) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, "set one of the two, from 0 to below 1",
                     "an accuracy of forward %g and backward %g is not possible", o->forward, o->backward);
}

static tess_status check_nested(tess_context *ctx, const tess_nested_options *o)
{
    const bool fits = o->iterations >= 0 && o->iterations <= MOST_INNER && o->reduction >= 0.0 && o->reduction < 1.0;

    if (fits) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give 0 to 1000 iterations, and a reduction from 0 to below 1",
                     "inner solves of %s to a reduction of %g are not possible",
                     tess_count(o->iterations, "iteration").text, o->reduction);
}

static tess_status check_names(tess_context *ctx, const tess_solve_options *o)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(options_require_name(ctx, "tess_solver_kind", "tess_solve_options.solver", (int)o->solver));
    TESS_TRY(options_require_name(ctx, "tess_engine", "tess_solve_options.engine", (int)o->engine));
    TESS_TRY(options_require_name(ctx, "tess_guard", "tess_solve_options.guard", (int)o->guard));
    TESS_TRY(options_require_name(ctx, "tess_stop_norm", "tess_solve_options.stop_norm", (int)o->stop_norm));
    TESS_TRY(options_require_name(ctx, "tess_scaling", "tess_solve_options.scale", (int)o->scale));
    TESS_TRY(options_require_name(ctx, "tess_reordering", "tess_solve_options.reorder", (int)o->reorder));
    TESS_TRY(options_require_name(ctx, "tess_recurrence", "tess_cg_options.recurrence", (int)o->cg.recurrence));
    TESS_TRY(options_require_name(ctx, "tess_orthogonalization", "tess_gmres_options.orthogonalization",
                                  (int)o->gmres.orthogonalization));
    TESS_TRY(options_require_role(ctx, "tess_gmres_options.inner", &o->gmres.inner));
    TESS_TRY(options_require_role(ctx, "tess_gmres_options.basis", &o->gmres.basis));
    TESS_TRY(options_require_name(ctx, "tess_narrowing", "tess_papers_solve.narrowing", (int)papers_of(o)->narrowing));
cleanup:
    return status;
}

/* Refuses values that only the papers' options may request. */
static tess_status check_recurrence(tess_context *ctx, const tess_solve_options *o)
{
    if (o->cg.recurrence == TESS_RECURRENCE_ONE_REDUCTION) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "set one_reduction of tess_papers_solve (papers.h)",
                         "tess_cg_options does not take the recurrence one-reduction");
    }
    if (papers_of(o)->one_reduction && o->cg.recurrence != TESS_RECURRENCE_AUTO) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "leave the recurrence auto",
                         "the recurrence %s contradicts one_reduction of tess_papers_solve",
                         tess_recurrence_name(o->cg.recurrence));
    }
    return TESS_SUCCESS;
}

void solve_options_keep_fp64(tess_solve_options *o)
{
    static const tess_precision_schedule fp64 = {1, {{TESS_PRECISION_FP64, 0}}};
    tess_precond_options *m = &o->precond;

    if (!o->automatic.fp64_only) { return; }
    if (!m->role.given && (m->kind == TESS_PRECOND_LU || m->kind == TESS_PRECOND_CHOLESKY)) {
        m->role = (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64};
    }
    if ((m->kind == TESS_PRECOND_AMG || m->kind == TESS_PRECOND_SADDLE) &&
        m->amg.precision == TESS_AMG_PRECISION_AUTO) {
        m->amg.precision = TESS_AMG_PRECISION_FP64;
    }
    if (m->kind == TESS_PRECOND_JACOBI_SWEEPS && m->jacobi_sweeps.schedule.count == 0) {
        m->jacobi_sweeps.schedule = fp64;
    }
}

tess_status solve_options_take(tess_context *ctx, const tess_solve_options *given, tess_solve_options *out,
                               solve_papers *papers)
{
    tess_status status = TESS_SUCCESS;

    tess_solve_options_init(out);
    papers->solve = no_papers;
    TESS_TRY(options_take(ctx, "tess_solve_options", given, out, sizeof *out));
    TESS_TRY(options_require_reserved(ctx, "tess_cg_options", out->cg.reserved));
    TESS_TRY(options_require_reserved(ctx, "tess_gmres_options", out->gmres.reserved));
    TESS_TRY(options_require_reserved(ctx, "tess_jacobi_options", out->jacobi.reserved));
    TESS_TRY(options_require_reserved(ctx, "tess_automatic_options", out->automatic.reserved));
    TESS_TRY(options_require_reserved(ctx, "tess_idr_options", out->idr.reserved));
    TESS_TRY(options_require_reserved(ctx, "tess_nested_options", out->nested.reserved));
    TESS_TRY(options_require_reserved(ctx, "tess_accuracy_options", out->accuracy.reserved));
    TESS_TRY(check_accuracy(ctx, &out->accuracy));
    TESS_TRY(precond_options_take_member(ctx, &out->precond, &papers->squares));
    TESS_TRY(storage_options_take_member(ctx, &out->storage, &papers->storage));
    TESS_TRY(options_take(ctx, "tess_papers_solve", out->papers, &papers->solve, sizeof papers->solve));
    if (out->papers) { out->papers = &papers->solve; }
    TESS_TRY(check_names(ctx, out));
    if (out->jacobi.schedule.count != 0) { TESS_TRY(schedule_check(ctx, &out->jacobi.schedule)); }
    TESS_TRY(check_recurrence(ctx, out));
    TESS_TRY(check_limits(ctx, out));
    TESS_TRY(check_nested(ctx, &out->nested));
    if (out->solver == TESS_SOLVER_AUTO) { solve_options_keep_fp64(out); }
    if (out->solver == TESS_SOLVER_FGMRES || out->solver == TESS_SOLVER_NESTED) {
        out->gmres.orthogonalization = TESS_ORTHOGONALIZATION_CGS2;
    }
cleanup:
    return status;
}

tess_status solve_options_take_limits(tess_context *ctx, const tess_solve_options *given, tess_solve_options *out)
{
    tess_solve_options limits;
    tess_status status = TESS_SUCCESS;

    tess_solve_options_init(&limits);
    TESS_TRY(options_take(ctx, "tess_solve_options", given, &limits, sizeof limits));
    TESS_TRY(check_limits(ctx, &limits));
    TESS_TRY(options_require_name(ctx, "tess_guard", "tess_solve_options.guard", (int)limits.guard));
    out->rtol = limits.rtol;
    out->atol = limits.atol;
    out->divergence_tolerance = limits.divergence_tolerance;
    out->max_iterations = limits.max_iterations;
    out->guard = limits.guard;
    out->time_limit = limits.time_limit;
    out->return_last = limits.return_last;
    out->monitor = limits.monitor;
    out->monitor_user = limits.monitor_user;
cleanup:
    return status;
}
