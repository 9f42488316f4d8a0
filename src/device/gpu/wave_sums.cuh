/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the threads of a wave, or over groups of them; of several values at once. */
#ifndef TESS_DEVICE_GPU_WAVE_SUMS_CUH
#define TESS_DEVICE_GPU_WAVE_SUMS_CUH

#include "device/gpu/gpu.h"

/* The sum over the lane's group of `width` neighbours, a power of two. All lanes of the wave call it. An emulated
   device adds in the same order, from one exchange. */
template <typename T>
__device__ static inline T lanes_sum(T value, int width)
{
#ifdef GPU_LANES_SUM
    return GPU_LANES_SUM(value, width);
#else
    for (int distance = width / 2; distance > 0; distance /= 2) {
        value += GPU_SHUFFLE_XOR(value, distance);
    }
    return value;
#endif
}

/* The same for the first lane of each group alone: others get no sum. With `least`, a power of two, the first `least`
   lanes get sums, each that of the lanes which have its number modulo `least`. */
template <typename T>
__device__ static inline T lanes_sum_down(T value, int width, int least = 1)
{
#ifdef GPU_LANES_SUM
    return GPU_LANES_SUM_DOWN(value, width, least);
#else
    for (int distance = width / 2; distance >= least; distance /= 2) {
        value += GPU_SHUFFLE_DOWN(value, distance, GPU_WAVE);
    }
    return value;
#endif
}

/* The wave's sums of N values at once. Each exchange halves the values that a thread keeps, until one is left: number
   lane / (GPU_WAVE / N). */
template <int DISTANCE, int N, typename T>
__device__ static inline T wave_sums(const T (&value)[N], int lane)
{
    if constexpr (N == 1) {
        return lanes_sum(value[0], DISTANCE > 0 ? 2 * DISTANCE : 1);
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
