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

/* An element of the caller's array, whose struct may be a shorter one. */
static tess_solve_result *result_at(tess_solve_result *results, int64_t c)
{
    return (tess_solve_result *)(void *)((char *)results + (size_t)c * results->size);
}

/* ---- columns together ---- */

static void release_columns(many_columns *m)
{
    tess_context *ctx = m->s->ctx;
    const int64_t n = m->s->original->nrows;

    for (int c = 0; m->column && c < m->count; c++) {
        tess_device_release(ctx, m->column[c].b, n, sizeof(double));
        tess_device_release(ctx, m->column[c].x, n, sizeof(double));
    }
    tess_host_release(ctx, m->column, m->count, sizeof *m->column);
    tess_device_release(ctx, m->d, n * m->count, sizeof(double));
    tess_device_release(ctx, m->r, n * m->count, sizeof(double));
    tess_device_release(ctx, m->history, m->s->head->history_capacity * m->count, sizeof(double));
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
    column->run = (solve_run){.s = s, .b = column->b, .x = column->x, .result = &column->result, .start = m->start};
    TESS_TRY(guard_open(&column->run, &column->reason, &column->cycles));
    if (!column->cycles) { return TESS_SUCCESS; }
    TESS_TRY(guard_prepare_cycles(&column->run));
    low = column->run.low_precision;
    if (many_is_refinement(s)) { column->run.low_precision = false; } /* it aims at the tolerance at once */
    TESS_TRY(guard_aim(&column->run));
    column->run.low_precision = low;
    many_begin(m, &column->run);
    TESS_TRY(s->ctx->backend->copy(s->ctx, m->r + c * s->original->nrows, s->krylov.r, bytes));
    if (capacity > 0) { status = s->ctx->backend->copy(s->ctx, m->history + c * capacity, s->history, sizeof(double)); }
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

/* A column after the loop: its judgement, cycles of its own if it needs them, its result. */
static tess_status close_column(many_columns *m, int c)
{
    method_solver *s = m->s;
    column_solve *column = &m->column[c];
    solve_run *run = &column->run;
    const int64_t n = s->original->nrows, capacity = s->head->history_capacity;
    tess_status status = TESS_SUCCESS;

    s->head->iterated = false;
    if (column->cycles) {
        guard_note_end(run, &column->end);
        const size_t kept = (size_t)column->result.history_length * sizeof(double);

        TESS_TRY(s->ctx->backend->copy(s->ctx, s->krylov.d, m->d + c * n, (size_t)n * sizeof(double)));
        if (kept > 0) {
            TESS_TRY(s->ctx->backend->copy(s->ctx, s->history, m->history + c * capacity, kept));
            TESS_TRY(s->ctx->backend->download(s->ctx, s->head->host_history, s->history, kept));
        }
        TESS_TRY(guard_run_cycles(run, &column->end, &column->reason));
    }
    TESS_TRY(guard_close(run, column->cycles, column->reason));
    if (s->options->return_last) { status = return_last(m, column); }
cleanup:
    return status;
}

/* A pause is no end: the column goes on alone. Nor is it for a method that refinement which stalls has not met it. */
static void note_pauses(many_columns *m)
{
    const tess_reason pause = many_is_refinement(m->s) ? TESS_REASON_STAGNATION : TESS_REASON_RUNNING;
    const tess_reason taken = many_is_refinement(m->s) ? TESS_REASON_RUNNING : TESS_REASON_STAGNATION;

    for (int c = 0; c < m->count; c++) {
        tess_loop_state *end = &m->column[c].end;

        if (m->column[c].cycles && end->reason == (int32_t)pause) { end->reason = (int32_t)taken; }
    }
}

/* A call, whose limit of time is that of all columns. */
typedef struct many_call {
    tess_solver *s;
    const tess_columns *b, *x;
    tess_solve_result *results;
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
    note_pauses(&m);
    for (int c = 0; c < count; c++) {
        tess_solve_result *const result = &m.column[c].result;

        TESS_TRY(close_column(&m, c));
        TESS_TRY(columns_set(s->ctx, m.column[c].x, call->x, first + c, 1));
        TESS_TRY(many_keep_history(call->s, result));
        result->reason = stop_reason(stop, result->reason);
        result_return(result, result_at(call->results, first + c));
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
    stop_begin(&stop, s->ctx, s->options);
    status = solve_together(call, s, first, count, &stop);
    stop_end(&stop, s->options);
cleanup:
    tess_deadline_restore(s->ctx, deadline);
    return status;
}

/* ---- all columns ---- */

/* One column as a solve of its own. */
static tess_status solve_alone(tess_solver *s, const tess_columns *b, const tess_columns *x, int64_t c,
                               tess_solve_result *result)
{
    tess_vector *own_b = NULL, *own_x = NULL;
    tess_solve_result full;
    tess_status status = TESS_SUCCESS;

    tess_solve_result_init(&full);
    TESS_TRY(tess_vector_create(s->ctx, b->rows, TESS_PRECISION_FP64, &own_b));
    TESS_TRY(tess_vector_create(s->ctx, x->rows, TESS_PRECISION_FP64, &own_x));
    TESS_TRY(columns_get(s->ctx, b, c, 1, tess_vector_data(own_b)));
    TESS_TRY(columns_get(s->ctx, x, c, 1, tess_vector_data(own_x)));
    TESS_TRY(solver_solve(s, own_b, own_x, &full));
    TESS_TRY(many_keep_history(s, &full));
    result_return(&full, result);
    status = columns_set(s->ctx, tess_vector_data_const(own_x), x, c, 1);
cleanup:
    tess_vector_destroy(own_b);
    tess_vector_destroy(own_x);
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
    const int most = method ? many_most(method) : 1, count = left < most ? (int)left : most;

    limit_rest(call);
    *done = method && count >= many_least(method) ? count : 1;
    return *done > 1 ? run_together(call, method, c, count)
                     : solve_alone(call->s, call->b, call->x, c, result_at(call->results, c));
}

/* Where the solver chooses its method: other attempts at the columns from c on that this one did not solve. */
static tess_status try_others(const many_call *call, int64_t c, int count)
{
    tess_status status = TESS_SUCCESS;

    for (int i = 0; call->s->ops->attempts && count > 1 && i < count; i++) {
        tess_solve_result *const r = result_at(call->results, c + i);

        if (r->converged || reason_is_a_stop(r->reason)) { continue; }
        limit_rest(call);
        TESS_TRY(solve_alone(call->s, call->b, call->x, c + i, r));
    }
cleanup:
    return status;
}

static tess_status solve_columns(tess_solver *s, const tess_columns *b, const tess_columns *x,
                                 tess_solve_result *results)
{
    const many_call call = {s, b, x, results, s->options.time_limit, tess_wall_seconds()};
    int64_t c = 0;
    tess_status status = TESS_SUCCESS;

    if (s->ops->attempts && b->columns > 0) {
        TESS_TRY(solve_alone(s, b, x, 0, results));
        c = 1;
    }
    while (c < b->columns) {
        int done = 0;

        TESS_TRY(solve_next(&call, c, &done));
        TESS_TRY(try_others(&call, c, done));
        c += done;
    }
cleanup:
    s->options.time_limit = call.limit;
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
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_columns(s, b, x));
    for (int64_t c = 0; c < b->columns; c++) {
        TESS_TRY(result_require_size(s->ctx, "tess_solve_result", result_at(results, c)->size, sizeof *results));
    }
    TESS_TRY(solver_begin(s));
    solver_forget_histories(s);
    status = solve_columns(s, b, x, results);
    solver_end(s);
cleanup:
    return status;
}

int64_t tess_solver_columns_together(const tess_solver *s, int64_t columns)
{
    const tess_attempt *first = NULL;
    const bool undecided = s && s->ops->attempts && s->ops->attempts(s, &first) == 0;
    const method_solver *const method = s && !undecided ? common_method(s) : NULL;
    const int most = method ? many_most(method) : 1;

    return !method || columns < many_least(method) ? 1 : columns < most ? columns : most;
}
