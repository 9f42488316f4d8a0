/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of several columns: the method's own operations on vectors by rows, with a state for each column. When at
 * most half of the columns still run, they move to vectors of half the width, and the loop goes on there. A column that
 * pauses (guard_pause.c) waits until then.
 */
#include <string.h>

#include "solver/many.h"

/* The method's process for `columns` columns. */
typedef struct block {
    tess_krylov k;
    int nvectors;
    int slot[TESS_MAX_COLUMNS]; /* which of the columns; -1: padding */
    void *graph;
} block;

/* ---- what can run together ---- */

/* Refinement is in FP64, whatever its method's precisions are. */
static const tess_matrix *matrix_of(const method_solver *s)
{
    return many_is_refinement(s) ? s->original : solver_matrix(s);
}

/*
 * A preconditioner that takes one column makes a loop of several move its r and z about: so many bytes a row and
 * column, of which the writes count twice. The product must save more than these.
 */
enum { MOVED_BYTES = 6 * sizeof(double) };

bool many_outweighs_moves(const tess_matrix *matrix)
{
    return tess_matrix_bytes(matrix) >= (int64_t)MOVED_BYTES * matrix->nrows;
}

/*
 * Columns with bases of their own share the product alone, whose vectors are moved in the same way. On a host the bases
 * of all leave a cache that one of them fits into, and only a product of longer rows makes up for it. Eight columns of
 * GMRES together over one after another: 92 bytes a row 0.92 to 0.94 times as fast, 330 bytes 1.02 to 1.18 times;
 * FGMRES with its two bases 0.88 to 1.00 times.
 */
enum { HOST_BASES_BYTES = 24 * sizeof(double) };

bool many_outweighs_bases(const tess_matrix *matrix, int bases)
{
    const int64_t each =
        matrix->ctx->device == TESS_DEVICE_CPU ? bases * (int64_t)HOST_BASES_BYTES : (int64_t)MOVED_BYTES;

    return tess_matrix_bytes(matrix) >= each * matrix->nrows;
}

static bool precond_takes_columns(const method_solver *s)
{
    return !krylov_precond_takes_one(s->precond) || many_outweighs_moves(matrix_of(s));
}

/* The loop is recorded or plain, and CG has its standard form. */
bool many_takes_form(const tess_solve_options *o)
{
    const tess_recurrence recurrence = solve_options_recurrence(o);

    return o->engine != TESS_ENGINE_SINGLE_KERNEL &&
           (recurrence == TESS_RECURRENCE_AUTO || recurrence == TESS_RECURRENCE_STANDARD);
}

static bool matrix_takes_columns(const tess_matrix *matrix)
{
    return matrix->ops && matrix->ops->takes_columns && matrix->ops->takes_columns(matrix, false);
}

bool many_takes(const method_solver *s)
{
    const tess_method *method = many_method(s);
    const bool in_fp64 = many_is_refinement(s) || s->krylov.vectors == TESS_PRECISION_FP64;

    if (!method || !in_fp64 || s->krylov.extension || s->mapped || s->options->guard != TESS_GUARD_REPAIR ||
        s->options->timings || s->setup_reason != TESS_REASON_RUNNING) {
        return false;
    }
    if (method->run_columns) { return true; }
    if (method->many) {
        return method->many->takes(s) && many_takes_form(s->options) && matrix_takes_columns(matrix_of(s)) &&
               many_outweighs_bases(matrix_of(s), method->many->bases(s->options));
    }
    return method->takes_columns && many_takes_form(s->options) && matrix_takes_columns(matrix_of(s)) &&
           precond_takes_columns(s);
}

/*
 * On a host vectors of more columns leave the caches and gain nothing more; and where the matrix is in a cache, two or
 * three columns alone are as fast: 100 x 100 points, CG with Jacobi, one thread of a Xeon: 0.80 and 1.29 times as fast
 * with 2 and 4 columns, 1.48 with 8, 0.36 with 32 in one loop. Complete factors decide more than the vectors: 150 x 150
 * points, FGMRES with LU: 1.44, 1.85, 2.19 and 2.17 times with 2, 4, 8 and 32.
 */
enum { HOST_MOST = 8, HOST_CACHED_LEAST = 4, HOST_CACHED_BYTES = 1 << 24 };
/* A method with a loop of its own (block CG): its work by row grows with the square of the columns. 16 columns of 200 x
   200 points took two blocks of 8 on a host 310 iterations each and 1.2 s, one block of 16 240 and 2.1 s. */
