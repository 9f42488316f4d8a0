/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BSR times several columns on the host: each value is read once, and multiplies as many that lie side by side. The
 * sum of a row and column has the order of the product of one column, and its bits.
 */
#include <math.h>

#include "format/bsr/bsr_host.h"
#include "format/columns_host.h"

/* Columns that are summed together. */
enum { LANES = 8 };

/* Two running sums, of the even and of the odd columns of blocks, for each row and column of x; complex: of the even
   and the odd entries, for (re, im) of an entry times (re, im) of x. */
typedef struct row_sums {
    double even[BSR_MOST_BLOCK][LANES], odd[BSR_MOST_BLOCK][LANES];
} row_sums;

/* Blocks of a row, their values in FP64, and the columns of x. */
typedef struct block_run {
    int64_t count;
    const double *val;
    const bsr_view *v;
    int64_t block_row, begin; /* of the first block */
    const double *x;          /* from the first of the columns */
    int64_t columns;
} block_run;

TESS_INLINE void add_products(int width, double value, const double *x, double *sum)
{
#pragma omp simd
    for (int l = 0; l < width; l++) {
        sum[l] += value * x[l];
    }
}

TESS_INLINE void add_blocks(int block, int width, const block_run *run, row_sums *sums)
{
    for (int64_t k = 0; k < run->count; k++) {
        const int64_t column = bsr_column(run->v, run->block_row, run->begin + k);

        for (int c = 0; c < block; c++) {
            const double *const x = run->x + (column + c) * run->columns;
            const double *const value = run->val + (k * block + c) * block;

            for (int r = 0; r < block; r++) {
                add_products(width, value[r], x, c % 2 == 0 ? sums->even[r] : sums->odd[r]);
            }
        }
    }
}

TESS_INLINE void add_complex(int width, const block_run *run, row_sums *sums)
{
    for (int64_t k = 0; k < run->count; k++) {
        const int64_t column = bsr_column(run->v, run->block_row, run->begin + k);
        double(*const own)[LANES] = k % 2 == 0 ? sums->even : sums->odd;

        for (int c = 0; c < 4; c++) {
            add_products(width, run->val[2 * k + c / 2], run->x + (column + c % 2) * run->columns, own[c]);
        }
    }
}

/* Rows of y from the running sums. */
static void give_sums(const bsr_view *v, int width, const row_sums *sums, double (*out)[LANES])
{
    double all[BSR_MOST_BLOCK][LANES];

    for (int r = 0; r < (v->is_complex ? 4 : v->block); r++) {
        for (int l = 0; l < width; l++) {
            all[r][l] = sums->even[r][l] + sums->odd[r][l];
        }
    }
    for (int r = 0; r < v->block; r++) {
        for (int l = 0; l < width; l++) {
            out[r][l] = !v->is_complex ? all[r][l] : r == 0 ? all[0][l] - all[3][l] : all[1][l] + all[2][l];
        }
    }
}

/* Blocks of one row times `width` columns of x. */
typedef void (*run_function)(const block_run *run, row_sums *sums);

#define RUN_FUNCTION(block, width)                                                             \
    HOST_CLONES static void add_blocks_##block##_##width(const block_run *run, row_sums *sums) \
    {                                                                                          \
        add_blocks(block, width, run, sums);                                                   \
    }
#define RUN_FUNCTIONS(width)                                                          \
    RUN_FUNCTION(2, width)                                                            \
    RUN_FUNCTION(3, width)                                                            \
    RUN_FUNCTION(4, width)                                                            \
    RUN_FUNCTION(5, width)                                                            \
    RUN_FUNCTION(6, width)                                                            \
    HOST_CLONES static void add_complex_##width(const block_run *run, row_sums *sums) \
    {                                                                                 \
        add_complex(width, run, sums);                                                \
    }
RUN_FUNCTIONS(2)
RUN_FUNCTIONS(4)
RUN_FUNCTIONS(8)
#undef RUN_FUNCTIONS
#undef RUN_FUNCTION

static run_function select_run(const bsr_view *v, int width)
{
#define SHAPES(width)                                                                                \
    {                                                                                                \
        add_complex_##width, NULL, add_blocks_2_##width, add_blocks_3_##width, add_blocks_4_##width, \
            add_blocks_5_##width, add_blocks_6_##width                                               \
    }
    static const run_function functions[3][BSR_MOST_BLOCK + 1] = {SHAPES(2), SHAPES(4), SHAPES(8)};
#undef SHAPES

    return functions[width == 2 ? 0 : width == 4 ? 1 : 2][v->is_complex ? 0 : v->block];
}

/* The blocks of a row, whose values are decoded as many at once as there is room for. */
static void sum_row(const bsr_view *v, const tess_spmv_args *args, int64_t block_row, int64_t first, int width,
                    run_function add, double (*out)[LANES])
{
    const int values = bsr_values(v);
    const int64_t begin = bsr_offset(v, block_row), end = bsr_offset(v, block_row + 1);
    const int64_t most = BSR_DECODED / values / 2 * 2;
    double value[BSR_DECODED];
    row_sums sums = {.even = {{0.0}}};

    for (int64_t k = begin; k < end; k += most) {
        const int64_t count = end - k < most ? end - k : most;
        const double *from =
            host_read_fp64((tess_operand){v->val, v->precision}, k * values, (int)count * values, value);

        add(&(block_run){count, from, v, block_row, k, args->x + first, args->columns}, &sums);
    }
    give_sums(v, width, &sums, out);
}

/* Sums that are NaN, again by the masks; all of them where the matrix is narrower than a block. */
static void repair(const bsr_view *v, const tess_spmv_args *args, int64_t block_row, int64_t first, int width,
                   double (*sum)[LANES])
{
    const bool narrow = bsr_is_narrow(v);

    for (int r = 0; r < v->block; r++) {
        for (int l = 0; l < width; l++) {
            if (narrow || isnan(sum[r][l])) {
                sum[r][l] = bsr_masked_sum(v, block_row, r, args->x + first + l, false, args->columns);
            }
        }
    }
}

static void multiply_chunk(const void *matrix, const tess_spmv_args *args, int64_t chunk, double *dots)
{
    const bsr_view *v = matrix;
    const int width = args->columns < LANES ? args->columns : LANES;
    const run_function add = select_run(v, width);
    const bool plain = columns_are_plain(args);
    const int64_t end = bsr_chunk_row(v, chunk + 1);

    for (int64_t i = bsr_chunk_row(v, chunk); i < end; i++) {
        for (int64_t first = 0; first < args->columns; first += width) {
            double sum[BSR_MOST_BLOCK][LANES] = {{0.0}};

            if (!bsr_is_narrow(v)) { sum_row(v, args, i, first, width, add, sum); }
            if (v->mask) { repair(v, args, i, first, width, sum); }
            for (int r = 0; r < bsr_rows_of(v, i); r++) {
                columns_finish(args, plain, (i * v->block + r) * args->columns + first, width, sum[r], dots + first);
            }
        }
    }
}

tess_status bsr_host_multiply_columns(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args)
{
    return columns_multiply(ctx, args, bsr_chunks(v), v->nnz * args->columns > HOST_SERIAL_WORK, multiply_chunk, v);
}
