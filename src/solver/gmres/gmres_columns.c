/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GMRES and FGMRES of several columns in one loop. Each column has a basis and a small problem of its own, in the
 * arithmetic of one column; products, and preconditioners that take several columns, are of all at once. For these the
 * vectors to be multiplied move to vectors by rows, and the products back: twice in an iteration.
 *
 * All columns begin a cycle together and keep in step, so that those whose bases are full restart together. A column
 * whose cycle ends otherwise waits for the guard, which goes on with it alone.
 */
#include <string.h>

#include "base/precision_traits.h"
#include "solver/gmres/gmres.h"

typedef struct gmres_columns {
    const many_columns *m;
    const tess_gmres *g;
    int count;                  /* columns at first */
    int places;                 /* that are in use */
    int slot[TESS_MAX_COLUMNS]; /* which of the columns is in a place; -1: it has left */
    tess_krylov k;              /* of the width that they need now */
    void *graph;
    /* by place, ld values each: the newest vector; its product; M^-1 times it, NULL without a preconditioner */
    double *vector, *w, *z;
    double *in, *out; /* by rows: a factor and its product */
    /* by column: bases; FGMRES: those of preconditioned vectors; small problems; the numbers of their columns */
    char *bases, *preconditioned;
    double *numbers;
    int32_t *last;
} gmres_columns;

/* ---- sizes ---- */

int gmres_count_bases(const tess_solve_options *o)
{
    return o->solver == TESS_SOLVER_FGMRES && o->precond.kind != TESS_PRECOND_NONE ? 2 : 1;
}

/* The loop's vectors are in FP64. */
bool gmres_expects_columns(const tess_solve_options *o)
{
    if (o->gmres.inner.given) { return o->gmres.inner.arithmetic == TESS_ARITHMETIC_FP64; }
    return o->solver != TESS_SOLVER_GMRES_IR;
}

int64_t gmres_column_bytes(const tess_solve_options *o, int64_t n)
{
    const int64_t least = n < o->gmres.restart ? n : o->gmres.restart, most = least < 1 ? 1 : least;
    const bool flexible = gmres_count_bases(o) > 1;
    const int64_t basis = (most + 1) * (int64_t)tess_precision_bytes(gmres_basis_precision(o));
    const int64_t preconditioned = flexible ? most * (int64_t)sizeof(double) : 0;

    return n * (basis + preconditioned) + most * (most + 1) * (int64_t)sizeof(double);
}

static int64_t basis_bytes(const gmres_columns *b)
{
    const tess_arnoldi *a = &b->g->arnoldi;

    return a->ld * (a->small.most + 1) * (int64_t)tess_precision_bytes(a->precision);
}

/* Of the preconditioned vectors of a column. */
static int64_t preconditioned_bytes(const gmres_columns *b)
{
    return b->g->arnoldi.ld * b->g->arnoldi.small.most * (int64_t)sizeof(double);
}

static int64_t rows_of(const gmres_columns *b)
{
    return b->g->arnoldi.n;
}

/* ---- memory ---- */

static void release(gmres_columns *b)
{
    tess_context *ctx = b->m->s->ctx;
    const int64_t vectors = b->g->arnoldi.ld * b->count, by_rows = rows_of(b) * many_width(b->count);

    if (b->graph) { ctx->backend->release_graph(ctx, b->graph); }
    tess_device_release(ctx, b->vector, vectors, sizeof(double));
    tess_device_release(ctx, b->w, vectors, sizeof(double));
    tess_device_release(ctx, b->z, vectors, sizeof(double));
    tess_device_release(ctx, b->in, by_rows, sizeof(double));
    tess_device_release(ctx, b->out, by_rows, sizeof(double));
    tess_device_release(ctx, b->bases, b->count * basis_bytes(b), 1);
    tess_device_release(ctx, b->preconditioned, b->count * preconditioned_bytes(b), 1);
    tess_device_release(ctx, b->numbers, b->count * b->g->nnumbers, sizeof(double));
    tess_device_release(ctx, b->last, 2 * (int64_t)b->count, sizeof *b->last);
    tess_device_release(ctx, b->k.state, TESS_MAX_COLUMNS, sizeof *b->k.state);
}

static tess_status allocate_zeros(tess_context *ctx, int64_t count, double **out)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, count, sizeof(double), (void **)out));
    status = ctx->backend->zero(ctx, *out, (size_t)count * sizeof(double));
cleanup:
    return status;
}

