/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSR times several columns on the host: each entry is read once, and multiplies as many values that lie side by side.
 * The sum of a row and column is in the order of the entries.
 */
#include "format/columns_host.h"
#include "format/csr/csr_host.h"

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
TESS_INLINE double term(entry_run run, int64_t k, const void *x, bool fp32_x, int64_t at)
{
    if (run.fp32_values && fp32_x) { return (double)(((const float *)run.values)[k] * ((const float *)x)[at]); }
    return spmv_element(run.values, run.fp32_values, k) * spmv_element(x, fp32_x, at);
}

/* Columns first .. first + width - 1 of x. */
typedef struct lanes {
    const void *x;
    int64_t columns, first;
    int width;
} lanes;

/* sum += a run times those columns. */
TESS_INLINE void add_run(entry_run run, lanes of, bool fp32_x, double *sum)
{
    for (int64_t k = 0; k < run.count; k++) {
        const int64_t at = run.col_ind[k] * of.columns + of.first;

#pragma omp simd
        for (int l = 0; l < of.width; l++) {
            sum[l] += term(run, k, of.x, fp32_x, at + l);
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
TESS_INLINE void sum_row(const csr_view *v, lanes of, value_kind kind, bool fp32_x, int64_t begin, int64_t end,
                         double *sum)
{
    const tess_operand values = {v->val, v->precision};

    if (kind != VALUES_DECODED) {
        const bool narrow = kind == VALUES_FP32;
        const void *from =
            narrow ? (const void *)((const float *)v->val + begin) : (const void *)((const double *)v->val + begin);
        const entry_run run = {from, v->col_ind + begin, end - begin, narrow};

        add_run(run, of, fp32_x, sum);
        return;
    }
    for (int64_t k = begin; k < end; k += DECODED) {
        const int count = end - k < DECODED ? (int)(end - k) : (int)DECODED;
        double wide[DECODED];
        const void *from = fp32_x ? (const void *)host_read_fp32(values, k, count, (float *)(void *)wide)
                                  : (const void *)host_read_fp64(values, k, count, wide);
        const entry_run run = {from, v->col_ind + k, count, fp32_x};

        add_run(run, of, fp32_x, sum);
    }
}

/* Those columns of a row, which may be one of a part. */
TESS_INLINE void finish_row(const csr_view *v, const tess_spmv_args *args, bool plain, int64_t row, lanes of,
                            double *sum, double *dots)
{
    const int64_t target = part_row_target(v->row_of, v->row_shift, row);

    if (v->exponent) {
        for (int l = 0; l < of.width; l++) {
            sum[l] *= part_row_scale(v->exponent, row);
        }
    }
    columns_finish(args, plain, target * of.columns + of.first, of.width, sum, dots);
}

/* Rows begin .. end - 1, `width` columns at a time, which are all of them unless there are more than LANES. */
TESS_INLINE void multiply_rows(const csr_view *v, const tess_spmv_args *args, int64_t begin, int64_t end, double *dots,
                               value_kind kind, bool fp32_x, int width)
{
    const tess_spmv_args local = *args;
    const void *x = fp32_x ? (const void *)local.x_fp32 : (const void *)local.x;
    const int64_t columns = width < LANES ? width : local.columns;
    const uintptr_t bytes = tess_storage_bytes(v->precision);
    const bool plain = columns_are_plain(args);
    int64_t next = offset_at(v, begin);

    for (int64_t row = begin; row < end; row++) {
        const int64_t from = next;

        next = offset_at(v, row + 1);
        __builtin_prefetch((const void *)((uintptr_t)v->val + (uintptr_t)(next + AHEAD) * bytes), 0, 3);
        __builtin_prefetch((const void *)((uintptr_t)v->col_ind + (uintptr_t)(next + AHEAD) * sizeof *v->col_ind), 0,
                           3);
        for (int64_t first = 0; first < columns; first += width) {
            double sum[LANES] = {0.0};

            sum_row(v, (lanes){x, columns, first, width}, kind, fp32_x, from, next, sum);
            finish_row(v, &local, plain, row, (lanes){x, columns, first, width}, sum, dots + first);
        }
    }
}

typedef void (*chunk_function)(const csr_view *v, const tess_spmv_args *args, int64_t begin, int64_t end, double *dots);

#define CHUNK_FUNCTION(name, kind, fp32_x, width)                                                                     \
    HOST_CLONES static void name##_##width(const csr_view *v, const tess_spmv_args *args, int64_t begin, int64_t end, \
                                           double *dots)                                                              \
    {                                                                                                                 \
        multiply_rows(v, args, begin, end, dots, kind, fp32_x, width);                                                \
    }
#define CHUNK_FUNCTIONS(name, kind, fp32_x) \
    CHUNK_FUNCTION(name, kind, fp32_x, 2)   \
    CHUNK_FUNCTION(name, kind, fp32_x, 4)   \
    CHUNK_FUNCTION(name, kind, fp32_x, 8)
CHUNK_FUNCTIONS(multiply_fp64, VALUES_FP64, false)
CHUNK_FUNCTIONS(multiply_fp32, VALUES_FP32, false)
CHUNK_FUNCTIONS(multiply_decoded, VALUES_DECODED, false)
CHUNK_FUNCTIONS(multiply_fp64_by_fp32, VALUES_FP64, true)
CHUNK_FUNCTIONS(multiply_fp32_by_fp32, VALUES_FP32, true)
CHUNK_FUNCTIONS(multiply_decoded_by_fp32, VALUES_DECODED, true)
#undef CHUNK_FUNCTIONS
#undef CHUNK_FUNCTION

static chunk_function select_function(const csr_view *v, const tess_spmv_args *args)
{
#define WIDTHS(name)                 \
    {                                \
        name##_2, name##_4, name##_8 \
    }
    static const chunk_function functions[2][3][3] = {
        {WIDTHS(multiply_fp64), WIDTHS(multiply_fp32), WIDTHS(multiply_decoded)},
        {WIDTHS(multiply_fp64_by_fp32), WIDTHS(multiply_fp32_by_fp32), WIDTHS(multiply_decoded_by_fp32)}};
#undef WIDTHS
    const value_kind kind = v->precision == TESS_PRECISION_FP64   ? VALUES_FP64
                            : v->precision == TESS_PRECISION_FP32 ? VALUES_FP32
                                                                  : VALUES_DECODED;
    const int width = args->columns == 2 ? 0 : args->columns == 4 ? 1 : 2;

    return functions[args->vectors == TESS_PRECISION_FP32][kind][width];
}

/* A product, for its chunks. */
typedef struct chunks_of {
    const csr_view *v;
    const csr_plan *plan;
    chunk_function multiply;
} chunks_of;

static void multiply_chunk(const void *matrix, const tess_spmv_args *args, int64_t chunk, double *dots)
{
    const chunks_of *m = matrix;

    m->multiply(m->v, args, m->plan->chunk_row[chunk], m->plan->chunk_row[chunk + 1], dots);
}

/* Empty rows. */
static void finish_empty_rows(const void *matrix, const tess_spmv_args *args, int64_t chunk, double *dots)
{
    const csr_view *v = matrix;
    const int64_t end = (chunk + 1) * CSR_CHUNK < v->nrows ? (chunk + 1) * CSR_CHUNK : v->nrows;
    const bool plain = columns_are_plain(args);

    for (int64_t row = chunk * CSR_CHUNK; row < end; row++) {
        double sum[TESS_MAX_COLUMNS] = {0.0};

        finish_row(v, args, plain, row, (lanes){NULL, args->columns, 0, args->columns}, sum, dots);
    }
}

tess_status csr_host_multiply_columns(tess_context *ctx, const csr_view *v, const csr_plan *p,
                                      const tess_spmv_args *args)
{
    const chunks_of m = {v, p, select_function(v, args)};

    if (!v->row_ptr) {
        return columns_multiply(ctx, args, (v->nrows + CSR_CHUNK - 1) / CSR_CHUNK, false, finish_empty_rows, v);
    }
    return columns_multiply(ctx, args, p->nchunks, p->nchunks > 1, multiply_chunk, &m);
}
