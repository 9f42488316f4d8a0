/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grid of blocks and the levels of its blocks on the GPU. One pass over the entries stores a word for each block,
 * at the places of the block row's entries: there are at most as many blocks as entries. Once the blocks are counted,
 * the words move to their places. Atomics here are on integers, so the result does not depend on their order.
 */
#include "device/gpu/scan.cuh"
#include "policy/block_grid_rows.cuh"

enum {
    WINDOW = 4 * GPU_BLOCK, /* block columns that a block of threads looks at together */
    ROW_BLOCKS = 5,         /* blocks of threads per multiprocessor for short block rows (as many as registers allow),
                             */
    LONG_BLOCKS = 4         /* and for long ones */
};

/* ---- long block rows: a block of threads, WINDOW block columns at a time ---- */

/* First place from `low` on, at most `high`, whose block column is at least `column`. */
__device__ static inline int64_t find_column(const csr_view &csr, int shift, int64_t low, int64_t high, int32_t column)
{
    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (csr.col_ind[middle] >> shift < column) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The rows of a block row: where the window's entries begin and end, and where the row ends. */
typedef struct window_rows {
    int64_t at[32], stop[32], end[32];
    int32_t least[32];
} window_rows;

/* The first block column of the remaining entries. All threads of the block call it. */
__device__ static inline int32_t find_least(const csr_view &csr, int shift, int nrows, window_rows *rows)
{
    const int i = (int)threadIdx.x;
    int32_t least = BLOCK_GRID_NO_COLUMN;

    if (i < nrows) {
        rows->least[i] = rows->at[i] < rows->end[i] ? csr.col_ind[rows->at[i]] >> shift : (int32_t)BLOCK_GRID_NO_COLUMN;
    }
    __syncthreads();
    for (int j = 0; j < nrows; j++) {
        least = min(least, rows->least[j]);
    }
    return least;
}

/* Adds the entries of the window's block columns, from `column` on. All threads of the block call it. */
template <typename KNOWN, bool SCALED>
__device__ static inline void fill_window(const assign_task &task, const value_judge<KNOWN, SCALED> &judge, int shift,
                                          int nrows, int32_t column, window_rows *rows, block_slots<WINDOW, SCALED> *w)
{
    const csr_view &csr = task.csr;
    const int i = (int)threadIdx.x;

    for (int slot = i; slot < WINDOW; slot += GPU_BLOCK) {
        clear_slot(w, slot);
    }
    if (i < nrows) {
        int64_t most = min(rows->end[i], rows->at[i] + ((int64_t)WINDOW << shift));

        rows->stop[i] = find_column(csr, shift, rows->at[i], most, column + WINDOW);
    }
    __syncthreads();
    for (int j = 0; j < nrows; j++) {
#pragma unroll 4
        for (int64_t k = rows->at[j] + i; k < rows->stop[j]; k += GPU_BLOCK) {
            add_to_slot(w, (csr.col_ind[k] >> shift) - column, judge, judge.load(task, k));
        }
    }
    __syncthreads();
}

/* Stores the words of the window's blocks and, in its slots, their levels; returns the number of blocks. All threads of
   the block call it. */
template <int LEVELS, bool SCALED>
__device__ static inline int32_t drain_window(const policy_rules &rules, block_slots<WINDOW, SCALED> *w, int32_t column,
                                              uint64_t *word, thread_counts<LEVELS> *own)
{
    enum { RUN = WINDOW / GPU_BLOCK };
    const int first = (int)threadIdx.x * RUN;
    int64_t total = 0, place;
    int here = 0;

    for (int i = first; i < first + RUN; i++) {
        here += (w->count[i] & COUNT_MASK) > 0;
    }
    place = scan_block<GPU_BLOCK>(here, &total);
    for (int i = first; i < first + RUN; i++) {
        if (w->count[i] == 0) { continue; }
        const assign_outcome o = judge_slot<LEVELS>(*w, i, rules);

        word[place++] = pack_block(column + i, o);
        w->count[i] = (unsigned)o.level;
        count_in_thread(own, o);
    }
    __syncthreads();
    return (int32_t)total;
}

/* Moves past the window's entries, and stores their levels on request. All threads of the block call it. */
template <bool SCALED>
__device__ static inline void leave_window(const csr_view &csr, int shift, int nrows, int32_t column, window_rows *rows,
                                           const block_slots<WINDOW, SCALED> &w, uint8_t *of_entry)
{
    const int i = (int)threadIdx.x;

    for (int j = 0; j < nrows && of_entry; j++) {
#pragma unroll 4
        for (int64_t k = rows->at[j] + i; k < rows->stop[j]; k += GPU_BLOCK) {
            of_entry[k] = (uint8_t)w.count[(csr.col_ind[k] >> shift) - column];
        }
    }
    __syncthreads();
    if (i < nrows) { rows->at[i] = rows->stop[i]; }
}

template <typename KNOWN, bool SCALED>
__global__ static void __launch_bounds__(GPU_BLOCK)
    assign_long_block_rows_kernel(const assign_task task, const grid_scratch scratch, assign_totals *totals)
{
    enum { LEVELS = KNOWN::LEVELS };
    __shared__ block_slots<WINDOW, SCALED> window;
    __shared__ window_rows rows;
    const value_judge<KNOWN, SCALED> judge(task.rules, totals->ranges);
    const unsigned long long count = totals->long_rows;
    const int shift = block_grid_shift(task.grid.cols);
    thread_counts<LEVELS> own = {};

    for (unsigned long long i = blockIdx.x; i < count; i += gridDim.x) {
        const int64_t block_row = scratch.long_row[i], first = block_row * task.grid.rows;
        const int nrows = (int)min((int64_t)task.grid.rows, task.csr.nrows - first), j = (int)threadIdx.x;
        uint64_t *word = scratch.word + assign_row_start(&task.csr, first);
        int32_t nblocks = 0;

        if (j < nrows) {
            rows.at[j] = assign_row_start(&task.csr, first + j);
            rows.end[j] = assign_row_start(&task.csr, first + j + 1);
        }
        for (;;) {
            const int32_t column = find_least(task.csr, shift, nrows, &rows);

            if (column == BLOCK_GRID_NO_COLUMN) { break; }
            fill_window(task, judge, shift, nrows, column, &rows, &window);
            nblocks += drain_window<LEVELS>(task.rules, &window, column, word + nblocks, &own);
            leave_window(task.csr, shift, nrows, column, &rows, window, scratch.of_entry);
        }
        if (j == 0) { keep_count(scratch, block_row, nblocks); }
        __syncthreads();
    }
    add_counts(own, totals);
}

/* ---- to their places ---- */

/* A block of threads moves the blocks of a chunk of block rows. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    move_blocks_kernel(const assign_task task, const grid_scratch scratch, const block_grid grid, uint8_t *level,
                       int16_t *exponent)
{
    __shared__ int64_t before[CHUNK], from[CHUNK];
    const int64_t base = scratch.chunk[blockIdx.x], first = (int64_t)blockIdx.x * CHUNK, own = first + threadIdx.x;
    const bool there = own < grid.nblock_rows;
    int64_t total = 0, place = scan_block<CHUNK>(there ? scratch.count[own] : 0, &total);

    before[threadIdx.x] = place;
    from[threadIdx.x] = there ? assign_row_start(&task.csr, own * grid.rows) : 0;
    if (own <= grid.nblock_rows) { grid.first[own] = base + place; }
    __syncthreads();
    for (int64_t b = threadIdx.x; b < total; b += GPU_BLOCK) {
        int low = 0, high = CHUNK - 1; /* the last block row that begins at b or before: earlier empty ones do too */
        uint64_t word;

        while (low < high) {
            int middle = (low + high + 1) / 2;

            if (before[middle] <= b) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        word = scratch.word[from[low] + b - before[low]];
        grid.column[base + b] = column_of(word);
        grid.count[base + b] = count_of(word);
        level[base + b] = level_of(word);
        if (exponent) { exponent[base + b] = exponent_of(word); }
    }
}

