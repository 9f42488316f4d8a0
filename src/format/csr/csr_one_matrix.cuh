/* SPDX-License-Identifier: Apache-2.0 */
/* Products on the GPU of a CSR matrix of one precision; csr_product.cuh has the kernels. */
#ifndef TESS_FORMAT_CSR_CSR_ONE_MATRIX_CUH
#define TESS_FORMAT_CSR_CSR_ONE_MATRIX_CUH

#include "format/csr/csr_product.cuh"

/* A matrix of one precision, as the kernel sees it. VECTOR: what x and y are in. */
template <typename VALUE, typename VECTOR>
struct one_matrix {
    typedef csr_chunk CHUNK;
    typedef staged_chunk STAGED;
    typedef const staged_chunk HELD;
    static constexpr bool TURNS = false, IS_FP32 = sizeof(VECTOR) == sizeof(float);
    static constexpr int STREAM_BLOCKS =
        6; /* by nonzeros: resident blocks per multiprocessor, for which registers must suffice */
    matrix_argument m;
    bool stores; /* y is the plain sum, without further operations */
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

    template <typename OFFSET, int NDOTS, typename ENTER>
    __device__ inline bool stream(const csr_chunk &chunk, const tess_spmv_args &args, double *products, ENTER enter,
                                  double *dots) const
    {
        return stream_chunk<VALUE, OFFSET>(chunk, m, x_of(args), products, enter, [&](int r, double sum) {
            finish<NDOTS>(args, (int64_t)chunk.first_row + r, sum, dots);
        });
    }
};

/* By nonzeros, with offsets of 64 bits: a matrix of 2^31 nonzeros or a borrowed one (csr_wide_stored_device.cu). */
template <typename VALUE>
tess_status csr_multiply_wide(tess_context *ctx, const matrix_argument &m, const chunks_argument<csr_chunk> &chunks,
                              const tess_spmv_args *args, const loop_predicate &predicate);

/* As launch_nonzeros, for the product that `args` describe. */
template <typename VALUE, typename VECTOR, typename OFFSET, int NDOTS>
static tess_status stream_matrix(tess_context *ctx, const matrix_argument &m, const chunks_argument<csr_chunk> &chunks,
                                 const tess_spmv_args *args, const loop_predicate &predicate)
{
    const one_matrix<VALUE, VECTOR> matrix = {m, only_stores(args), args->update.kind == TESS_UPDATE_POLYNOMIAL};

    return launch_nonzeros<one_matrix<VALUE, VECTOR>, OFFSET, NDOTS>(ctx, matrix, chunks, args, predicate);
}

#endif
