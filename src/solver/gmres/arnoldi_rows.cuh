/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's work on its rows of the Krylov basis and of vectors: loads, projections, corrections, and the sums of a
   block. */
#ifndef TESS_SOLVER_GMRES_ARNOLDI_ROWS_CUH
#define TESS_SOLVER_GMRES_ARNOLDI_ROWS_CUH

#include "device/gpu/reduce.cuh"
#include "device/gpu/storage_types.cuh"
#include "device/gpu/wave_sums.cuh"
#include "solver/gmres/hessenberg.h"

enum {
    ROW_BYTES = 8, /* bytes of a column that a thread processes at once, but ... */
    MAX_ROWS = 4,  /* ... at most so many values */
    ONCE = 8,      /* columns at once */
    WAVES = GPU_BLOCK / GPU_WAVE,
    KEPT_BYTES = 100 * 1024, /* shared memory for rows that are read again, chosen so that two blocks fit */
    SWEEP_BLOCKS = 4,
    KEEP_BLOCKS = 2,      /* on a multiprocessor */
    RESERVED_BYTES = 2048 /* shared memory for everything else in a kernel */
};

/* Of CGS2; of the delayed method; the start of either. */
enum sweep_kind { PROJECT, CORRECT, APPEND, COMBINE, PROJECT_BOTH, FINISH_BOTH, BEGIN };

/* A sweep, as a kernel argument. */
struct sweep_task {
    tess_arnoldi a;
    int kept;         /* CORRECT: number of columns whose rows stay in shared memory */
    double *partials; /* [column][block]; last the square of w. Both: of u, of w; squares of u, (u, w), squares of w */
};

constexpr int rows_of_bytes(int bytes)
{
    return ROW_BYTES / bytes < MAX_ROWS ? ROW_BYTES / bytes : MAX_ROWS;
}

template <typename S>
constexpr int rows_of_thread()
{
    return rows_of_bytes((int)sizeof(S));
}

/* Blocks on a multiprocessor for kernels that keep two sums for each of ONCE columns: as many as registers allow. */
constexpr int blocks_of_both(int storage_bytes, int vector_bytes)
{
    return SWEEP_BLOCKS - (vector_bytes == 8 ? 1 : 0) - (storage_bytes < 4 ? 1 : 0);
}

template <typename S>
using row_pack = tess::pack<S, rows_of_thread<S>()>;

/* The tile's rows of a thread, from a vector of n values; 0 beyond its end. */
template <typename C, int V>
__device__ static inline void load_rows(const void *vector, int64_t row, int64_t n, C (&w)[V])
{
    const C *from = (const C *)vector + row;

    if (row + V <= n) {
        const tess::pack<C, V> values = *(const tess::pack<C, V> *)(const void *)from;

#pragma unroll
        for (int v = 0; v < V; v++) {
            w[v] = values.value[v];
        }
    } else {
#pragma unroll
        for (int v = 0; v < V; v++) {
            w[v] = row + v < n ? from[v] : (C)0;
        }
    }
}

template <typename C, int V>
__device__ static inline void store_rows(void *vector, int64_t row, int64_t n, const C (&w)[V])
{
    C *to = (C *)vector + row;

    if (row + V <= n) {
        tess::pack<C, V> values;

#pragma unroll
        for (int v = 0; v < V; v++) {
            values.value[v] = w[v];
        }
        *(tess::pack<C, V> *)(void *)to = values;
    } else {
#pragma unroll
        for (int v = 0; v < V; v++) {
            if (row + v < n) { to[v] = w[v]; }
        }
    }
}

/*
 * Packs of ONCE columns at a time: calls use(k, pack) for each of the first `columns` columns, in order, when all loads
 * of the ONCE are issued; and finish(k0) after each ONCE. fetch(k, column): where column k is loaded from.
 */
template <typename S, typename FETCH, typename USE, typename FINISH>
__device__ static inline void each_column(const S *column, int64_t ld, int columns, FETCH fetch, USE use, FINISH finish)
{
#pragma unroll 1
    for (int k0 = 0; k0 < columns; k0 += ONCE, column += ONCE * ld) {
        row_pack<S> packs[ONCE];

#pragma unroll
        for (int u = 0; u < ONCE; u++) {
            if (k0 + u < columns) { packs[u] = fetch(k0 + u, (const row_pack<S> *)(const void *)(column + u * ld)); }
        }
#pragma unroll
        for (int u = 0; u < ONCE; u++) {
            use(k0 + u, u, packs[u]);
        }
        finish(k0);
    }
}

/* w -= the first `columns` columns times their coefficients. keep: packs of the first `kept` columns are stored there,
   GPU_BLOCK apart. */
template <typename S, typename C, int V>
__device__ static inline void subtract_columns(const S *column, int64_t ld, const double *coefficient, int columns,
                                               C (&w)[V], row_pack<S> *keep, int kept)
{
    each_column(
        column, ld, columns, [](int, const row_pack<S> *from) { return *from; },
        [&](int k, int, const row_pack<S> &pack) {
            if (k < columns) {
                const C factor = (C)coefficient[k];
                C value[V];

                tess::decode_pack(pack, value);
                if (k < kept) { keep[k * GPU_BLOCK] = pack; }
#pragma unroll
                for (int v = 0; v < V; v++) {
                    w[v] -= factor * value[v];
                }
            }
        },
        [](int) {});
}

