/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arnoldi's process on the GPU: the three sweeps of arnoldi_host.c over the basis. A thread keeps its rows of w in registers and goes
 * through the columns; sums over rows go from waves to shared memory, from blocks to memory, and a kernel of one block for each
 * column adds them up in their order. The second sweep subtracts the first projection and makes the second: what a thread has
 * read of its rows it keeps in shared memory for that, as long as there is room, so that the basis is read three times and not
 * four.
 */
#include "backend/gpu/reduce.cuh"
#include "backend/gpu/storage_types.cuh"
#include "backend/gpu/wave_sums.cuh"
#include "solver/gmres/hessenberg.h"

enum {
    ROW_BYTES = 8, /* of a column that a thread takes at once */
    ONCE = 8,      /* columns at once */
    WAVES = GPU_BLOCK / GPU_WAVE,
    KEPT_BYTES = 100 * 1024, /* shared memory for rows that are read again, so that two blocks fit */
    SWEEP_BLOCKS = 4,
    KEEP_BLOCKS = 2 /* on a multiprocessor */
};

enum sweep_kind { PROJECT, CORRECT, APPEND, COMBINE };

/* A sweep, as a kernel argument. */
struct sweep_task {
    tess_arnoldi a;
    int kept;         /* CORRECT: columns whose rows stay in shared memory */
    bool first;       /* APPEND: w is the residual, there are no columns yet */
    double *partials; /* [column][block]; last the squares of w */
};

template <typename S>
constexpr int rows_of_thread()
{
    return ROW_BYTES / (int)sizeof(S);
}

template <typename S>
using row_pack = tess::pack<S, ROW_BYTES / (int)sizeof(S)>;

/* The tile's rows of a thread, out of an FP64 vector of n values; 0 past its end. */
template <int V>
__device__ static inline void load_rows(const double *from, int64_t row, int64_t n, double (&w)[V])
{
#pragma unroll
    for (int v = 0; v < V; v++) {
        w[v] = row + v < n ? from[row + v] : 0.0;
    }
}

template <int V>
__device__ static inline void store_rows(double *to, int64_t row, int64_t n, const double (&w)[V])
{
#pragma unroll
    for (int v = 0; v < V; v++) {
        if (row + v < n) { to[row + v] = w[v]; }
    }
}

/* w -= the first `columns` columns times their coefficients. keep: packs of the first `kept` columns go there, GPU_BLOCK apart. */
template <typename S, int V>
__device__ static inline void subtract_columns(const S *column, int64_t ld, const double *coefficient, int columns,
                                               double (&w)[V], row_pack<S> *keep, int kept)
{
#pragma unroll 1
    for (int k0 = 0; k0 < columns; k0 += ONCE, column += ONCE * ld) {
        row_pack<S> packs[ONCE];

#pragma unroll
        for (int u = 0; u < ONCE; u++) {
            if (k0 + u < columns) { packs[u] = *(const row_pack<S> *)(column + u * ld); }
        }
#pragma unroll
        for (int u = 0; u < ONCE; u++) {
            if (k0 + u < columns) {
                double value[V];

                tess::decode_pack(packs[u], value);
                if (k0 + u < kept) { keep[(k0 + u) * GPU_BLOCK] = packs[u]; }
#pragma unroll
                for (int v = 0; v < V; v++) {
                    w[v] -= coefficient[k0 + u] * value[v];
                }
            }
        }
    }
}

