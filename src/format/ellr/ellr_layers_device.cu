/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses a product of slices in layers on the GPU (ellr_layers.cuh). */
#include "format/ellr/ellr_layers.cuh"

extern "C" tess_status ellr_gpu_spmv_layers(tess_context *ctx, int count, const ellr_view *layers,
                                            const tess_spmv_args *args)
{
    gpu_scope scope(ctx);
    tess_status status = ellr_check_parts(ctx, count, layers, args);

    static_assert(TESS_MAX_LEVELS == 4, "the cases below");
    if (status != TESS_SUCCESS) { return status; }
    switch (count) {
    case 2: return ellr_multiply_layers<2>(ctx, layers, args);
    case 3: return ellr_multiply_layers<3>(ctx, layers, args);
    case 4: return ellr_multiply_layers<4>(ctx, layers, args);
    default:
        return tess_fail(ctx, TESS_INTERNAL, "this is an error of the library; please report it",
                         "no kernel for a product of %d layers", count);
    }
}
