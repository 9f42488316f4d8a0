/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the layouts of tiles on the host: products block row by block row. */
#ifndef TESS_FORMAT_TILES_TILES_HOST_H
#define TESS_FORMAT_TILES_TILES_HOST_H

#include "format/tiles/tiles.h"

/* The block rows of a layout. sum: sums of all rows of a block row, given x, in FP32 or FP64. */
typedef struct tiles_block_rows {
    const void *view;
    void (*sum)(const void *view, int64_t block_row, const void *x, bool fp32, double *sum);
    int64_t nrows, nnz, nblock_rows;
    int rows;
} tiles_block_rows;

tess_status tiles_host_product(tess_context *ctx, const tiles_block_rows *block_rows, const tess_spmv_args *args);
tess_status tiles_host_prepare(tess_context *ctx, int64_t nblock_rows);

/* Turns the units of each block row into places from 0 on; returns their sum, and the bytes of the longest block row.
 */
int64_t tiles_host_place_block_rows(const tiles_view *v, uint32_t *start, int64_t *longest);

/* A block row's record, all zero, because some of its bytes are padding. */
char *tiles_host_open_record(const tiles_view *v, int64_t block_row, char *records);

/* Where the entries of a block row's rows begin; builders advance these. */
void tiles_host_open_block_row(const csr_view *csr, int64_t block_row, int rows, int64_t *cursor);

/* A block's entries: where those of each row begin in the matrix, and their numbers. */
typedef struct block_entries {
    int64_t at[TILES_SIDE];
    int length[TILES_SIDE];
} block_entries;

/* Removes the entries in that block column from the block row's rows; cursor[r] is the next entry of row r. */
block_entries tiles_host_take_block(const csr_view *csr, int64_t block_row, int rows, int column_bits, int32_t column,
                                    int64_t *cursor);

#endif
