/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Jacobi iteration in rising precisions, by a schedule (Tezcan et al. 2022, Algorithm 1; Saad 2003, section 4.1): x
 * := x + omega (D^-1 (b - R x) - x) with A = D + R. One cycle solves A d = r from d = 0.
 */
#include "solver/jacobi/jacobi.h"

#include <math.h>
#include <string.h>

static tess_jacobi *jacobi_of(const method_solver *s)
{
    return s->own;
}

/* ---- set-up ---- */

static bool is_fixed(const method_solver *s)
{
    return schedule_is_counted(&s->options->jacobi.schedule) || (s->options->rtol == 0.0 && s->options->atol == 0.0);
}

static tess_status complete_options(method_solver *s)
{
    tess_solve_options *o = s->options;

    if (o->storage.format == TESS_FORMAT_AUTO) {
        o->storage.format = sweep_choose_format(&o->storage, &o->jacobi.schedule);
    }
    return TESS_SUCCESS;
}

static tess_status check_options(const method_solver *s)
{
    const tess_solve_options *o = s->options;

    if (!s->original->ops) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "use --solver bicgstab",
                         "the Jacobi iteration needs the entries of the matrix, but a shell matrix has none");
    }
    if (!(o->jacobi.omega > 0.0) || !isfinite(o->jacobi.omega)) {
        return tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "give a finite number above 0; 1 is the default",
                         "the weight omega cannot be %g", o->jacobi.omega);
    }
    return TESS_SUCCESS;
}

/* The next solve reports a diagonal that cannot be inverted. */
static tess_status renew(method_solver *s)
{
    tess_jacobi *j = jacobi_of(s);
    tess_status status = sweep_renew(j->main);

    j->done = j->main->request.schedule;
    for (int i = 0; i < j->done.count; i++) {
        j->done.entry[i].iterations = 0;
    }
    if (status == TESS_SINGULAR) {
        s->setup_reason = TESS_REASON_PRECOND_SETUP;
        s->setup_error = s->ctx->error;
        return TESS_SUCCESS;
    }
    if (status == TESS_SUCCESS) { s->setup_reason = TESS_REASON_RUNNING; }
    if (status == TESS_SUCCESS && j->fp64 && s->setup_reason == TESS_REASON_RUNNING) { status = sweep_renew(j->fp64); }
    return status;
}

static tess_status setup(method_solver *s)
{
    const tess_solve_options *o = s->options;
    const tess_sweep_request request = {.storage = o->storage,
                                        .schedule = o->jacobi.schedule,
                                        .kind = TESS_UPDATE_JACOBI,
                                        .omega = o->jacobi.omega,
                                        .factor = 0.1, /* section IV */
                                        .launches_apart = o->engine == TESS_ENGINE_PLAIN};
    tess_jacobi *j = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_options(s));
    TESS_TRY(tess_host_allocate(s->ctx, 1, sizeof *j, (void **)&j));
    memset(j, 0, sizeof *j);
    s->own = j;
    TESS_TRY(sweep_create(s->original, &request, &j->main));
    s->stored = j->main->stored;
    status = renew(s);
cleanup:
    return status;
}

static void destroy(method_solver *s)
{
    tess_jacobi *j = jacobi_of(s);

    if (!j) { return; }
    s->stored = NULL; /* the sweep's own */
    sweep_destroy(j->main);
    sweep_destroy(j->fp64);
    tess_host_release(s->ctx, j, 1, sizeof *j);
    s->own = NULL;
}

static int no_vectors(const tess_precond *m)
{
    (void)m;
    return 0;
}

/* ---- what results say ---- */

/* The lowest precision of the schedule's last entry. */
static tess_precision working_precision(const method_solver *s)
{
    const tess_sweep *w = jacobi_of(s)->main;
    const tess_precision_schedule *schedule = &w->request.schedule;

    return sweep_way_of(w, schedule->entry[schedule->count - 1].what).precision;
}

static void describe(const method_solver *s, tess_solve_result *r)
{
    const tess_jacobi *j = jacobi_of(s);
    const tess_assignment_summary *summary = tess_matrix_assigned_to(j->main->stored);

    r->storage.matrix_bytes += s->original->nrows * (int64_t)sizeof(double); /* the diagonal */
    r->resident_bytes += sweep_bytes(j->main);
    if (summary->options.nlevels == 1) {
        r->storage.format = s->options->storage.format;
    } /* a composite of one copy is its base */
}

