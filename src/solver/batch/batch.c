/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches: many small systems of one pattern. Here the caller's arrays and options are checked, and systems are handed
 * to the device in slices; batch_body.h solves one of them.
 */
#include "solver/batch/batch.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tessera/batch.h>
#include <tessera/names.h>
#include <tessera/options.h>

#include "base/deadline.h"
#include "base/options.h"
#include "solver/batch/batch_pattern.h"
#include "solver/solve_options.h"
#include "solver/verify.h"

/* Bytes of the caller's arrays that a GPU holds at a time, where they are in the host's memory. */
enum { SLICE_BYTES = 1 << 28 };

void tess_batch_init_sized(tess_batch *batch, size_t size)
{
    result_init(batch, size);
}

/* ---- what a batch may be ---- */

/* The options that it takes, and those that tell only how a report is made. */
static const char *const taken[] = {"solver",         "precond",    "rtol",      "atol", "divergence-tolerance",
                                    "max-iterations", "time-limit", "stop-norm", NULL};

static bool is_taken(const char *name, const tess_solve_options *o)
{
    if (strcmp(name, "restart") == 0) { return o->solver == TESS_SOLVER_AUTO || o->solver == TESS_SOLVER_GMRES; }
    for (int i = 0; taken[i]; i++) {
        if (strcmp(name, taken[i]) == 0) { return true; }
    }
    return false;
}

/* In the order of batch_method, and of batch_precond: the kinds of a batch. */
static const tess_solver_kind solvers[] = {TESS_SOLVER_AUTO, TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES};
static const tess_precond_kind preconds[] = {TESS_PRECOND_AUTO, TESS_PRECOND_NONE, TESS_PRECOND_JACOBI,
                                             TESS_PRECOND_ILU0};
enum { SOLVERS = sizeof solvers / sizeof *solvers, PRECONDS = sizeof preconds / sizeof *preconds };

/* SOLVERS or PRECONDS: none of them. */
static int method_of(tess_solver_kind kind)
{
    int i = 0;

    while (i < SOLVERS && solvers[i] != kind) {
        i++;
    }
    return i;
}

static int precond_of(tess_precond_kind kind)
{
    int i = 0;

    while (i < PRECONDS && preconds[i] != kind) {
        i++;
    }
    return i;
}

static tess_status refuse_option(tess_context *ctx, const char *option)
{
    return tess_fail(ctx, TESS_UNSUPPORTED,
                     "a batch takes solver auto, cg, bicgstab, gmres; precond none, jacobi, ilu0; rtol, atol, "
                     "divergence-tolerance, max-iterations, time-limit, stop-norm; restart where GMRES may run",
                     "a batch of systems does not take %s", option);
}

static tess_status check_options(tess_context *ctx, const tess_solve_options *o)
{
    const tess_option *option = NULL;
    char what[128];

    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        if (is_taken(option->name, o) || !tess_options_is_set(o, option->name)) { continue; }
        snprintf(what, sizeof what, "the option %s", option->name);
        return refuse_option(ctx, what);
    }
    if (o->monitor) { return refuse_option(ctx, "a monitor"); }
    if (method_of(o->solver) == SOLVERS) {
        snprintf(what, sizeof what, "solver %s", tess_solver_kind_name(o->solver));
        return refuse_option(ctx, what);
    }
    if (precond_of(o->precond.kind) == PRECONDS) {
        snprintf(what, sizeof what, "precond %s", tess_precond_kind_name(o->precond.kind));
        return refuse_option(ctx, what);
    }
    if (o->gmres.restart < 1) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give 1 or more; the default is 50",
                         "GMRES cannot restart after %s", tess_count(o->gmres.restart, "vector").text);
    }
    return o->stop_norm == TESS_STOP_NORM_PRECONDITIONED ? refuse_option(ctx, "stop-norm preconditioned")
                                                         : TESS_SUCCESS;
}

static bool are_bits(int bits)
{
    return bits == 32 || bits == 64;
}

static bool is_elsewhere(const tess_context *ctx, tess_memory where)
{
    return where == TESS_MEMORY_DEVICE && ctx->device == TESS_DEVICE_CPU;
}

