/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of a product on a GPU. A team adds the products of one entry of A's row after another, so that each sum has the
 * order of that row, whichever threads compute it.
 */
#ifndef TESS_MATRIX_PRODUCT_ROWS_CUH
#define TESS_MATRIX_PRODUCT_ROWS_CUH

#include "matrix/product_table.cuh"

/* Rows up to this length are sorted by counting smaller columns, longer ones by a network. */
enum { MOST_RANKED = 2048, RANKED_AT_A_TIME = 4 };

/* Tables of each size, and how many columns they have space for. */
enum { PRODUCT_SIZES = 6 };

template <int BITS>
struct table_size {
    enum { SIZE = 1 << BITS, MOST = SIZE / 4 * 3 };
};

/* By the number of a row's columns, or by its bound: a bin for each size, and one for tables in global memory. */
static inline bin_limits product_limits(void)
{
    return {PRODUCT_SIZES + 1,
            {table_size<5>::MOST, table_size<6>::MOST, table_size<7>::MOST, table_size<8>::MOST, table_size<10>::MOST,
             table_size<11>::MOST, INT32_MAX}};
}

/* Whether rows of b are long on the average, so that more threads share one. */
static inline bool product_is_wide(const product_task &t)
{
    return t.b.nnz > 8 * t.b.nrows;
}

/* In shared memory, for each team of a block. */
template <int BITS>
struct team_space {
    double sum[1 << BITS];
    int32_t column[1 << BITS];
    int32_t key[table_size<BITS>::MOST];
    uint16_t taken[table_size<BITS>::MOST];
    int count;
};

template <int BITS>
__device__ static inline team_table<uint16_t> table_in(team_space<BITS> &s)
{
    return {s.column, s.sum, s.taken, s.key, &s.count, BITS};
}

/* c's columns and values from entry `first` on. */
struct row_target {
    int32_t *col_ind;
    double *val;
};

/* A column's rank is the number of smaller ones. */
template <int GROUP, typename INDEX>
__device__ static inline void write_by_rank(const product_task &t, const team_table<INDEX> &table, const row_target &to,
                                            int lane)
{
    const int count = *table.count;

    for (int begin = lane; begin < count; begin += RANKED_AT_A_TIME * GROUP) {
        int32_t column[RANKED_AT_A_TIME];
        int rank[RANKED_AT_A_TIME] = {};

#pragma unroll
        for (int u = 0; u < RANKED_AT_A_TIME; u++) {
            column[u] = begin + u * GROUP < count ? table.key[begin + u * GROUP] : -1;
        }
        for (int other = 0; other < count; other++) {
            const int32_t key = table.key[other];

#pragma unroll
            for (int u = 0; u < RANKED_AT_A_TIME; u++) {
                rank[u] += key < column[u];
            }
        }
#pragma unroll
        for (int u = 0; u < RANKED_AT_A_TIME; u++) {
            if (column[u] < 0) { continue; }
            to.col_ind[rank[u]] = column[u];
            if (t.values) { to.val[rank[u]] = table.sum[table.taken[begin + u * GROUP]]; }
        }
    }
}

template <typename INDEX>
__device__ static inline void write_sorted(const product_task &t, const team_table<INDEX> &table, const row_target &to,
                                           int lane)
{
    const int count = *table.count;

    for (int e = lane; e < count; e += (int)blockDim.x) {
        to.col_ind[e] = table.key[e];
    }
    __syncthreads();
    sort_by_block(to.col_ind, count);
    for (int e = lane; t.values && e < count; e += (int)blockDim.x) {
        to.val[e] = table.sum[find_place(table, to.col_ind[e])];
    }
}

/* sum += f x, rounded twice, as on the host. */
__device__ static inline void add_term(double *sum, double f, double x)
{
    *sum = __dadd_rn(*sum, __dmul_rn(f, x));
}

/* Begins with an empty table. For all threads of a team. */
template <int GROUP, typename INDEX>
__device__ static inline void add_products(const product_task &t, const team_table<INDEX> &table, const team_row &own,
                                           int most)
{
    visit_products<GROUP, true>(t, own, [&](double factor, int32_t column, double value) {
        const int64_t at = take_place(table, column, most);

        if (at >= 0 && t.values) { add_term(&table.sum[at], factor, value); }
    });
    sync_team<GROUP>();
}

/* Rows of the product: all up to `count`, or those of a list. on_device: where the list's length is, once it is known
   there. */
struct product_rows {
    const int32_t *list;
    int64_t count;
    const unsigned long long *on_device;
};

__device__ static inline int64_t count_of(const product_rows &rows)
{
    return rows.on_device ? (int64_t)*rows.on_device : rows.count;
}

#endif
