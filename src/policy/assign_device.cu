/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assignments on the GPU. The mean and the ranges stay on the device for later passes; one download at the end brings
 * everything to the host. Atomics here are on integers, so the result does not depend on their order.
 */
#include "policy/assign_device.cuh"

enum {
    GROUP_MEAN = 7,  /* entries of a mean row for one thread; longer rows are shared by more threads */
    MAX_GROUP = 32,  /* threads per row, also on a device with wider waves */
    LONG_STEPS = 64, /* a row with more entries per thread is left to a kernel that gives it a block */
    STAGED = 2048,   /* values in a block's shared memory: a seventh more than its rows have at mean length */
    STAGE_GAP = 16,  /* a gap follows each such number of values, so that threads a power of two apart use different
                        banks */
    BATCH = 4,       /* entries in flight per thread where each has a level of its own */
    ROW_BLOCKS = 5,  /* blocks per multiprocessor that stage rows: as many as registers allow */
    BLOCKS_PER_MULTIPROCESSOR = 8
};

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

/* ---- levels of rows ---- */

/* Statistics of entries start, start + step, ... below end; value(k) is the value of entry k. */
template <bool SKIPS, bool LOSSLESS, typename VALUE>
__device__ static inline item_statistics look_at_entries(const uint8_t *skip, const policy_ranges &ranges,
                                                         unsigned start, unsigned end, unsigned step, VALUE value)
{
    item_statistics s = item_start();

#pragma unroll 4
    for (unsigned k = start; k < end; k += step) {
        if (!SKIPS || !assign_skips(skip, k)) { item_add(&s, &ranges, LOSSLESS, value(k)); }
    }
    return s;
}

/* The same with entries counted from entry `origin`. Whether entries are left out is tested once, not for each. */
template <bool LOSSLESS, typename VALUE>
__device__ static inline item_statistics look_at(const assign_task &task, const policy_ranges &ranges, int64_t origin,
                                                 unsigned start, unsigned end, unsigned step, VALUE value)
{
    return task.skip ? look_at_entries<true, LOSSLESS>(task.skip + origin, ranges, start, end, step, value)
                     : look_at_entries<false, LOSSLESS>(NULL, ranges, start, end, step, value);
}

/* Rows that a block processes together: where their entries begin and end, and where those of the thread's own row do.
 */
struct row_tile {
    int64_t begin, end, own_begin, own_end;
};

/* Of `rows` rows from `first` on, as far as there are any; `row` is the thread's own. */
__device__ static inline row_tile find_tile(const csr_view &csr, int64_t first, int rows, int64_t row)
{
    const int64_t at[4] = {min(first, csr.nrows), min(first + rows, csr.nrows), min(row, csr.nrows),
                           min(row + 1, csr.nrows)};

    if (csr.row_ptr_bits == 32) {
        const int32_t *row_ptr = (const int32_t *)csr.row_ptr;

        return {row_ptr[at[0]], row_ptr[at[1]], row_ptr[at[2]], row_ptr[at[3]]};
    }
    const int64_t *row_ptr = (const int64_t *)csr.row_ptr;

    return {row_ptr[at[0]], row_ptr[at[1]], row_ptr[at[2]], row_ptr[at[3]]};
}

__device__ static inline unsigned staged_place(unsigned k)
{
    return k + k / STAGE_GAP;
}

/* Copies `count` values, at most STAGED, to shared memory. All threads of a block call it. */
__device__ static inline void stage_values(const double *from, int count, double *staged)
{
    double value[STAGED / GPU_BLOCK];

#pragma unroll
    for (int i = 0; i < STAGED / GPU_BLOCK; i++) { /* all loads at once */
        int k = i * GPU_BLOCK + (int)threadIdx.x;

        value[i] = k < count ? gpu_load_once(from + k) : 0.0;
    }
#pragma unroll
    for (int i = 0; i < STAGED / GPU_BLOCK; i++) {
        staged[staged_place(i * GPU_BLOCK + threadIdx.x)] = value[i];
    }
}

/* 2^group_log threads share a row, one if it is ALONE; offsets are read a tile ahead. If rows are too long for a stage,
   their threads read memory. */
