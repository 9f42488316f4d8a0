/* SPDX-License-Identifier: Apache-2.0 */
/* Conjugate gradients in one kernel: cg.c has the equations, README.md what the blocks exchange. */
#ifndef TESS_SOLVER_SINGLE_KERNEL_CG_KERNEL_CUH
#define TESS_SOLVER_SINGLE_KERNEL_CG_KERNEL_CUH

#include "solver/single_kernel/block.cuh"

/* ---- standard ---- */

/* Two exchanges an iteration: (p, A p); then z with (r, r), (r, z). p is kept at all columns. */
template <typename ROWS, typename TEAM>
__global__ static void GPU_LAUNCH_BOUNDS(SINGLE_THREADS, 1) cg_kernel(const __grid_constant__ single_args a)
{
    SINGLE_OPEN_BLOCK(ROWS, TEAM, a);
    double *p = block.copy(0), *r = block.vector(0), *d = block.vector(1), *q = block.vector(2);
    double *scale = block.vector(3);
    const tess_loop_state *s = block.team.state;
    typename decltype(block)::halo ahead;
    int phase = TESS_LOOP_RUNNING;

    block.gather(a.p, p);
    block.load(a.r, r);
    block.fill_rows(d, 0.0);
    block.load_scale(scale);
    block.mark(p, 0);
    __syncthreads();
    if (s->phase != TESS_LOOP_RUNNING) { return block.leave(); } /* in all blocks */
    while (phase == TESS_LOOP_RUNNING) {
        double curvature[1] = {0.0}, squares[2] = {0.0, 0.0};

        /* q = A p; alpha = rho / (p, q) */
        block.multiply(p, [&](int i, double sum) {
            q[i] = sum;
            curvature[0] += sum * p[block.own + i];
        });
        if (block.sync(curvature, TESS_SCALAR_CG_ALPHA) != TESS_LOOP_RUNNING) { break; }
        const double alpha = s->alpha;

        /* r -= alpha q; beta = (r, z)_new / (r, z) */
        block.each_row([&](int i) {
            const double next = r[i] - alpha * q[i], z = scale[i] * next;

            r[i] = next;
            block.publish(0, i, z);
            squares[0] += next * next;
            squares[1] += next * z;
        });
        phase = block.sync_ahead(squares, one_update(TESS_SCALAR_CG_BETA), 0, &ahead);
        if (phase == TESS_LOOP_STOPPED) { break; }
        const double beta = s->beta;
        const bool goes_on = phase == TESS_LOOP_RUNNING;

        /* d += alpha p; p = z + beta p */
        block.each_exchanged(
            0, ahead, [&](int i) { return scale[i] * r[i]; },
            [&](int l, int i, double z) {
                const double direction = p[l];

                if (i >= 0) { d[i] += alpha * direction; }
                if (goes_on) { p[l] = z + beta * direction; }
            });
        if (goes_on) { block.mark(p, 0); }
        __syncthreads();
    }
    __syncthreads();
    block.end(d);
}

/* ---- predict and recompute ---- */

/*
 * One exchange an iteration: s = A p with (p, s), (s, D^-1 s), (r, D^-1 s), (r, r) and, if there is a D (SCALED), (r,
 * z), with s times cg_product_scale in the second and third. r, p and D^-1 are kept at all columns, and every block
 * applies r -= alpha s, p = z + beta p to them. z = D^-1 r is not kept.
 */
template <bool SCALED, typename ROWS, typename TEAM>
__global__ static void GPU_LAUNCH_BOUNDS(SINGLE_THREADS, 1) cg_recomputing_kernel(const __grid_constant__ single_args a)
{
    SINGLE_OPEN_BLOCK(ROWS, TEAM, a);
    double *r = block.copy(0), *p = block.copy(1), *scale = block.copy(SCALED ? 2 : 0);
    double *d = block.vector(0), *s = block.vector(1);
    const tess_loop_state *state = block.team.state;
    typename decltype(block)::halo ahead;
    bool closes = false; /* this is not the first iteration */

    block.gather(a.r, r);
    block.gather(a.p, p);
    if (SCALED) { block.gather(a.scale, scale); }
    block.fill_rows(d, 0.0);
    __syncthreads();
    if (state->phase != TESS_LOOP_RUNNING) { return block.leave(); } /* in all blocks */
    for (;;) {
        const double in_range = cg_product_scale(state).factor;
        double dots[SCALED ? 5 : 4] = {};

        block.multiply(p, [&](int i, double sum) {
            const int l = block.own + i;
            const double residual = r[l], part = in_range * sum, scaled_s = SCALED ? scale[l] * part : part;

            s[i] = sum;
            block.publish(0, i, sum);
            dots[0] += p[l] * sum;
            dots[1] += part * scaled_s;
            dots[2] += residual * scaled_s;
            dots[3] += residual * residual;
            if constexpr (SCALED) { dots[4] += residual * (scale[l] * residual); }
        });
        const single_updates updates = {SCALED ? TESS_SCALAR_CG_PREDICT_AT_ONCE : TESS_SCALAR_CG_PREDICT_ALONE,
                                        SCALED ? TESS_SCALAR_CG_CLOSE_AT_ONCE : TESS_SCALAR_CG_CLOSE_ALONE, closes};

        if (block.sync_ahead(dots, updates, 0, &ahead) != TESS_LOOP_RUNNING) { break; }
        closes = true;
        const double alpha = state->alpha, beta = state->beta;

        /* d += alpha p; r -= alpha s; p = z + beta p */
        block.each_exchanged(
            0, ahead, [&](int i) { return s[i]; },
            [&](int l, int i, double product) {
                const double direction = p[l], next = r[l] - alpha * product;

                if (i >= 0) { d[i] += alpha * direction; }
                r[l] = next;
                p[l] = (SCALED ? scale[l] * next : next) + beta * direction;
            });
        __syncthreads();
    }
    __syncthreads();
    block.end(d);
}

/* ---- by name ---- */

template <typename ROWS, typename TEAM>
static single_function cg_with(single_method method)
{
    switch (method) {
    case SINGLE_CG: return cg_kernel<ROWS, TEAM>;
    case SINGLE_CG_RECOMPUTING: return cg_recomputing_kernel<false, ROWS, TEAM>;
    case SINGLE_CG_RECOMPUTING_JACOBI: return cg_recomputing_kernel<true, ROWS, TEAM>;
    default: return NULL;
    }
}

template <typename ROWS>
static single_function cg_of(single_method method, bool cluster)
{
    return cluster ? cg_with<ROWS, cluster_team>(method) : cg_with<ROWS, grid_team>(method);
}

#endif
