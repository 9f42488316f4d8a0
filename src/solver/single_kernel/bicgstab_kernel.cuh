/* SPDX-License-Identifier: Apache-2.0 */
/* BiCGSTAB in one kernel: bicgstab.c has the equations, README.md what the blocks exchange. */
#ifndef TESS_SOLVER_SINGLE_KERNEL_BICGSTAB_KERNEL_CUH
#define TESS_SOLVER_SINGLE_KERNEL_BICGSTAB_KERNEL_CUH

#include "solver/single_kernel/block.cuh"

/*
 * Three exchanges an iteration: D^-1 v with (r~, v); D^-1 t with (t, s), (t, t); (r, r), (r~, r) without a vector. r^ =
 * D^-1 r, which becomes s^ in between, p^ and v^ = D^-1 v are kept at all columns, and every block applies the same
 * updates to them.
 */
template <typename ROWS, typename TEAM>
__global__ static void GPU_LAUNCH_BOUNDS(SINGLE_THREADS, 1) bicgstab_kernel(const __grid_constant__ single_args a)
{
    SINGLE_OPEN_BLOCK(ROWS, TEAM, a);
    double *r_hat = block.copy(0), *p_hat = block.copy(1), *v_hat = block.copy(2);
    double *r = block.vector(0), *d = block.vector(1), *shadow = block.vector(2), *v = block.vector(3);
    double *t = block.vector(4), *scale = block.vector(5);
    const tess_loop_state *state = block.team.state;
    typename decltype(block)::halo ahead;
    const int32_t *column = a.plan.column + a.plan.column_begin[blockIdx.x];

    block.each_column([&](int l, int) {
        r_hat[l] = a.scale ? a.scale[column[l]] * a.r[column[l]] : a.r[column[l]];
        p_hat[l] = 0.0;
        v_hat[l] = 0.0;
    });
    block.load(a.r, r);
    block.load(a.shadow, shadow);
    block.fill_rows(d, 0.0);
    block.load_scale(scale);
    __syncthreads();
    if (state->phase != TESS_LOOP_RUNNING) { return block.leave(); } /* in all blocks */
    for (;;) {
        double projection[1] = {0.0}, products[2] = {0.0, 0.0}, squares[2] = {0.0, 0.0};
        const double beta = state->beta, before = state->omega;

        /* p^ = r^ + beta (p^ - omega v^) */
        block.each_column([&](int l, int) { p_hat[l] = r_hat[l] + beta * (p_hat[l] - before * v_hat[l]); });
        block.mark(p_hat, 0);
        __syncthreads();
        /* v = A p^; alpha = rho / (r~, v) */
        block.multiply(p_hat, [&](int i, double sum) {
            v[i] = sum;
            block.publish(0, i, scale[i] * sum);
            projection[0] += sum * shadow[i];
        });
        if (block.sync_ahead(projection, one_update(TESS_SCALAR_BICGSTAB_ALPHA), 0, &ahead) != TESS_LOOP_RUNNING) {
            break;
        }
        const double alpha = state->alpha;

        /* s = r - alpha v, kept in r */
        block.each_exchanged(
            0, ahead, [&](int i) { return scale[i] * v[i]; },
            [&](int l, int i, double product) {
                v_hat[l] = product;
                r_hat[l] -= alpha * product;
                if (i >= 0) { r[i] -= alpha * v[i]; }
            });
        block.mark(r_hat, 1);
        __syncthreads();
        /* t = A s^; omega = (t, s) / (t, t) */
        block.multiply(r_hat, [&](int i, double sum) {
            t[i] = sum;
            block.publish(0, i, scale[i] * sum);
            products[0] += sum * r[i];
            products[1] += sum * sum;
        });
        if (block.sync_ahead(products, one_update(TESS_SCALAR_BICGSTAB_OMEGA), 0, &ahead) != TESS_LOOP_RUNNING) {
            break;
        }
        const double omega = state->omega;

        /* d += alpha p^ + omega s^; r = s - omega t; rho = (r~, r) */
        block.each_exchanged(
            0, ahead, [&](int i) { return scale[i] * t[i]; },
            [&](int l, int i, double product) {
                const double half = r_hat[l];

                r_hat[l] = half - omega * product;
                if (i >= 0) {
                    const double next = r[i] - omega * t[i];

                    d[i] += alpha * p_hat[l] + omega * half;
                    r[i] = next;
                    squares[0] += next * next;
                    squares[1] += next * shadow[i];
                }
            });
        if (block.sync(squares, TESS_SCALAR_BICGSTAB_BETA) != TESS_LOOP_RUNNING) { break; }
    }
    __syncthreads();
    block.end(d);
}

template <typename ROWS>
static single_function bicgstab_of(bool cluster)
{
    return cluster ? bicgstab_kernel<ROWS, cluster_team> : bicgstab_kernel<ROWS, grid_team>;
}

#endif
