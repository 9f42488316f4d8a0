/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solve consists of cycles of a Krylov method. Each computes a correction d to x, and the true residual of the
 * original FP64 matrix judges it. With the guard on `repair`, a cycle whose estimate was wrong or that broke down is
 * followed by another from the true residual (residual replacement), in FP64 if a lower precision made no progress.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadline.h"
#include "base/options.h"
#include "base/two_word.h"
#include "device/iteration_end.h"
#include "format/csr/csr.h"
#include "solver/driver.h"
#include "solver/extension.h"
#include "solver/single_kernel/single_kernel.h"
#include "solver/solver.h"
#include "solver/stop.h"
#include "solver/transform.h"
#include "solver/verify.h"

/* To count as progress, a cycle must reduce the true residual by at least this share of its goal. This many cycles in a
   row may fail to. */
#define PROGRESS_SHARE 0.5
/* A cycle that ended with a full basis counts as progress if the residual fell by more than rounding: restarted methods
   may be slow. */
#define RESTART_FACTOR (1.0 - 0x1p-20)
enum { FRUITLESS_CYCLES = 3 };
/* A residual within this factor of the rounding error of x itself is as good as FP64 gives. */
#define STAGNATION_FACTOR 64.0
/* A cycle whose residual norm is outside 2^-300 .. 2^300 works on the residual scaled by a power of two, so that no
   inner product overflows or underflows. The exponent is limited so that the scale and its inverse are normal numbers.
   */
enum { UNSCALED_EXPONENT = 300, MAX_EXPONENT = 1000 };
/* The loop stops this much below the tolerance, so that the last rounding of the estimate needs no repair. */
#define STOP_SHARE 0.999
/* A cycle on a matrix of lower precision aims at a reduction of at most this many unit roundoffs of that precision, and
   at most LARGEST_REDUCTION: beyond it the estimate is only about the perturbed matrix. It always aims at some
   progress. */
#define REDUCTION_ROUNDOFFS 8.0
#define LARGEST_REDUCTION 0x1p-17
#define SMALLEST_REDUCTION (0.5 * PROGRESS_SHARE)
/* A cycle with an extension has stalled if its residual norm has not fallen below another power of two for so many
   iterations: four times the rows, up to this many or a share of the solve's limit. CG without an extension on 32
   symmetric matrices of 48 to 17,361 rows, to 1e-10 in 10,000 iterations, took up to 3.1 times the rows to halve it,
   and up to 1,023 iterations, except 2,800 on ex9 and ex33. */
enum { STALL_PASSES = 4, MIN_STALL_LIMIT = 100, MAX_STALL_LIMIT = 2000, STALL_SHARES = 4 };
_Static_assert((int)MAX_STALL_LIMIT <= (int)WATCH_COUNT, "it has so many bits");
/* Values that storage changes by no more than this are as good as in FP64: about the loss of a sum of a few products.
 */
#define NEGLIGIBLE_LOSS 0x1p-49

typedef struct solve_run {
    tess_solver *s;
    const double *b;
    double *x;
    tess_solve_result *result;
    double start;
    true_residual now; /* of x; the residual itself is in krylov.r */
    double norm;       /* norm of krylov.r: the same, except for low residuals */
    double goal;       /* the norm that the present cycle must reach */
    bool low_residuals;
    int fruitless;
    double best;    /* the smallest true residual so far, if s->best keeps its x */
    bool may_stall; /* stalls do not end cycles any more: one stalled with no product changed */
    bool low_precision, began_low;
    tess_guard guard; /* a fixed run is never repaired */
    int exponent;     /* the present cycle works on 2^-exponent times the residual */
    tess_loop_state begin;
    double refinement_seconds;
} solve_run;

static bool is_finite(double v)
{
    return isfinite(v) != 0;
}

/* The bound decides, also if the computed norm is 0. A user's operator without a bound is trusted, and the result says
   that it is not verified. */
