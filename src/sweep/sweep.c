/* SPDX-License-Identifier: Apache-2.0 */
/* Iterations of a sweep, and the copies of its vectors in and out. */
#include "sweep/sweep.h"

#include <math.h>

#include "format/csr/csr.h"

/* The assignment of the rows' parts; NULL if x := A x takes any format. */
static const tess_assignment_summary *parts_of(const tess_sweep *w)
{
    return w->stored && w->request.kind != TESS_UPDATE_NONE ? tess_matrix_assigned_to(w->stored) : NULL;
}

static sweep_way way_of_assigned(const tess_sweep *w, const tess_assignment_summary *summary)
{
    sweep_way way = {.copy = TESS_COPY_ASSIGNED, .precision = TESS_PRECISION_FP64};

    for (int l = 0; l < summary->options.nlevels; l++) {
        if (summary->nonzeros_at[l] == 0) { continue; }
        way.precision = summary->options.level[l].precision;
        way.reads_fp64 = way.reads_fp64 || way.precision == TESS_PRECISION_FP64;
        way.reads_fp32 = way.reads_fp32 || way.precision != TESS_PRECISION_FP64;
    }
    /* Algorithm 2, line 4: the diagonal multiplies x in FP64. */
    way.reads_fp64 = way.reads_fp64 || !way.reads_fp32 || w->request.kind == TESS_UPDATE_TIME_STEP;
    return way;
}

sweep_way sweep_way_of(const tess_sweep *w, int what)
{
    const tess_assignment_summary *parts = parts_of(w);
    sweep_way way = {.reads_fp64 = true, .precision = TESS_PRECISION_FP64};

    if (!parts) { return way; }
    if (what == TESS_MIXED) { return way_of_assigned(w, parts); }
    way.precision = (tess_precision)what;
    way.reads_fp32 = way.precision != TESS_PRECISION_FP64;
    /* Algorithm 2, lines 4 and 5: x stays in FP64 beside its FP32 copy, because the diagonal multiplies it. */
    way.reads_fp64 = !way.reads_fp32 || w->request.kind == TESS_UPDATE_TIME_STEP;
    for (int l = 0; l < parts->options.nlevels; l++) {
        if (parts->options.level[l].precision == way.precision) { way.copy = TESS_COPY_LEVEL + l; }
    }
    return way;
}

bool sweep_has_copy(const tess_sweep *w, tess_precision precision)
{
    const tess_assignment_summary *parts = parts_of(w);

    for (int l = 0; parts && w->stored->ops->can.copies_levels && l < parts->options.nlevels; l++) {
        if (parts->options.level[l].precision == precision) { return true; }
    }
    return !parts && precision == TESS_PRECISION_FP64;
}

/* ---- vectors in and out, once per run ---- */

static tess_status reorder(const tess_sweep *w, const int64_t *from, const double *source, double *out)
{
    if (!from) { return w->ctx->backend->copy(w->ctx, out, source, (size_t)w->n * sizeof *out); }
    return csr_ops_of(w->ctx)->gather(w->ctx, w->n, source, from, out);
}

tess_status sweep_load(tess_sweep *w, const double *x)
{
    tess_status status = TESS_SUCCESS;

    w->now = 0;
    w->has = true;
    w->has_low = false;
    if (x) { return reorder(w, w->row_at, x, w->x[0]); }
    TESS_TRY(w->ctx->backend->zero(w->ctx, w->x[0], (size_t)w->n * sizeof *w->x[0]));
    if (!w->low[0]) { return TESS_SUCCESS; }
    w->has_low = true;
    status = w->ctx->backend->zero(w->ctx, w->low[0], (size_t)w->n * sizeof *w->low[0]);
cleanup:
    return status;
}

tess_status sweep_load_rhs(tess_sweep *w, const double *b)
{
    return reorder(w, w->row_at, b, w->rhs);
}

/* Copies the iterate to the vectors that an entry of the schedule reads. */
static tess_status provide(tess_sweep *w, const sweep_way *way)
{
    const tess_backend *backend = w->ctx->backend;
    double *x = w->x[w->now];
    float *low = w->low[w->now];
    tess_status status = TESS_SUCCESS;

    if (way->reads_fp64 && !w->has) {
        TESS_TRY(backend->convert(w->ctx, w->n, TESS_PRECISION_FP32, low, TESS_PRECISION_FP64, x));
        w->has = true;
    }
    if (way->reads_fp32 && !w->has_low) {
        TESS_TRY(backend->convert(w->ctx, w->n, TESS_PRECISION_FP64, x, TESS_PRECISION_FP32, low));
        w->has_low = true;
    }
cleanup:
    return status;
}

tess_status sweep_store(tess_sweep *w, double *x)
{
    const sweep_way fp64 = {.reads_fp64 = true};
    tess_status status = provide(w, &fp64);

    return status == TESS_SUCCESS ? reorder(w, w->position_of, w->x[w->now], x) : status;
}

