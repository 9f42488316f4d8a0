/* SPDX-License-Identifier: Apache-2.0 */
/* Conjugate gradients with one reduction, in one kernel: cg_one_reduction.c has the equations,
 * solver/single_kernel/README.md what the blocks exchange. */
#include "device/gpu/gpu.h"

#if GPU_HAS_COOPERATIVE_GRIDS

#include "papers/one_reduction/one_reduction.h"
#include "papers/single_kernel/tile_rows.cuh"

/*
 * r := r_0 - A d and s := A p, then the residual update, and the copies of z and D^-1 s anew: two more exchanges.
 * `copy` is workspace at all columns and becomes that of D^-1 s. False: the solve is over.
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
    if (block.sync(none, TESS_SCALAR_NONE) != TESS_LOOP_RUNNING) { return false; }
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
    if (block.sync(none, TESS_SCALAR_NONE) != TESS_LOOP_RUNNING) { return false; }
    block.each_column([&](int l, int) {
        copy[l] = block.fetch(0, l);
        z[l] = block.fetch(1, l);
    });
    return true;
}

/*
 * One exchange an iteration: D^-1 w with (z, w), (r, r), (r, z), where w = A z. z and D^-1 s, s = A p, are kept at all
 * columns, and every block applies z -= alpha D^-1 s to them.
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
    tess_scalar_update scalar = TESS_SCALAR_CG_ALPHA_AT_ONCE;

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
        if (block.sync_ahead(dots, one_update(scalar), 0, &ahead) != TESS_LOOP_RUNNING) { break; }
        scalar = TESS_SCALAR_CG_AT_ONCE;
        const double alpha = state->alpha, beta = state->beta;
        const bool replaces = count % ONE_REDUCTION_REPLACE_EVERY == 0;

        /* p = z + beta p; s = w + beta s; d += alpha p; r -= alpha s; z -= alpha D^-1 s */
        block.each_exchanged(
            0, ahead, [&](int i) { return scale[i] * w[i]; },
            [&](int l, int i, double product) {
                const double here = z[l], scaled_s = product + beta * scaled[l];

                if (i >= 0) {
                    const double direction = here + beta * p[i];

                    p[i] = direction;
                    if (!replaces) {
                        const double next_s = w[i] + beta * s[i];

                        s[i] = next_s;
                        d[i] += alpha * direction;
                        r[i] -= alpha * next_s;
                    }
                }
                scaled[l] = scaled_s;
                z[l] = here - alpha * scaled_s;
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

template <typename ROWS>
static single_function kernel_of(bool cluster)
{
    return cluster ? cg_one_reduction_kernel<ROWS, cluster_team> : cg_one_reduction_kernel<ROWS, grid_team>;
}

single_function single_cg_one_reduction(tess_precision precision, bool cluster)
{
    return gpu_by_storage<single_storage>(precision, single_function(nullptr), [&](auto stored) {
        return kernel_of<csr_rows<typename decltype(stored)::type>>(cluster);
    });
}

single_function single_cg_one_reduction_tiles(bool cluster)
{
    return kernel_of<tile_rows<false>>(cluster);
}

#endif