bool meets_tolerance(const tess_solve_result *r, const true_residual *now)
{
    const double most = now->norm + (now->bounded ? now->bound : 0.0);

    return is_finite(most) && is_finite(r->rhs_norm) && most <= r->tolerance;
}

/* Whether something beside the method may have misled the present cycle. */
static bool is_extended(const tess_solver *s)
{
    return s->krylov.extension && s->krylov.extension->is_active(s);
}

static tess_status verify_x(solve_run *run, const double *x, true_residual *out)
{
    return verify_residual(run->s->original, run->b, x, run->s->krylov.r, out);
}

/* ---- the best iterate ---- */

/* Copies x to s->best if its residual is the smallest so far. Only cycles on low residuals go on from a worse x. */
static tess_status keep_best(solve_run *run)
{
    const tess_solver *s = run->s;

    if (!s->best || !(run->now.norm < run->best)) { return TESS_SUCCESS; }
    run->best = run->now.norm;
    return s->ctx->backend->copy(s->ctx, s->best, run->x, (size_t)s->krylov.n * sizeof(double));
}

/* x := the best iterate, if that is another. */
static tess_status return_best(solve_run *run)
{
    const tess_solver *s = run->s;
    tess_status status = TESS_SUCCESS;

    if (!s->best || run->now.norm <= run->best || run->guard == TESS_GUARD_REPORT) { return TESS_SUCCESS; }
    TESS_TRY(s->ctx->backend->copy(s->ctx, run->x, s->best, (size_t)s->krylov.n * sizeof(double)));
    status = verify_x(run, run->x, &run->now);
cleanup:
    return status;
}

/* ---- before the first cycle ---- */

static void drop_graph(tess_solver *s)
{
    if (!s->graph) { return; }
    s->ctx->backend->release_graph(s->ctx, s->graph);
    s->graph = NULL;
}

/* Discards recordings, whose pointers and numbers may be out of date. */
static void drop_stale_graph(tess_solver *s)
{
    const void *values = csr_of(s->original)->view.val;
    const uint64_t revision = tess_precond_revision(s->precond);

    if (s->graph_values != values || s->graph_revision != revision) { drop_graph(s); }
    s->graph_values = values;
    s->graph_revision = revision;
}

static tess_status renew_values(tess_solver *s)
{
    tess_status status = TESS_SUCCESS;

    if (!s->original->ops) { return s->method->renew ? s->method->renew(s) : TESS_SUCCESS; }
    TESS_TRY(check_symmetry(s));
    if (s->stored) { TESS_TRY(tess_matrix_refresh(s->stored)); }
    if (s->method->renew) { TESS_TRY(s->method->renew(s)); }
    if (s->own_precond) {
        status = tess_precond_update(s->own_precond);
        if (status == TESS_SINGULAR) {
            s->setup_reason = TESS_REASON_PRECOND_SETUP;
            s->setup_error = s->ctx->error;
            status = TESS_SUCCESS;
        } else if (status == TESS_TIMED_OUT) { /* the next solve tries again */
            s->setup_reason = TESS_REASON_TIME_LIMIT;
            s->setup_error = s->ctx->error;
            status = TESS_SUCCESS;
        } else if (status == TESS_SUCCESS && s->setup_reason != TESS_REASON_RUNNING) {
            s->setup_reason = TESS_REASON_RUNNING;
        }
    }
    drop_stale_graph(s);
cleanup:
    return status;
}

/* The lowest precision of a matrix's values; FP64 if all values are stored exactly. */
static tess_precision lowest_precision(const tess_matrix *m)
{
    const tess_assignment_summary *summary = tess_matrix_assigned_to(m);
    tess_precision lowest = m->precision;

    if (tess_matrix_is_exact(m)) { return TESS_PRECISION_FP64; }
    for (int l = 0; summary && l < summary->options.nlevels; l++) {
        if (summary->nonzeros_at[l] > 0) { lowest = summary->options.level[l].precision; }
    }
    return lowest;
}

tess_precision solver_lowest_precision(const tess_solver *s)
{
    return lowest_precision(solver_matrix(s));
}

