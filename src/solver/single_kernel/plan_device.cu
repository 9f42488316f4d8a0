/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of a single kernel, made on the GPU. A thread block for each block of the plan marks its columns as bits in
 * shared memory; the place of a column is the number of bits before it. The arrays equal those of single_plan_make.
 */
#include "base/offsets.h"
#include "device/gpu/scan_block.cuh"
#include "format/csr/csr.h"
#include "solver/single_kernel/plan.h"

enum { PLAN_BLOCK = 1024, WORD_COLUMNS = 32 };
static_assert((int)SINGLE_MAX_BLOCKS <= (int)GPU_BLOCK, "a thread for each block");

struct plan_task {
    csr_view view;
    single_plan plan;
    single_shape shape;
    single_cut *cut; /* blocks + 1 */
    int32_t *column; /* those of a block, from single_columns_before of its cut on */
    int words;       /* of WORD_COLUMNS columns */
};

/* ---- rows ---- */

/* The end of a block that begins with run u of rows. */
__device__ static inline single_cut cut_before(const plan_task &t, int64_t u)
{
    single_cut cut = {};

    cut.row = (int32_t)single_run_begin(t.plan.n, t.plan.run, u);
    cut.entry = (int32_t)tess_row_offset(t.view.row_ptr, t.view.row_ptr_bits, cut.row);
    if (t.shape.tiles) {
        cut.tiles = (int32_t)t.shape.tiles[u];
        cut.units = (int32_t)t.shape.start[u];
    }
    return cut;
}

__device__ static inline int64_t weight_before(const plan_task &t, int64_t u)
{
    const int64_t row = single_run_begin(t.plan.n, t.plan.run, u);

    return single_weight(row, tess_row_offset(t.view.row_ptr, t.view.row_ptr_bits, row),
                         t.shape.tiles ? t.shape.tiles[u] : 0);
}

/* The run of rows with which block b begins, or the last one ends. All threads of a wave call it: each reads one run of
   an interval. */
__device__ static inline int64_t find_first_run(const plan_task &t, int b)
{
    const int64_t runs = single_runs(t.plan.n, t.plan.run), share = weight_before(t, runs) * b / t.plan.blocks;
    const int lane = (int)threadIdx.x % GPU_WAVE;
    int64_t low = 0, high = runs;

    while (low < high) { /* runs before `low` are below the share, run `high` is not */
        const int64_t step = (high - low + GPU_WAVE - 1) / GPU_WAVE, u = low + lane * step;
        const bool below = u < high && weight_before(t, u) < share;
        const int64_t count = GPU_COUNT_LANES(GPU_BALLOT(below));

        if (count == 0) { return low; }
        high = min(high, low + count * step);
        low += (count - 1) * step + 1;
    }
    return low;
}

/* ---- columns ---- */

struct column_set {
    uint32_t *bits;
    uint16_t *before; /* columns before those of a word */
    int words;
    int run;
    uint32_t last; /* the last word has fewer columns */

    __device__ inline void clear() const
    {
        for (int w = (int)threadIdx.x; w < words; w += PLAN_BLOCK) {
            bits[w] = 0;
        }
    }

    /* Adds the run that contains the column. */
    __device__ inline void add(int32_t column) const
    {
        const int w = column / WORD_COLUMNS;
        const uint32_t together = ((1U << run) - 1U) << column % WORD_COLUMNS / run * run;
        const uint32_t added = w == words - 1 ? together & last : together;
        uint32_t *const word = bits + w;

        if ((*(volatile uint32_t *)word & added) != added) { atomicOr(word, added); }
    }

    __device__ inline uint16_t place(int32_t column) const
    {
        const int w = column / WORD_COLUMNS;

        return (uint16_t)(before[w] + __popc(bits[w] & ((1U << column % WORD_COLUMNS) - 1U)));
    }

