/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of a block row times several columns on the host. Included once for each kind of product, so without a guard,
 * with REAL (the arithmetic), X (the vectors), READ (decodes values to REAL) and NAMED defined. As in bsr_sums.h there
 * are two running sums, of the even and of the odd columns of blocks, for each row and column of x; complex: of the
 * even and the odd entries, for (re, im) of an entry times (re, im) of x.
 */

typedef struct NAMED(row_sums) {
    REAL even[BSR_MOST_BLOCK][LANES], odd[BSR_MOST_BLOCK][LANES];
} NAMED(row_sums);

/* Blocks of a row, and their values. */
typedef struct NAMED(block_run) {
    int64_t count;
    const REAL *val;
    const bsr_view *v;
    int64_t block_row, begin; /* of the first block */
    const X *x;               /* from the first of the columns */
    int64_t columns;
} NAMED(block_run);

TESS_INLINE void NAMED(add_products)(int lanes, REAL value, const X *x, REAL *sum)
{
#pragma omp simd
    for (int l = 0; l < lanes; l++) {
        sum[l] += value * (REAL)x[l];
    }
}

/* Column c of block k. */
TESS_INLINE void NAMED(add_column)(int height, int width, int lanes, const NAMED(block_run) * run, int64_t k, int c,
                                   REAL (*sum)[LANES])
{
    const X *const x = run->x + (bsr_column(run->v, run->block_row, run->begin + k) + c) * run->columns;
    const REAL *const value = run->val + (k * width + c) * height;

    for (int r = 0; r < height; r++) {
        NAMED(add_products)(lanes, value[r], x, sum[r]);
    }
}

TESS_INLINE void NAMED(add_blocks)(int height, int width, int lanes, const NAMED(block_run) * run,
                                   NAMED(row_sums) * sums)
{
    for (int64_t k = 0; k < run->count; k++) {
        int c = 0;

        for (; c + 1 < width; c += 2) {
            NAMED(add_column)(height, width, lanes, run, k, c, sums->even);
            NAMED(add_column)(height, width, lanes, run, k, c + 1, sums->odd);
        }
        if (c < width) { NAMED(add_column)(height, width, lanes, run, k, c, sums->even); }
    }
}

TESS_INLINE void NAMED(add_complex)(int lanes, const NAMED(block_run) * run, NAMED(row_sums) * sums)
{
    for (int64_t k = 0; k < run->count; k++) {
        const int64_t column = bsr_column(run->v, run->block_row, run->begin + k);
        REAL(*const own)[LANES] = k % 2 == 0 ? sums->even : sums->odd;

        for (int c = 0; c < 4; c++) {
            NAMED(add_products)
            (lanes, run->val[2 * k + c / 2], run->x + (column + c % 2) * run->columns, own[c]);
        }
    }
}

/* Rows of y from the running sums. */
static void NAMED(give_sums)(const bsr_view *v, int lanes, const NAMED(row_sums) * sums, double (*out)[LANES])
{
    REAL all[BSR_MOST_BLOCK][LANES];

    for (int r = 0; r < (v->is_complex ? 4 : v->height); r++) {
        for (int l = 0; l < lanes; l++) {
            all[r][l] = sums->even[r][l] + sums->odd[r][l];
        }
    }
    for (int r = 0; r < v->height; r++) {
        for (int l = 0; l < lanes; l++) {
            out[r][l] = (double)(!v->is_complex ? all[r][l] : r == 0 ? all[0][l] - all[3][l] : all[1][l] + all[2][l]);
        }
    }
}

/* Blocks of one row times `lanes` columns of x. */
typedef void (*NAMED(run_function))(const NAMED(block_run) * run, NAMED(row_sums) * sums);

#define RUN_FUNCTION(shape, lanes, ...)                                                                        \
    HOST_CLONES static void NAMED(add_##shape##_##lanes)(const NAMED(block_run) * run, NAMED(row_sums) * sums) \
    {                                                                                                          \
        __VA_ARGS__;                                                                                           \
    }
#define SQUARE_AND_OTHERS(height, lanes)                                             \
    RUN_FUNCTION(height, lanes, NAMED(add_blocks)(height, height, lanes, run, sums)) \
    RUN_FUNCTION(height##_wide, lanes, NAMED(add_blocks)(height, run->v->width, lanes, run, sums))
#define RUN_FUNCTIONS(lanes)    \
    SQUARE_AND_OTHERS(2, lanes) \
    SQUARE_AND_OTHERS(3, lanes) \
    SQUARE_AND_OTHERS(4, lanes) \
    SQUARE_AND_OTHERS(5, lanes) \
    SQUARE_AND_OTHERS(6, lanes) \
    RUN_FUNCTION(complex, lanes, NAMED(add_complex)(lanes, run, sums))
RUN_FUNCTIONS(2)
RUN_FUNCTIONS(4)
RUN_FUNCTIONS(8)
#undef RUN_FUNCTIONS
#undef SQUARE_AND_OTHERS
#undef RUN_FUNCTION

static NAMED(run_function) NAMED(select_run)(const bsr_view *v, int lanes)
{
#define SHAPES(lanes)                                                                                    \
    {                                                                                                    \
        {NAMED(add_complex_##lanes), NULL,                                                               \
         NAMED(add_2_##lanes),       NAMED(add_3_##lanes),                                               \
         NAMED(add_4_##lanes),       NAMED(add_5_##lanes),                                               \
         NAMED(add_6_##lanes)},                                                                          \
        {                                                                                                \
            NULL, NULL, NAMED(add_2_wide_##lanes), NAMED(add_3_wide_##lanes), NAMED(add_4_wide_##lanes), \
                NAMED(add_5_wide_##lanes), NAMED(add_6_wide_##lanes)                                     \
        }                                                                                                \
    }
    static const NAMED(run_function) functions[3][2][BSR_MOST_BLOCK + 1] = {SHAPES(2), SHAPES(4), SHAPES(8)};
#undef SHAPES

    return functions[lanes == 2 ? 0 : lanes == 4 ? 1 : 2][v->height != v->width][v->is_complex ? 0 : v->height];
}

/* The blocks of a row, whose values are decoded as many at once as there is room for. */
static void NAMED(sum_row)(const bsr_view *v, const tess_spmv_args *args, int64_t block_row, int64_t first, int lanes,
                           double (*out)[LANES])
{
    const NAMED(run_function) add = NAMED(select_run)(v, lanes);
    const X *const x = _Generic((X)0, float : args->x_fp32, double : args->x);
    const int values = bsr_values(v);
    const int64_t begin = bsr_offset(v, block_row), end = bsr_offset(v, block_row + 1);
    const int64_t most = BSR_DECODED / values / 2 * 2;
    REAL value[BSR_DECODED];
    NAMED(row_sums) sums = {.even = {{(REAL)0.0}}};

    for (int64_t k = begin; k < end; k += most) {
        const int64_t count = end - k < most ? end - k : most;
        const REAL *from = READ((tess_operand){v->val, v->precision}, k * values, (int)count * values, value);

        add(&(NAMED(block_run)){count, from, v, block_row, k, x + first, args->columns}, &sums);
    }
    NAMED(give_sums)(v, lanes, &sums, out);
}