template <typename KNOWN, bool ALONE>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, ROW_BLOCKS)
    assign_rows_kernel(const assign_task task, int group_log, int32_t *long_row, assign_totals *totals)
{
    enum { LEVELS = KNOWN::LEVELS };
    const int shift = ALONE ? 0 : group_log, group = 1 << shift, rows = GPU_BLOCK >> shift;
    __shared__ double staged[STAGED + STAGED / STAGE_GAP];
    const double *val = (const double *)task.csr.val;
    const policy_ranges ranges = totals->ranges;
    const int64_t step = (int64_t)gridDim.x * rows;
    const unsigned member = threadIdx.x & (unsigned)(group - 1);
    const int own_row = (int)threadIdx.x >> shift;
    int64_t first = (int64_t)blockIdx.x * rows;
    row_tile tile = find_tile(task.csr, first, rows, first + own_row);
    thread_counts<LEVELS> own = {};

    for (; first < task.csr.nrows; first += step) {
        const row_tile next = find_tile(task.csr, first + step, rows, first + step + own_row);
        int64_t row = first + own_row;
        bool is_long = tile.own_end - tile.own_begin > LONG_STEPS * group;
        unsigned length = is_long ? 0 : (unsigned)(tile.own_end - tile.own_begin);
        item_statistics s;

        if (tile.end - tile.begin <= STAGED) {
            const double *own_values = staged;
            unsigned before = (unsigned)(tile.own_begin - tile.begin);

            stage_values(val + tile.begin, (int)(tile.end - tile.begin), staged);
            __syncthreads();
            s = look_at<KNOWN::LOSSLESS>(task, ranges, tile.begin, before + member, before + length, (unsigned)group,
                                         [=](unsigned k) { return own_values[staged_place(k)]; });
            __syncthreads();
        } else {
            const double *own_values = val + tile.own_begin;

            s = look_at<KNOWN::LOSSLESS>(task, ranges, tile.own_begin, member, length, (unsigned)group,
                                         [=](unsigned k) { return own_values[k]; });
        }
        join_group<LEVELS>(&s, group);
        if (member == 0 && row < task.csr.nrows) {
            if (is_long) {
                long_row[atomicAdd(&totals->long_rows, 1ULL)] = (int32_t)row;
            } else {
                count_in_thread(&own, assign_row(&task, LEVELS, row, &s));
            }
        }
        tile = next;
    }
    add_counts(own, totals);
}

/* A block takes one of the rows that were left. */
template <typename KNOWN>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, ROW_BLOCKS)
    assign_long_rows_kernel(const assign_task task, const int32_t *long_row, assign_totals *totals)
{
    enum { LEVELS = KNOWN::LEVELS };
    __shared__ item_statistics wave[GPU_BLOCK / GPU_WAVE];
    const policy_ranges ranges = totals->ranges;
    const unsigned long long nrows = totals->long_rows;
    thread_counts<LEVELS> own = {};

    for (unsigned long long i = blockIdx.x; i < nrows; i += gridDim.x) {
        int64_t row = long_row[i], begin = assign_row_start(&task.csr, row);
        unsigned length = (unsigned)(assign_row_start(&task.csr, row + 1) - begin);
        const double *values = (const double *)task.csr.val + begin;
        item_statistics s = look_at<KNOWN::LOSSLESS>(task, ranges, begin, threadIdx.x, length, GPU_BLOCK,
                                                     [=](unsigned k) { return values[k]; });

        join_group<LEVELS>(&s, GPU_WAVE);
        if (threadIdx.x % GPU_WAVE == 0) { wave[threadIdx.x / GPU_WAVE] = s; }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int w = 1; w < GPU_BLOCK / GPU_WAVE; w++) {
                item_join<LEVELS>(&s, wave[w]);
            }
            count_in_thread(&own, assign_row(&task, LEVELS, row, &s));
        }
        __syncthreads();
    }
    add_counts(own, totals);
}

/* ---- levels of entries ---- */

template <typename KNOWN>
__global__ static void __launch_bounds__(GPU_BLOCK) assign_entries_kernel(const assign_task task, assign_totals *totals)
{
    enum { LEVELS = KNOWN::LEVELS, TILE = BATCH * GPU_BLOCK };
    const policy_ranges ranges = totals->ranges;
    thread_counts<LEVELS> own = {};

    for (int64_t first = (int64_t)blockIdx.x * TILE; first < task.csr.nnz; first += (int64_t)gridDim.x * TILE) {
        double value[BATCH];
        bool taken[BATCH];

#pragma unroll
        for (int i = 0; i < BATCH; i++) { /* all loads at once */
            int64_t k = first + i * GPU_BLOCK + threadIdx.x;

            taken[i] =
                k < task.csr.nnz && !assign_skips(task.skip, k); /* the level of a skipped entry already says so */
            value[i] = taken[i] ? assign_value(&task.csr, k) : 0.0;
        }
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            assign_outcome o = {0, 0, 0, 1};

            if (!taken[i]) { continue; }
            o.level = assign_entry_level(&task, LEVELS, KNOWN::LOSSLESS, &ranges, value[i]);
            task.level[first + i * GPU_BLOCK + threadIdx.x] = (uint8_t)o.level;
            count_in_thread(&own, o);
        }
    }
    add_counts(own, totals);
}

