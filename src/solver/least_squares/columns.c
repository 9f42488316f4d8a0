/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LSQR and LSMR of several columns: the first cycles of all are one loop, whose products with A and A^T are of all
 * columns at once. Vectors are by rows, and are kept with a length of their own: u = U / beta, v = V / alpha, w and m
 * likewise, so that a pass over them has one reading and no normalisation. Padding and columns that have ended run with
 * factors of zero, which leaves the passes whole.
 *
 * A column whose squares leave the range that FP64 has for them, or whose process breaks down, starts again alone.
 */
#include <math.h>
#include <string.h>

#include "dense/columns.h"
#include "solver/least_squares/least_squares.h"
#include "solver/many.h"

/* Squares of norms within these are finite, and far above rounding errors that vanish. */
#define LEAST_SQUARE 0x1p-900
#define MOST_SQUARE 0x1p+900

/* A column, and the lengths of its vectors. */
typedef struct least_column {
    least_run run;
    least_cycle cycle;
    bidiagonal k;
    double of_u, of_v, of_w, of_m;
    double before, step, next; /* of the pass that moves */
    tess_reason reason;
    bool cycles; /* it needs the loop */
    bool alone;  /* it starts again */
} least_column;

typedef struct least_columns {
    tess_solver *s;
    const least_squares *own;
    int count, first_width, width;
    int slot[TESS_MAX_COLUMNS]; /* which of the columns is in a place; -1: none */
    least_column *column;
    tess_loop_state *state;               /* on the device, by place: the factors and sums of passes */
    double *u, *product_u;                /* by rows: m values of each column, */
    double *v, *w, *m, *step, *product_v; /* n values */
    double *steps;                        /* one column after another, at the ends of their cycles */
    double *histories;                    /* on the host, likewise */
} least_columns;

static bool is_lsmr(const least_columns *b)
{
    return b->s->options.solver == TESS_SOLVER_LSMR;
}

static int64_t rows_of(const least_columns *b)
{
    return b->s->original->nrows;
}

static int64_t columns_of(const least_columns *b)
{
    return b->s->original->ncols;
}

/* ---- memory ---- */

static void release(least_columns *b)
{
    tess_context *ctx = b->s->ctx;
    const int64_t of_u = rows_of(b) * b->first_width, of_v = columns_of(b) * b->first_width;
    double *const longs[] = {b->u, b->product_u}, *const shorts[] = {b->v, b->w, b->m, b->step, b->product_v};

    for (size_t i = 0; i < sizeof longs / sizeof *longs; i++) {
        tess_device_release(ctx, longs[i], of_u, sizeof(double));
    }
    for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++) {
        tess_device_release(ctx, shorts[i], of_v, sizeof(double));
    }
    tess_device_release(ctx, b->steps, columns_of(b) * b->count, sizeof(double));
    tess_device_release(ctx, b->state, b->first_width, sizeof *b->state);
    tess_host_release(ctx, b->histories, b->s->history_capacity * b->count, sizeof(double));
    tess_host_release(ctx, b->column, b->count, sizeof *b->column);
}

static tess_status allocate_zeros(const least_columns *b, int64_t count, double **out)
{
    tess_context *ctx = b->s->ctx;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, count, sizeof(double), (void **)out));
    status = ctx->backend->zero(ctx, *out, (size_t)count * sizeof(double));
cleanup:
    return status;
}

static tess_status allocate(least_columns *b)
{
    tess_context *ctx = b->s->ctx;
    const int64_t of_u = rows_of(b) * b->width, of_v = columns_of(b) * b->width;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, b->count, sizeof *b->column, (void **)&b->column));
    memset(b->column, 0, (size_t)b->count * sizeof *b->column);
    TESS_TRY(tess_host_allocate(ctx, b->s->history_capacity * b->count, sizeof(double), (void **)&b->histories));
    TESS_TRY(allocate_zeros(b, of_u, &b->u));
    TESS_TRY(allocate_zeros(b, of_u, &b->product_u));
    TESS_TRY(allocate_zeros(b, of_v, &b->v));
    TESS_TRY(allocate_zeros(b, of_v, &b->w));
    if (is_lsmr(b)) { TESS_TRY(allocate_zeros(b, of_v, &b->m)); }
    TESS_TRY(allocate_zeros(b, of_v, &b->step));
    TESS_TRY(allocate_zeros(b, of_v, &b->product_v));
    TESS_TRY(allocate_zeros(b, columns_of(b) * b->count, &b->steps));
    status = tess_device_allocate(ctx, b->width, sizeof *b->state, (void **)&b->state);