static tess_status allocate(gmres_columns *b)
{
    tess_context *ctx = b->m->s->ctx;
    const int64_t vectors = b->g->arnoldi.ld * b->count, by_rows = rows_of(b) * many_width(b->count);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(allocate_zeros(ctx, vectors, &b->vector));
    TESS_TRY(allocate_zeros(ctx, vectors, &b->w));
    if (!tess_precond_is_identity(b->k.precond)) { TESS_TRY(allocate_zeros(ctx, vectors, &b->z)); }
    TESS_TRY(allocate_zeros(ctx, by_rows, &b->in));
    TESS_TRY(allocate_zeros(ctx, by_rows, &b->out));
    TESS_TRY(tess_device_allocate(ctx, b->count * basis_bytes(b), 1, (void **)&b->bases));
    if (b->g->flexible) {
        TESS_TRY(tess_device_allocate(ctx, b->count * preconditioned_bytes(b), 1, (void **)&b->preconditioned));
    }
    TESS_TRY(tess_device_allocate(ctx, b->count * b->g->nnumbers, sizeof(double), (void **)&b->numbers));
    TESS_TRY(tess_device_allocate(ctx, 2 * (int64_t)b->count, sizeof *b->last, (void **)&b->last));
    status = tess_device_allocate(ctx, TESS_MAX_COLUMNS, sizeof *b->k.state, (void **)&b->k.state);
cleanup:
    return status;
}

/* ---- a column ---- */

static double *at(const gmres_columns *b, double *vectors, int place)
{
    return vectors + place * b->g->arnoldi.ld;
}

/* The process of the column in a place. */
static tess_arnoldi arnoldi_at(const gmres_columns *b, int place)
{
    const int slot = b->slot[place];
    tess_arnoldi a = b->g->arnoldi;

    a.vectors = TESS_PRECISION_FP64;
    a.basis = b->bases + slot * basis_bytes(b);
    a.vector = at(b, b->vector, place);
    a.w = at(b, b->w, place);
    a.residual = a.w;
    a.state = b->k.state + place;
    a.small.last = b->last + 2 * (int64_t)slot;
    a.small.stored = a.small.last + 1;
    (void)gmres_place_numbers(&a.small, b->numbers + slot * b->g->nnumbers);
    return a;
}

/* Where FGMRES keeps the preconditioned vectors of a column. */
static double *preconditioned_of(const gmres_columns *b, int slot)
{
    return (double *)(void *)(b->preconditioned + slot * preconditioned_bytes(b));
}

static tess_status copy(const gmres_columns *b, double *to, const double *from)
{
    const tess_context *ctx = b->k.ctx;

    return ctx->backend->copy(b->k.ctx, to, from, (size_t)rows_of(b) * sizeof *to);
}

/* The first vector of a cycle, from the column's residual. Its state is there. */
static tess_status start(const gmres_columns *b, int place)
{
    const tess_arnoldi a = arnoldi_at(b, place);
    tess_status status = copy(b, a.w, b->m->r + b->slot[place] * rows_of(b));

    return status == TESS_SUCCESS ? arnoldi_ops_of(b->k.ctx)->run(b->k.ctx, &a, TESS_ARNOLDI_START) : status;
}

/* d at the end of a cycle, as gmres.c has it. */
static tess_status finish(const gmres_columns *b, int place)
{
    const int slot = b->slot[place];
    tess_arnoldi a = arnoldi_at(b, place);
    double *d = a.w;
    tess_status status = TESS_SUCCESS;

    a.sum = a.w;
    a.sum_precision = TESS_PRECISION_FP64;
    if (b->g->flexible) {
        a.basis = preconditioned_of(b, slot);
        a.precision = TESS_PRECISION_FP64;
        a.small.scale = a.small.unit;
    }
    TESS_TRY(arnoldi_ops_of(b->k.ctx)->run(b->k.ctx, &a, TESS_ARNOLDI_COMBINE));
    if (b->z && !b->g->flexible) {
        d = at(b, b->z, place);
        TESS_TRY(tess_precond_apply_fused(b->k.precond, TESS_PRECISION_FP64, a.w, d, &(tess_reduction){0}));
    }
    status = copy(b, b->m->d + slot * rows_of(b), d);
cleanup:
    return status;
}

/* ---- an iteration ---- */

