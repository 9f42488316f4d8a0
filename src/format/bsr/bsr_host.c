/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of BSR on the host: some block rows at a time, then their epilogue. The sum of a row has a fixed order, for
 * any number of threads. A place without an entry is multiplied as 0; where that makes NaN of Inf or NaN in x, the sum
 * of the row is computed again by the masks.
 */
#include <math.h>

#include "format/bsr/bsr_host.h"
#include "format/store_host.h"

/* Block rows that are summed before their epilogue; bytes of values that a row prefetches ahead. */
enum { RUN = 64, AHEAD = 4096 };

/* What an instance is compiled for; constants wherever the functions below are inlined. */
typedef struct bsr_kind {
    int height, width; /* width: a constant for square blocks alone */
    bool is_complex;
    tess_precision stored, vectors; /* FP64 or FP32 */
    bool narrow;                    /* columns of 16 bits */
} bsr_kind;

/* Blocks of a row: `count` of them, whose columns are relative to `origin`. */
typedef struct bsr_run {
    int64_t count, origin;
    const void *val, *column;
} bsr_run;

/* ---- sums ---- */

/* Bytes of a block's values, and of its column. */
TESS_INLINE uintptr_t block_bytes(bsr_kind kind)
{
    return tess_storage_bytes(kind.stored) * (uintptr_t)(kind.is_complex ? 2 : kind.height * kind.width);
}

TESS_INLINE uintptr_t column_bytes(bsr_kind kind)
{
    return kind.narrow ? sizeof(int16_t) : sizeof(int32_t);
}

TESS_INLINE int64_t column_of(bsr_kind kind, const bsr_run *run, int64_t k)
{
    return run->origin + (kind.narrow ? ((const int16_t *)run->column)[k] : ((const int32_t *)run->column)[k]);
}

/* Beyond the end of the arrays it prefetches addresses that are never used. */
TESS_INLINE void prefetch(bsr_kind kind, const bsr_run *run, int64_t k)
{
    const uintptr_t bytes = block_bytes(kind), block = bytes > 0 ? bytes : 1;

    for (uintptr_t line = 0; line < block; line += 64) {
        __builtin_prefetch((const void *)((uintptr_t)run->val + (uintptr_t)k * block + AHEAD + line), 0, 3);
    }
    __builtin_prefetch((const void *)((uintptr_t)run->column + ((uintptr_t)k + AHEAD / block) * column_bytes(kind)), 0,
                       3);
}

typedef double pair_fp64 __attribute__((vector_size(16))), wide_fp64 __attribute__((vector_size(32)));
typedef float pair_fp32 __attribute__((vector_size(8))), wide_fp32 __attribute__((vector_size(16)));

#define REAL double
#define PAIR pair_fp64
#define WIDE wide_fp64
#define LOAD tess_load
#define NAMED(name) name##_fp64
#include "format/bsr/bsr_sums.h"
#undef REAL
#undef PAIR
#undef WIDE
#undef LOAD
#undef NAMED

#define REAL float
#define PAIR pair_fp32
#define WIDE wide_fp32
#define LOAD tess_load_float
#define NAMED(name) name##_fp32
#include "format/bsr/bsr_sums.h"
#undef REAL
#undef PAIR
#undef WIDE
#undef LOAD
#undef NAMED

/* Sums of `rows` block rows (bsr_sums.h); a function for square blocks knows their width. */
typedef void (*rows_function)(int width, int rows, int64_t begin, const int64_t *offset, const void *val,
                              const void *column, const void *x, double *out);

#define ROWS_FUNCTION(name, shape, height, width, is_complex, stored, vectors, arithmetic, narrow)                     \
    HOST_CLONES static void name##_##shape(int given, int rows, int64_t begin, const int64_t *offset, const void *val, \
                                           const void *column, const void *x, double *out)                             \
    {                                                                                                                  \
        (void)given;                                                                                                   \
        sum_rows_##arithmetic(                                                                                         \
            (bsr_kind){height, width, is_complex, TESS_PRECISION_##stored, TESS_PRECISION_##vectors, narrow}, rows,    \
            begin, offset, val, column, x, out);                                                                       \
    }
