/* SPDX-License-Identifier: Apache-2.0 */
/* Products on the GPU of a CSR matrix of one precision; csr_product.cuh has the kernels. Compiled for each precision by
 * itself. */
#include "format/csr/csr_product.cuh"

/* A matrix of one precision, as the kernel sees it. VECTOR: what x and y are in. */
template <typename VALUE, typename VECTOR>
struct one_matrix {
    typedef csr_chunk CHUNK;
    typedef staged_chunk STAGED;
    typedef const staged_chunk HELD;
    static constexpr bool TURNS = false, IS_FP32 = sizeof(VECTOR) == sizeof(float);
    static constexpr int STREAM_BLOCKS =
        6; /* by nonzeros: resident blocks per multiprocessor that registers must allow */
    matrix_argument m;
    bool stores; /* y is the sums, and nothing else is done with them */
    bool steps;  /* of a polynomial */

    __host__ __device__ static inline const VECTOR *x_of(const tess_spmv_args &args)
    {
        if constexpr (IS_FP32) {
            return args.x_fp32;
        } else {
            return args.x;
        }
    }

    __device__ inline const matrix_argument &part(const csr_chunk &) const
    {
        return m;
    }

    __device__ inline int value_bytes(const csr_chunk &) const
    {
        return (int)sizeof(VALUE);
    }

    __device__ inline const int32_t *map_of(const csr_chunk &) const
    {
        return NULL;
    }

    template <int NDOTS>
    __device__ inline void finish(const tess_spmv_args &args, int64_t row, double sum, double *dots) const
    {
        if (NDOTS == 0 && stores) {
            if constexpr (IS_FP32) {
                args.y_fp32[row] = (float)sum;
            } else {
                args.y[row] = sum;
            }
        } else if (NDOTS == 0 && (IS_FP32 || steps)) {
            spmv_finish_step(&args, IS_FP32, row, sum);
        } else {
            finish_row<NDOTS>(args, row, sum, dots);
        }
    }

    template <int NDOTS>
    __device__ inline void work_on(const char *stage, const staged_chunk &chunk, const tess_spmv_args &args,
                                   double *dots) const
    {
        sum_by_rows<VALUE>(stage, chunk, m.offset_shift, x_of(args),
                           [&](int r, double sum) { finish<NDOTS>(args, (int64_t)chunk.first_row + r, sum, dots); });
    }

    template <int NDOTS, typename ENTER>
    __device__ inline bool stream(const csr_chunk &chunk, const tess_spmv_args &args, double *products, ENTER enter,
                                  double *dots) const
    {
        return stream_chunk<VALUE>(chunk, m, x_of(args), products, enter, [&](int r, double sum) {
            finish<NDOTS>(args, (int64_t)chunk.first_row + r, sum, dots);
        });
    }
};

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
    status = launch_chunks<one_matrix<VALUE, VECTOR>, NDOTS>(ctx, matrix, chunks, p->by_rows, args, predicate);
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