/* Vectors that are one after another, by rows; one column alone is both. */
static tess_status to_rows(const gmres_columns *b, double *from, double *to)
{
    const columns_place by_rows = {to, b->k.columns, 1}, by_columns = {from, 1, b->g->arnoldi.ld};

    return columns_ops_of(b->k.ctx)->move(b->k.ctx, rows_of(b), b->places, by_columns, by_rows);
}

static tess_status from_rows(const gmres_columns *b, double *from, double *to)
{
    const columns_place by_rows = {from, b->k.columns, 1}, by_columns = {to, 1, b->g->arnoldi.ld};

    return columns_ops_of(b->k.ctx)->move(b->k.ctx, rows_of(b), b->places, by_rows, by_columns);
}

/* z of each column alone, with the bits of one. */
static tess_status precondition_alone(const gmres_columns *b)
{
    tess_status status = TESS_SUCCESS;

    for (int p = 0; p < b->places; p++) {
        const tess_reduction running = {.state = b->k.state + p};

        TESS_TRY(
            tess_precond_apply_fused(b->k.precond, TESS_PRECISION_FP64, at(b, b->vector, p), at(b, b->z, p), &running));
    }
cleanup:
    return status;
}

static tess_status keep_preconditioned(const gmres_columns *b)
{
    tess_status status = TESS_SUCCESS;

    for (int p = 0; p < b->places; p++) {
        if (b->slot[p] < 0) { continue; }
        TESS_TRY(copy(b, preconditioned_of(b, b->slot[p]) + b->k.iterated * b->g->arnoldi.ld, at(b, b->z, p)));
    }
cleanup:
    return status;
}

/* *factor: the vectors to multiply, M^-1 v by rows; *product: where A times them goes. */
static tess_status precondition(const gmres_columns *b, double **factor, double **product)
{
    const tess_precond *m = b->k.precond;
    const bool together = b->z && b->k.columns > 1 && krylov_precond_is_apart(m) && !krylov_precond_takes_one(m);
    double *from = b->vector;
    tess_status status = TESS_SUCCESS;

    *factor = b->in;
    *product = b->out;
    if (together) {
        TESS_TRY(to_rows(b, b->vector, b->out));
        TESS_TRY(m->ops->apply_columns(m, b->k.columns, b->out, b->in));
        if (b->g->flexible) { TESS_TRY(from_rows(b, b->in, b->z)); }
    } else if (b->z) {
        TESS_TRY(precondition_alone(b));
        from = b->z;
    }
    if (b->g->flexible) { TESS_TRY(keep_preconditioned(b)); }
    if (b->k.columns == 1) {
        *factor = from;
        *product = b->w;
    } else if (!together) {
        status = to_rows(b, from, b->in);
    }
cleanup:
    return status;
}

static tess_status iterate(void *columns)
{
    gmres_columns *b = columns;
    double *factor = NULL, *product = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(precondition(b, &factor, &product));
    b->k.iterated += 1;
    TESS_TRY(krylov_spmv(&b->k, factor, product, (tess_reduction){0}));
    if (product != b->w) { TESS_TRY(from_rows(b, product, b->w)); }
    for (int p = 0; p < b->places; p++) {
        const tess_arnoldi a = arnoldi_at(b, p);

        if (b->slot[p] < 0) { continue; }
        TESS_TRY(arnoldi_ops_of(b->k.ctx)->run(b->k.ctx, &a, TESS_ARNOLDI_STEP));
    }
cleanup:
    return status;
}

/* ---- the loop ---- */

/* The columns in their places, for the width that they need: the newest vectors move, bases stay. */
static tess_status take_width(gmres_columns *b, tess_loop_state *states)
{
    const int before = b->k.columns;
    int place = 0;
    tess_status status = TESS_SUCCESS;

    for (int p = 0; p < b->places; p++) {
        if (b->slot[p] < 0) { continue; }
        if (place < p) { TESS_TRY(copy(b, at(b, b->vector, place), at(b, b->vector, p))); }
        b->slot[place] = b->slot[p];
        states[place++] = states[p];
    }
    b->places = place;
    b->k.columns = many_width(place);
    b->k.n = rows_of(b) * b->k.columns;
    if (b->k.columns != before) { TESS_TRY(many_prepare_precond(b->k.precond, b->k.columns)); }
    if (b->graph) { b->k.ctx->backend->release_graph(b->k.ctx, b->graph); }
    b->graph = NULL;
cleanup:
    return status;
}

