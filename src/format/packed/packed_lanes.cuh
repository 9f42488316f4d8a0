/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that share a slice: 32 neighbours, each with a row. */
#ifndef TESS_FORMAT_PACKED_PACKED_LANES_CUH
#define TESS_FORMAT_PACKED_PACKED_LANES_CUH

#include "device/gpu/gpu.h"
#include "format/packed/packed_slices.h"

struct packed_lanes {
    int lane;

    __device__ inline packed_lanes() : lane((int)threadIdx.x % PACKED_SLICE)
    {
    }
    /* The first slice of these threads in a grid that takes one after another. */
    __device__ static inline int64_t first_slice()
    {
        return ((int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x) / PACKED_SLICE;
    }
    __device__ static inline int64_t step()
    {
        return (int64_t)gridDim.x * (GPU_BLOCK / PACKED_SLICE);
    }
    /* Bit l: of the thread with lane l. */
    __device__ inline uint32_t ballot(bool predicate) const
    {
        return (uint32_t)(GPU_BALLOT(predicate) >> ((int)threadIdx.x % GPU_WAVE / PACKED_SLICE * PACKED_SLICE));
    }
    /* How many of the threads before this one have a bit. */
    __device__ inline int rank(uint32_t lanes) const
    {
        return __popc(lanes & ((1U << lane) - 1U));
    }
    __device__ inline int least(int value) const
    {
        for (int distance = PACKED_SLICE / 2; distance > 0; distance /= 2) {
            value = min(value, GPU_SHUFFLE_XOR(value, distance));
        }
        return value;
    }
    __device__ inline int most(int value) const
    {
        for (int distance = PACKED_SLICE / 2; distance > 0; distance /= 2) {
            value = max(value, GPU_SHUFFLE_XOR(value, distance));
        }
        return value;
    }
};

#endif
