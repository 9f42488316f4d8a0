/* SPDX-License-Identifier: Apache-2.0 */
/* BLAS operations on the GPU whose operands have one precision. Compiled separately for each precision. */
#include "device/gpu/blas_device.cuh"
#include "device/gpu/fused_pass.cuh"

template <typename STORAGE>
tess_status gpu_blas_packed(tess_context *ctx, const tess_fused *op)
{
    return launch_blas_pass<packed_values<STORAGE>>(ctx, op);
}

#define PACKED(STORAGE) template tess_status gpu_blas_packed<STORAGE>(tess_context *, const tess_fused *);
STORED_TYPES(PACKED)
#undef PACKED
