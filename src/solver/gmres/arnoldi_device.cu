/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arnoldi's process on the GPU: the sweeps of arnoldi_host.c over the basis. A thread keeps its rows of w in registers and goes
 * through the columns; sums over rows go from waves to shared memory, from blocks to memory, and a kernel of one block for each
 * column adds them up in their order. What a thread computes is in the precision of the vectors, FP32 or FP64; sums over rows
 * of different waves are in FP64. The second sweep of CGS2 subtracts the first projection and makes the second: what a thread has
 * read of its rows it keeps in shared memory for that, as long as there is room, so that the basis is read three times and not
 * four.
 */
#include "backend/gpu/reduce.cuh"
#include "backend/gpu/storage_types.cuh"
#include "backend/gpu/wave_sums.cuh"
#include "solver/gmres/hessenberg.h"

enum {
    ROW_BYTES = 8, /* of a column that a thread takes at once, but for ... */
    MOST_ROWS = 4, /* ... no more than these */
    ONCE = 8,      /* columns at once */
    WAVES = GPU_BLOCK / GPU_WAVE,
    KEPT_BYTES = 100 * 1024, /* shared memory for rows that are read again, so that two blocks fit */
    SWEEP_BLOCKS = 4,
    KEEP_BLOCKS = 2,      /* on a multiprocessor */
    RESERVED_BYTES = 2048 /* of shared memory, for what kernels have besides */
};

enum sweep_kind { PROJECT, CORRECT, APPEND, COMBINE, PROJECT_BOTH, FINISH_BOTH };

/* A sweep, as a kernel argument. */
struct sweep_task {
    tess_arnoldi a;
    int kept;         /* CORRECT: columns whose rows stay in shared memory */
    double *partials; /* [column][block]; last the square of w. Both: of u, of w; squares of u, (u, w), squares of w */
};

constexpr int rows_of_bytes(int bytes)
{
    return ROW_BYTES / bytes < MOST_ROWS ? ROW_BYTES / bytes : MOST_ROWS;
}

template <typename S>
constexpr int rows_of_thread()
{
    return rows_of_bytes((int)sizeof(S));
}

/* Blocks on a multiprocessor for kernels that keep two sums for each of ONCE columns: what registers allow. */
constexpr int blocks_of_both(int storage_bytes, int vector_bytes)
{
    return SWEEP_BLOCKS - (vector_bytes == 8 ? 1 : 0) - (storage_bytes < 4 ? 1 : 0);
}

template <typename S>
using row_pack = tess::pack<S, rows_of_thread<S>()>;

/* The tile's rows of a thread, out of a vector of n values; 0 past its end. */
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
 * Packs of ONCE columns at a time: calls use(k, pack) for each of the first `columns` columns, in order, when all loads of the
 * ONCE are on their way; and finish(k0) after each ONCE. fetch(k, column): where column k comes from.
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

/* w -= the first `columns` columns times their coefficients. keep: packs of the first `kept` columns go there, GPU_BLOCK apart. */
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
    constexpr int SHARING = GPU_WAVE / N; /* threads that have the same sum */
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

/* A column's rows from values, times the power of two that columns are stored over. */
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

/* The sum over `count` values' squares, in all threads of the block. */
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

/* What the next vector is divided by. All threads of the block. */
__device__ static inline double find_divisor(const arnoldi_small &small, int columns)
{
    return arnoldi_divisor(small.norms[ARNOLDI_ONCE], sum_of_squares(small.second, columns));
}

/* This block's sums over its waves, and `square`s, where collect_kernel finds them. */
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

/* A sweep of CGS2 or the last one: KIND says what it does with its rows of w, of the type C. Coefficients of stored columns are in
   small.remove, COMBINE's in small.y. */
