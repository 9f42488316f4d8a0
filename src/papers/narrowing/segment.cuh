/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels that look at segments share. Atomics here are of integers: no order shows. */
#ifndef TESS_PAPERS_NARROWING_SEGMENT_CUH
#define TESS_PAPERS_NARROWING_SEGMENT_CUH

#include "device/gpu/reduce.cuh"
#include "papers/narrowing/narrowing.h"
#include "policy/assign_device.cuh"

/* The largest magnitude among 16 neighbouring lanes, NaN where one is. All lanes of the wave take part. */
__device__ static inline double segment_magnitude(double own)
{
#pragma unroll
    for (int mask = NARROWING_SEGMENT / 2; mask > 0; mask /= 2) {
        const double other = GPU_SHUFFLE_XOR(own, mask);

        own = own >= other || own != own ? own : other;
    }
    return own;
}

/* Adds what each thread of a block has counted. All threads, after a barrier since sums were cleared. */
__device__ static inline void add_narrowing_counts(const uint64_t (&own)[NARROWING_COUNTS], unsigned long long *sums,
                                                   uint64_t *counts)
{
#pragma unroll
    for (int k = 0; k < NARROWING_COUNTS; k++) {
        add_wave(&sums[k], own[k]);
    }
    __syncthreads();
    if (threadIdx.x < NARROWING_COUNTS && sums[threadIdx.x] > 0) {
        atomicAdd((unsigned long long *)&counts[threadIdx.x], sums[threadIdx.x]);
    }
}

#endif
