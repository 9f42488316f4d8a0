/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arnoldi's process on the GPU: the sweeps of arnoldi_host.c over the basis. A thread keeps its rows of w in registers and goes
 * through the columns; sums over rows go from waves to shared memory, from blocks to memory, and a kernel of one block for each
 * column adds them up in their order. What a thread computes is in the precision of the vectors, FP32 or FP64; sums over rows
 * of different waves are in FP64. The second sweep of CGS2 subtracts the first projection and makes the second: what a thread has
 * read of its rows it keeps in shared memory for that, as long as there is room, so that the basis is read three times and not
 * four.
 */
#include "solver/gmres/arnoldi_small.cuh"

/* A sweep of CGS2 or the last one: KIND says what it does with its rows of w, of the type C. Coefficients of stored columns are in
   small.remove, COMBINE's in small.y. */
template <typename S, typename C, sweep_kind KIND>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, (KIND == CORRECT ? KEEP_BLOCKS : SWEEP_BLOCKS))
    sweep_kernel(const sweep_task task, const loop_gate gate)
{
    constexpr int V = rows_of_thread<S>(), TILE = GPU_BLOCK * V;
    extern __shared__ __align__(16) double shared[];
    const tess_arnoldi &a = task.a;
    double *const found = shared;
    tess_scalars scalars;
    double square[1] = {0.0}, divisor = 1.0;
    int columns;

    if (!loop_enter<true>(gate, false, &scalars)) { return; }
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
    project_both_kernel(const sweep_task task, const loop_gate gate)
{
    constexpr int V = rows_of_thread<S>(), TILE = GPU_BLOCK * V;
    extern __shared__ __align__(16) double shared[];
    const tess_arnoldi &a = task.a;
    tess_scalars scalars;
    double square[3] = {0.0, 0.0, 0.0};
    int columns;

    if (!loop_enter<true>(gate, false, &scalars)) { return; }
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
    finish_both_kernel(const sweep_task task, const loop_gate gate)
{
    constexpr int V = rows_of_thread<S>(), TILE = GPU_BLOCK * V;
    const tess_arnoldi &a = task.a;
    tess_scalars scalars;

    if (!loop_enter<true>(gate, false, &scalars)) { return; }
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

static unsigned sweep_grid(const tess_context *ctx, const tess_arnoldi *a, int blocks)
{
    const int64_t tile = GPU_BLOCK * rows_of_bytes((int)tess_storage_bytes(a->precision));
    const int64_t needed = (a->n + tile - 1) / tile, most = (int64_t)gpu_state_of(ctx)->multiprocessors * blocks;

    return (unsigned)(needed < 1 ? 1 : needed < most ? needed : most);
}

/* Launches KERNEL<S, C> for the basis' and the vectors' types. */
template <template <typename, typename> class LAUNCH, typename... ARGUMENTS>
static tess_status select_types(tess_context *ctx, tess_precision basis, tess_precision vectors,
                                const ARGUMENTS &...arguments)
{
    switch (basis) {
    case TESS_PRECISION_FP64: return LAUNCH<double, double>::launch(ctx, arguments...);
#define SELECT(TYPE, NAME)                                                                     \
    case TESS_PRECISION_##NAME:                                                                \
        return vectors == TESS_PRECISION_FP32 ? LAUNCH<TYPE, float>::launch(ctx, arguments...) \
                                              : LAUNCH<TYPE, double>::launch(ctx, arguments...);
        LOW_STORAGE_TYPES(SELECT)
#undef SELECT
    }
    return TESS_UNSUPPORTED;
}

template <typename S, typename C, sweep_kind KIND>
static tess_status launch_sweep(tess_context *ctx, const sweep_task &task, unsigned grid, const loop_gate &gate)
{
    const bool projects = KIND == PROJECT || KIND == CORRECT;
    const size_t sums = projects ? (size_t)WAVES * (size_t)task.a.small.most * sizeof(double) : 0;
    const size_t kept = KIND == CORRECT ? (size_t)task.kept * GPU_BLOCK * ROW_BYTES : 0;
    tess_status status = gpu_allow_shared(ctx, (const void *)sweep_kernel<S, C, KIND>);

    if (status != TESS_SUCCESS) { return status; }
    return gpu_launch(ctx, "a sweep over the Krylov basis", sweep_kernel<S, C, KIND>, grid, sums + kept, task, gate);
}

template <sweep_kind KIND>
struct sweep_of {
    template <typename S, typename C>
    struct types {
        static tess_status launch(tess_context *ctx, const sweep_task &task, unsigned grid, const loop_gate &gate)
        {
            return launch_sweep<S, C, KIND>(ctx, task, grid, gate);
        }
    };
};

template <typename S, typename C>
struct projecting_both {
    static tess_status launch(tess_context *ctx, const sweep_task &task, unsigned grid, const loop_gate &gate)
    {
        const size_t sums = 2 * (size_t)WAVES * (size_t)task.a.small.most * sizeof(double);
        tess_status status = gpu_allow_shared(ctx, (const void *)project_both_kernel<S, C>);

        if (status != TESS_SUCCESS) { return status; }
        return gpu_launch(ctx, "projections on the Krylov basis", project_both_kernel<S, C>, grid, sums, task, gate);
    }
};

template <typename S, typename C>
struct finishing_both {
    static tess_status launch(tess_context *ctx, const sweep_task &task, unsigned grid, const loop_gate &gate)
    {
        return gpu_launch(ctx, "the next Krylov vector", finish_both_kernel<S, C>, grid, 0, task, gate);
    }
};

template <typename S, typename C>
struct beginning {
    static tess_status launch(tess_context *ctx, const tess_arnoldi &a, unsigned grid)
    {
        return gpu_launch(ctx, "the start of a Krylov basis", begin_kernel<S, C>, grid, 0, a);
    }
};

template <sweep_kind KIND>
static tess_status run_sweep(tess_context *ctx, const sweep_task &task, tess_precision vectors, unsigned grid,
                             const loop_gate &gate)
{
    return select_types<sweep_of<KIND>::template types>(ctx, task.a.precision, vectors, task, grid, gate);
}

static tess_status collect(tess_context *ctx, const sweep_task &task, unsigned blocks, double *coefficient, int norm,
                           const loop_gate &gate)
{
    return gpu_launch(ctx, "the sums of a projection", collect_kernel, (unsigned)task.a.small.most + 1U, 0, task, gate,
                      blocks, coefficient, norm);
}

static tess_status step_cgs2(tess_context *ctx, const tess_arnoldi *a)
{
    const unsigned wide = sweep_grid(ctx, a, SWEEP_BLOCKS), narrow = sweep_grid(ctx, a, KEEP_BLOCKS);
    const int room = (int)(KEPT_BYTES / (GPU_BLOCK * ROW_BYTES));
    sweep_task task = {*a, a->small.most < room ? a->small.most : room, NULL};
    loop_gate gate;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_parts(ctx, (int64_t)(a->small.most + 1) * wide, &task.partials));
    TESS_TRY(open_settled_gate(ctx, a->state, &gate));
    TESS_TRY(run_sweep<PROJECT>(ctx, task, a->vectors, wide, at_phase(gate, TESS_PHASE_GEMV_T)));
    TESS_TRY(collect(ctx, task, wide, a->small.first, ARNOLDI_WHOLE, at_phase(gate, TESS_PHASE_GEMV_T)));
    TESS_TRY(run_sweep<CORRECT>(ctx, task, a->vectors, narrow, at_phase(gate, TESS_PHASE_GEMV_N)));
    TESS_TRY(collect(ctx, task, narrow, a->small.second, ARNOLDI_ONCE, at_phase(gate, TESS_PHASE_GEMV_N)));
    TESS_TRY(gpu_allow_shared(ctx, (const void *)close_kernel));
    TESS_TRY(run_sweep<APPEND>(ctx, task, a->vectors, wide, at_phase(gate, TESS_PHASE_GEMV_N)));
    status = gpu_launch(ctx, "the end of an iteration", close_kernel, 1U, 4 * (size_t)a->small.most * sizeof(double),
                        task, at_phase(gate, TESS_PHASE_OTHER), wide);
cleanup:
    return status;
}

static tess_status step_delayed(tess_context *ctx, const tess_arnoldi *a)
{
    const int blocks = blocks_of_both((int)tess_storage_bytes(a->precision), a->vectors == TESS_PRECISION_FP32 ? 4 : 8);
    const unsigned grid = sweep_grid(ctx, a, blocks), wide = sweep_grid(ctx, a, SWEEP_BLOCKS);
    const unsigned sums = 2U * (unsigned)a->small.most + ARNOLDI_NORMS;
    sweep_task task = {*a, 0, NULL};
    loop_gate gate;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_parts(ctx, (int64_t)sums * grid, &task.partials));
    TESS_TRY(open_settled_gate(ctx, a->state, &gate));
    TESS_TRY(
        select_types<projecting_both>(ctx, a->precision, a->vectors, task, grid, at_phase(gate, TESS_PHASE_GEMV_T)));
    TESS_TRY(gpu_allow_shared(ctx, (const void *)close_both_kernel));
    TESS_TRY(gpu_launch(ctx, "the sums of projections", collect_both_kernel, sums, 0, task,
                        at_phase(gate, TESS_PHASE_GEMV_T), grid));
    TESS_TRY(gpu_launch(ctx, "the end of an iteration", close_both_kernel, 1U,
                        3 * (size_t)a->small.most * sizeof(double), task, at_phase(gate, TESS_PHASE_OTHER)));
    status = select_types<finishing_both>(ctx, a->precision, a->vectors, task, wide, at_phase(gate, TESS_PHASE_GEMV_N));
cleanup:
    return status;
}

static tess_status combine(tess_context *ctx, const tess_arnoldi *a)
{
    const sweep_task task = {*a, 0, NULL};
    const loop_gate none = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_allow_shared(ctx, (const void *)solve_kernel));
    TESS_TRY(
        gpu_launch(ctx, "a triangular system", solve_kernel, 1U, (size_t)a->small.most * sizeof(double), a->small));
    status = run_sweep<COMBINE>(ctx, task, a->sum_precision, sweep_grid(ctx, a, SWEEP_BLOCKS), none);
cleanup:
    return status;
}

