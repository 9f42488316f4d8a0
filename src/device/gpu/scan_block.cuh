/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the preceding threads of a block. They are integers, so the result does not depend on the order. */
#ifndef TESS_DEVICE_GPU_SCAN_BLOCK_CUH
#define TESS_DEVICE_GPU_SCAN_BLOCK_CUH

#include "device/gpu/gpu.h"

/* Sum over the threads before this one; *total receives the sum over all. All threads of the block call it. */
template <int THREADS>
__device__ static inline int64_t scan_block(int64_t value, int64_t *total)
{
    __shared__ int64_t wave_sum[THREADS / GPU_WAVE];
    int lane = (int)threadIdx.x % GPU_WAVE, wave = (int)threadIdx.x / GPU_WAVE;
    int64_t inclusive = value, before = 0, all = 0;

    for (int distance = 1; distance < GPU_WAVE; distance *= 2) {
        int64_t other = GPU_SHUFFLE_UP(inclusive, distance, GPU_WAVE);

        if (lane >= distance) { inclusive += other; }
    }
    if (lane == GPU_WAVE - 1) { wave_sum[wave] = inclusive; }
    __syncthreads();
    for (int w = 0; w < THREADS / GPU_WAVE; w++) {
        before += w < wave ? wave_sum[w] : 0;
        all += wave_sum[w];
    }
    __syncthreads();
    *total = all;
    return before + inclusive - value;
}

#endif