/* The precision of cycles until an escalation. */
static tess_precision working_precision(const tess_solver *s)
{
    return s->method->working_precision ? s->method->working_precision(s) : solver_lowest_precision(s);
}

static tess_status start_run(solve_run *run, const tess_vector *b)
{
    const tess_solver *s = run->s;
    tess_solve_result *r = run->result;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(verify_x(run, run->x, &run->now)); /* ||b|| comes with it */
    r->rhs_norm = run->now.rhs_norm;
    r->tolerance = least_tolerance(&s->options, &run->now);
    if (r->rhs_norm == 0.0) {
        TESS_TRY(s->ctx->backend->zero(s->ctx, run->x, (size_t)b->n * sizeof(double)));
        TESS_TRY(verify_x(run, run->x, &run->now));
    }
    r->estimated_residual_norm = run->now.norm;
    if (s->history_capacity > 0) {
        s->host_history[0] = run->now.norm;
        r->history_length = 1;
        TESS_TRY(s->ctx->backend->upload(s->ctx, s->history, s->host_history, sizeof(double)));
    }
    run->low_precision = working_precision(s) != TESS_PRECISION_FP64;
    run->began_low = run->low_precision;
    run->low_residuals = run->low_precision && s->method->low_residual;
    run->norm = run->now.norm;
    run->guard = s->method->is_fixed && s->method->is_fixed(s) ? TESS_GUARD_REPORT : s->options.guard;
cleanup:
    return status;
}

/* ---- one cycle ---- */

/* Whether the input of the preconditioner must be within FP32's range. */
static bool has_fp32_precond(const tess_solver *s)
{
    const tess_precond *m = s->krylov.precond;

    return m && m->role.given && m->role.arithmetic == TESS_ARITHMETIC_FP32;
}

/* Scales the residual if its norm requires it; exact, except for entries that vanish beside the norm. Methods with
   vectors of their own, perhaps in low precision, always get it near 1, and so do methods with a preconditioner in
   FP32. */
static tess_status scale_residual(solve_run *run)
{
    tess_krylov *k = &run->s->krylov;
    tess_fused scale = {.op = TESS_FUSED_SCALE, .n = k->n, .x = {.data = k->r}, .result = k->r};
    int exponent = 0;

    (void)frexp(run->norm, &exponent);
    run->exponent = 0;
    if (!run->s->method->run && k->vectors == TESS_PRECISION_FP64 && !has_fp32_precond(run->s) &&
        abs(exponent) <= UNSCALED_EXPONENT) {
        return TESS_SUCCESS;
    }
    run->exponent = exponent > MAX_EXPONENT ? MAX_EXPONENT : exponent < -MAX_EXPONENT ? -MAX_EXPONENT : exponent;
    scale.a = ldexp(1.0, -run->exponent);
    return k->ctx->backend->fused(k->ctx, &scale);
}

static double low_precision_reduction(const tess_solver *s)
{
    /* for methods without vectors in a precision of their own */
    const bool negligible =
        !s->method->working_precision && tess_matrix_bounded_loss(solver_matrix(s)) <= NEGLIGIBLE_LOSS;
    double roundoff = tess_precision_unit_roundoff(working_precision(s));

    if (negligible) { return 0.0; }
    return fmin(fmax(REDUCTION_ROUNDOFFS * roundoff, LARGEST_REDUCTION), SMALLEST_REDUCTION);
}

/* Whether a cycle that stalls could go on otherwise: without an extension, or with a preconditioner in a higher
   precision. */
static bool has_another_way(const tess_solver *s)
{
    return is_extended(s) || tess_precond_can_widen(s->own_precond);
}

