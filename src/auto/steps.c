/* SPDX-License-Identifier: Apache-2.0 */
/* What a step of the ladder asks a solver for, and the solver. */
#include "auto/auto.h"

#include <tessera/names.h>

#include "base/deadline.h"
#include "solver/verify.h"

/* Entries of a row, in the mean. */
enum { SHORT_ROW = 10 };
/* Of an attempt on a GPU, at least. */
enum { WATCHED_RESIDUALS = 1 << 20 };

void step_request(const ladder_step *step, tess_solve_options *out)
{
    const bool complete = step->precond == TESS_PRECOND_LU || step->precond == TESS_PRECOND_CHOLESKY;
    const bool factors = step->precond != TESS_PRECOND_AUTO && step->precond != TESS_PRECOND_NONE &&
                         step->precond != TESS_PRECOND_JACOBI && !has_multigrid(step);
    const bool fp32 = complete && step->factors == TESS_PRECISION_FP32; /* incomplete ones always compute in FP64 */

    out->solver = step->solver;
    out->scale = step->scale;
    out->reorder = step->reorder;
    solve_options_keep_fp64(out);
    if (out->solver == TESS_SOLVER_FGMRES) { out->gmres.orthogonalization = TESS_ORTHOGONALIZATION_CGS2; }
    if (out->precond.kind != TESS_PRECOND_AUTO) { return; }
    out->precond.kind = step->precond;
    if (step->precond == TESS_PRECOND_AMG && step->factors == TESS_PRECISION_FP64) {
        out->precond.amg.precision = TESS_AMG_PRECISION_FP64;
    }
    if (step->precond == TESS_PRECOND_SADDLE) { /* vectors of the whole matrix are not for its blocks */
        out->precond.amg.near_nullspace = NULL;
        out->precond.amg.near_nullspace_columns = 0;
    }
    if (factors) {
        out->precond.role = (tess_role_precision){
            .given = 1, .storage = step->factors, .arithmetic = fp32 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64};
    }
}

/* Rows of few entries take less time on the pattern of A^2, longer ones by the entries that help: set-up and solve of
   31 and of 22 matrices, 2 and 1.2 times as fast (docs/results/preconditioners.md). */
static void choose_pattern(const tess_solver *s, const ladder_step *step, tess_solve_options *out)
{
    const tess_matrix *a = s->original;

    if (s->options.precond.kind != TESS_PRECOND_AUTO || step->precond != TESS_PRECOND_FSAI) { return; }
    if (a->nnz > SHORT_ROW * a->nrows) { out->precond.inverse.power = TESS_INVERSE_ADAPTIVE; }
}

/* A GPU's loop is looked at through the residuals that it keeps; the caller gets as many as asked for. */
static int64_t kept_residuals(const tess_solver *s)
{
    const int64_t wanted = s->options.history_capacity;

    return s->ctx->device == TESS_DEVICE_GPU && wanted < WATCHED_RESIDUALS ? WATCHED_RESIDUALS : wanted;
}

void step_options(const tess_solver *s, const ladder_step *step, tess_solve_options *out)
{
    *out = s->options;
    out->history_capacity = kept_residuals(s);
    out->return_last = 0; /* each attempt begins from the best x so far */
    out->stop_norm = verify_stop_norm(&s->options);
    step_request(step, out);
    choose_pattern(s, step, out);
    storage_request(s, step, &out->storage);
}

tess_status step_create_solver(const tess_solver *s, auto_solve *state)
{
    const tess_error before = s->ctx->error;
    tess_solve_options o;
    tess_status status = TESS_SUCCESS;

    step_options(s, &state->step, &o);
    status = solver_make(s->original, NULL, &o, &state->solver);
    if (status == TESS_SUCCESS || !state->diagonals || o.storage.format == TESS_FORMAT_CSR) { return status; }
    s->ctx->error = before;
    state->diagonals = false;
    step_options(s, &state->step, &o);
    return solver_make(s->original, NULL, &o, &state->solver);
}

/* A step that this build, device or matrix does not allow, or whose factors find no memory or would take too long, or
   whose library fails for a reason of its own. */
bool may_skip(const ladder_step *step, tess_status status)
{
    return status == TESS_UNSUPPORTED || status == TESS_SINGULAR || status == TESS_OUT_OF_RANGE ||
           status == TESS_TIMED_OUT ||
           ((status == TESS_OUT_OF_MEMORY || status == TESS_OUT_OF_DEVICE_MEMORY || status == TESS_INTERNAL) &&
            (step->limit == LIMIT_DIRECT || has_multigrid(step) || has_inverse(step)));
}

/* Levels with more entries than this cost more than they gain; one level alone is no multigrid. */
#define MOST_COMPLEX 3.5

tess_status refuse_levels(const tess_solver *s, auto_solve *state)
{
    tess_amg_levels levels = {.size = sizeof levels};
    const bool multigrid = state->step.precond == TESS_PRECOND_AMG && state->next < state->ladder.count &&
                           s->options.precond.kind == TESS_PRECOND_AUTO;

    if (!multigrid || tess_precond_get_levels(tess_solver_precond(state->solver), &levels) != TESS_SUCCESS ||
        (levels.count > 1 && levels.operator_complexity <= MOST_COMPLEX)) {
        return TESS_SUCCESS;
    }
    tess_solver_destroy(state->solver);
    state->solver = NULL;
    return tess_fail(s->ctx, TESS_UNSUPPORTED, "choose another preconditioner",
                     "amg: %s with %.3g times the entries of the matrix do not pay",
                     tess_count(levels.count, "level").text, levels.operator_complexity);
}

/* Factors that would take longer than the limit of time leaves: another step need not. */
tess_status refuse_for_time(const tess_solver *s, auto_solve *state)
{
    const method_solver *running = solver_innermost(state->solver);

    if (!running || method_look(running).setup_reason != TESS_REASON_TIME_LIMIT || state->next == state->ladder.count ||
        tess_seconds_left(s->ctx) <= 0.0) {
        return TESS_SUCCESS;
    }
    s->ctx->error = *method_look(running).setup_error;
    tess_solver_destroy(state->solver);
    state->solver = NULL;
    return TESS_TIMED_OUT;
}
