/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grid of blocks and the levels of its blocks on the GPU. One pass merges the rows of each block row and leaves a word for
 * each block, at the places of the block row's entries: there are no more blocks than entries. Once the blocks are counted they
 * move to their places. Atomics here are of integers: no order shows.
 */
#include "backend/gpu/scan.cuh"
#include "granule/assign_device.cuh"

enum {
    LONG_ROW = 256,         /* a block row with a longer row goes to a kernel that gives it a block of threads */
    WINDOW = 4 * GPU_BLOCK, /* block columns that such a kernel looks at together */
    CHUNK = GPU_BLOCK,      /* block rows whose blocks move together */
    ROW_BLOCKS = 6,         /* blocks of threads per multiprocessor for short rows: as many as registers allow, */
    LONG_BLOCKS = 4         /* and for long ones */
};

/* What the passes share; words apart, all in one room. */
typedef struct grid_scratch {
    uint64_t *word;    /* nnz: a block row's words begin where its entries do */
    int32_t *count;    /* nblock_rows: blocks in each */
    int64_t *chunk;    /* nchunks: blocks in each CHUNK of block rows, then those before it */
    int32_t *long_row; /* block rows that were left */
    int64_t nblock_rows, nchunks;
} grid_scratch;

/* ---- words ---- */

__device__ static inline uint64_t pack_block(int32_t column, const assign_outcome &o)
{
    return (uint64_t)(uint32_t)column | (uint64_t)(uint32_t)o.nonzeros << 32 | (uint64_t)o.level << 48 |
           (uint64_t)(o.exponent + 1024) << 52;
}

__device__ static inline int32_t column_of(uint64_t word)
{
    return (int32_t)(uint32_t)word;
}

__device__ static inline uint16_t count_of(uint64_t word)
{
    return (uint16_t)(word >> 32);
}

__device__ static inline uint8_t level_of(uint64_t word)
{
    return (uint8_t)(word >> 48 & 15);
}

__device__ static inline int16_t exponent_of(uint64_t word)
{
    return (int16_t)((int)(word >> 52) - 1024);
}

/* ---- block rows of short rows: a group of threads, each with a row ---- */

/* What is left of a row, and the block column that comes next in it. */
typedef struct row_cursor {
    int64_t at, end;
    int32_t column;
} row_cursor;

__device__ static inline void look_ahead(const csr_view &csr, int shift, row_cursor *c)
{
    c->column = c->at < c->end ? csr.col_ind[c->at] >> shift : BLOCK_GRID_NO_COLUMN;
}

/* Whether something is true of any thread of the group. All threads of the wave take part. */
template <int GROUP>
__device__ static inline bool any_of_group(bool own)
{
    const unsigned shift = threadIdx.x % GPU_WAVE / GROUP * GROUP;
    const gpu_lanes group = (gpu_lanes)(((uint64_t)1 << GROUP) - 1);

    return (GPU_BALLOT(own) >> shift & group) != 0;
}

/* The entries of a block that are in the thread's row. */
template <bool LOSSLESS>
__device__ static inline granule_statistics take_entries(const csr_view &csr, const policy_ranges &ranges, int shift,
                                                         int32_t column, row_cursor *c)
{
    granule_statistics s = granule_start();

    while (c->at < c->end && c->column == column) {
        double value = assign_value(&csr, c->at);

        c->at += 1;
        look_ahead(csr, shift, c);
        granule_add(&s, &ranges, LOSSLESS, value);
    }
    return s;
}

/*
 * What becomes of the block that the group's threads have statistics of, in the first of them. Without scales each level takes
 * the block when it takes all its entries, so that a bit of each thread tells; an exponent takes the extremes.
 */
template <int GROUP, int LEVELS, bool SCALED>
__device__ static inline assign_outcome judge_block(const policy_rules &rules, granule_statistics s)
{
    assign_outcome o = {0, 0, 0, 0};

    if constexpr (SCALED) {
        join_group<LEVELS, GROUP>(&s);
        o = assign_block(&rules, LEVELS, &s);
    } else {
#pragma unroll
        for (int l = 1; l < LEVELS; l++) {
            bool takes = l < rules.nlevels && policy_is_inside(&rules, l, &s) && policy_fits(&rules, l, &s);

            if (!any_of_group<GROUP>(!takes)) { o.level = l; }
        }
        o.scaled_level = o.level;
        o.nonzeros = gpu_group_sum<GROUP>(s.count);
    }
    return o;
}