static tess_status check_arrays(tess_context *ctx, const tess_batch *a)
{
    const bool values = a->systems > 0 && a->n > 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(options_require_name(ctx, "tess_memory", "tess_batch.where", (int)a->where));
    TESS_TRY(options_require_name(ctx, "tess_memory", "tess_batch.pattern_where", (int)a->pattern_where));
    if (is_elsewhere(ctx, a->where) || is_elsewhere(ctx, a->pattern_where)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass TESS_MEMORY_HOST, or create the context on a GPU",
                         "arrays of a batch are said to be in device memory, but the context is on the CPU");
    }
    if (a->systems < 0 || a->n < 0 || a->nnz < 0 || a->n >= INT32_MAX || a->nnz > INT32_MAX) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "unknowns and entries of each system number 0 to 2^31 - 2",
                         "a batch cannot have the size %lld, each of %s and %s", (long long)a->systems,
                         tess_count(a->n, "row").text, tess_count(a->nnz, "nonzero").text);
    }
    if (!a->row_ptr || (a->nnz > 0 && !a->col_ind) || !are_bits(a->row_ptr_bits) || !are_bits(a->col_ind_bits) ||
        (values && (!a->b || !a->x || (a->nnz > 0 && !a->val)))) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT,
                         "set row_ptr, col_ind, their bits (32 or 64), val, b and x of tess_batch",
                         "the arrays of a batch are incomplete");
    }
    if (values && a->b == a->x) {
        status = tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass two arrays", "b and x of a batch are the same array");
    }
cleanup:
    return status;
}

/* ---- on the device ---- */

/* Arrays of a call on a GPU; on a host the caller's are used as they are. */
typedef struct batch_call {
    tess_context *ctx;
    const tess_batch *a;
    batch_task task;
    batch_outcome *outcomes; /* of all systems */
    batch_pattern pattern;
    double *val, *b, *x; /* of a slice, where the caller's are in the host's memory; NULL: none */
    int64_t slice;       /* systems of a slice */
} batch_call;

static bool copies_values(const batch_call *c)
{
    return c->ctx->device == TESS_DEVICE_GPU && c->a->where == TESS_MEMORY_HOST;
}

static void choose_slice(batch_call *c)
{
    const tess_context *ctx = c->ctx;
    const batch_ops *ops = batch_ops_of(ctx);
    const bool watched = ops->watched && (ctx->deadline != 0.0 || ctx->interrupt || ctx->check);
    const int64_t bytes = (c->a->nnz + 2 * c->a->n) * (int64_t)sizeof(double);
    int64_t most = watched ? ops->watched(ctx) : c->a->systems;

    if (copies_values(c) && most > SLICE_BYTES / bytes) { most = SLICE_BYTES / bytes; }
    c->slice = c->a->systems < most ? c->a->systems : most > 0 ? most : 1;
}

static tess_status place_values(batch_call *c)
{
    tess_status status = TESS_SUCCESS;

    if (!copies_values(c)) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(c->ctx, c->slice * c->a->nnz, sizeof *c->val, (void **)&c->val));
    TESS_TRY(tess_device_allocate(c->ctx, c->slice * c->a->n, sizeof *c->b, (void **)&c->b));
    status = tess_device_allocate(c->ctx, c->slice * c->a->n, sizeof *c->x, (void **)&c->x);
cleanup:
    return status;
}

static void release_call(const batch_call *c)
{
    tess_context *ctx = c->ctx;

    tess_device_release(ctx, c->val, c->slice * c->a->nnz, sizeof *c->val);
    tess_device_release(ctx, c->b, c->slice * c->a->n, sizeof *c->b);
    tess_device_release(ctx, c->x, c->slice * c->a->n, sizeof *c->x);
    batch_pattern_release(ctx, &c->pattern);
    tess_host_release(ctx, c->outcomes, c->a->systems, sizeof *c->outcomes);
}

/* Outcomes of systems whose solve did not begin. */
static tess_status make_outcomes(tess_context *ctx, int64_t systems, batch_outcome **out)
{
    const double nan = (double)NAN;
    const batch_outcome none = {.rhs_norm = nan, .residual_norm = nan, .residual_bound = nan};
    const tess_status status = tess_host_allocate(ctx, systems, sizeof **out, (void **)out);

    for (int64_t s = 0; status == TESS_SUCCESS && s < systems; s++) {
        (*out)[s] = none;
    }
    return status;
}

/* What a team of GMRES has besides. */
static void add_basis(batch_task *task)
{
    const int64_t most = task->restart;

    task->basis_values = (most + 1) * task->n;
    task->small_values = batch_small_values(most);
}

/* ---- systems that go on with GMRES ---- */

