/* SPDX-License-Identifier: Apache-2.0 */
/* Where block rows and runs of tiles begin, from the space of each, on the GPU. */
#ifndef TESS_FORMAT_TILES_TILES_PLACES_CUH
#define TESS_FORMAT_TILES_TILES_PLACES_CUH

#include "device/gpu/scan.cuh"
#include "format/tiles/tiles.h"

/* Stretches of as many numbers as a block has threads: the sum of stretch r goes to counts[r]. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    count_units_kernel(const uint32_t *units, int64_t count, int64_t *counts)
{
    const int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;
    int64_t all;

    (void)scan_block<GPU_BLOCK>(i < count ? (int64_t)units[i] : 0, &all);
    if (threadIdx.x == 0) { counts[blockIdx.x] = all; }
}

/* The same stretches compute their places from the sums; start[count] is where the last ends. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    place_units_kernel(uint32_t *start, int64_t count, const int64_t *first, const int64_t *total)
{
    const int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;
    int64_t all, before = scan_block<GPU_BLOCK>(i < count ? (int64_t)start[i] : 0, &all);

    if (i < count) { start[i] = (uint32_t)(first[blockIdx.x] + before); }
    if (i == count - 1) { start[count] = (uint32_t)*total; }
}

/* Space that place_units needs, in 8-byte words. */
static inline int64_t place_units_words(int64_t count)
{
    return (count + GPU_BLOCK - 1) / GPU_BLOCK;
}

/* Turns `count` > 0 numbers in start into the sums of those before each; start[count] and *total, in device memory,
   receive the sum of all. */
static inline tess_status place_units(tess_context *ctx, uint32_t *start, int64_t count, int64_t *workspace,
                                      int64_t *total)
{
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    const int64_t stretches = place_units_words(count);
    const series_base base = {};
    tess_status status = TESS_SUCCESS;

    count_units_kernel<<<(unsigned)stretches, GPU_BLOCK, 0, stream>>>(start, count, workspace);
    TESS_TRY(gpu_check_launch(ctx, "adding up block rows of tiles"));
    scan_series_kernel<<<1, SCAN_BLOCK, 0, stream>>>(stretches, base, workspace, total);
    TESS_TRY(gpu_check_launch(ctx, "placing stretches of block rows"));
    place_units_kernel<<<(unsigned)stretches, GPU_BLOCK, 0, stream>>>(start, count, workspace, total);
    status = gpu_check_launch(ctx, "placing block rows");
cleanup:
    return status;
}

struct block_row_totals {
    int64_t units;
    unsigned long long longest; /* units */
};

/* Places of block rows. launch(totals) enqueues the kernel that writes the units of each to `start` and those of the
   longest to the totals, which are cleared. *longest: in bytes. */
template <typename LAUNCH>
static inline tess_status place_block_rows(tess_context *ctx, int64_t nblock_rows, uint32_t *start, int64_t *units,
                                           int64_t *longest, LAUNCH launch)
{
    const int64_t words = (int64_t)(sizeof(block_row_totals) / sizeof(int64_t));
    double *workspace = NULL;
    block_row_totals *totals = NULL, out = {0, 0};
    tess_status status = TESS_SUCCESS;

    if (nblock_rows == 0) {
        TESS_TRY(ctx->backend->zero(ctx, start, sizeof *start));
    } else {
        TESS_TRY(gpu_parts(ctx, words + place_units_words(nblock_rows), &workspace));
        totals = (block_row_totals *)(void *)workspace;
        TESS_TRY(ctx->backend->zero(ctx, totals, sizeof *totals));
        launch(totals);
        TESS_TRY(gpu_check_launch(ctx, "measuring block rows of tiles"));
        TESS_TRY(place_units(ctx, start, nblock_rows, (int64_t *)(void *)(workspace + words), &totals->units));
        TESS_TRY(ctx->backend->download(ctx, &out, totals, sizeof out));
    }
    *units = out.units;
    *longest = (int64_t)out.longest * TILES_UNIT;
cleanup:
    return status;
}

#endif
