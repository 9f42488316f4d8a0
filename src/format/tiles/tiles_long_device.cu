/* SPDX-License-Identifier: Apache-2.0 */
/* Products of tiles on the GPU in long block rows of 16 rows. */
#include "format/tiles/tiles_device.cuh"
#include "format/tiles/tiles_merged.cuh"

tess_status tiles_multiply_long(tess_context *ctx, const tiles_view *v, int64_t longest, const tess_spmv_args *args)
{
    return multiply_block_rows<grouped_block_rows<false, 16, 2>>(ctx, v, longest, args);
}
