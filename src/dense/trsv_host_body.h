/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's triangular solve for one arithmetic. Included once per arithmetic, with
 *   REAL         double or float
 *   LOAD, STORE  tess_load and tess_store, or those for float
 *   NAMED(name)  the name with the arithmetic in it
 * Storage precisions are constants of the innermost functions, which makes a function of each.
 */

typedef void (*NAMED(tile_function))(const trsv_tile *tile, const REAL *x, REAL *sum);

/* sum[i] = sum over the tile's columns j of A(i, j) x_j, columns in ascending order: for each of the rows. */
TESS_HD void NAMED(multiply_body)(tess_precision precision, const trsv_tile *tile, const REAL *x, REAL *sum)
{
    for (int64_t i = 0; i < tile->rows; i++) {
        sum[i] = 0;
    }
    for (int64_t j = 0; j < tile->columns; j++) {
        const int64_t at = tile->at + j * tile->ld;
        const REAL factor = x[j];

#pragma omp simd
        for (int64_t i = 0; i < tile->rows; i++) {
            sum[i] += LOAD(precision, tile->a, at + i) * factor;
        }
    }
}

/* sum[j] = sum over the tile's rows i of A(i, j) x_i: for each of the columns. */
TESS_HD void NAMED(multiply_transposed_body)(tess_precision precision, const trsv_tile *tile, const REAL *x, REAL *sum)
{
    for (int64_t j = 0; j < tile->columns; j++) {
        const int64_t at = tile->at + j * tile->ld;
        REAL total = 0;

#pragma omp simd reduction(+ : total)
        for (int64_t i = 0; i < tile->rows; i++) {
            total += LOAD(precision, tile->a, at + i) * x[i];
        }
        sum[j] = total;
    }
}

#define TESS_TRSV_BODIES(NAME, ...)                                                                \
    static void NAMED(multiply_##NAME)(const trsv_tile *tile, const REAL *x, REAL *sum)            \
    {                                                                                              \
        NAMED(multiply_body)(TESS_PRECISION_##NAME, tile, x, sum);                                 \
    }                                                                                              \
    static void NAMED(multiply_transposed_##NAME)(const trsv_tile *tile, const REAL *x, REAL *sum) \
    {                                                                                              \
        NAMED(multiply_transposed_body)(TESS_PRECISION_##NAME, tile, x, sum);                      \
    }
TESS_PRECISION_LIST(TESS_TRSV_BODIES)
#undef TESS_TRSV_BODIES

/* By precision, in the order of the list. */
#define TESS_TRSV_ENTRY(NAME, ...) {NAMED(multiply_##NAME), NAMED(multiply_transposed_##NAME)},
static const NAMED(tile_function) NAMED(multiply)[][2] = {TESS_PRECISION_LIST(TESS_TRSV_ENTRY)};
#undef TESS_TRSV_ENTRY

/* x_I = Y right with the inverse of the diagonal block, both in the order of the solution. */
static void NAMED(apply_inverse)(const trsv_inverse *inverse, const REAL *right, REAL *x)
{
    for (int r = 0; r < TRSV_BLOCK; r++) {
        x[r] = 0;
        for (int c = 0; c <= r; c++) {
            x[r] += (REAL)inverse->value[r][c] * right[c];
        }
    }
}

/* Solves the block that begins at `first`; work[0 ..] holds its right-hand side and gets its solution. */
static void NAMED(solve_block)(const trsv_args_in_order *s, int64_t first, REAL *work)
{
    const int64_t rows = trsv_rows(s, first);
    trsv_inverse inverse;
    REAL right[TRSV_BLOCK] = {0}, x[TRSV_BLOCK];

    for (int64_t i = 0; i < rows; i++) {
        right[trsv_place(s, i)] = work[i];
    }
    invert_block(s, first, &inverse);
    NAMED(apply_inverse)(&inverse, right, x);
    for (int64_t i = 0; i < rows; i++) {
        work[i] = x[trsv_place(s, i)];
    }
}

/* work -= op(A) x_I for HOST_TRSV_ROWS rows of op(A) from `row` on. `x` holds x_I, scaled when A's columns are those of
 * x. */
static void NAMED(update_rows)(const trsv_args_in_order *s, int64_t row, int64_t rows, int64_t first, const REAL *x,
                               REAL *work)
{
    const tess_dense_view *a = &s->args->a;
    const int64_t block = trsv_rows(s, first);
    const trsv_tile tile = {.a = a->data,
                            .at = s->transposed ? first + row * a->ld : row + first * a->ld,
                            .ld = a->ld,
                            .rows = s->transposed ? block : rows,
                            .columns = s->transposed ? rows : block};
    REAL sum[HOST_TRSV_ROWS];

    NAMED(multiply)[a->precision][s->transposed](&tile, x, sum);
    for (int64_t i = 0; i < rows; i++) {
        const REAL factor = s->transposed && a->column_scale ? (REAL)a->column_scale[row + i] : 1;

        work[row + i] -= factor * sum[i];
    }
}

/* Subtracts x_I from all rows that are still to be solved, begin .. end - 1. */
static void NAMED(update)(const trsv_args_in_order *s, int threads, int64_t begin, int64_t end, int64_t first,
                          REAL *work)
{
    const double *scale = s->args->a.column_scale;
    const int64_t block = trsv_rows(s, first), chunks = (end - begin + HOST_TRSV_ROWS - 1) / HOST_TRSV_ROWS;
    REAL x[TRSV_BLOCK];

    for (int64_t i = 0; i < block; i++) {
        x[i] = work[first + i];
        if (!s->transposed && scale) { x[i] *= (REAL)scale[first + i]; }
    }
#pragma omp parallel for num_threads(threads) schedule(static) if ((end - begin) * TRSV_BLOCK > HOST_SERIAL_WORK)
    for (int64_t c = 0; c < chunks; c++) {
        const int64_t row = begin + c * HOST_TRSV_ROWS;

        NAMED(update_rows)(s, row, end - row < HOST_TRSV_ROWS ? end - row : HOST_TRSV_ROWS, first, x, work);
    }
}

static void NAMED(solve)(const trsv_args_in_order *s, int threads, REAL *work)
{
    const tess_dense_view *x = &s->args->x;
    const int64_t blocks = trsv_blocks(s->n);

    for (int64_t i = 0; i < s->n; i++) {
        work[i] = LOAD(x->precision, x->data, i);
    }
    for (int64_t step = 0; step < blocks; step++) {
        const int64_t first = (s->backward ? blocks - 1 - step : step) * TRSV_BLOCK;

        NAMED(solve_block)(s, first, work + first);
        if (s->backward) {
            NAMED(update)(s, threads, 0, first, first, work);
        } else {
            NAMED(update)(s, threads, first + trsv_rows(s, first), s->n, first, work);
        }
    }
    for (int64_t i = 0; i < s->n; i++) {
        STORE(x->precision, x->data, i, work[i], TESS_OVERFLOW_INFINITY);
    }
}
