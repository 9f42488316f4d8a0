/* SPDX-License-Identifier: Apache-2.0 */
/* The least and the largest of positive numbers that all threads find. */
#ifndef TESS_PRECOND_MULTIGRID_EXTREMES_DEVICE_CUH
#define TESS_PRECOND_MULTIGRID_EXTREMES_DEVICE_CUH

#include <float.h>
#include <limits.h>
#include <math.h>

#include "precond/multigrid/passes_device.cuh"

/* Nonnegative doubles have the order of their bits. */
__device__ static inline unsigned long long bits_of(double value)
{
    return static_cast<unsigned long long>(__double_as_longlong(value));
}

/* Joins what the threads of a block have found, then the blocks. All threads of the block call it. */
__device__ static inline void join_extremes(amg_device_extremes *of_all, double least, double most)
{
    __shared__ unsigned long long of_block[2];

    if (threadIdx.x < 2) { of_block[threadIdx.x] = threadIdx.x == 0 ? ULLONG_MAX : 0; }
    __syncthreads();
    if (most > 0.0) {
        atomicMin(&of_block[0], bits_of(least));
        atomicMax(&of_block[1], bits_of(most));
    }
    __syncthreads();
    if (threadIdx.x == 0 && of_block[1] > 0) {
        atomicMin(&of_all->least, of_block[0]);
        atomicMax(&of_all->most, of_block[1]);
    }
}

__device__ static inline double scaled_entry(const amg_device_scaled &s, int64_t i, int32_t k)
{
    return s.a.val[k] * (s.left[i] * s.right[s.a.col_ind[k]]);
}

#endif
