/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assignments on the GPU. The mean and the ranges stay on the device for the passes after them; one download at the end brings
 * everything to the host. Atomics here are of integers: no order shows.
 */
#include "backend/gpu/gpu.h"
#include "granule/assign.h"

/* Rows longer than LONG_ROW are left to a kernel that gives each a whole block. */
enum { LONG_ROW = 2048, BLOCKS_PER_MULTIPROCESSOR = 8 };

static_assert((int)MAGNITUDE_LANES == (int)GPU_BLOCK, "a thread is a lane");

/* ---- the diagonal ---- */

__global__ static void __launch_bounds__(GPU_BLOCK) mark_diagonal_kernel(const csr_view csr, uint8_t *skip)
{
    for (int64_t row = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; row < csr.nrows;
         row += (int64_t)gridDim.x * GPU_BLOCK) {
        int64_t diagonal = assign_find_diagonal(&csr, row);

        if (diagonal >= 0) { skip[diagonal] = TESS_LEVEL_NONE; }
    }
}

static tess_status mark_diagonal(tess_context *ctx, const csr_view *csr, uint8_t *skip)
{
    gpu_scope scope(ctx);
    tess_status status = ctx->backend->zero(ctx, skip, (size_t)csr->nnz);

    if (status != TESS_SUCCESS) { return status; }
    mark_diagonal_kernel<<<gpu_grid(ctx, csr->nrows, BLOCKS_PER_MULTIPROCESSOR), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
        *csr, skip);
    return gpu_check_launch(ctx, "marking the diagonal");
}

/* ---- the mean magnitude ---- */

__device__ static inline magnitude_sum shuffle_down(const magnitude_sum &s, int distance)
{
    magnitude_sum other;

    other.sum.high = GPU_SHUFFLE_DOWN(s.sum.high, distance, GPU_WAVE);
    other.sum.low = GPU_SHUFFLE_DOWN(s.sum.low, distance, GPU_WAVE);
    other.count = GPU_SHUFFLE_DOWN(s.count, distance, GPU_WAVE);
    return other;
}

