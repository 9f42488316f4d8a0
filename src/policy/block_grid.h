/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks of a matrix that hold entries: used by granularity block and all layouts of tiles (Zhao et al. 2024,
 * section 3.1.1; Yang et al. 2024, section III-B). Rows and columns are cut at multiples of a block's sides; the matrix
 * may cut off the last block row and column. The grid does not list a block's entries: builders walk the rows.
 */
#ifndef TESS_POLICY_BLOCK_GRID_H
#define TESS_POLICY_BLOCK_GRID_H

#include <stdint.h>

#include <tessera/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All arrays are on the context's device. */
typedef struct block_grid {
    int rows, cols; /* of a block: 16 or 32 each; 0: there is no grid */
    int64_t nblock_rows, nblocks;
    int64_t *first;  /* nblock_rows + 1: number of each block row's first block */
    int32_t *column; /* nblocks: block columns, ascending in a block row */
    uint16_t *count; /* nblocks: entries of each block, 1 to rows * cols */
} block_grid;

/* Above every block column. */
#define BLOCK_GRID_NO_COLUMN INT32_MAX

/* log2 of a side. */
TESS_HD int block_grid_shift(int side)
{
    return side == 32 ? 5 : 4;
}

/* When the number of rows is known: sets nblock_rows, and allocates first. */
tess_status block_grid_allocate_rows(tess_context *ctx, int64_t nrows, block_grid *grid);
/* When nblocks is known: allocates column and count. */
tess_status block_grid_allocate_blocks(tess_context *ctx, int64_t nblocks, block_grid *grid);
/* Frees the arrays; NULL is allowed. */
void block_grid_release(tess_context *ctx, block_grid *grid);

#ifdef __cplusplus
}
#endif

#endif
