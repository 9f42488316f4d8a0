/* SPDX-License-Identifier: Apache-2.0 */
/* A pass over the few rows of a matrix that are much longer than the others. */
#ifndef TESS_DEVICE_GPU_LONG_ROWS_CUH
#define TESS_DEVICE_GPU_LONG_ROWS_CUH

#include "device/gpu/gpu.h"

/*
 * All threads of a block call body(row, begin, end) for the block's rows of more than `limit` entries, in a fixed
 * order. Neighbouring rows go to different blocks, since long ones often lie side by side. Each thread of a grid of
 * blocks of GPU_BLOCK threads calls it; body may have barriers. It names shared memory by a pointer of the caller's:
 * AMD's compiler without optimization gives shared arrays that a lambda names to every kernel of the file.
 */
template <typename OFFSET, typename BODY>
__device__ static inline void for_long_rows(int64_t nrows, const OFFSET *row_ptr, int64_t limit, const BODY &body)
{
    __shared__ bool is_long[GPU_BLOCK];
    const int64_t step = gridDim.x;

    for (int64_t first = blockIdx.x; first < nrows; first += step * GPU_BLOCK) {
        const int64_t mine = first + threadIdx.x * step;
        const bool own = mine < nrows && (int64_t)row_ptr[mine + 1] - (int64_t)row_ptr[mine] > limit;

        is_long[threadIdx.x] = own;
        if (!__syncthreads_or(own)) { continue; }
        for (int t = 0; t < GPU_BLOCK; t++) {
            const int64_t row = first + t * step;

            if (is_long[t]) { body(row, (int64_t)row_ptr[row], (int64_t)row_ptr[row + 1]); }
        }
        __syncthreads(); /* before the next rows replace these */
    }
}

#endif
