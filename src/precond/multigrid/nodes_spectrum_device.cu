/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest eigenvalue of D^-1 A on a GPU, by Lanczos as in aggregation_spectrum.c. Vectors stay as long as they
 * come: u_j = beta_j q_j and w_j = beta_j v_j, so that a step takes two kernels, and the host waits once, at the end.
 */
#include <math.h>

#include "device/gpu/reduce.cuh"
#include "precond/multigrid/aggregation.h"
#include "precond/multigrid/aggregation_passes.cuh"

namespace {

enum { STEPS = AGGREGATION_LANCZOS_STEPS, SPECTRUM_BLOCKS = 4, VECTORS = 4 };

/* beta[j]: the norm of u_j; alpha[j]. */
struct tridiagonal {
    double alpha[STEPS], beta[STEPS + 1];
};

struct lanczos {
    device_csr a;
    amg_device_nodes rows;
    int most_height;
    const double *inverse;  /* of D */
    double *u[3], *w;       /* u[j % 3] is u_j */
    double *sums, *squares; /* partial sums of (u, v) and of (w, u), one of each block */
    unsigned blocks;
    tridiagonal *t;
};

/* The sum of all blocks' partial sums, for all threads of the block. */
__device__ inline double sum_of_all(const double *partials, unsigned count)
{
    __shared__ double shared;
    double sum[1];

    sum_partials(partials, count, sum);
    if (threadIdx.x == 0) { shared = sum[0]; }
    __syncthreads();
    const double result = shared;

    __syncthreads();
    return result;
}

__device__ inline void put_partial(double value, double *partials)
{
    double sum[1] = {value};

    block_sum(sum);
    if (threadIdx.x == 0) { partials[blockIdx.x] = sum[0]; }
}

__device__ inline double divide(double value, double by)
{
    return by > 0.0 ? value / by : 0.0;
}

/* beta_j = sqrt((w_j, u_j)); u_j+1 := A v_j, and the parts of alpha_j = (u_j+1, v_j) */
__global__ void __launch_bounds__(GPU_BLOCK) multiply_kernel(const lanczos z, int j)
{
    const double square = sum_of_all(z.squares, z.blocks), beta = square > 0.0 ? sqrt(square) : 0.0;
    double *u = z.u[(j + 1) % 3], part = 0.0;

    if (blockIdx.x == 0 && threadIdx.x == 0) { z.t->beta[j] = beta; }
    for (int64_t base = first_team(); base - team_in_wave() < z.a.nrows; base += all_teams()) {
        const team_span row = open_span(z.a.nrows, z.a.row_ptr, base);
        double sum = 0.0;

        for (int32_t k = row.begin + row.lane; k < row.end; k += TEAM) {
            sum += z.a.val[k] * z.w[z.a.col_ind[k]];
        }
        for (int distance = TEAM / 2; distance > 0; distance /= 2) {
            sum += GPU_SHUFFLE_XOR(sum, distance);
        }
        if (row.row >= z.a.nrows || row.lane != 0) { continue; }
        u[row.row] = divide(sum, beta);
        part += divide(sum, beta) * divide(z.w[row.row], beta);
    }
    put_partial(part, z.sums);
}

/* w := D^-1 u of a node; returns (w, u) */
__device__ inline double solve_node(const lanczos &z, int64_t i, const double *u)
{
    const int64_t first = z.rows.first[i];
    const int height = node_width(z.rows, i);
    const double *block = z.inverse + first * z.most_height;
    double product = 0.0;

    for (int r = 0; r < height; r++) {
        double sum = 0.0;

        for (int c = 0; c < height; c++) {
            sum += block[r * height + c] * u[first + c];
        }
        z.w[first + r] = sum;
        product += sum * u[first + r];
    }
    return product;
}

/* u_j+1 -= alpha_j q_j + beta_j q_j-1; w := D^-1 u_j+1, and the parts of beta_j+1 = sqrt((w, u_j+1)). j < 0: the start,
   where u_0 is there. */
__global__ void __launch_bounds__(GPU_BLOCK) solve_kernel(const lanczos z, int j)
{
    const double alpha = j >= 0 ? sum_of_all(z.sums, z.blocks) : 0.0;
    const double beta = j >= 0 ? z.t->beta[j] : 0.0, before = j > 0 ? z.t->beta[j - 1] : 0.0;
    double *u = z.u[(j + 1) % 3], part = 0.0;

    if (j >= 0 && blockIdx.x == 0 && threadIdx.x == 0) { z.t->alpha[j] = alpha; }
    for (int64_t i = first_thread(); i < z.rows.count; i += all_threads()) {
        for (int32_t r = z.rows.first[i]; j >= 0 && r < z.rows.first[i + 1]; r++) {
            u[r] -= alpha * divide(z.u[j % 3][r], beta) + (j > 0 ? beta * divide(z.u[(j + 2) % 3][r], before) : 0.0);
        }
        part += solve_node(z, i, u);
    }
    put_partial(part, z.squares);
}

tess_status run_lanczos(tess_context *ctx, const lanczos &z, int steps, tridiagonal *out)
{
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ctx->backend->random(ctx, z.a.nrows, AGGREGATION_LANCZOS_SEED, -1.0, 1.0, z.u[0]));
    solve_kernel<<<z.blocks, GPU_BLOCK, 0, stream>>>(z, -1);
    for (int j = 0; j < steps; j++) {
        multiply_kernel<<<z.blocks, GPU_BLOCK, 0, stream>>>(z, j);
        solve_kernel<<<z.blocks, GPU_BLOCK, 0, stream>>>(z, j);
    }
    TESS_TRY(gpu_check_launch(ctx, "the spectrum of a level"));
    status = ctx->backend->download(ctx, out, z.t, sizeof *out);
cleanup:
    return status;
}

} // namespace

tess_status amg_nodes_estimate(tess_context *ctx, const device_csr *a, const amg_device_node_level *level,
                               const double *inverse, double *lambda)
{
    gpu_scope scope(ctx);
    const int64_t n = a->nrows;
    const int steps = n < STEPS ? static_cast<int>(n) : static_cast<int>(STEPS);
    const unsigned blocks = gpu_grid(ctx, n * TEAM, SPECTRUM_BLOCKS);
    const int64_t values = VECTORS * n + 2 * static_cast<int64_t>(blocks);
    lanczos z = {*a, level->rows, level->most_height, inverse, {}, nullptr, nullptr, nullptr, blocks, nullptr};
    tridiagonal found = {};
    double *work = nullptr;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, values, sizeof *work, reinterpret_cast<void **>(&work)));
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *z.t, reinterpret_cast<void **>(&z.t)));
    for (int k = 0; k < 3; k++) {
        z.u[k] = work + k * n;
    }
    z.w = work + 3 * n;
    z.sums = work + VECTORS * n;
    z.squares = z.sums + blocks;
    TESS_TRY(run_lanczos(ctx, z, steps, &found));
    *lambda = aggregation_largest(steps, found.alpha, found.beta + 1);
cleanup:
    tess_device_release(ctx, z.t, 1, sizeof *z.t);
    tess_device_release(ctx, work, values, sizeof *work);
    return status;
}