/* With iterations left. */
static bool broke_down(const batch_task *task, const batch_outcome *found)
{
    return found->method == BATCH_BICGSTAB && found->iterations < task->max_iterations &&
           (found->reason == TESS_REASON_BREAKDOWN || found->reason == TESS_REASON_DIVERGENCE);
}

/* Both solves of a system as one. */
static void join_outcomes(const batch_outcome *again, batch_outcome *found)
{
    const batch_outcome before = *found;

    if (again->method == BATCH_CHOSEN) { return; } /* it did not begin */
    *found = *again;
    found->iterations += before.iterations;
    found->refinements += before.refinements + 1;
}

/* Neighbours, from their x. */
static tess_status go_on_with(batch_call *c, batch_task task, int64_t first, int64_t count, batch_outcome *outcomes)
{
    batch_outcome *again = NULL;
    tess_status status = TESS_SUCCESS;

    task.systems = count;
    task.val += first * task.nnz;
    task.b += first * task.n;
    task.x += first * task.n;
    for (int64_t s = 0; s < count; s++) {
        const int64_t left = c->task.max_iterations - outcomes[s].iterations;

        if (left < task.max_iterations) { task.max_iterations = left; }
    }
    TESS_TRY(make_outcomes(c->ctx, count, &again));
    TESS_TRY(batch_ops_of(c->ctx)->solve(c->ctx, &task, again));
    for (int64_t s = 0; s < count; s++) {
        join_outcomes(&again[s], &outcomes[s]);
    }
cleanup:
    tess_host_release(c->ctx, again, count, sizeof *again);
    return status;
}

static bool is_memory(tess_status status)
{
    return status == TESS_OUT_OF_MEMORY || status == TESS_OUT_OF_DEVICE_MEMORY;
}

/* Where the batch chose BiCGSTAB, and it broke down. Without time or memory for a basis, that is the end. */
static tess_status go_on_with_gmres(batch_call *c, const batch_task *slice, batch_outcome *outcomes)
{
    batch_task task = *slice;
    int64_t end = 0;
    tess_status status = TESS_SUCCESS;

    if (slice->method != BATCH_CHOSEN) { return TESS_SUCCESS; }
    task.method = BATCH_GMRES;
    add_basis(&task);
    for (int64_t first = 0; first < slice->systems && !tess_deadline_passed(c->ctx); first = end) {
        end = first;
        while (end < slice->systems && broke_down(slice, &outcomes[end])) {
            end++;
        }
        if (end > first) { status = go_on_with(c, task, first, end - first, outcomes + first); }
        if (is_memory(status)) { return TESS_SUCCESS; }
        if (status != TESS_SUCCESS) { return status; }
        if (end == first) { end++; }
    }
    return TESS_SUCCESS;
}

/* ---- slices ---- */

static tess_status solve_slice(batch_call *c, int64_t first, int64_t count)
{
    const tess_batch *a = c->a;
    const tess_backend *backend = c->ctx->backend;
    const size_t of_val = (size_t)(count * a->nnz) * sizeof(double), of_x = (size_t)(count * a->n) * sizeof(double);
    batch_task task = c->task;
    tess_status status = TESS_SUCCESS;

    task.systems = count;
    task.val = a->val + first * a->nnz;
    task.b = a->b + first * a->n;
    task.x = a->x + first * a->n;
    if (copies_values(c)) {
        if (of_val > 0) { TESS_TRY(backend->upload(c->ctx, c->val, task.val, of_val)); }
        TESS_TRY(backend->upload(c->ctx, c->b, task.b, of_x));
        TESS_TRY(backend->upload(c->ctx, c->x, task.x, of_x));
        task.val = c->val;
        task.b = c->b;
        task.x = c->x;
    }
    TESS_TRY(batch_ops_of(c->ctx)->solve(c->ctx, &task, c->outcomes + first));
    TESS_TRY(go_on_with_gmres(c, &task, c->outcomes + first));
    if (copies_values(c)) { status = backend->download(c->ctx, a->x + first * a->n, c->x, of_x); }
cleanup:
    return status;
}

static tess_status solve_slices(batch_call *c)
{
    tess_status status = TESS_SUCCESS;

    for (int64_t first = 0; first < c->a->systems; first += c->slice) {
        const int64_t left = c->a->systems - first, count = left < c->slice ? left : c->slice;

        if (tess_deadline_passed(c->ctx)) {
            for (int64_t s = first; s < c->a->systems; s++) {
                c->outcomes[s].reason = tess_deadline_reason(c->ctx);
            }
            return TESS_SUCCESS;
        }
        TESS_TRY(solve_slice(c, first, count));
    }
cleanup:
    return status;
}