cleanup:
    return status;
}

/* ---- passes ---- */

static least_column *column_at(const least_columns *b, int place)
{
    return b->slot[place] < 0 ? NULL : &b->column[b->slot[place]];
}

static tess_status multiply(const least_columns *b, const tess_matrix *a, const double *x, double *y)
{
    const tess_spmv_args args = {
        .operation = TESS_OP_NONE, .x = x, .y = y, .alpha = 1.0, .columns = b->width > 1 ? b->width : 0};

    tess_enter_phase(b->s->ctx, TESS_PHASE_SPMV);
    return b->width > 1 ? a->ops->multiply_columns(a, &args) : a->ops->spmv(a, &args);
}

/* A pass with the factors of each place. */
static tess_status run_pass(const least_columns *b, tess_fused op, int64_t rows, const tess_loop_state *factors)
{
    tess_context *ctx = b->s->ctx;
    tess_status status = TESS_SUCCESS;

    op.n = rows * b->width;
    op.columns = b->width;
    op.state = b->state;
    op.scalar = TESS_SCALAR_NONE;
    tess_enter_phase(ctx, TESS_PHASE_OTHER);
    TESS_TRY(ctx->backend->upload(ctx, b->state, factors, (size_t)b->width * sizeof *factors));
    status = ctx->backend->fused(ctx, &op);
cleanup:
    return status;
}

/* v := alpha scale q - beta v, and the lengths of v; a column whose square is out of range is left alone. */
static tess_status next_vector(const least_columns *b, const double *q, double *v, int64_t rows, const double *scale,
                               tess_loop_state *factors, double *lengths)
{
    tess_context *ctx = b->s->ctx;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(
        run_pass(b, (tess_fused){.op = TESS_FUSED_BIDIAGONAL, .in = {q}, .out = {v}, .scale = scale}, rows, factors));
    TESS_TRY(ctx->backend->download(ctx, factors, b->state, (size_t)b->width * sizeof *factors));
    for (int p = 0; p < b->width; p++) {
        const double square = factors[p].dots[0];
        least_column *c = column_at(b, p);

        if (c && !(square >= LEAST_SQUARE && square <= MOST_SQUARE)) { c->alone = true; }
        lengths[p] = sqrt(square);
    }
cleanup:
    return status;
}

/* beta u := A D v - alpha u */
static tess_status next_u(const least_columns *b)
{
    tess_loop_state factors[TESS_MAX_COLUMNS] = {{.phase = TESS_LOOP_RUNNING}};
    double lengths[TESS_MAX_COLUMNS];
    const double *x = b->v;
    tess_status status = TESS_SUCCESS;

    for (int p = 0; p < b->width; p++) {
        const least_column *c = column_at(b, p);

        if (!c) { continue; }
        factors[p].alpha = 1.0 / c->of_v;
        factors[p].beta = c->k.alpha / c->of_u;
    }
    if (b->own->scale) {
        TESS_TRY(run_pass(
            b, (tess_fused){.op = TESS_FUSED_DIAGONAL, .in = {b->v}, .out = {b->product_v}, .scale = b->own->scale},
            columns_of(b), factors));
        x = b->product_v;
    }
    TESS_TRY(multiply(b, b->own->a, x, b->product_u));
    TESS_TRY(next_vector(b, b->product_u, b->u, rows_of(b), NULL, factors, lengths));
    for (int p = 0; p < b->width; p++) {
        if (b->slot[p] >= 0) { b->column[b->slot[p]].of_u = b->column[b->slot[p]].k.beta = lengths[p]; }
    }
cleanup:
    return status;
}