template <typename S, typename C, sweep_kind KIND>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (KIND == CORRECT ? KEEP_BLOCKS : SWEEP_BLOCKS))
    sweep_kernel(const sweep_task task, const loop_gate gate)
{
    constexpr int V = rows_of_thread<S>(), TILE = GPU_BLOCK * V;
    extern __shared__ __align__(16) double shared[];
    const tess_arnoldi &a = task.a;
    double *const found = shared;
    tess_scalars scalars;
    double square[1] = {0.0}, divisor = 1.0;
    int columns;

    if (!loop_enter<true>(gate, false, &scalars)) { return; }
    columns = KIND == COMBINE ? *a.small.last : *a.small.last + 1;
    row_pack<S> *const keep = (row_pack<S> *)(void *)(shared + WAVES * columns) + threadIdx.x;
    const int kept = KIND == CORRECT ? task.kept : 0;

    if (KIND == PROJECT || KIND == CORRECT) { clear_sums(found, columns); }
    if (KIND == APPEND) { divisor = find_divisor(a.small, columns); }
    __syncthreads();
    for (int64_t row = (int64_t)blockIdx.x * TILE + threadIdx.x * V; row < a.ld; row += (int64_t)gridDim.x * TILE) {
        const S *column = (const S *)a.basis + row;
        C w[V] = {};

        if (KIND != COMBINE) { load_rows(a.w, row, a.n, w); }
        if (KIND != PROJECT) {
            subtract_columns(column, a.ld, KIND == COMBINE ? a.small.y : a.small.remove, columns, w, keep, kept);
        }
        if (KIND == CORRECT) { store_rows(a.w, row, a.n, w); }
        if (KIND == COMBINE) { store_rows(a.sum, row, a.n, w); }
        if (KIND == PROJECT || KIND == CORRECT) {
            project_columns(column, a.ld, columns, w, keep, kept, found + (int)threadIdx.x / GPU_WAVE * columns);
        }
#pragma unroll
        for (int v = 0; v < V; v++) {
            square[0] += (double)w[v] * (double)w[v];
        }
        if (KIND == APPEND) {
#pragma unroll
            for (int v = 0; v < V; v++) {
                w[v] /= (C)divisor;
            }
            store_rows(a.vector, row, a.n, w);
            store_column<S>(a, columns, row, w);
        }
    }
    if (KIND == COMBINE) { return; }
    if (KIND == APPEND) { columns = 0; }
    leave_sums(task, columns, found, square);
}

/* Delayed: all sums of an iteration. */
template <typename S, typename C>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (blocks_of_both(sizeof(S), sizeof(C))))
    project_both_kernel(const sweep_task task, const loop_gate gate)
{
    constexpr int V = rows_of_thread<S>(), TILE = GPU_BLOCK * V;
    extern __shared__ __align__(16) double shared[];
    const tess_arnoldi &a = task.a;
    tess_scalars scalars;
    double square[3] = {0.0, 0.0, 0.0};
    int columns;

    if (!loop_enter<true>(gate, false, &scalars)) { return; }
    columns = *a.small.stored;
    clear_sums(shared, 2 * columns);
    __syncthreads();
    for (int64_t row = (int64_t)blockIdx.x * TILE + threadIdx.x * V; row < a.ld; row += (int64_t)gridDim.x * TILE) {
        C x[V], w[V];

        load_rows(a.vector, row, a.n, x);
        load_rows(a.w, row, a.n, w);
        project_both((const S *)a.basis + row, a.ld, columns, x, w, shared + (int)threadIdx.x / GPU_WAVE * 2 * columns);
#pragma unroll
        for (int v = 0; v < V; v++) {
            square[0] += (double)x[v] * (double)x[v];
            square[1] += (double)x[v] * (double)w[v];
            square[2] += (double)w[v] * (double)w[v];
        }
    }
    leave_sums(task, 2 * columns, shared, square);
}

