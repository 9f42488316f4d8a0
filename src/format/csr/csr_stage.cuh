/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies chunks of a CSR matrix into shared memory. If the device copies asynchronously, one thread requests a chunk's
 * offsets, columns and values, and the block goes on working until they arrive; else the block's threads copy them.
 * Whole cache lines are copied, and every array keeps its place within a line, because a copy between different places
 * takes the device half as long again. So the copied data may begin and end up to LINE - 1 bytes beyond the needed
 * data.
 */
#ifndef TESS_FORMAT_CSR_CSR_STAGE_CUH
#define TESS_FORMAT_CSR_CSR_STAGE_CUH

#include "format/csr/csr_plan.cuh"

enum { BULK_UNIT = 16, LINE = GPU_ALLOCATION_UNIT }; /* bytes */

/* The layout of a block's shared memory: STAGES times offsets, columns, values, and the map of rows to rows of y, if
   there is one. Sizes in bytes; `all` is the size for a block. */
struct stage_layout {
    int offsets, columns, map, stage, all; /* map: where it begins */
};

static inline int whole_lines(int64_t bytes)
{
    return (int)((bytes + 3 * LINE - 2) / LINE * LINE);
}

static inline stage_layout make_stage_layout(int places, int rows, size_t offset_bytes, size_t value_bytes,
                                             bool has_map)
{
    stage_layout layout;

    layout.offsets = whole_lines((int64_t)(rows + 1) * (int64_t)offset_bytes);
    layout.columns = whole_lines((int64_t)places * 4);
    layout.map = layout.offsets + layout.columns + whole_lines((int64_t)places * (int64_t)value_bytes);
    layout.stage = layout.map + (has_map ? whole_lines((int64_t)rows * 4) : 0);
    layout.all = STAGES * layout.stage;
    return layout;
}

/* Distance of `pointer` in bytes from the beginning of its line. */
__device__ static inline uint32_t line_excess(const void *pointer)
{
    return (uint32_t)((uintptr_t)pointer % LINE);
}

/* One array's part of a request. */
struct stage_stretch {
    const char *from;
    uint32_t bytes;

    __device__ inline stage_stretch(const void *begin, int64_t length)
    {
        uint32_t excess = line_excess(begin);

        from = (const char *)begin - excess;
        bytes = length > 0 ? (uint32_t)(excess + length + LINE - 1) / LINE * LINE : 0U;
    }
};

/* Most bytes of a copy for an array of that length. */
__host__ __device__ static inline int stretch_bytes(int64_t length)
{
    return length > 0 ? (int)((length + 2 * LINE - 2) / LINE * LINE) : 0;
}

/* Called by one thread if the device copies asynchronously, else by all; the same holds for the next function. */
__device__ static inline void copy_stretch(char *to, const stage_stretch &from, gpu_arrival *arrival)
{
#if GPU_HAS_BULK_COPY
    if (from.bytes > 0) { gpu_bulk_copy(to, from.from, from.bytes, arrival); }
#else
    (void)arrival;
    for (uint32_t at = threadIdx.x * BULK_UNIT; at < from.bytes; at += GPU_BLOCK * BULK_UNIT) {
        *(uint4 *)(void *)(to + at) = *(const uint4 *)(const void *)(from.from + at);
    }
#endif
}

__device__ static inline void request_stage(char *stage, const stage_layout &layout, gpu_arrival *arrival,
                                            const stage_stretch &offsets, const stage_stretch &columns,
                                            const stage_stretch &values, const stage_stretch &map)
{
#if GPU_HAS_BULK_COPY
    gpu_arrival_expect(arrival, offsets.bytes + columns.bytes + values.bytes + map.bytes);
#endif
    copy_stretch(stage, offsets, arrival);
    copy_stretch(stage + layout.offsets, columns, arrival);
    copy_stretch(stage + layout.offsets + layout.columns, values, arrival);
    copy_stretch(stage + layout.map, map, arrival);
}

/* Called once by all threads, before a barrier of the block. */
__device__ static inline void create_arrivals(gpu_arrival *arrivals)
{
#if GPU_HAS_BULK_COPY
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            gpu_arrival_create(&arrivals[s]);
        }
    }
    __syncwarp(); /* racecheck takes the creation for an access by the wave */
#else
    (void)arrivals;
#endif
}

__device__ static inline void await_stage(gpu_arrival *arrival, uint32_t parity)
{
#if GPU_HAS_BULK_COPY
    gpu_arrival_wait(arrival, parity);
#else
    (void)arrival;
    (void)parity;
    __syncthreads();
#endif
}

#endif
