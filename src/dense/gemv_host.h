/* SPDX-License-Identifier: Apache-2.0 */
/* How the host cuts a dense product into tiles. This depends only on its shape, so that sums do not depend on the
   number of threads. */
#ifndef TESS_DENSE_GEMV_HOST_H
#define TESS_DENSE_GEMV_HOST_H

#include "dense/gemv.h"
#include "device/host/host.h"

enum {
    GEMV_ROWS = 2048,         /* rows that are computed at once: their sums, or their part of X, stay in the L1 cache */
    GEMV_COLUMNS = 256,       /* coefficients that are computed at once */
    GEMV_FEWEST_COLUMNS = 64, /* columns of a tile, if there are as many */
    GEMV_TILES = 64           /* tiles wanted: enough for many threads, few enough that adding parts costs nothing */
};

typedef struct gemv_tiling {
    int64_t rows, columns; /* of a tile; rows is a multiple of GEMV_ROWS */
    int64_t row_tiles, column_tiles;
    int64_t parts; /* sums that make up an element of Y */
} gemv_tiling;

/* The part of A that a tile covers. */
typedef struct gemv_tile {
    int64_t row, row_end, column, column_end;
    int64_t part;
} gemv_tile;

/* Sums of parts, as they lie in memory: [part][column of Y][element of Y]. */
static inline int64_t gemv_part_at(const tess_gemv_args *g, int64_t part, int k, int64_t i)
{
    return (part * g->y.ncols + k) * g->y.nrows + i;
}

#endif
