/* SPDX-License-Identifier: Apache-2.0 */
/* BSR times several columns on the GPU (columns_product.cuh): a place is a row of the matrix. Neighbouring threads have
   the rows of a block, and share the lines of its values. Compiled separately for each precision. */
#include "format/bsr/bsr_rows.h"
#include "format/columns_product.cuh"

/* The entries of row r of a block row, column after column. */
template <typename STORED, typename VECTOR, typename ARITHMETIC, int V>
__device__ static inline void add_real(const bsr_view &v, int64_t block_row, int r, const VECTOR *x, int columns,
                                       ARITHMETIC (&sum)[V])
{
    const int64_t end = bsr_offset(&v, block_row + 1);
    int64_t k = bsr_offset(&v, block_row);
    const STORED *val = (const STORED *)v.val + k * v.height * v.width + r;

    for (; k < end; k++) {
        const VECTOR *const at = x + bsr_column(&v, block_row, k) * columns;

#pragma unroll 2
        for (int c = 0; c < v.width; c++, val += v.height) {
            add_products(*val, pack_at<V>(at + (int64_t)c * columns), sum);
        }
    }
}

template <typename STORED, typename VECTOR, typename ARITHMETIC, int V>
__device__ static inline void add_complex(const bsr_view &v, int64_t block_row, int r, const VECTOR *x, int columns,
                                          ARITHMETIC (&sum)[V])
{
    const int64_t end = bsr_offset(&v, block_row + 1);

#pragma unroll 2
    for (int64_t k = bsr_offset(&v, block_row); k < end; k++) {
        const tess::pack<STORED, 2> value = ((const tess::pack<STORED, 2> *)v.val)[k];
        const VECTOR *const at = x + bsr_column(&v, block_row, k) * columns;
        const columns_pack<VECTOR, V> re = pack_at<V>(at), im = pack_at<V>(at + columns);
        const ARITHMETIC by_re = tess::decode<ARITHMETIC>(value.value[r]);
        const ARITHMETIC by_im = tess::decode<ARITHMETIC>(value.value[1 - r]);

#pragma unroll
        for (int w = 0; w < V; w++) {
            sum[w] += by_re * (ARITHMETIC)re.value[w];
            sum[w] += (r == 0 ? -by_im : by_im) * (ARITHMETIC)im.value[w];
        }
    }
}

struct blocks_of_columns {
    typedef bsr_view view;

    __host__ __device__ static constexpr int blocks(int each, int ndots)
    {
        return columns_blocks(each, ndots);
    }

    __host__ __device__ static inline int64_t places(const bsr_view *v)
    {
        return v->nrows;
    }

    template <typename STORED, typename VECTOR, typename ARITHMETIC, int V>
    __device__ static inline int64_t sum_row(const bsr_view &v, int64_t row, const VECTOR *x, int columns,
                                             ARITHMETIC (&sum)[V])
    {
        const int64_t block_row = row / v.height;
        const int r = (int)(row % v.height);
        const bool narrow = bsr_is_narrow(&v);

        if (v.is_complex) {
            add_complex<STORED>(v, block_row, r, x, columns, sum);
        } else if (!narrow) {
            add_real<STORED>(v, block_row, r, x, columns, sum);
        }
#pragma unroll
        for (int w = 0; w < V; w++) {
            if (v.mask && (narrow || sum[w] != sum[w])) {
                sum[w] = (ARITHMETIC)bsr_masked_sum(&v, block_row, r, x + w, sizeof(VECTOR) == sizeof(float), columns);
            }
        }
        return row;
    }
};

template <typename STORED>
tess_status bsr_multiply_columns(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args)
{
    return select_columns<blocks_of_columns, STORED>(ctx, v, args);
}

#define MULTIPLY(STORED) \
    template tess_status bsr_multiply_columns<STORED>(tess_context *, const bsr_view *, const tess_spmv_args *);
STORED_TYPES(MULTIPLY)
#undef MULTIPLY