/* Called by the first thread of the group or block. */
__device__ static inline void keep_count(const grid_scratch &scratch, int64_t block_row, int32_t nblocks)
{
    scratch.count[block_row] = nblocks;
    if (nblocks > 0) {
        atomicAdd((unsigned long long *)&scratch.chunk[block_row / CHUNK], (unsigned long long)nblocks);
    }
}

template <int GROUP, typename KNOWN, bool SCALED>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, ROW_BLOCKS)
    assign_block_rows_kernel(const assign_task task, const grid_scratch scratch, assign_totals *totals)
{
    enum { LEVELS = KNOWN::LEVELS, TOGETHER = GPU_BLOCK / GROUP };
    const policy_ranges ranges = totals->ranges;
    const int lane = (int)threadIdx.x % GROUP, shift = block_grid_shift(task.grid.cols);
    thread_counts<LEVELS> own = {};

    for (int64_t first = (int64_t)blockIdx.x * TOGETHER; first < scratch.nblock_rows;
         first += (int64_t)gridDim.x * TOGETHER) {
        const int64_t block_row = first + (int)threadIdx.x / GROUP, row = block_row * GROUP + lane;
        const bool leads = lane == 0 && block_row < scratch.nblock_rows;
        row_cursor c = {0, 0, 0};
        int32_t nblocks = 0;
        uint64_t *word;
        bool is_long;

        if (row < task.csr.nrows) {
            c.at = assign_row_start(&task.csr, row);
            c.end = assign_row_start(&task.csr, row + 1);
        }
        word = scratch.word + c.at; /* the leader's is the block row's */
        is_long = any_of_group<GROUP>(c.end - c.at > LONG_ROW);
        if (is_long) { c.end = c.at; }
        look_ahead(task.csr, shift, &c);
        for (;;) { /* as often for all threads of the wave */
            const int32_t column = gpu_group_least<GROUP>(c.column);
            const bool there = column != BLOCK_GRID_NO_COLUMN;
            assign_outcome o;

            if (GPU_BALLOT(there) == 0) { break; }
            o = judge_block<GROUP, LEVELS, SCALED>(task.rules,
                                                   take_entries<KNOWN::LOSSLESS>(task.csr, ranges, shift, column, &c));
            if (leads && there) {
                word[nblocks++] = pack_block(column, o);
                count_in_thread(&own, o);
            }
        }
        if (leads && is_long) { scratch.long_row[atomicAdd(&totals->long_rows, 1ULL)] = (int32_t)block_row; }
        if (leads && !is_long) { keep_count(scratch, block_row, nblocks); }
    }
    add_counts(own, totals);
}

/* ---- block rows with a long row: a block of threads, WINDOW block columns at a time ---- */

/* Statistics of the blocks in a window. Magnitudes are ordered as their bits are. */
typedef struct grid_window {
    unsigned count[WINDOW]; /* with the flags below */
    unsigned long long smallest[WINDOW], largest[WINDOW];
} grid_window;

enum { COUNT_MASK = 0xffff, FLAG_NOT_FINITE = 1 << 16, FLAG_OUTSIDE = 1 << 16 /* times 2^level */ };

__device__ static inline void clear_window(grid_window *w)
{
    const granule_statistics none = granule_start();

    for (int i = (int)threadIdx.x; i < WINDOW; i += GPU_BLOCK) {
        w->count[i] = 0;
        w->smallest[i] = tess_double_bits(none.smallest);
        w->largest[i] = tess_double_bits(none.largest);
    }
}