/* Delayed: q, finished, is stored; w becomes the next u. */
template <typename S, typename C>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, SWEEP_BLOCKS)
    finish_both_kernel(const sweep_task task, const loop_gate gate)
{
    constexpr int V = rows_of_thread<S>(), TILE = GPU_BLOCK * V;
    const tess_arnoldi &a = task.a;
    tess_scalars scalars;

    if (!loop_enter<true>(gate, false, &scalars)) { return; }
    const int columns = *a.small.stored - 1;
    const C alpha = (C)a.small.carried[ARNOLDI_ALPHA], nu = (C)a.small.carried[ARNOLDI_NU];
    const C along = (C)a.small.first[columns];

    for (int64_t row = (int64_t)blockIdx.x * TILE + threadIdx.x * V; row < a.ld; row += (int64_t)gridDim.x * TILE) {
        C x[V], w[V];

        load_rows(a.vector, row, a.n, x);
        load_rows(a.w, row, a.n, w);
        subtract_both((const S *)a.basis + row, a.ld, a.small.remove, a.small.most, columns, x, w);
#pragma unroll
        for (int v = 0; v < V; v++) {
            x[v] /= alpha;
            w[v] = (w[v] - along * x[v]) / nu;
        }
        store_column<S>(a, columns, row, x);
        store_rows(a.vector, row, a.n, w);
    }
}

/* Adds up a column's partial sums; the result is in thread 0. */
__device__ static inline double add_column(const sweep_task &task, int k, unsigned blocks)
{
    double sum[1];

    sum_partials(task.partials + (int64_t)k * blocks, blocks, sum);
    return sum[0];
}

/* CGS2. Block k: coefficient k of a projection, or, after the last, the square of w. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    collect_kernel(const sweep_task task, const loop_gate gate, unsigned blocks, double *coefficient, int norm)
{
    const arnoldi_small &small = task.a.small;
    const int k = (int)blockIdx.x;
    tess_scalars scalars;
    int columns;

    if (!loop_enter<true>(gate, false, &scalars)) { return; }
    columns = *small.last + 1;
    if (k > columns) { return; }
    double sum = add_column(task, k, blocks);

    if (threadIdx.x > 0) { return; }
    if (k == columns) {
        small.norms[norm] = sum;
    } else {
        const double scale = small.scale[k];

        coefficient[k] = scale * sum;
        small.remove[k] = scale * (scale * sum);
    }
}

/* Delayed. Block k: coefficient k of u, then of w, then the squares. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    collect_both_kernel(const sweep_task task, const loop_gate gate, unsigned blocks)
{
    const arnoldi_small &small = task.a.small;
    const int k = (int)blockIdx.x;
    tess_scalars scalars;
    int columns;

    if (!loop_enter<true>(gate, false, &scalars)) { return; }
    columns = *small.stored;
    if (k >= 2 * columns + ARNOLDI_NORMS) { return; }
    double sum = add_column(task, k, blocks);

    if (threadIdx.x > 0) { return; }
    if (k >= 2 * columns) {
        small.norms[k - 2 * columns] = sum;
    } else {
        const bool is_first = k >= columns;
        const int column = is_first ? k - columns : k;
        const double scale = small.scale[column];

        (is_first ? small.first : small.second)[column] = scale * sum;
        small.remove[is_first ? small.most + column : column] = scale * (scale * sum);
    }
}

/* Copies `count` values with all threads of the block. */
__device__ static inline void copy_values(double *to, const double *from, int count)
{
    for (int k = (int)threadIdx.x; k < count; k += GPU_BLOCK) {
        to[k] = from[k];
    }
}

/* The end of an iteration of CGS2, by one block: the small problem's new column is worked on in shared memory. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    close_kernel(const sweep_task task, const loop_gate gate, unsigned blocks)
{
    extern __shared__ double shared[];
    const arnoldi_small &in_memory = task.a.small;
    arnoldi_small small = in_memory;
    tess_scalars scalars;
    double square, divisor;
    int columns;

    if (!loop_enter<true>(gate, false, &scalars)) { return; }
    columns = *small.last + 1;
    divisor = find_divisor(in_memory, columns);
    square = add_column(task, 0, blocks);
    small.first = shared;
    small.second = small.first + columns;
    small.cosine = small.second + columns;
    small.sine = small.cosine + columns;
    copy_values(small.first, in_memory.first, columns);
    copy_values(small.second, in_memory.second, columns);
    copy_values(small.cosine, in_memory.cosine, columns - 1);
    copy_values(small.sine, in_memory.sine, columns - 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        in_memory.norms[ARNOLDI_TWICE] = square;
        arnoldi_close(&small, divisor, arnoldi_exponent(task.a.precision), task.a.state);
        in_memory.cosine[columns - 1] = small.cosine[columns - 1];
        in_memory.sine[columns - 1] = small.sine[columns - 1];
    }
}

enum { ENTRY_THREADS = 4 /* that share an entry of the column that is closed */ };

