/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles in layout tcki times a vector on the GPU: tiles_strips.cuh with the strips of tiles_group.cuh. */
#ifndef TESS_FORMAT_TILES_TILES_MERGED_CUH
#define TESS_FORMAT_TILES_TILES_MERGED_CUH

#include "format/tiles/tiles_group.cuh"
#include "format/tiles/tiles_strips.cuh"

/* PAIRS: levels are in FP64 and FP32, and rows have few entries. */
template <bool PAIRS, int ROWS_OF_STRIP, int THREADS_OF_ROW>
struct merged_strips {
    static constexpr int ROWS = ROWS_OF_STRIP, SPLIT = THREADS_OF_ROW;

    template <bool STAGED, typename VECTOR>
    __device__ static __forceinline__ double sum(const tiles_view &v, const strips_plan &plan,
                                                 const tiles_lanes<ROWS> &at, bool has, int32_t strip,
                                                 const char *record, const tess_spmv_args &args)
    {
        return sum_strip_row<STAGED, PAIRS, VECTOR, ROWS, SPLIT>(v, plan, at, has, strip, record,
                                                                 vector_of<VECTOR>(args));
    }
};

#endif
