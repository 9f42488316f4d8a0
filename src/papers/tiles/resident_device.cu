/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles in layout resident times a vector on the GPU: tiles_block_rows.cuh with the block rows of resident_row.cuh. */
#include "format/tiles/tiles_block_rows.cuh"
#include "papers/tiles/resident_device.cuh"
#include "papers/tiles/resident_row.cuh"

/* Of a block row that has chunks, from left to right. */
__device__ static inline double sum_of_chunks(const tiles_long &longs, int32_t block_row, int lane)
{
    int low = 0, high = longs.rows - 1;
    double sum = 0.0;

    while (low < high) {
        const int middle = (low + high) / 2;

        if (longs.row[middle] < block_row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
#pragma unroll 8
    for (int c = longs.first[low]; c < longs.first[low + 1]; c++) {
        sum += longs.sum[c * RESIDENT_SIDE + lane];
    }
    return sum;
}

template <bool NARROWED>
struct resident_block_rows {
    static constexpr int ROWS = RESIDENT_SIDE, SPLIT = 1;

    template <bool STAGED, typename VECTOR>
    __device__ static __forceinline__ double sum(const tiles_view &v, const block_rows_plan &,
                                                 const tiles_lanes<ROWS> &at, bool has, int32_t block_row,
                                                 const char *record, const tess_spmv_args &args)
    {
        const bool is_long = has && v.longs.rows > 0 && resident_tiles(record) > RESIDENT_LONG;
        const double sum = sum_resident_row(at, has && !is_long, record,
                                            resident_x<VECTOR, NARROWED>{vector_of<VECTOR>(args), args.segments});

        return is_long ? sum_of_chunks(v.longs, block_row, at.lane) : sum;
    }
};

static tess_status spmv(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    if (v->nblock_rows == 0) { return TESS_SUCCESS; }
    if (v->longs.chunks > 0) {
        const tess_status status = resident_gpu_sum_chunks(ctx, v, args);

        if (status != TESS_SUCCESS) { return status; }
    }
    return args->segments ? multiply_block_rows<resident_block_rows<true>>(ctx, v, longest, args)
                          : multiply_block_rows<resident_block_rows<false>>(ctx, v, longest, args);
}

/* Products need nothing beyond the build. */
static tess_status prepare(tess_context *, const tiles_view *)
{
    return TESS_SUCCESS;
}

extern "C" const tiles_ops *resident_gpu_ops(void)
{
    static const tiles_ops table = {
        resident_gpu_measure, resident_gpu_fill, resident_gpu_divide, prepare, spmv, nullptr};

    return &table;
}