/* All threads of a block, in the order that the header prescribes; the result is in thread 0. */
__device__ static inline void join_lanes(magnitude_sum *own)
{
    __shared__ magnitude_sum lane[MAGNITUDE_LANES / 2];
    int j = (int)threadIdx.x;

    for (int half = MAGNITUDE_LANES / 2; half >= GPU_WAVE; half /= 2) {
        if (j >= half && j < 2 * half) { lane[j - half] = *own; }
        __syncthreads();
        if (j < half) { magnitude_join(own, lane[j]); }
        __syncthreads();
    }
    if (j < GPU_WAVE) {
#pragma unroll
        for (int half = GPU_WAVE / 2; half > 0; half /= 2) {
            magnitude_sum other = shuffle_down(*own, half);

            magnitude_join(own, other);
        }
    }
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    sum_tiles_kernel(const assign_task task, int64_t ntiles, magnitude_sum *tile)
{
    for (int64_t t = blockIdx.x; t < ntiles; t += gridDim.x) {
        magnitude_sum own = {{0.0, 0.0}, 0};
        double value[MAGNITUDE_TILE / MAGNITUDE_LANES];

#pragma unroll
        for (int i = 0; i < MAGNITUDE_TILE / MAGNITUDE_LANES; i++) { /* all loads at once */
            int64_t k = t * MAGNITUDE_TILE + i * MAGNITUDE_LANES + threadIdx.x;

            value[i] = k < task.csr.nnz && !assign_skips(task.skip, k) ? assign_value(&task.csr, k) : 0.0;
        }
#pragma unroll
        for (int i = 0; i < MAGNITUDE_TILE / MAGNITUDE_LANES; i++) {
            double magnitude = magnitude_of(value[i]);

            two_word_add(&own.sum, magnitude);
            own.count += magnitude > 0.0;
        }
        join_lanes(&own);
        if (threadIdx.x == 0) { tile[t] = own; }
    }
}

/* One block: the sum over the tiles, then what the passes over rows or entries need. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    find_ranges_kernel(const assign_task task, int64_t ntiles, const magnitude_sum *tile, assign_totals *totals)
{
    magnitude_sum own = {{0.0, 0.0}, 0};
    double range = task.parameter;

#pragma unroll 4
    for (int64_t t = threadIdx.x; t < ntiles; t += MAGNITUDE_LANES) {
        magnitude_join(&own, tile[t]);
    }
    join_lanes(&own);
    if (threadIdx.x > 0) { return; }
    memset(totals, 0, sizeof *totals);
    if (task.policy == TESS_POLICY_MEAN_RANGE) {
        totals->mean = magnitude_mean(own);
        range = task.parameter * totals->mean;
    }
    totals->ranges = policy_ranges_of(&task.rules, range);
}

/* ---- counts ---- */

__device__ static inline void count_outcome(unsigned long long *count, const assign_outcome &o)
{
    if (o.level == TESS_LEVEL_NONE) {
        atomicAdd(&count[ASSIGN_EMPTY], 1ULL);
        return;
    }
    atomicAdd(&count[ASSIGN_GRANULES + o.level], 1ULL);
    atomicAdd(&count[ASSIGN_NONZEROS + o.level], (unsigned long long)o.nonzeros);
    if (o.exponent != 0) { atomicAdd(&count[ASSIGN_SCALED + o.level], 1ULL); }
}

/* What one thread has counted so far: of each level, and of rows without entries. */
struct thread_counts {
    unsigned long long granules[TESS_MOST_LEVELS], nonzeros[TESS_MOST_LEVELS], scaled[TESS_MOST_LEVELS], empty;
};

__device__ static inline void count_in_thread(thread_counts *own, const assign_outcome &o)
{
    own->empty += o.level == TESS_LEVEL_NONE;
#pragma unroll
    for (int l = 0; l < TESS_MOST_LEVELS; l++) {
        own->granules[l] += o.level == l;
        own->nonzeros[l] += o.level == l ? (unsigned)o.nonzeros : 0U;
        own->scaled[l] += o.level == l && o.exponent != 0;
    }
}

/* Sums over the wave of what all its threads counted, added to counters in memory. */
__device__ static inline void add_wave(unsigned long long *counter, unsigned long long value)
{
#pragma unroll
    for (int distance = GPU_WAVE / 2; distance > 0; distance /= 2) {
        value += GPU_SHUFFLE_DOWN(value, distance, GPU_WAVE);
    }
    if (threadIdx.x % GPU_WAVE == 0 && value > 0) { atomicAdd(counter, value); }
}

/* All threads of a block. */
__device__ static inline void add_counts(const thread_counts &own, assign_totals *totals)
{
    __shared__ unsigned long long count[ASSIGN_COUNTS];

    if (threadIdx.x < ASSIGN_COUNTS) { count[threadIdx.x] = 0; }
    __syncthreads();
#pragma unroll
    for (int l = 0; l < TESS_MOST_LEVELS; l++) {
        add_wave(&count[ASSIGN_GRANULES + l], own.granules[l]);
        add_wave(&count[ASSIGN_NONZEROS + l], own.nonzeros[l]);
        add_wave(&count[ASSIGN_SCALED + l], own.scaled[l]);
    }
    add_wave(&count[ASSIGN_EMPTY], own.empty);
    __syncthreads();
    if (threadIdx.x < ASSIGN_COUNTS && count[threadIdx.x] > 0) {
        atomicAdd(&totals->count[threadIdx.x], count[threadIdx.x]);
    }
}

/* ---- levels of rows ---- */

__device__ static inline void granule_join(granule_statistics *s, const granule_statistics &other)
{
    s->count += other.count;
    s->not_finite += other.not_finite;
#pragma unroll
    for (int l = 1; l < TESS_MOST_LEVELS; l++) {
        s->outside[l] += other.outside[l];
    }
    s->smallest = other.smallest < s->smallest ? other.smallest : s->smallest;
    s->largest = other.largest > s->largest ? other.largest : s->largest;
}

/* The statistics of GROUP neighbouring threads, in the first of them. All threads of the wave take part. */
template <int GROUP>
__device__ static inline void join_group(granule_statistics *s)
{
#pragma unroll
    for (int distance = GROUP / 2; distance > 0; distance /= 2) {
        granule_statistics other;

        other.count = GPU_SHUFFLE_DOWN(s->count, distance, GROUP);
        other.not_finite = GPU_SHUFFLE_DOWN(s->not_finite, distance, GROUP);
        other.outside[0] = 0;
#pragma unroll
        for (int l = 1; l < TESS_MOST_LEVELS; l++) {
            other.outside[l] = GPU_SHUFFLE_DOWN(s->outside[l], distance, GROUP);
        }
        other.smallest = GPU_SHUFFLE_DOWN(s->smallest, distance, GROUP);
        other.largest = GPU_SHUFFLE_DOWN(s->largest, distance, GROUP);
        granule_join(s, other);
    }
}

/* Statistics of entries start, start + step, ... below end. */
__device__ static inline granule_statistics look_at(const assign_task &task, const policy_ranges &ranges, int64_t start,
                                                    int64_t end, int step)
{
    granule_statistics s = granule_start();

#pragma unroll 4
    for (int64_t k = start; k < end; k += step) {
        if (!assign_skips(task.skip, k)) { granule_add(&s, &ranges, assign_value(&task.csr, k)); }
    }
    return s;
}

/* GROUP threads take a row. */
template <int GROUP>
__global__ static void __launch_bounds__(GPU_BLOCK)
    assign_rows_kernel(const assign_task task, int32_t *long_row, assign_totals *totals)
{
    enum { ROWS = GPU_BLOCK / GROUP };
    const policy_ranges ranges = totals->ranges;
    thread_counts own = {};
    int member = (int)threadIdx.x % GROUP;

    for (int64_t first = (int64_t)blockIdx.x * ROWS; first < task.csr.nrows; first += (int64_t)gridDim.x * ROWS) {
        int64_t row = first + (int)threadIdx.x / GROUP;
        bool exists = row < task.csr.nrows;
        int64_t start = exists ? assign_row_start(&task.csr, row) : 0;
        int64_t end = exists ? assign_row_start(&task.csr, row + 1) : 0;
        bool is_long = end - start > LONG_ROW;
        granule_statistics s = look_at(task, ranges, start + member, is_long ? start : end, GROUP);

        join_group<GROUP>(&s);
        if (member > 0 || !exists) { continue; }
        if (is_long) {
            long_row[atomicAdd(&totals->long_rows, 1ULL)] = (int32_t)row;
        } else {
            count_in_thread(&own, assign_row(&task, row, &s));
        }
    }
    add_counts(own, totals);
}

/* A block takes a row of those that were left. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    assign_long_rows_kernel(const assign_task task, const int32_t *long_row, assign_totals *totals)
{
    __shared__ granule_statistics wave[GPU_BLOCK / GPU_WAVE];
    const policy_ranges ranges = totals->ranges;
    unsigned long long nrows = totals->long_rows;

    for (unsigned long long i = blockIdx.x; i < nrows; i += gridDim.x) {
        int64_t row = long_row[i], end = assign_row_start(&task.csr, row + 1);
        granule_statistics s = look_at(task, ranges, assign_row_start(&task.csr, row) + threadIdx.x, end, GPU_BLOCK);

        join_group<GPU_WAVE>(&s);
        if (threadIdx.x % GPU_WAVE == 0) { wave[threadIdx.x / GPU_WAVE] = s; }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int w = 1; w < GPU_BLOCK / GPU_WAVE; w++) {
                granule_join(&s, wave[w]);
            }
            count_outcome(totals->count, assign_row(&task, row, &s));
        }
        __syncthreads();
    }
}

/* ---- levels of entries ---- */

__global__ static void __launch_bounds__(GPU_BLOCK) assign_entries_kernel(const assign_task task, assign_totals *totals)
{
    const policy_ranges ranges = totals->ranges;
    int64_t step = (int64_t)gridDim.x * GPU_BLOCK;
    thread_counts own = {};

#pragma unroll 4
    for (int64_t k = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; k < task.csr.nnz; k += step) {
        assign_outcome o = {0, 0, 1};

        if (assign_skips(task.skip, k)) { continue; } /* its level says so already */
        o.level = assign_entry_level(&task, &ranges, assign_value(&task.csr, k));
        task.level[k] = (uint8_t)o.level;
        count_in_thread(&own, o);
    }
    add_counts(own, totals);
}

/* ---- all of it ---- */

template <int GROUP>
static tess_status launch_rows(tess_context *ctx, const assign_task *task, int32_t *long_row, assign_totals *totals)
{
    unsigned grid = gpu_grid(ctx, task->csr.nrows * GROUP, BLOCKS_PER_MULTIPROCESSOR);

    assign_rows_kernel<GROUP><<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*task, long_row, totals);
    return gpu_check_launch(ctx, "choosing precisions of rows");
}

