/* SPDX-License-Identifier: Apache-2.0 */
/* One cycle of a Krylov method: how far it aims, its loop, and what the true residual says of it. */
#include <stdlib.h>

#include <tessera/two_word.h>

#include "device/iteration_end.h"
#include "solver/guard_run.h"
#include "solver/single_kernel/single_kernel.h"

/* A cycle on a matrix of lower precision aims at a reduction of at most this many unit roundoffs of that precision, and
   at most LARGEST_REDUCTION: beyond it the estimate is only about the perturbed matrix. It always aims at some
   progress. */
#define REDUCTION_ROUNDOFFS 8.0
#define LARGEST_REDUCTION 0x1p-17
#define SMALLEST_REDUCTION (0.5 * PROGRESS_SHARE)
/* A cycle with an extension, or on a matrix without all its entries, has stalled if its residual norm has not fallen
   below another power of two for so many iterations: four times the rows, up to this many or a share of the solve's
   limit. CG without an extension on 32 symmetric matrices of 48 to 17,361 rows, to 1e-10 in 10,000 iterations, took up
   to 3.1 times the rows to halve it, and up to 1,023 iterations, except 2,800 on ex9 and ex33. */
enum { STALL_PASSES = 4, MIN_STALL_LIMIT = 100, MAX_STALL_LIMIT = 2000, STALL_SHARES = 4 };
_Static_assert((int)MAX_STALL_LIMIT <= (int)WATCH_COUNT, "it has so many bits");
/* Values that storage changes by no more than this are as good as in FP64: about the loss of a sum of a few products.
 */
#define NEGLIGIBLE_LOSS 0x1p-49

/* Whether the input of the preconditioner must be within FP32's range. */
static bool has_fp32_precond(const method_solver *s)
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

static double low_precision_reduction(const method_solver *s)
{
    /* for methods without vectors in a precision of their own */
    const bool negligible =
        !s->method->working_precision && tess_matrix_bounded_loss(solver_matrix(s)) <= NEGLIGIBLE_LOSS;
    double roundoff = tess_precision_unit_roundoff(guard_working_precision(s));

    if (negligible) { return 0.0; }
    return fmin(fmax(REDUCTION_ROUNDOFFS * roundoff, LARGEST_REDUCTION), SMALLEST_REDUCTION);
}

/* Whether a cycle that stalls could go on otherwise: without an extension, with entries that are left out, or with a
   preconditioner in a higher precision or of newer values. */
static bool has_another_way(const solve_run *run)
{
    const method_solver *s = run->s;

    return guard_leaves_out(run) || guard_is_extended(s) || tess_precond_can_widen(s->own_precond) ||
           guard_has_old_precond(s);
}

/* The loop's stall limit; 0: no limit, if no product is changed or there are no others to continue with. */
static uint32_t watch_of(const solve_run *run, double norm)
{
    const int64_t passes = STALL_PASSES * run->s->original->nrows,
                  share = run->s->options->max_iterations / STALL_SHARES;
    int64_t stall_limit = passes < MAX_STALL_LIMIT ? passes : (int64_t)MAX_STALL_LIMIT;

    if (run->may_stall || run->guard != TESS_GUARD_REPAIR || !has_another_way(run)) { return 0; }
    stall_limit = share < stall_limit ? share : stall_limit;
    if (!guard_leaves_out(run) && !guard_is_extended(run->s)) {
        stall_limit = MIN_STALL_LIMIT;
    } /* multigrid halves residuals within a few iterations */
    stall_limit = stall_limit > MIN_STALL_LIMIT ? stall_limit : (int64_t)MIN_STALL_LIMIT;
    return stall_watch((uint32_t)stall_limit, 0, (uint32_t)tess_leading_exponent(norm));
}

/* The given norm at which the deciding norms should meet their tolerances: they fall alike, as far as is known. */
static double given_tolerance(const solve_run *run)
{
    const tess_solve_result *r = run->result;
    const double deciding = deciding_norm(r, &run->now);

    if (r->stop_norm == TESS_STOP_NORM_GIVEN || deciding == run->now.norm) { return r->tolerance; }
    return r->tolerance * (run->now.norm / deciding) * (r->iterations > 0 ? SECOND_SHARE : 1.0) *
           pow(HIDDEN_SHARE, run->fruitless);
}

