/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy error-bound on the GPU, and the backward error of storage. Threads of a wave share a row, those of a block a
 * long one. Atomics here are on integers, so the result does not depend on their order.
 */
#include "policy/assign_device.cuh"
#include "policy/error_bound.h"

enum {
    LONG_ROW = 1024, /* entries; a block of threads takes longer rows */
    ROWS_TOGETHER = GPU_BLOCK / BOUND_LANES,
    BLOCKS_PER_MULTIPROCESSOR = 8
};

/* What a pass is for. */
typedef enum bound_pass { BOUND_NORM, BOUND_ROWS, BOUND_ENTRIES } bound_pass;

/* Of a row, in shared memory. Magnitudes are ordered as their bits are. */
struct bound_shared {
    unsigned long long largest, smallest, norm;
    unsigned long long sum[BOUND_STEPS]; /* of errors: by step, or by level */
    int count, not_finite, step;
};

/* The threads of a row: one of them, with what they share. */
template <int TOGETHER>
struct bound_group {
    const assign_task &task;
    bound_shared &shared;
    int64_t index, begin, end;
    int member;

    __device__ static inline void wait()
    {
        if constexpr (TOGETHER == GPU_WAVE) {
            GPU_SYNC_WAVE();
        } else {
            __syncthreads();
        }
    }

    /* Calls use(k, value) for the thread's entries that are not left out. */
    template <typename USE>
    __device__ inline void for_entries(USE use) const
    {
        for (int64_t k = begin + member; k < end; k += TOGETHER) {
            if (!assign_skips(task.skip, k)) { use(k, assign_value(&task.csr, k)); }
        }
    }

    __device__ inline void clear() const
    {
        const item_statistics none = item_start();

        wait(); /* the row before may still be read */
        for (int i = member; i < BOUND_STEPS; i += TOGETHER) {
            shared.sum[i] = 0;
        }
        if (member == 0) {
            shared.largest = tess_double_bits(none.largest);
            shared.smallest = tess_double_bits(none.smallest);
            shared.norm = 0;
            shared.count = shared.not_finite = 0;
        }
        wait();
    }

    /* The row's extremes, for all threads. */
    __device__ inline item_statistics look() const
    {
        item_statistics s = item_start();

        for_entries([&](int64_t, double value) { bound_look_at(&s, value); });
        if (s.count > 0) {
            atomicMax(&shared.largest, (unsigned long long)tess_double_bits(s.largest));
            atomicMin(&shared.smallest, (unsigned long long)tess_double_bits(s.smallest));
            atomicAdd(&shared.count, s.count);
        }
        if (s.not_finite > 0) { atomicAdd(&shared.not_finite, s.not_finite); }
        wait();
        s.largest = tess_double_of_bits(shared.largest);
        s.smallest = tess_double_of_bits(shared.smallest);
        s.count = shared.count;
        s.not_finite = shared.not_finite;
        return s;
    }

    /* Its norm in units, for all threads. */
    __device__ inline uint64_t norm(const item_statistics &s) const
    {
        unsigned long long own = 0;

        for_entries([&](int64_t, double value) { own += bound_norm_units(&s, value); });
        if (own > 0) { atomicAdd(&shared.norm, own); }
        wait();
        return shared.norm;
    }

    __device__ inline void assign_row(const bound_row &row, thread_counts<TESS_MAX_LEVELS> *count) const
    {
        unsigned long long own[TESS_MAX_LEVELS] = {};
        uint64_t sum[TESS_MAX_LEVELS];

        for_entries([&](int64_t, double value) {
            const bound_errors e = bound_row_errors_of(&task.rules, &row, value);

#pragma unroll
            for (int l = 1; l < TESS_MAX_LEVELS; l++) {
                own[l] += e.at[l];
            }
        });
#pragma unroll
        for (int l = 1; l < TESS_MAX_LEVELS; l++) {
            if (own[l] > 0) { atomicAdd(&shared.sum[l], own[l]); }
        }
        wait();
        if (member > 0) { return; }
        for (int l = 0; l < TESS_MAX_LEVELS; l++) {
            sum[l] = shared.sum[l];
        }
        count_in_thread(count, bound_assign_row(&task, index, &row, sum));
    }

