/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Solves of several columns. Each column is a solve of its own: its tolerances, its true residual, its later cycles.
 * The first cycles of up to TESS_MAX_COLUMNS columns are one loop, if method and matrix allow it.
 */
#include <string.h>

#include <tessera/many.h>
#include <tessera/names.h>

#include "base/deadline.h"
#include "base/fork.h"
#include "base/options.h"
#include "matrix/matrix.h"
#include "solver/many.h"
#include "solver/stop.h"

/* A limit that is over already still lets a column begin, so that it has a result. */
#define LEAST_SECONDS 1e-9
/* Where other attempts may follow, half of the iterations are left to them, unless there are few. */
enum { LEAST_LEFT = 1000 };

/* An element of the caller's array, whose struct may be a shorter one. */
static tess_solve_result *result_at(tess_solve_result *results, int64_t c)
{
    return (tess_solve_result *)(void *)((char *)results + (size_t)c * results->size);
}

/* A call that fails leaves nothing of the one before. */
static void forget_results(int64_t columns, tess_solve_result *results)
{
    tess_solve_result none;

    tess_solve_result_init(&none);
    for (int64_t c = 0; c < columns; c++) {
        result_return(&none, result_at(results, c));
    }
}

/* ---- columns together ---- */

static void release_columns(many_columns *m)
{
    tess_context *ctx = m->s->ctx;
    const int64_t n = m->s->original->nrows;

    for (int c = 0; m->column && c < m->count; c++) {
        tess_device_release(ctx, m->column[c].b, n, sizeof(double));
        tess_device_release(ctx, m->column[c].x, n, sizeof(double));
        tess_device_release(ctx, m->column[c].kept, n, sizeof(double));
    }
    tess_host_release(ctx, m->column, m->count, sizeof *m->column);
    tess_device_release(ctx, m->d, n * m->count, sizeof(double));
    tess_device_release(ctx, m->r, n * m->count, sizeof(double));
    tess_device_release(ctx, m->history, m->s->head->history_capacity * m->count, sizeof(double));
    if (m->numbers) { tess_device_release(ctx, m->numbers, m->count, m->method->numbers); }
}

static tess_status allocate_columns(many_columns *m)
{
    tess_context *ctx = m->s->ctx;
    const int64_t n = m->s->original->nrows, capacity = m->s->head->history_capacity;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, m->count, sizeof *m->column, (void **)&m->column));
    memset(m->column, 0, (size_t)m->count * sizeof *m->column);
    for (int c = 0; c < m->count; c++) {
        TESS_TRY(tess_device_allocate(ctx, n, sizeof(double), (void **)&m->column[c].b));
        TESS_TRY(tess_device_allocate(ctx, n, sizeof(double), (void **)&m->column[c].x));
    }
    TESS_TRY(tess_device_allocate(ctx, n * m->count, sizeof(double), (void **)&m->d));
    TESS_TRY(tess_device_allocate(ctx, n * m->count, sizeof(double), (void **)&m->r));
    if (m->method->numbers > 0) { TESS_TRY(tess_device_allocate(ctx, m->count, m->method->numbers, &m->numbers)); }
    if (capacity > 0) { status = tess_device_allocate(ctx, capacity * m->count, sizeof(double), (void **)&m->history); }
cleanup:
    return status;
}

/* A column up to the loop: what its cycle aims at, and the residual that it starts from. */
static tess_status open_column(many_columns *m, int c)
{
    method_solver *s = m->s;
    column_solve *column = &m->column[c];
    const int64_t capacity = s->head->history_capacity;
    const size_t bytes = (size_t)s->original->nrows * sizeof(double);
    bool low = false;
    tess_status status = TESS_SUCCESS;

    tess_solve_result_init(&column->result);
    column->run = (solve_run){
        .s = s, .b = column->b, .x = column->x, .result = &column->result, .start = m->start, .kept = INFINITY};
    TESS_TRY(guard_open(&column->run, &column->reason, &column->cycles));
    if (capacity > 0) {
        TESS_TRY(s->ctx->backend->copy(s->ctx, m->history + c * capacity, s->history, sizeof(double)));
    }
    if (!column->cycles) { return TESS_SUCCESS; }
    column->result.engine = many_engine(s);
    if (m->method->has_recurrence) { column->result.cg.recurrence = TESS_RECURRENCE_STANDARD; }
    TESS_TRY(guard_prepare_cycles(&column->run));
    low = column->run.low_precision;
    if (many_is_refinement(s)) { column->run.low_precision = false; } /* it aims at the tolerance at once */
    TESS_TRY(guard_aim(&column->run));
    column->run.low_precision = low;
    many_begin(m, &column->run);
    status = s->ctx->backend->copy(s->ctx, m->r + c * s->original->nrows, s->krylov.r, bytes);
cleanup:
    return status;
}

