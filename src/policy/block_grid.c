/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays of a grid of blocks. */
#include "policy/block_grid.h"

#include "matrix/matrix.h"

tess_status block_grid_allocate_rows(tess_context *ctx, int64_t nrows, block_grid *grid)
{
    grid->nblock_rows = (nrows + grid->rows - 1) / grid->rows;
    return tess_device_allocate(ctx, grid->nblock_rows + 1, sizeof *grid->first, (void **)&grid->first);
}

tess_status block_grid_allocate_blocks(tess_context *ctx, int64_t nblocks, block_grid *grid)
{
    tess_status status = TESS_SUCCESS;

    grid->nblocks = nblocks;
    TESS_TRY(tess_device_allocate(ctx, nblocks, sizeof *grid->column, (void **)&grid->column));
    TESS_TRY(tess_device_allocate(ctx, nblocks, sizeof *grid->count, (void **)&grid->count));
cleanup:
    return status;
}

void block_grid_release(tess_context *ctx, block_grid *grid)
{
    tess_device_release(ctx, grid->first, grid->nblock_rows + 1, sizeof *grid->first);
    tess_device_release(ctx, grid->column, grid->nblocks, sizeof *grid->column);
    tess_device_release(ctx, grid->count, grid->nblocks, sizeof *grid->count);
    grid->first = NULL;
    grid->column = NULL;
    grid->count = NULL;
}
