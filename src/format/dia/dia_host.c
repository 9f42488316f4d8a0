/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of DIA on the host: a block of rows at a time, diagonal after diagonal, in runs of neighbouring rows that
 * have an entry. The rows of a run are independent, so that loops over them vectorise. Each row adds its entries in the
 * order of its columns: the bits of a sequential sum, for any number of threads.
 */
#include <string.h>

#include "device/host/host.h"
#include "format/dia/dia_host.h"
#include "format/store_host.h"

/* Rows of a block: its sums stay in the first-level cache. Its dot products are one partial sum. */
enum { BLOCK = DIA_HOST_ROWS };

/* ---- sums ---- */

HOST_CLONES static void add_fp64(int64_t count, const double *value, const double *x, double *restrict sum)
{
    for (int64_t i = 0; i < count; i++) {
        sum[i] += value[i] * x[i];
    }
}

HOST_CLONES static void add_fp32_vector(int64_t count, const double *value, const float *x, double *restrict sum)
{
    for (int64_t i = 0; i < count; i++) {
        sum[i] += value[i] * (double)x[i];
    }
}

HOST_CLONES static void add_fp32(int64_t count, const float *value, const float *x, float *restrict sum)
{
    for (int64_t i = 0; i < count; i++) {
        sum[i] += value[i] * x[i];
    }
}

HOST_CLONES static void add_low(int64_t count, const float *value, const float *x, double *restrict sum)
{
    for (int64_t i = 0; i < count; i++) {
        sum[i] += (double)(value[i] * x[i]);
    }
}

/* Rows first .. first + count - 1. low: products in FP32 of the rounded x, summed in FP64 as the others are. */
static void add_block(const dia_view *v, const tess_spmv_args *args, int64_t first, int count, bool low, double *sum)
{
    const tess_operand values = {v->val, v->precision};
    double workspace[BLOCK];
    float low_workspace[BLOCK];

    for (int64_t d = 0; d < v->ndiagonals; d++) {
        const dia_diagonal diagonal = v->diagonal[d];
        int64_t begin = 0, end = dia_clip(v, diagonal.offset, first, count, &begin), row = begin, run_end = 0;
        const int64_t place = dia_place(v, d, begin);
        const float *low_value = NULL;
        const double *value = NULL;

        if (begin >= end) { continue; }
        if (low) {
            low_value = host_read_fp32(values, place, (int)(end - begin), low_workspace);
        } else {
            value = host_read_fp64(values, place, (int)(end - begin), workspace);
        }
        for (; dia_next_run(v, diagonal, &row, end, &run_end); row = run_end) {
            const int64_t rows = run_end - row, column = row + diagonal.offset;
            double *const own = sum + (row - first);

            if (low) {
                add_low(rows, low_value + (row - begin), args->x_shadow + column, own);
            } else if (args->vectors == TESS_PRECISION_FP32) {
                add_fp32_vector(rows, value + (row - begin), args->x_fp32 + column, own);
            } else {
                add_fp64(rows, value + (row - begin), args->x + column, own);
            }
        }
    }
}

void dia_host_add_rows(const dia_view *v, const tess_spmv_args *args, int64_t first, int count, double *sum)
{
    const bool low = args->low_arithmetic == TESS_ARITHMETIC_FP32 && v->precision != TESS_PRECISION_FP64;

    add_block(v, args, first, count, low, sum);
}

static void sum_block32(const dia_view *v, const tess_spmv_args *args, int64_t first, int count, double *out)
{
    const tess_operand values = {v->val, v->precision};
    float workspace[BLOCK], sum[BLOCK] = {0.0F};

    for (int64_t d = 0; d < v->ndiagonals; d++) {
        const dia_diagonal diagonal = v->diagonal[d];
        int64_t begin = 0, end = dia_clip(v, diagonal.offset, first, count, &begin), row = begin, run_end = 0;
        const float *value = NULL;

        if (begin >= end) { continue; }
        value = host_read_fp32(values, dia_place(v, d, begin), (int)(end - begin), workspace);
        for (; dia_next_run(v, diagonal, &row, end, &run_end); row = run_end) {
            add_fp32(run_end - row, value + (row - begin), args->x_fp32 + row + diagonal.offset, sum + (row - first));
        }
    }
    for (int i = 0; i < count; i++) {
        out[i] = (double)sum[i];
    }
}

/* ---- all blocks ---- */

static int64_t blocks_of(const dia_view *v)
{
    return (v->nrows + BLOCK - 1) / BLOCK;
}

static tess_status prepare(tess_context *ctx, const dia_view *v)
{
    double *partials = NULL;

    return host_partials(ctx, 2 * blocks_of(v), &partials);
}

static tess_status spmv(tess_context *ctx, const dia_view *v, const tess_spmv_args *args)
{
    const tess_reduction *reduction = &args->reduction;
    const bool fp32 = args->vectors == TESS_PRECISION_FP32 && v->arithmetic == TESS_ARITHMETIC_FP32;
    int64_t nblocks = blocks_of(v);
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (!host_enter(reduction->state, false, true)) { return TESS_SUCCESS; }
    status = host_partials(ctx, 2 * nblocks, &partials);
    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t b = 0; b < nblocks; b++) {
        int64_t first = b * BLOCK;
        int count = v->nrows - first < BLOCK ? (int)(v->nrows - first) : BLOCK;
        double sum[BLOCK], dots[2] = {0.0, 0.0};

        if (v->arithmetic == TESS_ARITHMETIC_FP32X2) {
            dia_host_sum_pairs(v, args, first, count, sum);
        } else if (fp32) {
            sum_block32(v, args, first, count, sum);
        } else {
            memset(sum, 0, (size_t)count * sizeof *sum);
            add_block(v, args, first, count, false, sum);
        }
        host_store_rows(args, v->arithmetic, first, count, sum, dots);
        partials[b] = dots[0];
        partials[nblocks + b] = dots[1];
    }
    if (reduction->ndots > 0) {
        host_finish_reduction(partials, nblocks, reduction->ndots, reduction->scalar, reduction->state);
    }
    return TESS_SUCCESS;
}

const dia_ops dia_host_ops = {
    .mark = dia_host_mark,
    .count_marks = dia_host_count_marks,
    .list_marks = dia_host_list_marks,
    .count_entries = dia_host_count_entries,
    .fill_bitmaps = dia_host_fill_bitmaps,
    .fill_values = dia_host_fill_values,
    .decode = dia_host_decode,
    .prepare = prepare,
    .spmv = spmv,
    .multiply_columns = dia_host_multiply_columns,
};
