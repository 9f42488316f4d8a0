/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for another block of the same kernel. That block has begun, so the wait normally ends by itself. If it does
 * not, the wait ends by the clock, the other blocks see this, and the host reports it when it next waits for the
 * stream. Barriers of blocks and clusters and arrivals of bulk copies are not here: the device completes them.
 */
#ifndef TESS_DEVICE_GPU_WAIT_CUH
#define TESS_DEVICE_GPU_WAIT_CUH

#include "device/gpu/gpu.h"

/* Reads that found no change between two reads of the clock. */
enum { GPU_LOOKS_PER_CLOCK = 256 };

/* How long a thread has waited. */
struct gpu_wait {
    unsigned looks = 0;
    int64_t began = 0;

    /* Call after a read that found no change. False: it took too long, or another block has given up (*failure is not
     * 0). */
    __device__ inline bool goes_on(int64_t nanoseconds, const uint64_t *failure)
    {
        uint64_t failed[1];
        int64_t now;

        looks += 1;
        if (looks % GPU_LOOKS_PER_CLOCK != 0) { return true; }
        now = GPU_NANOSECONDS();
        began = began == 0 ? now : began;
        gpu_peek(failure, failed);
        return now - began <= nanoseconds && failed[0] == 0;
    }
};

/* The same; when it gives up, it tells all other blocks. */
__device__ static inline bool goes_on(const gpu_timeout &timeout, gpu_wait *wait)
{
    const uint64_t yes[1] = {1};

    if (wait->goes_on(timeout.nanoseconds, timeout.failure)) { return true; }
    gpu_post(timeout.failure, yes);
    *(volatile int32_t *)timeout.timed_out = 1;
    return false;
}

/* Whether a block has given up, in this kernel or in an earlier one: results are then useless. */
__device__ static inline bool has_failed(const gpu_timeout &timeout)
{
    uint64_t failed[1];

    gpu_peek(timeout.failure, failed);
    return failed[0] != 0;
}

#endif