/* The loop's stall limit; 0: no limit, if no product is changed or there are no others to continue with. */
static uint32_t watch_of(const solve_run *run, double norm)
{
    const int64_t passes = STALL_PASSES * run->s->original->nrows,
                  share = run->s->options.max_iterations / STALL_SHARES;
    int64_t stall_limit = passes < MAX_STALL_LIMIT ? passes : (int64_t)MAX_STALL_LIMIT;

    if (run->may_stall || run->guard != TESS_GUARD_REPAIR || !has_another_way(run->s)) { return 0; }
    stall_limit = share < stall_limit ? share : stall_limit;
    if (!is_extended(run->s)) {
        stall_limit = MIN_STALL_LIMIT;
    } /* multigrid halves residuals within a few iterations */
    stall_limit = stall_limit > MIN_STALL_LIMIT ? stall_limit : (int64_t)MIN_STALL_LIMIT;
    return stall_watch((uint32_t)stall_limit, 0, (uint32_t)tess_leading_exponent(norm));
}

static tess_status start_cycle(solve_run *run)
{
    tess_solver *s = run->s;
    tess_krylov *k = &s->krylov;
    const tess_solve_result *r = run->result;
    double goal = STOP_SHARE * r->tolerance, largest = fmax(r->rhs_norm, run->norm);
    tess_loop_state state = {.phase = TESS_LOOP_RUNNING,
                             .iteration = r->iterations,
                             .max_iterations = s->options.max_iterations,
                             .history = s->history,
                             .history_capacity = s->history_capacity,
                             .numbers = k->numbers};
    tess_status status = TESS_SUCCESS;

    if (run->low_precision && run->guard == TESS_GUARD_REPAIR) {
        goal = fmax(goal, low_precision_reduction(s) * run->norm);
    }
    run->goal = goal;
    TESS_TRY(solver_pause_clock(s));
    TESS_TRY(scale_residual(run));
    state.scale = ldexp(1.0, run->exponent);
    state.residual_norm = ldexp(run->norm, -run->exponent);
    state.tolerance = run->guard == TESS_GUARD_REPORT && s->method->restarts_judge ? 0.0 : ldexp(goal, -run->exponent);
    state.divergence_limit = s->options.divergence_tolerance * ldexp(largest, -run->exponent);
    state.watch = watch_of(run, state.residual_norm);
    k->attempt = run->fruitless;
    k->cycles += 1;
    k->iterated = 0;
    run->begin = state;
    if (s->method->run) { return TESS_SUCCESS; }
    TESS_TRY(s->ctx->backend->upload(s->ctx, k->state, &state, sizeof state));
    /* A single kernel writes all of d. */
    if (!k->single) { TESS_TRY(s->ctx->backend->zero(s->ctx, k->d, (size_t)k->n * sizeof(double))); }
    if (k->extension) { TESS_TRY(k->extension->start_cycle(s, r->rhs_norm, run->norm, run->exponent)); }
    status = s->method->start(k);
cleanup:
    return status;
}

static tess_status run_loop(solve_run *run, tess_loop_state *end)
{
    tess_solver *s = run->s;
    tess_solve_result *r = run->result;
    tess_loop loop = {.body = s->method->iterate,
                      .solver = &s->krylov,
                      .engine = s->engine,
                      .state = s->krylov.state,
                      .history = s->history,
                      .host_history = s->host_history,
                      .history_capacity = s->history_capacity,
                      .monitor = s->options.monitor,
                      .monitor_user = s->options.monitor_user,
                      .start_seconds = run->start,
                      .whole = s->krylov.single ? &single_kernel_ops_of(s->ctx)->loop : NULL,
                      .graph_slot = &s->graph,
                      .result = run->begin};
    tess_status status = TESS_SUCCESS;

    s->loop_x = run->x;
    s->loop_exponent = run->exponent;
    status = s->method->run ? s->method->run(s, &loop) : s->ctx->backend->run_loop(s->ctx, &loop);
    s->loop_x = NULL;
    if (status == TESS_SUCCESS && s->method->finish) { status = s->method->finish(&s->krylov); }
    *end = loop.result;
    r->iterations = end->iteration;
    r->estimated_residual_norm = end->scale * end->residual_norm;
    r->history_length = end->iteration + 1 < s->history_capacity ? end->iteration + 1 : s->history_capacity;
    return status;
}

/* Whether x + d replaces x also if its residual is larger: if other cycles go on from there, or if the caller wants the
   method's own last iterate (guard `report`, and runs of fixed length). */
