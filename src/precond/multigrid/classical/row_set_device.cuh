/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of interpolation while one thread finds it: columns in the order of their appearance, and weights. Then its
 * truncation, with the operations of truncate.c in the same order, so that host and GPU keep the same columns.
 */
#ifndef TESS_PRECOND_MULTIGRID_CLASSICAL_ROW_SET_DEVICE_CUH
#define TESS_PRECOND_MULTIGRID_CLASSICAL_ROW_SET_DEVICE_CUH

#include <math.h>

#include "precond/multigrid/passes_device.cuh"

/* Threads of a block whose sets are in global memory. */
enum { ROW_THREADS = 128 };

/* In global memory, with a hash table of places. */
struct large_set {
    int32_t *columns, *key, *place; /* key -1: empty */
    double *weights;
    int count, bits;

    __device__ inline int32_t &column(int s)
    {
        return columns[s];
    }
    __device__ inline double &weight(int s)
    {
        return weights[s];
    }
    __device__ inline uint32_t find_key(int32_t c)
    {
        uint32_t at = (uint32_t)c * UINT32_C(2654435769) >> (32 - bits);

        while (key[at] != c && key[at] >= 0) {
            at = (at + 1) & ((UINT32_C(1) << bits) - 1);
        }
        return at;
    }
    __device__ inline int find(int32_t c)
    {
        const uint32_t at = find_key(c);

        return key[at] == c ? place[at] : -1;
    }
    __device__ inline void add(int32_t c)
    {
        const uint32_t at = find_key(c);

        if (key[at] == c) { return; }
        key[at] = c;
        place[at] = count;
        column(count) = c;
        weight(count++) = 0.0;
    }
    /* Begins a row of up to `most` columns. */
    __device__ inline void clear(int64_t most)
    {
        bits = 4;
        while ((INT64_C(1) << bits) < 2 * most) {
            bits++;
        }
        for (int64_t at = 0; at < INT64_C(1) << bits; at++) {
            key[at] = -1;
        }
        count = 0;
    }
};

/* Where rows go: to p on its pattern, or to a space of `truncation` entries for each row, with their number. */
struct row_output {
    bool known;
    int truncation;
    device_csr p;
    int32_t *column; /* nrows * truncation */
    double *value;
};

template <typename SET>
__device__ static inline void swap_entries(SET &set, int s, int t)
{
    const int32_t c = set.column(s);
    const double w = set.weight(s);

    set.column(s) = set.column(t);
    set.weight(s) = set.weight(t);
    set.column(t) = c;
    set.weight(t) = w;
}

/* By magnitude rounded to FP32, as rank_of of truncate.c. */
template <typename SET>
__device__ static inline bool goes_before(SET &set, int s, int t)
{
    const float a = fabsf((float)set.weight(s)), b = fabsf((float)set.weight(t));

    return a > b || (a == b && set.column(s) < set.column(t));
}

template <typename SET>
__device__ static inline double sum_of_weights(SET &set, int count)
{
    double sum = 0.0;

    for (int s = 0; s < count; s++) {
        sum += set.weight(s);
    }
    return sum;
}

/* 1 where the factor would turn signs, or the weights' sum is 0. */
__device__ static inline double factor_to_sum(double sum, double own)
{
    const double factor = sum / own;

    return !isfinite(factor) || factor <= 0.0 ? 1.0 : factor;
}

template <typename SET>
__device__ static inline void truncate_set(SET &set, int most)
{
    const bool shortens = set.count > most;
    const double sum = shortens ? sum_of_weights(set, set.count) : 0.0;

    for (int s = 0; shortens && s < most; s++) {
        int first = s;

        for (int t = s + 1; t < set.count; t++) {
            if (goes_before(set, t, first)) { first = t; }
        }
        swap_entries(set, s, first);
    }
    set.count = shortens ? most : set.count;
    for (int s = 1; s < set.count; s++) {
        for (int t = s; t > 0 && set.column(t - 1) > set.column(t); t--) {
            swap_entries(set, t - 1, t);
        }
    }
    if (!shortens) { return; }
    const double factor = factor_to_sum(sum, sum_of_weights(set, most));

    for (int s = 0; s < most; s++) {
        set.weight(s) *= factor;
    }
}

/* p's row from the set, with the set's sum where p has not all of its columns. */
template <typename SET>
__device__ static inline void restrict_set(SET &set, const device_csr &p, int64_t r)
{
    const int32_t begin = p.row_ptr[r], end = p.row_ptr[r + 1];
    double own = 0.0;

    for (int32_t e = begin; e < end; e++) {
        double value = 0.0;

        for (int s = 0; s < set.count; s++) {
            if (set.column(s) == p.col_ind[e]) { value = set.weight(s); }
        }
        p.val[e] = value;
        own += value;
    }
    if (set.count <= end - begin) { return; }
    const double factor = factor_to_sum(sum_of_weights(set, set.count), own);

    for (int32_t e = begin; e < end; e++) {
        p.val[e] *= factor;
    }
}

template <typename SET>
__device__ static inline void write_set(const row_output &out, SET &set, int64_t r)
{
    if (out.known) {
        restrict_set(set, out.p, r);
        return;
    }
    truncate_set(set, out.truncation);
    for (int s = 0; s < set.count; s++) {
        out.column[r * out.truncation + s] = set.column(s);
        out.value[r * out.truncation + s] = set.weight(s);
    }
    out.p.row_ptr[r + 1] = set.count;
}

/* Space for rows of p, unless it has its pattern. Close it also after a failure. */
tess_status row_output_open(tess_context *ctx, int64_t nrows, int64_t ncols, device_csr *p, row_output *out);
/* The rows become p. */
tess_status row_output_take(tess_context *ctx, row_output *out, device_csr *p);
void row_output_close(tess_context *ctx, int64_t nrows, const row_output *out);

#endif
