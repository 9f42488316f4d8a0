/* SPDX-License-Identifier: Apache-2.0 */
/* Places from counts: sums of the counts before each. They are integers, so the result does not depend on the order. */
#ifndef TESS_DEVICE_GPU_SCAN_CUH
#define TESS_DEVICE_GPU_SCAN_CUH

#include "device/gpu/scan_block.cuh"

enum {
    SCAN_BLOCK = 1024, /* threads that turn a series of counts into places */
    SCAN_SERIES = 5    /* most series at a time */
};

/* Turns `counts`, a series of `count` numbers for each block, into the sums of the numbers before each within a series,
   plus base[series]. totals[series], if not NULL, receives the sum of a series and its base. Blocks have SCAN_BLOCK
   threads. */
struct series_base {
    int64_t begin[SCAN_SERIES];
};

__global__ static void __launch_bounds__(SCAN_BLOCK)
    scan_series_kernel(int64_t count, const series_base base, int64_t *counts, int64_t *totals)
{
    int64_t run = (count + SCAN_BLOCK - 1) / SCAN_BLOCK, *own = counts + blockIdx.x * count;
    int64_t first = min((int64_t)threadIdx.x * run, count), last = min(first + run, count);
    int64_t sum = 0, total = 0, place;

#pragma unroll 4
    for (int64_t i = first; i < last; i++) {
        sum += own[i];
    }
    place = base.begin[blockIdx.x] + scan_block<SCAN_BLOCK>(sum, &total);
    for (int64_t i = first; i < last; i++) {
        int64_t here = own[i];

        own[i] = place;
        place += here;
    }
    if (totals && threadIdx.x == 0) { totals[blockIdx.x] = base.begin[blockIdx.x] + total; }
}

#endif
