/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the builders of block rows on the GPU: their input as an argument, and copies of records to their places.
 */
#ifndef TESS_FORMAT_TILES_TILES_BUILD_CUH
#define TESS_FORMAT_TILES_TILES_BUILD_CUH

#include "base/offsets.h"
#include "format/tiles/tiles_device.cuh"

enum { FILL_BLOCK = 128 /* threads of a block that makes records: shared memory has space for their block rows */ };

/* The kernels' argument by value: a source whose parts are in host memory. */
struct source_argument {
    tiles_source source;
    csr_view csr;
    block_grid grid;

    explicit source_argument(const tiles_source *from) : source(*from), csr(*from->csr), grid(*from->grid)
    {
    }
};

/* The source with its parts where the kernel has them. */
__device__ static inline tiles_source source_in(const source_argument &argument)
{
    tiles_source source = argument.source;

    source.csr = &argument.csr;
    source.grid = &argument.grid;
    return source;
}

/* The first entry from `low` on, below `high`, whose column is at least `column`; `high` if there is none. */
__device__ static inline int64_t find_column(const int32_t *col_ind, int64_t low, int64_t high, int64_t column)
{
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if ((int64_t)col_ind[middle] < column) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* A block row's record while the threads of a group make it. It is in shared memory if there is space, because single
   bytes and values are slow to write to memory, and copied to memory as a whole. It begins as zeros, because some bytes
   are padding. */
template <int ROWS>
struct record_place {
    char *record; /* where it is made */
    uint4 *target;
    int units; /* bytes to copy; 0: it is made in its place */

    /* All lanes of the wave call it. */
    __device__ inline record_place(const tiles_view &v, char *records, bool has, int64_t block_row, char *stage,
                                   int capacity, int lane)
        : record(records), target(NULL), units(0)
    {
        const uint32_t start = has ? v.start[block_row] : 0U, end = has ? v.start[block_row + 1] : 0U;
        const int all = (int)(end - start);

        record = records + (int64_t)start * TILES_UNIT;
        target = (uint4 *)(void *)record;
        if ((int64_t)all * TILES_UNIT <= capacity) {
            units = all;
            record = stage;
        }
        for (int i = lane; i < all; i += ROWS) {
            ((uint4 *)(void *)record)[i] = make_uint4(0, 0, 0, 0);
        }
        GPU_SYNC_WAVE();
    }

    __device__ inline void bring(int lane) const
    {
        GPU_SYNC_WAVE();
        for (int i = lane; i < units; i += ROWS) {
            target[i] = ((const uint4 *)(const void *)record)[i];
        }
        GPU_SYNC_WAVE(); /* all lanes are done with the workspace */
    }
};

/* Bytes for a record of each of `groups` groups: enough for most block rows, if two blocks are then resident. own:
   other bytes of shared memory of a block. */
static inline int record_capacity(tess_context *ctx, const tiles_view *v, int groups, int own)
{
    enum { RESIDENT = 2 };
    const gpu_state *state = gpu_state_of(ctx);
    const int64_t likely = v->units * TILES_UNIT / v->nblock_rows * 5 / 4 + TILES_UNIT;
    const int64_t half = state->shared_bytes / RESIDENT,
                  block = half < state->shared_bytes_per_block ? half : state->shared_bytes_per_block,
                  most = (block - own) / groups;

    return (int)(likely < most ? likely : most) / TILES_UNIT * TILES_UNIT;
}

#endif
