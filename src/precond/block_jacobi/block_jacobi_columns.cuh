/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block Jacobi for several columns on the GPU, in FP64 arithmetic. Neighbouring threads share a row, each with V
 * neighbouring columns: they read an entry of an inverse together, and what belongs to it of r side by side, 16 bytes
 * at a time. The rows of a diagonal block read the same of r, which the caches hold. A sum is in the order of the
 * block's columns.
 */
#ifndef TESS_PRECOND_BLOCK_JACOBI_BLOCK_JACOBI_COLUMNS_CUH
#define TESS_PRECOND_BLOCK_JACOBI_BLOCK_JACOBI_COLUMNS_CUH

#include "device/gpu/columns.cuh"
#include "device/gpu/storage_types.cuh"
#include "precond/block_jacobi/block_storage.h"

enum { BLOCK_COLUMNS_BLOCKS = 4 }; /* on a multiprocessor */

struct block_columns_task {
    tess_block_diagonal m;
    const double *r;
    double *z;
    int columns;
};

typedef void (*block_columns_kernel)(const block_columns_task);

/* sum += a row of a diagonal block, `k` entries apart, times V columns of x. */
template <int V, typename S>
__device__ static inline void add_block_row(const S *row, int k, int count, const double *x, int columns,
                                            double (&sum)[V])
{
#pragma unroll 4
    for (int j = 0; j < count; j++) {
        const double value = tess::decode<double>(row[j * k]);
        const columns_pack<double, V> factor = pack_at<V>(x + static_cast<int64_t>(j) * columns);

        TESS_UNROLL
        for (int w = 0; w < V; w++) {
            sum[w] += value * factor.value[w];
        }
    }
}

/* BLOCKS::add finds the row of a diagonal block, and adds it as above. */
template <typename BLOCKS, int V>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, BLOCK_COLUMNS_BLOCKS)
    apply_block_columns(const block_columns_task task)
{
    const int k = task.m.block_size, threads = task.columns / V;
    const int64_t step = static_cast<int64_t>(gridDim.x) * GPU_BLOCK;

    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    for (int64_t t = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; t < task.m.n * threads; t += step) {
        const int64_t row = t / threads, block = row / k, first = block * k;
        const int c = static_cast<int>(t % threads) * V;
        const double scale = block_scale(&task.m, block);
        columns_pack<double, V> out;
        double sum[V] = {};

        BLOCKS::template add<V>(task.m, block, static_cast<int>(row - first), task.r + first * task.columns + c,
                                task.columns, sum);
        TESS_UNROLL
        for (int w = 0; w < V; w++) {
            out.value[w] = sum[w] * scale;
        }
        *reinterpret_cast<columns_pack<double, V> *>(task.z + row * task.columns + c) = out;
    }
}

/* With inverses of type S; `packs`: of COLUMNS_EACH columns a thread (block_jacobi_stored_device.cu). */
template <typename S>
block_columns_kernel block_jacobi_columns_kernel(bool packs);

#endif