/* ---- all of it ---- */

template <typename KNOWN, bool SCALED>
static tess_status launch_pass(tess_context *ctx, const assign_task *task, const grid_scratch &scratch,
                               assign_totals *totals)
{
    const unsigned grid = gpu_grid(ctx, scratch.nblock_rows * GPU_WAVE, ROW_BLOCKS);
    const unsigned most = (unsigned)gpu_state_of(ctx)->multiprocessors * LONG_BLOCKS;
    tess_status status;

    assign_block_rows_kernel<KNOWN, SCALED><<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*task, scratch, totals);
    status = gpu_check_launch(ctx, "choosing precisions of blocks");
    if (status != TESS_SUCCESS || task->csr.nnz <= LONG_BLOCK_ROW) { return status; }
    assign_long_block_rows_kernel<KNOWN, SCALED><<<most, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*task, scratch, totals);
    return gpu_check_launch(ctx, "choosing precisions of blocks in long block rows");
}

template <typename KNOWN>
static tess_status launch_known(tess_context *ctx, const assign_task *task, const grid_scratch &scratch,
                                assign_totals *totals)
{
    return policy_has_scales(&task->rules) ? launch_pass<KNOWN, true>(ctx, task, scratch, totals)
                                           : launch_pass<KNOWN, false>(ctx, task, scratch, totals);
}

