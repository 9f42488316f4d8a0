/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the small problem of GMRES: sums over blocks, the column of H that an iteration closes, the triangular
 * system. */
#ifndef TESS_SOLVER_GMRES_ARNOLDI_SMALL_CUH
#define TESS_SOLVER_GMRES_ARNOLDI_SMALL_CUH

#include "solver/gmres/arnoldi_rows.cuh"

/* Adds up a column's partial sums; the result is in thread 0. */
__device__ static inline double add_column(const sweep_task &task, int k, unsigned blocks)
{
    double sum[1];

    sum_partials(task.partials + (int64_t)k * blocks, blocks, sum);
    return sum[0];
}

/* CGS2. Block k: coefficient k of a projection, or, after the last, the square of w. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    collect_kernel(const sweep_task task, const loop_predicate predicate, unsigned blocks, double *coefficient,
                   int norm)
{
    const arnoldi_small &small = task.a.small;
    const int k = (int)blockIdx.x;
    tess_scalars scalars;
    int columns;

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
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
    collect_both_kernel(const sweep_task task, const loop_predicate predicate, unsigned blocks)
{
    const arnoldi_small &small = task.a.small;
    const int k = (int)blockIdx.x;
    tess_scalars scalars;
    int columns;

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
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

/* The end of an iteration of CGS2, by one block, which processes the small problem's new column in shared memory. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    close_kernel(const sweep_task task, const loop_predicate predicate, unsigned blocks)
{
    extern __shared__ double shared[];
    const arnoldi_small &in_memory = task.a.small;
    arnoldi_small small = in_memory;
    tess_scalars scalars;
    double square, divisor;
    int columns;

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
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

enum { ENTRY_THREADS = 4 /* threads that share an entry of the closed column */ };

/* Delayed: the entries of column k - 1 of H, to `column`, which is in shared memory, and to the matrix. */
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

/* Values that one thread needs at the end of an iteration. Many threads copy them to shared memory, because one thread
   would wait for each separately. */
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

/* Closes column k - 1 and prepares the next vector, by one thread. The sums: second second, second first, first first.
 */
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
__global__ static void __launch_bounds__(GPU_BLOCK)
    close_both_kernel(const sweep_task task, const loop_predicate predicate)
{
    extern __shared__ double shared[];
    __shared__ close_data data;
    const arnoldi_small &in_memory = task.a.small;
    arnoldi_small small = in_memory;
    tess_scalars scalars;
    double sums[3] = {0.0, 0.0, 0.0};

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
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

#endif
