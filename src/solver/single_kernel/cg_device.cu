/* SPDX-License-Identifier: Apache-2.0 */
/* Conjugate gradients in one kernel: cg.c and cg_one_reduction.c have the equations, README.md what the blocks exchange. */
#include "device/gpu/gpu.h"

#if GPU_HAS_RESIDENT_GRIDS

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
        if (block.sync(curvature, TESS_STEP_CG_ALPHA) != TESS_LOOP_RUNNING) { break; }
        const double alpha = s->alpha;

        /* r -= alpha q; beta = (r, z)_new / (r, z) */
        block.each_row([&](int i) {
            const double next = r[i] - alpha * q[i], z = scale[i] * next;

            r[i] = next;
            block.publish(0, i, z);
            squares[0] += next * next;
            squares[1] += next * z;
        });
        phase = block.sync_ahead(squares, one_step(TESS_STEP_CG_BETA), 0, &ahead);
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

/* ---- one reduction ---- */

/*
 * r := r_0 - A d and s := A p, then the residual update, and the copies of z and D^-1 s anew: two more exchanges. `copy` is room
 * at all columns and becomes that of D^-1 s. False: the solve is over.
 */
template <typename ROWS, typename TEAM>
__device__ static __forceinline__ bool replace_residual(single_block<ROWS, TEAM> &block, double alpha, double *copy,
                                                        double *z)
{
    double *r = block.vector(0), *d = block.vector(1), *p = block.vector(2), *s = block.vector(3);
    const double *scale = block.vector(5);
    double none[1] = {0.0};

    block.each_row([&](int i) {
        block.publish(0, i, d[i]);
        block.publish(1, i, p[i]);
    });
    if (block.sync(none, TESS_STEP_NONE) != TESS_LOOP_RUNNING) { return false; }
    block.each_column([&](int l, int) { copy[l] = block.fetch(0, l); });
    __syncthreads();
    block.multiply(copy, [&](int i, double sum) { r[i] = block.a.r[block.first + i] - sum; });
    __syncthreads();
    block.each_column([&](int l, int) { copy[l] = block.fetch(1, l); });
    __syncthreads();
    block.multiply(copy, [&](int i, double sum) {
        const double next = r[i] - alpha * sum;

        s[i] = sum;
        r[i] = next;
        d[i] += alpha * p[i];
        block.publish(0, i, scale[i] * sum);
        block.publish(1, i, scale[i] * next);
    });
    none[0] = 0.0;
    if (block.sync(none, TESS_STEP_NONE) != TESS_LOOP_RUNNING) { return false; }
    block.each_column([&](int l, int) {
        copy[l] = block.fetch(0, l);
        z[l] = block.fetch(1, l);
    });
    return true;
}

/*
 * One exchange an iteration: D^-1 w with (z, w), (r, r), (r, z), where w = A z. z and D^-1 s, s = A p, are kept at all columns, and
 * every block applies z -= alpha D^-1 s to them.
 */
template <typename ROWS, typename TEAM>
__global__ static void GPU_LAUNCH_BOUNDS(SINGLE_THREADS, 1)
    cg_one_reduction_kernel(const __grid_constant__ single_args a)
{
    SINGLE_OPEN_BLOCK(ROWS, TEAM, a);
    double *z = block.copy(0), *scaled = block.copy(1);
    double *r = block.vector(0), *d = block.vector(1), *p = block.vector(2), *s = block.vector(3);
    double *w = block.vector(4), *scale = block.vector(5);
    const tess_loop_state *state = block.team.state;
    typename decltype(block)::halo ahead;
    tess_step step = TESS_STEP_CG_ALPHA_AT_ONCE;

    block.gather(a.p, z);
    block.fill_columns(scaled, 0.0);
    block.load(a.r, r);
    block.fill_rows(d, 0.0);
    block.fill_rows(p, 0.0);
    block.fill_rows(s, 0.0);
    block.load_scale(scale);
    __syncthreads();
    if (state->phase != TESS_LOOP_RUNNING) { return block.leave(); } /* in all blocks */
    for (int64_t count = 1;; count++) {
        double dots[3] = {0.0, 0.0, 0.0};

        /* w = A z; (z, w), (r, r), (r, z) */
        block.multiply(z, [&](int i, double sum) {
            const double residual = r[i], here = z[block.own + i];

            w[i] = sum;
            block.publish(0, i, scale[i] * sum);
            dots[0] += sum * here;
            dots[1] += residual * residual;
            dots[2] += residual * here;
        });
        if (block.sync_ahead(dots, one_step(step), 0, &ahead) != TESS_LOOP_RUNNING) { break; }
        step = TESS_STEP_CG_AT_ONCE;
        const double alpha = state->alpha, beta = state->beta;
        const bool replaces = count % SINGLE_REPLACE_EVERY == 0;

        /* p = z + beta p; s = w + beta s; d += alpha p; r -= alpha s; z -= alpha D^-1 s */
        block.each_exchanged(
            0, ahead, [&](int i) { return scale[i] * w[i]; },
            [&](int l, int i, double product) {
                const double here = z[l], image = product + beta * scaled[l];

                if (i >= 0) {
                    const double direction = here + beta * p[i];

                    p[i] = direction;
                    if (!replaces) {
                        const double step_image = w[i] + beta * s[i];

                        s[i] = step_image;
                        d[i] += alpha * direction;
                        r[i] -= alpha * step_image;
                    }
                }
                scaled[l] = image;
                z[l] = here - alpha * image;
            });
        if (replaces) {
            __syncthreads();
            if (!replace_residual(block, alpha, scaled, z)) { break; }
        }
        __syncthreads();
    }
    __syncthreads();
    block.end(d);
}