template <typename KNOWN>
__device__ static inline void add_to_window(grid_window *w, int i, const policy_ranges &ranges, double value)
{
    granule_statistics s = granule_start();
    unsigned flags = 0;

    granule_add(&s, &ranges, KNOWN::LOSSLESS, value);
    flags |= s.not_finite > 0 ? FLAG_NOT_FINITE : 0;
#pragma unroll
    for (int l = 1; l < KNOWN::LEVELS; l++) {
        flags |= s.outside[l] > 0 ? FLAG_OUTSIDE << l : 0;
    }
    atomicAdd(&w->count[i], 1U);
    if (flags != 0) { atomicOr(&w->count[i], flags); }
    atomicMin(&w->smallest[i], (unsigned long long)tess_double_bits(s.smallest));
    atomicMax(&w->largest[i], (unsigned long long)tess_double_bits(s.largest));
}

/* Of the outside it tells whether there is any: what a rule for every value asks. */
template <int LEVELS>
__device__ static inline granule_statistics statistics_in(const grid_window *w, int i)
{
    granule_statistics s = granule_start();
    unsigned count = w->count[i];

    s.count = (int32_t)(count & COUNT_MASK);
    s.not_finite = (count & FLAG_NOT_FINITE) != 0;
#pragma unroll
    for (int l = 1; l < LEVELS; l++) {
        s.outside[l] = (count & FLAG_OUTSIDE << l) != 0;
    }
    s.smallest = tess_double_of_bits(w->smallest[i]);
    s.largest = tess_double_of_bits(w->largest[i]);
    return s;
}

/* First place from `low` on, at most `high`, whose block column is not below `column`. */
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

/* The rows of a block row: where the window's entries begin, where they end, and where the row does. */
typedef struct window_rows {
    int64_t at[32], stop[32], end[32];
    int32_t least[32];
} window_rows;

/* The first block column of what is left. All threads of the block. */
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

/* Adds the entries of the block columns from `column` on that the window has. All threads of the block. */
template <typename KNOWN>
__device__ static inline void fill_window(const csr_view &csr, const policy_ranges &ranges, int shift, int nrows,
                                          int32_t column, window_rows *rows, grid_window *w)
{
    const int i = (int)threadIdx.x;

    clear_window(w);
    if (i < nrows) {
        int64_t most = min(rows->end[i], rows->at[i] + ((int64_t)WINDOW << shift));

        rows->stop[i] = find_column(csr, shift, rows->at[i], most, column + WINDOW);
    }
    __syncthreads();
    for (int j = 0; j < nrows; j++) {
#pragma unroll 4
        for (int64_t k = rows->at[j] + i; k < rows->stop[j]; k += GPU_BLOCK) {
            add_to_window<KNOWN>(w, (csr.col_ind[k] >> shift) - column, ranges, assign_value(&csr, k));
        }
    }
    __syncthreads();
    if (i < nrows) { rows->at[i] = rows->stop[i]; }
}

/* Leaves the words of the window's blocks; returns how many there are. All threads of the block. */
template <int LEVELS>
__device__ static inline int32_t drain_window(const policy_rules &rules, const grid_window *w, int32_t column,
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
        const granule_statistics s = statistics_in<LEVELS>(w, i);
        assign_outcome o;

        if (s.count == 0) { continue; }
        o = assign_block(&rules, LEVELS, &s);
        word[place++] = pack_block(column + i, o);
        count_in_thread(own, o);
    }
    __syncthreads();
    return (int32_t)total;
}

template <typename KNOWN>
__global__ static void __launch_bounds__(GPU_BLOCK)
    assign_long_block_rows_kernel(const assign_task task, const grid_scratch scratch, assign_totals *totals)
{
    enum { LEVELS = KNOWN::LEVELS };
    __shared__ grid_window window;
    __shared__ window_rows rows;
    const policy_ranges ranges = totals->ranges;
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
            fill_window<KNOWN>(task.csr, ranges, shift, nrows, column, &rows, &window);
            nblocks += drain_window<LEVELS>(task.rules, &window, column, word + nblocks, &own);
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
        int low = 0, high = CHUNK - 1; /* the last block row that begins at b or before: empty ones before it do too */
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

template <int GROUP, typename KNOWN, bool SCALED>
static tess_status launch_pass(tess_context *ctx, const assign_task *task, const grid_scratch &scratch,
                               assign_totals *totals)
{
    const unsigned grid = gpu_grid(ctx, scratch.nblock_rows * GROUP, ROW_BLOCKS);
    const unsigned most = (unsigned)gpu_state_of(ctx)->multiprocessors * LONG_BLOCKS;
    tess_status status;

    assign_block_rows_kernel<GROUP, KNOWN, SCALED><<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*task, scratch, totals);
    status = gpu_check_launch(ctx, "choosing precisions of blocks");
    if (status != TESS_SUCCESS || task->csr.nnz <= LONG_ROW) { return status; }
    assign_long_block_rows_kernel<KNOWN><<<most, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*task, scratch, totals);
    return gpu_check_launch(ctx, "choosing precisions of blocks in long rows");
}

