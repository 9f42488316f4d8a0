/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense matrix-vector products on the host. A is cut into tiles of a fixed shape. If several tiles add to one element
 * of Y, their parts are stored separately and added in order, so that every number of threads gives the same bits.
 */
#include <string.h>

#include "base/by_precision.h"
#include "dense/gemv_host.h"
#include "device/host/host.h"

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low || high < low ? low : value > high ? high : value;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static gemv_tiling make_tiling(const tess_gemv_args *g)
{
    const bool transposed = g->operation == TESS_OP_TRANSPOSE;
    gemv_tiling t;
    int64_t wanted = 0;

    /* Transposed, each range of rows adds a part to every sum: a few long ranges. */
    t.rows = transposed ? divide_up(divide_up(g->a.nrows, GEMV_TILES), GEMV_ROWS) * GEMV_ROWS : GEMV_ROWS;
    t.rows = t.rows > 0 ? t.rows : GEMV_ROWS;
    t.row_tiles = clamp(divide_up(g->a.nrows, t.rows), 1, INT64_MAX);
    wanted = clamp(g->a.ncols / GEMV_FEWEST_COLUMNS, 1, divide_up(GEMV_TILES, t.row_tiles));
    t.columns = divide_up(divide_up(g->a.ncols, wanted), 4) * 4;
    t.columns = t.columns > 0 ? t.columns : 4;
    t.column_tiles = clamp(divide_up(g->a.ncols, t.columns), 1, INT64_MAX);
    t.parts = transposed ? t.row_tiles : t.column_tiles;
    return t;
}

static gemv_tile tile_of(const tess_gemv_args *g, const gemv_tiling *tiling, int64_t index)
{
    const int64_t r = index % tiling->row_tiles, c = index / tiling->row_tiles;
    gemv_tile tile = {.row = r * tiling->rows, .column = c * tiling->columns};

    tile.row_end = clamp(tile.row + tiling->rows, 0, g->a.nrows);
    tile.column_end = clamp(tile.column + tiling->columns, 0, g->a.ncols);
    tile.part = g->operation == TESS_OP_TRANSPOSE ? r : c;
    return tile;
}

/*
 * Prefetches the next columns in the same rows: a tile's columns are short streams, which hardware prefetchers detect
 * too late. Beyond the last column it prefetches addresses that are never used.
 */
TESS_INLINE void gemv_prefetch(tess_precision precision, int width, const void *a, int64_t at, int64_t ld)
{
    for (int w = 0; w < width; w++) {
        const uintptr_t place = (uintptr_t)(at + (width + w) * ld) * tess_storage_bytes(precision);

        __builtin_prefetch((const void *)((uintptr_t)a + place), 0, 3);
    }
}

#define REAL double
#define LOAD tess_load
#define LANES 8
#define NAMED(name) name##_in_fp64
#include "dense/gemv_host_tile.h"
#undef REAL
#undef LOAD
#undef LANES
#undef NAMED

#define REAL float
#define LOAD tess_load_float
#define LANES 16
#define NAMED(name) name##_in_fp32
#include "dense/gemv_host_tile.h"

static tess_status multiply(tess_context *ctx, const tess_gemv_args *args)
{
    const gemv_tiling tiling = make_tiling(args);
    double *parts = NULL;

    /* Transposed, sums are accumulated in the parts even if there is only one. */
    if (tiling.parts > 1 || args->operation == TESS_OP_TRANSPOSE) {
        tess_status status = host_partials(ctx, tiling.parts * args->y.nrows * args->y.ncols, &parts);

        if (status != TESS_SUCCESS) { return status; }
    }
    if (args->arithmetic == TESS_ARITHMETIC_FP32) {
        multiply_in_fp32(args, &tiling, ctx->threads, (float *)parts);
    } else {
        multiply_in_fp64(args, &tiling, ctx->threads, parts);
    }
    return TESS_SUCCESS;
}

const gemv_ops gemv_host_ops = {multiply};