    /* Counts the columns before each word, and lists all of them. Returns their number. */
    __device__ inline int32_t list(int32_t *column) const
    {
        const int run = (words + PLAN_BLOCK - 1) / PLAN_BLOCK;
        const int first = min((int)threadIdx.x * run, words), last = min(first + run, words);
        int64_t next = 0, all = 0;

        for (int w = first; w < last; w++) {
            next += __popc(bits[w]);
        }
        next = scan_block<PLAN_BLOCK>(next, &all);
        for (int w = first; w < last; w++) {
            before[w] = (uint16_t)next;
            for (uint32_t left = bits[w]; left != 0; left &= left - 1) {
                column[next++] = w * WORD_COLUMNS + __ffs((int)left) - 1;
            }
        }
        return (int32_t)all;
    }
};

__global__ static void __launch_bounds__(PLAN_BLOCK) place_kernel(const plan_task t)
{
    extern __shared__ uint32_t plan_words[];
    __shared__ single_cut cut[2]; /* where the block begins and ends */
    const column_set set = {plan_words, (uint16_t *)(void *)(plan_words + t.words), t.words, t.plan.run,
                            0xffffffffU >> (t.words * WORD_COLUMNS - t.plan.n)};
    const int b = (int)blockIdx.x, thread = (int)threadIdx.x, side = thread / GPU_WAVE;

    set.clear();
    if (side < 2) {
        const int64_t first = find_first_run(t, b + side);

        if (thread % GPU_WAVE == 0) { cut[side] = cut_before(t, first); }
    }
    __syncthreads();
    const int32_t row = cut[0].row, end = cut[1].row, entry = cut[0].entry, last_entry = cut[1].entry;

    for (int i = row + thread; i < end; i += PLAN_BLOCK) {
        set.add(i);
        t.plan.row_ptr[i] = (int32_t)tess_row_offset(t.view.row_ptr, t.view.row_ptr_bits, i);
    }
#pragma unroll 4
    for (int k = entry + thread; k < last_entry; k += PLAN_BLOCK) {
        set.add(t.view.col_ind[k]);
    }
    __syncthreads();
    const int32_t columns = set.list(t.column + single_columns_before(&cut[0], t.plan.run));

    __syncthreads();
#pragma unroll 4
    for (int k = entry + thread; k < last_entry; k += PLAN_BLOCK) {
        t.plan.place[k] = set.place(t.view.col_ind[k]);
    }
    if (thread > 0) { return; }
    t.plan.own[b] = end > row ? set.place(row) : 0;
    t.plan.row_begin[b] = row;
    t.cut[b] = cut[0];
    t.cut[b].columns = columns;
    if (b == t.plan.blocks - 1) {
        t.plan.row_ptr[end] = last_entry;
        t.plan.row_begin[b + 1] = end;
        t.cut[b + 1] = cut[1];
    }
}

/* The columns of all blocks, one after another. */
__global__ static void __launch_bounds__(GPU_BLOCK) join_columns_kernel(const plan_task t)
{
    __shared__ int32_t begin;
    const int b = (int)threadIdx.x;
    const single_cut cut = t.cut[blockIdx.x];
    int64_t all = 0;
    const int64_t before = scan_block<GPU_BLOCK>(b < t.plan.blocks ? t.cut[b].columns : 0, &all);

    if (b == (int)blockIdx.x) {
        begin = (int32_t)before;
        t.plan.column_begin[b] = (int32_t)before;
        if (b == t.plan.blocks - 1) { t.plan.column_begin[b + 1] = (int32_t)all; }
    }
    __syncthreads();
    for (int l = (int)threadIdx.x; l < cut.columns; l += GPU_BLOCK) {
        t.plan.column[begin + l] = t.column[single_columns_before(&cut, t.plan.run) + l];
    }
}

/* ---- the plan ---- */

