/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the threads of a wave, of several values at once. */
#ifndef TESS_DEVICE_GPU_WAVE_SUMS_CUH
#define TESS_DEVICE_GPU_WAVE_SUMS_CUH

#include "device/gpu/gpu.h"

/* The wave's sums of N values at once. Each exchange halves the values that a thread keeps, until one is left: number
   lane / (GPU_WAVE / N). */
template <int DISTANCE, int N, typename T>
__device__ static inline T wave_sums(const T (&value)[N], int lane)
{
    if constexpr (DISTANCE == 0) {
        return value[0];
    } else if constexpr (N == 1) {
        const T sum[1] = {value[0] + GPU_SHUFFLE_XOR(value[0], DISTANCE)};

        return wave_sums<DISTANCE / 2>(sum, lane);
    } else {
        const bool upper = (lane & DISTANCE) != 0;
        T half[N / 2];

#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            const T kept = upper ? value[i + N / 2] : value[i];
            const T given = upper ? value[i] : value[i + N / 2];

            half[i] = kept + GPU_SHUFFLE_XOR(given, DISTANCE);
        }
        return wave_sums<DISTANCE / 2>(half, lane);
    }
}

#endif