    __device__ inline void assign_entries(const bound_row &row, uint8_t *fits,
                                          thread_counts<TESS_MAX_LEVELS> *count) const
    {
        const int least = bound_least_step(row.entries.count);
        const bool leaves_out = !fits && task.rules.nlevels > 1;

        for_entries([&](int64_t, double value) {
            const bound_errors e = bound_errors_of(&task.rules, &row, leaves_out, value);
            bound_rise rise[BOUND_CHOICES];

            bound_rises_of(&e, least, rise);
            for (int i = 1; i < BOUND_CHOICES; i++) {
                if (rise[i].step >= 0) { atomicAdd(&shared.sum[rise[i].step], (unsigned long long)rise[i].units); }
            }
        });
        wait();
        if (member == 0) { shared.step = bound_last_step((const uint64_t *)shared.sum, least); }
        wait();
        for_entries([&](int64_t k, double value) {
            const bound_errors e = bound_errors_of(&task.rules, &row, leaves_out, value);
            const unsigned allowed = bound_fits_of(&e, shared.step);
            const assign_outcome o = {bound_lowest(allowed), 0, 0, 1};

            if (fits) {
                fits[k] = (uint8_t)allowed;
            } else {
                task.level[k] = (uint8_t)o.level;
                count_in_thread(count, o);
            }
        });
    }
};

template <int TOGETHER>
__global__ static void __launch_bounds__(GPU_BLOCK)
    assign_bounded_kernel(const assign_task task, bound_pass pass, uint8_t *fits, assign_totals *totals)
{
    enum { GROUPS = GPU_BLOCK / TOGETHER };
    __shared__ bound_shared states[GROUPS];
    const int own_group = (int)threadIdx.x / TOGETHER;
    const double whole = pass == BOUND_NORM ? 0.0 : totals->norm;
    thread_counts<TESS_MAX_LEVELS> count = {};

    for (int64_t index = (int64_t)blockIdx.x * GROUPS + own_group; index < task.csr.nrows;
         index += (int64_t)gridDim.x * GROUPS) {
        const int64_t begin = assign_row_start(&task.csr, index), end = assign_row_start(&task.csr, index + 1);
        const bound_group<TOGETHER> group = {task, states[own_group], index, begin, end, (int)threadIdx.x % TOGETHER};

        if ((end - begin > LONG_ROW) != (TOGETHER == GPU_BLOCK)) { continue; }
        group.clear();
        const item_statistics s = group.look();
        const uint64_t units = group.norm(s);
        const bound_row row = bound_row_of(&s, units, task.parameter, whole);

        if (pass == BOUND_NORM && group.member == 0) {
            atomicMax((unsigned long long *)&totals->norm,
                      (unsigned long long)tess_double_bits(bound_whole_norm(&s, units)));
        }
        if (pass == BOUND_ROWS) { group.assign_row(row, &count); }
        if (pass == BOUND_ENTRIES) { group.assign_entries(row, fits, &count); }
    }
    add_counts(count, totals);
}

static tess_status launch_pass(tess_context *ctx, const assign_task *task, bound_pass pass, uint8_t *fits,
                               assign_totals *totals)
{
    const unsigned most = (unsigned)gpu_state_of(ctx)->multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    const unsigned grid = gpu_grid(ctx, task->csr.nrows * GPU_WAVE, BLOCKS_PER_MULTIPROCESSOR);
    tess_status status;

    assign_bounded_kernel<GPU_WAVE><<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*task, pass, fits, totals);
    status = gpu_check_launch(ctx, "bounding the errors of rows");
    if (status != TESS_SUCCESS || task->csr.nnz <= LONG_ROW) { return status; }
    assign_bounded_kernel<GPU_BLOCK><<<most, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*task, pass, fits, totals);
    return gpu_check_launch(ctx, "bounding the errors of long rows");
}

