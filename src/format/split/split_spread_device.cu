/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Levels of entries from those of their blocks on the GPU. The entries of a block row are neighbours, and its blocks are sorted by
 * column: an entry needs to know its block row, and not its row. A block of threads takes a run of entries, finds the few block
 * rows that these are in, and each thread searches among them and then among the blocks of one.
 */
#include "backend/gpu/gpu.h"
#include "format/split/split_rows.h"

enum { ENTRIES = 4, RUN = ENTRIES * GPU_BLOCK }; /* entries of a thread, and of a block of threads */

struct spread_task {
    csr_view csr;
    block_grid grid;
    const uint8_t *of_block;
    uint8_t *level;
};

/* Where the entries of a block row begin; past the last one: where they end. */
__device__ static inline int64_t block_row_start(const spread_task &t, int64_t block_row)
{
    return tess_row_offset(t.csr.row_ptr, t.csr.row_ptr_bits, min(block_row * t.grid.rows, t.csr.nrows));
}

/* The last block row from `low` to `high` that begins at entry k or before. */
__device__ static inline int64_t find_block_row(const spread_task &t, int64_t low, int64_t high, int64_t k)
{
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;

        if (block_row_start(t, middle) <= k) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

__device__ static inline uint8_t level_at(const spread_task &t, int64_t block_row, int32_t column)
{
    int64_t low = t.grid.first[block_row], end = t.grid.first[block_row + 1], high = end;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (t.grid.column[middle] < column) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < end && t.grid.column[low] == column ? t.of_block[low] : (uint8_t)TESS_LEVEL_NONE;
}

__global__ static void __launch_bounds__(GPU_BLOCK) spread_kernel(const spread_task t)
{
    __shared__ int64_t ends[2];
    const int64_t first = (int64_t)blockIdx.x * RUN, last = min(first + RUN, t.csr.nnz) - 1;
    const int shift = block_grid_shift(t.grid.cols);

    if (threadIdx.x < 2) {
        ends[threadIdx.x] = find_block_row(t, 0, t.grid.nblock_rows - 1, threadIdx.x == 0 ? first : last);
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < ENTRIES; e++) {
        int64_t k = first + e * GPU_BLOCK + threadIdx.x;

        if (k <= last) {
            int32_t column = gpu_load_once(t.csr.col_ind + k) >> shift;

            t.level[k] = level_at(t, find_block_row(t, ends[0], ends[1], k), column);
        }
    }
}

extern "C" tess_status split_gpu_spread(tess_context *ctx, const csr_view *csr, const block_grid *grid,
                                        const uint8_t *of_block, uint8_t *level)
{
    gpu_scope scope(ctx);
    const spread_task task = {*csr, *grid, of_block, level};

    if (csr->nnz == 0) { return TESS_SUCCESS; }
    spread_kernel<<<(unsigned)((csr->nnz + RUN - 1) / RUN), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(task);
    return gpu_check_launch(ctx, "levels of entries from blocks");
}
