/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles in layout tcki times a vector on the GPU: tiles_strips.cuh with the strips of tiles_group.cuh. */
#include "format/tiles/tiles_group.cuh"
#include "format/tiles/tiles_strips.cuh"

enum { LONG_STRIP = 3072 /* bytes of a mean strip from which a wave takes one strip, two threads a row */ };

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

/* Levels in FP64 and FP32, and few entries in a row: what both need is fetched at once. */
static bool takes_pairs(const tiles_view *v)
{
    enum { FEW = 12 };

    return v->nlevels == 2 && v->precision[0] == TESS_PRECISION_FP64 && v->precision[1] == TESS_PRECISION_FP32 &&
           v->nnz <= FEW * v->nrows;
}

static tess_status spmv(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    if (v->nstrips == 0) { return TESS_SUCCESS; }
    if (v->rows == 32) {
        return takes_pairs(v) ? multiply_strips<merged_strips<true, 32, 1>>(ctx, v, longest, args)
                              : multiply_strips<merged_strips<false, 32, 1>>(ctx, v, longest, args);
    }
    if (mean_strip(v) >= LONG_STRIP) { return multiply_strips<merged_strips<false, 16, 2>>(ctx, v, longest, args); }
    return takes_pairs(v) ? multiply_strips<merged_strips<true, 16, 1>>(ctx, v, longest, args)
                          : multiply_strips<merged_strips<false, 16, 1>>(ctx, v, longest, args);
}

/* Products need nothing beyond the build. */
static tess_status prepare(tess_context *, const tiles_view *)
{
    return TESS_SUCCESS;
}

/* Behind functions: a table that is visible outside would be emitted for the device as well by HIP. */
extern "C" const tiles_ops *tiles_gpu_ops(void)
{
    static const tiles_ops table = {tiles_gpu_measure, tiles_gpu_fill, prepare, spmv};

    return &table;
}