tess_status bound_assign_gpu(tess_context *ctx, const assign_task *task, uint8_t *fits, assign_totals *out)
{
    gpu_scope scope(ctx);
    const bound_pass pass = fits || task->rules.entries ? BOUND_ENTRIES : BOUND_ROWS;
    double *workspace = NULL;
    tess_status status = gpu_parts(ctx, magnitudes_words(task), &workspace);
    assign_totals *totals = (assign_totals *)workspace;

    if (status != TESS_SUCCESS) { return status; }
    TESS_TRY(magnitudes_launch(ctx, task, totals));
    if (task->csr.nrows > 0) {
        if (task->matrix_norm) { TESS_TRY(launch_pass(ctx, task, BOUND_NORM, NULL, totals)); }
        TESS_TRY(launch_pass(ctx, task, pass, fits, totals));
    }
    status = ctx->backend->download(ctx, out, totals, sizeof *out);
cleanup:
    return status;
}

/* ---- the backward error ---- */

/* The sums of a row's lanes, in the order of the host; in the first lane. All threads of the wave call it. */
__device__ static inline void join_lanes(bound_sums *own)
{
#pragma unroll
    for (int half = BOUND_LANES / 2; half > 0; half /= 2) {
        bound_sums other;

        other.error = GPU_SHUFFLE_DOWN(own->error, half, BOUND_LANES);
        other.norm = GPU_SHUFFLE_DOWN(own->norm, half, BOUND_LANES);
        bound_join_sums(own, &other);
    }
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    measure_rows_kernel(const assign_task task, unsigned long long *largest)
{
    const int lane = (int)threadIdx.x % BOUND_LANES;
    double most = 0.0;

    for (int64_t first = (int64_t)blockIdx.x * ROWS_TOGETHER; first < task.csr.nrows;
         first += (int64_t)gridDim.x * ROWS_TOGETHER) {
        const int64_t row = first + (int)threadIdx.x / BOUND_LANES;
        const bool there = row < task.csr.nrows;
        const int64_t start = there ? assign_row_start(&task.csr, row) : 0;
        const int64_t end = there ? assign_row_start(&task.csr, row + 1) : 0;
        item_statistics s = item_start();
        bound_sums own = bound_sums_start();

        for (int64_t k = start + lane; k < end; k += BOUND_LANES) {
            if (bound_counts(&task, row, k)) { bound_look_at(&s, assign_value(&task.csr, k)); }
        }
        join_group<1>(&s, BOUND_LANES);
        s.largest = GPU_SHUFFLE(s.largest, 0, BOUND_LANES);
        s.not_finite = GPU_SHUFFLE(s.not_finite, 0, BOUND_LANES);
        for (int64_t k = start + lane; k < end && s.not_finite == 0; k += BOUND_LANES) {
            bound_add_entry(&task, &s, row, k, &own);
        }
        join_lanes(&own);
        if (lane == 0) { most = fmax(most, bound_backward_error(&s, &own, task.norm)); }
    }
    if (most > 0.0) { atomicMax(largest, (unsigned long long)tess_double_bits(most)); }
}

tess_status bound_measure_gpu(tess_context *ctx, const assign_task *task, double *out)
{
    gpu_scope scope(ctx);
    const unsigned grid = gpu_grid(ctx, task->csr.nrows * BOUND_LANES, BLOCKS_PER_MULTIPROCESSOR);
    double *workspace = NULL;
    tess_status status = gpu_parts(ctx, 1, &workspace);

    if (status != TESS_SUCCESS) { return status; }
    TESS_TRY(ctx->backend->zero(ctx, workspace, sizeof *workspace));
    if (task->csr.nrows > 0) {
        measure_rows_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*task, (unsigned long long *)workspace);
        TESS_TRY(gpu_check_launch(ctx, "measuring the backward error of storage"));
    }
    status = ctx->backend->download(ctx, out, workspace, sizeof *out);
cleanup:
    return status;
}