enum { GPU_BLOCK_MOST = 16 };

int many_limit(const tess_method *method, bool complete, tess_device device)
{
    const bool has_own_loop = method->run_columns != NULL;
    const int on_gpu = has_own_loop ? (int)GPU_BLOCK_MOST : (int)TESS_MAX_COLUMNS;

    if (!has_own_loop && complete) { return TESS_MAX_COLUMNS; }
    return device == TESS_DEVICE_CPU ? (int)HOST_MOST : on_gpu;
}

int many_fewest(const tess_method *method, bool complete, const tess_matrix *matrix)
{
    const bool cached = !method->run_columns && matrix->ctx->device == TESS_DEVICE_CPU && !complete &&
                        tess_matrix_bytes(matrix) < HOST_CACHED_BYTES;

    return cached ? (int)HOST_CACHED_LEAST : 2;
}

int many_most(const method_solver *s)
{
    return many_limit(many_method(s), many_has_complete_factors(s), s->ctx->device);
}

/* Alone, a column of a small system is one kernel on a GPU, where a loop of columns has a kernel for each step. 256 x
   256 points, CG with Jacobi: 0.46, 0.86 to 1.04 and 1.42 to 1.49 times as fast with 2, 8 and 32 columns in one loop.
 */
enum { SINGLE_KERNEL_LEAST = 16 };

int many_least(const method_solver *s)
{
    const int least = many_fewest(many_method(s), many_has_complete_factors(s), matrix_of(s));
    const bool single = s->engine == TESS_ENGINE_SINGLE_KERNEL && !many_method(s)->run_columns;

    return single && least < SINGLE_KERNEL_LEAST ? SINGLE_KERNEL_LEAST : least;
}

tess_engine many_engine(const method_solver *s)
{
    const bool records =
        s->ctx->device == TESS_DEVICE_GPU && s->engine != TESS_ENGINE_PLAIN && tess_precond_is_recordable(s->precond);

    return records ? TESS_ENGINE_GRAPH : TESS_ENGINE_PLAIN;
}

static int64_t rows_of(const many_columns *m)
{
    return m->s->original->nrows;
}

static void release_block(const many_columns *m, block *b)
{
    tess_context *ctx = m->s->ctx;
    tess_krylov *k = &b->k;

    if (b->graph) { ctx->backend->release_graph(ctx, b->graph); }
    b->graph = NULL;
    tess_device_release(ctx, k->d, k->n, sizeof(double));
    tess_device_release(ctx, k->r, k->n, sizeof(double));
    for (int i = 0; i < 2; i++) {
        tess_device_release(ctx, k->apart[i], k->n, sizeof(double));
    }
    for (int i = 0; i < b->nvectors; i++) {
        tess_device_release(ctx, k->v[i], k->n, sizeof(double));
    }
    tess_device_release(ctx, k->state, k->columns, sizeof *k->state);
    if (k->numbers) { tess_device_release(ctx, k->numbers, k->columns, m->method->numbers); }
    memset(b, 0, sizeof *b);
}

tess_status many_prepare_precond(const tess_precond *m, int columns)
{
    const bool prepares =
        krylov_precond_is_apart(m) && !krylov_precond_takes_one(m) && m->ops->prepare_columns && columns > 1;

    return prepares ? m->ops->prepare_columns(m, columns) : TESS_SUCCESS;
}

static tess_status make_block(const many_columns *m, int columns, block *b)
{
    const method_solver *s = m->s;
    tess_context *ctx = s->ctx;
    tess_krylov *k = &b->k;
    tess_status status = TESS_SUCCESS;

    memset(b, 0, sizeof *b);
    *k = (tess_krylov){.ctx = ctx,
                       .matrix = matrix_of(s),
                       .precond = s->precond,
                       .n = rows_of(m) * columns,
                       .columns = columns,
                       .vectors = TESS_PRECISION_FP64,
                       .numbers_stride = m->method->numbers};
    TESS_TRY(tess_device_allocate(ctx, k->n, sizeof(double), (void **)&k->d));
    TESS_TRY(tess_device_allocate(ctx, k->n, sizeof(double), (void **)&k->r));
    b->nvectors = m->method->vectors(s->precond);
    for (int i = 0; i < b->nvectors; i++) {
        TESS_TRY(tess_device_allocate(ctx, k->n, sizeof(double), &k->v[i]));
        TESS_TRY(ctx->backend->zero(ctx, k->v[i], (size_t)k->n * sizeof(double)));
    }
    for (int i = 0; columns > 1 && krylov_precond_takes_one(s->precond) && i < 2; i++) {
        TESS_TRY(tess_device_allocate(ctx, k->n, sizeof(double), (void **)&k->apart[i]));
        TESS_TRY(ctx->backend->zero(ctx, k->apart[i], (size_t)k->n * sizeof(double)));
    }
    TESS_TRY(tess_device_allocate(ctx, columns, sizeof *k->state, (void **)&k->state));
    TESS_TRY(many_prepare_precond(s->precond, columns));
    if (m->method->numbers > 0) { TESS_TRY(tess_device_allocate(ctx, columns, m->method->numbers, &k->numbers)); }
    TESS_TRY(ctx->backend->zero(ctx, k->d, (size_t)k->n * sizeof(double)));
    status = ctx->backend->zero(ctx, k->r, (size_t)k->n * sizeof(double));
cleanup:
    return status;
}

