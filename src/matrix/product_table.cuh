/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a product on a GPU (Gustavson, ACM TOMS 4 (1978)): a team of threads takes a row, and keeps its columns in a
 * hash table. Shared by the passes that count and that compute.
 */
#ifndef TESS_MATRIX_PRODUCT_TABLE_CUH
#define TESS_MATRIX_PRODUCT_TABLE_CUH

#include "matrix/device_csr.h"
#include "matrix/row_bins.cuh"
#include "matrix/team.cuh"

/* c := a b; values: not only the pattern. */
struct product_task {
    device_csr a, b, c;
    bool values;
};

/* 2^bits columns; -1: none. Places are taken in any order: sums do not depend on it. */
template <typename INDEX>
struct team_table {
    int32_t *column;
    double *sum;  /* NULL: columns alone */
    INDEX *taken; /* the places in use, and their columns; NULL: not needed */
    int32_t *key;
    int *count; /* how many */
    int bits;
};

template <int GROUP, typename INDEX>
__device__ static inline void clear_table(const team_table<INDEX> &t, int lane)
{
    for (int64_t s = lane; s < INT64_C(1) << t.bits; s += GROUP) {
        t.column[s] = -1;
        if (t.sum) { t.sum[s] = 0.0; }
    }
    if (lane == 0) { *t.count = 0; }
    sync_team<GROUP>();
}

/* The place of a column, which is taken if it is not there. Threads of the team may take places at the same time. -1:
   the table has `most` columns and not this one; then the count becomes larger than `most`. So that a search ends,
   `most` is less than the table's size by the team's threads at least. */
template <typename INDEX>
__device__ static inline int64_t take_place(const team_table<INDEX> &t, int32_t column, int most)
{
    uint32_t at = (uint32_t)column * UINT32_C(2654435769) >> (32 - t.bits);

    for (;; at = (at + 1) & ((UINT32_C(1) << t.bits) - 1)) {
        int32_t there = *(volatile int32_t *)&t.column[at]; /* sooner than an exchange, and mostly it is there */

        if (there == column) { return at; }
        if (there != -1) { continue; }
        if (*(volatile int *)t.count >= most) {
            atomicAdd(t.count, 1);
            return -1;
        }
        there = atomicCAS(&t.column[at], -1, column);
        if (there == -1) {
            const int number = atomicAdd(t.count, 1);

            if (t.taken && number < most) {
                t.taken[number] = (INDEX)at;
                t.key[number] = column;
            }
        }
        if (there == -1 || there == column) { return at; }
    }
}

/* The place of a column that is there. */
template <typename INDEX>
__device__ static inline uint32_t find_place(const team_table<INDEX> &t, int32_t column)
{
    uint32_t at = (uint32_t)column * UINT32_C(2654435769) >> (32 - t.bits);

    while (t.column[at] != column) {
        at = (at + 1) & ((UINT32_C(1) << t.bits) - 1);
    }
    return at;
}

/* ---- the products of a row ---- */

/* A row, and the calling thread's place in its team. row -1: the team has none, and only keeps step with its wave. */
struct team_row {
    int64_t row;
    int32_t begin, end; /* of a */
    int lane;
};

__device__ static inline team_row open_row(const product_task &t, const int32_t *list, int64_t rows, int64_t r,
                                           int lane)
{
    team_row own = {-1, 0, 0, lane};

    if (r < rows) {
        own.row = list ? list[r] : r;
        own.begin = t.a.row_ptr[own.row];
        own.end = t.a.row_ptr[own.row + 1];
    }
    return own;
}

/* An entry of b for the calling thread; column -1: none. */
struct factor_entry {
    int32_t column;
    double value;
};

/* VALUES: not the columns alone. */
template <bool VALUES>
__device__ static inline factor_entry load_entry(const product_task &t, int32_t m, int32_t end)
{
    factor_entry e = {-1, 0.0};

    if (m < end) {
        e.column = t.b.col_ind[m];
        if (VALUES && t.values) { e.value = t.b.val[m]; }
    }
    return e;
}

/* visit(factor, column, value) for each entry of the row of a, and each entry of b's row of its column. VALUES: one
   entry of a after another; else columns alone, in any order. A row of b has no column twice, so that threads of a team
   never add to one sum at a time. The next entries are loaded before the present ones are visited. */