/* ---- a cycle ---- */

/* This cycle's schedule and the sweep that runs it; after an escalation, only FP64. */
static tess_status choose_schedule(jacobi_run *run)
{
    static const tess_precision_schedule fp64 = {1, {{TESS_PRECISION_FP64, 0}}};
    const method_solver *s = run->s;
    tess_jacobi *j = run->j;
    tess_sweep_request request = j->main->request;
    tess_status status = TESS_SUCCESS;

    run->w = j->main;
    run->schedule = &j->main->request.schedule;
    if (s->krylov.matrix != s->original) { return TESS_SUCCESS; }
    run->schedule = &fp64;
    if (sweep_has_copy(j->main, TESS_PRECISION_FP64)) { return TESS_SUCCESS; }
    if (!j->fp64) {
        request.schedule = fp64;
        request.storage.format = tess_format_in_role(TESS_ROLE_COPIES);
        request.storage.policy.granularity = TESS_GRANULARITY_ROW;
        TESS_TRY(sweep_create(s->original, &request, &j->fp64));
        TESS_TRY(sweep_renew(j->fp64));
    }
    run->w = j->fp64;
cleanup:
    return status;
}

/* b := 2^-e r, so that neither D^-1 b nor the iterates leave the range of FP32, if possible. */
static tess_status load(jacobi_run *run)
{
    const tess_krylov *k = &run->s->krylov;
    const int exponent = sweep_exponent(run->w); /* entries of D^-1 b are at most about 1 */
    tess_fused scale = {.op = TESS_FUSED_SCALE, .n = k->n, .x = {.data = run->w->rhs}, .result = run->w->rhs};
    tess_status status = TESS_SUCCESS;

    run->unit = ldexp(1.0, exponent);
    scale.a = ldexp(1.0, -exponent);
    TESS_TRY(sweep_load_rhs(run->w, k->r));
    if (exponent != 0) { TESS_TRY(k->ctx->backend->fused(k->ctx, &scale)); }
    status = sweep_load(run->w, NULL);
cleanup:
    return status;
}

static tess_status store(const jacobi_run *run)
{
    const tess_krylov *k = &run->s->krylov;
    tess_fused scale = {.op = TESS_FUSED_SCALE, .n = k->n, .x = {.data = k->d}, .result = k->d, .a = run->unit};
    tess_status status = sweep_store(run->w, k->d);

    return status == TESS_SUCCESS && run->unit != 1.0 ? k->ctx->backend->fused(k->ctx, &scale) : status;
}

static tess_status run_cycle(method_solver *s, tess_loop *loop)
{
    jacobi_run run = {.s = s, .j = jacobi_of(s), .loop = loop, .state = &loop->result};
    bool again = s->krylov.attempt > 0 && run.j->diverged;
    tess_status status = TESS_SUCCESS;

    if (again) { /* from the same x it would diverge again */
        jacobi_end(&run, TESS_REASON_DIVERGENCE);
        return TESS_SUCCESS;
    }
    TESS_TRY(choose_schedule(&run));
    TESS_TRY(load(&run));
    run.first = run.state->residual_norm;
    TESS_TRY(is_fixed(s) ? jacobi_run_fixed(&run) : jacobi_run_to_tolerance(&run));
    run.j->diverged = run.state->reason == (int32_t)TESS_REASON_DIVERGENCE;
    status = store(&run);
cleanup:
    return status;
}

static void report(const method_solver *s, tess_solve_result *r)
{
    r->jacobi.schedule = jacobi_of(s)->done;
}

const tess_method tess_method_jacobi = {.kind = TESS_SOLVER_JACOBI,
                                        .vectors = no_vectors,
                                        .complete_options = complete_options,
                                        .setup = setup,
                                        .destroy = destroy,
                                        .renew = renew,
                                        .describe = describe,
                                        .report = report,
                                        .working_precision = working_precision,
                                        .is_fixed = is_fixed,
                                        .run = run_cycle};
