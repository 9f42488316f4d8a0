/* SPDX-License-Identifier: Apache-2.0 */
/* Triangular solves on the host: one thread computes a row, in the order of its columns. */
#include <string.h>

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

/* ---- several columns ---- */

/* Columns that a row's sums are in registers for; entries that are decoded at once, below FP64. */
enum { WIDTH = 8, DECODED = 512 };

/* Entries first .. end - 1 of the leaf. A row begins with its elements of `from`. */
typedef struct columns_run {
    const solve_task *task;
    int64_t first, end;
    const double *val;  /* of the first one on */
    const double *from; /* b; x for a row of which other entries have been subtracted */
} columns_run;

/* Positions begin .. end - 1; an entry is read once for all columns. Compiled for constant widths. */
TESS_INLINE void subtract_run(const columns_run *r, int width, int64_t begin, int64_t end)
{
    const triangle_leaf *l = r->task->leaf;
    const triangle_args args = *r->task->args;

    for (int64_t p = begin; p < end; p++) {
        const int64_t row = l->row[p], last = tess_row_offset(l->row_ptr, l->row_ptr_bits, p + 1);
        const int64_t start = tess_row_offset(l->row_ptr, l->row_ptr_bits, p);
        const int64_t k_begin = start > r->first ? start : r->first, k_end = last < r->end ? last : r->end;

        for (int64_t c = row * args.columns; c < (row + 1) * args.columns; c += width) {
            double value[WIDTH];

            memcpy(value, r->from + c, (size_t)width * sizeof *value);
            for (int64_t k = k_begin; k < k_end; k++) {
                const double *const x = args.x + (l->col_ind[k] - row) * args.columns + c;

#pragma omp simd
                for (int w = 0; w < width; w++) {
                    value[w] -= r->val[k - r->first] * x[w];
                }
            }
            memcpy(args.x + c, value, (size_t)width * sizeof *value);
            for (int w = 0; args.scaled && w < width; w++) {
                args.scaled[c + w] = args.scale[row] * value[w];
            }
        }
    }
}

HOST_CLONES static void subtract_2(const columns_run *r, int64_t begin, int64_t end)
{
    subtract_run(r, 2, begin, end);
}

HOST_CLONES static void subtract_4(const columns_run *r, int64_t begin, int64_t end)
{
    subtract_run(r, 4, begin, end);
}

HOST_CLONES static void subtract_8(const columns_run *r, int64_t begin, int64_t end)
{
    subtract_run(r, WIDTH, begin, end);
}

/* Positions begin .. end - 1: as many rows at a time as have their entries decoded; of a longer row, parts. */
static void solve_columns(const solve_task *task, int64_t begin, int64_t end)
{
    const triangle_leaf *l = task->leaf;
    const int columns = task->args->columns;
    const bool decoded = l->precision == TESS_PRECISION_FP64;
    double workspace[DECODED];
    columns_run r = {.task = task, .first = tess_row_offset(l->row_ptr, l->row_ptr_bits, begin)};

    for (int64_t p = begin, q = begin; p < end; p = q, r.first = r.end) {
        const bool goes_on = r.first > tess_row_offset(l->row_ptr, l->row_ptr_bits, p);
        const int64_t most = goes_on ? p + 1 : end;

        q = decoded ? end : p;
        while (q < most && tess_row_offset(l->row_ptr, l->row_ptr_bits, q + 1) <= r.first + DECODED) {
            q += 1;
        }
        r.end = q > p ? tess_row_offset(l->row_ptr, l->row_ptr_bits, q) : r.first + DECODED;
        r.from = goes_on ? task->args->x : task->args->b;
        r.val = decoded
                    ? (const double *)l->val + r.first
                    : host_read_fp64((tess_operand){l->val, l->precision}, r.first, (int)(r.end - r.first), workspace);
        (columns == 2 ? subtract_2 : columns == 4 ? subtract_4 : subtract_8)(&r, p, q > p ? q : p + 1);
    }
}

/* ---- all positions ---- */

/* Rows of a level set that a thread takes at a time. */
enum { ROWS = 256 };

static tess_status solve(tess_context *ctx, const triangle_leaf *leaf, const triangle_args *args)
{
    const solve_task task = {leaf, args};
    void (*const rows)(const solve_task *, int64_t, int64_t) = args->columns > 1 ? solve_columns : solve_rows;

    if (!host_enter(args->state, false, false)) { return TESS_SUCCESS; }
    for (int64_t r = 0; r < leaf->nruns; r++) {
        const level_run run = leaf->runs[r];

        if (!run.shared) {
            rows(&task, run.begin, run.end);
            continue;
        }
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
        for (int64_t p = run.begin; p < run.end; p += ROWS) {
            rows(&task, p, p + ROWS < run.end ? p + ROWS : run.end);
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

static tess_status prepare_columns(tess_context *ctx, triangle_leaf *leaf, int columns)
{
    (void)ctx;
    (void)leaf;
    (void)columns;
    return TESS_SUCCESS;
}

static tess_status take(tess_context *ctx, int64_t n, const int32_t *order, const triangle_args *args, double *work)
{
    const int columns = columns_of(args), threads = host_threads_for(ctx, n * columns);

    if (!host_enter(args->state, false, false)) { return TESS_SUCCESS; }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t p = 0; p < n; p++) {
        const double *const b = args->b + (int64_t)order[p] * columns;

        for (int c = 0; c < columns; c++) {
            work[p * columns + c] = b[c];
        }
    }
    return TESS_SUCCESS;
}

static tess_status give(tess_context *ctx, int64_t n, const int32_t *order, const double *work,
                        const triangle_args *args)
{
    const int columns = columns_of(args), threads = host_threads_for(ctx, n * columns);

    if (!host_enter(args->state, false, false)) { return TESS_SUCCESS; }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t p = 0; p < n; p++) {
        const int64_t row = order[p];

        for (int c = 0; c < columns; c++) {
            const double value = work[p * columns + c];

            args->x[row * columns + c] = value;
            if (args->scaled) { args->scaled[row * columns + c] = args->scale[row] * value; }
        }
    }
    return TESS_SUCCESS;
}

const triangle_ops triangle_host_ops = {prepare, set_plan, choose_plan, prepare_columns, solve, take, give,
                                        true,    NULL,     NULL};
