/* SPDX-License-Identifier: Apache-2.0 */
/* BLAS operations on the GPU whose operands have several precisions or any address. */
#include "device/gpu/blas_device.cuh"
#include "device/gpu/fused_pass.cuh"

tess_status gpu_blas_mixed(tess_context *ctx, const tess_fused *op, bool reads_y, bool writes)
{
    const bool quads = quad_values::fits(op->x.data, op->x.precision) &&
                       (!reads_y || quad_values::fits(op->y.data, op->y.precision)) &&
                       (!writes || quad_values::fits(op->result, op->y.precision));

    return quads ? launch_blas_pass<quad_values>(ctx, op) : launch_blas_pass<single_values>(ctx, op);
}
