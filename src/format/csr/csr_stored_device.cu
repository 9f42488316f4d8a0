/* SPDX-License-Identifier: Apache-2.0 */
/* Products on the GPU of a CSR matrix of one precision (csr_one_matrix.cuh), except those by nonzeros with offsets of
   64 bits. Compiled separately for each precision. */
#include "format/csr/csr_one_matrix.cuh"

template <typename VALUE, typename VECTOR, int NDOTS>
static tess_status launch_product(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    const one_matrix<VALUE, VECTOR> matrix = {make_matrix_argument(v, p), only_stores(args),
                                              args->update.kind == TESS_UPDATE_POLYNOMIAL};
    const stage_layout layout =
        make_layout(p->by_rows, p->places, p->most_rows, offset_bytes(matrix.m.offset_shift), sizeof(VALUE), false);
    const chunks_argument<csr_chunk> chunks = {p->chunk, p->nchunks, layout, 0, false};
    loop_predicate predicate;
    tess_status status = TESS_SUCCESS;

    if (p->nchunks == 0) { return TESS_SUCCESS; }
    TESS_TRY(make_settled_predicate(ctx, args->reduction.state, &predicate));
    if (p->nsplit > 0) {
        TESS_TRY(gpu_launch(ctx, "summing split rows", segment_kernel<VALUE, VECTOR>, (unsigned)p->nsegments, 0,
                            matrix.m, matrix.x_of(*args), predicate, p->segment_sum));
    }
    if (p->by_rows) {
        status = launch_rows<one_matrix<VALUE, VECTOR>, NDOTS>(ctx, matrix, chunks, args, predicate);
    } else if (v->row_ptr_bits == 32) {
        status = stream_matrix<VALUE, VECTOR, int32_t, NDOTS>(ctx, matrix.m, chunks, args, predicate);
    } else {
        status = csr_multiply_wide<VALUE>(ctx, matrix.m, chunks, args, predicate);
    }
cleanup:
    return status;
}

template <typename VALUE>
tess_status csr_multiply(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    if (args->vectors == TESS_PRECISION_FP32) { return launch_product<VALUE, float, 0>(ctx, v, p, args); }
    switch (args->reduction.ndots) {
    case 0: return launch_product<VALUE, double, 0>(ctx, v, p, args);
    case 1: return launch_product<VALUE, double, 1>(ctx, v, p, args);
    default: return launch_product<VALUE, double, 2>(ctx, v, p, args);
    }
}

#define MULTIPLY(VALUE)                                                                          \
    template tess_status csr_multiply<VALUE>(tess_context *, const csr_view *, const csr_plan *, \
                                             const tess_spmv_args *);
STORED_TYPES(MULTIPLY)
#undef MULTIPLY
