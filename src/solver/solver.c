/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions of solvers: what is common to all, and calls of the table of the solver's kind. */
#include "solver/solver.h"

#include <math.h>
#include <string.h>

#include <tessera/names.h>
#include <tessera/options.h>

#include "base/deadline.h"
#include "base/fork.h"
#include "base/options.h"
#include "format/storage_precision.h"
#include "matrix/storage_options.h"
#include "solver/estimate.h"
#include "solver/stop.h"
#include "solver/transform.h"
#include "sweep/sweep.h"

/* ---- set-up ---- */

static bool works_on_host(const tess_precond *given, const tess_solve_options *o)
{
    const tess_precond_ops *ops = given ? given->ops : tess_find_precond(o->precond.kind);

    return ops && ops->on_host;
}

static tess_status check_request(const tess_matrix *a, const tess_precond *m, const tess_solve_options *o)
{
    const tess_method *asked = tess_find_method(o->solver);
    const bool rectangular = asked && asked->rectangular;

    if (a->nrows != a->ncols && !rectangular) {
        return tess_fail(a->ctx, TESS_DIMENSION_MISMATCH, "pass a square matrix, or use --solver lsqr or lsmr",
                         "a solver needs a square matrix, but this one is %lld by %lld", (long long)a->nrows,
                         (long long)a->ncols);
    }
    if (rectangular && wants_transform(o)) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use --precond jacobi, which scales columns",
                         "%s solves the system as it is, without --scale and --reorder",
                         tess_solver_kind_name(o->solver));
    }
    if (wants_accuracy(o) && (m || !a->ops || rectangular)) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "leave the accuracy 0, and set rtol",
                         "a solve to an accuracy needs a square assembled matrix, and makes its own preconditioner");
    }
    if (a->original) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "pass the assembled matrix, and name the storage in options.storage",
                         "a solver needs an assembled matrix, not a stored one");
    }
    if (m && (m->ctx != a->ctx || m->n != a->nrows)) {
        return tess_fail(a->ctx, TESS_DIMENSION_MISMATCH, "make the preconditioner from the same matrix",
                         "the preconditioner does not fit: it has another context, or %s where the matrix has %lld",
                         tess_count(m->n, "row").text, (long long)a->nrows);
    }
    if ((o->engine == TESS_ENGINE_GRAPH || o->engine == TESS_ENGINE_SINGLE_KERNEL) &&
        a->ctx->device == TESS_DEVICE_CPU) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use --engine plain or auto, or a GPU",
                         "the engine %s does not run on the CPU", tess_engine_name(o->engine));
    }
    if (o->engine == TESS_ENGINE_GRAPH && (!a->ops || (m && m->kind == TESS_PRECOND_SHELL))) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use --engine plain or auto",
                         "the engine graph cannot call a user's function");
    }
    if (o->engine == TESS_ENGINE_GRAPH && works_on_host(m, o)) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use --engine plain or auto",
                         "the engine graph cannot record the preconditioner %s, which works on the host",
                         tess_precond_kind_name(m ? m->kind : o->precond.kind));
    }
    return TESS_SUCCESS;
}

/* Least squares leave a residual, and solves of a transformed system know no preconditioner of the given one. */
tess_status solver_require_given_norm(const tess_solver *s, const char *what)
{
    const tess_stop_norm norm = s->options.stop_norm;

    if (norm == TESS_STOP_NORM_AUTO || norm == TESS_STOP_NORM_GIVEN) { return TESS_SUCCESS; }
    return tess_fail(s->ctx, TESS_UNSUPPORTED, "leave out --stop-norm", "%s does not stop by the norm %s", what,
                     tess_stop_norm_name(norm));
}

