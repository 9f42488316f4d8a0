/* SPDX-License-Identifier: Apache-2.0 */
/* DIA times several columns on the GPU (columns_product.cuh). Compiled separately for each precision. */
#include "format/columns_product.cuh"
#include "format/dia/dia_rows.h"

/* A place is a row. */
struct diagonals_of_columns {
    typedef dia_view view;

    __host__ __device__ static constexpr int blocks(int each, int ndots)
    {
        return columns_blocks(each, ndots);
    }

    __host__ __device__ static inline int64_t places(const dia_view *v)
    {
        return v->nrows;
    }

    /* What a row has of some diagonals. */
    template <typename STORED>
    struct batch {
        STORED value[columns_tuning::BATCH];
        int32_t offset[columns_tuning::BATCH];
        uint32_t entries[columns_tuning::BATCH]; /* of the row's word; 0: the diagonal does not exist */

        /* Those from d on. Every place of a diagonal may be loaded. */
        __device__ inline void load(const dia_view &v, int64_t d, int64_t row)
        {
#pragma unroll
            for (int u = 0; u < columns_tuning::BATCH; u++) {
                entries[u] = 0U;
                if (d + u < v.ndiagonals) {
                    const dia_diagonal diagonal = v.diagonal[d + u];

                    offset[u] = diagonal.offset;
                    value[u] = ((const STORED *)v.val)[dia_place(&v, d + u, row)];
                    entries[u] = diagonal.bitmap < 0 ? UINT32_MAX : v.bitmap[dia_word(&v, diagonal, row)];
                }
            }
        }
    };

    /* The next diagonals are loaded while x is. */
    template <typename STORED, typename VECTOR, typename ARITHMETIC, int V>
    __device__ static inline int64_t sum_row(const dia_view &v, int64_t row, const VECTOR *x, int columns,
                                             ARITHMETIC (&sum)[V])
    {
        constexpr int BATCH = columns_tuning::BATCH;
        batch<STORED> next;

        x += row * columns;
        next.load(v, 0, row);
#pragma unroll 1
        for (int64_t d = 0; d < v.ndiagonals; d += BATCH) {
            columns_pack<VECTOR, V> factor[BATCH];
            STORED value[BATCH];
            bool entry[BATCH];

#pragma unroll
            for (int u = 0; u < BATCH; u++) {
                value[u] = next.value[u];
                entry[u] = (next.entries[u] >> (row % DIA_WORD) & 1U) != 0 &&
                           (uint64_t)(row + next.offset[u]) < (uint64_t)v.ncols; /* not if negative */
                if (entry[u]) { factor[u] = pack_at<V>(x + (int64_t)next.offset[u] * columns); }
            }
            next.load(v, d + BATCH, row);
#pragma unroll
            for (int u = 0; u < BATCH; u++) {
                if (entry[u]) { add_products(value[u], factor[u], sum); }
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
