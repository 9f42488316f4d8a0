/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest eigenvalue of D^-1 A on a GPU, by Lanczos as in spectrum.c; with D = S^-2 that of S A S, for
 * many levels at once. Vectors stay as long as they come: u_j = beta_j q_j and w_j = beta_j v_j, so that a step takes
 * two kernels, and the host waits once, at the end.
 */
#include <math.h>

#include "device/gpu/reduce.cuh"
#include "device/gpu/wave_sums.cuh"
#include "precond/multigrid/aggregation/aggregation.h"
#include "precond/multigrid/aggregation/passes_device.cuh"

namespace {

enum { STEPS = AMG_DEVICE_LANCZOS_STEPS, SPECTRUM_BLOCKS = 4, VECTORS = 4, AT_ONCE = 8 };

static_assert((int)STEPS == (int)AGGREGATION_LANCZOS_STEPS, "the steps of the host");

struct lanczos {
    device_csr a;
    const double *s, *start; /* D = S^-2, and S^-1; s NULL: D has blocks */
    amg_device_nodes rows;
    int most_height;
    const double *inverse;  /* of D's blocks */
    double *u[3], *w;       /* u[j % 3] is u_j */
    double *sums, *squares; /* partial sums of (u, v) and of (w, u), one of each block */
    unsigned blocks;        /* that work on it */
    amg_device_tridiagonal *t;
};

/* Levels that a launch works on: one for each y. */
struct batch {
    lanczos of[AT_ONCE];
    int count;
};

__device__ inline int64_t threads_of(const lanczos &z)
{
    return static_cast<int64_t>(z.blocks) * GPU_BLOCK;
}

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

/* beta_j = sqrt((w_j, u_j)); u_j+1 := A v_j, and the parts of alpha_j = (u_j+1, v_j). For a negative D, with -D. */
__device__ inline void multiply(const lanczos &z, int j)
{
    const double square = sum_of_all(z.squares, z.blocks);
    const double sign = j > 0 ? z.t->sign : square < 0.0 ? -1.0 : 1.0;
    const double beta = sign * square > 0.0 ? sqrt(sign * square) : 0.0;
    double *u = z.u[(j + 1) % 3], part = 0.0;

    if (blockIdx.x == 0 && threadIdx.x == 0) {
        z.t->beta[j] = beta;
        if (j == 0) { z.t->sign = sign; }
    }
    for (int64_t base = first_team(); base - team_in_wave() < z.a.nrows; base += all_teams()) {
        const team_span row = open_span(z.a.nrows, z.a.row_ptr, base);
        double sum = 0.0;

        for (int32_t k = row.begin + row.lane; k < row.end; k += TEAM) {
            sum += z.a.val[k] * z.w[z.a.col_ind[k]];
        }
        sum = lanes_sum(sum, TEAM);
        if (row.row >= z.a.nrows || row.lane != 0) { continue; }
        u[row.row] = divide(sum, beta);
        part += divide(sum, beta) * divide(z.w[row.row], beta);
    }
    put_partial(sign * part, z.sums);
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

/* The same of a row. */
__device__ inline double solve_row(const lanczos &z, int64_t row, const double *u)
{
    const double w = z.s[row] * (z.s[row] * u[row]);

    z.w[row] = w;
    return w * u[row];
}

/* u_j+1 -= alpha_j q_j + beta_j q_j-1; w := D^-1 u_j+1, and the parts of beta_j+1 = sqrt((w, u_j+1)). j < 0: the start,
   where u_0 is there but for its scale. */
__device__ inline void solve(const lanczos &z, int j)
{
    const double alpha = j >= 0 ? sum_of_all(z.sums, z.blocks) : 0.0;
    const double beta = j >= 0 ? z.t->beta[j] : 0.0, before = j > 0 ? z.t->beta[j - 1] : 0.0;
    double *u = z.u[(j + 1) % 3], part = 0.0;

    if (j >= 0 && blockIdx.x == 0 && threadIdx.x == 0) { z.t->alpha[j] = alpha; }
    for (int64_t i = first_thread(); i < (z.s ? z.a.nrows : z.rows.count); i += threads_of(z)) {
        const int64_t first = z.s ? i : z.rows.first[i], end = z.s ? i + 1 : z.rows.first[i + 1];

        for (int64_t r = first; j >= 0 && r < end; r++) {
            u[r] -= alpha * divide(z.u[j % 3][r], beta) + (j > 0 ? beta * divide(z.u[(j + 2) % 3][r], before) : 0.0);
        }
        if (j < 0 && z.s) { u[i] *= z.start[i]; }
        part += z.s ? solve_row(z, i, u) : solve_node(z, i, u);
    }
    put_partial(part, z.squares);
}

__global__ void __launch_bounds__(GPU_BLOCK) multiply_kernel(const batch b, int j)
{
    const lanczos &z = b.of[blockIdx.y];

    if (blockIdx.x < z.blocks) { multiply(z, j); }
}

__global__ void __launch_bounds__(GPU_BLOCK) solve_kernel(const batch b, int j)
{
    const lanczos &z = b.of[blockIdx.y];

    if (blockIdx.x < z.blocks) { solve(z, j); }
}

unsigned blocks_for(const tess_context *ctx, int64_t n)
{
    return gpu_grid(ctx, n * TEAM, SPECTRUM_BLOCKS);
}

int64_t values_for(const tess_context *ctx, int64_t n)
{
    return VECTORS * n + 2 * static_cast<int64_t>(blocks_for(ctx, n));
}

void take_work(const tess_context *ctx, double *work, lanczos *z)
{
    const int64_t n = z->a.nrows;

    z->blocks = blocks_for(ctx, n);
    for (int k = 0; k < 3; k++) {
        z->u[k] = work + k * n;
    }
    z->w = work + 3 * n;
    z->sums = work + VECTORS * n;
    z->squares = z->sums + z->blocks;
}

tess_status run_lanczos(tess_context *ctx, const batch &b, uint64_t seed)
{
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    dim3 grid(1, static_cast<unsigned>(b.count));
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < b.count; k++) {
        const lanczos &z = b.of[k];

        TESS_TRY(ctx->backend->random(ctx, z.a.nrows, seed, -1.0, 1.0, z.u[0]));
        grid.x = z.blocks > grid.x ? z.blocks : grid.x;
    }
    solve_kernel<<<grid, GPU_BLOCK, 0, stream>>>(b, -1);
    for (int j = 0; j < STEPS; j++) {
        multiply_kernel<<<grid, GPU_BLOCK, 0, stream>>>(b, j);
        solve_kernel<<<grid, GPU_BLOCK, 0, stream>>>(b, j);
    }
    status = gpu_check_launch(ctx, "spectra of levels");
cleanup:
    return status;
}

double largest_of(int64_t n, amg_device_tridiagonal *t)
{
    return aggregation_largest(n < STEPS ? static_cast<int>(n) : static_cast<int>(STEPS), t->alpha, t->beta + 1);
}

/* Up to AT_ONCE levels. */
tess_status estimate_some(tess_context *ctx, int count, const amg_device_level *level, const amg_device_scale *scale,
                          uint64_t seed, amg_device_tridiagonal *found)
{
    batch b = {};
    double *work = nullptr, *next = nullptr;
    int64_t values = 0;
    tess_status status = TESS_SUCCESS;

    for (int l = 0; l < count; l++) {
        values += values_for(ctx, level[l].a.nrows);
    }
    TESS_TRY(tess_device_allocate(ctx, values, sizeof *work, reinterpret_cast<void **>(&work)));
    next = work;
    for (int l = 0; l < count; l++) {
        lanczos *z = &b.of[b.count];

        if (level[l].a.nrows == 0) { continue; }
        z->a = level[l].a;
        z->s = scale[l].s;
        z->start = scale[l].inverse;
        z->t = found + l;
        take_work(ctx, next, z);
        next += values_for(ctx, level[l].a.nrows);
        b.count++;
    }
    if (b.count > 0) { status = run_lanczos(ctx, b, seed); }
cleanup:
    tess_device_release(ctx, work, values, sizeof *work);
    return status;
}

} // namespace

