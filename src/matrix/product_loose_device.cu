/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of sparse matrices on a GPU in one pass: no count precedes it. Rows get tables as large as rows of a sample
 * need. Those that need more are listed for the next larger tables. Finished rows go wherever there is space, and from
 * there to their places in c.
 */
#include "device/gpu/scan_grid.cuh"
#include "matrix/product_rows.cuh"

enum { MOVE_BLOCKS = 16, LISTED_BLOCKS = 8, MOVE_GROUP = 8 };
/* Space beyond what the sample says, so that rarely a row has none. */
static const double margin = 1.12;
static const int64_t least_margin = 4096;

/* What the passes count. */
struct loose_counts {
    unsigned long long used;                  /* entries, also of rows without space */
    unsigned long long listed[PRODUCT_SIZES]; /* rows that tables of each size had no space for */
};

struct loose_task {
    product_task of;
    loose_rows out;
    loose_counts *counts;
};

/* ---- a block's rows ---- */

/* Where the row of a team begins: the block takes space for all its teams at once. All threads of the block call it. */
template <int TEAMS>
__device__ static inline int64_t take_space(const loose_task &t, int team, bool first_lane, int length)
{
    __shared__ unsigned total, offset[TEAMS];
    __shared__ unsigned long long base;

    if (threadIdx.x == 0) { total = 0; }
    __syncthreads();
    if (first_lane) { offset[team] = length > 0 ? atomicAdd(&total, (unsigned)length) : 0U; }
    __syncthreads();
    if (threadIdx.x == 0) { base = atomicAdd(&t.counts->used, (unsigned long long)total); }
    __syncthreads();
    return (int64_t)(base + offset[team]);
}

/* The row from its table, unless there is no space: then c only gets its length. */
template <int GROUP, typename INDEX>
__device__ static inline void put_row(const loose_task &t, const team_table<INDEX> &table, const team_row &own,
                                      int64_t at)
{
    const bool has_space = at + *table.count <= t.out.capacity;
    const row_target to = {t.out.col_ind + at, t.of.values ? t.out.val + at : nullptr};

    if (own.lane == 0) {
        t.out.begin[own.row] = has_space ? (int32_t)at : 0;
        t.of.c.row_ptr[own.row + 1] = *table.count;
    }
    if (!has_space) { return; }
    if (GROUP <= GPU_WAVE || *table.count <= MOST_RANKED) { /* of a block's row, the same for all threads */
        write_by_rank<GROUP>(t.of, table, to, own.lane);
    } else {
        write_sorted(t.of, table, to, own.lane);
    }
}

