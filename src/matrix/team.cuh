/* SPDX-License-Identifier: Apache-2.0 */
/* Teams of threads that share a row: part of a wave, or a whole block. */
#ifndef TESS_MATRIX_TEAM_CUH
#define TESS_MATRIX_TEAM_CUH

#include "device/gpu/gpu.h"

/* The threads of a team see what each has written. All teams of a wave call it together. */
template <int GROUP>
__device__ static inline void sync_team(void)
{
    if constexpr (GROUP <= GPU_WAVE) {
        GPU_SYNC_WAVE();
    } else {
        __syncthreads();
    }
}

/*
 * Sorts numbers in memory by one block, ascending: Batcher's bitonic network in the form whose comparisons all ascend,
 * so that `count` need not be a power of two.
 */
__device__ static inline void sort_by_block(int32_t *key, int64_t count)
{
    for (int64_t size = 2; size / 2 < count; size *= 2) {
        for (int64_t distance = size / 2; distance > 0; distance /= 2) {
            for (int64_t pair = threadIdx.x; pair < (count + size) / 2; pair += blockDim.x) {
                const int64_t low = pair / distance * 2 * distance + pair % distance;
                /* the first pass of a size compares with the mirrored place */
                const int64_t high =
                    distance == size / 2 ? pair / distance * size + size - 1 - pair % distance : low + distance;

                if (high < count && key[high] < key[low]) {
                    const int32_t smaller = key[high];

                    key[high] = key[low];
                    key[low] = smaller;
                }
            }
            __syncthreads();
        }
    }
}

#endif