/* ---- all of it ---- */

/* log2 of the number of threads that share a row. */
static int choose_group(const csr_view *csr)
{
    const double mean = (double)csr->nnz / (double)csr->nrows;
    int group_log = 0;

    while (1 << group_log < MAX_GROUP && mean > (double)(GROUP_MEAN << group_log)) {
        group_log += 1;
    }
    return group_log;
}

template <typename KNOWN>
static tess_status assign_rows(tess_context *ctx, const assign_task *task, int32_t *long_row, assign_totals *totals)
{
    const int group_log = choose_group(&task->csr);
    const unsigned most = (unsigned)gpu_state_of(ctx)->multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    const unsigned grid = gpu_grid(ctx, task->csr.nrows << group_log, ROW_BLOCKS);
    tess_status status = gpu_launch(ctx, "choosing precisions of rows",
                                    group_log == 0 ? assign_rows_kernel<KNOWN, true> : assign_rows_kernel<KNOWN, false>,
                                    grid, 0, *task, group_log, long_row, totals);

    if (status != TESS_SUCCESS || task->csr.nnz <= (int64_t)LONG_STEPS << group_log) { return status; }
    assign_long_rows_kernel<KNOWN><<<most, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*task, long_row, totals);
    return gpu_check_launch(ctx, "choosing precisions of long rows");
}

template <typename KNOWN>
static tess_status assign_entries(tess_context *ctx, const assign_task *task, assign_totals *totals)
{
    const unsigned grid = gpu_grid(ctx, task->csr.nnz, BLOCKS_PER_MULTIPROCESSOR);

    assign_entries_kernel<KNOWN><<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*task, totals);
    return gpu_check_launch(ctx, "choosing precisions of entries");
}

template <typename KNOWN>
static tess_status assign_items(tess_context *ctx, const assign_task *task, int32_t *long_row, assign_totals *totals)
{
    if (task->csr.nrows == 0) { return TESS_SUCCESS; }
    return task->rules.entries ? assign_entries<KNOWN>(ctx, task, totals)
                               : assign_rows<KNOWN>(ctx, task, long_row, totals);
}

static tess_status assign_levels(tess_context *ctx, const assign_task *task, assign_totals *out)
{
    gpu_scope scope(ctx);
    const int64_t words = magnitudes_words(task), most_long = task->csr.nnz / LONG_STEPS + 1;
    double *workspace = NULL;
    tess_status status = gpu_parts(ctx, words + (most_long + 1) / 2, &workspace);
    assign_totals *totals = (assign_totals *)workspace;
    int32_t *long_row = (int32_t *)(workspace + words);

    if (status != TESS_SUCCESS) { return status; }
    if (task->rules.bounded) { return bound_assign_gpu(ctx, task, NULL, out); }
    TESS_TRY(magnitudes_launch(ctx, task, totals));
    TESS_TRY(with_known_policy(task->rules,
                               [=](auto known) { return assign_items<decltype(known)>(ctx, task, long_row, totals); }));
    status = ctx->backend->download(ctx, out, totals, sizeof *out);
cleanup:
    return status;
}

/* ---- the error of what is stored ---- */

/* Magnitudes are ordered as their bits are. One wave per row. */
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
    double *workspace = NULL;
    tess_status status = gpu_parts(ctx, 1, &workspace);

    if (status != TESS_SUCCESS) { return status; }
    TESS_TRY(ctx->backend->zero(ctx, workspace, sizeof *workspace));
    measure_kernel<<<gpu_grid(ctx, task->csr.nrows * GPU_WAVE, BLOCKS_PER_MULTIPROCESSOR), GPU_BLOCK, 0,
                     gpu_stream_of(ctx)>>>(*task, (unsigned long long *)workspace);
    TESS_TRY(gpu_check_launch(ctx, "measuring the error of storage"));
    status = ctx->backend->download(ctx, out, workspace, sizeof *out);
cleanup:
    return status;
}

static const assign_ops table = {mark_diagonal, assign_levels,     bound_assign_gpu, assign_blocks_gpu,
                                 measure_error, bound_measure_gpu, choice_count_gpu};

extern "C" const assign_ops *assign_gpu_ops(void)
{
    return &table;
}
