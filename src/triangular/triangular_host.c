/* SPDX-License-Identifier: Apache-2.0 */
/* Triangular solves on the host: one thread computes a row, in the order of its columns. */
#include "base/by_precision.h"
#include "base/offsets.h"
#include "device/host/host.h"
#include "triangular/leaf.h"

typedef struct solve_task {
    const triangle_leaf *leaf;
    const triangle_args *args;
} solve_task;

TESS_INLINE void solve_row(tess_precision precision, const solve_task *task, int64_t p)
{
    const triangle_leaf *l = task->leaf;
    const triangle_args *args = task->args;
    const int64_t row = l->row[p], end = tess_row_offset(l->row_ptr, l->row_ptr_bits, p + 1);
    double value = args->b[row];

    for (int64_t k = tess_row_offset(l->row_ptr, l->row_ptr_bits, p); k < end; k++) {
        value -= tess_load(precision, l->val, k) * args->x[l->col_ind[k]];
    }
    args->x[row] = value;
    if (args->scaled) { args->scaled[row] = args->scale[row] * value; }
}

TESS_INLINE void solve_stored_rows(tess_precision precision, const solve_task *task, int64_t begin, int64_t end)
{
    for (int64_t p = begin; p < end; p++) {
        solve_row(precision, task, p);
    }
}

/* Positions begin .. end - 1. */
static void solve_rows(const solve_task *task, int64_t begin, int64_t end)
{
    CALL_BY_PRECISION(task->leaf->precision, solve_stored_rows, task, begin, end);
}

/* Rows of a level set that a thread takes at a time. */
enum { ROWS = 256 };

static tess_status solve(tess_context *ctx, const triangle_leaf *leaf, const triangle_args *args)
{
    const solve_task task = {leaf, args};

    if (!host_enter(args->state, false, false)) { return TESS_SUCCESS; }
    for (int64_t r = 0; r < leaf->nruns; r++) {
        const level_run run = leaf->runs[r];

        if (!run.shared) {
            solve_rows(&task, run.begin, run.end);
            continue;
        }
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
        for (int64_t p = run.begin; p < run.end; p += ROWS) {
            solve_rows(&task, p, p + ROWS < run.end ? p + ROWS : run.end);
        }
    }
    return TESS_SUCCESS;
}

static tess_status prepare(tess_context *ctx, triangle_leaf *leaf)
{
    (void)ctx;
    (void)leaf;
    return TESS_SUCCESS;
}

static tess_status set_plan(tess_context *ctx, triangle_leaf *leaf, leaf_plan plan)
{
    (void)ctx;
    (void)leaf;
    (void)plan;
    return TESS_SUCCESS;
}

static tess_status choose_plan(tess_context *ctx, triangle_leaf *leaf, double seconds)
{
    (void)ctx;
    (void)leaf;
    (void)seconds;
    return TESS_SUCCESS;
}

static tess_status take(tess_context *ctx, int64_t n, const int32_t *order, const triangle_args *args, double *work)
{
    const int threads = host_threads_for(ctx, n);

    if (!host_enter(args->state, false, false)) { return TESS_SUCCESS; }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t p = 0; p < n; p++) {
        work[p] = args->b[order[p]];
    }
    return TESS_SUCCESS;
}

static tess_status give(tess_context *ctx, int64_t n, const int32_t *order, const double *work,
                        const triangle_args *args)
{
    const int threads = host_threads_for(ctx, n);

    if (!host_enter(args->state, false, false)) { return TESS_SUCCESS; }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t p = 0; p < n; p++) {
        args->x[order[p]] = work[p];
        if (args->scaled) { args->scaled[order[p]] = args->scale[order[p]] * work[p]; }
    }
    return TESS_SUCCESS;
}

const triangle_ops triangle_host_ops = {prepare, set_plan, choose_plan, solve, take, give, true};