static tess_status assign_rows(tess_context *ctx, const assign_task *task, int32_t *long_row, assign_totals *totals)
{
    int64_t length = task->csr.nrows > 0 ? task->csr.nnz / task->csr.nrows : 0;
    unsigned grid = (unsigned)gpu_state_of(ctx)->multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    tess_status status = TESS_SUCCESS;

    if (length <= 6) {
        status = launch_rows<4>(ctx, task, long_row, totals);
    } else if (length <= 24) {
        status = launch_rows<8>(ctx, task, long_row, totals);
    } else if (length <= 48) {
        status = launch_rows<16>(ctx, task, long_row, totals);
    } else {
        status = launch_rows<32>(ctx, task, long_row, totals);
    }
    if (status != TESS_SUCCESS || task->csr.nnz <= LONG_ROW) { return status; }
    assign_long_rows_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*task, long_row, totals);
    return gpu_check_launch(ctx, "choosing precisions of long rows");
}

static tess_status assign_entries(tess_context *ctx, const assign_task *task, assign_totals *totals)
{
    assign_entries_kernel<<<gpu_grid(ctx, task->csr.nnz, BLOCKS_PER_MULTIPROCESSOR), GPU_BLOCK, 0,
                            gpu_stream_of(ctx)>>>(*task, totals);
    return gpu_check_launch(ctx, "choosing precisions of entries");
}