static bool takes_worse(const solve_run *run, tess_reason reason)
{
    if (run->low_residuals) { return true; }
    return run->guard == TESS_GUARD_REPORT &&
           (reason == TESS_REASON_ITERATIONS || reason == TESS_REASON_CANCELLED || reason == TESS_REASON_RTOL);
}

/* x + d is judged before it replaces x: the better of the two is kept, except as above. */
static tess_status judge_cycle(solve_run *run, tess_reason reason, bool *progress)
{
    tess_solver *s = run->s;
    tess_krylov *k = &s->krylov;
    const tess_backend *backend = s->ctx->backend;
    size_t bytes = (size_t)k->n * sizeof(double);
    tess_fused add = {.op = TESS_FUSED_AXPBY,
                      .n = k->n,
                      .x = {.data = run->x},
                      .y = {.data = k->d},
                      .result = s->candidate,
                      .a = 1.0,
                      .b = ldexp(1.0, run->exponent)};
    const double asked = fmax(run->now.norm - run->goal, 0.0);
    true_residual next;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(backend->fused(s->ctx, &add));
    s->iterated = true;
    TESS_TRY(verify_x(run, s->candidate, &next));
    /* A cycle without iterations is none, also where its goal, which the norm alone meets, asks nothing of it. */
    *progress = run->result->iterations > run->begin.iteration &&
                next.norm <= (reason == TESS_REASON_RUNNING ? RESTART_FACTOR * run->now.norm
                                                            : run->now.norm - PROGRESS_SHARE * asked);
    if (is_finite(next.norm) && (next.norm <= run->now.norm || takes_worse(run, reason))) {
        run->now = next;
        TESS_TRY(backend->copy(s->ctx, run->x, s->candidate, bytes));
        status = keep_best(run);
    } else {
        status = verify_x(run, run->x, &run->now); /* restores the residual of x */
    }
    run->norm = run->now.norm;
cleanup:
    return status;
}

/* ---- between cycles ---- */

static tess_status go_on_in_fp64(solve_run *run)
{
    tess_solver *s = run->s;

    run->low_precision = false;
    run->low_residuals = false;
    run->result->storage.precision = TESS_PRECISION_FP64;
    run->result->storage.exact = 1;
    s->krylov.matrix = s->original;
    drop_graph(s);
    tess_log(s->ctx, TESS_LOG_INFO, "the solve goes on in fp64 instead of %s after %lld iterations",
             tess_precision_name(working_precision(s)), (long long)run->result->iterations);
    return s->method->escalate ? s->method->escalate(s) : TESS_SUCCESS;
}

static tess_status escalate(solve_run *run)
{
    tess_solver *s = run->s;
    bool widened = false;
    tess_status status = TESS_SUCCESS;

    run->result->escalated = 1;
    if (s->method->widen) { TESS_TRY(s->method->widen(s, &widened)); }
    if (!widened) { return go_on_in_fp64(run); }
    drop_graph(s);
    run->low_precision = s->method->working_precision(s) != TESS_PRECISION_FP64;
cleanup:
    return status;
}

/* Between cycles with residuals in low precision: starts the next one, or ends them. */
static tess_status replace_low_residual(solve_run *run, tess_reason reason, bool progress)
{
    const tess_solve_options *o = &run->s->options;
    const bool stuck = reason == TESS_REASON_NAN_OR_INF || reason == TESS_REASON_BREAKDOWN ||
                       (o->gmres.switch_at == 0 && !progress) || run->result->iterations == run->begin.iteration;
    tess_status status = TESS_SUCCESS;

    if (stuck || (o->gmres.switch_at > 0 && run->result->iterations >= o->gmres.switch_at)) {
        return go_on_in_fp64(run);
    }
    TESS_TRY(run->s->method->low_residual(run->s, run->b, run->x, &run->norm));
    if (run->norm == 0.0 || !is_finite(run->norm)) {
        TESS_TRY(verify_x(run, run->x, &run->now));
        run->norm = run->now.norm;
        status = go_on_in_fp64(run);
    }
cleanup:
    return status;
}

