/* SPDX-License-Identifier: Apache-2.0 */
/* Products of packed matrices with all entries in one precision. Compiled separately for each. */
#include "format/packed/packed_product.cuh"

template <typename STORED>
tess_status packed_multiply(tess_context *ctx, const packed_view *v, const tess_spmv_args *args)
{
    return select_kernel<packed_products, STORED>(ctx, v, args);
}

#define MULTIPLY(STORED) \
    template tess_status packed_multiply<STORED>(tess_context *, const packed_view *, const tess_spmv_args *);
STORED_TYPES(MULTIPLY)
#undef MULTIPLY