static tess_status assign_levels(tess_context *ctx, const assign_task *task, assign_totals *out)
{
    gpu_scope scope(ctx);
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    int64_t ntiles = task->policy == TESS_POLICY_MEAN_RANGE ? (task->csr.nnz + MAGNITUDE_TILE - 1) / MAGNITUDE_TILE : 0;
    int64_t most_long = task->csr.nnz / LONG_ROW + 1, nblocks = (int64_t)gpu_state_of(ctx)->multiprocessors * 8;
    int64_t words = (int64_t)(sizeof(assign_totals) + (size_t)ntiles * sizeof(magnitude_sum)) / 8;
    double *room = NULL;
    tess_status status = gpu_parts(ctx, words + (most_long + 1) / 2, &room);
    assign_totals *totals = (assign_totals *)room;
    magnitude_sum *tile = (magnitude_sum *)(totals + 1);
    int32_t *long_row = (int32_t *)(tile + ntiles);

    if (status != TESS_SUCCESS) { return status; }
    if (ntiles > 0) {
        sum_tiles_kernel<<<(unsigned)(ntiles < nblocks ? ntiles : nblocks), GPU_BLOCK, 0, stream>>>(*task, ntiles,
                                                                                                    tile);
        TESS_TRY(gpu_check_launch(ctx, "adding up magnitudes"));
    }
    find_ranges_kernel<<<1, GPU_BLOCK, 0, stream>>>(*task, ntiles, tile, totals);
    TESS_TRY(gpu_check_launch(ctx, "finding the range of each precision"));
    TESS_TRY(task->rules.entries ? assign_entries(ctx, task, totals) : assign_rows(ctx, task, long_row, totals));
    status = ctx->backend->download(ctx, out, totals, sizeof *out);
cleanup:
    return status;
}

/* ---- the error of what is stored ---- */

/* Magnitudes are ordered as their bits are. A wave takes a row. */
__global__ static void __launch_bounds__(GPU_BLOCK) measure_kernel(const assign_task task, unsigned long long *largest)
{
    int64_t step = (int64_t)gridDim.x * (GPU_BLOCK / GPU_WAVE);
    double own = 0.0;

    for (int64_t row = ((int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x) / GPU_WAVE; row < task.csr.nrows; row += step) {
        int64_t end = assign_row_start(&task.csr, row + 1);

        for (int64_t k = assign_row_start(&task.csr, row) + threadIdx.x % GPU_WAVE; k < end; k += GPU_WAVE) {
            own = fmax(own, assign_error(&task, row, k));
        }
    }
    if (own > 0.0) { atomicMax(largest, (unsigned long long)tess_double_bits(own)); }
}

static tess_status measure_error(tess_context *ctx, const assign_task *task, double *out)
{
    gpu_scope scope(ctx);
    double *room = NULL;
    tess_status status = gpu_parts(ctx, 1, &room);

    if (status != TESS_SUCCESS) { return status; }
    TESS_TRY(ctx->backend->zero(ctx, room, sizeof *room));
    measure_kernel<<<gpu_grid(ctx, task->csr.nrows * GPU_WAVE, BLOCKS_PER_MULTIPROCESSOR), GPU_BLOCK, 0,
                     gpu_stream_of(ctx)>>>(*task, (unsigned long long *)room);
    TESS_TRY(gpu_check_launch(ctx, "measuring the error of storage"));
    status = ctx->backend->download(ctx, out, room, sizeof *out);
cleanup:
    return status;
}

static const assign_backend table = {mark_diagonal, assign_levels, measure_error};

extern "C" const assign_backend *assign_gpu(void)
{
    return &table;
}
