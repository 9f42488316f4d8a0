/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSR times several columns on the host: each entry is read once, and multiplies as many values that lie side by side.
 * The sum of a row and column is in the order of the entries.
 */
#include "device/host/columns.h"
#include "format/csr/csr_host.h"
#include "format/row_epilogue.h"

/* Columns that are summed together, entries that are decoded at once, and how far a row prefetches. */
enum { LANES = 8, DECODED = 2048, AHEAD = 64 };

/* A run of entries of a row, of which value k multiplies row col_ind[k] of x. The types are constants wherever the
   functions below are inlined. */
typedef struct entry_run {
    const void *values;
    const int32_t *col_ind;
    int64_t count;
    bool fp32_values;
} entry_run;

/* Values and vectors in FP32 are multiplied in FP32, as in the product of one column. */
static inline __attribute__((always_inline)) double term(entry_run run, int64_t k, const void *x, bool fp32_x,
                                                         int64_t at)
{
    if (run.fp32_values && fp32_x) { return (double)(((const float *)run.values)[k] * ((const float *)x)[at]); }
    return spmv_element(run.values, run.fp32_values, k) * spmv_element(x, fp32_x, at);
}

static inline __attribute__((always_inline)) void add_lanes(entry_run run, const void *x, bool fp32_x, int64_t columns,
                                                            int64_t first, int width, double *sum)
{
    double s[LANES] = {0.0};

    for (int l = 0; l < width; l++) {
        s[l] = sum[first + l];
    }
    for (int64_t k = 0; k < run.count; k++) {
        const int64_t at = run.col_ind[k] * columns + first;

#pragma omp simd
        for (int l = 0; l < width; l++) {
            s[l] += term(run, k, x, fp32_x, at + l);
        }
    }
    for (int l = 0; l < width; l++) {
        sum[first + l] = s[l];
    }
}

/* sum += the run times all columns. */
static inline __attribute__((always_inline)) void add_run(entry_run run, const void *x, bool fp32_x, int columns,
                                                          double *sum)
{
    if (columns == 2) {
        add_lanes(run, x, fp32_x, 2, 0, 2, sum);
    } else if (columns == 4) {
        add_lanes(run, x, fp32_x, 4, 0, 4, sum);
    } else if (columns == LANES) {
        add_lanes(run, x, fp32_x, LANES, 0, LANES, sum);
    } else {
        for (int first = 0; first < columns; first += LANES) {
            add_lanes(run, x, fp32_x, columns, first, LANES, sum);
        }
    }
}

/* y of a row from its sums, and its terms of the dot products: of the first by column, then of the second. */
static inline __attribute__((always_inline)) void finish_row(const tess_spmv_args *args, bool fp32_x, int64_t row,
                                                             const double *sum, double *dots)
{
    const int64_t columns = args->columns, first = row * columns;

    if (!fp32_x && args->update.kind == TESS_UPDATE_NONE && !args->residual && args->alpha == 1.0 &&
        args->beta == 0.0) {
        for (int64_t c = 0; c < columns; c++) {
            args->y[first + c] = sum[c];
        }
        for (int k = 0; k < args->reduction.ndots; k++) {
            const double *with = args->reduction.with[k] + first;

            for (int64_t c = 0; c < columns; c++) {
                dots[k * columns + c] += sum[c] * with[c];
            }
        }
        return;
    }
    for (int64_t c = 0; c < columns; c++) {
        double own[2] = {0.0, 0.0};

        spmv_finish_single(args, first + c, sum[c], own);
        for (int k = 0; k < args->reduction.ndots; k++) {
            dots[k * columns + c] += own[k];
        }
    }
}

static int64_t offset_at(const csr_view *v, int64_t row)
{
    return tess_row_offset(v->row_ptr, v->row_ptr_bits, row);
}

/* What a chunk of rows computes: its values are FP64, FP32, or decoded to the type of x. */
typedef enum value_kind { VALUES_FP64, VALUES_FP32, VALUES_DECODED } value_kind;