tess_status solver_require_recurrence(const tess_solver *s, tess_solver_kind kind)
{
    const tess_recurrence asked = solve_options_recurrence(&s->options);

    if (asked == TESS_RECURRENCE_AUTO || asked == TESS_RECURRENCE_STANDARD) { return TESS_SUCCESS; }
    if (!tess_find_recurrence(kind, asked)) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "use --recurrence standard, or --solver cg",
                         "the recurrence %s is not available with %s", tess_recurrence_name(asked),
                         tess_solver_kind_name(kind));
    }
    if (s->options.engine == TESS_ENGINE_GRAPH && asked == TESS_RECURRENCE_ONE_REDUCTION) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "use --engine single-kernel or plain",
                         "the recurrence one-reduction is not available in the engine graph");
    }
    return TESS_SUCCESS;
}

tess_status solver_allocate_history(tess_solver *s)
{
    s->history_capacity = s->options.history_capacity;
    if (s->history_capacity - 1 > s->options.max_iterations) { s->history_capacity = s->options.max_iterations + 1; }
    return tess_host_allocate(s->ctx, s->history_capacity, sizeof(double), (void **)&s->host_history);
}

/* A rectangular system is one of least squares; LSMR with scaled columns is the library's choice. */
static void choose_for_shape(const tess_matrix *a, tess_solve_options *o)
{
    if (a->nrows == a->ncols || o->solver != TESS_SOLVER_AUTO) { return; }
    o->solver = TESS_SOLVER_LSMR;
    if (o->precond.kind != TESS_PRECOND_AUTO) { return; }
    o->precond.kind = a->ops ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE; /* a shell has no columns to scale */
}

tess_status solver_take_request(const tess_matrix *a, const tess_precond *m, const tess_solve_options *options,
                                tess_solve_options *out, solve_papers *papers)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(solve_options_take(a->ctx, options, out, papers));
    choose_for_shape(a, out);
    status = check_request(a, m, out);
cleanup:
    return status;
}

tess_status solver_make(const tess_matrix *a, const tess_precond *m, const tess_solve_options *options,
                        tess_solver **out)
{
    tess_solver *s = NULL;
    double start = tess_wall_seconds(), deadline = a->ctx->deadline;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(a->ctx, 1, sizeof *s, (void **)&s));
    memset(s, 0, sizeof *s);
    s->ctx = a->ctx;
    s->original = a;
    tess_matrix_hold(a);
    s->given = tess_precond_hold(m);
    tess_papers_result_init(&s->papers_result);
    TESS_TRY(solver_take_request(a, m, options, &s->options, &s->papers));
    TESS_TRY(solver_choose_order(s));
    TESS_TRY(solver_require_memory(a, &s->options));
    deadline = tess_deadline_begin(a->ctx, s->options.time_limit);
    s->ops = tess_find_solver(a, m, &s->options);
    TESS_TRY(s->ops->setup(s));
    TESS_TRY(a->ctx->backend->synchronize(a->ctx));
    s->setup_seconds = tess_wall_seconds() - start;
    *out = s;
cleanup:
    tess_deadline_restore(a->ctx, deadline);
    if (status != TESS_SUCCESS) { tess_solver_destroy(s); }
    return status;
}

/* The storage that the schedule of Jacobi's precisions asks for, from what is named. */
static tess_status resolve_sweeps(tess_context *ctx, const tess_solve_options *o, tess_storage_options *storage,
                                  bool *mixed)
{
    tess_sweep_request request = {
        .storage = *storage, .schedule = o->jacobi.schedule, .kind = TESS_UPDATE_JACOBI, .factor = 1.0};
    tess_status status = TESS_SUCCESS;

    if (request.schedule.count != 0) { TESS_TRY(schedule_check(ctx, &request.schedule)); }
    if (storage->format == TESS_FORMAT_AUTO) {
        request.storage.format = sweep_choose_format(storage, &request.schedule);
    }
    TESS_TRY(sweep_resolve(ctx, &request));
    *mixed = schedule_has(&request.schedule, TESS_MIXED);
    if (*mixed) { *storage = request.storage; }
cleanup:
    return status;
}

