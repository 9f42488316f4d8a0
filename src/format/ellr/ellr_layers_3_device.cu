/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices in three layers on the GPU; ellr_layers.cuh has the method. */
#include "format/ellr/ellr_layers.cuh"

template <>
tess_status ellr_multiply_layers<3>(tess_context *ctx, const ellr_view *views, const tess_spmv_args *args)
{
    return select_arithmetic<3>(ctx, views, args);
}