/* alpha v := D A^T u - beta v. V is zero at first. */
static tess_status next_v(const least_columns *b)
{
    tess_loop_state factors[TESS_MAX_COLUMNS] = {{.phase = TESS_LOOP_RUNNING}};
    double lengths[TESS_MAX_COLUMNS];
    tess_status status = TESS_SUCCESS;

    for (int p = 0; p < b->width; p++) {
        const least_column *c = column_at(b, p);

        if (!c) { continue; }
        factors[p].alpha = 1.0 / c->of_u;
        factors[p].beta = c->of_v > 0.0 ? c->k.beta / c->of_v : 0.0;
    }
    TESS_TRY(multiply(b, b->own->at, b->u, b->product_v));
    TESS_TRY(next_vector(b, b->product_v, b->v, columns_of(b), b->own->scale, factors, lengths));
    for (int p = 0; p < b->width; p++) {
        if (b->slot[p] >= 0) { b->column[b->slot[p]].of_v = b->column[b->slot[p]].k.alpha = lengths[p]; }
    }
cleanup:
    return status;
}

/* The rotations of a column, and the factors of its vectors as they are kept. */
static void rotate(const least_columns *b, least_column *c, tess_loop_state *factors)
{
    const bidiagonal_step step = bidiagonal_advance(b->s->options.solver, &c->k);

    if (!step.moves) {
        c->alone = true;
        return;
    }
    factors->alpha = step.step / c->of_w;
    if (is_lsmr(b)) {
        factors->beta = step.before * c->of_w / c->of_m; /* M := W + beta M, of W's length */
        factors->omega = step.next * c->of_v / c->of_w;
        c->of_m = c->of_w;
    } else {
        factors->beta = step.next * c->of_v / c->of_w;
    }
    c->of_w = c->of_v;
}

static tess_status move(const least_columns *b)
{
    tess_loop_state factors[TESS_MAX_COLUMNS] = {{.phase = TESS_LOOP_RUNNING}};
    const tess_fused lsqr = {.op = TESS_FUSED_CG_DIRECTION, .in = {b->v}, .out = {b->step, b->w}},
                     lsmr = {.op = TESS_FUSED_LSMR_STEP, .in = {b->v}, .out = {b->step, b->m, b->w}};

    for (int p = 0; p < b->width; p++) {
        if (b->slot[p] >= 0 && !b->column[b->slot[p]].alone) { rotate(b, &b->column[b->slot[p]], &factors[p]); }
    }
    return run_pass(b, is_lsmr(b) ? lsmr : lsqr, columns_of(b), factors);
}

/* ---- the loop ---- */

/* Column `from` of vectors by rows becomes column `to` of those of another width. */
static tess_status take_column(const least_columns *b, int64_t rows, columns_place from, columns_place to)
{
    return columns_ops_of(b->s->ctx)->move(b->s->ctx, rows, 1, from, to);
}

/* The vectors in *x, for the places that are in use alone; *spare: as much memory. */
static tess_status narrow(const least_columns *b, int64_t rows, int width, double **x, double **spare)
{
    double *const moved = *spare;
    int place = 0;
    tess_status status = b->s->ctx->backend->zero(b->s->ctx, moved, (size_t)(rows * width) * sizeof(double));

    for (int p = 0; p < b->width && status == TESS_SUCCESS; p++) {
        if (b->slot[p] < 0) { continue; }
        status = take_column(b, rows, column_of(*x, b->width, p), column_of(moved, width, place++));
    }
    *spare = *x;
    *x = moved;
    return status;
}

static tess_status take_width(least_columns *b, int running)
{
    const int width = many_width(running);
    double **const shorts[] = {&b->v, &b->w, &b->step, &b->m};
    int place = 0;
    tess_status status = TESS_SUCCESS;

    if (width == b->width) { return TESS_SUCCESS; }
    TESS_TRY(narrow(b, rows_of(b), width, &b->u, &b->product_u));
    for (int i = 0; i < (is_lsmr(b) ? 4 : 3); i++) {
        TESS_TRY(narrow(b, columns_of(b), width, shorts[i], &b->product_v));
    }
    for (int p = 0; p < b->width; p++) {
        if (b->slot[p] >= 0) { b->slot[place++] = b->slot[p]; }
    }
    for (; place < width; place++) {
        b->slot[place] = -1;
    }
    b->width = width;
cleanup:
    return status;
}

