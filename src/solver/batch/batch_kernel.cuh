/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of batches: a block of threads for each system. The includer defines BATCH_HAS_OWN: whether the kernel can
 * have factors and a basis. One that cannot is as fast as if there were none: their code takes registers.
 */
#ifndef TESS_SOLVER_BATCH_BATCH_KERNEL_CUH
#define TESS_SOLVER_BATCH_BATCH_KERNEL_CUH

#include "device/gpu/gpu.h"
#include "device/gpu/reduce.cuh"

#include "solver/batch/batch.h"
#include "solver/batch/batch_launch.cuh"

#include <tessera/residual.h>

/* Places for sums over a block. */
enum { JOIN_PLACES = 64 };
/* The first bytes of what a block asks for; its vectors follow. */
enum { JOIN_BYTES = JOIN_PLACES * sizeof(tess_residual_sums) };
static_assert(JOIN_BYTES % sizeof(double2) == 0, "the vectors start aligned");

#define BATCH_FN __device__ static inline
#define BATCH_FIRST ((int32_t)threadIdx.x)
#define BATCH_STEP GPU_BLOCK
#define BATCH_LEADS (threadIdx.x == 0)
#define BATCH_BARRIER() __syncthreads()

__device__ static inline double batch_dot(int32_t n, const double *x, const double *y)
{
    double sum = 0.0;

    for (int32_t i = BATCH_FIRST; i < n; i += BATCH_STEP) {
        sum += x[i] * y[i];
    }
    return sum;
}

__device__ static inline void batch_sum(tess_loop_state *state, double first, double second)
{
    double sums[2] = {first, second};

    block_sum(sums);
    if (BATCH_LEADS) {
        state->dots[0] = sums[0];
        state->dots[1] = sums[1];
    }
}

/* A wave for each column. */
__device__ static inline void batch_project(int32_t n, const double *basis, int32_t columns, const double *v,
                                            double *out)
{
    const int32_t lane = (int32_t)threadIdx.x % GPU_WAVE;

    __syncthreads();
    for (int32_t k = (int32_t)threadIdx.x / GPU_WAVE; k <= columns; k += GPU_BLOCK / GPU_WAVE) {
        const double *column = k < columns ? basis + (int64_t)k * n : v;
        double sum = 0.0;

        for (int32_t i = lane; i < n; i += GPU_WAVE) {
            sum += column[i] * v[i];
        }
        sum = lanes_sum_down(sum, GPU_WAVE);
        if (lane == 0) { out[k] = sum; }
    }
    __syncthreads();
}

__device__ static inline void batch_remove(int32_t n, const double *basis, int32_t columns, const double *c, double *y)
{
    for (int32_t i = BATCH_FIRST; i < n; i += BATCH_STEP) {
        double rest = y[i];

        for (int32_t k = 0; k < columns; k++) {
            rest -= c[k] * basis[(int64_t)k * n + i];
        }
        y[i] = rest;
    }
}

/* In a fixed order: first the threads JOIN_PLACES apart, then by halves. */
__device__ static inline void batch_join(tess_residual_sums *sums)
{
    extern __shared__ double2 batch_shared[];
    tess_residual_sums *place = (tess_residual_sums *)batch_shared;
    const int at = (int)threadIdx.x % JOIN_PLACES;

    for (int group = 0; group < GPU_BLOCK / JOIN_PLACES; group++) {
        __syncthreads();
        if ((int)threadIdx.x / JOIN_PLACES != group) { continue; }
        if (group > 0) {
            tess_residual_sums_add(&place[at], sums);
        } else {
            place[at] = *sums;
        }
    }
    __syncthreads();
    for (int half = JOIN_PLACES / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) { tess_residual_sums_add(&place[at], &place[at + half]); }
        __syncthreads();
    }
    *sums = place[0];
}

__device__ static inline bool batch_is_stopped(void *, tess_loop_state *)
{
    return false;
}

#include "solver/batch/batch_body.h"

/* workspace: vectors of each block; NULL: they are in shared memory. own: factors and basis of each block. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    batch_kernel(batch_task task, double *workspace, double *own, int nvectors, batch_outcome *outcomes)
{
    extern __shared__ double2 batch_shared[];
    __shared__ tess_loop_state state;
#if BATCH_HAS_OWN
    __shared__ batch_small small;
#endif
    double *values =
        workspace ? workspace + (int64_t)blockIdx.x * nvectors * task.n : (double *)((char *)batch_shared + JOIN_BYTES);
    batch_work w;

    w.state = &state;
    w.team = NULL;
#if BATCH_HAS_OWN
    w.small = &small;
    w.factors = own + (int64_t)blockIdx.x * batch_own_values(&task);
    w.basis = w.factors + task.factor_values;
#else
    (void)own;
#endif
    for (int i = 0; i < BATCH_VECTORS; i++) {
        w.vector[i] = i < nvectors ? values + (int64_t)i * task.n : NULL;
    }
    for (int64_t s = blockIdx.x; s < task.systems; s += gridDim.x) {
        batch_solve_one(&task, s, &w, &outcomes[s]);
    }
}

static tess_status launch(tess_context *ctx, const batch_task *task, const batch_launch *l)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_allow_shared(ctx, (const void *)batch_kernel));
    status = gpu_launch(ctx, "a batch of systems", batch_kernel, l->blocks, (size_t)(JOIN_BYTES + l->shared_bytes),
                        *task, l->workspace, l->own, l->nvectors, l->found);
cleanup:
    return status;
}

#endif