/* Padding and what has left have stopped. */
static tess_status upload_states(const gmres_columns *b, tess_loop_state *states)
{
    for (int p = 0; p < b->k.columns; p++) {
        if (p < b->places && b->slot[p] >= 0) { continue; }
        states[p] = (tess_loop_state){.phase = TESS_LOOP_STOPPED, .scale = 1.0};
    }
    return b->k.ctx->backend->upload(b->k.ctx, b->k.state, states, (size_t)b->k.columns * sizeof *states);
}

static tess_loop_state begin_of(const gmres_columns *b, int slot)
{
    tess_loop_state state = b->m->column[slot].run.begin;

    state.history = b->m->history ? b->m->history + slot * b->m->s->head->history_capacity : NULL;
    state.numbers = NULL;
    return state;
}

static tess_status start_all(gmres_columns *b)
{
    tess_status status = TESS_SUCCESS;

    b->k.iterated = 0;
    for (int p = 0; p < b->places; p++) {
        if (b->slot[p] >= 0) { TESS_TRY(start(b, p)); }
    }
cleanup:
    return status;
}

static tess_status run_until_half_has_ended(gmres_columns *b)
{
    const method_solver *s = b->m->s;
    tess_loop loop = {.body = iterate,
                      .solver = b,
                      .engine = (int)many_engine(s),
                      .state = b->k.state,
                      .columns = b->k.columns,
                      .leave_at = b->k.columns / 2,
                      .monitor = s->options->monitor,
                      .monitor_user = s->options->monitor_user,
                      .start_seconds = b->m->start,
                      .graph_slot = &b->graph};

    return s->ctx->backend->run_loop(s->ctx, &loop);
}

/* The column in a place has ended its cycle. alone: no other is within one, so that it may restart with those that do.
   A place whose column leaves is free. */
static tess_status end_cycle(gmres_columns *b, many_columns *m, int place, bool alone, tess_loop_state *state)
{
    const int slot = b->slot[place];
    bool restarts = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(finish(b, place));
    m->column[slot].end = *state;
    if (state->reason == TESS_REASON_RUNNING && alone) { TESS_TRY(many_restart(m, slot, &restarts)); }
    b->slot[place] = -1;
    if (restarts) {
        b->slot[place] = slot;
        *state = begin_of(b, slot);
    }
cleanup:
    return status;
}

/* Ends cycles. *left: columns that go on; *fresh: from a new cycle. */
static tess_status collect(gmres_columns *b, many_columns *m, tess_loop_state *states, int *left, bool *fresh)
{
    int running = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(b->k.ctx->backend->download(b->k.ctx, states, b->k.state, (size_t)b->k.columns * sizeof *states));
    for (int p = 0; p < b->places; p++) {
        running += b->slot[p] >= 0 && states[p].phase == TESS_LOOP_RUNNING;
    }
    *fresh = running == 0;
    *left = running;
    for (int p = 0; p < b->places; p++) {
        if (b->slot[p] < 0 || states[p].phase == TESS_LOOP_RUNNING) { continue; }
        TESS_TRY(end_cycle(b, m, p, *fresh, &states[p]));
        *left += b->slot[p] >= 0;
    }
cleanup:
    return status;
}

static tess_status run_cycles(gmres_columns *b, many_columns *m, tess_loop_state *states)
{
    bool fresh = true;
    int left = b->places;
    tess_status status = TESS_SUCCESS;

    while (left > 0) {
        if (many_width(left) != b->k.columns) { TESS_TRY(take_width(b, states)); }
        TESS_TRY(upload_states(b, states));
        if (fresh) { TESS_TRY(start_all(b)); }
        TESS_TRY(run_until_half_has_ended(b));
        TESS_TRY(collect(b, m, states, &left, &fresh));
    }
cleanup:
    return status;
}

tess_status gmres_run_columns(many_columns *m)
{
    const method_solver *s = m->s;
    tess_loop_state states[TESS_MAX_COLUMNS];
    gmres_columns b = {
        .m = m,
        .g = s->own,
        .k = {.ctx = s->ctx, .matrix = solver_matrix(s), .precond = s->precond, .vectors = TESS_PRECISION_FP64}};
    tess_status status = TESS_SUCCESS;

    for (int c = 0; c < m->count; c++) {
        if (!m->column[c].cycles) { continue; }
        states[b.count] = begin_of(&b, c);
        b.slot[b.count++] = c;
    }
    /* bases by column, whichever of them need one */
    b.places = b.count;
    b.count = m->count;
    TESS_TRY(allocate(&b));
    status = run_cycles(&b, m, states);
cleanup:
    release(&b);
    return status;
}
