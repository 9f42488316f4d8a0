/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Levels of entries from those of their blocks, on the GPU. The entries of a block row are neighbours, and its blocks
 * are sorted by column, so an entry needs only its block row, not its row. A wave takes a block row and copies the
 * columns and levels of its blocks to shared memory, where its threads search. If there are too many blocks for that,
 * they search in memory.
 */
#include "device/gpu/gpu.h"
#include "format/split/split_rows.h"

enum {
    WAVES = GPU_BLOCK / GPU_WAVE,
    BLOCKS_PER_MULTIPROCESSOR = 8,
    ENTRIES = 4, /* entries of a thread that are loaded before the first is used */
    MOST = 64    /* blocks of a block row that are copied; a power of two */
};

struct spread_task {
    csr_view csr;
    block_grid grid;
    const uint8_t *of_block;
    uint8_t *level;
};

/* A wave's block row, in shared memory; columns beyond the last are INT32_MAX. */
struct brought_blocks {
    int32_t column[MOST];
    uint8_t level[MOST];
};

/* Where the entries of a block row begin; beyond the last one, where they end. */
__device__ static inline int64_t block_row_start(const spread_task &t, int64_t block_row)
{
    return tess_row_offset(t.csr.row_ptr, t.csr.row_ptr_bits, min(block_row * t.grid.rows, t.csr.nrows));
}

/* The level of the block of the column, among the blocks from `low` to before `high`. Every entry has a block. */
__device__ static inline uint8_t level_in_memory(const spread_task &t, int64_t low, int64_t high, int32_t column)
{
    while (low + 1 < high) {
        const int64_t middle = low + (high - low) / 2;

        if (t.grid.column[middle] <= column) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return t.of_block[low];
}

__device__ static inline uint8_t level_among(const brought_blocks &blocks, int32_t column)
{
    int block = 0;

#pragma unroll
    for (int step = MOST / 2; step > 0; step /= 2) {
        block += blocks.column[block + step] <= column ? step : 0;
    }
    return blocks.level[block];
}

__global__ static void __launch_bounds__(GPU_BLOCK) spread_kernel(const spread_task t)
{
    __shared__ brought_blocks all[WAVES];
    const int lane = (int)threadIdx.x % GPU_WAVE, shift = block_grid_shift(t.grid.cols);
    brought_blocks &blocks = all[threadIdx.x / GPU_WAVE];

    for (int64_t row = (int64_t)blockIdx.x * WAVES + threadIdx.x / GPU_WAVE; row < t.grid.nblock_rows;
         row += (int64_t)gridDim.x * WAVES) {
        const int64_t first = t.grid.first[row], last = t.grid.first[row + 1], end = block_row_start(t, row + 1);
        const bool brought = last - first <= MOST;

        GPU_SYNC_WAVE(); /* all lanes have used the previous blocks */
        for (int b = lane; b < MOST && brought; b += GPU_WAVE) {
            blocks.column[b] = first + b < last ? t.grid.column[first + b] : INT32_MAX;
            blocks.level[b] = first + b < last ? t.of_block[first + b] : (uint8_t)0;
        }
        GPU_SYNC_WAVE();
        for (int64_t begin = block_row_start(t, row) + lane; begin < end; begin += ENTRIES * GPU_WAVE) {
            int32_t column[ENTRIES];

#pragma unroll
            for (int e = 0; e < ENTRIES; e++) {
                column[e] = gpu_load_once(t.csr.col_ind + min(begin + e * GPU_WAVE, end - 1)) >> shift;
            }
#pragma unroll
            for (int e = 0; e < ENTRIES; e++) {
                if (begin + e * GPU_WAVE < end) {
                    t.level[begin + e * GPU_WAVE] =
                        brought ? level_among(blocks, column[e]) : level_in_memory(t, first, last, column[e]);
                }
            }
        }
    }
}

extern "C" tess_status split_gpu_spread(tess_context *ctx, const csr_view *csr, const block_grid *grid,
                                        const uint8_t *of_block, uint8_t *level)
{
    gpu_scope scope(ctx);
    const spread_task task = {*csr, *grid, of_block, level};

    if (csr->nnz == 0) { return TESS_SUCCESS; }
    spread_kernel<<<gpu_grid(ctx, grid->nblock_rows * GPU_WAVE, BLOCKS_PER_MULTIPROCESSOR), GPU_BLOCK, 0,
                    gpu_stream_of(ctx)>>>(task);
    return gpu_check_launch(ctx, "levels of entries from blocks");
}
