/* SPDX-License-Identifier: Apache-2.0 */
/* A block's rows in CSR order: their copy to shared memory, and their product with a vector there. */
#ifndef TESS_SOLVER_SINGLE_KERNEL_ROWS_CUH
#define TESS_SOLVER_SINGLE_KERNEL_ROWS_CUH

#include "device/gpu/wave_sums.cuh"
#include "solver/single_kernel/args.cuh"
#include <tessera/storage.cuh> /* after the vendor's header: HIP declares memcpy for the device there */

/* Entries of a thread that stay in its registers: the first ones of its part of its first row. */
enum { SINGLE_HELD = 6 };

/* Entries that a thread may have of one row, whatever the share of its block's entries. */
enum { SINGLE_USUAL_ENTRIES = 32 };

/* Columns are given by their place among the block's. Values and places are in shared or in device memory. */
template <typename STORED>
struct csr_rows {
    static constexpr bool LOOKS_AT_X = false; /* of others: look(), before each product, and save(), at the end */
    const STORED *val;
    const uint16_t *place;
    const int32_t *offset; /* count + 1, from 0 */
    int count, lanes;
    int longest, longs;      /* rows with more entries are summed by all waves; the number of these rows */
    const int32_t *long_row; /* which, ascending */
    double *part;            /* SINGLE_WAVES of each */
    int held;                /* number of entries in registers */
    STORED held_value[SINGLE_HELD];
    int held_place[SINGLE_HELD];

    __device__ static inline csr_rows bring(const single_args &a, char *shared);
};

template <typename T>
__device__ static inline void copy_in(T *to, const T *from, int count)
{
    for (int k = (int)threadIdx.x; k < count; k += SINGLE_THREADS) {
        to[k] = gpu_load_once(from + k);
    }
}

/* Loads this thread's first entries into registers; the block's shared memory need not be filled yet. */
template <typename STORED>
__device__ static inline void hold_entries(const single_args &a, int first, csr_rows<STORED> *rows)
{
    const int row = (int)threadIdx.x / rows->lanes, lane = (int)threadIdx.x & (rows->lanes - 1);
    const int begin = row < rows->count ? a.plan.row_ptr[first + row] + lane : 0;
    const int end = row < rows->count ? a.plan.row_ptr[first + row + 1] : 0;

    rows->held = 0;
#pragma unroll
    for (int h = 0; h < SINGLE_HELD; h++) {
        const int k = begin + h * rows->lanes;

        rows->held_value[h] = STORED();
        rows->held_place[h] = 0;
        if (k < end) {
            rows->held_value[h] = ((const STORED *)a.val)[k];
            rows->held_place[h] = a.plan.place[k];
            rows->held = h + 1;
        }
    }
}

/* Lists the rows of this block with more than `longest` entries, and returns their number. The caller has a barrier
   before it reads the list. */
__device__ static inline int list_long_rows(const int32_t *row_ptr, int count, int longest, int32_t *list)
{
    __shared__ int longs;

    if (threadIdx.x == 0) { longs = 0; }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < count; i += SINGLE_THREADS) {
        if (row_ptr[i + 1] - row_ptr[i] > longest) { list[atomicAdd(&longs, 1)] = i; }
    }
    __syncthreads();
    if (threadIdx.x == 0) { /* always in the same order, so that the sums are too */
        for (int k = 1; k < longs; k++) {
            for (int j = k; j > 0 && list[j - 1] > list[j]; j--) {
                const int32_t later = list[j - 1];

                list[j - 1] = list[j];
                list[j] = later;
            }
        }
    }
    return longs;
}