tess_status solve_options_check_storage(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_solve_options *o)
{
    tess_solve_options plain;
    storage_request request;
    bool mixed = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(storage_request_take(ctx, &o->storage, &request));
    status = o->solver == TESS_SOLVER_JACOBI ? resolve_sweeps(ctx, o, &request.options, &mixed)
                                             : tess_storage_require_wide_arithmetic(ctx, &request.options, "a solve");
    if (status == TESS_UNSUPPORTED) { ctx->error.status = status = TESS_INVALID_ARGUMENT; }
    if (status != TESS_SUCCESS) { return status; }
    tess_solve_options_init(&plain);
    if (!mixed && memcmp(&o->storage, &plain.storage, sizeof plain.storage) == 0) { return TESS_SUCCESS; }
    status = tess_storage_options_check(ctx, nrows, ncols, &request.options);
cleanup:
    return status;
}

/* The rules of options, and those of the method that the shape of the matrix chooses. */
static tess_status check_options(const tess_matrix *a, const tess_solve_options *taken, char *message, size_t size)
{
    tess_solve_options settled = *taken, plain;

    if (tess_options_check(taken, message, size) != TESS_SUCCESS) { return TESS_INVALID_ARGUMENT; }
    choose_for_shape(a, &settled);
    if (settled.solver == taken->solver) { return TESS_SUCCESS; }
    tess_solve_options_init(&plain);
    settled.automatic = plain.automatic; /* fulfilled: nothing is chosen but the method */
    return tess_options_check(&settled, message, size);
}

tess_status solver_require_fit(const tess_matrix *a, const tess_precond *m, const tess_solve_options *options)
{
    tess_solve_options taken, plain;
    solve_papers papers;
    char message[TESS_OPTION_TEXT];
    tess_status status = TESS_SUCCESS;

    if (!options) { return TESS_SUCCESS; }
    TESS_TRY(solve_options_take(a->ctx, options, &taken, &papers));
    tess_solve_options_init(&plain);
    if (m) {
        taken.precond = plain.precond;
        taken.precond.kind = TESS_PRECOND_SHELL;
    }
    const bool refused = check_options(a, &taken, message, sizeof message) != TESS_SUCCESS;
    const tess_status stored =
        solve_options_check_storage(a->ctx, a->nrows, a->ncols, &taken); /* with a hint of its own */
    if (refused && (stored == TESS_SUCCESS || strcmp(a->ctx->error.message, message) != 0)) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, TESS_OPTIONS_HINT, "%s", message);
    }
    return stored;
cleanup:
    return status;
}

tess_status tess_solver_create_with_precond(const tess_matrix *a, const tess_precond *m,
                                            const tess_solve_options *options, tess_solver **out)
{
    TESS_REQUIRE_OUT(a ? a->ctx : NULL, a, out);
    const tess_status status = solver_require_fit(a, m, options);

    return status == TESS_SUCCESS ? solver_make(a, m, options, out) : status;
}

tess_status tess_solver_create(const tess_matrix *a, const tess_solve_options *options, tess_solver **out)
{
    return tess_solver_create_with_precond(a, NULL, options, out);
}

void tess_solver_destroy(tess_solver *s)
{
    const tess_matrix *original = NULL;
    tess_context *ctx = NULL;

    if (!s) { return; }
    if (s->solving) {
        s->abandoned = true;
        return;
    }
    ctx = s->ctx;
    original = s->original;
    solver_transposed_destroy(s);
    if (s->ops) { s->ops->destroy(s); }
    row_order_release(&s->order);
    tess_host_release(ctx, s->host_history, s->history_capacity, sizeof(double));
    solver_forget_histories(s);
    tess_precond_destroy(s->given);
    tess_host_release(ctx, s, 1, sizeof *s);
    tess_matrix_release(original);
}

tess_status solver_require_idle(const tess_solver *s)
{
    if (!s->solving) { return TESS_SUCCESS; }
    return tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "end the solve first: return a nonzero value from the monitor",
                     "the solver is busy with a solve, whose monitor made this call");
}

tess_status tess_solver_set_limits(tess_solver *s, const tess_solve_options *o)
{
    TESS_REQUIRE(NULL, s);
    const tess_status status = solver_require_idle(s);

    return status == TESS_SUCCESS ? solve_options_take_limits(s->ctx, o, &s->options) : status;
}