/* The column in a place has left: what its vectors do is of no interest. */
static tess_status leave(const least_columns *b, int *slot, int place)
{
    const int64_t n = columns_of(b);
    const int c = *slot;

    *slot = -1;
    if (b->column[c].alone) { return TESS_SUCCESS; }
    return take_column(b, n, column_of(b->step, b->width, place), column_alone(b->steps + c * n));
}

/* Lets columns leave whose cycles have ended, and counts the others. */
static tess_status collect(least_columns *b, int *running)
{
    tess_status status = TESS_SUCCESS;

    *running = 0;
    for (int p = 0; p < b->width; p++) {
        const least_column *c = column_at(b, p);

        if (!c) { continue; }
        if (c->alone || c->cycle.reason != TESS_REASON_RUNNING) {
            TESS_TRY(leave(b, &b->slot[p], p));
        } else {
            *running += 1;
        }
    }
    status = *running > 0 ? take_width(b, *running) : TESS_SUCCESS;
cleanup:
    return status;
}

/* Tells the monitor of the column that is farthest from its goal. True: all are to end. */
static bool is_cancelled(const least_columns *b)
{
    const least_column *worst = NULL;
    tess_progress progress;

    for (int p = 0; p < b->width; p++) {
        const least_column *c = column_at(b, p);

        if (!c || c->alone) { continue; }
        if (!worst || c->k.residual * worst->cycle.goal > worst->k.residual * c->cycle.goal) { worst = c; }
    }
    if (!worst || !b->s->options.monitor) { return false; }
    progress = (tess_progress){worst->cycle.first + worst->cycle.iterations, worst->k.residual, worst->cycle.goal,
                               tess_wall_seconds() - worst->cycle.start};
    return b->s->options.monitor(b->s->options.monitor_user, &progress) != 0;
}

static void end_iteration(const least_columns *b)
{
    const int64_t capacity = b->s->history_capacity, most = b->s->options.max_iterations;
    bool cancelled = false;

    for (int p = 0; p < b->width; p++) {
        least_column *c = column_at(b, p);

        if (!c || c->alone) { continue; }
        c->cycle.iterations += 1;
        c->cycle.residual_norm = c->k.residual;
        if (c->cycle.iterations < capacity) {
            b->histories[b->slot[p] * capacity + c->cycle.iterations] = c->k.residual;
        }
    }
    cancelled = is_cancelled(b);
    for (int p = 0; p < b->width; p++) {
        least_column *c = column_at(b, p);

        if (!c || c->alone) { continue; }
        c->cycle.reason = cancelled ? TESS_REASON_CANCELLED : bidiagonal_reason(b->s, &c->k, &c->cycle);
        if (c->cycle.reason == TESS_REASON_RUNNING && c->cycle.iterations >= most) {
            c->cycle.reason = TESS_REASON_ITERATIONS;
        }
    }
}

/* alpha v = (A D)^T u, where beta u is the residual; the first direction is v. */
static tess_status start(least_columns *b, int *running)
{
    tess_context *ctx = b->s->ctx;
    tess_status status = TESS_SUCCESS;

    *running = 0;
    for (int p = 0; p < b->width; p++) {
        *running += b->slot[p] >= 0;
    }
    if (*running == 0) { return TESS_SUCCESS; }
    TESS_TRY(take_width(b, *running));
    TESS_TRY(next_v(b));
    TESS_TRY(ctx->backend->copy(ctx, b->w, b->v, (size_t)(columns_of(b) * b->width) * sizeof(double)));
    for (int p = 0; p < b->width; p++) {
        least_column *c = column_at(b, p);

        if (!c) { continue; }
        c->of_w = c->of_v;
        c->of_m = 1.0;
        bidiagonal_begin(b->s->options.solver, c->run.now.norm, &c->k);
        c->cycle.reason = bidiagonal_reason(b->s, &c->k, &c->cycle);
    }
    status = collect(b, running);
cleanup:
    return status;
}