/* ---- iterations ---- */

typedef struct sweep_pass {
    tess_sweep *w;
    sweep_way way;
} sweep_pass;

/* One iteration: product, update and both copies of the new vector in one pass (Algorithm 1, lines 3 to 5). With `all`
   it is written in both precisions, else in those that the entry reads. */
static tess_status iterate(const sweep_pass *pass, bool all, tess_loop_state *measure)
{
    tess_sweep *w = pass->w;
    const sweep_way *way = &pass->way;
    const tess_matrix *matrix = w->stored ? w->stored : w->original;
    int from = w->now, to = 1 - from;
    tess_spmv_args args = {.x = way->reads_fp64 ? w->x[from] : NULL,
                           .x_shadow = way->reads_fp32 ? w->low[from] : NULL,
                           .y = all || way->reads_fp64 ? w->x[to] : NULL,
                           .y_shadow = all || way->reads_fp32 ? w->low[to] : NULL,
                           .alpha = 1.0,
                           .copy = way->copy};

    if (w->request.kind != TESS_UPDATE_NONE) {
        args.update =
            (tess_update){.kind = w->request.kind, .rhs = w->rhs, .scale = w->scale, .omega = w->request.omega};
    }
    if (measure) { args.reduction = (tess_reduction){.ndots = 1, .scalar = TESS_SCALAR_NONE, .state = measure}; }
    w->has = args.y != NULL;
    w->has_low = args.y_shadow != NULL;
    w->now = to;
    return matrix->ops->spmv(matrix, &args);
}

static tess_status iterate_twice(void *pass)
{
    tess_status status = iterate(pass, false, NULL);

    return status == TESS_SUCCESS ? iterate(pass, false, NULL) : status;
}

tess_status sweep_run(tess_sweep *w, int what, int64_t count)
{
    const tess_backend *backend = w->ctx->backend;
    sweep_pass pass = {w, sweep_way_of(w, what)};
    int64_t silent = count - 1; /* the last one leaves the iterate in both precisions */
    tess_status status = TESS_SUCCESS;

    if (count <= 0) { return TESS_SUCCESS; }
    TESS_TRY(provide(w, &pass.way));
    if (w->now == 1 && silent > 0) { /* recordings begin at vector 0 */
        TESS_TRY(iterate(&pass, false, NULL));
        silent -= 1;
    }
    if (w->request.launches_apart) {
        for (int64_t i = 0; i < silent / 2; i++) {
            TESS_TRY(iterate_twice(&pass));
        }
    } else {
        TESS_TRY(backend->repeat(w->ctx, iterate_twice, &pass, silent / 2, &w->graphs[what + 1]));
    }
    if (silent % 2 > 0) { TESS_TRY(iterate(&pass, false, NULL)); }
    status = iterate(&pass, true, NULL);
cleanup:
    return status;
}

tess_status sweep_measure(tess_sweep *w, int what, double *norm)
{
    const sweep_pass pass = {w, sweep_way_of(w, what)};
    tess_context *ctx = w->ctx;
    tess_loop_state state;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(provide(w, &pass.way));
    TESS_TRY(iterate(&pass, true, ctx->scratch_state));
    TESS_TRY(ctx->backend->download(ctx, &state, ctx->scratch_state, sizeof state));
    *norm = sqrt(state.dots[0]);
cleanup:
    return status;
}

/* ---- what an iteration moves ---- */

/* Bytes of all values in one precision, or as assigned. */
static int64_t value_bytes(const tess_assignment_summary *summary, int what)
{
    int64_t bytes = 0;

    for (int l = 0; l < summary->options.nlevels; l++) {
        tess_precision precision = what == TESS_MIXED ? summary->options.level[l].precision : (tess_precision)what;

        bytes += summary->nonzeros_at[l] * (int64_t)tess_precision_bytes(precision);
    }
    return bytes;
}

/* Bytes of columns and offsets as in CSR. Read: rhs and scale, x in the entry's precision; written: the same. */
int64_t sweep_iteration_bytes(const tess_sweep *w, int what)
{
    const tess_assignment_summary *parts = parts_of(w);
    const sweep_way way = sweep_way_of(w, what);
    int64_t vector = (way.reads_fp64 ? 8 : 0) + (way.reads_fp32 ? 4 : 0), nnz = 0;
    int64_t each = 2 * vector + (w->scale ? 8 : 0) + (w->rhs ? 8 : 0);

    if (!parts) { return tess_matrix_bytes(w->stored ? w->stored : w->original) + each * w->n; }
    for (int l = 0; l < parts->options.nlevels; l++) {
        nnz += parts->nonzeros_at[l];
    }
    return value_bytes(parts, what) + 4 * nnz + (each + (nnz < INT32_MAX ? 4 : 8)) * w->n;
}