/* The width for so many columns. */
int many_width(int columns)
{
    int width = 1;

    while (width < columns) {
        width *= 2;
    }
    return width;
}

static tess_status move(const many_columns *m, columns_place from, columns_place to)
{
    return columns_ops_of(m->s->ctx)->move(m->s->ctx, rows_of(m), 1, from, to);
}

/* The states of a block, to the device. Padding has ended. */
static tess_status upload_states(const many_columns *m, block *b, tess_loop_state *states)
{
    const tess_krylov *k = &b->k;

    for (int c = 0; c < k->columns; c++) {
        if (b->slot[c] < 0) { states[c] = (tess_loop_state){.phase = TESS_LOOP_STOPPED, .scale = 1.0}; }
        states[c].numbers = k->numbers ? (char *)k->numbers + (size_t)c * k->numbers_stride : NULL;
    }
    return m->s->ctx->backend->upload(m->s->ctx, k->state, states, (size_t)k->columns * sizeof *states);
}

/* The columns that need the loop, as their cycles begin. */
static tess_status fill_block(const many_columns *m, block *b)
{
    const int64_t n = rows_of(m), capacity = m->s->head->history_capacity;
    tess_loop_state states[TESS_MAX_COLUMNS];
    int place = 0;
    tess_status status = TESS_SUCCESS;

    for (int c = 0; c < m->count; c++) {
        if (!m->column[c].cycles) { continue; }
        b->slot[place] = c;
        states[place] = m->column[c].run.begin;
        states[place].history = m->history ? m->history + c * capacity : NULL;
        TESS_TRY(move(m, column_alone(m->r + c * n), column_of(b->k.r, b->k.columns, place)));
        place += 1;
    }
    for (; place < b->k.columns; place++) {
        b->slot[place] = -1;
    }
    TESS_TRY(upload_states(m, b, states));
    status = m->method->start(&b->k);
cleanup:
    return status;
}

void many_swap_kept(const many_columns *m, int c)
{
    double *const own = m->column[c].kept;

    m->column[c].kept = m->s->kept;
    m->s->kept = own;
}

/* A pause: the true residual tells whether the column goes on. */
static tess_status end_pause(const many_columns *m, const block *b, int c, tess_loop_state *state)
{
    const tess_krylov *k = &b->k;
    method_solver *s = m->s;
    bool resumes = false;
    tess_status status = TESS_SUCCESS;

    if (!m->method->pauses || state->reason != TESS_REASON_RUNNING) { return TESS_SUCCESS; }
    TESS_TRY(move(m, column_of(k->d, k->columns, c), column_alone(s->krylov.d)));
    TESS_TRY(move(m, column_of(k->r, k->columns, c), column_alone(s->krylov.r)));
    many_swap_kept(m, b->slot[c]);
    status = guard_end_pause(&m->column[b->slot[c]].run, state, &resumes);
    many_swap_kept(m, b->slot[c]);
    if (status == TESS_SUCCESS && resumes) {
        status = move(m, column_alone(s->krylov.r), column_of(k->r, k->columns, c));
    }
cleanup:
    return status;
}

/* Where a column stands: what follows the loop starts from there. */
static tess_status keep_end(const many_columns *m, const block *b, int c, const tess_loop_state *state)
{
    const tess_krylov *k = &b->k;
    const int slot = b->slot[c];
    const size_t bytes = m->method->numbers;
    tess_status status = TESS_SUCCESS;

    m->column[slot].end = *state;
    if (m->numbers) {
        TESS_TRY(k->ctx->backend->copy(k->ctx, (char *)m->numbers + (size_t)slot * bytes,
                                       (const char *)k->numbers + (size_t)c * bytes, bytes));
    }
    status = move(m, column_of(k->d, k->columns, c), column_alone(m->d + slot * rows_of(m)));
cleanup:
    return status;
}

