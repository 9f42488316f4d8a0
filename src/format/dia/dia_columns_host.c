/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DIA times several columns on the host: a run of neighbouring rows of a diagonal multiplies as many rows of x, whose
 * values lie side by side. The sum of a row and column is in the order of the columns of A.
 */
#include <string.h>

#include "device/host/columns.h"
#include "format/dia/dia_host.h"

/* Sums of a block: rows times columns. A block has at least 32 rows. */
enum { SUMS = DIA_HOST_ROWS };

HOST_CLONES static void add_run(int64_t rows, int columns, const double *value, const double *x, double *restrict sum)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int c = 0; c < columns; c++) {
            sum[i * columns + c] += value[i] * x[i * columns + c];
        }
    }
}

static void add_block(const dia_view *v, const tess_spmv_args *args, int64_t first, int count, double *sum)
{
    const tess_operand values = {v->val, v->precision};
    const int columns = args->columns;
    double workspace[SUMS];

    for (int64_t d = 0; d < v->ndiagonals; d++) {
        const dia_diagonal diagonal = v->diagonal[d];
        int64_t begin = 0, end = dia_clip(v, diagonal.offset, first, count, &begin), row = begin, run_end = 0;
        const double *value = NULL;

        if (begin >= end) { continue; }
        value = host_read_fp64(values, dia_place(v, d, begin), (int)(end - begin), workspace);
        for (; dia_next_run(v, diagonal, &row, end, &run_end); row = run_end) {
            add_run(run_end - row, columns, value + (row - begin), args->x + (row + diagonal.offset) * columns,
                    sum + (row - first) * columns);
        }
    }
}

/* y of a block, and its terms of the dot products: those of the first by column, then of the second. */
static void store_block(const tess_spmv_args *args, int64_t first, int count, const double *sum, double *dots)
{
    const int columns = args->columns;

    for (int64_t k = 0; k < (int64_t)count * columns; k++) {
        const int64_t at = first * columns + k;
        double own[2] = {0.0, 0.0};

        args->y[at] = spmv_result(args, at, sum[k]);
        spmv_add_dots(&args->reduction, args->y, at, args->y[at], own);
        for (int j = 0; j < args->reduction.ndots; j++) {
            dots[j * columns + k % columns] += own[j];
        }
    }
}

tess_status dia_host_multiply_columns(tess_context *ctx, const dia_view *v, const tess_spmv_args *args)
{
    const tess_reduction *reduction = &args->reduction;
    const int rows = SUMS / args->columns, sums = reduction->ndots * args->columns;
    const int64_t nblocks = (v->nrows + rows - 1) / rows;
    const host_columns columns = host_columns_enter(reduction->state, args->columns, false, true);
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (columns.running == 0) { return TESS_SUCCESS; }
    if (sums > 0) { TESS_TRY(host_partials(ctx, sums * nblocks, &partials)); }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (v->nnz * args->columns > HOST_SERIAL_WORK)
    for (int64_t b = 0; b < nblocks; b++) {
        const int64_t first = b * rows;
        const int count = v->nrows - first < rows ? (int)(v->nrows - first) : rows;
        double sum[SUMS], dots[2 * TESS_MAX_COLUMNS] = {0.0};

        memset(sum, 0, sizeof sum);
        add_block(v, args, first, count, sum);
        store_block(args, first, count, sum, dots);
        for (int k = 0; k < sums; k++) {
            partials[k * nblocks + b] = dots[k];
        }
    }
    if (sums > 0) {
        host_columns_finish(&columns, partials, nblocks, reduction->ndots, reduction->scalar, reduction->state);
    }
cleanup:
    return status;
}