static tess_status return_last(const many_columns *m, column_solve *column)
{
    tess_solver *s = m->s->head;
    const int64_t n = s->original->nrows;
    tess_vector *b = NULL, *x = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_wrap(s->ctx, n, TESS_PRECISION_FP64, column->b, &b));
    TESS_TRY(tess_vector_wrap(s->ctx, n, TESS_PRECISION_FP64, column->x, &x));
    status = solver_return_last(s, b, x, &column->result);
cleanup:
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    return status;
}

/* What the loop left of a column, in the places of the solver. */
static tess_status take_end(const many_columns *m, int c)
{
    method_solver *s = m->s;
    const tess_backend *backend = s->ctx->backend;
    const int64_t n = s->original->nrows;
    tess_status status = TESS_SUCCESS;

    s->krylov.matrix = solver_matrix(s); /* the column before may have gone up to FP64 */
    if (m->numbers) {
        const size_t bytes = m->method->numbers;

        TESS_TRY(backend->copy(s->ctx, s->krylov.numbers, (const char *)m->numbers + (size_t)c * bytes, bytes));
    }
    TESS_TRY(backend->copy(s->ctx, s->krylov.d, m->d + c * n, (size_t)n * sizeof(double)));
    many_swap_kept(m, c);
    status = guard_take_kept(&m->column[c].run);
    many_swap_kept(m, c);
cleanup:
    return status;
}

static tess_status take_history(const many_columns *m, int c)
{
    const method_solver *s = m->s;
    const tess_backend *backend = s->ctx->backend;
    const size_t bytes = (size_t)m->column[c].result.history_length * sizeof(double);
    tess_status status = TESS_SUCCESS;

    if (bytes == 0) { return TESS_SUCCESS; }
    TESS_TRY(backend->copy(s->ctx, s->history, m->history + c * s->head->history_capacity, bytes));
    status = backend->download(s->ctx, s->head->host_history, s->history, bytes);
cleanup:
    return status;
}

/* Where the loop has judged the last cycle of a column: its candidate is in m->d, and krylov.r is to be its residual.
 */
static tess_status take_judged(const many_columns *m, int c)
{
    method_solver *s = m->s;
    solve_run *run = &m->column[c].run;
    const int64_t n = s->original->nrows;
    tess_status status = TESS_SUCCESS;

    s->krylov.matrix = solver_matrix(s);
    TESS_TRY(s->ctx->backend->copy(s->ctx, s->candidate, m->d + c * n, (size_t)n * sizeof(double)));
    s->head->iterated = true;
    TESS_TRY(guard_verify(run, run->x, &run->now));
    run->norm = run->now.norm;
cleanup:
    return status;
}

tess_status many_restart(many_columns *m, int c, bool *restarts)
{
    method_solver *s = m->s;
    column_solve *column = &m->column[c];
    solve_run *run = &column->run;
    const tess_backend *backend = s->ctx->backend;
    const int64_t n = s->original->nrows;
    const size_t bytes = (size_t)n * sizeof(double);
    bool done = false;
    tess_status status = TESS_SUCCESS;

    *restarts = false;
    guard_note_end(run, &column->end);
    TESS_TRY(take_end(m, c));
    TESS_TRY(guard_judge(run, &column->end, &column->progress, &done));
    if (done || !column->progress || column->end.cancel || run->now.norm == 0.0 ||
        run->result->iterations >= s->options->max_iterations) {
        column->judged = true;
        return backend->copy(s->ctx, m->d + c * n, s->candidate, bytes);
    }
    run->fruitless = 0;
    TESS_TRY(guard_aim(run));
    TESS_TRY(backend->copy(s->ctx, m->r + c * n, s->krylov.r, bytes));
    *restarts = true;
cleanup:
    return status;
}