#define ROWS_FUNCTIONS(name, ...)                             \
    ROWS_FUNCTION(name, complex, 2, 2, true, __VA_ARGS__)     \
    ROWS_FUNCTION(name, 2, 2, 2, false, __VA_ARGS__)          \
    ROWS_FUNCTION(name, 3, 3, 3, false, __VA_ARGS__)          \
    ROWS_FUNCTION(name, 4, 4, 4, false, __VA_ARGS__)          \
    ROWS_FUNCTION(name, 5, 5, 5, false, __VA_ARGS__)          \
    ROWS_FUNCTION(name, 6, 6, 6, false, __VA_ARGS__)          \
    ROWS_FUNCTION(name, 2_wide, 2, given, false, __VA_ARGS__) \
    ROWS_FUNCTION(name, 3_wide, 3, given, false, __VA_ARGS__) \
    ROWS_FUNCTION(name, 4_wide, 4, given, false, __VA_ARGS__) \
    ROWS_FUNCTION(name, 5_wide, 5, given, false, __VA_ARGS__) \
    ROWS_FUNCTION(name, 6_wide, 6, given, false, __VA_ARGS__)
#define COLUMNS_FUNCTIONS(name, ...)                \
    ROWS_FUNCTIONS(name##_wide, __VA_ARGS__, false) \
    ROWS_FUNCTIONS(name##_narrow, __VA_ARGS__, true)
COLUMNS_FUNCTIONS(sum_fp64, FP64, FP64, fp64)
COLUMNS_FUNCTIONS(sum_fp32, FP32, FP64, fp64)
COLUMNS_FUNCTIONS(sum_fp64_by_fp32, FP64, FP32, fp64)
COLUMNS_FUNCTIONS(sum_fp32_by_fp32, FP32, FP32, fp64)
COLUMNS_FUNCTIONS(sum_fp64_in_fp32, FP64, FP32, fp32)
COLUMNS_FUNCTIONS(sum_fp32_in_fp32, FP32, FP32, fp32)
#undef COLUMNS_FUNCTIONS
#undef ROWS_FUNCTIONS
#undef ROWS_FUNCTION

/* Values in less than FP32 are decoded to it. */
static rows_function select_rows(const bsr_view *v, const tess_spmv_args *args)
{
#define SHAPES(name)                                                                              \
    {                                                                                             \
        {name##_complex, NULL, name##_2, name##_3, name##_4, name##_5, name##_6},                 \
        {                                                                                         \
            NULL, NULL, name##_2_wide, name##_3_wide, name##_4_wide, name##_5_wide, name##_6_wide \
        }                                                                                         \
    }
#define COLUMNS(name)                              \
    {                                              \
        SHAPES(name##_wide), SHAPES(name##_narrow) \
    }
    static const rows_function functions[3][2][2][2][BSR_MOST_BLOCK + 1] = {
        {COLUMNS(sum_fp64), COLUMNS(sum_fp32)},
        {COLUMNS(sum_fp64_by_fp32), COLUMNS(sum_fp32_by_fp32)},
        {COLUMNS(sum_fp64_in_fp32), COLUMNS(sum_fp32_in_fp32)}};
#undef COLUMNS
#undef SHAPES
    const int vectors = args->vectors == TESS_PRECISION_FP64 ? 0 : v->arithmetic == TESS_ARITHMETIC_FP64 ? 1 : 2;

    return functions[vectors][v->precision != TESS_PRECISION_FP64][v->column_bits == 16][v->height != v->width]
                    [v->is_complex ? 0 : v->height];
}

/* ---- runs of block rows ---- */

/* A product. */
typedef struct product {
    const bsr_view *v;
    const tess_spmv_args *args;
    rows_function sum_rows;
    const void *x;
    bool decodes;
} product;

/* Block rows from `first` on, up to `end`, that are summed together, and their offsets from the first one's. */
static int take_run(const product *p, int64_t first, int64_t end, int64_t *offset)
{
    const int64_t base = bsr_offset(p->v, first), most = BSR_DECODED / bsr_values(p->v);
    int rows = 0;

    offset[0] = 0;
    while (rows < RUN && first + rows < end) {
        offset[rows + 1] = bsr_offset(p->v, first + rows + 1) - base;
        if (p->decodes && rows > 0 && offset[rows + 1] > most) { break; }
        rows += 1;
    }
    return rows;
}

/* Columns from block k on. */
static const void *columns_from(const bsr_view *v, int64_t k)
{
    return (const void *)((uintptr_t)v->column + (uintptr_t)k * (uintptr_t)v->column_bits / 8);
}

/* The same for values to decode. A row with more of them than there is room for is summed in pieces. */
static void sum_decoded(const product *p, int64_t first, int rows, const int64_t *offset, double *sum)
{
    const bsr_view *v = p->v;
    const tess_operand stored = {v->val, v->precision};
    const int values = bsr_values(v);
    const int64_t most = BSR_DECODED / values, base = bsr_offset(v, first);
    float value[BSR_DECODED + BSR_BEYOND] = {0.0F};

    if (offset[rows] <= most) {
        const float *from = host_read_fp32(stored, base * values, (int)offset[rows] * values, value);

        p->sum_rows(v->width, rows, first, offset, from, columns_from(v, base), p->x, sum);
        return;
    }
    for (int r = 0; r < v->height; r++) {
        sum[r] = 0.0;
    }
    for (int64_t k = 0; k < offset[1]; k += most) {
        const int64_t count = offset[1] - k < most ? offset[1] - k : most, piece[2] = {0, count};
        const float *from = host_read_fp32(stored, (base + k) * values, (int)count * values, value);
        double own[BSR_MOST_BLOCK];

        p->sum_rows(v->width, 1, first, piece, from, columns_from(v, base + k), p->x, own);
        for (int r = 0; r < v->height; r++) {
            sum[r] += own[r];
        }
    }
}

/* Sums that are NaN, again by the masks; all of them where the matrix is narrower than a block. */
static void repair(const product *p, int64_t first, int rows, double *sum)
{
    const bsr_view *v = p->v;
    const bool narrow = bsr_is_narrow(v), fp32 = p->args->vectors == TESS_PRECISION_FP32;

    for (int i = 0; i < rows * v->height; i++) {
        if (narrow || isnan(sum[i])) {
            sum[i] = bsr_masked_sum(v, first + i / v->height, i % v->height, p->x, fp32, 1);
        }
    }
}

static void multiply_chunk(const product *p, int64_t chunk, double *dots)
{
    const bsr_view *v = p->v;
    const int64_t end = bsr_chunk_row(v, chunk + 1);
    double sum[RUN * BSR_MOST_BLOCK];
    int64_t offset[RUN + 1];
    int rows;

    for (int64_t first = bsr_chunk_row(v, chunk); first < end; first += rows) {
        const int64_t base = bsr_offset(v, first);
        const int values = bsr_values(v);

        rows = take_run(p, first, end, offset);
        if (bsr_is_narrow(v)) {
            /* below */
        } else if (p->decodes) {
            sum_decoded(p, first, rows, offset, sum);
        } else {
            const uintptr_t bytes = tess_storage_bytes(v->precision) * (uintptr_t)values;

            p->sum_rows(v->width, rows, first, offset, (const void *)((uintptr_t)v->val + (uintptr_t)base * bytes),
                        columns_from(v, base), p->x, sum);
        }
        if (v->mask) { repair(p, first, rows, sum); }
        host_store_rows(p->args, v->arithmetic, first * v->height,
                        (rows - 1) * v->height + bsr_rows_of(v, first + rows - 1), sum, dots);
    }
}

/* ---- all ---- */

static tess_status prepare(tess_context *ctx, const bsr_view *v)
{
    double *partials = NULL;

    return host_partials(ctx, 2 * bsr_chunks(v), &partials);
}

static tess_status spmv(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args)
{
    const tess_reduction *reduction = &args->reduction;
    const bool fp32 = args->vectors == TESS_PRECISION_FP32;
    const product p = {v, args, select_rows(v, args), fp32 ? (const void *)args->x_fp32 : args->x,
                       v->precision != TESS_PRECISION_FP64 && v->precision != TESS_PRECISION_FP32};
    const int64_t nchunks = bsr_chunks(v);
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (!host_enter(reduction->state, false, true)) { return TESS_SUCCESS; }
    status = host_partials(ctx, 2 * nchunks, &partials);
    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 4) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t c = 0; c < nchunks; c++) {
        double dots[2] = {0.0, 0.0};

        multiply_chunk(&p, c, dots);
        partials[c] = dots[0];
        partials[nchunks + c] = dots[1];
    }
    if (reduction->ndots > 0) {
        host_finish_reduction(partials, nchunks, reduction->ndots, reduction->scalar, reduction->state);
    }
    return TESS_SUCCESS;
}

/* Nothing. */
static tess_status plan(tess_context *ctx, bsr_view *v)
{
    (void)ctx;
    (void)v;
    return TESS_SUCCESS;
}

const bsr_ops bsr_host_ops = {
    .count_blocks = bsr_host_count_blocks,
    .measure_reach = bsr_host_measure_reach,
    .fill_offsets = bsr_host_fill_offsets,
    .fill_columns = bsr_host_fill_columns,
    .fill_values = bsr_host_fill_values,
    .decode = bsr_host_decode,
    .plan = plan,
    .prepare = prepare,
    .spmv = spmv,
    .multiply_columns = bsr_host_multiply_columns,
};