/* Adds this wave's sums to found[0], found[distance], ...: sum[g * ONCE + u] belongs to column k0 + u of group g. */
template <typename C, int N>
__device__ static inline void add_wave_sums(const C (&sum)[N], int k0, int columns, int stride, double *found)
{
    constexpr int SHARING = GPU_WAVE / N; /* threads that share a sum */
    const int lane = (int)threadIdx.x % GPU_WAVE;
    const C total = wave_sums<GPU_WAVE / 2>(sum, lane);
    const int which = lane / SHARING, k = k0 + which % ONCE;

    if (lane % SHARING == 0 && k < columns) { found[which / ONCE * stride + k] += (double)total; }
}

/* Adds this wave's products of each column with w to found[column]. All threads of the wave. */
template <typename S, typename C, int V>
__device__ static inline void project_columns(const S *column, int64_t ld, int columns, const C (&w)[V],
                                              const row_pack<S> *kept_rows, int kept, double *found)
{
    C sum[ONCE];

    each_column(
        column, ld, columns,
        [&](int k, const row_pack<S> *from) { return k < kept ? kept_rows[k * GPU_BLOCK] : *from; },
        [&](int k, int u, const row_pack<S> &pack) {
            sum[u] = 0;
            if (k < columns) {
                C value[V];

                tess::decode_pack(pack, value);
#pragma unroll
                for (int v = 0; v < V; v++) {
                    sum[u] += value[v] * w[v];
                }
            }
        },
        [&](int k0) { add_wave_sums(sum, k0, columns, 0, found); });
}

/* The same with two vectors: products with x at found[column], with w at found[columns + column]. */
template <typename S, typename C, int V>
__device__ static inline void project_both(const S *column, int64_t ld, int columns, const C (&x)[V], const C (&w)[V],
                                           double *found)
{
    C sum[2 * ONCE];

    each_column(
        column, ld, columns, [](int, const row_pack<S> *from) { return *from; },
        [&](int k, int u, const row_pack<S> &pack) {
            sum[u] = 0;
            sum[ONCE + u] = 0;
            if (k < columns) {
                C value[V];

                tess::decode_pack(pack, value);
#pragma unroll
                for (int v = 0; v < V; v++) {
                    sum[u] += value[v] * x[v];
                    sum[ONCE + u] += value[v] * w[v];
                }
            }
        },
        [&](int k0) { add_wave_sums(sum, k0, columns, columns, found); });
}

/* x -= columns times coefficient[k], w -= columns times coefficient[most + k]. */
template <typename S, typename C, int V>
__device__ static inline void subtract_both(const S *column, int64_t ld, const double *coefficient, int most,
                                            int columns, C (&x)[V], C (&w)[V])
{
    each_column(
        column, ld, columns, [](int, const row_pack<S> *from) { return *from; },
        [&](int k, int, const row_pack<S> &pack) {
            if (k < columns) {
                const C second = (C)coefficient[k], first = (C)coefficient[most + k];
                C value[V];

                tess::decode_pack(pack, value);
#pragma unroll
                for (int v = 0; v < V; v++) {
                    x[v] -= second * value[v];
                    w[v] -= first * value[v];
                }
            }
        },
        [](int) {});
}

/* A column's rows from values, times the power of two for stored columns. */
template <typename S, typename C, int V>
__device__ static inline void store_column(const tess_arnoldi &a, int k, int64_t row, const C (&w)[V])
{
    const C power = (C)ldexp(1.0, arnoldi_exponent(a.precision));
    C stored[V];

#pragma unroll
    for (int v = 0; v < V; v++) {
        stored[v] = w[v] * power;
    }
    *(row_pack<S> *)(void *)((S *)a.basis + k * a.ld + row) = tess::encode_pack<S>(stored, TESS_OVERFLOW_INFINITY);
}

/* The sum of the squares of `count` values, in all threads of the block. */
__device__ static inline double sum_of_squares(const double *values, int count)
{
    __shared__ double result;
    double sum[1] = {0.0};

    for (int k = (int)threadIdx.x; k < count; k += GPU_BLOCK) {
        sum[0] += values[k] * values[k];
    }
    block_sum(sum);
    if (threadIdx.x == 0) { result = sum[0]; }
    __syncthreads();
    return result;
}

/* The divisor of the next vector. All threads of the block call it. */
__device__ static inline double find_divisor(const arnoldi_small &small, int columns)
{
    return arnoldi_divisor(small.norms[ARNOLDI_ONCE], sum_of_squares(small.second, columns));
}

/* This block's sums over its waves, and those of `square`, stored where collect_kernel reads them. */
template <int N>
__device__ static inline void leave_sums(const sweep_task &task, int columns, const double *found, double (&square)[N])
{
    block_sum(square);
    if (threadIdx.x == 0) {
        for (int k = 0; k < N; k++) {
            task.partials[(int64_t)(columns + k) * gridDim.x + blockIdx.x] = square[k];
        }
    }
    __syncthreads();
    for (int k = (int)threadIdx.x; k < columns; k += GPU_BLOCK) {
        double sum = 0.0;

        for (int v = 0; v < WAVES; v++) {
            sum += found[v * columns + k];
        }
        task.partials[(int64_t)k * gridDim.x + blockIdx.x] = sum;
    }
}

__device__ static inline void clear_sums(double *found, int columns)
{
    for (int k = (int)threadIdx.x; k < WAVES * columns; k += GPU_BLOCK) {
        found[k] = 0.0;
    }
}

/* Launches a sweep over a basis stored as S (arnoldi_stored_device.cu). */
template <typename S>
tess_status arnoldi_sweep(tess_context *ctx, sweep_kind kind, tess_precision vectors, const sweep_task &task,
                          unsigned grid, const loop_predicate &predicate);

#endif