/* A column after the loop: its judgement, cycles of its own if it needs them, its result. */
static tess_status close_column(many_columns *m, int c)
{
    method_solver *s = m->s;
    column_solve *column = &m->column[c];
    solve_run *run = &column->run;
    tess_status status = TESS_SUCCESS;

    s->head->iterated = false;
    if (column->cycles) { guard_note_end(run, &column->end); }
    TESS_TRY(take_history(m, c));
    if (column->judged) {
        TESS_TRY(take_judged(m, c));
        TESS_TRY(guard_continue(run, &column->end, column->progress, &column->reason));
    } else if (column->cycles) {
        TESS_TRY(take_end(m, c));
        TESS_TRY(guard_run_cycles(run, &column->end, &column->reason));
    }
    TESS_TRY(guard_close(run, column->cycles, column->reason));
    if (s->options->return_last) { status = return_last(m, column); }
cleanup:
    return status;
}

/* Refinement that stalls is no end: the column goes on by its method, which has not met it. */
static void note_stalls(many_columns *m)
{
    if (!many_is_refinement(m->s)) { return; }
    for (int c = 0; c < m->count; c++) {
        tess_loop_state *end = &m->column[c].end;

        if (m->column[c].cycles && end->reason == TESS_REASON_STAGNATION) { end->reason = TESS_REASON_RUNNING; }
    }
}

/* A call, whose limit of time is that of all columns. */
typedef struct many_call {
    tess_solver *s;
    const tess_columns *b, *x;
    tess_solve_result *results;
    tess_solve_result *together; /* where the solver chooses its method: those of the last common loop */
    double together_start;
    double limit, start;
} many_call;

/* Columns first .. first + count - 1 of the caller's. */
static tess_status solve_together(const many_call *call, method_solver *s, int64_t first, int count,
                                  const solve_stop *stop)
{
    many_columns m = {.s = s, .method = many_method(s), .count = count, .start = tess_wall_seconds()};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(allocate_columns(&m));
    for (int c = 0; c < count; c++) {
        TESS_TRY(columns_get(s->ctx, call->b, first + c, 1, m.column[c].b));
        TESS_TRY(columns_get(s->ctx, call->x, first + c, 1, m.column[c].x));
        TESS_TRY(open_column(&m, c));
    }
    TESS_TRY(many_run_loop(&m));
    note_stalls(&m);
    for (int c = 0; c < count; c++) {
        tess_solve_result *const result = &m.column[c].result;

        TESS_TRY(close_column(&m, c));
        TESS_TRY(columns_set(s->ctx, m.column[c].x, call->x, first + c, 1));
        TESS_TRY(many_keep_history(call->s, NULL, result));
        result->reason = stop_reason(stop, result->reason);
        result_return(result, result_at(call->results, first + c));
        if (call->together) { call->together[c] = *result; }
    }
cleanup:
    release_columns(&m);
    s->ctx->clock = NULL;
    return status;
}

/* The same with what surrounds a solve. */
static tess_status run_together(const many_call *call, method_solver *s, int64_t first, int count)
{
    solve_stop stop;
    const double deadline = tess_deadline_begin(s->ctx, call->s->options.time_limit);
    tess_status status = TESS_SUCCESS;

    /* an attempt's own end with it, and its monitor may be gone */
    if (call->s != s->head) { TESS_TRY(solve_options_take_limits(s->ctx, &call->s->options, s->options)); }
    if (call->together && s->options->max_iterations > 2 * LEAST_LEFT) { s->options->max_iterations /= 2; }
    stop_begin(&stop, s->ctx, s->options);
    status = solve_together(call, s, first, count, &stop);
    stop_end(&stop, s->options);
cleanup:
    tess_deadline_restore(s->ctx, deadline);
    return status;
}

/* ---- all columns ---- */

/* A solve that went on from another: `start` is the time when that one began. */
static void add_earlier(const tess_solve_result *earlier, double start, tess_solve_result *r)
{
    r->iterations += earlier->iterations;
    r->refinements += earlier->refinements;
    r->solve_seconds = tess_wall_seconds() - start;
}

