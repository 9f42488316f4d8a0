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
#include "matrix/assembled.h"
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

static bool is_taken(const char *name)
{
    for (int i = 0; taken[i]; i++) {
        if (strcmp(name, taken[i]) == 0) { return true; }
    }
    return false;
}

static tess_status refuse_option(tess_context *ctx, const char *option)
{
    return tess_fail(ctx, TESS_UNSUPPORTED,
                     "a batch takes solver auto, cg, bicgstab; precond none, jacobi; rtol, atol, divergence-tolerance, "
                     "max-iterations, time-limit, stop-norm",
                     "a batch of systems does not take %s", option);
}

static tess_status check_options(tess_context *ctx, const tess_solve_options *o)
{
    const tess_option *option = NULL;
    char what[128];

    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        if (is_taken(option->name) || !tess_options_is_set(o, option->name)) { continue; }
        snprintf(what, sizeof what, "the option %s", option->name);
        return refuse_option(ctx, what);
    }
    if (o->monitor) { return refuse_option(ctx, "a monitor"); }
    if (o->solver != TESS_SOLVER_AUTO && o->solver != TESS_SOLVER_CG && o->solver != TESS_SOLVER_BICGSTAB) {
        snprintf(what, sizeof what, "solver %s", tess_solver_kind_name(o->solver));
        return refuse_option(ctx, what);
    }
    if (o->precond.kind != TESS_PRECOND_AUTO && o->precond.kind != TESS_PRECOND_NONE &&
        o->precond.kind != TESS_PRECOND_JACOBI) {
        snprintf(what, sizeof what, "precond %s", tess_precond_kind_name(o->precond.kind));
        return refuse_option(ctx, what);
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

/* ---- the pattern ---- */

/* On the host: row_ptr, col_ind and, if asked for, the mirror of each entry. */
typedef struct host_pattern {
    int32_t *row_ptr, *col_ind, *mirror;
} host_pattern;

/* Indices of the caller as 32 bits; -1 where one does not fit, which is no sound pattern. */
static tess_status get_indices(tess_context *ctx, const tess_batch *a, const void *index, int bits, int64_t count,
                               int32_t *to)
{
    const size_t bytes = (size_t)bits / 8;
    const bool copies = a->pattern_where == TESS_MEMORY_DEVICE;
    const void *from = index;
    void *copy = NULL;
    tess_status status = TESS_SUCCESS;

    if (copies) {
        TESS_TRY(tess_host_allocate(ctx, count, bytes, &copy));
        if (count > 0) { TESS_TRY(ctx->backend->download(ctx, copy, index, (size_t)count * bytes)); }
        from = copy;
    }
    for (int64_t k = 0; k < count; k++) {
        const int64_t value = tess_row_offset(from, bits, k);

        to[k] = value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
    }
cleanup:
    tess_host_release(ctx, copy, count, bytes);
    return status;
}

static csr_view view_of(const tess_batch *a, const host_pattern *p)
{
    const csr_view view = {.nrows = a->n,
                           .ncols = a->n,
                           .nnz = a->nnz,
                           .row_ptr = p->row_ptr,
                           .col_ind = p->col_ind,
                           .row_ptr_bits = 32,
                           .precision = TESS_PRECISION_FP64};

    return view;
}

static void find_mirror(const csr_view *v, int32_t *mirror)
{
    for (int64_t i = 0; i < v->nrows; i++) {
        for (int64_t k = csr_offset(v, i); k < csr_offset(v, i + 1); k++) {
            mirror[k] = (int32_t)csr_find(v, v->col_ind[k], i);
        }
    }
}

static void release_pattern(tess_context *ctx, const tess_batch *a, const host_pattern *p)
{
    tess_host_release(ctx, p->row_ptr, a->n + 1, sizeof *p->row_ptr);
    tess_host_release(ctx, p->col_ind, a->nnz, sizeof *p->col_ind);
    tess_host_release(ctx, p->mirror, a->nnz, sizeof *p->mirror);
}

static tess_status make_pattern(tess_context *ctx, const tess_batch *a, bool mirrored, host_pattern *p)
{
    csr_view view;
    int64_t bad = -1;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, a->n + 1, sizeof *p->row_ptr, (void **)&p->row_ptr));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *p->col_ind, (void **)&p->col_ind));
    TESS_TRY(get_indices(ctx, a, a->row_ptr, a->row_ptr_bits, a->n + 1, p->row_ptr));
    TESS_TRY(get_indices(ctx, a, a->col_ind, a->col_ind_bits, a->nnz, p->col_ind));
    view = view_of(a, p);
    TESS_TRY(assembled_host_ops.check(ctx, &view, &bad));
    if (bad >= 0) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "sort the columns of each row, sum duplicates, and count from 0",
                         "row %lld of a batch's pattern has offsets out of order, or columns that are unsorted, "
                         "duplicate or out of range",
                         (long long)bad);
    }
    if (!mirrored) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *p->mirror, (void **)&p->mirror));
    find_mirror(&view, p->mirror);
cleanup:
    return status;
}

/* ---- on the device ---- */

