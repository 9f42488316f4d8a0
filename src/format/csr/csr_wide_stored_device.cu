/* SPDX-License-Identifier: Apache-2.0 */
/* Products by nonzeros on the GPU of a CSR matrix of one precision with offsets of 64 bits. Compiled separately for
   each precision. */
#include "format/csr/csr_one_matrix.cuh"

template <typename VALUE>
tess_status csr_multiply_wide(tess_context *ctx, const matrix_argument &m, const chunks_argument<csr_chunk> &chunks,
                              const tess_spmv_args *args, const loop_predicate &predicate)
{
    if (args->vectors == TESS_PRECISION_FP32) {
        return stream_matrix<VALUE, float, int64_t, 0>(ctx, m, chunks, args, predicate);
    }
    switch (args->reduction.ndots) {
    case 0: return stream_matrix<VALUE, double, int64_t, 0>(ctx, m, chunks, args, predicate);
    case 1: return stream_matrix<VALUE, double, int64_t, 1>(ctx, m, chunks, args, predicate);
    default: return stream_matrix<VALUE, double, int64_t, 2>(ctx, m, chunks, args, predicate);
    }
}

#define MULTIPLY(VALUE)                                                                                       \
    template tess_status csr_multiply_wide<VALUE>(tess_context *, const matrix_argument &,                    \
                                                  const chunks_argument<csr_chunk> &, const tess_spmv_args *, \
                                                  const loop_predicate &);
STORED_TYPES(MULTIPLY)
#undef MULTIPLY