/* Column c as a solve of its own; earlier: it goes on from this one, of the last common loop. */
static tess_status solve_alone(const many_call *call, int64_t c, const tess_solve_result *earlier)
{
    tess_solver *const s = call->s;
    const int64_t limit = s->options.max_iterations;
    tess_vector *b = NULL, *x = NULL;
    tess_solve_result full;
    tess_status status = TESS_SUCCESS;

    tess_solve_result_init(&full);
    TESS_TRY(tess_vector_create(s->ctx, call->b->rows, TESS_PRECISION_FP64, &b));
    TESS_TRY(tess_vector_create(s->ctx, call->x->rows, TESS_PRECISION_FP64, &x));
    TESS_TRY(columns_get(s->ctx, call->b, c, 1, tess_vector_data(b)));
    TESS_TRY(columns_get(s->ctx, call->x, c, 1, tess_vector_data(x)));
    if (earlier) { s->options.max_iterations -= earlier->iterations; }
    TESS_TRY(solver_solve(s, b, x, &full));
    TESS_TRY(columns_set(s->ctx, tess_vector_data_const(x), call->x, c, 1));
    TESS_TRY(many_keep_history(s, earlier, &full));
    if (earlier) { add_earlier(earlier, call->together_start, &full); }
    result_return(&full, result_at(call->results, c));
cleanup:
    s->options.max_iterations = limit;
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    return status;
}

/* The method that can run the columns; NULL: none. Attempts and accuracies solve at least one column first. */
static method_solver *common_method(const tess_solver *s)
{
    const tess_solve_options *o = &s->options;
    const bool last_of_attempts = s->ops->attempts && o->return_last;
    method_solver *running = wants_accuracy(o) || last_of_attempts || o->max_iterations == 0 ? NULL : solver_running(s);

    return running && many_takes(running) ? running : NULL;
}

/* How many of the columns that are left a solver with a loop of its own for columns takes; 1: it has none. */
static int own_columns(const tess_solver *s, int64_t left)
{
    return s->ops->columns_together ? s->ops->columns_together(s, left) : 1;
}

static tess_status limited_solve(tess_solver *s, int count, tess_vector *const *b, tess_vector *const *x,
                                 tess_solve_result *results)
{
    solve_stop stop;
    const double deadline = tess_deadline_begin(s->ctx, s->options.time_limit);
    tess_status status = TESS_SUCCESS;

    s->iterated = false;
    stop_begin(&stop, s->ctx, &s->options);
    status = s->ops->solve_columns(s, count, b, x, results);
    stop_end(&stop, &s->options);
    tess_deadline_restore(s->ctx, deadline);
    for (int c = 0; c < count; c++) {
        results[c].reason = stop_reason(&stop, results[c].reason);
    }
    return status;
}

/* Columns first .. first + count - 1 in that loop. */
static tess_status solve_in_own_loop(const many_call *call, int64_t first, int count)
{
    tess_context *ctx = call->s->ctx;
    tess_vector *b[TESS_MAX_COLUMNS] = {NULL}, *x[TESS_MAX_COLUMNS] = {NULL};
    tess_solve_result *results = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, count, sizeof *results, (void **)&results));
    for (int c = 0; c < count; c++) {
        tess_solve_result_init(&results[c]);
        TESS_TRY(tess_vector_create(ctx, call->b->rows, TESS_PRECISION_FP64, &b[c]));
        TESS_TRY(tess_vector_create(ctx, call->x->rows, TESS_PRECISION_FP64, &x[c]));
        TESS_TRY(columns_get(ctx, call->b, first + c, 1, tess_vector_data(b[c])));
        TESS_TRY(columns_get(ctx, call->x, first + c, 1, tess_vector_data(x[c])));
    }
    TESS_TRY(limited_solve(call->s, count, b, x, results));
    for (int c = 0; c < count; c++) {
        TESS_TRY(columns_set(ctx, tess_vector_data_const(x[c]), call->x, first + c, 1));
        result_return(&results[c], result_at(call->results, first + c));
    }
cleanup:
    for (int c = 0; c < count; c++) {
        tess_vector_destroy(b[c]);
        tess_vector_destroy(x[c]);
    }
    tess_host_release(ctx, results, count, sizeof *results);
    return status;
}