/* ---- a solve ---- */

tess_status solver_require_vectors(const tess_solver *s, const tess_vector *b, const tess_vector *x)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_require(s->ctx, b, s->original->nrows, "b"));
    TESS_TRY(tess_vector_require(s->ctx, x, s->original->ncols, "x"));
    if (b->n > 0 && b->data == x->data) {
        status = tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "pass two vectors", "b and x of a solve are the same array");
    }
cleanup:
    return status;
}

/* x := the last iterate, where there is one with a finite residual. */
static tess_status return_last(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *r)
{
    tess_vector *last = NULL, *residual = NULL;
    true_residual now;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_create(s->ctx, x->n, TESS_PRECISION_FP64, &last));
    TESS_TRY(tess_vector_create(s->ctx, b->n, TESS_PRECISION_FP64, &residual));
    TESS_TRY(tess_vector_copy(x, last));
    TESS_TRY(solver_last_iterate(s, last));
    TESS_TRY(verify_residual(s->original, b->data, last->data, residual->data, &now));
    if (!isfinite(now.norm)) { goto cleanup; }
    r->residual_norm = now.norm;
    r->residual_bound = now.bound;
    r->relative_residual = r->rhs_norm > 0.0 ? now.norm / r->rhs_norm : now.norm;
    verify_report_rows(&now, r);
    status = tess_vector_copy(last, x);
cleanup:
    tess_vector_destroy(residual);
    tess_vector_destroy(last);
    return status;
}

/* As return_last says: 1, after any solve that does not converge; 2, where the limit of iterations ended it. */
static bool wants_last(const tess_solver *s, const tess_solve_result *r)
{
    const int asked = s->options.return_last;

    return asked != 0 && !r->converged && (asked != 2 || r->reason == TESS_REASON_ITERATIONS);
}

tess_status solver_return_last(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *r)
{
    return wants_last(s, r) ? return_last(s, b, x, r) : TESS_SUCCESS;
}

tess_status solver_solve(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result)
{
    tess_solve_result full;
    solve_stop stop;
    double deadline = 0.0;
    tess_status status = result_require_size(s->ctx, "tess_solve_result", result->size, sizeof full);

    if (status != TESS_SUCCESS) { return status; }
    tess_solve_result_init(&full);
    result_return(&full, result); /* a call that fails leaves nothing of the one before */
    s->iterated = false;
    stop_begin(&stop, s->ctx, &s->options);
    deadline = tess_deadline_begin(s->ctx, s->options.time_limit);
    status = solver_require_vectors(s, b, x);
    if (status == TESS_SUCCESS) { status = s->ops->solve(s, b, x, &full); }
    if (status == TESS_SUCCESS) { status = solver_return_last(s, b, x, &full); }
    tess_deadline_restore(s->ctx, deadline);
    stop_end(&stop, &s->options);
    full.reason = stop_reason(&stop, full.reason);
    if (status == TESS_SUCCESS) { result_return(&full, result); }
    return status;
}

tess_status solver_begin(tess_solver *s)
{
    tess_status status = fork_require_device(s->ctx);

    if (status == TESS_SUCCESS) { status = solver_require_idle(s); }
    if (status == TESS_SUCCESS) {
        s->solving = true;
        busy_adapt(s->ctx);
    }
    return status;
}

void solver_end(tess_solver *s)
{
    s->solving = false;
    if (s->abandoned) { tess_solver_destroy(s); }
}

tess_status tess_solver_solve(tess_solver *s, const tess_vector *b, tess_vector *x, tess_solve_result *result)
{
    TESS_REQUIRE(NULL, s);
    TESS_REQUIRE(s->ctx, result);
    tess_status status = result_require_size(s->ctx, "tess_solve_result", result->size, sizeof *result);

    if (status == TESS_SUCCESS) { status = solver_begin(s); }
    if (status != TESS_SUCCESS) { return status; }
    status = solver_solve(s, b, x, result);
    solver_end(s);
    return status;
}