tess_status guard_aim(solve_run *run)
{
    method_solver *s = run->s;
    tess_krylov *k = &s->krylov;
    const tess_solve_result *r = run->result;
    double goal = STOP_SHARE * given_tolerance(run), largest = fmax(r->rhs_norm, run->norm);
    tess_loop_state state = {.phase = TESS_LOOP_RUNNING,
                             .iteration = r->iterations,
                             .max_iterations = s->options->max_iterations,
                             .history = s->history,
                             .history_capacity = s->head->history_capacity,
                             .numbers = k->numbers};
    tess_status status = TESS_SUCCESS;

    if (run->low_precision && run->guard == TESS_GUARD_REPAIR) {
        goal = fmax(goal, low_precision_reduction(s) * run->norm);
    }
    goal = fmax(goal, guard_floor_goal(run));
    run->goal = goal;
    TESS_TRY(solver_pause_clock(s));
    if (run->floor > 0.0) { TESS_TRY(guard_project(run)); }
    TESS_TRY(scale_residual(run));
    state.scale = ldexp(1.0, run->exponent);
    state.residual_norm = ldexp(run->norm, -run->exponent);
    state.tolerance = run->guard == TESS_GUARD_REPORT && s->method->restarts_judge ? 0.0 : ldexp(goal, -run->exponent);
    state.divergence_limit = s->options->divergence_tolerance * ldexp(largest, -run->exponent);
    state.watch = watch_of(run, state.residual_norm);
    run->precond_changes = tess_precond_changes(s->own_precond);
    k->attempt = run->fruitless;
    k->cycles += 1;
    k->iterated = 0;
    run->begin = state;
cleanup:
    return status;
}

tess_status guard_start_cycle(solve_run *run)
{
    method_solver *s = run->s;
    tess_krylov *k = &s->krylov;
    const tess_solve_result *r = run->result;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(guard_aim(run));
    if (s->method->run) { return TESS_SUCCESS; }
    TESS_TRY(s->ctx->backend->upload(s->ctx, k->state, &run->begin, sizeof run->begin));
    /* A single kernel writes all of d. */
    if (!k->single) { TESS_TRY(s->ctx->backend->zero(s->ctx, k->d, (size_t)k->n * sizeof(double))); }
    if (k->extension) { TESS_TRY(k->extension->start_cycle(s, r->rhs_norm, run->norm, run->exponent)); }
    status = s->method->start(k);
cleanup:
    return status;
}

void guard_note_end(solve_run *run, const tess_loop_state *end)
{
    const int64_t capacity = run->s->head->history_capacity;
    tess_solve_result *r = run->result;

    r->iterations = end->iteration;
    r->estimated_residual_norm = end->scale * end->residual_norm;
    r->history_length = end->iteration + 1 < capacity ? end->iteration + 1 : capacity;
}

tess_status guard_run_loop(solve_run *run, tess_loop_state *end)
{
    method_solver *s = run->s;
    tess_loop loop = {.body = s->method->iterate,
                      .solver = &s->krylov,
                      .engine = (int)s->engine,
                      .state = s->krylov.state,
                      .history = s->history,
                      .host_history = s->head->host_history,
                      .history_capacity = s->head->history_capacity,
                      .monitor = s->options->monitor,
                      .monitor_user = s->options->monitor_user,
                      .watch = s->watch,
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
    guard_note_end(run, end);
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

/* x + d is judged before it replaces x: x stays if it is better, and the initial guess unless x + d is proved to be no
   worse, except as above. */
tess_status guard_judge_cycle(solve_run *run, tess_reason reason, bool *progress)
{
    method_solver *s = run->s;
    tess_krylov *k = &s->krylov;
    const tess_backend *backend = s->ctx->backend;
    /* A kernel starts sooner than a copy. */
    const tess_fused take = {
        .op = TESS_FUSED_SCALE, .n = k->n, .x = {.data = s->candidate}, .result = run->x, .a = 1.0};
    const double before = deciding_norm(run->result, &run->now);
    const double asked = fmax(before - run->goal * (before / run->now.norm), 0.0);
    true_residual next;
    double after = 0.0;
    bool taken = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(guard_form_candidate(run));
    s->head->iterated = true;
    TESS_TRY(guard_verify(run, s->candidate, &next));
    after = deciding_norm(run->result, &next);
    taken = is_finite(next.norm) && (may_replace(run->result, &next, &run->now, &run->first) ||
                                     meets_tolerance(run->result, &next) || takes_worse(run, reason));
    /* A cycle without iterations is none, also where its goal, which the norm alone meets, asks nothing of it. */
    *progress = taken && run->result->iterations > run->begin.iteration &&
                after <= (reason == TESS_REASON_RUNNING ? RESTART_FACTOR * before : before - PROGRESS_SHARE * asked);
    run->unproved = !taken && after <= before;
    if (taken) {
        run->now = next;
        TESS_TRY(backend->fused(s->ctx, &take));
        status = guard_keep_best(run);
    } else {
        status = guard_verify(run, run->x, &run->now); /* restores the residual of x */
    }
    run->norm = run->now.norm;
cleanup:
    return status;
}