/* Delayed: the entries of column k - 1 of H, into `column`, which is shared, and into the matrix. */
__device__ static inline void find_entries(const arnoldi_small &small, int k, double *column)
{
    const int lane = (int)threadIdx.x % ENTRY_THREADS;
    double *h = small.h + (int64_t)(k - 1) * (k + 2) / 2;

    for (int i0 = 0; i0 < k; i0 += GPU_BLOCK / ENTRY_THREADS) {
        const int i = i0 + (int)threadIdx.x / ENTRY_THREADS;
        double product = 0.0;

#pragma unroll 8
        for (int l = lane; l < k - 1; l += ENTRY_THREADS) {
            product += i < k ? arnoldi_delayed_term(&small, i, l) : 0.0;
        }
        product += GPU_SHUFFLE_XOR(product, 1);
        product += GPU_SHUFFLE_XOR(product, 2);
        if (i < k && lane == 0) {
            column[i] = arnoldi_delayed_entry(&small, i, product);
            h[i] = column[i];
        }
    }
}

/* What one thread needs at the end of an iteration, brought into shared memory by many: it would wait for each by itself. */
struct close_data {
    tess_loop_state state;
    double norms[ARNOLDI_NORMS], carried[ARNOLDI_CARRIED];
};

enum { STATE_WORDS = sizeof(tess_loop_state) / sizeof(int64_t) };

__device__ static inline void fetch_close_data(const tess_arnoldi &a, close_data *to)
{
    const int t = (int)threadIdx.x;

    if (t < STATE_WORDS) { ((int64_t *)&to->state)[t] = ((const int64_t *)a.state)[t]; }
    if (t < ARNOLDI_NORMS) { to->norms[t] = a.small.norms[t]; }
    if (t < ARNOLDI_CARRIED) { to->carried[t] = a.small.carried[t]; }
}

__device__ static inline void return_close_data(const tess_arnoldi &a, const close_data *from)
{
    const int t = (int)threadIdx.x;

    if (t < STATE_WORDS) { ((int64_t *)a.state)[t] = ((const int64_t *)&from->state)[t]; }
    if (t < ARNOLDI_CARRIED) { a.small.carried[t] = from->carried[t]; }
}

/* Closes column k - 1 and prepares the next vector, by one thread. The sums: second second, second first, first first. */
__device__ static inline void close_and_continue(const arnoldi_small &small, int k, double *column,
                                                 const double (&sums)[3], int power, tess_loop_state *state)
{
    const double alpha = arnoldi_delayed_alpha(&small, sums[0]);

    if (k > 0) {
        double least;
        const double next = arnoldi_delayed_next(&small, alpha, &least);

        small.h[(int64_t)(k - 1) * (k + 2) / 2 + k] = next;
        arnoldi_close_column(&small, k - 1, column, next, least, state);
    }
    if (state->phase == TESS_LOOP_RUNNING) {
        arnoldi_continue_delayed(&small, k, alpha, sums[1], sums[2], power, state);
    }
}

/* Delayed: the small problem of an iteration, by one block. */
__global__ static void __launch_bounds__(GPU_BLOCK) close_both_kernel(const sweep_task task, const loop_gate gate)
{
    extern __shared__ double shared[];
    __shared__ close_data data;
    const arnoldi_small &in_memory = task.a.small;
    arnoldi_small small = in_memory;
    tess_scalars scalars;
    double sums[3] = {0.0, 0.0, 0.0};

    if (!loop_enter<true>(gate, false, &scalars)) { return; }
    const int k = *small.stored;
    double *const column = shared;

    small.cosine = column + k;
    small.sine = small.cosine + k;
    small.norms = data.norms;
    small.carried = data.carried;
    fetch_close_data(task.a, &data);
    if (k > 0) {
        find_entries(in_memory, k, column);
        copy_values(small.cosine, in_memory.cosine, k - 1);
        copy_values(small.sine, in_memory.sine, k - 1);
    }
    for (int i = (int)threadIdx.x; i < k; i += GPU_BLOCK) {
        const double second = in_memory.second[i], first = in_memory.first[i];

        sums[0] += second * second;
        sums[1] += second * first;
        sums[2] += first * first;
    }
    block_sum(sums); /* synchronises */
    if (threadIdx.x == 0) {
        close_and_continue(small, k, column, sums, arnoldi_exponent(task.a.precision), &data.state);
    }
    __syncthreads();
    return_close_data(task.a, &data);
    if (k > 0) {
        copy_values(small.r + (int64_t)(k - 1) * k / 2, column, k);
        if (threadIdx.x == 0) {
            in_memory.cosine[k - 1] = small.cosine[k - 1];
            in_memory.sine[k - 1] = small.sine[k - 1];
        }
    }
    copy_values(small.first_before, small.first, k + 1);
    copy_values(small.second_before, small.second, k);
}

