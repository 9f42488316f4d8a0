/* SPDX-License-Identifier: Apache-2.0 */
/* Batches on a GPU: one launch, a block of threads for each system; its vectors are in shared memory, or, where they do
   not fit, in global memory, and then blocks solve several systems one after another. */
#include "device/gpu/gpu.h"
#include "device/gpu/reduce.cuh"

#include "solver/batch/batch.h"

#include <tessera/residual.h>

/* Places for sums over a block; blocks per multiprocessor with vectors in global memory; systems of a launch for each
   multiprocessor where somebody may end the batch. */
enum { JOIN_PLACES = 64, GLOBAL_BLOCKS = 4, WATCHED_SYSTEMS = 32 };
/* The same where vectors are in shared memory, and factors or a basis in global memory; about the most bytes of them.
 */
enum { OWN_BLOCKS = 8 };
constexpr int64_t OWN_BYTES = INT64_C(1) << 31;
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
    __shared__ batch_small small;
    double *values =
        workspace ? workspace + (int64_t)blockIdx.x * nvectors * task.n : (double *)((char *)batch_shared + JOIN_BYTES);
    batch_work w;

    w.state = &state;
    w.small = &small;
    w.team = NULL;
    w.factors = own + (int64_t)blockIdx.x * batch_own_values(&task);
    w.basis = w.factors + task.factor_values;
    for (int i = 0; i < BATCH_VECTORS; i++) {
        w.vector[i] = i < nvectors ? values + (int64_t)i * task.n : NULL;
    }
    for (int64_t s = blockIdx.x; s < task.systems; s += gridDim.x) {
        batch_solve_one(&task, s, &w, &outcomes[s]);
    }
}

/* Global memory bounds the blocks, where they have any; each multiprocessor has one. */
static unsigned blocks_of(const tess_context *ctx, const batch_task *task, bool shared, int64_t values)
{
    const int64_t multiprocessors = gpu_state_of(ctx)->multiprocessors;
    int64_t most = shared ? INT32_MAX : multiprocessors * GLOBAL_BLOCKS;

    if (batch_own_values(task) > 0) {
        const int64_t resident = multiprocessors * (shared ? OWN_BLOCKS : GLOBAL_BLOCKS);
        const int64_t fitting = OWN_BYTES / (values * (int64_t)sizeof(double));

        most = resident < fitting ? resident : fitting;
        if (most < multiprocessors) { most = multiprocessors; }
    }
    return (unsigned)(task->systems < most ? task->systems : most);
}

static tess_status solve(tess_context *ctx, const batch_task *task, batch_outcome *outcomes)
{
    gpu_scope scope(ctx);
    const bool short_step = task->method == BATCH_CG || task->method == BATCH_GMRES;
    const int nvectors = short_step ? (int)BATCH_CG_VECTORS : (int)BATCH_VECTORS;
    const int64_t values = (int64_t)nvectors * task->n, bytes = values * (int64_t)sizeof(double);
    const bool shared = JOIN_BYTES + bytes <= gpu_state_of(ctx)->shared_bytes_per_block - GPU_STATIC_SHARED;
    const int64_t own_values = batch_own_values(task);
    const unsigned blocks = blocks_of(ctx, task, shared, own_values + (shared ? 0 : values));
    double *workspace = NULL, *own = NULL;
    batch_outcome *found = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, task->systems, sizeof *found, (void **)&found));
    if (!shared) { TESS_TRY(tess_device_allocate(ctx, blocks * values, sizeof *workspace, (void **)&workspace)); }
    if (own_values > 0) { TESS_TRY(tess_device_allocate(ctx, blocks * own_values, sizeof *own, (void **)&own)); }
    TESS_TRY(gpu_allow_shared(ctx, (const void *)batch_kernel));
    TESS_TRY(gpu_launch(ctx, "a batch of systems", batch_kernel, blocks, (size_t)(JOIN_BYTES + (shared ? bytes : 0)),
                        *task, workspace, own, nvectors, found));
    status = ctx->backend->download(ctx, outcomes, found, (size_t)task->systems * sizeof *outcomes);
cleanup:
    tess_device_release(ctx, found, task->systems, sizeof *found);
    tess_device_release(ctx, workspace, blocks * values, sizeof *workspace);
    tess_device_release(ctx, own, blocks * own_values, sizeof *own);
    return status;
}

static int64_t watched(const tess_context *ctx)
{
    return (int64_t)gpu_state_of(ctx)->multiprocessors * WATCHED_SYSTEMS;
}

extern "C" const batch_ops *batch_gpu_ops(void)
{
    static const batch_ops table = {solve, watched};

    return &table;
}
