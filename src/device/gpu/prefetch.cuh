/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESS_DEVICE_GPU_PREFETCH_CUH
#define TESS_DEVICE_GPU_PREFETCH_CUH

#include "device/gpu/gpu.h"

/* Asks for the sector of 32 bytes that holds this address; of shared memory: nothing. Only CUDA has an instruction for
   it. */
__device__ static inline void gpu_prefetch(const void *address)
{
#if defined(__CUDACC__)
    asm volatile("prefetch.L1 [%0];" ::"l"(address));
#else
    (void)address;
#endif
}

#endif
