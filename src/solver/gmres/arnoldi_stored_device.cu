/* SPDX-License-Identifier: Apache-2.0 */
/* The sweeps of Arnoldi's process over a basis of one precision (arnoldi_device.cu describes them). Compiled separately
   for each precision. */
#include "solver/gmres/arnoldi_rows.cuh"

/* A sweep of CGS2 or the last one: KIND is the operation on its rows of w, of the type C. Coefficients of stored
   columns are in small.remove, those of COMBINE in small.y. */
template <typename S, typename C, sweep_kind KIND>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (KIND == CORRECT ? KEEP_BLOCKS : SWEEP_BLOCKS))
    sweep_kernel(const sweep_task task, const loop_predicate predicate)
{
    constexpr int V = rows_of_thread<S>(), TILE = GPU_BLOCK * V;
    extern __shared__ __align__(16) double shared[];
    const tess_arnoldi &a = task.a;
    double *const found = shared;
    tess_scalars scalars;
    double square[1] = {0.0}, divisor = 1.0;
    int columns;

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
    columns = KIND == COMBINE ? *a.small.last : *a.small.last + 1;
    row_pack<S> *const keep = (row_pack<S> *)(void *)(shared + WAVES * columns) + threadIdx.x;
    const int kept = KIND == CORRECT ? task.kept : 0;

    if (KIND == PROJECT || KIND == CORRECT) { clear_sums(found, columns); }
    if (KIND == APPEND) { divisor = find_divisor(a.small, columns); }
    __syncthreads();
    for (int64_t row = (int64_t)blockIdx.x * TILE + threadIdx.x * V; row < a.ld; row += (int64_t)gridDim.x * TILE) {
        const S *column = (const S *)a.basis + row;
        C w[V] = {};

        if (KIND != COMBINE) { load_rows(a.w, row, a.n, w); }
        if (KIND != PROJECT) {
            subtract_columns(column, a.ld, KIND == COMBINE ? a.small.y : a.small.remove, columns, w, keep, kept);
        }
        if (KIND == CORRECT) { store_rows(a.w, row, a.n, w); }
        if (KIND == COMBINE) { store_rows(a.sum, row, a.n, w); }
        if (KIND == PROJECT || KIND == CORRECT) {
            project_columns(column, a.ld, columns, w, keep, kept, found + (int)threadIdx.x / GPU_WAVE * columns);
        }
#pragma unroll
        for (int v = 0; v < V; v++) {
            square[0] += (double)w[v] * (double)w[v];
        }
        if (KIND == APPEND) {
#pragma unroll
            for (int v = 0; v < V; v++) {
                w[v] /= (C)divisor;
            }
            store_rows(a.vector, row, a.n, w);
            store_column<S>(a, columns, row, w);
        }
    }
    if (KIND == COMBINE) { return; }
    if (KIND == APPEND) { columns = 0; }
    leave_sums(task, columns, found, square);
}

/* Delayed: all sums of an iteration. */
template <typename S, typename C>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (blocks_of_both(sizeof(S), sizeof(C))))
    project_both_kernel(const sweep_task task, const loop_predicate predicate)
{
    constexpr int V = rows_of_thread<S>(), TILE = GPU_BLOCK * V;
    extern __shared__ __align__(16) double shared[];
    const tess_arnoldi &a = task.a;
    tess_scalars scalars;
    double square[3] = {0.0, 0.0, 0.0};
    int columns;

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
    columns = *a.small.stored;
    clear_sums(shared, 2 * columns);
    __syncthreads();
    for (int64_t row = (int64_t)blockIdx.x * TILE + threadIdx.x * V; row < a.ld; row += (int64_t)gridDim.x * TILE) {
        C x[V], w[V];

        load_rows(a.vector, row, a.n, x);
        load_rows(a.w, row, a.n, w);
        project_both((const S *)a.basis + row, a.ld, columns, x, w, shared + (int)threadIdx.x / GPU_WAVE * 2 * columns);
#pragma unroll
        for (int v = 0; v < V; v++) {
            square[0] += (double)x[v] * (double)x[v];
            square[1] += (double)x[v] * (double)w[v];
            square[2] += (double)w[v] * (double)w[v];
        }
    }
    leave_sums(task, 2 * columns, shared, square);
}

/* Delayed: q, finished, is stored; w becomes the next u. */
template <typename S, typename C>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, SWEEP_BLOCKS)
    finish_both_kernel(const sweep_task task, const loop_predicate predicate)
{
    constexpr int V = rows_of_thread<S>(), TILE = GPU_BLOCK * V;
    const tess_arnoldi &a = task.a;
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
    const int columns = *a.small.stored - 1;
    const C alpha = (C)a.small.carried[ARNOLDI_ALPHA], nu = (C)a.small.carried[ARNOLDI_NU];
    const C along = (C)a.small.first[columns];

    for (int64_t row = (int64_t)blockIdx.x * TILE + threadIdx.x * V; row < a.ld; row += (int64_t)gridDim.x * TILE) {
        C x[V], w[V];

        load_rows(a.vector, row, a.n, x);
        load_rows(a.w, row, a.n, w);
        subtract_both((const S *)a.basis + row, a.ld, a.small.remove, a.small.most, columns, x, w);
#pragma unroll
        for (int v = 0; v < V; v++) {
            x[v] /= alpha;
            w[v] = (w[v] - along * x[v]) / nu;
        }
        store_column<S>(a, columns, row, x);
        store_rows(a.vector, row, a.n, w);
    }
}

