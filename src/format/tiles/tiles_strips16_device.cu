/* SPDX-License-Identifier: Apache-2.0 */
/* Products of tiles on the GPU in strips of 16 rows. */
#include "format/tiles/tiles_device.cuh"
#include "format/tiles/tiles_merged.cuh"

tess_status tiles_multiply_16(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args,
                              bool pairs)
{
    return pairs ? multiply_strips<merged_strips<true, 16, 1>>(ctx, v, longest, args)
                 : multiply_strips<merged_strips<false, 16, 1>>(ctx, v, longest, args);
}