/* Keeps what has ended, and counts what runs. */
static tess_status collect(const many_columns *m, const block *b, tess_loop_state *states, int *running)
{
    const tess_krylov *k = &b->k;
    tess_status status = TESS_SUCCESS;

    *running = 0;
    TESS_TRY(k->ctx->backend->download(k->ctx, states, k->state, (size_t)k->columns * sizeof *states));
    for (int c = 0; c < k->columns; c++) {
        if (b->slot[c] < 0) { continue; }
        if (states[c].phase == TESS_LOOP_RUNNING) {
            *running += 1;
            continue;
        }
        TESS_TRY(end_pause(m, b, c, &states[c]));
        *running += states[c].phase == TESS_LOOP_RUNNING;
        TESS_TRY(keep_end(m, b, c, &states[c]));
    }
cleanup:
    return status;
}

/* Column `from` of a block goes on as column `to` of another. */
static tess_status move_column(const many_columns *m, const block *from, int c, block *to, int place)
{
    const tess_krylov *k = &from->k, *l = &to->k;
    const size_t bytes = m->method->numbers;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(move(m, column_of(k->d, k->columns, c), column_of(l->d, l->columns, place)));
    TESS_TRY(move(m, column_of(k->r, k->columns, c), column_of(l->r, l->columns, place)));
    for (int i = 0; i < from->nvectors; i++) {
        TESS_TRY(move(m, column_of(k->v[i], k->columns, c), column_of(l->v[i], l->columns, place)));
    }
    if (k->numbers) {
        status = k->ctx->backend->copy(k->ctx, (char *)l->numbers + (size_t)place * bytes,
                                       (const char *)k->numbers + (size_t)c * bytes, bytes);
    }
cleanup:
    return status;
}

/* The running columns, in a block of the width that they need. */
static tess_status shrink(const many_columns *m, block *b, const tess_loop_state *states, int running)
{
    tess_loop_state kept[TESS_MAX_COLUMNS];
    block smaller;
    int place = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_block(m, many_width(running), &smaller));
    for (int c = 0; c < b->k.columns; c++) {
        if (b->slot[c] < 0 || states[c].phase != TESS_LOOP_RUNNING) { continue; }
        TESS_TRY(move_column(m, b, c, &smaller, place));
        smaller.slot[place] = b->slot[c];
        kept[place++] = states[c];
    }
    for (; place < smaller.k.columns; place++) {
        smaller.slot[place] = -1;
    }
    status = upload_states(m, &smaller, kept);
cleanup:
    release_block(m, status == TESS_SUCCESS ? b : &smaller);
    if (status == TESS_SUCCESS) { *b = smaller; }
    return status;
}

static tess_status go_on(const many_columns *m, block *b, tess_loop_state *states, int running)
{
    return many_width(running) < b->k.columns ? shrink(m, b, states, running) : upload_states(m, b, states);
}

static tess_status run_block(const many_columns *m, block *b)
{
    const method_solver *s = m->s;
    tess_loop loop = {.body = m->method->iterate,
                      .solver = &b->k,
                      .engine = (int)many_engine(s),
                      .state = b->k.state,
                      .columns = b->k.columns,
                      .leave_at = b->k.columns / 2,
                      .monitor = s->options->monitor,
                      .monitor_user = s->options->monitor_user,
                      .start_seconds = m->start,
                      .graph_slot = &b->graph};

    return s->ctx->backend->run_loop(s->ctx, &loop);
}

tess_status many_run_loop(many_columns *m)
{
    tess_loop_state states[TESS_MAX_COLUMNS];
    block b = {.nvectors = 0};
    int running = 0;
    tess_status status = TESS_SUCCESS;

    for (int c = 0; c < m->count; c++) {
        running += m->column[c].cycles;
    }
    if (running == 0) { return TESS_SUCCESS; }
    if (m->method->run_columns) { return m->method->run_columns(m); }
    if (m->method->many) { return m->method->many->run(m); }
    TESS_TRY(make_block(m, many_width(running), &b));
    TESS_TRY(fill_block(m, &b));
    while (running > 0) {
        TESS_TRY(run_block(m, &b));
        TESS_TRY(collect(m, &b, states, &running));
        if (running > 0) { TESS_TRY(go_on(m, &b, states, running)); }
    }
cleanup:
    release_block(m, &b);
    return status;
}