/* Ranges, words, counts and sums of counts, in the order of the stream; then the only wait. */
static tess_status find_blocks(tess_context *ctx, const assign_task *task, const grid_scratch &scratch,
                               assign_totals *totals, assign_totals *out)
{
    const series_base zero = {{0}};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(magnitudes_launch(ctx, task, totals));
    TESS_TRY(ctx->backend->zero(ctx, scratch.chunk, (size_t)scratch.nchunks * sizeof *scratch.chunk));
    if (task->fits) {
        TESS_TRY((launch_pass<known_policy<TESS_MAX_LEVELS, false, true>, false>(ctx, task, scratch, totals)));
    } else {
        TESS_TRY(with_known_policy(
            task->rules, [=](auto known) { return launch_known<decltype(known)>(ctx, task, scratch, totals); }));
    }
    scan_series_kernel<<<1, SCAN_BLOCK, 0, gpu_stream_of(ctx)>>>(scratch.nchunks, zero, scratch.chunk,
                                                                 &totals->nblocks);
    TESS_TRY(gpu_check_launch(ctx, "finding the places of blocks"));
    status = ctx->backend->download(ctx, out, totals, sizeof *out);
cleanup:
    return status;
}

/* The arrays at their final size, and their contents, without a wait. */
static tess_status move_blocks(tess_context *ctx, const assign_task *task, const grid_scratch &scratch,
                               const assign_totals *totals, tess_assignment *out)
{
    unsigned long long scaled = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(block_grid_allocate_rows(ctx, task->csr.nrows, &out->grid));
    TESS_TRY(block_grid_allocate_blocks(ctx, totals->nblocks, &out->grid));
    TESS_TRY(tess_device_allocate(ctx, totals->nblocks, sizeof *out->level, (void **)&out->level));
    for (int l = 0; l < TESS_MAX_LEVELS; l++) {
        scaled += totals->count[ASSIGN_SCALED + l];
    }
    if (scaled > 0) {
        TESS_TRY(tess_device_allocate(ctx, totals->nblocks, sizeof *out->exponent, (void **)&out->exponent));
    }
    move_blocks_kernel<<<(unsigned)scratch.nchunks, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*task, scratch, out->grid,
                                                                                        out->level, out->exponent);
    status = gpu_check_launch(ctx, "bringing blocks to their places");
cleanup:
    return status;
}

tess_status assign_blocks_gpu(tess_context *ctx, const assign_task *task, tess_assignment *out, assign_totals *totals)
{
    gpu_scope scope(ctx);
    const int64_t nblock_rows = (task->csr.nrows + task->grid.rows - 1) / task->grid.rows, nnz = task->csr.nnz;
    const int64_t nchunks = nblock_rows / CHUNK + 1, head = magnitudes_words(task); /* first has one more than rows */
    const int64_t words = head + nchunks + (nblock_rows + nnz / LONG_BLOCK_ROW + 1) / 2 + 1;
    grid_scratch scratch = {};
    double *workspace = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_parts(ctx, words, &workspace));
    TESS_TRY(tess_device_allocate(ctx, nnz, sizeof *scratch.word, (void **)&scratch.word));
    if (out->by_entry) { TESS_TRY(tess_device_allocate(ctx, nnz, sizeof *out->of_entry, (void **)&out->of_entry)); }
    scratch.of_entry = out->of_entry;
    scratch.nblock_rows = nblock_rows;
    scratch.nchunks = nchunks;
    scratch.chunk = (int64_t *)(workspace + head);
    scratch.count = (int32_t *)(scratch.chunk + nchunks);
    scratch.long_row = scratch.count + nblock_rows;
    TESS_TRY(find_blocks(ctx, task, scratch, (assign_totals *)workspace, totals));
    TESS_TRY(move_blocks(ctx, task, scratch, totals, out));
cleanup:
    tess_device_release(ctx, scratch.word, nnz, sizeof *scratch.word);
    return status;
}