/* Copies the rows of this block. The caller has a barrier before it uses them. */
template <typename STORED>
__device__ inline csr_rows<STORED> csr_rows<STORED>::bring(const single_args &a, char *shared)
{
    const int first = a.plan.row_begin[blockIdx.x], count = a.plan.row_begin[blockIdx.x + 1] - first;
    const int entry = a.plan.row_ptr[first], entries = a.plan.row_ptr[first + count] - entry;
    const STORED *val = (const STORED *)a.val + entry;
    const uint16_t *place = a.plan.place + entry;
    int32_t *offset = (int32_t *)(shared + a.at.offsets);
    __shared__ int32_t long_row[SINGLE_LONG_ROWS];
    const int usual = SINGLE_USUAL_ENTRIES * a.plan.lanes, share = entries / SINGLE_LONG_ROWS;
    const int longest = usual > share ? usual : share;

    for (int i = (int)threadIdx.x; i <= count; i += SINGLE_THREADS) {
        offset[i] = a.plan.row_ptr[first + i] - entry;
    }
    if (a.resident) {
        copy_in((STORED *)(shared + a.at.values), val, entries);
        copy_in((uint16_t *)(shared + a.at.places), place, entries);
        val = (const STORED *)(shared + a.at.values);
        place = (const uint16_t *)(shared + a.at.places);
    }
    csr_rows<STORED> rows = {val, place, offset, count, a.plan.lanes, longest};

    rows.longs = list_long_rows(a.plan.row_ptr + first, count, longest, long_row);
    rows.long_row = long_row;
    rows.part = (double *)(shared + a.at.parts);

    hold_entries(a, first, &rows);
    return rows;
}

template <typename STORED>
__device__ static inline double sum_held(const csr_rows<STORED> &a, const double *x)
{
    double sum = 0.0;

#pragma unroll
    for (int h = 0; h < SINGLE_HELD; h++) {
        if (h < a.held) { sum += tess::decode<double>(a.held_value[h]) * x[a.held_place[h]]; }
    }
    return sum;
}

/* The rows that multiply_rows leaves: each wave sums its share of them, and a thread for each row adds these sums. */
template <typename STORED, typename DONE>
__device__ static inline void multiply_long_rows(const csr_rows<STORED> &a, const double *x, DONE done)
{
    constexpr int WAVES = SINGLE_THREADS / GPU_WAVE, TOGETHER = 8;
    const int wave = (int)threadIdx.x / GPU_WAVE, own = (int)threadIdx.x;

    for (int r = 0; r < a.longs; r++) {
        const int end = a.offset[a.long_row[r] + 1];
        double sum = 0.0;

        for (int at = a.offset[a.long_row[r]] + (int)threadIdx.x; at < end; at += TOGETHER * SINGLE_THREADS) {
            STORED value[TOGETHER];
            int place[TOGETHER];

#pragma unroll
            for (int j = 0; j < TOGETHER; j++) { /* all loads at once: they may be from device memory */
                const int k = at + j * SINGLE_THREADS;

                value[j] = k < end ? a.val[k] : STORED();
                place[j] = k < end ? a.place[k] : 0;
            }
#pragma unroll
            for (int j = 0; j < TOGETHER; j++) {
                if (at + j * SINGLE_THREADS < end) { sum += tess::decode<double>(value[j]) * x[place[j]]; }
            }
        }
        sum = lanes_sum(sum, GPU_WAVE);
        if ((int)threadIdx.x % GPU_WAVE == 0) { a.part[r * WAVES + wave] = sum; }
    }
    __syncthreads();
    if (own < a.longs) {
        double sum = 0.0;

        for (int w = 0; w < WAVES; w++) {
            sum += a.part[own * WAVES + w];
        }
        done(a.long_row[own], sum);
    }
}

/* done(i, (A x)_i) for each row, by one thread, the same one in every product. x: at the block's columns. */
template <typename STORED, typename DONE>
__device__ static inline void multiply_rows(const csr_rows<STORED> &a, const double *x, DONE done)
{
    const int lane = (int)threadIdx.x & (a.lanes - 1), together = SINGLE_THREADS / a.lanes;

    for (int first = 0; first < a.count; first += together) {
        const int row = first + (int)threadIdx.x / a.lanes;
        double sum = 0.0;
        bool whole = row < a.count;

        if (first == 0) { sum = sum_held(a, x); }
        if (whole && (first > 0 || a.held == SINGLE_HELD)) {
            const int begin = a.offset[row], length = a.offset[row + 1] - begin;
            const int end = length <= a.longest ? begin + length : begin;

            whole = length <= a.longest;
#pragma unroll 4
            for (int k = begin + lane + (first == 0 ? SINGLE_HELD * a.lanes : 0); k < end; k += a.lanes) {
                sum += tess::decode<double>(a.val[k]) * x[a.place[k]];
            }
        }
        sum = lanes_sum(sum, a.lanes); /* the whole wave takes part */
        if (whole && lane == 0) { done(row, sum); }
    }
    if (a.longs > 0) { multiply_long_rows(a, x, done); }
}

#endif