/* ---- predict and recompute ---- */

/*
 * One exchange an iteration: s = A p with (p, s), (s, D^-1 s), (r, D^-1 s), (r, r) and, where there is a D (SCALED), (r, z), s times cg_image_scale
 * in the second and third. r, p and D^-1 are kept at all columns, and every block applies r -= alpha s, p = z + beta p to them. z = D^-1 r is not kept.
 */
template <bool SCALED, typename ROWS, typename TEAM>
__global__ static void GPU_LAUNCH_BOUNDS(SINGLE_THREADS, 1) cg_recomputing_kernel(const __grid_constant__ single_args a)
{
    SINGLE_OPEN_BLOCK(ROWS, TEAM, a);
    double *r = block.copy(0), *p = block.copy(1), *scale = block.copy(SCALED ? 2 : 0);
    double *d = block.vector(0), *s = block.vector(1);
    const tess_loop_state *state = block.team.state;
    typename decltype(block)::halo ahead;
    bool closes = false; /* an iteration has been before */

    block.gather(a.r, r);
    block.gather(a.p, p);
    if (SCALED) { block.gather(a.scale, scale); }
    block.fill_rows(d, 0.0);
    __syncthreads();
    if (state->phase != TESS_LOOP_RUNNING) { return block.leave(); } /* in all blocks */
    for (;;) {
        const double in_range = cg_image_scale(state).factor;
        double dots[SCALED ? 5 : 4] = {};

        block.multiply(p, [&](int i, double sum) {
            const int l = block.own + i;
            const double residual = r[l], part = in_range * sum, image = SCALED ? scale[l] * part : part;

            s[i] = sum;
            block.publish(0, i, sum);
            dots[0] += p[l] * sum;
            dots[1] += part * image;
            dots[2] += residual * image;
            dots[3] += residual * residual;
            if constexpr (SCALED) { dots[4] += residual * (scale[l] * residual); }
        });
        const single_steps steps = {SCALED ? TESS_STEP_CG_PREDICT_AT_ONCE : TESS_STEP_CG_PREDICT_ALONE,
                                    SCALED ? TESS_STEP_CG_CLOSE_AT_ONCE : TESS_STEP_CG_CLOSE_ALONE, closes};

        if (block.sync_ahead(dots, steps, 0, &ahead) != TESS_LOOP_RUNNING) { break; }
        closes = true;
        const double alpha = state->alpha, beta = state->beta;

        /* d += alpha p; r -= alpha s; p = z + beta p */
        block.each_exchanged(
            0, ahead, [&](int i) { return s[i]; },
            [&](int l, int i, double image) {
                const double direction = p[l], next = r[l] - alpha * image;

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
static single_function kernel_with(single_method method)
{
    switch (method) {
    case SINGLE_CG: return cg_kernel<ROWS, TEAM>;
    case SINGLE_CG_ONE_REDUCTION: return cg_one_reduction_kernel<ROWS, TEAM>;
    case SINGLE_CG_RECOMPUTING: return cg_recomputing_kernel<false, ROWS, TEAM>;
    case SINGLE_CG_RECOMPUTING_JACOBI: return cg_recomputing_kernel<true, ROWS, TEAM>;
    case SINGLE_BICGSTAB: break;
    }
    return NULL;
}

template <typename ROWS>
static single_function kernel_of(single_method method, bool cluster)
{
    return cluster ? kernel_with<ROWS, cluster_team>(method) : kernel_with<ROWS, grid_team>(method);
}

single_function single_cg_function(single_method method, tess_precision precision, bool cluster)
{
    switch (precision) {
#define CASE(STORED, NAME) \
    case TESS_PRECISION_##NAME: return kernel_of<csr_rows<STORED>>(method, cluster);
        SINGLE_TYPES(CASE)
#undef CASE
    default: return NULL;
    }
}

single_function single_cg_tiles_function(single_method method, bool narrowed, bool cluster)
{
    if (!narrowed) { return kernel_of<tile_rows<false>>(method, cluster); }
    if (method != SINGLE_CG) { return NULL; }
    return cluster ? cg_kernel<tile_rows<true>, cluster_team> : cg_kernel<tile_rows<true>, grid_team>;
}

#endif