static tess_status allocate_plan(tess_context *ctx, single_plan *p)
{
    int64_t bytes = 0;
    const int64_t real = (int64_t)sizeof(int32_t);
    const int64_t row_ptr = single_take(&bytes, (int64_t)p->n + 1, real);
    const int64_t row_begin = single_take(&bytes, p->blocks + 1, real);
    const int64_t column_begin = single_take(&bytes, p->blocks + 1, real);
    const int64_t own = single_take(&bytes, p->blocks, real);
    const int64_t place = single_take(&bytes, p->nnz, (int64_t)sizeof(uint16_t));
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, bytes, 1, &p->memory));
    p->memory_bytes = bytes;
    p->row_ptr = (int32_t *)(void *)((char *)p->memory + row_ptr);
    p->row_begin = (int32_t *)(void *)((char *)p->memory + row_begin);
    p->column_begin = (int32_t *)(void *)((char *)p->memory + column_begin);
    p->own = (int32_t *)(void *)((char *)p->memory + own);
    p->place = (uint16_t *)(void *)((char *)p->memory + place);
cleanup:
    return status;
}

/* Space for the data that place_kernel passes to join_columns_kernel: the cuts, then columns. */
static tess_status find_workspace(tess_context *ctx, plan_task *t)
{
    const single_cut end = {t->plan.n, t->plan.nnz, (int32_t)t->shape.ntiles, 0, 0};
    const int64_t cuts = (int64_t)(t->plan.blocks + 1) * (int64_t)sizeof *t->cut;
    const int64_t columns = single_columns_before(&end, t->plan.run) * (int64_t)sizeof *t->column;
    double *workspace = NULL;
    tess_status status = gpu_parts(ctx, (cuts + columns) / (int64_t)sizeof *workspace + 1, &workspace);

    t->cut = (single_cut *)(void *)workspace;
    t->column = (int32_t *)(void *)(t->cut + t->plan.blocks + 1);
    return status;
}

extern "C" tess_status gpu_single_plan(const tess_matrix *assembled, const single_shape *shape, single_plan *plan)
{
    tess_context *ctx = assembled->ctx;
    gpu_scope scope(ctx);
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    const int blocks = shape->blocks;
    single_cut cut[SINGLE_MAX_BLOCKS + 1];
    plan_task t = {};
    size_t shared;
    bool settled = false;
    tess_status status = TESS_SUCCESS;

    t.view = csr_of(assembled)->view;
    t.shape = *shape;
    t.plan.cluster = shape->cluster;
    t.plan.blocks = blocks;
    t.plan.run = shape->tiles ? (int)SINGLE_TILE : 1;
    t.plan.n = (int32_t)t.view.nrows;
    t.plan.nnz = (int32_t)t.view.nnz;
    t.words = (t.plan.n - 1) / WORD_COLUMNS + 1;
    shared = (size_t)t.words * (sizeof(uint32_t) + sizeof(uint16_t));
    *plan = {};
    /* If that is too much, so are the vectors: 256 blocks have space for n columns in at least 48 bytes each. */
    if ((int64_t)shared > gpu_state_of(ctx)->shared_bytes_per_block - GPU_STATIC_SHARED) { return TESS_SUCCESS; }
    TESS_TRY(allocate_plan(ctx, &t.plan));
    TESS_TRY(find_workspace(ctx, &t));
    TESS_TRY(gpu_allow_shared(ctx, (const void *)place_kernel));
    place_kernel<<<(unsigned)blocks, PLAN_BLOCK, shared, stream>>>(t);
    TESS_TRY(gpu_check_launch(ctx, "columns of the blocks of a single kernel"));
    TESS_TRY(ctx->backend->download(ctx, cut, t.cut, (size_t)(blocks + 1) * sizeof *cut));
    if (!single_plan_settle(&t.plan, cut)) { goto cleanup; }
    for (int b = 0; b < blocks; b++) {
        t.plan.column_capacity += cut[b].columns;
    }
    TESS_TRY(tess_device_allocate(ctx, t.plan.column_capacity, sizeof *t.plan.column, (void **)&t.plan.column));
    join_columns_kernel<<<(unsigned)blocks, GPU_BLOCK, 0, stream>>>(t);
    TESS_TRY(gpu_check_launch(ctx, "columns of a single kernel"));
    settled = true;
cleanup:
    if (!settled) { single_plan_release(ctx, &t.plan); }
    *plan = t.plan;
    return status;
}
