/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles in layout grouped times a vector on the GPU: tiles_block_rows.cuh with the block rows of tiles_group.cuh. */
#ifndef TESS_FORMAT_TILES_TILES_MERGED_CUH
#define TESS_FORMAT_TILES_TILES_MERGED_CUH

#include "format/tiles/tiles_block_rows.cuh"
#include "format/tiles/tiles_group.cuh"

/* PAIRS: levels are in FP64 and FP32, and rows have few entries. */
template <bool PAIRS, int ROWS_OF_BLOCK_ROW, int THREADS_OF_ROW>
struct grouped_block_rows {
    static constexpr int ROWS = ROWS_OF_BLOCK_ROW, SPLIT = THREADS_OF_ROW;

    template <bool STAGED, typename VECTOR>
    __device__ static __forceinline__ double sum(const tiles_view &v, const block_rows_plan &plan,
                                                 const tiles_lanes<ROWS> &at, bool has, int32_t block_row,
                                                 const char *record, const tess_spmv_args &args)
    {
        return sum_row<STAGED, PAIRS, VECTOR, ROWS, SPLIT>(v, plan, at, has, block_row, record,
                                                           vector_of<VECTOR>(args));
    }
};

#endif
