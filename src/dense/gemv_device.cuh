/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense matrix-vector products on a GPU: shared code of the kernels for A and for its transpose. Each kernel is a
 * template over A's storage, the arithmetic, the values per load and the number of columns of Y. X and Y are decoded by
 * a switch outside the loops over A, which is the same for all threads.
 */
#ifndef TESS_DENSE_GEMV_DEVICE_CUH
#define TESS_DENSE_GEMV_DEVICE_CUH

#include <tessera/storage.cuh>

#include "dense/gemv.h"
#include "device/gpu/gpu.h"

/*
 * How a product is distributed over blocks: block b has row tile b % row_blocks (and every row_blocks-th after it) and
 * column range b / row_blocks. If several blocks add to one element of Y, each stores its part in memory and a second
 * kernel adds the parts in order. The plan, and so the bits of the result, depend only on shape, storage and device.
 */
struct gemv_plan {
    int64_t row_blocks;             /* row_tiles, or fewer */
    int64_t row_tiles, rows;        /* rows: of a tile */
    int64_t column_ranges, columns; /* columns: of a range */
    int64_t parts;                  /* row_tiles or column_ranges: parts of an element of Y */
    /* A itself: groups of threads with columns of their own; within a group, threads with rows of their own */
    int groups, row_threads;
};

struct gemv_task {
    tess_gemv_args g;
    gemv_plan plan;
    void *parts; /* in the arithmetic precision; NULL if there is one part */
};

/* Blocks wanted on each multiprocessor: as many as the registers of the kernel allow. */
enum { GEMV_BLOCKS = 4 };

/* Transposed: values of X in shared memory, for both columns; the fewest columns for which loading X pays. */
enum { GEMV_SHARED_X = 4096, GEMV_FEWEST_COLUMNS = 32 };

/* Parts are stored so that the second kernel reads neighbours: for A [part][column of Y][row], transposed [column of
   Y][row][part]. */
__host__ __device__ static inline int64_t gemv_part_at(const gemv_task &task, int64_t part, int k, int64_t i)
{
    return task.g.operation == TESS_OP_TRANSPOSE ? (k * task.g.y.nrows + i) * task.plan.parts + part
                                                 : (part * task.g.y.ncols + k) * task.g.y.nrows + i;
}

/* Stores a block's sum for element i of column k: the result, or its part of the result. */
template <typename T>
__device__ static inline void gemv_emit(const gemv_task &task, int64_t part, int64_t i, int k, T sum)
{
    if (task.plan.parts > 1) {
        static_cast<T *>(task.parts)[gemv_part_at(task, part, k, i)] = sum;
    } else {
        gemv_store(&task.g, i, k, static_cast<double>(sum));
    }
}

/* The first N columns (or fewer) from `column` on, V rows of each. All loads come before the first use. */
template <typename S, int V, int N>
__device__ static inline void gemv_load_columns(const S *column, int64_t ld, tess::pack<S, V> (&packs)[N])
{
    TESS_UNROLL
    for (int u = 0; u < N; u++) {
        packs[u] = gpu_load_once(reinterpret_cast<const tess::pack<S, V> *>(column + u * ld));
    }
}

static inline int64_t gemv_divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t gemv_round_up(int64_t a, int64_t to)
{
    return gemv_divide_up(a, to) * to;
}

static inline int64_t gemv_between(int64_t value, int64_t low, int64_t high)
{
    return value < low || high < low ? low : value > high ? high : value;
}

/* A kernel, and the values per load. */
struct gemv_choice {
    void (*kernel)(const gemv_task task);
    int width;
};

/* Wide loads need columns that all begin at a multiple of the load's width. */
static inline bool gemv_loads_wide(const tess_dense_view &a, int width)
{
    const int64_t bytes = width * static_cast<int64_t>(tess_storage_bytes(a.precision));

    return reinterpret_cast<uintptr_t>(a.data) % static_cast<uintptr_t>(bytes) == 0 &&
           (a.ncols < 2 || a.ld % width == 0);
}

/* FAMILY<S, T, NV> has the width of wide loads and, for a width V, kernel<V>(). */
template <typename FAMILY>
static gemv_choice gemv_choose_width(const tess_gemv_args &g)
{
    if (gemv_loads_wide(g.a, FAMILY::width)) { return {FAMILY::template kernel<FAMILY::width>(), FAMILY::width}; }
    return {FAMILY::template kernel<1>(), 1};
}

template <template <typename, typename, int> class FAMILY, typename S>
static gemv_choice gemv_choose_arithmetic(const tess_gemv_args &g)
{
    if (g.arithmetic == TESS_ARITHMETIC_FP32) {
        return g.y.ncols == 2 ? gemv_choose_width<FAMILY<S, float, 2>>(g) : gemv_choose_width<FAMILY<S, float, 1>>(g);
    }
    return g.y.ncols == 2 ? gemv_choose_width<FAMILY<S, double, 2>>(g) : gemv_choose_width<FAMILY<S, double, 1>>(g);
}

/* For A stored as S: A itself, and A transposed (gemv_rows_stored_device.cu, gemv_columns_stored_device.cu). */
template <typename S>
gemv_choice gemv_choose_rows(const tess_gemv_args &g);
template <typename S>
gemv_choice gemv_choose_columns(const tess_gemv_args &g);

#endif