/* Entries begin .. end - 1 of one row; the reads that decode take as many at once as have room. */
static inline __attribute__((always_inline)) void sum_row(const csr_view *v, const void *x, value_kind kind,
                                                          bool fp32_x, int columns, int64_t begin, int64_t end,
                                                          double *sum)
{
    const tess_operand values = {v->val, v->precision};

    if (kind != VALUES_DECODED) {
        const bool narrow = kind == VALUES_FP32;
        const void *from =
            narrow ? (const void *)((const float *)v->val + begin) : (const void *)((const double *)v->val + begin);
        const entry_run run = {from, v->col_ind + begin, end - begin, narrow};

        add_run(run, x, fp32_x, columns, sum);
        return;
    }
    for (int64_t k = begin; k < end; k += DECODED) {
        const int count = end - k < DECODED ? (int)(end - k) : (int)DECODED;
        double wide[DECODED];
        const void *from = fp32_x ? (const void *)host_read_fp32(values, k, count, (float *)(void *)wide)
                                  : (const void *)host_read_fp64(values, k, count, wide);
        const entry_run run = {from, v->col_ind + k, count, fp32_x};

        add_run(run, x, fp32_x, columns, sum);
    }
}

static inline __attribute__((always_inline)) void multiply_rows(const csr_view *v, const tess_spmv_args *args,
                                                                int64_t begin, int64_t end, double *dots,
                                                                value_kind kind, bool fp32_x)
{
    const void *x = fp32_x ? (const void *)args->x_fp32 : (const void *)args->x;
    const uintptr_t bytes = tess_storage_bytes(v->precision);
    int64_t next = offset_at(v, begin);

    for (int64_t row = begin; row < end; row++) {
        const int64_t first = next;
        double sum[TESS_MAX_COLUMNS] = {0.0};

        next = offset_at(v, row + 1);
        __builtin_prefetch((const void *)((uintptr_t)v->val + (uintptr_t)(next + AHEAD) * bytes), 0, 3);
        __builtin_prefetch((const void *)((uintptr_t)v->col_ind + (uintptr_t)(next + AHEAD) * sizeof *v->col_ind), 0,
                           3);
        sum_row(v, x, kind, fp32_x, args->columns, first, next, sum);
        finish_row(args, fp32_x, row, sum, dots);
    }
}

typedef void (*chunk_function)(const csr_view *v, const tess_spmv_args *args, int64_t begin, int64_t end, double *dots);

#define CHUNK_FUNCTION(name, kind, fp32_x)                                                                  \
    HOST_CLONES static void name(const csr_view *v, const tess_spmv_args *args, int64_t begin, int64_t end, \
                                 double *dots)                                                              \
    {                                                                                                       \
        multiply_rows(v, args, begin, end, dots, kind, fp32_x);                                             \
    }
CHUNK_FUNCTION(multiply_fp64, VALUES_FP64, false)
CHUNK_FUNCTION(multiply_fp32, VALUES_FP32, false)
CHUNK_FUNCTION(multiply_decoded, VALUES_DECODED, false)
CHUNK_FUNCTION(multiply_fp64_by_fp32, VALUES_FP64, true)
CHUNK_FUNCTION(multiply_fp32_by_fp32, VALUES_FP32, true)
CHUNK_FUNCTION(multiply_decoded_by_fp32, VALUES_DECODED, true)
#undef CHUNK_FUNCTION

static chunk_function select_function(const csr_view *v, const tess_spmv_args *args)
{
    static const chunk_function functions[2][3] = {
        {multiply_fp64, multiply_fp32, multiply_decoded},
        {multiply_fp64_by_fp32, multiply_fp32_by_fp32, multiply_decoded_by_fp32}};
    const value_kind kind = v->precision == TESS_PRECISION_FP64   ? VALUES_FP64
                            : v->precision == TESS_PRECISION_FP32 ? VALUES_FP32
                                                                  : VALUES_DECODED;

    return functions[args->vectors == TESS_PRECISION_FP32][kind];
}

tess_status csr_host_multiply_columns(tess_context *ctx, const csr_view *v, const csr_plan *p,
                                      const tess_spmv_args *args)
{
    const tess_reduction *reduction = &args->reduction;
    const chunk_function multiply = select_function(v, args);
    const int sums = reduction->ndots * args->columns;
    const host_columns columns = host_columns_enter(reduction->state, args->columns, false, true);
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (columns.running == 0) { return TESS_SUCCESS; }
    if (sums > 0) { TESS_TRY(host_partials(ctx, sums * p->nchunks, &partials)); }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (p->nchunks > 1)
    for (int64_t c = 0; c < p->nchunks; c++) {
        double dots[2 * TESS_MAX_COLUMNS] = {0.0};

        multiply(v, args, p->chunk_row[c], p->chunk_row[c + 1], dots);
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