/* Adds this wave's products of each column with w to found[column]. All threads of the wave. */
template <typename S, int V>
__device__ static inline void project_columns(const S *column, int64_t ld, int columns, const double (&w)[V],
                                              const row_pack<S> *kept_rows, int kept, double *found)
{
    const int lane = (int)threadIdx.x % GPU_WAVE;

#pragma unroll 1
    for (int k0 = 0; k0 < columns; k0 += ONCE, column += ONCE * ld) {
        row_pack<S> packs[ONCE];
        double sum[ONCE];

#pragma unroll
        for (int u = 0; u < ONCE; u++) {
            if (k0 + u < kept) {
                packs[u] = kept_rows[(k0 + u) * GPU_BLOCK];
            } else if (k0 + u < columns) {
                packs[u] = *(const row_pack<S> *)(column + u * ld);
            }
        }
#pragma unroll
        for (int u = 0; u < ONCE; u++) {
            sum[u] = 0.0;
            if (k0 + u < columns) {
                double value[V];

                tess::decode_pack(packs[u], value);
#pragma unroll
                for (int v = 0; v < V; v++) {
                    sum[u] += value[v] * w[v];
                }
            }
        }
        {
            constexpr int SHARING = GPU_WAVE / ONCE; /* threads that have the same sum */
            const double total = wave_sums<GPU_WAVE / 2>(sum, lane);
            const int k = k0 + lane / SHARING;

            if (lane % SHARING == 0 && k < columns) { found[k] += total; }
        }
    }
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

/* A sweep: KIND says what it does with its rows of w. Coefficients of stored columns are in small.y. */
template <typename S, sweep_kind KIND>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (KIND == CORRECT ? KEEP_BLOCKS : SWEEP_BLOCKS))
    sweep_kernel(const sweep_task task, const loop_gate gate)
{
    constexpr int V = rows_of_thread<S>(), TILE = GPU_BLOCK * V;
    extern __shared__ __align__(16) double shared[];
    const tess_arnoldi &a = task.a;
    const int wave = (int)threadIdx.x / GPU_WAVE;
    tess_scalars scalars;
    double square[1] = {0.0}, divisor = 1.0, *found = shared;
    row_pack<S> *keep;
    int columns;

    if (!loop_enter<true>(gate, false, &scalars)) { return; }
    columns = task.first ? 0 : KIND == COMBINE ? *a.small.last : *a.small.last + 1;
    keep = (row_pack<S> *)(void *)(shared + WAVES * columns) + threadIdx.x;
    if (KIND == PROJECT || KIND == CORRECT) {
        for (int k = (int)threadIdx.x; k < WAVES * columns; k += GPU_BLOCK) {
            found[k] = 0.0;
        }
    }
    if (KIND == APPEND) { divisor = task.first ? a.state->residual_norm : find_divisor(a.small, columns); }
    __syncthreads();
    for (int64_t row = (int64_t)blockIdx.x * TILE + threadIdx.x * V; row < a.ld; row += (int64_t)gridDim.x * TILE) {
        const S *column = (const S *)a.basis + row;
        double w[V] = {};

        if (KIND != COMBINE) { load_rows(a.w, row, a.n, w); }
        if (KIND != PROJECT) {
            subtract_columns<S, V>(column, a.ld, a.small.y, columns, w, keep, KIND == CORRECT ? task.kept : 0);
        }
        if (KIND == CORRECT) { store_rows(a.w, row, a.n, w); }
        if (KIND == COMBINE) { store_rows(a.sum, row, a.n, w); }
        if (KIND == PROJECT || KIND == CORRECT) {
            project_columns<S, V>(column, a.ld, columns, w, keep, KIND == CORRECT ? task.kept : 0,
                                  found + wave * columns);
        }
#pragma unroll
        for (int v = 0; v < V; v++) {
            square[0] += w[v] * w[v];
        }
        if (KIND == APPEND) {
            const double power = ldexp(1.0, arnoldi_exponent(a.precision));
            double stored[V];

#pragma unroll
            for (int v = 0; v < V; v++) {
                w[v] /= divisor;
                stored[v] = w[v] * power;
            }
            store_rows(a.vector, row, a.n, w);
            *(row_pack<S> *)((S *)a.basis + columns * a.ld + row) =
                tess::encode_pack<S>(stored, TESS_OVERFLOW_INFINITY);
        }
    }
    if (KIND == COMBINE) { return; }
    block_sum(square);
    if (threadIdx.x == 0) { task.partials[(int64_t)columns * gridDim.x + blockIdx.x] = square[0]; }
    if (KIND == APPEND) { return; }
    __syncthreads();
    for (int k = (int)threadIdx.x; k < columns; k += GPU_BLOCK) {
        double sum = 0.0;

        for (int v = 0; v < WAVES; v++) {
            sum += found[v * columns + k];
        }
        task.partials[(int64_t)k * gridDim.x + blockIdx.x] = sum;
    }
}

/* Adds up a column's partial sums; the result is in thread 0. */
__device__ static inline double add_column(const sweep_task &task, int k, unsigned blocks)
{
    double sum[1];

    sum_partials(task.partials + (int64_t)k * blocks, blocks, sum);
    return sum[0];
}

/* Block k: coefficient k of a projection, or, after the last, the square of w. */
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
        small.y[k] = scale * (scale * sum);
    }
}

/* The end of an iteration, by one block: the small problem's new column is worked on in shared memory. */
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
    square = add_column(task, columns, blocks);
    small.first = shared;
    small.second = small.first + columns;
    small.cosine = small.second + columns;
    small.sine = small.cosine + columns;
    for (int k = (int)threadIdx.x; k < columns; k += GPU_BLOCK) {
        small.first[k] = in_memory.first[k];
        small.second[k] = in_memory.second[k];
        small.cosine[k] = in_memory.cosine[k];
        small.sine[k] = in_memory.sine[k];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        in_memory.norms[ARNOLDI_TWICE] = square;
        arnoldi_close(&small, divisor, arnoldi_exponent(task.a.precision), task.a.state);
        in_memory.cosine[columns - 1] = small.cosine[columns - 1];
        in_memory.sine[columns - 1] = small.sine[columns - 1];
    }
}

/* The start of a cycle's small problem. */
__global__ static void start_kernel(const tess_arnoldi a)
{
    if (threadIdx.x > 0 || blockIdx.x > 0) { return; }
    *a.small.last = 0;
    a.small.g[0] = a.state->residual_norm;
    a.small.unit[0] = 1.0;
    a.small.scale[0] = ldexp(1.0, -arnoldi_exponent(a.precision));
}