/* Rows whose tables are too small go to `larger`. */
template <int BITS, int GROUP, int THREADS>
__global__ static void __launch_bounds__(THREADS)
    compute_loose_kernel(const loose_task t, const product_rows rows, int size, int32_t *larger)
{
    enum { TEAMS = THREADS / GROUP, MOST = table_size<BITS>::MOST };
    __shared__ team_space<BITS> space[TEAMS];
    const int team = (int)threadIdx.x / GROUP;
    const int64_t count = count_of(rows);

    for (int64_t base = (int64_t)blockIdx.x * TEAMS; base < count; base += (int64_t)gridDim.x * TEAMS) {
        const team_row own = open_row(t.of, rows.list, count, base + team, (int)threadIdx.x % GROUP);
        const team_table<uint16_t> table = table_in(space[team]);

        clear_table<GROUP>(table, own.lane);
        add_products<GROUP>(t.of, table, own, MOST);
        const int found = *table.count;
        const bool fits = own.row >= 0 && found <= MOST;
        const int64_t at = take_space<TEAMS>(t, team, own.lane == 0, fits ? found : 0);

        if (fits) {
            put_row<GROUP>(t, table, own, at);
        } else if (own.row >= 0 && own.lane == 0) {
            larger[atomicAdd(&t.counts->listed[size], 1ULL)] = (int32_t)own.row;
        }
        __syncthreads();
    }
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    compute_large_kernel(const loose_task t, const product_rows rows, const global_tables tables)
{
    __shared__ int count;
    const team_table<int32_t> table = own_table(tables, &count);

    for (int64_t r = blockIdx.x; r < rows.count; r += gridDim.x) {
        const team_row own = open_row(t.of, rows.list, rows.count, r, (int)threadIdx.x);

        clear_table<GPU_BLOCK>(table, own.lane);
        add_products<GPU_BLOCK>(t.of, table, own, (int)tables.most);
        put_row<GPU_BLOCK>(t, table, own, take_space<1>(t, 0, own.lane == 0, *table.count));
        __syncthreads();
    }
}

/* Rows to their places in c. */
__global__ static void __launch_bounds__(GPU_BLOCK) move_rows_kernel(const loose_rows from, const device_csr c)
{
    const int64_t teams = (int64_t)gridDim.x * GPU_BLOCK / MOVE_GROUP;

    for (int64_t i = ((int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x) / MOVE_GROUP; i < c.nrows; i += teams) {
        const int32_t begin = c.row_ptr[i], end = c.row_ptr[i + 1], shift = from.begin[i] - begin;

        for (int32_t k = begin + (int)threadIdx.x % MOVE_GROUP; k < end; k += MOVE_GROUP) {
            c.col_ind[k] = from.col_ind[k + shift];
            if (c.val) { c.val[k] = from.val[k + shift]; }
        }
    }
}

/* ---- launches ---- */

template <int BITS, int GROUP, int THREADS>
static void launch_loose(tess_context *ctx, const loose_task &t, const product_rows &rows, int size, int32_t *larger)
{
    const int64_t teams = THREADS / GROUP, blocks = (rows.count + teams - 1) / teams;
    const int64_t some = (int64_t)gpu_state_of(ctx)->multiprocessors * LISTED_BLOCKS;
    const unsigned grid = (unsigned)(rows.on_device && some < blocks ? some : blocks);

    compute_loose_kernel<BITS, GROUP, THREADS><<<grid, THREADS, 0, gpu_stream_of(ctx)>>>(t, rows, size, larger);
}

static void launch_size(tess_context *ctx, const loose_task &t, const product_rows &rows, int size, int32_t *larger)
{
    const bool wide = product_is_wide(t.of);

    if (rows.count == 0) { return; }
    switch (size) {
    case 0: launch_loose<5, 4, 128>(ctx, t, rows, size, larger); break;
    case 1:
        if (wide) {
            launch_loose<6, 16, 128>(ctx, t, rows, size, larger);
        } else {
            launch_loose<6, 4, 128>(ctx, t, rows, size, larger);
        }
        break;
    case 2: launch_loose<7, 16, 128>(ctx, t, rows, size, larger); break;
    case 3: launch_loose<8, 16, 128>(ctx, t, rows, size, larger); break;
    case 4: launch_loose<10, 32, 64>(ctx, t, rows, size, larger); break;
    default: launch_loose<11, GPU_BLOCK, GPU_BLOCK>(ctx, t, rows, size, larger); break;
    }
}

/* The size of tables that the rows of each bin begin with. The last bin's may be PRODUCT_SIZES: in global memory. */
struct first_sizes {
    int of[MOST_BINS];
};

/* As the sample's largest row of a bin needs; as its bound, where the sample has none. */
static first_sizes choose_sizes(const product_sample &sample, const bin_limits &limits)
{
    first_sizes sizes = {};

    for (int b = 0; b < limits.count; b++) {
        const int needed = sample.most[b] > 0 ? find_bin(limits, sample.most[b]) : b;

        sizes.of[b] = needed < b ? needed : b;
    }
    return sizes;
}

/* Two lists, of nrows rows each, for rows whose tables were too small: of the previous size and of this one. */
struct loose_lists {
    int32_t *row[2];
};

/* Rows with the table's size or listed for it, one size after another. */
static void launch_sizes(tess_context *ctx, const loose_task &t, const row_bins &bins, const first_sizes &first,
                         const loose_lists &lists)
{
    int64_t listed = 0; /* at most so many */

    for (int size = 0; size < PRODUCT_SIZES; size++) {
        const product_rows before = {lists.row[(size + 1) % 2], listed, size > 0 ? &t.counts->listed[size - 1] : NULL};

        launch_size(ctx, t, before, size, lists.row[size % 2]);
        listed = 0;
        for (int b = size; b < MOST_BINS; b++) {
            if (first.of[b] == size) {
                launch_size(ctx, t, {row_bins_list(&bins, b), bins.rows[b], NULL}, size, lists.row[size % 2]);
            }
            listed += b > size && first.of[b] <= size ? bins.rows[b] : 0;
        }
    }
}

/* Rows that no table in shared memory had space for. */
static tess_status compute_large(tess_context *ctx, const loose_task &t, const product_rows &rows, int32_t largest)
{
    global_tables tables = {};
    tess_status status = TESS_SUCCESS;

    if (rows.count == 0) { return TESS_SUCCESS; }
    TESS_TRY(global_tables_make(ctx, rows.count, largest, &tables));
    compute_large_kernel<<<(unsigned)tables.blocks, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t, rows, tables);
    status = gpu_check_launch(ctx, "long rows of a product of matrices");
cleanup:
    global_tables_free(ctx, &tables);
    return status;
}

/* c.row_ptr[i + 1] has bounds of the rows before, and their lengths after. */
static tess_status compute_loose(tess_context *ctx, const loose_task &t, const bin_limits &limits,
                                 const first_sizes &first)
{
    const int64_t nrows = t.of.c.nrows;
    loose_counts counts = {};
    row_bins bins = {};
    loose_lists lists = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ctx->backend->zero(ctx, t.counts, sizeof counts));
    TESS_TRY(tess_device_allocate(ctx, nrows, sizeof(int32_t), (void **)&lists.row[0]));
    TESS_TRY(tess_device_allocate(ctx, nrows, sizeof(int32_t), (void **)&lists.row[1]));
    TESS_TRY(row_bins_make(ctx, nrows, {t.of.c.row_ptr + 1, false}, limits, &bins));
    launch_sizes(ctx, t, bins, first, lists);
    TESS_TRY(gpu_check_launch(ctx, "a product of matrices"));
    if (bins.rows[PRODUCT_SIZES] == 0) { goto cleanup; }
    if (first.of[PRODUCT_SIZES] == PRODUCT_SIZES) {
        status =
            compute_large(ctx, t, {row_bins_list(&bins, PRODUCT_SIZES), bins.rows[PRODUCT_SIZES], NULL}, bins.largest);
        goto cleanup;
    }
    TESS_TRY(ctx->backend->download(ctx, &counts, t.counts, sizeof counts));
    status = compute_large(
        ctx, t, {lists.row[(PRODUCT_SIZES - 1) % 2], (int64_t)counts.listed[PRODUCT_SIZES - 1], NULL}, bins.largest);
cleanup:
    tess_device_release(ctx, lists.row[0], nrows, sizeof(int32_t));
    tess_device_release(ctx, lists.row[1], nrows, sizeof(int32_t));
    row_bins_free(ctx, &bins);
    return status;
}

