/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets from many lengths, by a whole grid. Sums are integers, so the result does not depend on the order. */
#ifndef TESS_DEVICE_GPU_SCAN_GRID_CUH
#define TESS_DEVICE_GPU_SCAN_GRID_CUH

#include "device/gpu/scan.cuh"

/* A block takes so many lengths, in steps of a length for each thread. */
enum { SCAN_STEPS = 16, SCAN_TILE = GPU_BLOCK * SCAN_STEPS };

__global__ static void __launch_bounds__(GPU_BLOCK) sum_tiles_kernel(int64_t n, const int32_t *length, int64_t *of_tile)
{
    const int64_t first = (int64_t)blockIdx.x * SCAN_TILE + threadIdx.x;
    int64_t own = 0, total = 0;

    for (int step = 0; step < SCAN_STEPS; step++) {
        const int64_t i = first + (int64_t)step * GPU_BLOCK;

        own += i < n ? length[i] : 0;
    }
    (void)scan_block<GPU_BLOCK>(own, &total);
    if (threadIdx.x == 0) { of_tile[blockIdx.x] = total; }
}

/* of_tile: the sum of the lengths before each tile. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    place_tiles_kernel(int64_t n, const int64_t *of_tile, int32_t *row_ptr)
{
    const int64_t first = (int64_t)blockIdx.x * SCAN_TILE + threadIdx.x;
    int64_t before = of_tile[blockIdx.x];

    if (blockIdx.x == 0 && threadIdx.x == 0) { row_ptr[0] = 0; }
    for (int step = 0; step < SCAN_STEPS; step++) {
        const int64_t i = first + (int64_t)step * GPU_BLOCK;
        const int64_t length = i < n ? row_ptr[i + 1] : 0;
        int64_t total = 0;
        const int64_t own = before + scan_block<GPU_BLOCK>(length, &total) + length;

        if (i < n) { row_ptr[i + 1] = (int32_t)own; }
        before += total;
    }
}

/* row_ptr[i + 1] holds the length of row i: makes offsets of them. If *total, their sum, is beyond 32 bits, the offsets
   mean nothing. Waits. */
static inline tess_status gpu_sum_lengths(tess_context *ctx, int64_t n, int32_t *row_ptr, int64_t *total)
{
    const int64_t tiles = n > 0 ? (n + SCAN_TILE - 1) / SCAN_TILE : 1;
    int64_t *of_tile = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, tiles + 1, sizeof *of_tile, (void **)&of_tile));
    sum_tiles_kernel<<<(unsigned)tiles, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(n, row_ptr + 1, of_tile);
    scan_series_kernel<<<1, SCAN_BLOCK, 0, gpu_stream_of(ctx)>>>(tiles, series_base{}, of_tile, of_tile + tiles);
    place_tiles_kernel<<<(unsigned)tiles, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(n, of_tile, row_ptr);
    TESS_TRY(gpu_check_launch(ctx, "offsets of rows"));
    status = ctx->backend->download(ctx, total, of_tile + tiles, sizeof *total);
cleanup:
    tess_device_release(ctx, of_tile, tiles + 1, sizeof *of_tile);
    return status;
}

#endif
