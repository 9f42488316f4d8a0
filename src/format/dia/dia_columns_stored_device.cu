/* SPDX-License-Identifier: Apache-2.0 */
/* DIA times several columns on the GPU (columns_product.cuh). Compiled separately for each precision. */
#include "format/columns_product.cuh"
#include "format/dia/dia_rows.h"

/* A place is a row. */
struct diagonals_of_columns {
    typedef dia_view view;

    __host__ __device__ static constexpr int blocks(int each, int ndots)
    {
        return columns_blocks(each, ndots > 1 ? ndots : 0);
    }

    __host__ __device__ static inline int64_t places(const dia_view *v)
    {
        return v->nrows;
    }

    /* Every place of a diagonal may be loaded, and x wherever the column exists: no load waits for a bitmap. */
    template <typename STORED, typename VECTOR, typename ARITHMETIC, int V>
    __device__ static inline int64_t sum_row(const dia_view &v, int64_t row, const VECTOR *x, int columns,
                                             ARITHMETIC (&sum)[V])
    {
        constexpr int BATCH = columns_tuning::BATCH;
        const STORED *val = (const STORED *)v.val;

        x += row * columns;
#pragma unroll 1
        for (int64_t d = 0; d < v.ndiagonals; d += BATCH) {
            const int64_t left = v.ndiagonals - d;
            STORED value[BATCH];
            columns_pack<VECTOR, V> factor[BATCH];
            uint32_t entries[BATCH]; /* of the row's word */

#pragma unroll
            for (int u = 0; u < BATCH; u++) {
                entries[u] = 0U;
                if (u < left) {
                    const dia_diagonal diagonal = v.diagonal[d + u];
                    const bool within = (uint64_t)(row + diagonal.offset) < (uint64_t)v.ncols; /* not if negative */

                    value[u] = val[dia_place(&v, d + u, row)];
                    entries[u] = diagonal.bitmap < 0 ? UINT32_MAX : v.bitmap[dia_word(&v, diagonal, row)];
                    if (within) { factor[u] = pack_at<V>(x + (int64_t)diagonal.offset * columns); }
                    entries[u] = within ? entries[u] : 0U;
                }
            }
#pragma unroll
            for (int u = 0; u < BATCH; u++) {
                if (entries[u] >> (row % DIA_WORD) & 1U) { add_products(value[u], factor[u], sum); }
            }
        }
        return row;
    }
};

template <typename STORED>
tess_status dia_multiply_columns(tess_context *ctx, const dia_view *v, const tess_spmv_args *args)
{
    return select_columns<diagonals_of_columns, STORED>(ctx, v, args);
}

#define MULTIPLY(STORED) \
    template tess_status dia_multiply_columns<STORED>(tess_context *, const dia_view *, const tess_spmv_args *);
STORED_TYPES(MULTIPLY)
#undef MULTIPLY