/* After a cycle with the guard on `report`: the solve continues only if the basis was full. */
static bool may_restart(const tess_method *method, tess_reason *reason, bool progress)
{
    if (*reason == TESS_REASON_RTOL) {
        *reason = method->restarts_judge ? TESS_REASON_RUNNING : TESS_REASON_FALSE_CONVERGENCE;
    }
    if (*reason == TESS_REASON_RUNNING && !progress) { *reason = TESS_REASON_STAGNATION; }
    return *reason == TESS_REASON_RUNNING;
}

/* Whether another cycle may help; if not, *reason is final. */
static bool may_repair(solve_run *run, tess_reason *reason, bool progress)
{
    if (*reason == TESS_REASON_ITERATIONS || *reason == TESS_REASON_CANCELLED) { return false; }
    if (run->guard == TESS_GUARD_REPORT) { return may_restart(run->s->method, reason, progress); }
    if (progress) {
        run->fruitless = 0;
        return true;
    }
    if (run->low_precision) { return true; }
    run->fruitless += 1;
    if (run->fruitless < FRUITLESS_CYCLES) { return true; }
    if (*reason == TESS_REASON_RUNNING) { *reason = TESS_REASON_STAGNATION; }
    if (*reason == TESS_REASON_RTOL) {
        *reason = run->now.norm <= STAGNATION_FACTOR * run->now.rounding ? TESS_REASON_STAGNATION
                                                                         : TESS_REASON_FALSE_CONVERGENCE;
    }
    return false;
}

/* A cycle with an extension was misled if it made no progress, stalled, or should have been the last. If one stalled
   with no product changed, the matrix is the cause, and later cycles have no stall limit. */
static tess_status find_misled(solve_run *run, tess_reason reason, bool progress, bool *misled)
{
    const bool last = run->goal <= STOP_SHARE * run->result->tolerance;
    tess_status status = TESS_SUCCESS;

    *misled = run->guard == TESS_GUARD_REPAIR && is_extended(run->s) && (last || !progress) &&
              reason != TESS_REASON_ITERATIONS && reason != TESS_REASON_CANCELLED;
    if (run->begin.watch != 0 && reason == TESS_REASON_STAGNATION && is_extended(run->s)) {
        TESS_TRY(run->s->krylov.extension->acts(run->s, misled));
        run->may_stall = !*misled;
    }
cleanup:
    return status;
}

/* CG needs a positive definite preconditioner; some can be changed to be that. Some can go up to a higher precision,
   after such a failure, NaN, a cycle without progress, or one that stalled. */
static tess_status mend_precond(solve_run *run, tess_reason reason, bool progress, bool *mended)
{
    tess_precond *m = run->s->own_precond;
    const bool indefinite = reason == TESS_REASON_INDEFINITE_PRECOND;
    bool widened = false;
    tess_status status = TESS_SUCCESS;

    *mended = false;
    if (run->guard != TESS_GUARD_REPAIR || reason == TESS_REASON_ITERATIONS || reason == TESS_REASON_CANCELLED) {
        return TESS_SUCCESS;
    }
    if (indefinite || !progress || reason == TESS_REASON_STAGNATION) { TESS_TRY(tess_precond_widen(m, &widened)); }
    if (widened) { run->result->escalated = 1; }
    if (indefinite && !widened) { TESS_TRY(tess_precond_mend(m, mended)); }
    *mended = *mended || widened;
cleanup:
    return status;
}

