/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks of a CSR matrix on their way into shared memory. Where the device copies stretches of memory by itself, one thread
 * asks for a chunk's offsets, columns and values, and the block goes on working until they are there; elsewhere the block's
 * threads copy them. Whole cache lines are copied, and every array keeps its place within a line: a copy between different places of
 * lines takes the device half as long again. So what is copied may begin and end up to LINE - 1 bytes beyond what is needed.
 */
#ifndef TESS_FORMAT_CSR_CSR_STAGE_CUH
#define TESS_FORMAT_CSR_CSR_STAGE_CUH

#include "format/csr/csr_plan.cuh"

enum { BULK_UNIT = 16, LINE = GPU_ALLOCATION_UNIT }; /* bytes */

/* How a block's shared memory is laid out: STAGES times offsets, columns, values, and the map of
   rows to those of y, where there is one. Sizes in bytes; `all` is what a block has. */
struct stage_layout {
    int offsets, columns, map, stage, all; /* map: where it begins */
};

static inline int line_room(int64_t bytes)
{
    return (int)((bytes + 3 * LINE - 2) / LINE * LINE);
}

static inline stage_layout make_stage_layout(int places, int rows, size_t offset_bytes, size_t value_bytes,
                                             bool has_map)
{
    stage_layout layout;

    layout.offsets = line_room((int64_t)(rows + 1) * (int64_t)offset_bytes);
    layout.columns = line_room((int64_t)places * 4);
    layout.map = layout.offsets + layout.columns + line_room((int64_t)places * (int64_t)value_bytes);
    layout.stage = layout.map + (has_map ? line_room((int64_t)rows * 4) : 0);
    layout.all = STAGES * layout.stage;
    return layout;
}

/* Bytes by which `pointer` is past the beginning of its line. */
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

/* By one thread where the device copies by itself, else by all. */
__device__ static inline void request_stage(char *stage, const stage_layout &layout, gpu_arrival *arrival,
                                            const stage_stretch &offsets, const stage_stretch &columns,
                                            const stage_stretch &values, const stage_stretch &map)
{
#if GPU_HAS_BULK_COPY
    gpu_arrival_expect(arrival, offsets.bytes + columns.bytes + values.bytes + map.bytes);
    gpu_bulk_copy(stage, offsets.from, offsets.bytes, arrival);
    if (columns.bytes > 0) {
        gpu_bulk_copy(stage + layout.offsets, columns.from, columns.bytes, arrival);
        gpu_bulk_copy(stage + layout.offsets + layout.columns, values.from, values.bytes, arrival);
    }
    if (map.bytes > 0) { gpu_bulk_copy(stage + layout.map, map.from, map.bytes, arrival); }
#else
    const stage_stretch *const all[4] = {&offsets, &columns, &values, &map};
    char *const to[4] = {stage, stage + layout.offsets, stage + layout.offsets + layout.columns, stage + layout.map};

    (void)arrival;
    for (int k = 0; k < 4; k++) {
        for (uint32_t at = threadIdx.x * BULK_UNIT; at < all[k]->bytes; at += GPU_BLOCK * BULK_UNIT) {
            *(uint4 *)(void *)(to[k] + at) = *(const uint4 *)(const void *)(all[k]->from + at);
        }
    }
#endif
}

/* Once, by all threads, before a barrier of the block. */
__device__ static inline void create_arrivals(gpu_arrival *arrivals)
{
#if GPU_HAS_BULK_COPY
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            gpu_arrival_create(&arrivals[s]);
        }
    }
    __syncwarp(); /* racecheck takes the creation for the wave's */
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
