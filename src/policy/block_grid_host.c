/* SPDX-License-Identifier: Apache-2.0 */
/* The grid of blocks and the levels of its blocks on the host: the rows of a block row are merged, block by block. */
#include <string.h>

#include "device/host/host.h"
#include "policy/error_bound.h"
#include "policy/magnitudes.h"

enum { MAX_BLOCK_ROWS = 32 };

/* The remaining entries of a block row's rows, and the next block column of each. */
typedef struct block_cursors {
    const csr_view *csr;
    int nrows, shift;
    int64_t at[MAX_BLOCK_ROWS], end[MAX_BLOCK_ROWS];
    int32_t column[MAX_BLOCK_ROWS];
} block_cursors;

static void look_ahead(block_cursors *c, int i)
{
    c->column[i] = c->at[i] < c->end[i] ? c->csr->col_ind[c->at[i]] >> c->shift : BLOCK_GRID_NO_COLUMN;
}

static block_cursors open_block_row(const csr_view *csr, const block_grid *grid, int64_t block_row)
{
    int64_t first = block_row * grid->rows, left = csr->nrows - first;
    block_cursors c = {
        .csr = csr, .nrows = left < grid->rows ? (int)left : grid->rows, .shift = block_grid_shift(grid->cols)};

    for (int i = 0; i < c.nrows; i++) {
        c.at[i] = assign_row_start(csr, first + i);
        c.end[i] = assign_row_start(csr, first + i + 1);
        look_ahead(&c, i);
    }
    return c;
}

/* BLOCK_GRID_NO_COLUMN after the last. */
static int32_t next_column(const block_cursors *c)
{
    int32_t least = BLOCK_GRID_NO_COLUMN;

    for (int i = 0; i < c->nrows; i++) {
        least = c->column[i] < least ? c->column[i] : least;
    }
    return least;
}

static void add_entry(const assign_task *task, const policy_ranges *ranges, int64_t k, item_statistics *s)
{
    if (task->fits) {
        item_add_fits(s, task->fits[k]);
    } else {
        item_add(s, ranges, task->rules.lossless, assign_value(&task->csr, k));
    }
}

/* Moves past the entries of a block; adds them to s, unless that is NULL, by the ranges of the task. */
static void take_block(block_cursors *c, int32_t column, const assign_task *task, const policy_ranges *ranges,
                       item_statistics *s)
{
    for (int i = 0; i < c->nrows; i++) {
        while (c->column[i] == column) {
            if (s) { add_entry(task, ranges, c->at[i], s); }
            c->at[i] += 1;
            look_ahead(c, i);
        }
    }
}

static int64_t count_blocks(const csr_view *csr, const block_grid *grid, int64_t block_row)
{
    block_cursors c = open_block_row(csr, grid, block_row);
    int64_t count = 0;

    for (int32_t column = next_column(&c); column != BLOCK_GRID_NO_COLUMN; column = next_column(&c)) {
        take_block(&c, column, NULL, NULL, NULL);
        count++;
    }
    return count;
}

static void fill_block_row(const assign_task *task, const policy_ranges *ranges, int64_t block_row,
                           tess_assignment *out, unsigned long long *count)
{
    const block_grid *grid = &out->grid;
    block_cursors c = open_block_row(&task->csr, grid, block_row);

    for (int64_t b = grid->first[block_row]; b < grid->first[block_row + 1]; b++) {
        item_statistics s = item_start();
        assign_outcome o;

        grid->column[b] = next_column(&c);
        take_block(&c, grid->column[b], task, ranges, &s);
        o = assign_block(&task->rules, TESS_MAX_LEVELS, &s);
        grid->count[b] = (uint16_t)s.count;
        out->level[b] = (uint8_t)o.level;
        if (out->exponent) { out->exponent[b] = (int16_t)o.exponent; }
        assign_count(&o, count);
    }
}

/* The grid's shape: a first pass that only counts. */
static tess_status shape_grid(tess_context *ctx, const assign_task *task, block_grid *grid)
{
    const bool parallel = task->csr.nnz > HOST_SERIAL_WORK;
    int64_t sum = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(block_grid_allocate_rows(ctx, task->csr.nrows, grid));
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64) if (parallel)
    for (int64_t i = 0; i < grid->nblock_rows; i++) {
        grid->first[i] = count_blocks(&task->csr, grid, i);
    }
    for (int64_t i = 0; i < grid->nblock_rows; i++) {
        int64_t here = grid->first[i];

        grid->first[i] = sum;
        sum += here;
    }
    grid->first[grid->nblock_rows] = sum;
    TESS_TRY(block_grid_allocate_blocks(ctx, sum, grid));
cleanup:
    return status;
}

tess_status assign_blocks_host(tess_context *ctx, const assign_task *task, tess_assignment *out, assign_totals *totals)
{
    unsigned long long count[ASSIGN_COUNTS] = {0};
    const bool parallel = task->csr.nnz > HOST_SERIAL_WORK;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(magnitudes_host(ctx, task, totals));
    TESS_TRY(shape_grid(ctx, task, &out->grid));
    TESS_TRY(tess_device_allocate(ctx, out->grid.nblocks, sizeof *out->level, (void **)&out->level));
    if (policy_has_scales(&task->rules)) {
        TESS_TRY(tess_device_allocate(ctx, out->grid.nblocks, sizeof *out->exponent, (void **)&out->exponent));
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64) reduction(+ : count) if (parallel)
    for (int64_t i = 0; i < out->grid.nblock_rows; i++) {
        fill_block_row(task, &totals->ranges, i, out, count);
    }
    memcpy(totals->count, count, sizeof count);
    totals->nblocks = out->grid.nblocks;
cleanup:
    return status;
}