/* Sums take shared memory in proportion to the basis. */
static tess_status check_length(tess_context *ctx, const tess_arnoldi *a)
{
    const int64_t each = (a->delayed ? 2 : 1) * WAVES * (int64_t)sizeof(double);
    const int64_t kept = a->delayed ? 0 : KEPT_BYTES;
    const int64_t most = (gpu_state_of(ctx)->shared_bytes_per_block - kept - RESERVED_BYTES) / each;

    if (a->small.most <= most) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_UNSUPPORTED, "restart earlier, or use --device cpu",
                     "a Krylov basis of %d vectors on this device, which has room for the sums of %lld", a->small.most,
                     (long long)most);
}

static tess_status run(tess_context *ctx, const tess_arnoldi *a, tess_arnoldi_stage stage)
{
    gpu_scope scope(ctx);
    tess_status status = TESS_SUCCESS;

    switch (stage) {
    case TESS_ARNOLDI_CHECK: status = check_length(ctx, a); break;
    case TESS_ARNOLDI_START:
        status = select_types<beginning>(ctx, a->precision, a->vectors, *a, sweep_grid(ctx, a, SWEEP_BLOCKS));
        break;
    case TESS_ARNOLDI_STEP: status = a->delayed ? step_delayed(ctx, a) : step_cgs2(ctx, a); break;
    default: status = combine(ctx, a); break;
    }
    return status;
}

extern "C" const arnoldi_ops *arnoldi_gpu_ops(void)
{
    static const arnoldi_ops table = {run};

    return &table;
}