tess_status amg_device_estimate_spectra(tess_context *ctx, int count, const amg_device_level *level,
                                        const amg_device_scale *scale, uint64_t seed, amg_device_tridiagonal *found)
{
    gpu_scope scope(ctx);
    tess_status status = TESS_SUCCESS;

    for (int l = 0; l < count; l += AT_ONCE) {
        const int some = count - l < AT_ONCE ? count - l : static_cast<int>(AT_ONCE);

        TESS_TRY(estimate_some(ctx, some, level + l, scale + l, seed, found + l));
    }
cleanup:
    return status;
}

tess_status amg_device_read_spectra(tess_context *ctx, int count, const amg_device_level *level,
                                    const amg_device_tridiagonal *found, double *largest)
{
    amg_device_tridiagonal copies[TESS_MAX_AMG_LEVELS];
    const tess_status status = ctx->backend->download(ctx, copies, found, static_cast<size_t>(count) * sizeof *copies);

    for (int l = 0; l < count && status == TESS_SUCCESS; l++) {
        largest[l] = level[l].a.nrows > 0 ? largest_of(level[l].a.nrows, &copies[l]) : 0.0;
    }
    return status;
}

tess_status amg_nodes_estimate(tess_context *ctx, const device_csr *a, const amg_device_node_level *level,
                               const double *inverse, double *lambda)
{
    gpu_scope scope(ctx);
    const int64_t n = a->nrows, values = values_for(ctx, n);
    batch b = {};
    lanczos *z = &b.of[0];
    amg_device_tridiagonal found = {};
    double *work = nullptr;
    tess_status status = TESS_SUCCESS;

    b.count = 1;
    z->a = *a;
    z->rows = level->rows;
    z->most_height = level->most_height;
    z->inverse = inverse;
    TESS_TRY(tess_device_allocate(ctx, values, sizeof *work, reinterpret_cast<void **>(&work)));
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *z->t, reinterpret_cast<void **>(&z->t)));
    take_work(ctx, work, z);
    TESS_TRY(run_lanczos(ctx, b, AGGREGATION_LANCZOS_SEED));
    TESS_TRY(ctx->backend->download(ctx, &found, z->t, sizeof found));
    *lambda = largest_of(n, &found);
cleanup:
    tess_device_release(ctx, z->t, 1, sizeof *z->t);
    tess_device_release(ctx, work, values, sizeof *work);
    return status;
}
