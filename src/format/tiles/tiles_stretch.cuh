/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stretches: the records of a few block rows, which are copied to shared memory at once while the wave works on the
 * previous ones. A stretch that does not fit a stage is read from memory.
 */
#ifndef TESS_FORMAT_TILES_TILES_STRETCH_CUH
#define TESS_FORMAT_TILES_TILES_STRETCH_CUH

#include "format/tiles/tiles_device.cuh"

enum {
    MAX_STAGES = 2,      /* stretches of a wave in shared memory: one is processed, one may be in flight */
    MAX_BLOCK_ROWS = 16, /* of a stretch */
    LINE = GPU_ALLOCATION_UNIT
};

/* A wave's stretch of block rows: where their records begin. Lane j has the beginning of block row j, up to the one
   after the last. */
struct stretch {
    uint32_t start;
    bool staged; /* its records are copied to shared memory */

    /* first: its first block row; from nblock_rows on there is none. */
    __device__ inline void find(const tiles_view &v, const block_rows_plan &plan, int32_t first)
    {
        const int lane = (int)threadIdx.x % GPU_WAVE, nblock_rows = (int)v.nblock_rows;
        const int32_t block_row = first + (lane < plan.block_rows ? lane : plan.block_rows);

        start = first < nblock_rows ? v.start[block_row < nblock_rows ? block_row : nblock_rows] : 0U;
        staged = false;
    }

    __device__ inline uint32_t start_of(int block_row) const
    {
        return GPU_SHUFFLE(start, block_row, GPU_WAVE);
    }

    /* Requests its records, from the beginning of a line (of `record`, which begins with one), if they fit a stage. */
    __device__ inline void request(const tiles_view &v, const block_rows_plan &plan, int32_t first, char *stage,
                                   gpu_arrival *arrival)
    {
#if GPU_HAS_BULK_COPY
        constexpr uint32_t UNITS = LINE / TILES_UNIT; /* of a line */
        const uint32_t from = start_of(0) / UNITS * UNITS;
        const uint32_t units = (start_of(plan.block_rows) - from + UNITS - 1) / UNITS * UNITS;

        staged = first < (int)v.nblock_rows && units <= (uint32_t)(plan.capacity - TILES_SLACK) / TILES_UNIT;
        if (staged && threadIdx.x % GPU_WAVE == 0) {
            gpu_arrival_expect(arrival, units * TILES_UNIT);
            gpu_bulk_copy(stage, v.record + (int64_t)from * TILES_UNIT, units * TILES_UNIT, arrival);
        }
#else
        (void)v;
        (void)plan;
        (void)first;
        (void)stage;
        (void)arrival;
#endif
    }

    /* Where block row 0's record is, once the requested copy has arrived. parities: of the next arrival at each stage.
     */
    __device__ inline void await(gpu_arrival *arrival, uint32_t *parities, int stage) const
    {
#if GPU_HAS_BULK_COPY
        if (staged) {
            gpu_arrival_wait(arrival, *parities >> stage & 1U);
            *parities ^= 1U << stage;
            GPU_SYNC_WAVE(); /* lanes leave the wait one by one */
        }
#else
        (void)arrival;
        (void)parities;
        (void)stage;
#endif
    }

    __device__ inline uint32_t bytes_into_line(void) const
    {
        return start_of(0) * TILES_UNIT % LINE;
    }
};

#endif
