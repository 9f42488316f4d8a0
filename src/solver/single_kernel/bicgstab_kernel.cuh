/* SPDX-License-Identifier: Apache-2.0 */
/* BiCGSTAB in one kernel: bicgstab.c has the equations, README.md what the blocks exchange. */
#ifndef TESS_SOLVER_SINGLE_KERNEL_BICGSTAB_KERNEL_CUH
#define TESS_SOLVER_SINGLE_KERNEL_BICGSTAB_KERNEL_CUH

#include "solver/single_kernel/block.cuh"

/* r^ = D^-1 r, which becomes s^ in between, p^ and v^ = D^-1 v at all columns; the others of the block's rows. */
struct bicgstab_vectors {
    double *r_hat, *p_hat, *v_hat, *r, *d, *shadow, *v, *t, *scale;
};

template <typename BLOCK>
__device__ static inline bicgstab_vectors bicgstab_open(const BLOCK &block, const single_args &a)
{
    const bicgstab_vectors w = {block.copy(0),   block.copy(1),   block.copy(2),   block.vector(0), block.vector(1),
                                block.vector(2), block.vector(3), block.vector(4), block.vector(5)};
    const int32_t *column = a.plan.column + a.plan.column_begin[blockIdx.x];

    block.each_column([&](int l, int) {
        w.r_hat[l] = a.scale ? a.scale[column[l]] * a.r[column[l]] : a.r[column[l]];
        w.p_hat[l] = 0.0;
        w.v_hat[l] = 0.0;
    });
    block.load(a.r, w.r);
    block.load(a.shadow, w.shadow);
    block.fill_rows(w.d, 0.0);
    block.load_scale(w.scale);
    return w;
}

/* From p^ to s, which is kept in r; false: the solve ends. */
template <typename BLOCK>
__device__ static inline bool bicgstab_first_half(BLOCK &block, const bicgstab_vectors &w, double *alpha)
{
    const tess_loop_state *state = block.team.state;
    const double beta = state->beta, before = state->omega;
    typename BLOCK::halo ahead;
    double projection[1] = {0.0};

    /* p^ = r^ + beta (p^ - omega v^) */
    block.each_column([&](int l, int) { w.p_hat[l] = w.r_hat[l] + beta * (w.p_hat[l] - before * w.v_hat[l]); });
    block.mark(w.p_hat, 0);
    __syncthreads();
    /* v = A p^; alpha = rho / (r~, v) */
    block.multiply(w.p_hat, [&](int i, double sum) {
        w.v[i] = sum;
        block.publish(0, i, w.scale[i] * sum);
        projection[0] += sum * w.shadow[i];
    });
    if (block.sync_ahead(projection, one_update(TESS_SCALAR_BICGSTAB_ALPHA), 0, &ahead) != TESS_LOOP_RUNNING) {
        return false;
    }
    const double step = state->alpha;

    /* s = r - alpha v */
    block.each_exchanged(
        0, ahead, [&](int i) { return w.scale[i] * w.v[i]; },
        [&](int l, int i, double product) {
            w.v_hat[l] = product;
            w.r_hat[l] -= step * product;
            if (i >= 0) { w.r[i] -= step * w.v[i]; }
        });
    block.mark(w.r_hat, 1);
    __syncthreads();
    *alpha = step;
    return true;
}

/* From s to the next r; false: the solve ends. */
template <typename BLOCK>
__device__ static inline bool bicgstab_second_half(BLOCK &block, const bicgstab_vectors &w, double alpha)
{
    typename BLOCK::halo ahead;
    double products[2] = {0.0, 0.0}, squares[2] = {0.0, 0.0};

    /* t = A s^; omega = (t, s) / (t, t) */
    block.multiply(w.r_hat, [&](int i, double sum) {
        w.t[i] = sum;
        block.publish(0, i, w.scale[i] * sum);
        products[0] += sum * w.r[i];
        products[1] += sum * sum;
    });
    if (block.sync_ahead(products, one_update(TESS_SCALAR_BICGSTAB_OMEGA), 0, &ahead) != TESS_LOOP_RUNNING) {
        return false;
    }
    const double omega = block.team.state->omega;

    /* d += alpha p^ + omega s^; r = s - omega t; rho = (r~, r) */
    block.each_exchanged(
        0, ahead, [&](int i) { return w.scale[i] * w.t[i]; },
        [&](int l, int i, double product) {
            const double half = w.r_hat[l];

            w.r_hat[l] = half - omega * product;
            if (i >= 0) {
                const double next = w.r[i] - omega * w.t[i];

                w.d[i] += alpha * w.p_hat[l] + omega * half;
                w.r[i] = next;
                squares[0] += next * next;
                squares[1] += next * w.shadow[i];
            }
        });
    return block.sync(squares, TESS_SCALAR_BICGSTAB_BETA) == TESS_LOOP_RUNNING;
}

/*
 * Three exchanges an iteration: D^-1 v with (r~, v); D^-1 t with (t, s), (t, t); (r, r), (r~, r) without a vector. What
 * is kept at all columns gets the same updates from every block.
 */
template <typename ROWS, typename TEAM>
__global__ static void GPU_LAUNCH_BOUNDS(SINGLE_THREADS, 1) bicgstab_kernel(const __grid_constant__ single_args a)
{
    SINGLE_OPEN_BLOCK(ROWS, TEAM, a);
    const bicgstab_vectors w = bicgstab_open(block, a);
    double alpha = 0.0;

    __syncthreads();
    if (block.team.state->phase != TESS_LOOP_RUNNING) { return block.leave(); } /* in all blocks */
    while (bicgstab_first_half(block, w, &alpha) && bicgstab_second_half(block, w, alpha)) {}
    __syncthreads();
    block.end(w.d);
}

template <typename ROWS>
static single_function bicgstab_of(bool cluster)
{
    return cluster ? bicgstab_kernel<ROWS, cluster_team> : bicgstab_kernel<ROWS, grid_team>;
}

#endif