static tess_status run_loop(least_columns *b)
{
    int running = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(start(b, &running));
    while (running > 0) {
        TESS_TRY(next_u(b));
        TESS_TRY(next_v(b));
        TESS_TRY(move(b));
        end_iteration(b);
        TESS_TRY(collect(b, &running));
    }
cleanup:
    return status;
}

/* ---- the solves ---- */

/* A column up to the loop. Its residual is its first u. */
static tess_status open_column(least_columns *b, int c, const tess_vector *right, tess_vector *x,
                               tess_solve_result *result, double began)
{
    tess_solver *s = b->s;
    least_column *column = &b->column[c];
    tess_status status = TESS_SUCCESS;

    column->run =
        (least_run){.s = s, .own = s->state, .b = right, .x = x, .result = result, .start = began, .share = 1.0};
    TESS_TRY(least_squares_open(&column->run, &column->reason, &column->cycles));
    if (s->history_capacity > 0) { b->histories[c * s->history_capacity] = s->host_history[0]; }
    b->slot[c] = -1;
    if (!column->cycles) { return TESS_SUCCESS; }
    column->cycle = least_squares_plan(&column->run);
    column->cycle.residual_norm = column->of_u = column->k.beta = column->run.now.norm;
    column->alone = !(column->of_u * column->of_u >= LEAST_SQUARE && column->of_u * column->of_u <= MOST_SQUARE);
    if (column->alone) { return TESS_SUCCESS; }
    b->slot[c] = c;
    status = take_column(b, rows_of(b), column_alone(b->own->residual->data), column_of(b->u, b->width, c));
cleanup:
    return status;
}

/* After the loop: its judgement, cycles of its own if it needs them, its result. */
static tess_status close_column(least_columns *b, int c)
{
    tess_solver *s = b->s;
    least_column *column = &b->column[c];
    const int64_t capacity = s->history_capacity, n = columns_of(b);
    const int64_t all = column->alone ? 1 : column->cycle.iterations + 1, length = all < capacity ? all : capacity;
    tess_status status = TESS_SUCCESS;

    if (capacity > 0) { memcpy(s->host_history, b->histories + c * capacity, (size_t)length * sizeof(double)); }
    if (column->cycles) {
        TESS_TRY(least_squares_return_to(&column->run, column->alone));
        TESS_TRY(s->ctx->backend->copy(s->ctx, b->own->step->data, b->steps + c * n, (size_t)n * sizeof(double)));
        TESS_TRY(least_squares_go_on(&column->run, column->alone ? NULL : &column->cycle, &column->reason));
    }
    TESS_TRY(least_squares_close(&column->run, column->reason));
    status = many_keep_history(s, NULL, column->run.result);
cleanup:
    return status;
}

tess_status least_squares_solve_columns(tess_solver *s, int count, tess_vector *const *b, tess_vector *const *x,
                                        tess_solve_result *results)
{
    const double began = tess_wall_seconds();
    least_columns all = {.s = s, .own = s->state, .count = count, .width = many_width(count)};
    tess_status status = TESS_SUCCESS;

    all.first_width = all.width;
    for (int p = 0; p < all.width; p++) {
        all.slot[p] = -1;
    }
    TESS_TRY(allocate(&all));
    for (int c = 0; c < count; c++) {
        TESS_TRY(open_column(&all, c, b[c], x[c], &results[c], began));
    }
    TESS_TRY(run_loop(&all));
    for (int c = 0; c < count; c++) {
        TESS_TRY(close_column(&all, c));
    }
cleanup:
    release(&all);
    return status;
}

/* ---- how many ---- */

static bool takes_columns(const tess_matrix *a)
{
    return a->ops->takes_columns && a->ops->takes_columns(a, false);
}

int least_squares_columns_together(const tess_solver *s, int64_t left)
{
    const least_squares *own = s->state;
    const tess_solve_options *o = &s->options;
    const tess_method *method = tess_find_method(o->solver);

    if (least_squares_of_shell(s) || o->guard != TESS_GUARD_REPAIR || o->timings || o->return_last ||
        o->max_iterations == 0 || !takes_columns(least_squares_matrix(s)) ||
        !takes_columns(own->stored_transpose ? own->stored_transpose : own->transpose)) {
        return 1;
    }
    return many_next_of(s, method, least_squares_matrix(s), left);
}
