/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Y := alpha A X + beta Y on a GPU. A thread keeps the sums of a few neighbouring rows in registers and goes through
 * its columns, with one wide load each. The coefficients (alpha, scales and X together) are in shared memory. Compiled
 * separately for each precision of A.
 */
#include "dense/gemv_device.cuh"
#include "device/gpu/storage_types.cuh"

namespace {

/* Coefficients that are in shared memory at once. */
enum { COLUMNS = 512 };

/* Columns in flight: 64 bytes per thread, at most 8 loads. */
template <typename S, int V>
constexpr int columns_in_flight()
{
    constexpr int fitting = 64 / (V * static_cast<int>(sizeof(S)));

    return fitting < 8 ? fitting : 8;
}

template <typename S, typename T, int V, int NV>
__device__ inline void add_column(const tess::pack<S, V> &from, int c, const T (&coefficient)[NV][COLUMNS],
                                  T (&sum)[NV][V])
{
    T value[V];

    tess::decode_pack(from, value);
    TESS_UNROLL
    for (int k = 0; k < NV; k++) {
        const T factor = coefficient[k][c];

        TESS_UNROLL
        for (int v = 0; v < V; v++) {
            sum[k][v] += factor * value[v];
        }
    }
}

/* The last columns of a range, fewer than 2 N: N of them if possible, then half as many, and so on. */
template <int N, typename S, typename T, int V, int NV>
__device__ inline void add_last_columns(const S *column, int64_t ld, int c, int end,
                                        const T (&coefficient)[NV][COLUMNS], T (&sum)[NV][V])
{
    if (c + N <= end) {
        tess::pack<S, V> packs[N];

        gemv_load_columns(column, ld, packs);
        TESS_UNROLL
        for (int u = 0; u < N; u++) {
            add_column(packs[u], c + u, coefficient, sum);
        }
        c += N;
        column += N * ld;
    }
    if constexpr (N > 1) { add_last_columns<N / 2>(column, ld, c, end, coefficient, sum); }
}

/* Columns 0 .. count - 1 of `rows` (the thread's first row): every groups-th batch, beginning with batch `group`. */
template <typename S, typename T, int V, int NV>
__device__ inline void add_columns(const S *rows, int64_t ld, int group, int groups, int count,
                                   const T (&coefficient)[NV][COLUMNS], T (&sum)[NV][V])
{
    constexpr int N = columns_in_flight<S, V>();
    const S *column = rows + static_cast<int64_t>(group) * N * ld;
    int c = group * N;

    for (; c + N <= count; c += groups * N, column += static_cast<int64_t>(groups) * N * ld) {
        tess::pack<S, V> packs[N];

        gemv_load_columns(column, ld, packs);
        TESS_UNROLL
        for (int u = 0; u < N; u++) {
            add_column(packs[u], c + u, coefficient, sum);
        }
    }
    if constexpr (N > 1) { /* one group has a batch that is not full */
        if (c < count) { add_last_columns<N / 2>(column, ld, c, count, coefficient, sum); }
    }
}

/* The same for a thread with fewer than V rows: the last rows of A. */
template <typename S, typename T, int V, int NV>
__device__ inline void add_columns_ragged(const S *rows, int valid, int64_t ld, int group, int groups, int count,
                                          const T (&coefficient)[NV][COLUMNS], T (&sum)[NV][V])
{
    constexpr int N = columns_in_flight<S, V>();

    for (int c = 0; c < count; c++) {
        tess::pack<S, V> one = {};

        if (c / N % groups != group) { continue; }
        TESS_UNROLL
        for (int v = 0; v < V; v++) {
            if (v < valid) { one.value[v] = gpu_load_once(rows + c * ld + v); }
        }
        add_column(one, c, coefficient, sum);
    }
}

/* Adds the sums of a tile's rows over the block's groups of threads, group by group, and stores the result. */
template <typename T, int V, int NV>
__device__ inline void emit_rows(const gemv_task &task, int64_t first_row, int64_t part, const T (&sum)[NV][V])
{
    __shared__ T shared_sum[GPU_BLOCK * V];
    const int rows = task.plan.row_threads * V, thread = static_cast<int>(threadIdx.x);
    const int64_t left = task.g.a.nrows - first_row;

    TESS_UNROLL
    for (int k = 0; k < NV; k++) {
        __syncthreads();
        TESS_UNROLL
        for (int v = 0; v < V; v++) {
            shared_sum[thread * V + v] = sum[k][v];
        }
        __syncthreads();
        for (int r = thread; r < rows && r < left; r += GPU_BLOCK) {
            T total = shared_sum[r];

            for (int other = r + rows; other < GPU_BLOCK * V; other += rows) {
                total += shared_sum[other];
            }
            gemv_emit(task, part, first_row + r, k, total);
        }
    }
}

/* Computes coefficients for the columns from `begin` to the end of the range, or as many as fit; returns their number.
 */
template <typename T, int NV>
__device__ inline int stage_coefficients(const gemv_task &task, int64_t begin, T (&coefficient)[NV][COLUMNS])
{
    const int64_t end = min((begin / task.plan.columns + 1) * task.plan.columns, task.g.a.ncols);
    const int count = static_cast<int>(min(end - begin, static_cast<int64_t>(COLUMNS)));

    __syncthreads();
#pragma unroll 1
    for (int e = static_cast<int>(threadIdx.x); e < count * NV; e += GPU_BLOCK) {
        const int k = e / count, c = e - k * count;

        coefficient[k][c] = static_cast<T>(gemv_coefficient(&task.g, begin + c, k));
    }
    __syncthreads();
    return count;
}

/* The rows of one tile times the columns of one range. If all its coefficients fit, they are already in shared memory.
 */
template <typename S, typename T, int V, int NV>
__device__ inline void multiply_tile(const gemv_task &task, int tile, int range, T (&coefficient)[NV][COLUMNS])
{
    const gemv_plan &plan = task.plan;
    const int64_t first_row = tile * plan.rows, nrows = task.g.a.nrows, ld = task.g.a.ld;
    const int thread = static_cast<int>(threadIdx.x), group = thread / plan.row_threads;
    const int64_t row = first_row + static_cast<int64_t>(thread % plan.row_threads) * V;
    const int64_t end = min(plan.columns * (range + 1), task.g.a.ncols);
    T sum[NV][V] = {};

    for (int64_t begin = range * plan.columns; begin < end; begin += COLUMNS) {
        const S *rows = static_cast<const S *>(task.g.a.data) + begin * ld + row;
        int count = static_cast<int>(min(end - begin, static_cast<int64_t>(COLUMNS)));

        if (plan.columns > COLUMNS) { count = stage_coefficients(task, begin, coefficient); }
        if (row + V <= nrows) {
            add_columns(rows, ld, group, plan.groups, count, coefficient, sum);
        } else if (row < nrows) {
            add_columns_ragged(rows, static_cast<int>(nrows - row), ld, group, plan.groups, count, coefficient, sum);
        }
    }
    emit_rows<T, V, NV>(task, first_row, range, sum);
}

template <typename S, typename T, int V, int NV>
__global__ void GPU_LAUNCH_BOUNDS(GPU_BLOCK, GEMV_BLOCKS) multiply_rows(const gemv_task task)
{
    __shared__ T coefficient[NV][COLUMNS];
    const gemv_plan &plan = task.plan;
    const unsigned blocks = static_cast<unsigned>(plan.row_blocks);
    const int range = static_cast<int>(blockIdx.x / blocks);
    int tile = static_cast<int>(blockIdx.x % blocks);

    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    if (plan.columns <= COLUMNS) { stage_coefficients(task, plan.columns * range, coefficient); }
    for (; tile < plan.row_tiles; tile += plan.row_blocks) {
        multiply_tile<S, T, V, NV>(task, tile, range, coefficient);
    }
}

template <typename S, typename T, int NV>
struct rows_family {
    /* 16 bytes, if a thread then has at most 4 sums. */
    static constexpr int in_load = 16 / static_cast<int>(sizeof(S));
    static constexpr int in_sums = 4 / NV;
    static constexpr int width = in_load < in_sums ? in_load : in_sums;

    template <int V>
    static auto kernel()
    {
        return multiply_rows<S, T, V, NV>;
    }
};

} // namespace

template <typename S>
gemv_choice gemv_choose_rows(const tess_gemv_args &g)
{
    return gemv_choose_arithmetic<rows_family, S>(g);
}

#define CHOOSE(S) template gemv_choice gemv_choose_rows<S>(const tess_gemv_args &);
STORED_TYPES(CHOOSE)
#undef CHOOSE
