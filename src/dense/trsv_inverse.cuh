/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inverse of a lower triangular block in shared memory, by one thread block of GPU_BLOCK threads. Sixteen columns
 * at a time by substitution, then twice the 2 by 2 formula: [A 0; B C]^-1 = [A^-1 0; -C^-1 B A^-1 C^-1]. Accuracy: |L Y
 * - I| <= gamma(200) (|L||Y|)^3 for the computed Y (each level multiplies the bound by |L||Y|; Higham, Accuracy and
 * Stability of Numerical Algorithms, sections 8.1 and 14.2).
 */
#ifndef TESS_DENSE_TRSV_INVERSE_CUH
#define TESS_DENSE_TRSV_INVERSE_CUH

#include "dense/trsv.h"
#include "device/gpu/gpu.h"

/* Distance of rows in shared memory: even, so that pairs of a row are aligned, and no multiple of the banks. */
enum { TRSV_PITCH = TRSV_BLOCK + 2 };

template <typename T>
struct alignas(2 * sizeof(T)) trsv_pair {
    T first, second;
};

/* Columns (2p, 2p + 1) of a row in shared memory; p counts from the aligned address `row`. */
template <typename T>
__device__ static inline trsv_pair<T> pair_of(const T *row, int p)
{
    return reinterpret_cast<const trsv_pair<T> *>(row)[p];
}

/* Inverts the diagonal blocks of order 16, one column per thread of the first TRSV_BLOCK. The diagonal holds its own
   reciprocals already. */
template <typename T>
__device__ static inline void invert_small_blocks(T (*l)[TRSV_PITCH])
{
    enum { M = 16 };
    const int thread = static_cast<int>(threadIdx.x), base = thread / M * M, column = thread % M;
    T x[M];

    if (thread < TRSV_BLOCK) {
#pragma unroll
        for (int r = 0; r < M; r++) {
            x[r] = r == column ? T(1) : T(0);
        }
#pragma unroll
        for (int c = 0; c < M; c++) { /* x_c is known: subtract its share from the rows below */
            x[c] = c < column ? T(0) : x[c] * l[base + c][base + c];
#pragma unroll
            for (int r = c + 1; r < M; r++) {
                x[r] -= l[base + r][base + c] * x[c];
            }
        }
    }
    __syncthreads();
    if (thread < TRSV_BLOCK) {
#pragma unroll
        for (int r = 0; r < M; r++) {
            l[base + r][base + column] = x[r];
        }
    }
    __syncthreads();
}

/* sum over k of left[k] right[k][0] for a row and a column of order H */
template <typename T, int H>
__device__ static inline T row_times_column(const T *left, const T (*right)[TRSV_PITCH], int column)
{
    T even = T(0), odd = T(0);

#pragma unroll 4
    for (int p = 0; p < H / 2; p++) {
        const trsv_pair<T> two = pair_of(left, p);

        even += two.first * right[2 * p][column];
        odd += two.second * right[2 * p + 1][column];
    }
    return even + odd;
}

/* From inverses of order H on the diagonal to inverses of order 2 H. */
template <typename T, int H>
__device__ static inline void join_inverses(T (*l)[TRSV_PITCH])
{
    enum { COUNT = TRSV_BLOCK / (2 * H) * H * H / GPU_BLOCK }; /* elements of B per thread */
    T value[COUNT];

#pragma unroll 1
    for (int step = 0; step < 2; step++) { /* B A^-1, then -C^-1 times that */
#pragma unroll
        for (int s = 0; s < COUNT; s++) {
            const int index = static_cast<int>(threadIdx.x) + s * GPU_BLOCK;
            const int base = index / (H * H) * 2 * H, row = index / H % H, column = base + index % H;

            value[s] = step == 0 ? row_times_column<T, H>(&l[base + H + row][base], l + base, column)
                                 : -row_times_column<T, H>(&l[base + H + row][base + H], l + base + H, column);
        }
        __syncthreads();
#pragma unroll
        for (int s = 0; s < COUNT; s++) {
            const int index = static_cast<int>(threadIdx.x) + s * GPU_BLOCK;
            const int base = index / (H * H) * 2 * H, row = index / H % H, column = base + index % H;

            l[base + H + row][column] = value[s];
        }
        __syncthreads();
    }
}

/* L, zero above its diagonal, becomes its inverse. All threads of the block call it; no other code may touch l
   meanwhile. */
template <typename T>
__device__ static inline void invert_lower(T (*l)[TRSV_PITCH])
{
    static_assert(TRSV_BLOCK == 64 && GPU_BLOCK == 256, "16 by 16 blocks joined twice");
    const int thread = static_cast<int>(threadIdx.x);

    __syncthreads();
    if (thread < TRSV_BLOCK) { l[thread][thread] = T(1) / l[thread][thread]; }
    __syncthreads();
    invert_small_blocks<T>(l);
    join_inverses<T, 16>(l);
    join_inverses<T, 32>(l);
}

#endif