/* The start of a cycle: the residual over its norm; CGS2 has its first column then. */
template <typename S, typename C>
__global__ static void __launch_bounds__(GPU_BLOCK) begin_kernel(const tess_arnoldi a)
{
    constexpr int V = rows_of_thread<S>(), TILE = GPU_BLOCK * V;

    GPU_WAIT_FOR_PREVIOUS();
    GPU_LET_NEXT_START();
    const double norm = a.state->residual_norm;

    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *a.small.last = 0;
        *a.small.stored = 0;
        a.small.g[0] = norm;
        a.small.unit[0] = 1.0;
        a.small.scale[0] = ldexp(1.0, -arnoldi_exponent(a.precision));
    }
    for (int64_t row = (int64_t)blockIdx.x * TILE + threadIdx.x * V; row < a.ld; row += (int64_t)gridDim.x * TILE) {
        double r[V];
        C w[V];

        load_rows(a.residual, row, a.n, r);
#pragma unroll
        for (int v = 0; v < V; v++) {
            w[v] = (C)(r[v] / norm);
        }
        store_rows(a.vector, row, a.n, w);
        if (!a.delayed) { store_column<S>(a, 0, row, w); }
    }
}

/* ---- launching ---- */

template <typename S, typename C, sweep_kind KIND>
static tess_status launch_sweep(tess_context *ctx, const sweep_task &task, unsigned grid,
                                const loop_predicate &predicate)
{
    const bool projects = KIND == PROJECT || KIND == CORRECT;
    const size_t sums = projects ? (size_t)WAVES * (size_t)task.a.small.most * sizeof(double) : 0;
    const size_t kept = KIND == CORRECT ? (size_t)task.kept * GPU_BLOCK * ROW_BYTES : 0;
    tess_status status = gpu_allow_shared(ctx, (const void *)sweep_kernel<S, C, KIND>);

    if (status != TESS_SUCCESS) { return status; }
    return gpu_launch(ctx, "a sweep over the Krylov basis", sweep_kernel<S, C, KIND>, grid, sums + kept, task,
                      predicate);
}

template <typename S, typename C>
static tess_status launch_project_both(tess_context *ctx, const sweep_task &task, unsigned grid,
                                       const loop_predicate &predicate)
{
    const size_t sums = 2 * (size_t)WAVES * (size_t)task.a.small.most * sizeof(double);
    tess_status status = gpu_allow_shared(ctx, (const void *)project_both_kernel<S, C>);

    if (status != TESS_SUCCESS) { return status; }
    return gpu_launch(ctx, "projections on the Krylov basis", project_both_kernel<S, C>, grid, sums, task, predicate);
}

template <typename S, typename C>
static tess_status launch_kind(tess_context *ctx, sweep_kind kind, const sweep_task &task, unsigned grid,
                               const loop_predicate &predicate)
{
    switch (kind) {
    case PROJECT: return launch_sweep<S, C, PROJECT>(ctx, task, grid, predicate);
    case CORRECT: return launch_sweep<S, C, CORRECT>(ctx, task, grid, predicate);
    case APPEND: return launch_sweep<S, C, APPEND>(ctx, task, grid, predicate);
    case COMBINE: return launch_sweep<S, C, COMBINE>(ctx, task, grid, predicate);
    case PROJECT_BOTH: return launch_project_both<S, C>(ctx, task, grid, predicate);
    case FINISH_BOTH:
        return gpu_launch(ctx, "the next Krylov vector", finish_both_kernel<S, C>, grid, 0, task, predicate);
    case BEGIN: return gpu_launch(ctx, "the start of a Krylov basis", begin_kernel<S, C>, grid, 0, task.a);
    }
    return TESS_INTERNAL;
}

/* With a basis in FP64, vectors are in FP64. */
template <typename S>
tess_status arnoldi_sweep(tess_context *ctx, sweep_kind kind, tess_precision vectors, const sweep_task &task,
                          unsigned grid, const loop_predicate &predicate)
{
    if constexpr (sizeof(S) < sizeof(double)) {
        if (vectors == TESS_PRECISION_FP32) { return launch_kind<S, float>(ctx, kind, task, grid, predicate); }
    }
    return launch_kind<S, double>(ctx, kind, task, grid, predicate);
}

#define SWEEP(S)                                                                                                    \
    template tess_status arnoldi_sweep<S>(tess_context *, sweep_kind, tess_precision, const sweep_task &, unsigned, \
                                          const loop_predicate &);
STORED_TYPES(SWEEP)
#undef SWEEP
