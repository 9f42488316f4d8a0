/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tiles of a dense product on the host, for one arithmetic. Included once per arithmetic, with
 *   REAL         double or float
 *   LOAD         tess_load or tess_load_float
 *   LANES        running sums of a dot product: fixed, whatever the width of the processor's vectors
 *   NAMED(name)  the name with the arithmetic in it
 */

/* sum[i] += c[0] A(i, 0) + ... + c[width - 1] A(i, width - 1), added from left to right. */
TESS_INLINE void NAMED(add_rows)(tess_precision precision, int width, const void *a, int64_t at, int64_t ld,
                                 int64_t rows, const REAL *c, REAL *restrict sum)
{
    const int64_t a0 = at, a1 = at + ld, a2 = at + 2 * ld, a3 = at + 3 * ld;

    for (int64_t i = 0; i < rows; i++) {
        REAL s = sum[i] + c[0] * LOAD(precision, a, a0 + i);

        if (width == 4) {
            s += c[1] * LOAD(precision, a, a1 + i);
            s += c[2] * LOAD(precision, a, a2 + i);
            s += c[3] * LOAD(precision, a, a3 + i);
        }
        sum[i] = s;
    }
}

/* The same for a cache line at a time. */
TESS_INLINE void NAMED(add_body)(tess_precision precision, int width, const void *a, int64_t at, int64_t ld,
                                 int64_t rows, const REAL *c, REAL *restrict sum)
{
    const int64_t line = 64 / (int64_t)tess_storage_bytes(precision);
    int64_t i = 0;

    for (; i + line <= rows; i += line) {
        gemv_prefetch(precision, width, a, at + i, ld);
        NAMED(add_rows)(precision, width, a, at + i, ld, line, c, sum + i);
    }
    NAMED(add_rows)(precision, width, a, at + i, ld, rows - i, c, sum + i);
}

/* The sums of a dot product's lanes, added in pairs. */
TESS_HD REAL NAMED(add_lanes)(REAL *lane)
{
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        for (int l = 0; l < distance; l++) {
            lane[l] += lane[l + distance];
        }
    }
    return lane[0];
}

/* sum[w] += sum over i of A(i, w) x[i] */
TESS_HD void NAMED(dot_body)(tess_precision precision, int width, const void *a, int64_t at, int64_t ld, int64_t rows,
                             const REAL *restrict x, REAL *sum)
{
    REAL lane[4][LANES] = {{0}};
    int64_t i = 0;

    for (; i + LANES <= rows; i += LANES) {
        if (i * (int64_t)tess_storage_bytes(precision) % 64 == 0) { gemv_prefetch(precision, width, a, at + i, ld); }
        for (int w = 0; w < width; w++) {
            for (int l = 0; l < LANES; l++) {
                lane[w][l] += LOAD(precision, a, at + w * ld + i + l) * x[i + l];
            }
        }
    }
    for (int l = 0; i < rows; i++, l++) {
        for (int w = 0; w < width; w++) {
            lane[w][l] += LOAD(precision, a, at + w * ld + i) * x[i];
        }
    }
    for (int w = 0; w < width; w++) {
        sum[w] += NAMED(add_lanes)(lane[w]);
    }
}