/* Arrays of a call on a GPU; on a host the pattern's and the caller's are used as they are. */
typedef struct batch_call {
    tess_context *ctx;
    const tess_batch *a;
    batch_task task;
    batch_outcome *outcomes; /* of all systems */
    host_pattern on_host;
    int32_t *row_ptr, *col_ind, *mirror; /* copies of the pattern; NULL: none */
    double *val, *b, *x;                 /* of a slice, where the caller's are in the host's memory; NULL: none */
    int64_t slice;                       /* systems of a slice */
} batch_call;

static bool copies_values(const batch_call *c)
{
    return c->ctx->device == TESS_DEVICE_GPU && c->a->where == TESS_MEMORY_HOST;
}

static tess_status place_pattern(batch_call *c)
{
    tess_context *ctx = c->ctx;
    const host_pattern *p = &c->on_host;
    tess_status status = TESS_SUCCESS;

    if (ctx->device == TESS_DEVICE_CPU) {
        c->task.row_ptr = p->row_ptr;
        c->task.col_ind = p->col_ind;
        c->task.mirror = p->mirror;
        return TESS_SUCCESS;
    }
    TESS_TRY(tess_device_upload(ctx, p->row_ptr, c->a->n + 1, sizeof *p->row_ptr, (void **)&c->row_ptr));
    TESS_TRY(tess_device_upload(ctx, p->col_ind, c->a->nnz, sizeof *p->col_ind, (void **)&c->col_ind));
    if (p->mirror) { TESS_TRY(tess_device_upload(ctx, p->mirror, c->a->nnz, sizeof *p->mirror, (void **)&c->mirror)); }
    c->task.row_ptr = c->row_ptr;
    c->task.col_ind = c->col_ind;
    c->task.mirror = c->mirror;
cleanup:
    return status;
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

    tess_device_release(ctx, c->row_ptr, c->a->n + 1, sizeof *c->row_ptr);
    tess_device_release(ctx, c->col_ind, c->a->nnz, sizeof *c->col_ind);
    tess_device_release(ctx, c->mirror, c->a->nnz, sizeof *c->mirror);
    tess_device_release(ctx, c->val, c->slice * c->a->nnz, sizeof *c->val);
    tess_device_release(ctx, c->b, c->slice * c->a->n, sizeof *c->b);
    tess_device_release(ctx, c->x, c->slice * c->a->n, sizeof *c->x);
    release_pattern(ctx, c->a, &c->on_host);
    tess_host_release(ctx, c->outcomes, c->a->systems, sizeof *c->outcomes);
}

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

static tess_status begin_outcomes(batch_call *c)
{
    const double nan = (double)NAN;
    const batch_outcome none = {.rhs_norm = nan, .residual_norm = nan, .residual_bound = nan};
    const tess_status status = tess_host_allocate(c->ctx, c->a->systems, sizeof *c->outcomes, (void **)&c->outcomes);

    for (int64_t s = 0; status == TESS_SUCCESS && s < c->a->systems; s++) {
        c->outcomes[s] = none;
    }
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
    const batch_task task = {.n = (int32_t)a->n,
                             .nnz = (int32_t)a->nnz,
                             .method = o->solver == TESS_SOLVER_AUTO ? BATCH_CHOSEN
                                       : o->solver == TESS_SOLVER_CG ? BATCH_CG
                                                                     : BATCH_BICGSTAB,
                             .scaling = named || o->precond.kind == TESS_PRECOND_NONE ? BATCH_UNSCALED
                                        : o->precond.kind == TESS_PRECOND_JACOBI      ? BATCH_SCALED
                                                                                      : BATCH_SCALED_IF_POSSIBLE,
                             .given = norm != TESS_STOP_NORM_ROWS,
                             .rows = norm != TESS_STOP_NORM_GIVEN,
                             .rows_slack = norm == TESS_STOP_NORM_GIVEN ? TESS_ROWS_SLACK : 1.0,
                             .rtol = o->rtol,
                             .atol = o->atol,
                             .divergence_tolerance = o->divergence_tolerance,
                             .max_iterations = o->max_iterations};

    return task;
}

/* Some processors make NaN with a sign, which would be printed. */
static double unsigned_nan(double v)
{
    return isnan(v) ? (double)NAN : v;
}

static void report(const batch_call *c, tess_batch_result *results)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_AUTO, TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB};

    for (int64_t s = 0; s < c->a->systems; s++) {
        const batch_outcome *found = &c->outcomes[s];
        const double scale = found->rhs_norm > 0.0 ? found->rhs_norm : 1.0;

        results[s] = (tess_batch_result){.reason = found->reason,
                                         .solver = kinds[found->method],
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

    TESS_TRY(make_pattern(c->ctx, c->a, c->task.method != BATCH_BICGSTAB, &c->on_host));
    TESS_TRY(begin_outcomes(c));
    if (c->a->n == 0 || c->a->systems == 0) {
        end_empty(c);
        return TESS_SUCCESS;
    }
    choose_slice(c);
    TESS_TRY(place_pattern(c));
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
