/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSR times several columns on the host: each entry is read once, and multiplies as many values that lie side by side.
 * The sum of a row and column is in the order of the entries.
 */
#include "device/host/columns.h"
#include "format/csr/csr_host.h"

/* Columns that are summed together, and entries that are decoded at once. */
enum { LANES = 8, DECODED = 2048, AHEAD = 64 };

/* A run of entries, of which values[k] multiplies row col_ind[k] of x. */
typedef struct entry_run {
    const double *values;
    const int32_t *col_ind;
    int64_t count;
} entry_run;

static inline __attribute__((always_inline)) void add_lanes(entry_run run, const double *x, int64_t columns, int width,
                                                            double *sum)
{
    double s[LANES] = {0.0};

    for (int l = 0; l < width; l++) {
        s[l] = sum[l];
    }
    for (int64_t k = 0; k < run.count; k++) {
        const double *from = x + run.col_ind[k] * columns;
        const double a = run.values[k];

#pragma omp simd
        for (int l = 0; l < width; l++) {
            s[l] += a * from[l];
        }
    }
    for (int l = 0; l < width; l++) {
        sum[l] = s[l];
    }
}

/* sum += the run times all columns. */
static inline __attribute__((always_inline)) void add_run(entry_run run, const double *x, int columns, double *sum)
{
    if (columns == 2) {
        add_lanes(run, x, 2, 2, sum);
    } else if (columns == 4) {
        add_lanes(run, x, 4, 4, sum);
    } else if (columns == LANES) {
        add_lanes(run, x, LANES, LANES, sum);
    } else {
        for (int first = 0; first < columns; first += LANES) {
            add_lanes(run, x + first, columns, LANES, sum + first);
        }
    }
}

/* y of a row from its sums, and its terms of the dot products: sums of the first by column, then of the second. */
static inline __attribute__((always_inline)) void finish_row(const tess_spmv_args *args, int64_t row, const double *sum,
                                                             double *dots)
{
    const int columns = args->columns, ndots = args->reduction.ndots;
    const int64_t first = row * columns;
    double *y = args->y + first;

    if (args->residual) {
        for (int c = 0; c < columns; c++) {
            y[c] = args->residual[first + c] - sum[c];
        }
    } else if (args->alpha == 1.0 && args->beta == 0.0) {
        for (int c = 0; c < columns; c++) {
            y[c] = sum[c];
        }
    } else {
        for (int c = 0; c < columns; c++) {
            y[c] = args->beta == 0.0 ? args->alpha * sum[c] : args->alpha * sum[c] + args->beta * y[c];
        }
    }
    for (int k = 0; k < ndots; k++) {
        const double *with = args->reduction.with[k] + first;

        for (int c = 0; c < columns; c++) {
            dots[k * columns + c] += y[c] * with[c];
        }
    }
}

/* One row; its values are decoded where they are not FP64. */
static inline __attribute__((always_inline)) void sum_row(const csr_view *v, const tess_spmv_args *args, int64_t begin,
                                                          int64_t end, double *sum)
{
    double decoded[DECODED];

    for (int64_t k = begin; k < end; k += DECODED) {
        const int count = end - k < DECODED ? (int)(end - k) : (int)DECODED;
        const entry_run run = {host_read_fp64((tess_operand){v->val, v->precision}, k, count, decoded), v->col_ind + k,
                               count};

        add_run(run, args->x, args->columns, sum);
    }
}

static int64_t offset_at(const csr_view *v, int64_t row)
{
    return tess_row_offset(v->row_ptr, v->row_ptr_bits, row);
}

HOST_CLONES static void multiply_rows(const csr_view *v, const tess_spmv_args *args, int64_t begin, int64_t end,
                                      double *dots)
{
    const bool plain = v->precision == TESS_PRECISION_FP64;
    const double *values = v->val;
    int64_t next = offset_at(v, begin);

    for (int64_t row = begin; row < end; row++) {
        const int64_t first = next;
        double sum[TESS_MAX_COLUMNS] = {0.0};

        next = offset_at(v, row + 1);
        if (plain) {
            const entry_run run = {values + first, v->col_ind + first, next - first};

            __builtin_prefetch(values + next + AHEAD, 0, 3);
            __builtin_prefetch(v->col_ind + next + AHEAD, 0, 3);
            add_run(run, args->x, args->columns, sum);
        } else {
            sum_row(v, args, first, next, sum);
        }
        finish_row(args, row, sum, dots);
    }
}

tess_status csr_host_multiply_columns(tess_context *ctx, const csr_view *v, const csr_plan *p,
                                      const tess_spmv_args *args)
{
    const tess_reduction *reduction = &args->reduction;
    const int sums = reduction->ndots * args->columns;
    const host_columns columns = host_columns_enter(reduction->state, args->columns, false, true);
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (columns.running == 0) { return TESS_SUCCESS; }
    if (sums > 0) { TESS_TRY(host_partials(ctx, sums * p->nchunks, &partials)); }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (p->nchunks > 1)
    for (int64_t c = 0; c < p->nchunks; c++) {
        double dots[2 * TESS_MAX_COLUMNS] = {0.0};

        multiply_rows(v, args, p->chunk_row[c], p->chunk_row[c + 1], dots);
        for (int k = 0; k < sums; k++) {
            partials[k * p->nchunks + c] = dots[k];
        }
    }
    if (sums > 0) {
        host_columns_finish(&columns, partials, p->nchunks, reduction->ndots, reduction->scalar, reduction->state);
    }
cleanup:
    return status;
}