template <int GROUP, typename KNOWN>
static tess_status launch_known(tess_context *ctx, const assign_task *task, const grid_scratch &scratch,
                                assign_totals *totals)
{
    return policy_has_scales(&task->rules) ? launch_pass<GROUP, KNOWN, true>(ctx, task, scratch, totals)
                                           : launch_pass<GROUP, KNOWN, false>(ctx, task, scratch, totals);
}

template <int GROUP>
static tess_status launch_group(tess_context *ctx, const assign_task *task, const grid_scratch &scratch,
                                assign_totals *totals)
{
    return with_known_policy(
        task->rules, [=](auto known) { return launch_known<GROUP, decltype(known)>(ctx, task, scratch, totals); });
}

/* Ranges, words, counts and sums of counts, in the order of the stream; then the one wait. */
static tess_status find_blocks(tess_context *ctx, const assign_task *task, const grid_scratch &scratch,
                               assign_totals *totals, assign_totals *out)
{
    const series_base zero = {{0}};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(magnitudes_launch(ctx, task, totals));
    TESS_TRY(ctx->backend->zero(ctx, scratch.chunk, (size_t)scratch.nchunks * sizeof *scratch.chunk));
    TESS_TRY(task->grid.rows == 16 ? launch_group<16>(ctx, task, scratch, totals)
                                   : launch_group<32>(ctx, task, scratch, totals));
    scan_series_kernel<<<1, SCAN_BLOCK, 0, gpu_stream_of(ctx)>>>(scratch.nchunks, zero, scratch.chunk,
                                                                 &totals->nblocks);
    TESS_TRY(gpu_check_launch(ctx, "finding the places of blocks"));
    status = ctx->backend->download(ctx, out, totals, sizeof *out);
cleanup:
    return status;
}

/* The arrays at their size, and their contents, which nobody waits for. */
static tess_status move_blocks(tess_context *ctx, const assign_task *task, const grid_scratch &scratch,
                               const assign_totals *totals, tess_assignment *out)
{
    unsigned long long scaled = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(block_grid_allocate_rows(ctx, task->csr.nrows, &out->grid));
    TESS_TRY(block_grid_allocate_blocks(ctx, totals->nblocks, &out->grid));
    TESS_TRY(tess_device_allocate(ctx, totals->nblocks, sizeof *out->level, (void **)&out->level));
    for (int l = 0; l < TESS_MOST_LEVELS; l++) {
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
    const int64_t nchunks = nblock_rows / CHUNK + 1, head = magnitudes_room(task); /* first has one more than rows */
    const int64_t words = head + nchunks + (nblock_rows + nnz / LONG_ROW + 1) / 2 + 1;
    grid_scratch scratch = {};
    double *room = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_parts(ctx, words, &room));
    TESS_TRY(tess_device_allocate(ctx, nnz, sizeof *scratch.word, (void **)&scratch.word));
    scratch.nblock_rows = nblock_rows;
    scratch.nchunks = nchunks;
    scratch.chunk = (int64_t *)(room + head);
    scratch.count = (int32_t *)(scratch.chunk + nchunks);
    scratch.long_row = scratch.count + nblock_rows;
    TESS_TRY(find_blocks(ctx, task, scratch, (assign_totals *)room, totals));
    TESS_TRY(move_blocks(ctx, task, scratch, totals, out));
cleanup:
    tess_device_release(ctx, scratch.word, nnz, sizeof *scratch.word);
    return status;
}