/* The start of a cycle: the residual over its norm; CGS2 has its first column then. */
template <typename S, typename C>
__global__ static void __launch_bounds__(GPU_BLOCK) begin_kernel(const tess_arnoldi a)
{
    constexpr int V = rows_of_thread<S>(), TILE = GPU_BLOCK * V;
    const double norm = a.state->residual_norm;

    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *a.small.last = 0;
        *a.small.stored = 0;
        a.small.g[0] = norm;
        a.small.unit[0] = 1.0;
        a.small.scale[0] = ldexp(1.0, -arnoldi_exponent(a.precision));
    }
    for (int64_t row = (int64_t)blockIdx.x * TILE + threadIdx.x * V; row < a.ld; row += (int64_t)gridDim.x * TILE) {
        double r[V];
        C w[V];

        load_rows(a.residual, row, a.n, r);
#pragma unroll
        for (int v = 0; v < V; v++) {
            w[v] = (C)(r[v] / norm);
        }
        store_rows(a.vector, row, a.n, w);
        if (!a.delayed) { store_column<S>(a, 0, row, w); }
    }
}

/* Coefficients of the stored columns in -x, by one block: back substitution by columns. */
__global__ static void __launch_bounds__(GPU_BLOCK) solve_kernel(const arnoldi_small small)
{
    extern __shared__ double g[];
    const int columns = *small.last;

    copy_values(g, small.g, columns);
    __syncthreads();
    for (int i = columns - 1; i >= 0; i--) {
        const double *column = small.r + (int64_t)i * (i + 1) / 2;
        const double y = g[i] / column[i];

        __syncthreads();
        for (int k = (int)threadIdx.x; k <= i; k += GPU_BLOCK) {
            g[k] = k == i ? y : g[k] - column[k] * y;
        }
        __syncthreads();
    }
    for (int k = (int)threadIdx.x; k < columns; k += GPU_BLOCK) {
        small.y[k] = -g[k] * small.scale[k];
    }
}

/* ---- launching ---- */

static unsigned sweep_grid(const tess_context *ctx, const tess_arnoldi *a, int blocks)
{
    const int64_t tile = GPU_BLOCK * rows_of_bytes((int)tess_storage_bytes(a->precision));
    const int64_t needed = (a->n + tile - 1) / tile, most = (int64_t)gpu_state_of(ctx)->multiprocessors * blocks;

    return (unsigned)(needed < 1 ? 1 : needed < most ? needed : most);
}

/* Launches KERNEL<S, C> for the basis' and the vectors' types. */
template <template <typename, typename> class LAUNCH, typename... ARGUMENTS>
static tess_status select_types(tess_context *ctx, tess_precision basis, tess_precision vectors,
                                const ARGUMENTS &...arguments)
{
    switch (basis) {
    case TESS_PRECISION_FP64: return LAUNCH<double, double>::launch(ctx, arguments...);
#define SELECT(TYPE, NAME)                                                                     \
    case TESS_PRECISION_##NAME:                                                                \
        return vectors == TESS_PRECISION_FP32 ? LAUNCH<TYPE, float>::launch(ctx, arguments...) \
                                              : LAUNCH<TYPE, double>::launch(ctx, arguments...);
        LOW_STORAGE_TYPES(SELECT)
#undef SELECT
    }
    return TESS_UNSUPPORTED;
}