/* After a cycle that has not met the tolerance: whether another follows; if not, *reason is final. */
static tess_status go_on(solve_run *run, const tess_loop_state *end, bool progress, tess_reason *reason, bool *goes_on)
{
    const tess_solver *s = run->s;
    const bool repair = run->guard == TESS_GUARD_REPAIR;
    bool misled = false, mended = false;
    tess_status status = TESS_SUCCESS;

    *goes_on = false;
    if (end->cancel && repair) {
        *reason = TESS_REASON_CANCELLED;
    }                           /* a request to cancel holds, whatever else ended the loop */
    if (run->now.norm == 0.0) { /* the residual is zero, but without a proof */
        *reason = TESS_REASON_STAGNATION;
        return TESS_SUCCESS;
    }
    if (run->result->iterations >= s->options.max_iterations && repair) {
        /* The estimate met the tolerance in the last iteration, and none is left for a repair. */
        if (*reason == TESS_REASON_RTOL) { *reason = TESS_REASON_ITERATIONS; }
        return TESS_SUCCESS;
    }
    if (run->low_residuals && *reason != TESS_REASON_ITERATIONS && *reason != TESS_REASON_CANCELLED) {
        *goes_on = true;
        return replace_low_residual(run, *reason, progress);
    }
    TESS_TRY(find_misled(run, *reason, progress, &misled));
    if (misled) { TESS_TRY(s->krylov.extension->stop(run->s)); }
    TESS_TRY(mend_precond(run, *reason, progress, &mended));
    if (mended) { drop_graph(run->s); }
    /* The next cycle differs: without the extension, with another preconditioner, or without a stall limit. */
    progress = progress || misled || mended || (run->begin.watch != 0 && *reason == TESS_REASON_STAGNATION);
    if (!may_repair(run, reason, progress)) { return TESS_SUCCESS; }
    if (repair && !progress && run->low_precision) { TESS_TRY(escalate(run)); }
    *goes_on = s->setup_reason == TESS_REASON_RUNNING;
    if (!*goes_on) { *reason = s->setup_reason; } /* the problem of the preconditioner does not exist in FP64 */
    if (!*goes_on || *reason == TESS_REASON_RUNNING) { return TESS_SUCCESS; }
    run->result->refinements += 1;
    tess_log(s->ctx, TESS_LOG_DEBUG, "residual replaced after %lld iterations (%s): true residual %.3e, estimate %.3e",
             (long long)run->result->iterations, tess_reason_name(*reason), run->now.norm,
             run->result->estimated_residual_norm);
cleanup:
    return status;
}

static tess_status run_cycles(solve_run *run, tess_reason *reason)
{
    tess_solver *s = run->s;
    bool goes_on = true;
    tess_status status = TESS_SUCCESS;

    s->krylov.matrix = solver_matrix(s);
    if (s->krylov.extension) { TESS_TRY(s->krylov.extension->start(s)); }
    run->best = INFINITY;
    TESS_TRY(keep_best(run));
    *reason = TESS_REASON_ITERATIONS;
    while (goes_on && run->result->iterations < s->options.max_iterations) {
        tess_loop_state end;
        bool progress = false;
        double ended = 0.0;

        TESS_TRY(start_cycle(run));
        TESS_TRY(run_loop(run, &end));
        ended = tess_wall_seconds();
        *reason = (tess_reason)end.reason;
        TESS_TRY(judge_cycle(run, *reason, &progress));
        run->refinement_seconds += tess_wall_seconds() - ended;
        if (meets_tolerance(run->result, &run->now)) { break; }
        TESS_TRY(go_on(run, &end, progress, reason, &goes_on));
    }
    if (!meets_tolerance(run->result, &run->now)) { TESS_TRY(return_best(run)); }
cleanup:
    /* Discards recordings made for other arrays. */
    if (run->low_precision != run->began_low || run->result->escalated) { drop_graph(s); }
    return status;
}

/* ---- the whole ---- */

/* Some processors make NaN with a sign, which would be printed. */
static double unsigned_nan(double v)
{
    return isnan(v) ? (double)NAN : v;
}

