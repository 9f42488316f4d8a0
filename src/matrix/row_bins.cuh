/* SPDX-License-Identifier: Apache-2.0 */
/* Rows sorted into bins by their size, so that each bin gets as many threads and as much memory as its rows need. */
#ifndef TESS_MATRIX_ROW_BINS_CUH
#define TESS_MATRIX_ROW_BINS_CUH

#include <string.h>

#include "device/gpu/gpu.h"

enum { MOST_BINS = 7, BIN_BLOCKS = 8 };

/* Bin b takes sizes up to limit[b] that no earlier bin takes. The last limit is INT32_MAX. */
struct bin_limits {
    int count;
    int32_t limit[MOST_BINS];
};

/* Sizes of rows, or the offsets whose differences they are. */
struct row_sizes {
    const int32_t *of;
    bool offsets;
};

struct row_bins {
    int64_t nrows;
    int64_t first[MOST_BINS], rows[MOST_BINS]; /* of each bin in the list */
    int32_t largest;                           /* size */
    int32_t *list;                             /* NULL: one bin has all rows, in their order */
};

/* In device memory. */
struct bin_counts {
    unsigned long long rows[MOST_BINS], place[MOST_BINS];
    int largest;
};

__device__ static inline int32_t size_of_row(const row_sizes &sizes, int64_t i)
{
    return sizes.offsets ? sizes.of[i + 1] - sizes.of[i] : sizes.of[i];
}

__host__ __device__ static inline int find_bin(const bin_limits &limits, int32_t size)
{
    int b = 0;

    while (size > limits.limit[b]) {
        b++;
    }
    return b;
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    count_bins_kernel(int64_t nrows, const row_sizes sizes, const bin_limits limits, bin_counts *counts)
{
    __shared__ unsigned of_block[MOST_BINS];
    __shared__ int block_largest;
    unsigned own[MOST_BINS] = {};
    int largest = 0;

    if (threadIdx.x < MOST_BINS) { of_block[threadIdx.x] = 0; }
    if (threadIdx.x == 0) { block_largest = 0; }
    __syncthreads();
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < nrows; i += (int64_t)gridDim.x * GPU_BLOCK) {
        const int32_t size = size_of_row(sizes, i);
        const int bin = find_bin(limits, size);

        largest = size > largest ? size : largest;
#pragma unroll
        for (int b = 0; b < MOST_BINS; b++) {
            own[b] += b == bin ? 1U : 0U;
        }
    }
    for (int b = 0; b < MOST_BINS; b++) {
        if (own[b] > 0) { atomicAdd(&of_block[b], own[b]); }
    }
    if (largest > 0) { atomicMax(&block_largest, largest); }
    __syncthreads();
    if (threadIdx.x < MOST_BINS && of_block[threadIdx.x] > 0) {
        atomicAdd(&counts->rows[threadIdx.x], (unsigned long long)of_block[threadIdx.x]);
    }
    if (threadIdx.x == 0) { atomicMax(&counts->largest, block_largest); }
}

/* Rows of a bin get places in any order: nothing that is computed depends on it. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    list_bins_kernel(int64_t nrows, const row_sizes sizes, const bin_limits limits, bin_counts *counts, int32_t *list)
{
    __shared__ unsigned taken[MOST_BINS];
    __shared__ unsigned long long first[MOST_BINS];

    for (int64_t base = (int64_t)blockIdx.x * GPU_BLOCK; base < nrows; base += (int64_t)gridDim.x * GPU_BLOCK) {
        const int64_t i = base + threadIdx.x;
        int bin = 0;
        unsigned rank = 0;

        if (threadIdx.x < MOST_BINS) { taken[threadIdx.x] = 0; }
        __syncthreads();
        if (i < nrows) {
            bin = find_bin(limits, size_of_row(sizes, i));
            rank = atomicAdd(&taken[bin], 1U);
        }
        __syncthreads();
        if (threadIdx.x < MOST_BINS) {
            first[threadIdx.x] = atomicAdd(&counts->place[threadIdx.x], (unsigned long long)taken[threadIdx.x]);
        }
        __syncthreads();
        if (i < nrows) { list[first[bin] + rank] = (int32_t)i; }
        __syncthreads();
    }
}

static inline void row_bins_free(tess_context *ctx, row_bins *bins)
{
    tess_device_release(ctx, bins->list, bins->nrows, sizeof *bins->list);
    bins->list = NULL;
}

/* Waits. Free the bins, also after a failure; begin with an empty struct. */
static inline tess_status row_bins_make(tess_context *ctx, int64_t nrows, const row_sizes &sizes,
                                        const bin_limits &limits, row_bins *bins)
{
    const unsigned grid = gpu_grid(ctx, nrows, BIN_BLOCKS);
    bin_counts counts = {}, *on_device = NULL;
    int64_t first = 0;
    bool one = false;
    tess_status status = TESS_SUCCESS;

    *bins = {};
    bins->nrows = nrows;
    TESS_TRY(tess_device_upload(ctx, &counts, 1, sizeof counts, (void **)&on_device));
    count_bins_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(nrows, sizes, limits, on_device);
    TESS_TRY(gpu_check_launch(ctx, "sizes of rows"));
    TESS_TRY(ctx->backend->download(ctx, &counts, on_device, sizeof counts));
    bins->largest = counts.largest;
    for (int b = 0; b < MOST_BINS; b++) {
        bins->rows[b] = (int64_t)counts.rows[b];
        one = one || bins->rows[b] == nrows;
        bins->first[b] = first;
        counts.place[b] = (unsigned long long)first;
        first += bins->rows[b];
    }
    if (one) { goto cleanup; }
    TESS_TRY(tess_device_allocate(ctx, nrows, sizeof *bins->list, (void **)&bins->list));
    TESS_TRY(ctx->backend->upload(ctx, on_device, &counts, sizeof counts));
    list_bins_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(nrows, sizes, limits, on_device, bins->list);
    status = gpu_check_launch(ctx, "lists of rows");
cleanup:
    tess_device_release(ctx, on_device, 1, sizeof counts);
    return status;
}

/* The rows of a bin; NULL: all, in their order. */
static inline const int32_t *row_bins_list(const row_bins *bins, int b)
{
    return bins->list ? bins->list + bins->first[b] : NULL;
}

#endif
