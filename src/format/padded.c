/* SPDX-License-Identifier: Apache-2.0 */
#include "format/padded.h"

tess_status padded_check_options(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *options)
{
    const double most = options->slices.max_padding;

    (void)nrows;
    (void)ncols;
    if (most == 0.0 || most >= 1.0) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give 1 or more: 1 allows no padding; 0 stands for the default",
                     "max_padding (--max-padding) is %g, but it must be 1 or more", most);
}

tess_status padded_check_product(const tess_matrix *a, tess_arithmetic arithmetic, const tess_spmv_args *args)
{
    if (arithmetic != TESS_ARITHMETIC_FP32 || args->vectors == TESS_PRECISION_FP32) { return TESS_SUCCESS; }
    return tess_fail(a->ctx, TESS_UNSUPPORTED, "pass fp32 vectors, or convert the matrix with fp64 arithmetic",
                     "a matrix with fp32 arithmetic cannot multiply fp64 vectors");
}

tess_status padded_decode_offsets(const tess_matrix *a, int64_t *row_ptr)
{
    return row_ptr ? a->original->ops->decode(a->original, row_ptr, NULL, NULL) : TESS_SUCCESS;
}
