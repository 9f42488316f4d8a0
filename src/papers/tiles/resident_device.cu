/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles in layout resident times a vector on the GPU: tiles_block_rows.cuh with the block rows of resident_row.cuh. */
#include "format/tiles/tiles_block_rows.cuh"
#include "papers/tiles/resident_device.cuh"
#include "papers/tiles/resident_row.cuh"

template <bool NARROWED>
struct resident_block_rows {
    static constexpr int ROWS = RESIDENT_SIDE, SPLIT = 1;

    template <bool STAGED, typename VECTOR>
    __device__ static __forceinline__ double sum(const tiles_view &, const block_rows_plan &,
                                                 const tiles_lanes<ROWS> &at, bool has, int32_t, const char *record,
                                                 const tess_spmv_args &args)
    {
        return sum_resident_row(at, has, record, resident_x<VECTOR, NARROWED>{vector_of<VECTOR>(args), args.segments});
    }
};

static tess_status spmv(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    if (v->nblock_rows == 0) { return TESS_SUCCESS; }
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
    static const tiles_ops table = {resident_gpu_measure, resident_gpu_fill, prepare, spmv};

    return &table;
}