/* ---- the product ---- */

static void free_loose(tess_context *ctx, int64_t nrows, loose_rows *l)
{
    tess_device_release(ctx, l->begin, nrows, sizeof *l->begin);
    tess_device_release(ctx, l->col_ind, l->capacity, sizeof *l->col_ind);
    tess_device_release(ctx, l->val, l->capacity, sizeof *l->val);
    *l = {};
}

static tess_status make_loose(tess_context *ctx, const product_task &t, int64_t capacity, loose_rows *out)
{
    tess_status status = TESS_SUCCESS;

    *out = {};
    out->capacity = capacity;
    TESS_TRY(tess_device_allocate(ctx, t.c.nrows, sizeof *out->begin, (void **)&out->begin));
    TESS_TRY(tess_device_allocate(ctx, capacity, sizeof *out->col_ind, (void **)&out->col_ind));
    if (t.values) { status = tess_device_allocate(ctx, capacity, sizeof *out->val, (void **)&out->val); }
cleanup:
    return status;
}

/* Entries of the product as the sample has them; 0 where a GPU probably cannot have so many: then they are counted. */
static int64_t estimate_entries(const product_sample &sample, int64_t nrows)
{
    const double mean = sample.rows > 0 ? (double)sample.entries / (double)sample.rows : 0.0;
    const double entries = mean * (double)nrows * (sample.rows < nrows ? margin : 1.0) + (double)least_margin;

    return entries < (double)INT32_MAX ? (int64_t)entries : 0;
}

/* Rows, and their offsets. *nnz may be beyond the capacity: then it is what is needed. */
static tess_status compute_rows(tess_context *ctx, const product_task &t, int64_t capacity, loose_rows *rows,
                                int64_t *nnz)
{
    const bin_limits limits = product_limits();
    product_sample sample = {};
    loose_task task = {t, {}, NULL};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(product_sample_rows(ctx, t, limits, &sample));
    TESS_TRY(make_loose(ctx, t, capacity > 0 ? capacity : estimate_entries(sample, t.c.nrows), rows));
    task.out = *rows;
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *task.counts, (void **)&task.counts));
    TESS_TRY(compute_loose(ctx, task, limits, choose_sizes(sample, limits)));
    status = gpu_sum_lengths(ctx, t.c.nrows, t.c.row_ptr, nnz);
cleanup:
    tess_device_release(ctx, task.counts, 1, sizeof *task.counts);
    return status;
}

static tess_status move_rows(tess_context *ctx, const loose_rows &rows, const device_csr &c)
{
    move_rows_kernel<<<gpu_grid(ctx, c.nrows * MOVE_GROUP, MOVE_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(rows, c);
    return gpu_check_launch(ctx, "moving the rows of a product");
}

tess_status product_compute(tess_context *ctx, const product_task &t, device_csr *c)
{
    loose_rows rows = {};
    int64_t nnz = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(compute_rows(ctx, t, 0, &rows, &nnz));
    if (nnz > rows.capacity && nnz <= INT32_MAX) { /* the sample said too little */
        free_loose(ctx, t.c.nrows, &rows);
        TESS_TRY(compute_rows(ctx, t, nnz, &rows, &nnz));
    }
    TESS_TRY(device_csr_allocate_entries(ctx, nnz, t.values, c));
    status = move_rows(ctx, rows, *c);
cleanup:
    free_loose(ctx, t.c.nrows, &rows);
    return status;
}
