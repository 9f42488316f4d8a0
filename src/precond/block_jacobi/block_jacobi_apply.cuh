/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of block Jacobi on the GPU. Inverses are read once, and the time is that of reading them. A block of
 * threads copies a tile, which is some neighbouring diagonal blocks, to shared memory in words of 16 bytes, and r with
 * it. Each thread then sums a few rows, or a part of their columns; at last each thread adds the parts of a row and
 * writes z.
 */
#ifndef TESS_PRECOND_BLOCK_JACOBI_BLOCK_JACOBI_APPLY_CUH
#define TESS_PRECOND_BLOCK_JACOBI_BLOCK_JACOBI_APPLY_CUH

#include "device/gpu/reduce.cuh"
#include "device/gpu/storage_types.cuh"
#include "precond/block_jacobi/block_storage.h"

/* Most bytes and rows of a tile (a larger diagonal block is a tile by itself); blocks on a multiprocessor; fewest
   columns of a part. */
enum { TILE_BYTES = 16384, TILE_ROWS = 1024, APPLY_BLOCKS = 8, PART_COLUMNS = 4, WORD = 16 };

struct apply_task {
    tess_block_diagonal m;
    const void *r;
    void *z;
    tess_precision vectors;
    int tile;  /* diagonal blocks of a tile */
    int parts; /* threads that share the columns of a row */
    int64_t tile_bytes;
    tess_reduction reduction;
    loop_predicate predicate;
    reduce_target target;
};

/* A tile in shared memory. */
template <typename T>
struct open_tile {
    int64_t first; /* block */
    int count;     /* blocks */
    const char *blocks;
    T *x;
    T *sums; /* [part][row] */
};

/* ---- rows in and out ---- */

template <typename T>
__device__ static inline T read_row(const apply_task &task, int64_t row)
{
    return task.vectors == TESS_PRECISION_FP64 ? static_cast<T>(static_cast<const double *>(task.r)[row])
                                               : static_cast<T>(static_cast<const float *>(task.r)[row]);
}

/* The scale is applied in FP64: the sum times it may be out of FP32's range. */
template <typename T>
__device__ static inline void write_row(const apply_task &task, int64_t row, int64_t block, T sum, double (&dots)[2])
{
    const double value = static_cast<double>(sum) * block_scale(&task.m, block);

    if (task.vectors == TESS_PRECISION_FP32) {
        static_cast<float *>(task.z)[row] = static_cast<float>(value);
        return;
    }
    static_cast<double *>(task.z)[row] = value;
    TESS_UNROLL
    for (int d = 0; d < 2; d++) {
        if (d < task.reduction.ndots) {
            const double *with = task.reduction.with[d];

            dots[d] += value * (with == task.z ? value : with[row]);
        }
    }
}

__device__ static inline bool enter(const apply_task &task)
{
    tess_scalars scalars;

    return loop_enter<false>(task.predicate, task.reduction.ndots > 0, &scalars);
}

__device__ static inline void reduce_dots(const apply_task &task, double (&dots)[2])
{
    double one[1] = {dots[0]};

    if (task.reduction.ndots == 2) {
        grid_reduce(dots, task.target);
    } else if (task.reduction.ndots == 1) {
        grid_reduce(one, task.target);
    }
}

/* ---- a tile ---- */

/* Copies the tile's inverses; returns where in `workspace` they begin. */
__device__ static inline const char *stage_blocks(const tess_block_diagonal &m, int64_t first, int count,
                                                  char *workspace)
{
    const char *from = block_place(&m, first);
    const char *end = m.places ? m.places[first + count] : from + count * block_bytes(&m, m.storage);
    const int skew = static_cast<int>(reinterpret_cast<uintptr_t>(from) % WORD);
    const int words = static_cast<int>((end - from + skew + WORD - 1) / WORD);
    const uint4 *source = reinterpret_cast<const uint4 *>(from - skew);

#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < words; i += GPU_BLOCK) {
        reinterpret_cast<uint4 *>(workspace)[i] = gpu_load_once(source + i);
    }
    return workspace + skew;
}

