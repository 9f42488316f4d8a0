/* SPDX-License-Identifier: Apache-2.0 */
/* Products of tiles on the GPU in block rows of 32 rows. */
#include "format/tiles/tiles_device.cuh"
#include "format/tiles/tiles_merged.cuh"

tess_status tiles_multiply_32(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args,
                              bool pairs)
{
    return pairs ? multiply_block_rows<grouped_block_rows<true, 32, 1>>(ctx, v, longest, args)
                 : multiply_block_rows<grouped_block_rows<false, 32, 1>>(ctx, v, longest, args);
}