/* Coefficients of the stored columns in -x, by one block: back substitution by columns. */
__global__ static void __launch_bounds__(GPU_BLOCK) solve_kernel(const arnoldi_small small)
{
    extern __shared__ double g[];
    const int columns = *small.last;

    for (int k = (int)threadIdx.x; k < columns; k += GPU_BLOCK) {
        g[k] = small.g[k];
    }
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
    const int64_t tile = GPU_BLOCK * (ROW_BYTES / (int64_t)tess_storage_bytes(a->precision));
    const int64_t needed = (a->n + tile - 1) / tile, most = (int64_t)gpu_state_of(ctx)->multiprocessors * blocks;

    return (unsigned)(needed < 1 ? 1 : needed < most ? needed : most);
}

template <typename S, sweep_kind KIND>
static tess_status launch_sweep(tess_context *ctx, const sweep_task &task, unsigned grid, const loop_gate &gate)
{
    const size_t sums =
        KIND == PROJECT || KIND == CORRECT ? (size_t)WAVES * (size_t)task.a.small.most * sizeof(double) : 0;
    const size_t kept = (size_t)task.kept * GPU_BLOCK * ROW_BYTES;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_allow_shared(ctx, (const void *)sweep_kernel<S, KIND>));
    status = gpu_launch(ctx, "a sweep over the Krylov basis", sweep_kernel<S, KIND>, grid,
                        sums + (KIND == CORRECT ? kept : 0), task, gate);
cleanup:
    return status;
}

template <sweep_kind KIND>
static tess_status run_sweep(tess_context *ctx, const sweep_task &task, unsigned grid, const loop_gate &gate)
{
    switch (task.a.precision) {
#define LAUNCH(TYPE, NAME) \
    case TESS_PRECISION_##NAME: return launch_sweep<TYPE, KIND>(ctx, task, grid, gate);
        STORAGE_TYPES(LAUNCH)
#undef LAUNCH
    }
    return TESS_UNSUPPORTED;
}

static tess_status collect(tess_context *ctx, const sweep_task &task, unsigned blocks, double *coefficient, int norm,
                           const loop_gate &gate)
{
    return gpu_launch(ctx, "the sums of a projection", collect_kernel, (unsigned)task.a.small.most + 1U, 0, task, gate,
                      blocks, coefficient, norm);
}

static tess_status step(tess_context *ctx, const tess_arnoldi *a)
{
    const unsigned wide = sweep_grid(ctx, a, SWEEP_BLOCKS), narrow = sweep_grid(ctx, a, KEEP_BLOCKS);
    const int room = (int)(KEPT_BYTES / (GPU_BLOCK * ROW_BYTES));
    sweep_task task = {*a, a->small.most < room ? a->small.most : room, false, NULL};
    loop_gate gate;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_parts(ctx, (int64_t)(a->small.most + 1) * wide, &task.partials));
    TESS_TRY(open_settled_gate(ctx, a->state, &gate));
    TESS_TRY(run_sweep<PROJECT>(ctx, task, wide, gate));
    TESS_TRY(collect(ctx, task, wide, a->small.first, ARNOLDI_WHOLE, gate));
    TESS_TRY(run_sweep<CORRECT>(ctx, task, narrow, gate));
    TESS_TRY(collect(ctx, task, narrow, a->small.second, ARNOLDI_ONCE, gate));
    TESS_TRY(run_sweep<APPEND>(ctx, task, wide, gate));
    status = gpu_launch(ctx, "the end of an iteration", close_kernel, 1U, 4 * (size_t)a->small.most * sizeof(double),
                        task, gate, wide);
cleanup:
    return status;
}

static tess_status start(tess_context *ctx, const tess_arnoldi *a)
{
    const unsigned grid = sweep_grid(ctx, a, SWEEP_BLOCKS);
    sweep_task task = {*a, 0, true, NULL};
    const loop_gate none = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_parts(ctx, (int64_t)(a->small.most + 1) * grid, &task.partials));
    TESS_TRY(gpu_launch(ctx, "the start of a Krylov basis", start_kernel, 1U, 0, *a));
    status = run_sweep<APPEND>(ctx, task, grid, none);
cleanup:
    return status;
}

static tess_status combine(tess_context *ctx, const tess_arnoldi *a)
{
    const sweep_task task = {*a, 0, false, NULL};
    const loop_gate none = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(
        gpu_launch(ctx, "a triangular system", solve_kernel, 1U, (size_t)a->small.most * sizeof(double), a->small));
    status = run_sweep<COMBINE>(ctx, task, sweep_grid(ctx, a, SWEEP_BLOCKS), none);
cleanup:
    return status;
}

extern "C" tess_status gpu_arnoldi(tess_context *ctx, const tess_arnoldi *a, tess_arnoldi_stage stage)
{
    gpu_scope scope(ctx);

    switch (stage) {
    case TESS_ARNOLDI_START: return start(ctx, a);
    case TESS_ARNOLDI_STEP: return step(ctx, a);
    default: return combine(ctx, a);
    }
}