template <int GROUP, bool VALUES, typename VISIT>
__device__ static inline void visit_in_wave(const product_task &t, const team_row &own, VISIT visit)
{
    const int length = own.end - own.begin, steps = GPU_WAVE_MAX(length);

    for (int base = 0; base < steps; base += GROUP) {
        const int k = base + own.lane, last_step = min(GROUP, steps - base);
        int32_t first = 0, last = 0;
        double factor = 0.0;

        if (k < length) {
            const int32_t row = t.a.col_ind[own.begin + k];

            first = t.b.row_ptr[row];
            last = t.b.row_ptr[row + 1];
            if (VALUES && t.values) { factor = t.a.val[own.begin + k]; }
        }
        int32_t from = GPU_SHUFFLE(first, 0, GROUP), to = GPU_SHUFFLE(last, 0, GROUP);
        factor_entry next = load_entry<VALUES>(t, from + own.lane, to);

        for (int s = 0; s < last_step; s++) {
            const double of_a = VALUES ? GPU_SHUFFLE(factor, s, GROUP) : 0.0;
            const factor_entry e = next;
            const int32_t rest = from + own.lane + GROUP, end = to;

            if (s + 1 < last_step) { /* the same for all threads of the wave */
                from = GPU_SHUFFLE(first, s + 1, GROUP);
                to = GPU_SHUFFLE(last, s + 1, GROUP);
                next = load_entry<VALUES>(t, from + own.lane, to);
            }
            if (e.column >= 0) { visit(of_a, e.column, e.value); }
            for (int32_t m = rest; m < end; m += GROUP) {
                const factor_entry more = load_entry<VALUES>(t, m, end);

                visit(of_a, more.column, more.value);
            }
            if (VALUES) { GPU_SYNC_WAVE(); }
        }
    }
}

template <bool VALUES, typename VISIT>
__device__ static inline void visit_in_block(const product_task &t, const team_row &own, VISIT visit)
{
    for (int32_t k = own.begin; k < own.end; k++) {
        const int32_t row = t.a.col_ind[k], last = t.b.row_ptr[row + 1];
        const double factor = VALUES && t.values ? t.a.val[k] : 0.0;

        for (int32_t m = t.b.row_ptr[row] + own.lane; m < last; m += (int32_t)blockDim.x) {
            const factor_entry e = load_entry<VALUES>(t, m, last);

            visit(factor, e.column, e.value);
        }
        if (VALUES) { __syncthreads(); }
    }
}

template <int GROUP, bool VALUES, typename VISIT>
__device__ static inline void visit_products(const product_task &t, const team_row &own, VISIT visit)
{
    if constexpr (GROUP <= GPU_WAVE) {
        visit_in_wave<GROUP, VALUES>(t, own, visit);
    } else {
        visit_in_block<VALUES>(t, own, visit);
    }
}

/* ---- tables in global memory, for the largest rows ---- */

/* A table for each of `blocks` blocks. */
struct global_tables {
    int32_t *column;
    double *sum;
    int32_t *taken, *key;
    int bits;
    int64_t blocks, most; /* most entries of a row */
};

__device__ static inline team_table<int32_t> own_table(const global_tables &g, int *count)
{
    const int64_t size = INT64_C(1) << g.bits, block = blockIdx.x;

    return {
        g.column + block * size, g.sum + block * size, g.taken + block * g.most, g.key + block * g.most, count, g.bits};
}

tess_status global_tables_make(tess_context *ctx, int64_t rows, int64_t most, global_tables *out);
void global_tables_free(tess_context *ctx, global_tables *g);

/* ---- passes ---- */

/* What some rows of a product have. */
struct product_sample {
    int64_t rows;
    unsigned long long entries; /* in all */
    int most[MOST_BINS];        /* by the bin of the row's bound */
};

/* Rows of c at any places: row i from begin[i] on, with a length of c.row_ptr[i + 1]. */
struct loose_rows {
    int32_t *begin;
    int32_t *col_ind;
    double *val;
    int64_t capacity;
};

/* c.row_ptr[i + 1] := at least the length of row i, and a sample of true lengths. Waits. */
tess_status product_sample_rows(tess_context *ctx, const product_task &t, const bin_limits &limits,
                                product_sample *out);
/* The whole product: c has space for its offsets. */
tess_status product_compute(tess_context *ctx, const product_task &t, device_csr *c);
/* Values of c, whose columns are there. */
tess_status product_compute_again(tess_context *ctx, const product_task &t);
/* The same by a plan, and how a plan is made: as in device_csr_ops. */
tess_status product_compute_planned(tess_context *ctx, const product_task &t, const device_csr_plan *plan);
extern "C" tess_status product_make_plan(tess_context *ctx, const device_csr *a, const device_csr *b,
                                         const device_csr *c, device_csr_plan *plan);

#endif
