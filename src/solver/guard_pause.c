/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cycle of MINRES pauses where its residual may be the least of a system without a solution (minres_scalars.h): from
 * there on x may grow while the estimate stays. The true residual tells. Where it agrees with the estimate, the cycle
 * goes on as if there had been no pause, and its iterate is kept if it is the best of the cycle; else the cycle ends.
 */
#include "solver/guard_run.h"

/* The true residual agrees with an estimate that it exceeds by less than this factor. */
#define TRUST 2.0

tess_status guard_form_candidate(solve_run *run)
{
    method_solver *s = run->s;
    const tess_fused add = {.op = TESS_FUSED_AXPBY,
                            .n = s->krylov.n,
                            .x = {.data = run->x},
                            .y = {.data = s->krylov.d},
                            .result = s->candidate,
                            .a = 1.0,
                            .b = ldexp(1.0, run->exponent)};

    return s->ctx->backend->fused(s->ctx, &add);
}

static tess_status copy(const method_solver *s, double *to, const double *from)
{
    return s->ctx->backend->copy(s->ctx, to, from, (size_t)s->krylov.n * sizeof *to);
}

/* The true residual of x + d, and its norm without what no x changes; that is left in krylov.r. */
static tess_status measure(solve_run *run, true_residual *out, double *norm)
{
    const double before = run->norm;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(guard_form_candidate(run));
    TESS_TRY(guard_verify(run, run->s->candidate, out));
    *norm = out->norm;
    if (run->floor > 0.0) {
        TESS_TRY(guard_project(run));
        *norm = run->norm;
        run->norm = before;
    }
cleanup:
    return status;
}

/* Keeps d where it is better than at earlier pauses by more than rounding. */
static tess_status keep(solve_run *run, double norm)
{
    method_solver *s = run->s;
    tess_status status = TESS_SUCCESS;

    if (!(norm < RESTART_FACTOR * run->kept)) { return TESS_SUCCESS; }
    if (!s->kept) { TESS_TRY(tess_device_allocate(s->ctx, s->krylov.n, sizeof *s->kept, (void **)&s->kept)); }
    TESS_TRY(copy(s, s->kept, s->krylov.d));
    run->kept = norm;
cleanup:
    return status;
}

/* A cycle in low precision, and one that the caller wants as the method makes it, is not judged at a pause. */
static tess_status judge_pause(solve_run *run, const tess_loop_state *end, bool *trusted)
{
    tess_krylov *k = &run->s->krylov;
    const tess_fused scale = {
        .op = TESS_FUSED_SCALE, .n = k->n, .x = {.data = k->r}, .result = k->r, .a = ldexp(1.0, -run->exponent)};
    true_residual now;
    double norm = 0.0;
    tess_status status = TESS_SUCCESS;

    *trusted = true;
    if (run->guard != TESS_GUARD_REPAIR || run->low_precision) { return TESS_SUCCESS; }
    TESS_TRY(measure(run, &now, &norm));
    *trusted = norm <= TRUST * end->scale * end->residual_norm;
    if (!*trusted) { return TESS_SUCCESS; }
    TESS_TRY(keep(run, deciding_norm(run->result, &now)));
    if (run->exponent != 0) { status = k->ctx->backend->fused(k->ctx, &scale); }
cleanup:
    return status;
}

tess_status guard_end_pause(solve_run *run, tess_loop_state *end, bool *resumes)
{
    tess_status status = TESS_SUCCESS;

    *resumes = false;
    if (!run->s->method->pauses || end->reason != TESS_REASON_RUNNING) { return TESS_SUCCESS; }
    TESS_TRY(judge_pause(run, end, resumes));
    if (*resumes) {
        end->phase = TESS_LOOP_RUNNING;
    } else {
        end->reason = TESS_REASON_STAGNATION;
    }
cleanup:
    return status;
}

/* After a run of the loop: whether it goes on. */
static tess_status resume(solve_run *run, tess_loop_state *end, bool *resumes)
{
    const tess_krylov *k = &run->s->krylov;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(guard_end_pause(run, end, resumes));
    if (!*resumes) { return TESS_SUCCESS; }
    run->begin = *end;
    status = k->ctx->backend->upload(k->ctx, k->state, &run->begin, sizeof run->begin);
cleanup:
    return status;
}

tess_status guard_take_kept(solve_run *run)
{
    true_residual last;
    double norm = 0.0;
    tess_status status = TESS_SUCCESS;

    if (!is_finite(run->kept)) { return TESS_SUCCESS; }
    TESS_TRY(measure(run, &last, &norm));
    if (!(deciding_norm(run->result, &last) <= run->kept)) { status = copy(run->s, run->s->krylov.d, run->s->kept); }
cleanup:
    return status;
}

tess_status guard_run_cycle(solve_run *run, tess_loop_state *end)
{
    const tess_loop_state begin = run->begin;
    bool resumes = true;
    tess_status status = TESS_SUCCESS;

    run->kept = INFINITY;
    while (resumes) {
        TESS_TRY(guard_run_loop(run, end));
        TESS_TRY(resume(run, end, &resumes));
    }
    status = guard_take_kept(run);
cleanup:
    run->begin = begin;
    return status;
}