template <typename S, typename C, sweep_kind KIND>
static tess_status launch_sweep(tess_context *ctx, const sweep_task &task, unsigned grid, const loop_gate &gate)
{
    const bool projects = KIND == PROJECT || KIND == CORRECT;
    const size_t sums = projects ? (size_t)WAVES * (size_t)task.a.small.most * sizeof(double) : 0;
    const size_t kept = KIND == CORRECT ? (size_t)task.kept * GPU_BLOCK * ROW_BYTES : 0;
    tess_status status = gpu_allow_shared(ctx, (const void *)sweep_kernel<S, C, KIND>);

    if (status != TESS_SUCCESS) { return status; }
    return gpu_launch(ctx, "a sweep over the Krylov basis", sweep_kernel<S, C, KIND>, grid, sums + kept, task, gate);
}

template <sweep_kind KIND>
struct sweep_of {
    template <typename S, typename C>
    struct types {
        static tess_status launch(tess_context *ctx, const sweep_task &task, unsigned grid, const loop_gate &gate)
        {
            return launch_sweep<S, C, KIND>(ctx, task, grid, gate);
        }
    };
};

template <typename S, typename C>
struct projecting_both {
    static tess_status launch(tess_context *ctx, const sweep_task &task, unsigned grid, const loop_gate &gate)
    {
        const size_t sums = 2 * (size_t)WAVES * (size_t)task.a.small.most * sizeof(double);
        tess_status status = gpu_allow_shared(ctx, (const void *)project_both_kernel<S, C>);

        if (status != TESS_SUCCESS) { return status; }
        return gpu_launch(ctx, "projections on the Krylov basis", project_both_kernel<S, C>, grid, sums, task, gate);
    }
};

template <typename S, typename C>
struct finishing_both {
    static tess_status launch(tess_context *ctx, const sweep_task &task, unsigned grid, const loop_gate &gate)
    {
        return gpu_launch(ctx, "the next Krylov vector", finish_both_kernel<S, C>, grid, 0, task, gate);
    }
};

template <typename S, typename C>
struct beginning {
    static tess_status launch(tess_context *ctx, const tess_arnoldi &a, unsigned grid)
    {
        return gpu_launch(ctx, "the start of a Krylov basis", begin_kernel<S, C>, grid, 0, a);
    }
};

template <sweep_kind KIND>
static tess_status run_sweep(tess_context *ctx, const sweep_task &task, tess_precision vectors, unsigned grid,
                             const loop_gate &gate)
{
    return select_types<sweep_of<KIND>::template types>(ctx, task.a.precision, vectors, task, grid, gate);
}

static tess_status collect(tess_context *ctx, const sweep_task &task, unsigned blocks, double *coefficient, int norm,
                           const loop_gate &gate)
{
    return gpu_launch(ctx, "the sums of a projection", collect_kernel, (unsigned)task.a.small.most + 1U, 0, task, gate,
                      blocks, coefficient, norm);
}

static tess_status step_cgs2(tess_context *ctx, const tess_arnoldi *a)
{
    const unsigned wide = sweep_grid(ctx, a, SWEEP_BLOCKS), narrow = sweep_grid(ctx, a, KEEP_BLOCKS);
    const int room = (int)(KEPT_BYTES / (GPU_BLOCK * ROW_BYTES));
    sweep_task task = {*a, a->small.most < room ? a->small.most : room, NULL};
    loop_gate gate;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_parts(ctx, (int64_t)(a->small.most + 1) * wide, &task.partials));
    TESS_TRY(open_settled_gate(ctx, a->state, &gate));
    TESS_TRY(run_sweep<PROJECT>(ctx, task, a->vectors, wide, at_phase(gate, TESS_PHASE_GEMV_T)));
    TESS_TRY(collect(ctx, task, wide, a->small.first, ARNOLDI_WHOLE, at_phase(gate, TESS_PHASE_GEMV_T)));
    TESS_TRY(run_sweep<CORRECT>(ctx, task, a->vectors, narrow, at_phase(gate, TESS_PHASE_GEMV_N)));
    TESS_TRY(collect(ctx, task, narrow, a->small.second, ARNOLDI_ONCE, at_phase(gate, TESS_PHASE_GEMV_N)));
    TESS_TRY(gpu_allow_shared(ctx, (const void *)close_kernel));
    TESS_TRY(run_sweep<APPEND>(ctx, task, a->vectors, wide, at_phase(gate, TESS_PHASE_GEMV_N)));
    status = gpu_launch(ctx, "the end of an iteration", close_kernel, 1U, 4 * (size_t)a->small.most * sizeof(double),
                        task, at_phase(gate, TESS_PHASE_OTHER), wide);
