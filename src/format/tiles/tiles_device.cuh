/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the builder and the products of tiles on the GPU: the lanes of a block row, x, and the distribution of
   block rows. */
#ifndef TESS_FORMAT_TILES_TILES_DEVICE_CUH
#define TESS_FORMAT_TILES_TILES_DEVICE_CUH

#include "device/gpu/gpu.h"
#include "format/tiles/tiles_record.h"
#include "policy/rules.h"

#include <tessera/storage.cuh> /* after the vendor's header: HIP declares memcpy for the device there */

/* A thread's place among the ROWS neighbouring threads of a wave that share a block row. */
template <int ROWS>
struct tiles_lanes {
    int lane, shift;

    __device__ inline tiles_lanes() : lane((int)threadIdx.x % ROWS), shift((int)threadIdx.x % GPU_WAVE / ROWS * ROWS)
    {
    }

    /* The part of a ballot that belongs to the group. */
    __device__ inline uint32_t group_part(gpu_lanes ballot) const
    {
        return (uint32_t)(ballot >> shift) & (ROWS == 32 ? 0xffffffffU : (1U << (ROWS % 32)) - 1U);
    }

    /* Sum over the lanes before this one. All lanes of the wave call it. */
    __device__ inline int before(int own) const
    {
        int sum = own;

#pragma unroll
        for (int distance = 1; distance < ROWS; distance *= 2) {
            const int other = GPU_SHUFFLE_UP(sum, distance, ROWS);

            if (lane >= distance) { sum += other; }
        }
        return sum - own;
    }

    /* The lanes before this one, in the group. */
    __device__ inline uint32_t below(void) const
    {
        return (1U << lane) - 1U;
    }
};

/* The multiplied vector, in its precision. */
template <typename VECTOR>
__device__ static inline const VECTOR *vector_of(const tess_spmv_args &args)
{
    if constexpr (sizeof(VECTOR) == sizeof(float)) {
        return args.x_fp32;
    } else {
        return args.x;
    }
}

/* The distribution of block rows, and the view's levels: four bits for each from the lowest on, in the order of groups,
   because arguments are slow to index. */
struct block_rows_plan {
    int block_rows; /* of a stretch, a multiple of the block rows that a wave takes at once */
    int stages;
    int capacity; /* bytes of a stage; 0: nothing is staged */
    unsigned precisions, value_bytes;
};

/* Products by block rows of 16 rows; of those, pairs, whose levels are FP64 and FP32 and whose rows have few entries;
   by long ones; by block rows of 32 rows. */
tess_status tiles_multiply_16(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args,
                              bool pairs);
tess_status tiles_multiply_long(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args);
tess_status tiles_multiply_32(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args,
                              bool pairs);

/* Several columns (tiles_columns_device.cu). */
tess_status tiles_gpu_multiply_columns(tess_context *ctx, const tiles_view *v, const tess_spmv_args *args);

extern "C" tess_status tiles_gpu_measure(tess_context *ctx, const tiles_source *source, const tiles_view *v,
                                         uint32_t *start, int64_t *units, int64_t *longest);
extern "C" tess_status tiles_gpu_fill(tess_context *ctx, const tiles_source *source, const tiles_view *v, char *record);

#endif
