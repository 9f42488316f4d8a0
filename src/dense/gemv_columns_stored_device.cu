/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Y := alpha A^T X + beta Y on a GPU. A block keeps X of its rows in shared memory, in the arithmetic precision. A
 * thread keeps the sums of a few columns in registers while it goes down the rows; the waves then add their sums in
 * shared memory. Compiled separately for each precision of A.
 */
#include "dense/gemv_device.cuh"
#include "device/gpu/storage_types.cuh"
#include "device/gpu/wave_sums.cuh"

namespace {

enum {
    ROWS = GEMV_SHARED_X,
    PANEL = 32, /* columns whose sums the waves add together at once */
    WAVES = GPU_BLOCK / GPU_WAVE,
    IN_FLIGHT = 64, /* bytes of A per thread, in at most MAX_LOADS loads */
    MAX_LOADS = 8
};

/* Columns whose sums a thread keeps at once. Decoding narrow storage to FP64 needs additional registers. */
template <typename S, typename T, int NV>
constexpr int columns_at_once()
{
    return (sizeof(S) < 4 && sizeof(T) == 8 ? 4 : 8) / NV;
}

/* Values of X per load from shared memory: at most 16 bytes. */
template <typename T, int V>
constexpr int unit()
{
    constexpr int fitting = 16 / static_cast<int>(sizeof(T));

    return V < fitting ? V : fitting;
}

/*
 * The place of X(r) of a block's row r in the shared array. Thread t multiplies rows t V .. t V + V - 1 of every step
 * of GPU_BLOCK V rows. Its values are stored in units, and units of neighbouring threads are adjacent, so that there
 * are no bank conflicts.
 */
template <typename T, int V>
__device__ inline int place_of(int r)
{
    constexpr int STEP = GPU_BLOCK * V, U = unit<T, V>();
    const int in_step = r % STEP, thread = in_step / V, v = in_step % V;

    return r - in_step + (v / U * GPU_BLOCK + thread) * U + v % U;
}

template <tess_precision PRECISION, typename T, int V>
__device__ inline void load_x_stored(const tess_dense_view &x, int64_t at, int count, T *to)
{
#pragma unroll 8
    for (int r = static_cast<int>(threadIdx.x); r < count; r += GPU_BLOCK) {
        if constexpr (sizeof(T) == 4) {
            to[place_of<T, V>(r)] = tess_load_float(PRECISION, x.data, at + r);
        } else {
            to[place_of<T, V>(r)] = tess_load(PRECISION, x.data, at + r);
        }
    }
}

/* Copies `count` rows of X, from element `at` on, to shared memory. */
template <typename T, int V>
__device__ inline void load_x(const tess_dense_view &x, int64_t at, int count, T *to)
{
    gpu_call_by_storage(
        x.precision,
        [](auto stored, auto &...arguments) { load_x_stored<decltype(stored)::precision, T, V>(arguments...); }, x, at,
        count, to);
}

/* The V values of X(:, k) that the thread needs in a step; step: its first row. */
template <typename T, int V>
__device__ inline void load_factors(const T *x, int step, T (&factor)[V])
{
    constexpr int U = unit<T, V>();

    TESS_UNROLL
    for (int q = 0; q < V / U; q++) {
        const tess::pack<T, U> some =
            *reinterpret_cast<const tess::pack<T, U> *>(x + step + (q * GPU_BLOCK + static_cast<int>(threadIdx.x)) * U);

        TESS_UNROLL
        for (int e = 0; e < U; e++) {
            factor[q * U + e] = some.value[e];
        }
    }
}

/* sum[k * N + u] += packs[u] times X(:, k), for the V rows of one step. */
template <int N, typename S, typename T, int V, int NV>
__device__ inline void add_step(const tess::pack<S, V> (&packs)[N], const T *x, int step, T (&sum)[NV * N])
{
    T factor[NV][V];

    TESS_UNROLL
    for (int k = 0; k < NV; k++) {
        load_factors(x + k * (ROWS / NV), step, factor[k]);
    }
    TESS_UNROLL
    for (int u = 0; u < N; u++) {
        T value[V];

        tess::decode_pack(packs[u], value);
        TESS_UNROLL
        for (int k = 0; k < NV; k++) {
            TESS_UNROLL
            for (int v = 0; v < V; v++) {
                sum[k * N + u] += value[v] * factor[k][v];
            }
        }
    }
}

/* The last rows of A, fewer than V: row r and those after it. */
template <int N, typename S, typename T, int V, int NV>
__device__ inline void add_ragged(const S *column, int64_t ld, const T *x, int r, int count, T (&sum)[NV * N])
{
#pragma unroll 1
    for (; r < count; r++) {
        TESS_UNROLL
        for (int u = 0; u < N; u++) {
            const T value = tess::decode<T>(gpu_load_once(column + u * ld + r));

            TESS_UNROLL
            for (int k = 0; k < NV; k++) {
                sum[k * N + u] += value * x[k * (ROWS / NV) + place_of<T, V>(r)];
            }
        }
    }
}

/* Steps whose loads of N columns are in flight at the same time. */
template <typename S, int V, int N>
constexpr int steps_ahead()
{
    constexpr int by_bytes = IN_FLIGHT / (N * V * static_cast<int>(sizeof(S))), by_loads = MAX_LOADS / N;
    constexpr int fewer = by_bytes < by_loads ? by_bytes : by_loads;

    return fewer > 1 ? fewer : 1;
}

/* Sums of N columns over the block's rows 0 .. count - 1. Each wave adds its own share, to found[k * PANEL] and on. All
   threads of a wave must call it together. */
template <int N, typename S, typename T, int V, int NV>
__device__ inline void sum_columns(const S *column, int64_t ld, const T *x, int count, T *found)
{
    constexpr int STEP = GPU_BLOCK * V, AHEAD = steps_ahead<S, V, N>();
    const int lane = static_cast<int>(threadIdx.x) % GPU_WAVE, own = static_cast<int>(threadIdx.x) * V;
    T sum[NV * N] = {};
    int step = 0;

    for (; step + (AHEAD - 1) * STEP + own + V <= count; step += AHEAD * STEP) {
        tess::pack<S, V> packs[AHEAD][N];

        TESS_UNROLL
        for (int a = 0; a < AHEAD; a++) {
            gemv_load_columns(column + step + a * STEP + own, ld, packs[a]);
        }
        TESS_UNROLL
        for (int a = 0; a < AHEAD; a++) {
            add_step<N, S, T, V, NV>(packs[a], x, step + a * STEP, sum);
        }
    }
    if constexpr (AHEAD > 1) {
        for (; step + own + V <= count; step += STEP) {
            tess::pack<S, V> packs[N];

            gemv_load_columns(column + step + own, ld, packs);
            add_step<N, S, T, V, NV>(packs, x, step, sum);
        }
    }
    if constexpr (V > 1) { add_ragged<N, S, T, V, NV>(column, ld, x, step + own, count, sum); }
    {
        const T total = wave_sums<GPU_WAVE / 2>(sum, lane);
        constexpr int SHARING = GPU_WAVE / (NV * N); /* threads that share a sum */
        const int number = lane / SHARING;

        if (lane % SHARING == 0) { found[number / N * PANEL + number % N] = total; }
    }
}

/* `width` columns: N at once while possible, then half as many, and so on. */
template <int N, typename S, typename T, int V, int NV>
__device__ inline void sum_panel(const S *column, int64_t ld, int width, const T *x, int count, T *found)
{
    for (; width >= N; width -= N, column += N * ld, found += N) {
        sum_columns<N, S, T, V, NV>(column, ld, x, count, found);
    }
    if constexpr (N > 1) { sum_panel<N / 2, S, T, V, NV>(column, ld, width, x, count, found); }
}

template <typename S, typename T, int V, int NV>
__global__ void GPU_LAUNCH_BOUNDS(GPU_BLOCK, GEMV_BLOCKS) multiply_columns(const gemv_task task)
{
    alignas(16) __shared__ T x[ROWS];
    __shared__ T found[2][WAVES][NV * PANEL];
    const gemv_plan &plan = task.plan;
    const unsigned tiles = static_cast<unsigned>(plan.row_tiles);
    const int tile = static_cast<int>(blockIdx.x % tiles), range = static_cast<int>(blockIdx.x / tiles);
    const int64_t first_row = tile * plan.rows, ld = task.g.a.ld;
    const int64_t first_column = plan.columns * range;
    /* Columns of the range. A memory that holds A has no space for 2^31 columns in one range. */
    const int columns = static_cast<int>(min(plan.columns, task.g.a.ncols - first_column));
    const int count = static_cast<int>(min(task.g.a.nrows - first_row, plan.rows));
    const int thread = static_cast<int>(threadIdx.x), wave = thread / GPU_WAVE;
    int turn = 0;

    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    TESS_UNROLL
    for (int k = 0; k < NV; k++) {
        load_x<T, V>(task.g.x, first_row + k * task.g.x.ld, count, x + k * (ROWS / NV));
    }
    __syncthreads();
    for (int begin = 0; begin < columns; begin += PANEL) {
        const int width = min(columns - begin, static_cast<int>(PANEL));
        const S *column = static_cast<const S *>(task.g.a.data) + (first_column + begin) * ld + first_row;

        sum_panel<columns_at_once<S, T, NV>(), S, T, V, NV>(column, ld, width, x, count, found[turn][wave]);
        /* The next panel uses the other copy, so that no thread waits for one that is still adding here. */
        __syncthreads();
        for (int e = thread; e < NV * PANEL; e += GPU_BLOCK) {
            const int k = e / PANEL, c = e % PANEL;
            T total = 0;

            if (c >= width) { continue; }
            for (int w = 0; w < WAVES; w++) {
                total += found[turn][w][e];
            }
            gemv_emit(task, tile, first_column + begin + c, k, total);
        }
        turn = 1 - turn;
    }
}

template <typename S, typename T, int NV>
struct columns_family {
    /* 16 bytes, if a thread then needs at most 32 bytes of X at once. */
    static constexpr int in_load = 16 / static_cast<int>(sizeof(S));
    static constexpr int in_x = 32 / (NV * static_cast<int>(sizeof(T)));
    static constexpr int width = in_load < in_x ? in_load : in_x;

    template <int V>
    static auto kernel()
    {
        return multiply_columns<S, T, V, NV>;
    }
};

} // namespace

template <typename S>
gemv_choice gemv_choose_columns(const tess_gemv_args &g)
{
    return gemv_choose_arithmetic<columns_family, S>(g);
}

#define CHOOSE(S) template gemv_choice gemv_choose_columns<S>(const tess_gemv_args &);
STORED_TYPES(CHOOSE)
#undef CHOOSE
