/* SPDX-License-Identifier: Apache-2.0 */
/* ELLPACK-R and SELL-C-sigma times several columns on the GPU (columns_product.cuh). Compiled separately for each
   precision. */
#include "format/columns_product.cuh"
#include "format/ellr/ellr_rows.h"

/* The entries of a row: val and col point to its first one, columns are relative to `base`. Values are loaded into the
   first-level cache, for the waves of neighbouring rows share its lines; the next ones while x is. */
template <typename STORED, typename COLUMN, typename VECTOR, typename ARITHMETIC, int V>
__device__ static inline void add_entries(const STORED *val, const COLUMN *col, int32_t base, int32_t length,
                                          const VECTOR *x, int columns, ARITHMETIC (&sum)[V])
{
    constexpr int BATCH = columns_tuning::BATCH;
    COLUMN column[BATCH];
    STORED next[BATCH];

#pragma unroll
    for (int u = 0; u < BATCH; u++) {
        if (u < length) {
            column[u] = col[u * ELLR_SLICE];
            next[u] = val[u * ELLR_SLICE];
        }
    }
#pragma unroll 1
    for (; length > 0; length -= BATCH) {
        STORED value[BATCH];
        columns_pack<VECTOR, V> factor[BATCH];

        val += BATCH * ELLR_SLICE;
        col += BATCH * ELLR_SLICE;
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            value[u] = next[u];
            if (u < length) { factor[u] = pack_at<V>(x + (int64_t)(base + column[u]) * columns); }
        }
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            if (BATCH + u < length) {
                column[u] = col[u * ELLR_SLICE];
                next[u] = val[u * ELLR_SLICE];
            }
        }
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            if (u < length) { add_products(value[u], factor[u], sum); }
        }
    }
}

/* A place is a position. */
struct slices_of_columns {
    typedef ellr_view view;

    __host__ __device__ static constexpr int blocks(int each, int ndots)
    {
        return columns_blocks(each, ndots);
    }

    __host__ __device__ static inline int64_t places(const ellr_view *v)
    {
        return v->nslices * ELLR_SLICE;
    }

    template <typename STORED, typename VECTOR, typename ARITHMETIC, int V>
    __device__ static inline int64_t sum_row(const ellr_view &v, int64_t position, const VECTOR *x, int columns,
                                             ARITHMETIC (&sum)[V])
    {
        const ellr_slice slice = v.slice[position / ELLR_SLICE];
        const int64_t row = ellr_row(&v, slice, position), lane = position % ELLR_SLICE;
        const STORED *val = (const STORED *)v.val + ellr_first_value(slice) + lane;
        const int16_t *words = (const int16_t *)v.column + ellr_first_column(slice);

        if (row >= v.nrows) { return -1; }
        if (ellr_has_wide_columns(slice)) {
            const int32_t *wide = (const int32_t *)(const void *)words;

            add_entries(val, wide + lane, 0, ellr_length(&v, position), x, columns, sum);
        } else {
            add_entries(val, words + lane, (int32_t)ellr_target(&v, row), ellr_length(&v, position), x, columns, sum);
        }
#pragma unroll
        for (int w = 0; v.exponent && w < V; w++) {
            sum[w] *= (ARITHMETIC)part_row_scale(v.exponent, row);
        }
        return ellr_target(&v, row);
    }
};

template <typename STORED>
tess_status ellr_multiply_columns(tess_context *ctx, const ellr_view *v, const tess_spmv_args *args)
{
    return select_columns<slices_of_columns, STORED>(ctx, v, args);
}

#define MULTIPLY(STORED) \
    template tess_status ellr_multiply_columns<STORED>(tess_context *, const ellr_view *, const tess_spmv_args *);
STORED_TYPES(MULTIPLY)
#undef MULTIPLY