template <typename T>
__device__ static inline open_tile<T> stage_tile(const apply_task &task, int64_t first, char *workspace)
{
    const int64_t nblocks = block_count(&task.m), left = nblocks - first;
    const int k = task.m.block_size, count = left < task.tile ? static_cast<int>(left) : task.tile;
    T *x = reinterpret_cast<T *>(workspace + task.tile_bytes);

    for (int i = static_cast<int>(threadIdx.x); i < count * k; i += GPU_BLOCK) {
        const int64_t row = first * k + i;

        x[i] = row < task.m.n ? read_row<T>(task, row) : T(0);
    }
    return {first, count, stage_blocks(task.m, first, count, workspace), x, x + task.tile * k};
}

/* V rows of one diagonal block times its columns begin .. end - 1, the first of them `j`. */
template <int V, typename S, typename T>
__device__ static inline void add_columns(const S *rows, int k, const T *x, int begin, int end, int j, T (&sum)[V])
{
#pragma unroll 4
    for (int c = begin; c < end; c++) {
        const T factor = x[j];
        T value[V];

        tess::decode_pack(tess::load_pack<V>(rows + j * k), value);
        TESS_UNROLL
        for (int v = 0; v < V; v++) {
            sum[v] += factor * value[v];
        }
        j = j + 1 == end ? begin : j + 1;
    }
}

/* Neighbouring diagonal blocks begin with different columns, because the same columns might all be in the same banks.
 */
template <typename BLOCKS, typename T>
__device__ static inline void sum_tile(const apply_task &task, const open_tile<T> &t)
{
    constexpr int V = BLOCKS::rows;
    const int k = task.m.block_size, parts = task.parts, packs = k / V, items = t.count * packs;

    for (int item = static_cast<int>(threadIdx.x); item < items * parts; item += GPU_BLOCK) {
        const int part = item / items, rest = item - part * items, block = rest / packs;
        const int row = (rest - block * packs) * V, begin = part * k / parts, end = (part + 1) * k / parts;
        T sum[V] = {};

        BLOCKS::add(task, t, block, row, begin, end, begin + block % (end - begin), sum);
        TESS_UNROLL
        for (int v = 0; v < V; v++) {
            t.sums[(part * t.count + block) * k + row + v] = sum[v];
        }
    }
}

template <typename T>
__device__ static inline void write_tile(const apply_task &task, const open_tile<T> &t, double (&dots)[2])
{
    const int k = task.m.block_size, rows = t.count * k;

    for (int i = static_cast<int>(threadIdx.x); i < rows; i += GPU_BLOCK) {
        const int64_t row = t.first * k + i;
        T sum = t.sums[i];

        if (row >= task.m.n) { break; }
        for (int part = 1; part < task.parts; part++) {
            sum += t.sums[part * rows + i];
        }
        write_row(task, row, t.first + i / k, sum, dots);
    }
}

template <typename BLOCKS, typename T>
__global__ static void __launch_bounds__(GPU_BLOCK) apply_blocks(const apply_task task)
{
    extern __shared__ uint4 tile_workspace[];
    const int64_t nblocks = block_count(&task.m), step = static_cast<int64_t>(gridDim.x) * task.tile;
    double dots[2] = {};

    if (!enter(task)) { return; }
    for (int64_t first = static_cast<int64_t>(blockIdx.x) * task.tile; first < nblocks; first += step) {
        const open_tile<T> t = stage_tile<T>(task, first, reinterpret_cast<char *>(tile_workspace));

        __syncthreads();
        sum_tile<BLOCKS>(task, t);
        __syncthreads(); /* no thread reads inverses and x from here on, so that the next tile may overwrite them */
        write_tile(task, t, dots);
    }
    reduce_dots(task, dots);
}

/* ---- which kernel ---- */

struct apply_choice {
    void (*kernel)(const apply_task task);
    int rows; /* of a thread */
};

/* For diagonal blocks of k rows whose inverses are all of type S (block_jacobi_stored_device.cu). */
template <typename S>
apply_choice block_jacobi_kernel(int k, bool fp32);

#endif