static void limit_rest(const many_call *call)
{
    const double left = call->limit - (tess_wall_seconds() - call->start);

    if (call->limit > 0.0) { call->s->options.time_limit = left > LEAST_SECONDS ? left : LEAST_SECONDS; }
}

/* Columns from c on in one loop, or one alone; *done: how many. */
static tess_status solve_next(const many_call *call, int64_t c, int *done)
{
    method_solver *const method = common_method(call->s);
    const int64_t left = call->b->columns - c;

    limit_rest(call);
    *done = method ? many_next(method, left) : own_columns(call->s, left);
    if (*done == 1) { return solve_alone(call, c, NULL); }
    return method ? run_together(call, method, c, *done) : solve_in_own_loop(call, c, *done);
}

/* Where the solver chooses its method: other attempts at the columns from c on that this one did not solve. */
static tess_status try_others(const many_call *call, int64_t c, int count)
{
    tess_status status = TESS_SUCCESS;

    for (int i = 0; call->together && count > 1 && i < count; i++) {
        const tess_solve_result *const r = &call->together[i];

        if (r->converged || reason_is_a_stop(r->reason)) { continue; }
        if (r->iterations >= call->s->options.max_iterations) { continue; }
        limit_rest(call);
        TESS_TRY(solve_alone(call, c + i, r));
    }
cleanup:
    return status;
}

static tess_status solve_columns(many_call *call)
{
    const bool attempts = call->s->ops->attempts != NULL;
    const int64_t columns = call->b->columns;
    int64_t c = 0;
    tess_status status = TESS_SUCCESS;

    if (attempts && columns > 0) {
        TESS_TRY(tess_host_allocate(call->s->ctx, TESS_MAX_COLUMNS, sizeof *call->together, (void **)&call->together));
        TESS_TRY(solve_alone(call, 0, NULL));
        c = 1;
    }
    while (c < columns) {
        int done = 0;

        call->together_start = tess_wall_seconds();
        TESS_TRY(solve_next(call, c, &done));
        TESS_TRY(try_others(call, c, done));
        c += done;
    }
cleanup:
    tess_host_release(call->s->ctx, call->together, TESS_MAX_COLUMNS, sizeof *call->together);
    call->s->options.time_limit = call->limit;
    return status;
}

static tess_status check_columns(const tess_solver *s, const tess_columns *b, const tess_columns *x)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(columns_require(s->ctx, b, s->original->nrows, "b"));
    TESS_TRY(columns_require(s->ctx, x, s->original->ncols, "x"));
    if (b->columns != x->columns) {
        return tess_fail(s->ctx, TESS_DIMENSION_MISMATCH, "pass as many columns in x as in b", "b has %s, x %s",
                         tess_count(b->columns, "column").text, tess_count(x->columns, "column").text);
    }
    if (b->columns > 0 && b->rows > 0 && b->data == x->data) {
        status = tess_fail(s->ctx, TESS_INVALID_ARGUMENT, "pass two arrays", "b and x of a solve are the same array");
    }
cleanup:
    return status;
}

tess_status tess_solver_solve_many(tess_solver *s, const tess_columns *b, const tess_columns *x,
                                   tess_solve_result *results)
{
    TESS_REQUIRE(NULL, s);
    TESS_REQUIRE(s->ctx, b);
    TESS_REQUIRE(s->ctx, x);
    TESS_REQUIRE(s->ctx, results);
    many_call call = {.s = s, .b = b, .x = x, .results = results};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_columns(s, b, x));
    for (int64_t c = 0; c < b->columns; c++) {
        TESS_TRY(result_require_size(s->ctx, "tess_solve_result", result_at(results, c)->size, sizeof *results));
    }
    TESS_TRY(solver_begin(s));
    solver_forget_histories(s);
    forget_results(b->columns, results);
    call.limit = s->options.time_limit;
    call.start = tess_wall_seconds();
    status = solve_columns(&call);
    solver_end(s);
cleanup:
    return status;
}

int64_t tess_solver_columns_together(const tess_solver *s, int64_t columns)
{
    const tess_attempt *first = NULL;
    const bool undecided = s && s->ops->attempts && s->ops->attempts(s, &first) == 0;
    const method_solver *const method = s && !undecided ? common_method(s) : NULL;

    if (method) { return many_next(method, columns); }
    return s && !undecided ? own_columns(s, columns) : 1;
}