void finish_result(const tess_solver *s, const true_residual *now, tess_reason reason, double start,
                   tess_solve_result *r)
{
    double scale = r->rhs_norm > 0.0 ? r->rhs_norm : 1.0;

    r->residual_norm = unsigned_nan(now->norm);
    r->residual_bound = unsigned_nan(now->bound);
    r->relative_residual = unsigned_nan(now->norm / scale);
    r->estimated_residual_norm = unsigned_nan(r->estimated_residual_norm);
    r->estimated_relative_residual = unsigned_nan(r->estimated_residual_norm / scale);
    r->converged = meets_tolerance(r, now);
    r->verified = r->converged && now->bounded;
    r->reason = reason;
    if (!r->converged && reason > 0) { r->reason = TESS_REASON_FALSE_CONVERGENCE; } /* no success without a proof */
    if (r->converged && r->tolerance == 0.0 && r->iterations > 0) {
        r->reason = TESS_REASON_HAPPY_BREAKDOWN;
    } else if (r->converged) {
        r->reason = r->tolerance > s->options.rtol * r->rhs_norm ? TESS_REASON_ATOL : TESS_REASON_RTOL;
    }
    if (s->method && s->method->report) { s->method->report(s, r); }
    r->peak_device_bytes = s->ctx->peak_bytes;
    r->solve_seconds = tess_wall_seconds() - start;
}

static tess_status solve(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result)
{
    solve_run run = {.s = s, .result = result, .start = tess_wall_seconds()};
    tess_reason reason = TESS_REASON_RUNNING;
    bool cycled = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_require(s->ctx, b, s->original->nrows, "b"));
    TESS_TRY(tess_vector_require(s->ctx, x, s->original->ncols, "x"));
    if (b->n > 0 && b->data == x->data) {
        return tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "pass two vectors", "b and x of a solve are the same array");
    }
    if (s->driver) { return s->driver->solve(s, b, x, result); }
    if (s->transform) { return solve_transformed(s, b, x, result); }
    if (s->method->solve) { return s->method->solve(s, b, x, result); }
    run.b = b->data;
    run.x = x->data;
    TESS_TRY(solver_start_clock(s));
    TESS_TRY(renew_values(s));
    describe_solver(s, result);
    TESS_TRY(start_run(&run, b));
    if (!is_finite(run.now.norm) || !is_finite(result->rhs_norm)) {
        reason = TESS_REASON_NAN_OR_INF;
    } else if (run.now.norm == 0.0 && !meets_tolerance(result, &run.now)) {
        reason = TESS_REASON_STAGNATION;
    } else if (!meets_tolerance(result, &run.now)) {
        reason = s->asymmetric ? TESS_REASON_NONSYMMETRIC : s->setup_reason;
        if (reason != TESS_REASON_RUNNING) {
            s->ctx->error = s->asymmetric ? s->asymmetric_error : s->setup_error;
        } else {
            cycled = true;
            TESS_TRY(run_cycles(&run, &reason));
        }
    }
    TESS_TRY(tess_vector_refresh_shadow(x));
    TESS_TRY(s->ctx->backend->synchronize(s->ctx));
    tess_papers_result_init(&s->papers_result);
    if (s->krylov.extension && cycled) { TESS_TRY(s->krylov.extension->report(s)); } /* else it has counted nothing */
    finish_result(s, &run.now, reason, run.start, result);
    status = solver_stop_clock(s, run.refinement_seconds, result);
cleanup:
    s->ctx->clock = NULL;
    return status;
}

tess_status tess_solver_solve(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result)
{
    TESS_REQUIRE(NULL, s);
    TESS_REQUIRE(s->ctx, result);
    tess_solve_result full;
    solve_stop stop;
    double deadline = 0.0;
    tess_status status = result_require_size(s->ctx, "tess_solve_result", result->size, sizeof full);

    if (status != TESS_SUCCESS) { return status; }
    tess_solve_result_init(&full);
    result_return(&full, result); /* a call that fails leaves nothing of the one before */
    s->iterated = false;
    stop_begin(&stop, &s->options);
    deadline = tess_deadline_begin(s->ctx, s->options.time_limit);
    status = solve(s, b, x, &full);
    tess_deadline_restore(s->ctx, deadline);
    stop_end(&stop, &s->options);
    full.reason = stop_reason(&stop, full.reason);
    if (status == TESS_SUCCESS) { result_return(&full, result); }
    return status;
}
