/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks of a matrix that hold entries: what granularity block and all layouts of tiles have in common (Zhao et al. 2024,
 * section 3.1.1; Yang et al. 2024, section III-B). Rows and columns are cut at multiples of a block's sides; the last block row
 * and column may be cut off by the matrix. Entries of a block are in no array of the grid: builders walk the rows.
 */
#ifndef TESS_GRANULE_BLOCK_GRID_H
#define TESS_GRANULE_BLOCK_GRID_H

#include <stdint.h>

/* All arrays are on the context's device. */
typedef struct block_grid {
    int rows, cols; /* of a block: 16 or 32 each; 0: there is no grid */
    int64_t nblock_rows, nblocks;
    int64_t *first;  /* nblock_rows + 1: number of each block row's first block */
    int32_t *column; /* nblocks: block columns, ascending in a block row */
    uint16_t *count; /* nblocks: entries of each block, 1 to rows * cols */
} block_grid;

#endif