cleanup:
    return status;
}

static tess_status step_delayed(tess_context *ctx, const tess_arnoldi *a)
{
    const int blocks = blocks_of_both((int)tess_storage_bytes(a->precision), a->vectors == TESS_PRECISION_FP32 ? 4 : 8);
    const unsigned grid = sweep_grid(ctx, a, blocks), wide = sweep_grid(ctx, a, SWEEP_BLOCKS);
    const unsigned sums = 2U * (unsigned)a->small.most + ARNOLDI_NORMS;
    sweep_task task = {*a, 0, NULL};
    loop_gate gate;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_parts(ctx, (int64_t)sums * grid, &task.partials));
    TESS_TRY(open_settled_gate(ctx, a->state, &gate));
    TESS_TRY(
        select_types<projecting_both>(ctx, a->precision, a->vectors, task, grid, at_phase(gate, TESS_PHASE_GEMV_T)));
    TESS_TRY(gpu_allow_shared(ctx, (const void *)close_both_kernel));
    TESS_TRY(gpu_launch(ctx, "the sums of projections", collect_both_kernel, sums, 0, task,
                        at_phase(gate, TESS_PHASE_GEMV_T), grid));
    TESS_TRY(gpu_launch(ctx, "the end of an iteration", close_both_kernel, 1U,
                        3 * (size_t)a->small.most * sizeof(double), task, at_phase(gate, TESS_PHASE_OTHER)));
    status = select_types<finishing_both>(ctx, a->precision, a->vectors, task, wide, at_phase(gate, TESS_PHASE_GEMV_N));
cleanup:
    return status;
}

static tess_status combine(tess_context *ctx, const tess_arnoldi *a)
{
    const sweep_task task = {*a, 0, NULL};
    const loop_gate none = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_allow_shared(ctx, (const void *)solve_kernel));
    TESS_TRY(
        gpu_launch(ctx, "a triangular system", solve_kernel, 1U, (size_t)a->small.most * sizeof(double), a->small));
    status = run_sweep<COMBINE>(ctx, task, a->sum_precision, sweep_grid(ctx, a, SWEEP_BLOCKS), none);
cleanup:
    return status;
}

/* Sums take shared memory in proportion to the basis. */
static tess_status check_length(tess_context *ctx, const tess_arnoldi *a)
{
    const int64_t each = (a->delayed ? 2 : 1) * WAVES * (int64_t)sizeof(double);
    const int64_t kept = a->delayed ? 0 : KEPT_BYTES;
    const int64_t most = (gpu_state_of(ctx)->shared_bytes_per_block - kept - RESERVED_BYTES) / each;

    if (a->small.most <= most) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_UNSUPPORTED, "restart earlier, or use --device cpu",
                     "a Krylov basis of %d vectors on this device, which has room for the sums of %lld", a->small.most,
                     (long long)most);
}

extern "C" tess_status gpu_arnoldi(tess_context *ctx, const tess_arnoldi *a, tess_arnoldi_stage stage)
{
    gpu_scope scope(ctx);
    tess_status status = TESS_SUCCESS;

    switch (stage) {
    case TESS_ARNOLDI_START:
        TESS_TRY(check_length(ctx, a));
        status = select_types<beginning>(ctx, a->precision, a->vectors, *a, sweep_grid(ctx, a, SWEEP_BLOCKS));
        break;
    case TESS_ARNOLDI_STEP: status = a->delayed ? step_delayed(ctx, a) : step_cgs2(ctx, a); break;
    default: status = combine(ctx, a); break;
    }
cleanup:
    return status;
}