/* A system without unknowns is solved. */
static void end_empty(const batch_call *c)
{
    for (int64_t s = 0; s < c->a->systems; s++) {
        c->outcomes[s] = (batch_outcome){.reason = TESS_REASON_RTOL, .converged = true, .verified = true};
    }
}

static batch_task task_of(const tess_batch *a, const tess_solve_options *o)
{
    const bool named = o->solver != TESS_SOLVER_AUTO && o->precond.kind == TESS_PRECOND_AUTO;
    const tess_stop_norm norm = verify_stop_norm(o);
    const int64_t most = o->max_iterations < a->n ? o->max_iterations : a->n;
    batch_task task = {.n = (int32_t)a->n,
                       .nnz = (int32_t)a->nnz,
                       .method = (batch_method)method_of(o->solver),
                       .precond = named ? BATCH_PLAIN : (batch_precond)precond_of(o->precond.kind),
                       .restart = (int32_t)(o->gmres.restart < most ? o->gmres.restart : most),
                       .given = norm != TESS_STOP_NORM_ROWS,
                       .rows = norm != TESS_STOP_NORM_GIVEN,
                       .rows_slack = norm == TESS_STOP_NORM_GIVEN ? TESS_ROWS_SLACK : 1.0,
                       .rtol = o->rtol,
                       .atol = o->atol,
                       .divergence_tolerance = o->divergence_tolerance,
                       .max_iterations = o->max_iterations};

    if (task.restart < 1) { task.restart = 1; }
    if (task.precond == BATCH_ILU0) { task.factor_values = a->nnz; }
    if (task.method == BATCH_GMRES) { add_basis(&task); }
    return task;
}

/* Some processors make NaN with a sign, which would be printed. */
static double unsigned_nan(double v)
{
    return isnan(v) ? (double)NAN : v;
}

static void report(const batch_call *c, tess_batch_result *results)
{
    for (int64_t s = 0; s < c->a->systems; s++) {
        const batch_outcome *found = &c->outcomes[s];
        const double scale = found->rhs_norm > 0.0 ? found->rhs_norm : 1.0;

        results[s] = (tess_batch_result){.reason = found->reason,
                                         .solver = solvers[found->method],
                                         .converged = found->converged,
                                         .verified = found->verified,
                                         .iterations = found->iterations,
                                         .refinements = found->refinements,
                                         .rhs_norm = unsigned_nan(found->rhs_norm),
                                         .residual_norm = unsigned_nan(found->residual_norm),
                                         .residual_bound = unsigned_nan(found->residual_bound),
                                         .relative_residual = unsigned_nan(found->residual_norm / scale)};
    }
}

static tess_status run_call(batch_call *c)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(batch_pattern_make(c->ctx, c->a, &c->pattern, &c->task));
    TESS_TRY(make_outcomes(c->ctx, c->a->systems, &c->outcomes));
    if (c->a->n == 0 || c->a->systems == 0) {
        end_empty(c);
        return TESS_SUCCESS;
    }
    choose_slice(c);
    TESS_TRY(place_values(c));
    status = solve_slices(c);
cleanup:
    return status;
}

static tess_status solve_batch(tess_context *ctx, const tess_batch *a, const tess_solve_options *o,
                               tess_batch_result *results)
{
    batch_call call = {.ctx = ctx, .a = a, .task = task_of(a, o)};
    const double deadline = tess_deadline_begin(ctx, o->time_limit);
    const tess_status status = run_call(&call);

    if (status == TESS_SUCCESS) { report(&call, results); }
    release_call(&call);
    tess_deadline_restore(ctx, deadline);
    return status;
}

tess_status tess_batch_solve(tess_context *ctx, const tess_batch *batch, const tess_solve_options *options,
                             tess_batch_result *results)
{
    TESS_REQUIRE(NULL, ctx);
    TESS_REQUIRE(ctx, batch);
    tess_batch a = {.size = sizeof a};
    tess_solve_options o;
    solve_papers papers;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(options_take(ctx, "tess_batch", batch, &a, sizeof a));
    if (a.systems > 0) { TESS_REQUIRE(ctx, results); }
    TESS_TRY(solve_options_take(ctx, options, &o, &papers));
    TESS_TRY(check_options(ctx, &o));
    TESS_TRY(check_arrays(ctx, &a));
    status = solve_batch(ctx, &a, &o, results);
cleanup:
    return status;
}