#define TESS_GEMV_BODIES(NAME, ...)                                                                           \
    HOST_CLONES static void NAMED(add_##NAME)(int width, const void *a, int64_t at, int64_t ld, int64_t rows, \
                                              const REAL *c, REAL *sum)                                       \
    {                                                                                                         \
        if (width == 4) {                                                                                     \
            NAMED(add_body)(TESS_PRECISION_##NAME, 4, a, at, ld, rows, c, sum);                               \
        } else {                                                                                              \
            NAMED(add_body)(TESS_PRECISION_##NAME, 1, a, at, ld, rows, c, sum);                               \
        }                                                                                                     \
    }                                                                                                         \
    HOST_CLONES static void NAMED(dot_##NAME)(int width, const void *a, int64_t at, int64_t ld, int64_t rows, \
                                              const REAL *x, REAL *sum)                                       \
    {                                                                                                         \
        if (width == 4) {                                                                                     \
            NAMED(dot_body)(TESS_PRECISION_##NAME, 4, a, at, ld, rows, x, sum);                               \
        } else {                                                                                              \
            NAMED(dot_body)(TESS_PRECISION_##NAME, 1, a, at, ld, rows, x, sum);                               \
        }                                                                                                     \
    }
TESS_PRECISION_LIST(TESS_GEMV_BODIES)
#undef TESS_GEMV_BODIES

typedef void (*NAMED(columns_function))(int width, const void *a, int64_t at, int64_t ld, int64_t rows,
                                        const REAL *from, REAL *to);

/* By precision, in the order of the list. */
#define TESS_GEMV_ENTRY(NAME, ...) NAMED(add_##NAME),
static const NAMED(columns_function) NAMED(add_columns)[] = {TESS_PRECISION_LIST(TESS_GEMV_ENTRY)};
#undef TESS_GEMV_ENTRY
#define TESS_GEMV_ENTRY(NAME, ...) NAMED(dot_##NAME),
static const NAMED(columns_function) NAMED(dot_columns)[] = {TESS_PRECISION_LIST(TESS_GEMV_ENTRY)};
#undef TESS_GEMV_ENTRY

/* Rows row .. row + rows - 1 of A times coefficients for columns column .. column + count - 1, added to sum. */
static void NAMED(add_some_columns)(const tess_gemv_args *g, const gemv_tile *tile, int64_t column, int count,
                                    REAL (*sum)[GEMV_ROWS])
{
    const NAMED(columns_function) add = NAMED(add_columns)[g->a.precision];
    const int nvec = (int)g->y.ncols;
    REAL c[2][GEMV_COLUMNS];
    int j = 0;

    for (int k = 0; k < nvec; k++) {
        for (j = 0; j < count; j++) {
            c[k][j] = (REAL)gemv_coefficient(g, column + j, k);
        }
    }
    for (j = 0; j < count;) { /* uses both vectors while the columns are in the cache */
        const int width = j + 4 <= count ? 4 : 1;

        for (int k = 0; k < nvec; k++) {
            add(width, g->a.data, tile->row + (column + j) * g->a.ld, g->a.ld, tile->row_end - tile->row, &c[k][j],
                sum[k]);
        }
        j += width;
    }
}

/* The tile's share of A times X. */
static void NAMED(multiply_tile)(const tess_gemv_args *g, const gemv_tile *tile, REAL *parts)
{
    REAL sum[2][GEMV_ROWS] = {{0}};

    for (int64_t column = tile->column; column < tile->column_end; column += GEMV_COLUMNS) {
        const int64_t left = tile->column_end - column;

        NAMED(add_some_columns)(g, tile, column, (int)(left < GEMV_COLUMNS ? left : GEMV_COLUMNS), sum);
    }
    for (int k = 0; k < (int)g->y.ncols; k++) {
        for (int64_t i = tile->row; i < tile->row_end; i++) {
            if (parts) {
                parts[gemv_part_at(g, tile->part, k, i)] = sum[k][i - tile->row];
            } else {
                gemv_store(g, i, k, (double)sum[k][i - tile->row]);
            }
        }
    }
}

TESS_INLINE void NAMED(load_stored)(tess_precision precision, const tess_dense_view *v, int64_t at, int64_t count,
                                    REAL *out)
{
    for (int64_t i = 0; i < count; i++) {
        out[i] = LOAD(precision, v->data, at + i);
    }
}

static void NAMED(load_values)(const tess_dense_view *v, int64_t at, int64_t count, REAL *out)
{
    CALL_BY_PRECISION(v->precision, NAMED(load_stored), v, at, count, out);
}

/* The tile's share of A^T times X: GEMV_ROWS rows at a time, their sums added up in order. */
static void NAMED(multiply_tile_transposed)(const tess_gemv_args *g, const gemv_tile *tile, REAL *parts)
{
    const NAMED(columns_function) dot = NAMED(dot_columns)[g->a.precision];
    REAL x[2][GEMV_ROWS];

    for (int k = 0; k < (int)g->y.ncols; k++) {
        memset(&parts[gemv_part_at(g, tile->part, k, tile->column)], 0,
               (size_t)(tile->column_end - tile->column) * sizeof *parts);
    }
    for (int64_t row = tile->row; row < tile->row_end; row += GEMV_ROWS) {
        const int64_t rows = tile->row_end - row < GEMV_ROWS ? tile->row_end - row : GEMV_ROWS;

        for (int k = 0; k < (int)g->y.ncols; k++) {
            NAMED(load_values)(&g->x, row + k * g->x.ld, rows, x[k]);
        }
        for (int64_t j = tile->column; j < tile->column_end;) {
            const int width = j + 4 <= tile->column_end ? 4 : 1;

            for (int k = 0; k < (int)g->y.ncols; k++) {
                dot(width, g->a.data, row + j * g->a.ld, g->a.ld, rows, x[k],
                    &parts[gemv_part_at(g, tile->part, k, j)]);
            }
            j += width;
        }
    }
}

/* Adds up the parts of element i of column k in order and stores it. */
static void NAMED(finish)(const tess_gemv_args *g, const REAL *parts, int64_t count, int64_t i, int k)
{
    REAL sum = 0;

    for (int64_t p = 0; p < count; p++) {
        sum += parts[gemv_part_at(g, p, k, i)];
    }
    gemv_store(g, i, k, (double)sum);
}

static void NAMED(multiply)(const tess_gemv_args *g, const gemv_tiling *tiling, int threads, REAL *parts)
{
    const int64_t tiles = tiling->row_tiles * tiling->column_tiles;
    const bool parallel = g->a.nrows * g->a.ncols > HOST_SERIAL_WORK;

#pragma omp parallel num_threads(threads) if (parallel)
    {
#pragma omp for schedule(static)
        for (int64_t t = 0; t < tiles; t++) {
            const gemv_tile tile = tile_of(g, tiling, t);

            if (g->operation == TESS_OP_TRANSPOSE) {
                NAMED(multiply_tile_transposed)(g, &tile, parts);
            } else {
                NAMED(multiply_tile)(g, &tile, parts);
            }
        }
        if (parts) {
#pragma omp for schedule(static)
            for (int64_t i = 0; i < g->y.nrows; i++) {
                for (int k = 0; k < (int)g->y.ncols; k++) {
                    NAMED(finish)(g, parts, tiling->parts, i, k);
                }
            }
        }
    }
}
